"""Numbers of a job as models take them: what was asked for, and what jobs like it took, as far as they have ended.

All times are logarithms, log(1 + seconds): run times spread over several orders of magnitude.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from unspool.engine.state import Array

__all__ = ["PER_LEVEL", "Features", "Sample", "seconds_of"]

PER_LEVEL = 4  # mean, recent mean, deviation, logarithm of the number of those that ended
_RECENT = 0.5  # the weight of the last one in the recent mean
_MOST_LOG = 20.0  # of 1 + seconds: 15 years, beyond which no model may reach


class Sample(NamedTuple):
    """What a model may know of a job when it arrives; `limit_s` is the guess where nothing like it has ended."""

    keys: tuple[str | None, ...]
    numbers: tuple[float, ...]
    limit_s: float


def seconds_of(logarithm: float) -> float:
    """Seconds of log(1 + seconds), neither negative nor without end."""
    return math.expm1(min(max(logarithm, 0.0), _MOST_LOG))


class Features:
    """Running statistics of run times by keys, from the most specific level to the least.

    A level names positions of keys, such as (0, 1) for exercise and runtime together. A row has the numbers of the
    sample, then for each level mean, recent mean and deviation of log(1 + seconds) and log(1 + count), and at the end
    the *base*: the mean of the first level that is known, else that of the limit. What is unknown is NaN.

    >>> features = Features([(0,)], numbers=0)
    >>> features.learn(Sample(("ann",), (), 60.0), 2.0)
    >>> features.row(Sample(("ann",), (), 60.0)).round(3).tolist()
    [2.0, 2.0, 0.0, 0.693, 2.0]
    """

    def __init__(self, levels: Sequence[tuple[int, ...]], numbers: int) -> None:
        self.levels = [tuple(level) for level in levels]
        self.width = numbers + PER_LEVEL * len(self.levels) + 1
        self._groups: list[dict[Any, list[float]]] = [{} for _ in self.levels]  # count, mean, squares, recent mean

    def row(self, sample: Sample) -> Array:
        """The numbers of a job, as far as they are known now."""
        keys = sample.keys
        row = [*sample.numbers]
        base = math.nan
        for level, groups in zip(self.levels, self._groups, strict=True):
            group = groups.get(keys[level[0]] if len(level) == 1 else tuple([keys[at] for at in level]))
            if group is None:
                row += (math.nan, math.nan, math.nan, 0.0)
                continue
            count, mean, squares, recent = group
            row += (mean, recent, math.sqrt(squares / count), math.log1p(count))
            if base != base:
                base = mean
        row.append(base if base == base else math.log1p(max(sample.limit_s, 0.0)))
        return np.array(row)

    def learn(self, sample: Sample, logarithm: float) -> None:
        """A job ended; groups of which one of its keys is unknown learn nothing from it."""
        keys = sample.keys
        for level, groups in zip(self.levels, self._groups, strict=True):
            found = [keys[at] for at in level]
            if None in found:
                continue
            key = found[0] if len(found) == 1 else tuple(found)
            group = groups.get(key)
            if group is None:
                groups[key] = [1.0, logarithm, 0.0, logarithm]
                continue
            group[0] += 1.0
            off = logarithm - group[1]
            group[1] += off / group[0]
            group[2] += off * (logarithm - group[1])
            group[3] += _RECENT * (logarithm - group[3])

    def state(self) -> list[list[Any]]:
        """All groups, as JSON takes them."""
        return [
            [[list(key) if isinstance(key, tuple) else key, *group] for key, group in groups.items()]
            for groups in self._groups
        ]

    def restore(self, state: list[list[Any]]) -> None:
        """Take the groups of `state()`."""
        self._groups = [
            {(tuple(key) if isinstance(key, list) else key): group for key, *group in groups} for groups in state
        ]
