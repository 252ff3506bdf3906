"""The power of machines over time, from what was written down of their states and loads, and its integral."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from unspool.engine.kernel.state import Array
from unspool.model.network import Host
from unspool.model.power import HostPower

__all__ = ["STEP_COLUMNS", "Course", "Gauge", "Switch", "allocated", "power_steps"]

STEP_COLUMNS: tuple[str, ...] = ("machine", "start_time", "finish_time", "pstate", "load", "watts")
"""The columns of the steps of power, in their order."""


class Switch(NamedTuple):
    """A machine goes from one state to another, by a third; `started` is how many attempts had begun before."""

    order: int
    machine: int
    time: float
    until: float
    was: int
    via: int
    pstate: int
    started: int


@dataclass(frozen=True)
class Course:
    """What decides the power of machines.

    `hosts`, their `powers` and `first` states, machines first and storage behind; `switches` in the order of their
    orders; `loads` as the meter has them; attempts with rows of machines; `plain[job]`, the cores that each unit of a
    job keeps busy all the time, 0 for jobs of which the meter says it; and `cores` of each machine.
    """

    hosts: tuple[Host, ...]
    powers: tuple[HostPower, ...]
    first: tuple[int, ...]
    switches: Sequence[Switch]
    loads: Array
    attempts: Array
    rows: Array
    plain: Array
    cores: Array


def power_steps(course: Course, since: float, until: float) -> pl.DataFrame:
    """The power of each machine as a step function: rows by machine and time, without gaps, from `since` to `until`.

    `load` is from 0 to 1, and 1 while a machine switches; columns as in `STEP_COLUMNS`.
    """
    changes = pl.concat([_of_states(course, since), _of_loads(course), _of_plain_jobs(course)], how="diagonal")
    steps = (
        changes.sort("machine", "time", "rank", maintain_order=True)
        .with_columns(
            pl.col("pstate", "switching", "flops").forward_fill().over("machine"),
            pl.col("cores").fill_null(0.0).cum_sum().over("machine"),
        )
        .unique(["machine", "time"], keep="last", maintain_order=True)
        .with_columns(start_time=pl.col("time").clip(lower_bound=since))
        .with_columns(finish_time=pl.col("time").shift(-1, fill_value=until).over("machine").clip(since, until))
        .filter(pl.col("finish_time") > pl.col("start_time"))
    )
    load, watts = _watts(course, steps)
    return steps.with_columns(load=load, watts=watts).select(STEP_COLUMNS)


def _of_states(course: Course, since: float) -> pl.DataFrame:
    """States of machines; `rank` orders what happens at one time."""
    schema = {"machine": pl.Int64, "time": pl.Float64, "rank": pl.Int64, "pstate": pl.Int64, "switching": pl.Int64}
    rows: list[tuple[int, float, int, int, int]] = [
        (machine, since, -1, state, 0) for machine, state in enumerate(course.first)
    ]
    for each in course.switches:
        rows.append((each.machine, each.time, 2 * each.order, each.via, int(each.until > each.time)))
        rows.append((each.machine, each.until, 2 * each.order + 1, each.pstate, 0))
    begin = pl.DataFrame(rows, schema=schema, orient="row")
    is_first = pl.col("rank") == -1
    return begin.with_columns(flops=pl.when(is_first).then(pl.lit(0.0)), cores=pl.when(is_first).then(pl.lit(0.0)))


def _of_loads(course: Course) -> pl.DataFrame:
    """What hosts compute, in flop/s, from a time on."""
    loads = course.loads
    table = pl.DataFrame({name: np.ascontiguousarray(loads[name]) for name in ("note", "host", "time", "flops")})
    notes = table.group_by("note", maintain_order=True).agg(pl.first("host", "time"), pl.sum("flops"))
    return notes.select(machine="host", time="time", rank="note", flops="flops")


def _of_plain_jobs(course: Course) -> pl.DataFrame:
    """Cores that jobs of logs take on machines, and give back."""
    pairs = allocated(course)
    pairs = pairs.filter(pl.col("cores") > 0.0)
    ended = pairs.filter(pl.col("finish") >= pl.col("start"))
    zero = pl.lit(0, pl.Int64)
    return pl.concat(
        [
            pairs.select("machine", time="start", rank=zero, cores="cores"),
            ended.select("machine", time="finish", rank=zero, cores=-pl.col("cores")),
        ]
    )


def allocated(course: Course) -> pl.DataFrame:
    """One row for each attempt and machine of it: `attempt`, `job`, `machine`, `start`, `finish` and plain `cores`."""
    attempts, rows = course.attempts, course.rows
    counts = attempts["row_count"]
    at = np.repeat(attempts["first_row"] - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))
    table = pl.DataFrame(
        {
            "attempt": np.repeat(np.arange(len(attempts)), counts),
            "first": rows["first"][at].astype(np.int64),
            "last": rows["last"][at].astype(np.int64),
            "units": rows["units"][at].astype(np.float64),
        }
    )
    table = table.with_columns(machine=pl.int_ranges("first", pl.col("last") + 1)).explode("machine")
    of = table["attempt"].to_numpy()
    job = attempts["job"][of]
    return table.select(
        "attempt",
        pl.Series("job", job),
        "machine",
        pl.Series("start", attempts["start"][of]),
        pl.Series("finish", attempts["finish"][of]),
        cores=pl.col("units") * pl.Series(course.plain[job].astype(np.float64)),
    )


def _watts(course: Course, steps: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    machine, state = steps["machine"].to_numpy(), steps["pstate"].to_numpy()
    most = max(len(power.states) for power in course.powers)
    idle, least, full, speed = (np.zeros((len(course.hosts), most)) for _ in range(4))
    for at, (host, power) in enumerate(zip(course.hosts, course.powers, strict=True)):
        for number, watts in enumerate(power.states):
            idle[at, number], least[at, number], full[at, number] = watts.idle, watts.least, watts.full
            speed[at, number] = host.speeds[number] * host.cores
    cores = np.ones(len(course.hosts))
    cores[: len(course.cores)] = course.cores
    able = speed[machine, state]
    flops = steps["flops"].to_numpy()
    load = np.divide(flops, able, out=np.zeros(len(flops)), where=able > 0.0)
    load = np.minimum(load + steps["cores"].to_numpy() / cores[machine], 1.0)
    load[steps["switching"].to_numpy() == 1] = 1.0
    low, high = least[machine, state], full[machine, state]
    return pl.Series(load), pl.Series(np.where(load > 0.0, low + (high - low) * load, idle[machine, state]))


class Gauge:
    """Counts joules as a run goes on, each change once, so that it may be read at any instant."""

    def __init__(self, course: Course) -> None:
        count = len(course.hosts)
        self._states: list[tuple[int, bool]] = [(state, False) for state in course.first]
        self._flops, self._cores = np.zeros(count), np.zeros(count)
        self._joules, self._since = 0.0, np.zeros(count)
        self._switches = self._rows = self._attempts = 0
        self._later: list[tuple[float, int, int, int]] = []  # arrivals in another state that are still to come
        self._open: list[int] = []  # plain attempts that have not ended
        self._watts = np.array([self._draws(course, machine) for machine in range(count)])

    def read(self, course: Course, now: float) -> float:
        """Joules from 0 until now; what is to be known of the time until now is in the course."""
        for time, _, machine, change in sorted(self._news(course, now), key=lambda news: news[:2]):
            self._count(machine, time)
            match change:
                case int() as state:
                    self._states[machine] = state >> 1, bool(state & 1)
                case ("flops", float() as value):
                    self._flops[machine] = value
                case ("cores", float() as value):
                    self._cores[machine] += value
            self._watts[machine] = self._draws(course, machine)
        for machine in range(len(self._since)):
            self._count(machine, now)
        return self._joules

    def _count(self, machine: int, time: float) -> None:
        if time > self._since[machine]:
            self._joules += float(self._watts[machine] * (time - self._since[machine]))
            self._since[machine] = time

    def _draws(self, course: Course, machine: int) -> float:
        state, is_switching = self._states[machine]
        host, watts = course.hosts[machine], course.powers[machine].states[state]
        able = host.speeds[state] * host.cores
        load = self._flops[machine] / able if able > 0.0 else 0.0
        if machine < len(course.cores):
            load += self._cores[machine] / course.cores[machine]
        return watts.at(1.0 if is_switching else min(load, 1.0))

    def _news(self, course: Course, now: float) -> list[tuple[float, int, int, int | tuple[str, float]]]:
        """What happened since the last time, up to now: when, its place among those of one time, where, and what."""
        news: list[tuple[float, int, int, int | tuple[str, float]]] = []
        for each in course.switches[self._switches :]:
            news.append((each.time, 2 * each.order, each.machine, 2 * each.via + (each.until > each.time)))
            self._later.append((each.until, 2 * each.order + 1, each.machine, 2 * each.pstate))
        self._switches = len(course.switches)
        news += [each for each in self._later if each[0] <= now]
        self._later = [each for each in self._later if each[0] > now]
        loads = course.loads[self._rows :]
        self._rows = len(course.loads)
        for note in np.unique(loads["note"]).tolist():
            rows = loads[loads["note"] == note] if len(loads) < 64 else _rows_of(loads, note)
            news.append((float(rows[0]["time"]), note, int(rows[0]["host"]), ("flops", float(rows["flops"].sum()))))
        return news + self._news_of_jobs(course)

    def _news_of_jobs(self, course: Course) -> list[tuple[float, int, int, int | tuple[str, float]]]:
        news: list[tuple[float, int, int, int | tuple[str, float]]] = []
        new = range(self._attempts, len(course.attempts))
        self._attempts = len(course.attempts)
        for attempt in new:
            news += _taken(course, attempt, float(course.attempts[attempt]["start"]), 1.0)
        still_open = []
        for attempt in (*self._open, *new):
            if course.attempts[attempt]["finish"] >= course.attempts[attempt]["start"]:
                news += _taken(course, attempt, float(course.attempts[attempt]["finish"]), -1.0)
            elif course.plain[course.attempts[attempt]["job"]]:
                still_open.append(attempt)
        self._open = still_open
        return news


def _rows_of(loads: Array, note: int) -> Array:
    first, last = np.searchsorted(loads["note"], [note, note + 1])
    return loads[first:last]


def _taken(course: Course, attempt: int, time: float, sign: float) -> list[tuple[float, int, int, tuple[str, float]]]:
    """The cores that a plain job takes, or gives back."""
    row = course.attempts[attempt]
    cores = float(course.plain[row["job"]])
    if not cores:
        return []
    first = int(row["first_row"])
    return [
        (time, 0, machine, ("cores", sign * cores * float(part["units"])))
        for part in course.rows[first : first + int(row["row_count"])]
        for machine in range(int(part["first"]), int(part["last"]) + 1)
    ]
