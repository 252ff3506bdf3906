"""How many machines were in which state over the run, and for how long in all."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from unspool.model.platform import Platform
from unspool.model.power import power_of
from unspool.results.result import Result

__all__ = ["STATE_COLUMNS", "MachineTimes", "job_events", "machine_states", "machine_times", "switch_events"]

STATE_COLUMNS: tuple[str, ...] = (
    "time", "nb_sleeping", "nb_switching_on", "nb_switching_off", "nb_idle", "nb_computing"
)  # fmt: skip
"""The columns of the file of machine states, in their order."""

# What happens at one instant: machines go down or up, jobs that have run end, machines arrive in other states, then
# jobs start and machines are ordered to other states, as it was decided. A job that takes no time ends right after its
# own start, so that no prefix of the rows has a machine twice.
_OUTAGE, _END, _START = 0, 1, 2
_ARRIVED = (_END << 60) + (1 << 59)
_COUNTS = ("nb_sleeping", "nb_switching_on", "nb_switching_off", "nb_idle", "nb_computing")

_FIRST_LOOK = 4096  # attempts

_Ints = np.ndarray[tuple[int], np.dtype[np.int64]]
_Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True)
class MachineTimes:
    """Machine-seconds up to each machine's last change of state, as Batsim counts them."""

    computing: float
    idle: float
    unavailable: float
    sleeping: float = 0.0
    switching_off: float = 0.0
    switching_on: float = 0.0


def machine_states(result: Result) -> pl.DataFrame:
    """One row after each start and end of a job, and each switch of machines and its end; seconds, counts of machines.

    A machine that is down is in no column.
    """
    events = job_events(result)
    if _is_simple(result):
        # Of events at one time the rank decides, in which they stand; NumPy takes what is sorted as it is.
        changes = events.select("time", "change")[np.argsort(events["time"].to_numpy(), kind="stable")]
        counted = changes.with_columns(nb_computing=pl.col("change").cum_sum())
        counted = counted.with_columns(nb_idle=result.platform.machine_count - pl.col("nb_computing"))
        none = pl.lit(0, pl.Int64)
        return counted.with_columns(nb_sleeping=none, nb_switching_on=none, nb_switching_off=none).select(STATE_COLUMNS)
    return _counted(events, result)


def machine_times(result: Result) -> MachineTimes:
    """How long machines computed, idled, slept, switched and were down in all, up to the last change of each."""
    if _is_simple(result):
        took = result.attempts.select(pl.col("finish_time") - pl.col("start_time")).to_series().to_numpy()
        computing = float(np.dot(took, _machine_counts(result)))
        return MachineTimes(computing, float(_last_ends(result).sum()) - computing, 0.0)
    changes = _machine_changes(job_events(result), result)
    before = pl.col("time").shift(fill_value=0.0).over("machine")
    sums = changes.with_columns(dt=pl.col("time") - before).group_by("was").agg(pl.col("dt").sum())
    told = dict(sums.iter_rows())
    names = ("computing", "idle", "down", "sleeping", "switching_off", "switching_on")
    return MachineTimes(*(float(told.get(name, 0.0)) for name in names))


def _is_simple(result: Result) -> bool:
    """Whether a machine is always awake and never has two jobs, so that counting machines of jobs is enough."""
    platform: Platform = result.platform
    if result.switches is not None and (len(result.switches) or _first_asleep(result)):
        return False
    return not len(result.outages) and (platform.is_pool or all(g.machine.cores == 1 for g in platform.groups))


def _machine_counts(result: Result) -> _Ints:
    """How many machines each attempt held; on a pool its cores."""
    if result.platform.is_pool:
        return result.attempts["cores"].to_numpy()
    rows = result.allocations
    held = (rows["last_machine"] - rows["first_machine"] + 1).to_numpy()
    return np.bincount(rows["attempt"].to_numpy(), held, minlength=len(result.attempts)).astype(np.int64)


def job_events(result: Result) -> pl.DataFrame:
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
            "starts": pl.repeat(True, len(attempts), eager=True),
        }
    )
    ends = starts.with_columns(
        attempts["finish_time"].alias("time"),
        (number + took_time.cast(pl.Int64).replace_strict({0: (_START << 60) + 1, 1: _END << 60})).alias("rank"),
        change=-pl.col("change"),
        starts=pl.lit(False),
    ).filter(pl.Series(attempts["how"] != "running"))
    return pl.concat([ends, starts]).sort("rank")


def switch_events(result: Result) -> pl.DataFrame:
    """Orders to switch machines, and their ends, which are told once, with the last of an order; `done` says which.

    Columns `time`, `rank`, `order`, `done`, `was`, `via`, `pstate` and `machines`, a list.
    """
    assert result.switches is not None
    orders = result.switches.group_by("order", maintain_order=True).agg(
        pl.first("time", "was", "via", "pstate", "started"), pl.max("until"), machines=pl.col("machine").sort()
    )
    begins = orders.with_columns(rank=(_START << 60) + 2 * pl.col("started") - 1, done=pl.lit(False))
    ends = begins.with_columns(time="until", done=pl.lit(True))
    takes_time = pl.col("until") > orders["time"]
    later = ends.with_columns(rank=_ARRIVED + pl.col("order")).filter(takes_time)
    told = pl.concat([later, begins, ends.filter(~takes_time)])
    return told.select("time", "rank", "order", "done", "was", "via", "pstate", "machines")


def _first_asleep(result: Result) -> list[int]:
    """Machines that begin the run asleep."""
    network = result.platform.network
    if network is None or result.power is None:
        return []
    hosts = network.hosts[: result.platform.machine_count]
    return [at for at, host in enumerate(hosts) if host.state in power_of(host).sleeps]


def _counted(events: pl.DataFrame, result: Result) -> pl.DataFrame:
    """Machines in each state after each event, machine by machine: some are down, asleep, or have several jobs."""
    changes = _machine_changes(events, result)
    steps = {
        f"nb_{name.removeprefix('nb_')}": (
            (pl.col("now") == name.removeprefix("nb_")).cast(pl.Int64)
            - (pl.col("was") == name.removeprefix("nb_")).cast(pl.Int64)
        ).sum()
        for name in _COUNTS
    }
    asleep = len(_first_asleep(result))
    counted = changes.group_by("time", "rank").agg(**steps).sort("time", "rank").with_columns(pl.col(_COUNTS).cum_sum())
    counted = counted.with_columns(
        pl.col("nb_idle") + result.platform.machine_count - asleep, pl.col("nb_sleeping") + asleep
    )
    return counted.filter(pl.col("rank") >= _END << 60).select(STATE_COLUMNS)


def _machine_changes(events: pl.DataFrame, result: Result) -> pl.DataFrame:
    """What becomes of each machine at each event that touches it: `was` and `now` are states such as idle or down."""
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
    asleep = _first_asleep(result)
    moves = pl.concat([*_modes(result), jobs, *outages], how="diagonal")
    moves = moves.sort("machine", "time", "rank", maintain_order=True).with_columns(
        pl.col("busy", "down").fill_null(0).cum_sum().over("machine"),
        first=pl.when(pl.col("machine").is_in(asleep)).then(pl.lit("sleeping")).otherwise(pl.lit("idle")),
    )
    mode = pl.coalesce(pl.col("mode").forward_fill().over("machine"), "first") if "mode" in moves.columns else "first"
    now = (
        pl.when(pl.col("down") > 0)
        .then(pl.lit("down"))
        .when(pl.col("busy") > 0)
        .then(pl.lit("computing"))
        .otherwise(mode)
    )
    changed = moves.with_columns(now=now)
    return changed.with_columns(was=pl.coalesce(pl.col("now").shift().over("machine"), "first"))


def _modes(result: Result) -> list[pl.DataFrame]:
    """Which machines go to sleep, sleep, wake, and are awake, and when."""
    if result.switches is None or not len(result.switches):
        return []
    network = result.platform.network
    assert network is not None
    sleeps = [set(power_of(host).sleeps) for host in network.hosts[: result.platform.machine_count]]
    falls = pl.Series([state in sleeps[m] for m, state in result.switches.select("machine", "pstate").iter_rows()])
    moves = pl.Series(result.switches["until"] > result.switches["time"])
    events = switch_events(result).explode("machines").rename({"machines": "machine"})
    told = result.switches.select("order", "machine", falls=falls, moves=moves)
    events = events.join(told, on=["order", "machine"], how="left", maintain_order="left").filter("moves")
    way = pl.when("falls").then(pl.lit("switching_off")).otherwise(pl.lit("switching_on"))
    there = pl.when("falls").then(pl.lit("sleeping")).otherwise(pl.lit("idle"))
    return [events.select("machine", "time", "rank", mode=pl.when("done").then(there).otherwise(way))]


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
