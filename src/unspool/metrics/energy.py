"""Energy of jobs and machines: integrals of the steps of power, exact as far as numbers are."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import polars as pl

from unspool.arrays import Array
from unspool.engine.energy import Course, allocated

__all__ = ["attempt_joules", "energy_figures", "joules_between", "machine_joules", "total_power"]


def machine_joules(steps: pl.DataFrame, since: float, until: float) -> pl.DataFrame:
    """Joules of each machine from one time to another: columns `machine` and `energy_j`."""
    took = pl.col("finish_time").clip(since, until) - pl.col("start_time").clip(since, until)
    return steps.group_by("machine", maintain_order=True).agg(energy_j=(pl.col("watts") * took).sum())


def joules_between(steps: pl.DataFrame, machines: Array, since: Array, until: Array) -> Array:
    """Joules of a machine from one time to another, for many of them."""
    upto = steps.sort("machine", "start_time").with_columns(
        before=(pl.col("watts") * (pl.col("finish_time") - pl.col("start_time"))).cum_sum().over("machine")
        - pl.col("watts") * (pl.col("finish_time") - pl.col("start_time"))
    )
    return _joules_until(upto, machines, until) - _joules_until(upto, machines, since)


def _joules_until(upto: pl.DataFrame, machines: Array, times: Array) -> Array:
    asked = pl.DataFrame({"machine": machines.astype(np.int64), "time": times}).with_row_index("row").sort("time")
    found = asked.join_asof(
        upto.sort("start_time"), left_on="time", right_on="start_time", by="machine", strategy="backward",
        check_sortedness=False,
    )  # fmt: skip
    end = pl.min_horizontal("time", "finish_time")
    told = found.sort("row").select((pl.col("before") + pl.col("watts") * (end - pl.col("start_time"))).fill_null(0.0))
    return told.to_series().to_numpy()


def total_power(steps: pl.DataFrame) -> pl.DataFrame:
    """The power of all machines together as a step function: `time` from which on it is `watts`."""
    jumps = pl.concat(
        [
            steps.select(time="start_time", watts="watts"),
            steps.select(time="finish_time", watts=-pl.col("watts")),
        ]
    )
    summed = jumps.group_by("time").agg(pl.sum("watts")).sort("time")
    return summed.with_columns(pl.col("watts").cum_sum())


def energy_figures(steps: pl.DataFrame, since: float, until: float) -> dict[str, float]:
    """Joules of all machines, from the first submission to the last end, and the mean and the most that they drew."""
    joules = float(machine_joules(steps, since, until)["energy_j"].sum())
    total = total_power(steps).filter(pl.col("time") < until)
    before = total.filter(pl.col("time") <= since).tail(1)
    most = pl.concat([before, total.filter(pl.col("time") > since)])["watts"].max()
    return {
        "energy_j": joules,
        "mean_power_w": joules / (until - since) if until > since else 0.0,
        "peak_power_w": float(most or 0.0),  # type: ignore[arg-type]
    }


def attempt_joules(course: Course, steps: pl.DataFrame) -> tuple[Array, Array]:
    """Joules of each attempt: its part of what its machines drew while it ran, and all of what they drew.

    Where several jobs are on a machine, each has an equal part of what it draws with no load, and of the rest as much
    as it computes of what all compute.
    """
    pairs = allocated(course).filter(pl.col("finish") >= pl.col("start"))
    machine, start, finish = (pairs[name].to_numpy() for name in ("machine", "start", "finish"))
    whole = joules_between(steps, machine, start, finish)
    share = whole.copy()
    for crowded in _crowded(pairs):
        rows = np.flatnonzero(machine == crowded)
        share[rows] = _shares(course, steps, crowded, pairs[rows])
    attempt, count = pairs["attempt"].to_numpy(), len(course.attempts)
    return np.bincount(attempt, share, count), np.bincount(attempt, whole, count)


def _crowded(pairs: pl.DataFrame) -> list[int]:
    """Machines that had two jobs at one time."""
    order = pairs.sort("machine", "start", "finish")
    latest = pl.col("finish").cum_max().shift(1).over("machine")
    return order.filter(pl.col("start") < latest)["machine"].unique(maintain_order=True).to_list()


def _shares(course: Course, steps: pl.DataFrame, machine: int, pairs: pl.DataFrame) -> list[float]:
    """What each attempt on a machine has of its energy, stretch by stretch in which nothing changes."""
    own = steps.filter(pl.col("machine") == machine)
    loads = course.loads[course.loads["host"] == machine]
    job, start, finish, cores = (pairs[name].to_list() for name in ("job", "start", "finish", "cores"))
    times = np.unique(np.concatenate([own["start_time"], own["finish_time"], start, finish, loads["time"]]))
    notes = _notes(loads)
    step_at = (np.searchsorted(own["start_time"].to_numpy(), times, "right") - 1).tolist()
    note_at = (np.searchsorted(np.array([time for time, _ in notes]), times, "right") - 1).tolist()
    watts, state = own["watts"].to_list(), own["pstate"].to_list()
    host, states = course.hosts[machine], course.powers[machine].states
    joules = [0.0] * len(job)
    to_come = sorted(range(len(job)), key=start.__getitem__, reverse=True)
    here: list[int] = []
    for at, (since, until) in enumerate(pairwise(times.tolist())):
        while to_come and start[to_come[-1]] <= since:
            here.append(to_come.pop())
        here = [k for k in here if finish[k] >= until]
        if not here or step_at[at] < 0:
            continue
        now = state[step_at[at]]
        flops = notes[note_at[at]][1] if note_at[at] >= 0 else {}
        able = host.speeds[now] * host.cores
        load = [flops.get(job[k], 0.0) / able + cores[k] / course.cores[machine] for k in here]
        in_all, idle = sum(load), states[now].idle
        each, rest = idle / len(here), watts[step_at[at]] - idle
        for k, part in zip(here, load, strict=True):
            share = part / in_all if in_all > 0.0 else 1.0 / len(here)
            joules[k] += (until - since) * (each + rest * share)
    return joules


def _notes(loads: Array) -> list[tuple[float, dict[int, float]]]:
    """What each job computes on a host, from each time on; of one time the last counts."""
    found: dict[int, tuple[float, dict[int, float]]] = {}
    for row in _rows(loads):
        note, time, job, flops = row
        _, jobs = found.setdefault(note, (time, {}))
        jobs[job] = jobs.get(job, 0.0) + flops
    return list(found.values())


def _rows(loads: Array) -> Iterable[tuple[int, float, int, float]]:
    return zip(*(loads[name].tolist() for name in ("note", "time", "job", "flops")), strict=True)
