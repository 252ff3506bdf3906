"""Queue length, queued work and busy cores over time: steps, and their means over equal bins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from unspool.errors import InputError

if TYPE_CHECKING:
    from unspool.results.result import Result

__all__ = ["POINTS", "SERIES", "series", "span_of", "steps"]

POINTS = 1000
"""Bins of a series, if nobody says how many."""

SERIES: tuple[str, ...] = ("queue_length", "queued_work", "busy_cores")
"""What is told over time: jobs that wait, the core-seconds that they will run for, cores of jobs that run."""

Floats = npt.NDArray[np.float64]


def steps(result: Result) -> pl.DataFrame:
    """The value of each series from `time` on, until the next row; one row for each time at which anything changes.

    A job waits from its submission to its start, also while it waits for dependencies, and is no part of the queue
    at the instant at which both fall together. Jobs that never ran are not known here.
    """
    jobs, attempts = result.jobs, result.attempts
    work = jobs["cores"] * jobs["run_time"]
    changes = pl.concat(
        [
            _changes(jobs["submit_time"], 1.0, work, 0.0),
            _changes(jobs["start_time"], -1.0, -work, 0.0),
            _changes(attempts["start_time"], 0.0, 0.0, attempts["cores"]),
            _changes(attempts["finish_time"], 0.0, 0.0, -attempts["cores"]),
        ]
    )
    summed = changes.group_by("time").agg(pl.col(SERIES).sum()).sort("time")
    # Rounding may leave a little work, or less than none, in a queue that is empty.
    work_left = pl.when(pl.col("queue_length") > 0).then(pl.max_horizontal("queued_work", 0.0)).otherwise(0.0)
    return summed.with_columns(pl.col(SERIES).cum_sum()).with_columns(queued_work=work_left)


def series(
    result: Result, points: int = POINTS, *, begin: float | None = None, end: float | None = None
) -> pl.DataFrame:
    """Time-weighted means and the largest values of queue length, queued work and busy cores, in bins of equal length.

    The bins reach from `begin` to `end`, which are the first submission and the last end unless given, in at most
    `points` bins. The sum of mean queue length x length of bin is the sum of all waits (Little's law).
    """
    if points < 1:
        raise InputError(f"a series of {points} points; expected 1 or more")
    table = steps(result)
    first, last = span_of([result])
    begin, end = (first if begin is None else begin), (last if end is None else end)
    if end <= begin:
        return pl.DataFrame(schema=dict.fromkeys(_columns(), pl.Float64))
    edges = np.linspace(begin, end, points + 1)
    if not len(table):
        table = pl.DataFrame({"time": [begin], **{name: [0.0] for name in SERIES}})
    times = table["time"].to_numpy()
    told: dict[str, Floats] = {"time": edges[:-1], "until": edges[1:]}
    for name in SERIES:
        told[name], told[f"{name}_max"] = _binned(times, table[name].to_numpy(), edges)
    return pl.DataFrame(told)


def span_of(results: list[Result]) -> tuple[float, float]:
    """First submission and last end of all jobs of some results; (0, 0) without jobs."""
    tables = [result.jobs for result in results if len(result.jobs)]
    first = min((float(jobs["submit_time"].min()) for jobs in tables), default=0.0)  # type: ignore[arg-type]
    last = max((float(jobs["finish_time"].max()) for jobs in tables), default=0.0)  # type: ignore[arg-type]
    return first, last


def _columns() -> list[str]:
    return ["time", "until", *(column for name in SERIES for column in (name, f"{name}_max"))]


def _changes(time: pl.Series, *by: pl.Series | float) -> pl.DataFrame:
    columns = [
        one.cast(pl.Float64).alias(name) if isinstance(one, pl.Series) else pl.lit(one).alias(name)
        for name, one in zip(SERIES, by, strict=True)
    ]
    return pl.DataFrame({"time": time}).with_columns(columns)


def _binned(times: Floats, values: Floats, edges: Floats) -> tuple[Floats, Floats]:
    """Mean and maximum over each bin of a function that is 0, and then from each time on the value beside it."""
    area = np.concatenate([[0.0], np.cumsum(values[:-1] * np.diff(times))])
    mean = np.diff(np.interp(edges, times, area)) / np.diff(edges)
    before = np.searchsorted(times, edges[:-1], side="right") - 1
    at_edge = np.where(before >= 0, values[before], 0.0)
    first, stop = before + 1, np.searchsorted(times, edges[1:], side="left")  # steps within a bin, its ends left out
    within = np.maximum.reduceat(np.append(values, 0.0), np.stack([first, stop], axis=1).ravel())[::2]
    return mean, np.where(first < stop, np.maximum(at_edge, within), at_edge)
