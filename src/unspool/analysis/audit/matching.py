"""A schedule beside the log that it is of: for each job what the log asks for and when the schedule ran it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from unspool.analysis.audit.schedule import Schedule
from unspool.engine.place.shapes import Asked, shapes_of
from unspool.engine.setup import estimates_of
from unspool.model.dependencies import waits_of
from unspool.model.platform import Platform
from unspool.model.workload import Workload
from unspool.workloads.references import spans_of

__all__ = ["Array", "Match", "match"]

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Match:
    """Columns by job of the log, in queue order, and by row of the schedule.

    `job_of_row` is -1 for a row of no job of the log. `row_of_job` is the first row of a job, or -1; `start` and
    `finish` are that row's, `nan` without one. `eligible` is when a job joins the queue: its submission, or when the
    jobs that it depends on have ended in this schedule.
    """

    ids: list[str]
    submit: Array
    run_time: Array
    walltime: Array
    estimate: Array
    size: Array
    asked: Asked
    job_of_row: Array
    row_start: Array
    row_finish: Array
    row_ids: pl.Series
    row_of_job: Array
    start: Array
    finish: Array
    eligible: Array
    has_finish: bool
    has_dependencies: bool

    @property
    def ran(self) -> Array:
        """Positions of the jobs that have a row."""
        return np.flatnonzero(self.row_of_job >= 0)


def match(schedule: Schedule, workload: Workload, platform: Platform) -> Match:
    """Put the rows of a schedule beside the jobs of the log. A row without a finish runs as long as the log says."""
    table = workload.table
    asked = shapes_of(workload, platform)
    size = (asked.units * asked.need[:, 0].astype(np.int64))[asked.shape_of_job]
    walltime = workload.column("walltime").to_numpy(allow_copy=True).astype(np.float64)
    run_time = _run_times(workload)
    names = _named_as_in_log(schedule, table["job_id"])
    position = pl.DataFrame({"job_id": table["job_id"], "job": np.arange(len(table))})
    rows = pl.DataFrame({"job_id": names}).join(position, on="job_id", how="left", maintain_order="left")
    job_of_row = rows["job"].fill_null(-1).to_numpy()
    row_start = schedule.rows["start_time"].to_numpy()
    told = schedule.rows["finish_time"].cast(pl.Float64).to_numpy()
    row_finish = np.where(np.isnan(told), row_start + run_time[job_of_row] if len(table) else row_start, told)
    row_of_job = np.full(len(table), -1, np.int64)
    known = np.flatnonzero(job_of_row >= 0)
    by_start = known[np.argsort(row_start[known], kind="stable")]
    row_of_job[job_of_row[by_start[::-1]]] = by_start[::-1]  # the first of several is written last
    start, finish = (np.where(row_of_job >= 0, of[row_of_job], np.nan) if len(of) else np.full(len(table), np.nan)
                     for of in (row_start, row_finish))  # fmt: skip
    eligible, has_dependencies = _eligible(workload, finish)
    return Match(
        ids=table["job_id"].to_list(),
        submit=table["submit_time"].to_numpy(),
        run_time=run_time,
        walltime=np.where(walltime > 0.0, walltime, np.inf),
        estimate=estimates_of(workload)[0],
        size=size,
        asked=asked,
        job_of_row=job_of_row,
        row_start=row_start,
        row_finish=row_finish,
        row_ids=names,
        row_of_job=row_of_job,
        start=start,
        finish=finish,
        eligible=eligible,
        has_finish=not bool(np.isnan(told).all()),
        has_dependencies=has_dependencies,
    )


def _run_times(workload: Workload) -> Array:
    """As the log says; NaN of jobs that share a network, of which nobody knows it beforehand."""
    run_time: Array = workload.table["run_time"].to_numpy()
    unknown = pl.Series(list(workload.profiles.keys() - spans_of(workload.profiles).keys()), dtype=pl.String)
    if not len(unknown):
        return run_time
    return np.where(workload.column("profile").is_in(unknown).fill_null(False).to_numpy(), np.nan, run_time)


def _named_as_in_log(schedule: Schedule, ids: pl.Series) -> pl.Series:
    """The ids of the rows; those of Batsim with their workload's name before them where the log names jobs so."""
    names = schedule.rows["job_id"]
    if schedule.workload_names is not None:
        whole = schedule.workload_names + "!" + names
        if whole.is_in(ids.implode()).sum() > names.is_in(ids.implode()).sum():
            return whole
    return names


def _eligible(workload: Workload, finish: Array) -> tuple[Array, bool]:
    """When each job joins the queue; jobs that are not in the schedule count as ended."""
    submit = workload.table["submit_time"].to_numpy()
    if workload.column("depends_on").null_count() == len(workload):
        return submit, False
    ended = pl.DataFrame({"on": workload.table["job_id"], "ended": finish}).filter(pl.col("ended").is_not_nan())
    last = waits_of(workload.table).join(ended, on="on").group_by("job").agg(pl.col("ended").max())
    eligible = submit.copy()
    jobs = last["job"].to_numpy()
    think = workload.column("think_time").fill_null(0.0).to_numpy()
    eligible[jobs] = np.maximum(eligible[jobs], last["ended"].to_numpy() + think[jobs])
    return eligible, bool(len(last))
