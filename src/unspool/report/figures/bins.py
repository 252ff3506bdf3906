"""Intervals summed up over a grid of rows and equal bins of time, and what there was to be used."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from unspool.report.figures.style import Floats
from unspool.results.result import Result

__all__ = ["busy_over", "capacity_over", "held_over", "most_waiting", "waiting_over"]

Integers = npt.NDArray[np.int64]


def held_over(begin: Floats, end: Floats, weight: Floats, row: Integers, edges: Floats, rows: int) -> Floats:
    """The mean, in each row and bin, of the sum of the weights of the intervals that are open; edges are equidistant.

    >>> held_over(np.array([0.5]), np.array([3.0]), np.array([2.0]), np.array([0]), np.array([0.0, 1, 2, 3, 4]), 1)
    array([[1., 2., 2., 0.]])
    """
    bins = len(edges) - 1
    width = (edges[-1] - edges[0]) / bins
    begin, end = np.clip(begin, edges[0], edges[-1]), np.clip(end, edges[0], edges[-1])
    first = np.clip(((begin - edges[0]) / width).astype(np.int64), 0, bins - 1)
    last = np.clip(((end - edges[0]) / width).astype(np.int64), 0, bins - 1)
    is_within = first == last
    size = rows * (bins + 1)

    def added(at: Integers, amount: Floats) -> Floats:
        sums = np.bincount(row * (bins + 1) + at, amount, minlength=size).astype(np.float64)
        return sums.reshape(rows, bins + 1)

    area = added(first, weight * np.where(is_within, end - begin, edges[first + 1] - begin))
    area += added(last, weight * np.where(is_within, 0.0, end - edges[last]))
    whole = np.where(is_within, 0.0, weight * width)  # of the bins between the first and the last
    area += np.cumsum(added(np.minimum(first + 1, bins), whole) - added(last, whole), axis=1)
    mean: Floats = area[:, :bins] / width
    return mean


def busy_over(result: Result, edges: Floats) -> Floats:
    """Busy cores, on the mean in each bin; the same as `busy_cores` of `Result.series`, without sorting all times."""
    attempts = result.attempts
    return _one_row(attempts["start_time"].to_numpy(), attempts["finish_time"].to_numpy(), attempts["cores"], edges)


def waiting_over(result: Result, edges: Floats, *, work: bool = False) -> Floats:
    """Jobs that wait, or the core-seconds that they will run for, on the mean in each bin."""
    jobs = result.jobs
    return _one_row(jobs["submit_time"].to_numpy(), jobs["start_time"].to_numpy(), _weight(jobs, work), edges)


def most_waiting(result: Result, *, work: bool = False) -> float:
    """The most jobs that wait at any time, or the most core-seconds that they will run for."""
    jobs = result.jobs
    weight = _weight(jobs, work).cast(pl.Float64).to_numpy()
    if not len(weight):
        return 0.0
    submit, start = jobs["submit_time"].to_numpy(), jobs["start_time"].to_numpy()
    come, go = np.argsort(submit, kind="stable"), np.argsort(start, kind="stable")
    times = submit[come]
    last = np.searchsorted(times, times, side="right")  # all that are submitted at an instant come at once
    gone = np.concatenate([[0.0], np.cumsum(weight[go])])[np.searchsorted(start[go], times, side="right")]
    return max(0.0, float((np.cumsum(weight[come])[last - 1] - gone).max()))


def _weight(jobs: pl.DataFrame, work: bool) -> pl.Series:
    return jobs["cores"] * jobs["run_time"] if work else pl.repeat(1.0, len(jobs), eager=True)


def capacity_over(result: Result, edges: Floats) -> Floats:
    """Cores that were there, on the mean in each bin: without machines that were down, or not yet or no longer up."""
    machines = result.machines
    if result.platform.cloud is None:
        there = np.full(len(edges) - 1, float(result.platform.cores))
    else:
        up, stop = machines["up_time"], machines["stop_time"]
        if "start_time" in machines.columns:  # fixed ones have no times: they are there from first to last
            fixed = machines["start_time"].is_null()
            up = pl.select(pl.when(fixed).then(edges[0]).otherwise(up)).to_series()
        begin = up.fill_null(edges[-1]).to_numpy()
        there = _one_row(begin, stop.fill_null(edges[-1]).to_numpy(), machines["cores"], edges)
    if len(result.outages) and result.platform.cloud is None:
        down = result.outages.sort("machine", "down_time")
        # Outages of one machine may overlap: each counts from the latest end before it.
        before = pl.col("up_time").cum_max().shift(1).over("machine").fill_null(-np.inf)
        down = down.with_columns(down_time=pl.max_horizontal("down_time", before)).filter(
            pl.col("down_time") < pl.col("up_time")
        )
        cores = machines["cores"].gather(down["machine"])
        there -= _one_row(down["down_time"].to_numpy(), down["up_time"].to_numpy(), cores, edges)
    return there


def _one_row(begin: npt.NDArray[Any], end: npt.NDArray[Any], cores: pl.Series, edges: Floats) -> Floats:
    weight = cores.cast(pl.Float64).to_numpy()
    end = np.maximum(begin, end)
    mean: Floats = held_over(begin, end, weight, np.zeros(len(begin), np.int64), edges, 1)[0]
    return mean
