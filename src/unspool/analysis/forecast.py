"""`unspool.forecast`: when will the jobs that wait now start?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from html import escape
from os import PathLike
from typing import Any

import numpy as np
import polars as pl

from unspool.analysis.uncertainty import Arrivals, RunTimes
from unspool.arrays import Array
from unspool.errors import InputError, UnitError
from unspool.model.platform import Platform
from unspool.model.workload import MOST_SECONDS, Workload
from unspool.platforms import read_platform
from unspool.plugins import build
from unspool.results.run import name_of, text_of
from unspool.simulation.codes import REJECTED, RUNNING
from unspool.simulation.engine import Engine, Policy
from unspool.simulation.futures import Future
from unspool.units import format_duration, parse_duration
from unspool.workloads import read_workload
from unspool.workloads.clock import HOUR_S, seconds_of_date

__all__ = ["Forecast", "forecast", "seconds_of"]

QUANTILES = (0.1, 0.5, 0.9)
REPLICAS = 100
HORIZON = "14d"

# One random stream for each purpose and replica; a number never changes its meaning, nor is it a generator's or a
# transform's.
_RUN_TIMES, _DAYS = 200, 201
_FIRST_STEP_S = HOUR_S


@dataclass(frozen=True, eq=False)
class Forecast:
    """When jobs that wait at a time will start, over many futures drawn from the past.

    `jobs` has one row for each job that waits, in the order of the queue; `starts` the start of each of them in each
    future, in seconds, infinite where it did not start within the horizon. `rejected` counts jobs,
    submitted so far, that can never run there.
    """

    workload: str
    platform: Platform
    policy: str
    at_s: float
    horizon_s: float
    quantiles: tuple[float, ...]
    seed: int
    running: int
    rejected: int
    past_jobs: int
    jobs: pl.DataFrame
    starts: Array
    notes: tuple[str, ...] = ()

    @property
    def replicas(self) -> int:
        """How many futures were drawn."""
        return int(self.starts.shape[1])

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What the forecast is of, and how the queue as a whole fares."""
        started = np.isfinite(self.starts)
        left_s = np.where(started, self.starts, np.nan) - self.at_s
        has_starts = bool(started.any())
        return {
            "workload": self.workload,
            "platform": self.platform.name,
            "policy": self.policy,
            "at_s": self.at_s,
            "replicas": self.replicas,
            "seed": self.seed,
            "horizon_s": self.horizon_s,
            "past_jobs": self.past_jobs,
            "running": self.running,
            "waiting": len(self.jobs),
            "rejected": self.rejected,
            "mean_wait_left_s": float(np.nanmean(left_s)) if has_starts else None,
            "share_not_started": float(1.0 - started.mean()) if started.size else 0.0,
        }

    def to_dict(self) -> dict[str, Any]:
        """All of it in lists and dictionaries, as `unspool forecast --json` prints it."""
        return {**self.summary, "notes": list(self.notes), "jobs": self.jobs.to_dicts()}

    def _repr_html_(self) -> str:
        head = (
            f"<p><b>{escape(self.workload)}</b> under {escape(self.policy)} at {format_duration(self.at_s)}: "
            f"{len(self.jobs)} jobs wait, {self.replicas} futures</p>"
        )
        return head + self.jobs._repr_html_()


def forecast(
    workload: Workload | str | PathLike[str],
    platform: Platform | str | int | PathLike[str],
    policy: str | Policy = "easy",
    *,
    at: float | str | date | None = None,
    replicas: int = REPLICAS,
    quantiles: Sequence[float] = QUANTILES,
    horizon: float | str = HORIZON,
    seed: int = 0,
    kill_at_walltime: bool = False,
    name: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    compiling: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Forecast:
    """When will each job start that waits at a time? The log is replayed up to it, then many futures are tried.

    `at` is in seconds since the origin of the log, a duration such as `3d 12h`, or a date where the origin is known;
    without it, the time of the last submission. What comes after that time is never read: run times of jobs that run or
    wait are drawn from those of jobs like them that have ended, arrivals from whole days of the past. Starts later than
    `horizon` after `at` are not looked for. The same seed gives the same forecast. `name` is what the policy is called.

    `progress` is called now and then with how many of how many futures are done; `compiling()` is entered while the
    loop is compiled or loaded from disk.
    """
    name = name or (policy if isinstance(policy, str) else name_of(policy))
    scheduler: Any = build("schedulers", policy) if isinstance(policy, str) else policy
    _refuse_clairvoyant(name, scheduler)
    levels, horizon_s = _levels(quantiles), parse_duration(horizon)
    if replicas < 1:
        raise InputError(f"forecast: {replicas} replicas; expected at least 1")
    if seed < 0:
        raise InputError(f"forecast: the seed is {seed}; expected 0 or more")
    if not horizon_s > 0:
        raise InputError("forecast: the horizon is 0; expected a duration such as 14d")
    where = platform if isinstance(platform, Platform) else read_platform(text_of(platform))
    where.refuse_cloud("a forecast")
    log = workload if isinstance(workload, Workload) else read_workload(workload)
    at_s = seconds_of(at, log)
    if at_s > MOST_SECONDS:
        raise InputError(f"forecast: the time is {at_s:g} s; expected at most {MOST_SECONDS:g}")
    engine = Engine(_until(log, at_s), where, seed=seed, kill_at_walltime=kill_at_walltime)
    if engine.state.fluid is not None:
        raise InputError(
            f"{log.name}: jobs share processors or a network here, and how long they take is known when they have "
            "run; a forecast draws run times of jobs that take no notice of each other"
        )
    with compiling():
        engine.compile(scheduler)
    own = engine.fork_with(scheduler)[1]  # a policy of the caller's stays as it is
    engine.run(own, until=at_s)
    waiting = _waiting(engine)
    starts = _starts(engine, own, waiting, at_s, horizon_s, replicas, seed, progress)
    return Forecast(
        workload=log.name,
        platform=where,
        policy=name,
        at_s=at_s,
        horizon_s=horizon_s,
        quantiles=levels,
        seed=seed,
        running=len(engine.running_jobs()),
        rejected=len(engine.rejected),
        past_jobs=len(engine.core.jobs),
        jobs=_table(engine, waiting, starts, levels, at_s),
        starts=starts,
        notes=(*engine.notes, *_warnings(engine)),
    )


def seconds_of(at: float | str | date | None, log: Workload) -> float:
    """Seconds since the origin of a log of a time given as seconds, a duration or a date; None: the last submission.

    >>> jobs = pl.DataFrame({"job_id": ["a"], "submit_time": [7], "run_time": [1], "cores": [1]})
    >>> seconds_of(None, Workload.of(jobs)), seconds_of("1d", Workload.of(jobs))
    (7.0, 86400.0)
    """
    if at is None:
        if not len(log):
            raise InputError(f"{log.name}: it has no jobs; there is nothing to forecast")
        return float(log.table["submit_time"][-1])
    if isinstance(at, date):
        return seconds_of_date(at, log)
    try:
        return parse_duration(at)
    except UnitError:
        if not isinstance(at, str):
            raise
        return seconds_of_date(at, log)


def _until(log: Workload, at_s: float) -> Workload:
    past = log.table.filter(pl.col("submit_time") <= at_s)
    if not len(past):
        raise InputError(f"{log.name}: no job is submitted by {at_s:g} s; forecast a later time")
    return replace(log, table=past)


def _levels(quantiles: Sequence[float]) -> tuple[float, ...]:
    for level in quantiles:
        if not 0 < level < 1:
            raise InputError(f"forecast: a quantile of {level:g}; expected more than 0 and less than 1, such as 0.9")
    return tuple(sorted(set(quantiles)))


def _refuse_clairvoyant(name: str, scheduler: Any) -> None:
    knows = (scheduler, getattr(scheduler, "predictor", None))
    if any(getattr(one, "clairvoyant", False) for one in knows):
        raise InputError(f"policy '{name}' knows the future, which a forecast does not; take one that does not")


def _warnings(engine: Engine) -> tuple[str, ...]:
    if engine.without_estimate < len(engine.workload):
        return ()
    return (
        "no job has a walltime: schedulers take the longest run time of all jobs submitted so far for each, also of "
        "those that still run; forecast a log with walltimes",
    )


def _waiting(engine: Engine) -> Array:
    """Jobs that were submitted and have not started: the queue, then those that wait for other jobs."""
    queue = np.array(engine.waiting_jobs(), np.int64)
    state = engine.core.fate["state"]
    held = np.setdiff1d(np.flatnonzero(state < RUNNING), queue)
    return np.concatenate((queue, held))


def _starts(
    engine: Engine, policy: Policy, waiting: Array, at_s: float, horizon_s: float, replicas: int, seed: int,
    progress: Callable[[int, int], None] | None,
) -> Array:  # fmt: skip
    """The start of each waiting job in each future."""
    starts = np.full((len(waiting), replicas), np.inf)
    if not len(waiting):
        return starts
    run_times, arrivals = RunTimes(engine, at_s), Arrivals(engine, at_s, horizon_s)
    for replica in range(replicas):
        run_time = run_times.draw(np.random.default_rng([seed, _RUN_TIMES, replica]))
        like, submit = arrivals.draw(np.random.default_rng([seed, _DAYS, replica]))
        twin, own = engine.with_future(policy, Future(run_time, like, submit, run_time[like]))
        step_s = _FIRST_STEP_S
        while True:
            twin.run(own, until=at_s + min(step_s, horizon_s))
            fate = twin.core.fate[waiting]
            if ((fate["attempt"] >= 0) | (fate["state"] == REJECTED)).all() or step_s >= horizon_s:
                break
            step_s *= 2.0
        began = fate["attempt"] >= 0
        starts[began, replica] = twin.attempts["start"][fate["attempt"][began]]
        if progress is not None:
            progress(replica + 1, replicas)
    return starts


def _table(engine: Engine, waiting: Array, starts: Array, levels: tuple[float, ...], at_s: float) -> pl.DataFrame:
    rows = engine.workload.table[engine.used[waiting]]
    started = np.isfinite(starts)
    # The k-th of n draws is the k / (n + 1) quantile: then an interval holds the share that it says, however few.
    found = np.sort(starts, axis=1)
    replicas = starts.shape[1]
    columns = {}
    for level in levels:
        place = min(max(level * (replicas + 1), 1.0), float(replicas)) - 1.0
        low, part = int(place), place - int(place)
        below, above = found[:, low], found[:, min(low + 1, replicas - 1)]
        with np.errstate(invalid="ignore"):
            between = below + part * (above - below) if part else below
        columns[f"start_p{100 * level:g}"] = between
    means = np.where(started.all(axis=1), starts.mean(axis=1), np.nan)
    return rows.select(
        "job_id",
        "submit_time",
        "cores",
        *(["walltime"] if "walltime" in rows.columns else []),
        *(["user"] if "user" in rows.columns else []),
        waited_s=at_s - pl.col("submit_time"),
    ).with_columns(
        *(
            pl.Series(name, np.where(np.isfinite(values), values, np.nan)).fill_nan(None)
            for name, values in columns.items()
        ),
        pl.Series("start_mean", means).fill_nan(None),
        pl.Series("share_not_started", 1.0 - started.mean(axis=1)),
    )
