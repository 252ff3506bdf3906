"""How many machines were in which state over the run, and for how long in all."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from unspool.model.platform import Platform
from unspool.results.result import Result

__all__ = ["STATE_COLUMNS", "MachineTimes", "machine_states", "machine_times"]

STATE_COLUMNS: tuple[str, ...] = (
    "time", "nb_sleeping", "nb_switching_on", "nb_switching_off", "nb_idle", "nb_computing"
)  # fmt: skip
"""The columns of the file of machine states, in their order."""

# What happens at one instant: machines go down or up, jobs that have run end, then jobs start. One that takes no time
# ends right after its own start, so that no prefix of the rows has a machine twice.
_OUTAGE, _END, _START = 0, 1, 2

_FIRST_LOOK = 4096  # attempts

_Ints = np.ndarray[tuple[int], np.dtype[np.int64]]
_Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True)
class MachineTimes:
    """Machine-seconds up to each machine's last change of state, as Batsim counts them."""

    computing: float
    idle: float
    unavailable: float


def machine_states(result: Result) -> pl.DataFrame:
    """One row after each start and end of a job; time in seconds, counts of machines.

    A machine that is down is in no column.
    """
    events = _job_events(result)
    if _is_simple(result):
        # Of events at one time the rank decides, in which they stand; NumPy takes what is sorted as it is.
        changes = events.select("time", "change")[np.argsort(events["time"].to_numpy(), kind="stable")]
        counted = changes.with_columns(nb_computing=pl.col("change").cum_sum())
        counted = counted.with_columns(nb_idle=result.platform.machine_count - pl.col("nb_computing"))
    else:
        counted = _counted(events, result)
    none = pl.lit(0, pl.Int64)
    return counted.with_columns(nb_sleeping=none, nb_switching_on=none, nb_switching_off=none).select(STATE_COLUMNS)


def machine_times(result: Result) -> MachineTimes:
    """How long machines computed, idled and were down in all, up to the last change of each."""
    if _is_simple(result):
        took = result.attempts.select(pl.col("finish_time") - pl.col("start_time")).to_series().to_numpy()
        computing = float(np.dot(took, _machine_counts(result)))
        return MachineTimes(computing, float(_last_ends(result).sum()) - computing, 0.0)
    changes = _machine_changes(_job_events(result), result)
    before = pl.col("time").shift(fill_value=0.0).over("machine")
    sums = changes.with_columns(dt=pl.col("time") - before).group_by("was").agg(pl.col("dt").sum())
    told = dict(sums.iter_rows())
    return MachineTimes(told.get("computing", 0.0), told.get("idle", 0.0), told.get("down", 0.0))


def _is_simple(result: Result) -> bool:
    """Whether a machine is never down and never has two jobs, so that counting machines of jobs is enough."""
    platform: Platform = result.platform
    return not len(result.outages) and (platform.is_pool or all(g.machine.cores == 1 for g in platform.groups))


def _machine_counts(result: Result) -> _Ints:
    """How many machines each attempt held; on a pool its cores."""
    if result.platform.is_pool:
        return result.attempts["cores"].to_numpy()
    rows = result.allocations
    held = (rows["last_machine"] - rows["first_machine"] + 1).to_numpy()
    return np.bincount(rows["attempt"].to_numpy(), held, minlength=len(result.attempts)).astype(np.int64)


def _job_events(result: Result) -> pl.DataFrame:
    """Starts and ends by rank, which is their order at one time: attempt, and how many machines more have a job."""
    attempts = result.attempts
    held = pl.Series(_machine_counts(result))
    took_time = attempts["finish_time"] > attempts["start_time"]
    number = attempts["attempt"] * 2
    starts = pl.DataFrame(
        {
            "time": attempts["start_time"],
            "rank": number + (_START << 60),
            "attempt": attempts["attempt"],
            "change": held,
        }
    )
    ends = starts.with_columns(
        attempts["finish_time"].alias("time"),
        (number + took_time.cast(pl.Int64).replace_strict({0: (_START << 60) + 1, 1: _END << 60})).alias("rank"),
        change=-pl.col("change"),
    ).filter(pl.Series(attempts["how"] != "running"))
    return pl.concat([ends, starts]).sort("rank")


def _counted(events: pl.DataFrame, result: Result) -> pl.DataFrame:
    """Idle and computing machines after each event, machine by machine: some are down, or have several jobs."""
    events = events.with_columns(idle_change=0, computing_change=0)
    changes = _machine_changes(events, result)
    by_event = changes.group_by("time", "rank").agg(
        nb_idle=((pl.col("now") == "idle").cast(pl.Int64) - (pl.col("was") == "idle").cast(pl.Int64)).sum(),
        nb_computing=(
            (pl.col("now") == "computing").cast(pl.Int64) - (pl.col("was") == "computing").cast(pl.Int64)
        ).sum(),
    )
    counted = by_event.sort("time", "rank").with_columns(
        pl.col("nb_idle").cum_sum() + result.platform.machine_count, pl.col("nb_computing").cum_sum()
    )
    return counted.filter(pl.col("rank") >= _END << 60)


def _machine_changes(events: pl.DataFrame, result: Result) -> pl.DataFrame:
    """What becomes of each machine at each event that touches it: `was` and `now` in state idle, computing or down."""
    held = result.allocations.select(
        pl.col("attempt").cast(pl.Int64), machine=pl.int_ranges("first_machine", pl.col("last_machine") + 1)
    ).explode("machine")
    jobs = events.join(held, on="attempt").select(
        "time", "rank", pl.col("machine").cast(pl.Int64), busy=pl.col("change").sign(), down=pl.lit(0, pl.Int64)
    )
    outages = [
        result.outages.select(
            time=column, rank=pl.lit(_OUTAGE, pl.Int64), machine="machine", busy=pl.lit(0, pl.Int64),
            down=pl.lit(step, pl.Int64),
        ).filter(pl.col("time").is_finite())
        for column, step in (("up_time", -1), ("down_time", 1))
    ]  # fmt: skip
    moves = pl.concat([jobs, *outages]).sort("machine", "time", "rank", maintain_order=True)
    moves = moves.with_columns(pl.col("busy", "down").cum_sum().over("machine"))
    now = (
        pl.when(pl.col("down") > 0)
        .then(pl.lit("down"))
        .when(pl.col("busy") > 0)
        .then(pl.lit("computing"))
        .otherwise(pl.lit("idle"))
    )
    return moves.with_columns(now=now).with_columns(was=pl.col("now").shift(fill_value="idle").over("machine"))


def _last_ends(result: Result) -> _Floats:
    """When the last job on each machine ended; 0 where none ever ran.

    The latest ends are looked at first: mostly a few thousand of them say it of every machine.
    """
    rows = result.allocations
    at, first, last = (rows[name].to_numpy() for name in ("attempt", "first_machine", "last_machine"))
    finish = result.attempts["finish_time"].to_numpy()
    ends = np.zeros(result.platform.machine_count)
    size, since = _FIRST_LOOK, math.inf
    while since > -math.inf and not ends.all():
        since = np.partition(finish, -size)[-size] if size < len(finish) else -math.inf
        here = np.flatnonzero((finish >= since)[at])
        _raise(ends, first[here], last[here], finish[at[here]])
        size *= 64
    return ends


def _raise(ends: _Floats, first: _Ints, last: _Ints, values: _Floats) -> None:
    """Make `ends[first[i]..last[i]]` at least `values[i]`, for every i.

    A run of machines is covered by two blocks whose lengths are a power of two: each level has the blocks of one
    length, and what a block has goes down to its two halves. Runs are never written out machine by machine.
    """
    count = len(ends)
    level = np.frexp((last - first + 1).astype(np.float64))[1] - 1
    above = np.zeros(count)
    for at in range(int(level.max(initial=0)), -1, -1):
        here = level == at
        np.maximum.at(above, first[here], values[here])
        np.maximum.at(above, last[here] - (1 << at) + 1, values[here])
        half = (1 << at) // 2
        if half:
            above[half:] = np.maximum(above[half:], above[: count - half])
    np.maximum(ends, above, out=ends)
