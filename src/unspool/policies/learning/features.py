"""Numbers of a job as models take them: what was asked for, and what jobs like it took, as far as they have ended.

All times are logarithms, log(1 + seconds): run times spread over several orders of magnitude.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from unspool.engine.kernel.state import Array

__all__ = ["PER_LEVEL", "Features", "Sample", "seconds_of"]

PER_LEVEL = 5  # median, mean, recent mean, deviation, logarithm of the number of those that ended
_UNKNOWN = (math.nan, math.nan, math.nan, math.nan, 0.0)
_KEPT = 101  # run times of a group, of which the median is told
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
    sample, then for each level median, mean, recent mean and deviation of log(1 + seconds) and log(1 + count), and at
    the end the *base*: the median of the first level that is known, else the limit. What is unknown is NaN.

    >>> features = Features([(0,)], numbers=0)
    >>> features.learn(Sample(("ann",), (), 60.0), 2.0)
    >>> features.row(Sample(("ann",), (), 60.0)).round(3).tolist()
    [2.0, 2.0, 2.0, 0.0, 0.693, 2.0]
    """

    def __init__(self, levels: Sequence[tuple[int, ...]], numbers: int) -> None:
        self.levels = [tuple(level) for level in levels]
        self.width = numbers + PER_LEVEL * len(self.levels) + 1
        self._groups: list[dict[Any, _Group]] = [{} for _ in self.levels]

    def row(self, sample: Sample) -> Array:
        """The numbers of a job, as far as they are known now."""
        keys = sample.keys
        row = [*sample.numbers]
        base = math.nan
        for level, groups in zip(self.levels, self._groups, strict=True):
            group = groups.get(keys[level[0]] if len(level) == 1 else tuple([keys[at] for at in level]))
            if group is None:
                row += _UNKNOWN
                continue
            row += group.numbers
            if base != base:
                base = group.numbers[0]
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
                group = groups[key] = _Group()
            group.add(logarithm)

    def state(self) -> list[list[Any]]:
        """All groups, as JSON takes them."""
        return [
            [[list(key) if isinstance(key, tuple) else key, *group.state()] for key, group in groups.items()]
            for groups in self._groups
        ]

    def restore(self, state: list[list[Any]]) -> None:
        """Take the groups of `state()`."""
        self._groups = [
            {(tuple(key) if isinstance(key, list) else key): _Group(*kept) for key, *kept in groups} for groups in state
        ]


class _Group:
    """Logarithms of run times that were seen: all of them in a few sums, the last hundred in order for the median."""

    __slots__ = ("_last", "_sorted", "count", "mean", "numbers", "recent", "squares")

    def __init__(
        self, count: float = 0.0, mean: float = 0.0, squares: float = 0.0, recent: float = 0.0,
        last: Sequence[float] = (),
    ) -> None:  # fmt: skip
        self.count, self.mean, self.squares, self.recent = count, mean, squares, recent
        self._last = deque(last, _KEPT)
        self._sorted = sorted(last)
        self.numbers: list[float] = self._told() if last else []

    def add(self, logarithm: float) -> None:
        self.count += 1.0
        off = logarithm - self.mean
        self.mean += off / self.count
        self.squares += off * (logarithm - self.mean)
        self.recent += (_RECENT if self.count > 1.0 else 1.0) * (logarithm - self.recent)
        if len(self._last) == _KEPT:
            del self._sorted[bisect_left(self._sorted, self._last[0])]
        self._last.append(logarithm)
        insort(self._sorted, logarithm)
        self.numbers = self._told()

    def _told(self) -> list[float]:
        half = len(self._sorted) // 2
        median = self._sorted[half] if len(self._sorted) % 2 else (self._sorted[half - 1] + self._sorted[half]) / 2
        return [median, self.mean, self.recent, math.sqrt(self.squares / self.count), math.log1p(self.count)]

    def state(self) -> list[Any]:
        return [self.count, self.mean, self.squares, self.recent, list(self._last)]
