"""Who pays for a machine: its life in boot, run and idle time, hour by hour, and each job's share of the run time.

Nothing is decided here: this is a sweep over a finished run, compiled because it meets every start and end of a job.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from unspool.engine.kernel.compiled import compiled

__all__ = [
    "ALWAYS", "BOOT", "HOUR_S", "IDLE", "LIFE", "MACHINE_DTYPE", "RUN", "RUN_DTYPE", "USED", "spread", "sweep",
]  # fmt: skip

Array = np.ndarray[Any, Any]

HOUR_S = 3600.0
BOOT, RUN, IDLE = 0, 1, 2
LIFE, ALWAYS, USED = 0, 1, 2
"""When a machine is paid: from its start to its stop, at all times, or while a job runs on it."""

MACHINE_DTYPE = np.dtype(
    [
        ("start", "f8"), ("up", "f8"), ("stop", "f8"),
        ("usd_per_hour", "f8"), ("cores", "i8"), ("physical", "i8"), ("memory", "i8"), ("group", "i8"),
        ("billing", "i8"),
        ("boot_s", "f8"), ("run_s", "f8"), ("idle_s", "f8"),
    ],
    align=True,
)  # fmt: skip
"""A machine; jobs share its `cores`, core-seconds count its `physical` ones. The last three are filled in: seconds that
are paid.
"""

RUN_DTYPE = np.dtype(
    [("machine", "i8"), ("start", "f8"), ("finish", "f8"), ("cores", "i8"), ("memory", "i8"), ("usd", "f8")],
    align=True,
)
"""One attempt on one machine, longer than nothing; `usd` is filled in: its share of the machine's run time."""


@compiled
def sweep(
    machines: Array, runs: Array, by_finish: Array, begin: float, hours: int, minimum_s: float, cost: Array,
    core_s: Array,
) -> None:  # fmt: skip
    """Bill every machine for `hours` hours from `begin` on, and share the time that it runs among the jobs on it.

    `runs` are sorted by (machine, start), `by_finish` has their positions by (machine, finish). To `cost[kind, group,
    hour]` dollars are added, to `core_s[group, hour]` core-seconds. A life below `minimum_s` is filled up with idle
    time in the hour of its stop, which adds no core-seconds.
    """
    first = 0
    for m in range(len(machines)):
        last = first
        while last < len(runs) and runs[last]["machine"] == m:
            last += 1
        _sweep_machine(machines, m, runs, by_finish, first, last, begin, hours, cost, core_s)
        if machines[m]["billing"] == LIFE:
            _fill_up(machines, m, begin, hours, minimum_s, cost)
        first = last


@compiled
def _sweep_machine(
    machines: Array, m: int, runs: Array, by_finish: Array, first: int, last: int, begin: float, hours: int,
    cost: Array, core_s: Array,
) -> None:  # fmt: skip
    """Between two changes the limiting resource, the one with the larger share allocated, is paid for.

    What a core and a byte have cost so far is summed up, so that a job pays what was added between its start and end.
    """
    billing = machines[m]["billing"]
    now = begin
    closes = begin + HOUR_S * hours
    if billing == LIFE:
        closes = machines[m]["stop"]
        now = min(machines[m]["up"], closes)
        _pay(machines, m, BOOT, machines[m]["start"], now, begin, hours, cost, core_s)
    elif first < last:
        now = min(now, runs[first]["start"])
    running, cores, memory, per_core, per_byte = 0, 0, 0, 0.0, 0.0
    starting, ending = first, first
    while ending < last:
        is_start = starting < last and runs[starting]["start"] < runs[by_finish[ending]]["finish"]
        at = starting if is_start else by_finish[ending]
        time = runs[at]["start"] if is_start else runs[at]["finish"]
        if time > now:
            if running > 0:
                paid_s = _pay(machines, m, RUN, now, time, begin, hours, cost, core_s)
                usd = paid_s / HOUR_S * machines[m]["usd_per_hour"]
                if float(memory) * machines[m]["cores"] > float(cores) * machines[m]["memory"] > 0.0:
                    per_byte += usd / memory
                else:
                    per_core += usd / cores
            elif billing != USED:
                _pay(machines, m, IDLE, now, time, begin, hours, cost, core_s)
            now = time
        so_far = runs[at]["cores"] * per_core + runs[at]["memory"] * per_byte
        change = 1 if is_start else -1
        runs[at]["usd"] -= change * so_far
        running += change
        cores += change * runs[at]["cores"]
        memory += change * runs[at]["memory"]
        if running == 0:
            per_core, per_byte = 0.0, 0.0
        if is_start:
            starting += 1
        else:
            ending += 1
    if billing != USED and now < closes:
        _pay(machines, m, IDLE, now, closes, begin, hours, cost, core_s)


@compiled
def _pay(
    machines: Array, m: int, kind: int, since: float, until: float, begin: float, hours: int, cost: Array,
    core_s: Array,
) -> float:  # fmt: skip
    """Seconds of a stretch of a machine's time that lie in the hours of the table; they are paid."""
    usd_per_hour = machines[m]["usd_per_hour"]
    cores = machines[m]["physical"]
    group = machines[m]["group"]
    until = min(until, begin + HOUR_S * hours)
    at = max(since, begin)
    if not at < until:
        return 0.0
    hour = int((at - begin) // HOUR_S)
    total_s = until - at
    while at < until and hour < hours:
        edge = min(begin + HOUR_S * (hour + 1), until)
        if edge > at:
            cost[kind, group, hour] += (edge - at) / HOUR_S * usd_per_hour
            core_s[group, hour] += (edge - at) * cores
            at = edge
        hour += 1
    if kind == BOOT:
        machines[m]["boot_s"] += total_s
    elif kind == RUN:
        machines[m]["run_s"] += total_s
    else:
        machines[m]["idle_s"] += total_s
    return total_s


@compiled
def _fill_up(machines: Array, m: int, begin: float, hours: int, minimum_s: float, cost: Array) -> None:
    """Seconds that a short life lacks to the least that is billed; a stop on the hour belongs to the hour before."""
    lacking_s = minimum_s - (machines[m]["stop"] - machines[m]["start"])
    since_begin = machines[m]["stop"] - begin
    # One that stops on the hour at which the table begins belongs to the hour before, unless it began there too.
    if lacking_s <= 0.0 or since_begin < 0.0 or (since_begin == 0.0 and machines[m]["start"] < begin):
        return
    hour = max(math.ceil(since_begin / HOUR_S) - 1, 0)
    if hour < hours:
        cost[IDLE, machines[m]["group"], hour] += lacking_s / HOUR_S * machines[m]["usd_per_hour"]
        machines[m]["idle_s"] += lacking_s


@compiled
def spread(starts: Array, ends: Array, begin: float, hours: int, total_s: Array) -> None:
    """Add to each hour the seconds of all these intervals that lie in it."""
    closes = begin + HOUR_S * hours
    for i in range(len(starts)):
        at, until = max(starts[i], begin), min(ends[i], closes)
        if not at < until:
            continue
        hour = int((at - begin) // HOUR_S)
        while at < until and hour < hours:
            edge = min(begin + HOUR_S * (hour + 1), until)
            if edge > at:
                total_s[hour] += edge - at
                at = edge
            hour += 1
