"""The differences between two results, job by job, with intervals for what they say of all jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from unspool.analysis.bootstrap import LEAST_BLOCKS, Draws, block_length, draw, totals, units_of
from unspool.analysis.groups import grouped

__all__ = ["DIFFERENCES", "EQUAL", "MEASURES", "Pairs", "differences"]

MEASURES: tuple[str, ...] = ("wait_time", "response_time", "bounded_slowdown")
"""The columns of jobs that are compared; less is better in each."""

EQUAL = 1e-6
"""Values that differ by no more are equal: a rounded second of the year 2024 is no exacter."""

_FIGURES = ("difference", "median_difference", "better", "equal", "worse")
DIFFERENCES: dict[str, Any] = {
    "policy": pl.String,
    "measure": pl.String,
    "group": pl.String,
    "jobs": pl.Int64,
    "blocks": pl.Int64,
    "baseline_mean": pl.Float64,
    "mean": pl.Float64,
    **{f"{name}{end}": pl.Float64 for name in _FIGURES for end in ("", "_low", "_high")},
}
"""The columns of the table of differences."""

_GROUPS_AT_ONCE = 128  # 2,000 replicates of so many groups are 2 MB

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Pairs:
    """Jobs that ran in both results, in the order of submission: columns of the baseline, and the other's `_other`."""

    policy: str
    jobs: pl.DataFrame
    units: Ints
    draws: Draws
    is_capped: bool

    @classmethod
    def of(cls, policy: str, jobs: pl.DataFrame, seed: int) -> Pairs:
        """Draw blocks that are long enough for every measure, under both policies and for their difference.

        The difference alone asks for shorter blocks, but it is large in crowded times only, and those last as long as
        the waits are alike: over many logs the intervals held the mean less often.
        """
        units = units_of(len(jobs))
        counts = np.bincount(units)
        series = [
            values
            for name in MEASURES
            for values in (_difference(jobs, name), jobs[name].to_numpy(), jobs[f"{name}_other"].to_numpy())
        ]
        lengths = [block_length(np.bincount(units, values) / counts) for values in series]
        block = max(length for length, _ in lengths)
        is_capped = any(capped for _, capped in lengths)
        return cls(policy, jobs, units, draw(len(counts), block, seed), is_capped)

    @property
    def block_jobs(self) -> float:
        """Jobs of a block, on average."""
        return len(self.jobs) / self.draws.blocks


def differences(pairs: Pairs, by: str | None, confidence: float) -> pl.DataFrame:
    """One row for each measure and all jobs, then one for each measure and group."""
    everyone = np.zeros(len(pairs.jobs), dtype=np.int64)
    rows = _rows(pairs, [None], everyone, confidence)
    if by is not None:
        rows += _rows(pairs, *grouped(pairs.jobs, by), confidence)
    return pl.DataFrame(rows, schema=DIFFERENCES)


def _rows(pairs: Pairs, names: list[str] | list[None], groups: Ints, confidence: float) -> list[dict[str, Any]]:
    """Rows by group, then by measure; groups are taken some at a time, so that little memory is needed."""
    order = np.argsort(groups, kind="stable")
    edges = np.searchsorted(groups[order], np.arange(len(names) + 1))
    rows = []
    for first in range(0, len(names), _GROUPS_AT_ONCE):
        last = min(first + _GROUPS_AT_ONCE, len(names))
        mine = order[edges[first] : edges[last]]
        part = _Part(pairs, pairs.units[mine], groups[mine] - first, last - first, confidence)
        told = [_measured(part, pairs.jobs[mine], measure) for measure in MEASURES]
        rows += [
            {"policy": pairs.policy, "measure": measure, "group": names[first + at], **_row(columns, at)}
            for at in range(last - first)
            for measure, columns in zip(MEASURES, told, strict=True)
        ]
    return rows


def _row(columns: dict[str, Floats | Ints], at: int) -> dict[str, float | int | None]:
    values = {name: column[at].item() for name, column in columns.items()}
    return {name: None if isinstance(value, float) and np.isnan(value) else value for name, value in values.items()}


class _Part:
    """Some groups: their jobs by unit, how many blocks hold any, and whose intervals can be told."""

    def __init__(self, pairs: Pairs, units: Ints, groups: Ints, count: int, confidence: float) -> None:
        self.draws, self.units, self.groups, self.count = pairs.draws, units, groups, count
        self.shape = (int(pairs.units[-1]) + 1, count)
        self.confidence = confidence
        self.counts = self.totals()
        self.jobs = self.counts.sum(axis=0)
        self.blocks = self.draws.blocks_with(self.counts)
        self.told = np.flatnonzero(self.blocks >= LEAST_BLOCKS)

    def totals(self, values: Floats | None = None) -> Floats:
        """Sums of values, or numbers of jobs, by unit and group, for all units of the log."""
        return totals(self.units, self.groups, self.shape, values)

    def mean(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """The mean of each group, and both ends of its interval."""
        sums = self.totals(values)
        low, high = np.full((2, self.count), np.nan)
        at = self.told
        if len(at):
            low[at], high[at] = self.draws.interval(sums[:, at], self.counts[:, at], self.blocks[at], self.confidence)
        return sums.sum(axis=0) / self.jobs, low, high

    def median(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """The median of each group, and both ends of its interval: values at the ranks that the share below it spans.

        Where many values equal the median, the share below and that up to it differ: the wider interval counts.
        """
        ordered = values[np.lexsort((values, self.groups))]
        size = self.jobs.astype(np.int64)
        start = np.cumsum(size) - size
        middle = (ordered[start + (size - 1) // 2] + ordered[start + size // 2]) / 2.0
        margin = np.full(self.count, np.nan)
        at = self.told
        if len(at):
            own = middle[self.groups]
            margin[at] = np.maximum(self._margin(values < own), self._margin(values <= own))
        low, high = np.full((2, self.count), np.nan)
        rank = np.clip(0.5 - margin[at], 0.0, 0.5) * (size[at] - 1)
        low[at] = ordered[start[at] + np.floor(rank).astype(np.int64)]
        high[at] = ordered[start[at] + size[at] - 1 - np.floor(rank).astype(np.int64)]
        return middle, low, high

    def _margin(self, is_so: npt.NDArray[np.bool_]) -> Floats:
        """Half the width of the interval of a share, for each group whose interval can be told."""
        at = self.told
        sums = self.totals(is_so.astype(np.float64))[:, at]
        return self.draws.margin(sums, self.counts[:, at], self.blocks[at], self.confidence)


def _measured(part: _Part, jobs: pl.DataFrame, measure: str) -> dict[str, Floats | Ints]:
    """The columns of one measure, one value a group."""
    change = _difference(jobs, measure)
    columns: dict[str, Floats | Ints] = {
        "jobs": part.jobs.astype(np.int64),
        "blocks": np.floor(part.blocks).astype(np.int64),
        "baseline_mean": part.totals(jobs[measure].to_numpy()).sum(axis=0) / part.jobs,
        "mean": part.totals(jobs[f"{measure}_other"].to_numpy()).sum(axis=0) / part.jobs,
    }
    figures = {
        "difference": part.mean(change),
        "median_difference": part.median(change),
        "better": part.mean((change < -EQUAL).astype(np.float64)),
        "equal": part.mean((np.abs(change) <= EQUAL).astype(np.float64)),
        "worse": part.mean((change > EQUAL).astype(np.float64)),
    }
    for name, (value, low, high) in figures.items():
        columns |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return columns


def _difference(jobs: pl.DataFrame, measure: str) -> Floats:
    return (jobs[f"{measure}_other"] - jobs[measure]).to_numpy()
