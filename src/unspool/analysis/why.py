"""`unspool.why`: what a job waited for, interval by interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from unspool.analysis.reasons import Reason, reason_for, told_time
from unspool.analysis.rerun import AnyLog, Rerun
from unspool.errors import InputError, shown
from unspool.results.result import Result
from unspool.results.store import load
from unspool.simulation.codes import QUEUED, UNSEEN
from unspool.simulation.engine import Engine, Policy
from unspool.units import format_duration

__all__ = ["Explanation", "Interval", "why"]

_SHOWN = 5  # ids that an error names


@dataclass(frozen=True)
class Interval:
    """A part of a wait with one reason, from `begin` up to `end`, in seconds of the log.

    `ahead` counts the jobs before it in the queue at the beginning, `overtaken_by` the jobs behind it in the log that
    started in this time.
    """

    begin: float
    end: float
    reason: Reason
    ahead: int
    overtaken_by: int

    @property
    def length_s(self) -> float:
        """How long it lasted."""
        return self.end - self.begin


@dataclass(frozen=True)
class Explanation:
    """What a job waited for: intervals that follow each other without a gap from its submission to its first start."""

    job: str
    workload: str
    platform: str
    policy: str
    cores: int
    estimate: float | None  # as the policy had it; None of a job that did not wait
    submit_time: float
    start_time: float
    intervals: tuple[Interval, ...]
    instants: int  # at which the policy decided while it waited

    @property
    def wait_s(self) -> float:
        """How long it waited."""
        return self.start_time - self.submit_time

    @property
    def overtaken_by(self) -> int:
        """How many jobs behind it in the log started while it waited."""
        return sum(interval.overtaken_by for interval in self.intervals)

    @property
    def totals(self) -> dict[str, float]:
        """Seconds by reason, the longest first; together they are the wait."""
        parts: dict[str, list[float]] = {}
        for interval in self.intervals:
            parts.setdefault(interval.reason.key, []).extend((interval.end, -interval.begin))
        totals = {key: math.fsum(times) for key, times in parts.items()}
        return dict(sorted(totals.items(), key=lambda entry: -entry[1]))

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        told = {
            "job": self.job,
            "workload": self.workload,
            "platform": self.platform,
            "policy": self.policy,
            "cores": self.cores,
            "estimate": self.estimate,
            "submit_time": self.submit_time,
            "start_time": self.start_time,
            "wait_s": self.wait_s,
            "instants": self.instants,
            "overtaken_by": self.overtaken_by,
            "totals": self.totals,
        }
        intervals = [
            {"begin": one.begin, "end": one.end, "length_s": one.length_s, "ahead": one.ahead}
            | {"overtaken_by": one.overtaken_by, **one.reason.as_dict()}
            for one in self.intervals
        ]
        return {**told, "intervals": intervals}

    def __str__(self) -> str:
        lines = [f"job {self.job} under {self.policy} waited {format_duration(self.wait_s)}"]
        lines += [f"  {told_time(one.begin)} to {told_time(one.end)}: {one.reason}" for one in self.intervals]
        return "\n".join(lines)


def why(
    result: Result | str | PathLike[str],
    job: str | int,
    *,
    workload: AnyLog = None,
    policy: Policy | None = None,
    progress: Callable[[int, int], None] | None = None,
    compiling: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Explanation:
    """What a job of a result (or of its folder) waited for, interval by interval, by replaying the run up to its start.

    The log is read from where the run read it; `workload` gives it where it was not read from a file, or is elsewhere.
    `policy` gives the policy where it was an object of yours, which has no name to load it by.

    >>> import polars as pl
    >>> from unspool import Workload, run
    >>> jobs = {"job_id": ["a", "b"], "submit_time": [0, 1], "run_time": [9, 5], "cores": [3, 2], "walltime": [9, 5]}
    >>> log = Workload.of(pl.DataFrame(jobs))
    >>> print(why(run(log, 4, "easy"), "b", workload=log))
    job b under easy waited 8 s
      1 to 9: needs 2 cores, 1 free
    """
    found = result if isinstance(result, Result) else load(result)
    row = _row_of(found, str(job))
    if row["start_time"] == row["submit_time"]:
        return _explained(found, row, None, (), 0)
    rerun = Rerun(found, workload, policy, progress=progress, compiling=compiling)
    at = rerun.index_of(row["job_id"])
    rerun.until(row["submit_time"])
    intervals: list[Interval] = []
    begin, instants = row["submit_time"], 0
    while rerun.engine.core.fate[at]["state"] in (UNSEEN, QUEUED):
        reason = reason_for(rerun.engine, rerun.policy, at)
        end = rerun.next_instant()
        if math.isinf(end):
            raise InputError(f"job '{row['job_id']}' never starts when the run is repeated; was another policy given?")
        _append(intervals, Interval(begin, end, reason, *_rivals(rerun.engine, at)))
        rerun.until(end)
        begin, instants = end, instants + 1
    estimate = float(rerun.engine.core.fate[at]["estimate"])
    return _explained(found, row, estimate, tuple(intervals), instants)


def _row_of(result: Result, job: str) -> dict[str, Any]:
    """Id, cores, submit time and first start of a job."""
    rows = result.attempts.filter(result.attempts["job_id"] == job)
    if len(rows):
        return rows.row(0, named=True)
    rejected = result.rejected.filter(result.rejected["job_id"] == job)
    if len(rejected):
        raise InputError(f"job '{shown(job)}' did not run: {rejected['reason'][0]}")
    if not len(result.jobs):
        rejected_ids = ", ".join(result.rejected["job_id"].drop_nulls().head(_SHOWN).to_list())
        hint = f"; jobs that were rejected: {rejected_ids}" if rejected_ids else ""
        raise InputError(f"there is no job '{shown(job)}' in this result, in which no job ran{hint}")
    ids = result.jobs["job_id"].head(_SHOWN).to_list()
    known = ", ".join(ids) + ", …" * (len(result.jobs) > _SHOWN)
    raise InputError(f"there is no job '{shown(job)}' in this result; its jobs are {known}")


def _append(intervals: list[Interval], new: Interval) -> None:
    """Add an interval, or lengthen the last one where the reason is the same."""
    last = intervals[-1] if intervals else None
    if last is not None and last.reason.is_like(new.reason):
        reason = last.reason.joined(new.reason)
        intervals[-1] = Interval(last.begin, new.end, reason, last.ahead, last.overtaken_by + new.overtaken_by)
    else:
        intervals.append(new)


def _rivals(engine: Engine, job: int) -> tuple[int, int]:
    """How many jobs are before one in the queue, and how many behind it in the log started at the present instant."""
    queue = engine.waiting_jobs()
    attempts = engine.attempts
    now = attempts[int(np.searchsorted(attempts["start"], engine.now)) :]  # starts are in the order of time
    return queue.index(job) if job in queue else 0, int((now["job"] > job).sum())


def _explained(
    result: Result, row: dict[str, Any], estimate: float | None, intervals: tuple[Interval, ...], instants: int
) -> Explanation:
    return Explanation(
        job=row["job_id"],
        workload=result.workload,
        platform=result.platform.name,
        policy=result.policy,
        cores=row["cores"],
        estimate=estimate,
        submit_time=row["submit_time"],
        start_time=row["start_time"],
        intervals=intervals,
        instants=instants,
    )
