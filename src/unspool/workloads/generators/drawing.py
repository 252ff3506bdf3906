"""Draw a log from a fitted model."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from unspool.errors import InputError
from unspool.model.workload import Workload
from unspool.workloads.generators.busy import BusyClock
from unspool.workloads.generators.fitted import LEVELS, REQUEST_COLUMNS, RUN_TIME_LEVELS, Fitted
from unspool.workloads.generators.repeats import drawn_levels, drawn_requests
from unspool.workloads.generators.streams import (
    ARRIVALS,
    REPEATS,
    RUN_TIMES,
    SESSIONS,
    Floats,
    Ints,
    names,
    refuse_unless,
    stream,
)

__all__ = ["drawn"]

_SMALLEST = 1e-9


def drawn(model: Fitted, jobs: int | None, duration_s: float | None, seed: int) -> Workload:
    """A log of so many jobs, or of so many seconds."""
    if jobs is not None and duration_s is not None:
        raise InputError("generator: both jobs and duration_s are given; expected one of them")
    if duration_s is not None:
        refuse_unless(duration_s > 0, "duration_s", duration_s, "more than 0")
        jobs = max(1, round(duration_s * model.jobs / model.span_s))
    count = model.jobs if jobs is None else jobs
    refuse_unless(count >= 1, "jobs", count, "at least 1")
    span_s = duration_s or count * model.span_s / model.jobs
    user, submit_time = _submissions(model, count, span_s, seed)
    gap = np.diff(submit_time, prepend=0.0)
    gap[np.diff(user, prepend=-1) != 0] = math.inf
    wanted = drawn_requests(model, stream(seed, REPEATS), user, gap)
    asked = model.requests[wanted.request]
    run_time = _run_times(model, asked, drawn_levels(model, stream(seed, RUN_TIMES), wanted))
    order = np.argsort(submit_time, kind="stable")
    table = asked.select(REQUEST_COLUMNS).with_columns(
        submit_time=submit_time, run_time=run_time, user=model.users["user"][user], group=model.users["group"][user]
    )[order]
    table = table.select(column for column in table if column.null_count() < len(table))
    return Workload.of(
        table.with_columns(job_id=names(np.arange(1, count + 1))),
        name=f"fitted-{count}-seed-{seed}",
        origin_unix_s=model.origin_unix_s,
        time_zone=model.time_zone,
        max_cores=model.max_cores,
        max_machines=model.max_machines,
    )


def _submissions(model: Fitted, count: int, span_s: float, seed: int) -> tuple[Ints, Floats]:
    """User and submit time of each job, by user and time."""
    of_sessions, of_arrivals = stream(seed, SESSIONS), stream(seed, ARRIVALS)
    owner, length = _sessions(model, of_sessions, count)
    clock = BusyClock(span_s, model.origin_unix_s + model.first_s, model.time_zone, model.week)
    starts = clock.wall(_session_starts(model, of_arrivals, owner, clock.busy_s))
    session = np.repeat(np.arange(len(owner)), length)
    gap = _gaps(model, of_arrivals, length[session])
    firsts = np.cumsum(length) - length
    gap[firsts] = 0.0
    since = np.cumsum(gap)
    submit_time = model.first_s + starts[session] + since - since[firsts][session]
    if model.are_seconds_whole:
        submit_time = np.floor(submit_time)
    order = np.lexsort((submit_time, owner[session]))
    return owner[session][order], submit_time[order]


def _sessions(model: Fitted, stream: np.random.Generator, count: int) -> tuple[Ints, Ints]:
    """User and number of jobs of each session, by user: as many as give so many jobs, the last one cut off."""
    table = model.sessions
    ends = np.cumsum(table["count"].to_numpy())
    length = table["jobs"].to_numpy()
    mean = float(np.dot(length, table["count"].to_numpy())) / float(ends[-1])
    picks: list[Ints] = []
    have = 0
    while have < count:
        some = np.searchsorted(ends, stream.random(1 + math.ceil((count - have) / mean)) * ends[-1], "right")
        picks.append(some)
        have += int(length[some].sum())
    pick = np.concatenate(picks)
    lengths = length[pick]
    needed = int(np.searchsorted(np.cumsum(lengths), count)) + 1
    pick, lengths = pick[:needed], lengths[:needed].copy()
    lengths[-1] -= int(lengths.sum()) - count
    owner = table["user"].to_numpy()[pick]
    order = np.argsort(owner, kind="stable")
    return owner[order], lengths[order]


def _session_starts(model: Fitted, stream: np.random.Generator, owner: Ints, busy_s: float) -> Floats:
    """On the busy clock: the order of the sessions is that of their users' think times, the times are the stream's.

    A user's think times go once around the clock, from a place of the user's own.
    """
    think = _drawn(model.thinks, stream, len(owner))
    is_first = np.diff(owner, prepend=-1) != 0
    which = np.cumsum(is_first) - 1
    since = np.cumsum(think)
    before = (since - think)[is_first]
    total = np.bincount(which, think)
    turn = np.mod((since - before[which]) / total[which] + stream.random(len(total))[which], 1.0)
    apart = np.cumsum(_drawn(model.starts, stream, len(owner) + 1))
    starts = np.empty(len(owner))
    starts[np.argsort(turn, kind="stable")] = apart[:-1] * (busy_s / float(apart[-1]))
    return starts


def _drawn(quantiles: tuple[float, ...], stream: np.random.Generator, count: int) -> Floats:
    return _interpolated(np.array([quantiles]), LEVELS, np.zeros(count, np.int64), stream.random(count))


def _gaps(model: Fitted, stream: np.random.Generator, length: Ints) -> Floats:
    """A gap for each job, as between the jobs of a session of that length."""
    level = stream.random(len(length))
    if not len(model.gaps):
        return np.zeros(len(length))
    kind = np.searchsorted(model.gaps["least_jobs"].to_numpy(), length, "right") - 1
    quantiles = np.array(model.gaps["quantiles_s"].to_list())
    return _interpolated(quantiles, LEVELS, np.maximum(kind, 0), level)


def _run_times(model: Fitted, asked: pl.DataFrame, level: Floats) -> Floats:
    quantiles = np.array(model.run_times["quantiles"].to_list())
    share = _interpolated(quantiles, RUN_TIME_LEVELS, asked["run_times"].to_numpy(), level)
    run_time = share * asked["walltime"].fill_null(1.0).to_numpy()
    if model.are_seconds_whole:
        run_time = np.rint(run_time)
    return np.asarray(np.maximum(run_time, model.least_run_time_s))


def _interpolated(quantiles: Floats, levels: Floats, row: Ints, level: Floats) -> Floats:
    """The value at a level of a row of quantiles, in equal ratios between two of them; equal ones are one value."""
    at = np.clip(np.searchsorted(levels, level, "right") - 1, 0, len(levels) - 2)
    low, high = quantiles[row, at], quantiles[row, at + 1]
    part = (level - levels[at]) / (levels[at + 1] - levels[at])
    between = np.maximum(low, _SMALLEST) * (np.maximum(high, _SMALLEST) / np.maximum(low, _SMALLEST)) ** part
    return np.where(low == high, low, between)
