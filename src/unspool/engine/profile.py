"""Free cores over time, as steps: what running jobs are expected to give back and what is promised to waiting ones.

The first step stands for now and gains what is free now; each later one gains so many cores (or, below 0, loses them)
at its time. No two have one time and none gains 0. Behind the last one stands a time that never comes. Indices that
are known not to be below 0 are made unsigned in loops, which spares the machine a look at their sign.
"""

from __future__ import annotations

import numpy as np

from unspool.engine.compiled import compiled, inlined
from unspool.engine.state import NEVER, Array, Core, Plan

__all__ = [
    "begin_profile",
    "drop_the_past",
    "earliest_fit",
    "give_back_time",
    "move_span",
    "take_span",
]

_BLOCK = 32  # steps that are counted rather than searched


@inlined
def _copy(times: Array, gains: Array, source: int, target: int) -> None:
    times[np.uint64(target)] = times[np.uint64(source)]
    gains[np.uint64(target)] = gains[np.uint64(source)]


@compiled
def begin_profile(core: Core, plan: Plan) -> None:
    """The profile of the running jobs alone, from now on."""
    clock, running, times, gains = core.clock, core.running, plan.times, plan.gains
    times[0] = clock[0]["now"]
    gains[0] = clock[0]["free"]
    count = 1
    for at in range(clock[0]["running"] - 1, -1, -1):
        if running[at]["time"] > times[count - 1]:
            times[count] = running[at]["time"]
            gains[count] = 0
            count += 1
        gains[count - 1] += running[at]["size"]
    times[count] = NEVER
    clock[0]["first_step"] = 0
    clock[0]["steps"] = count


@compiled
def drop_the_past(clock: Array, times: Array, gains: Array) -> None:
    """What has changed by now is free now; move the rest to the front when it is the smaller half."""
    first = clock[0]["first_step"]
    last = clock[0]["steps"]
    while times[first + 1] <= clock[0]["now"]:
        gains[first + 1] += gains[first]
        first += 1
    times[first] = clock[0]["now"]
    if 2 * first > last:
        for k in range(first, last + 1):
            _copy(times, gains, k, k - first)
        last -= first
        first = 0
    clock[0]["first_step"] = first
    clock[0]["steps"] = last


@inlined
def _from(clock: Array, times: Array, time: float) -> int:
    """The first step at a time or later, where the time is not past."""
    low: int = clock[0]["first_step"] + 1
    last = clock[0]["steps"]
    while low + _BLOCK <= last and times[low + _BLOCK - 1] < time:
        low += _BLOCK
    at = low
    for k in range(low, min(low + _BLOCK, last)):  # no branch depends on what is found
        at += int(times[np.uint64(k)] < time)
    return at


@inlined
def _insert(clock: Array, times: Array, gains: Array, at: int, time: float, cores: int) -> None:
    for k in range(clock[0]["steps"], at - 1, -1):
        _copy(times, gains, k, k + 1)
    times[at] = time
    gains[at] = cores
    clock[0]["steps"] += 1


@inlined
def _add(clock: Array, times: Array, gains: Array, at: int, cores: int) -> None:
    """More (or, below 0, fewer) cores at a step, which goes when none are left."""
    gains[at] += cores
    if gains[at] == 0:
        clock[0]["steps"] -= 1
        for k in range(at, clock[0]["steps"] + 1):
            _copy(times, gains, k + 1, k)


@inlined
def _gain_at(clock: Array, times: Array, gains: Array, at: int, time: float, cores: int) -> None:
    """From a time on, so many cores more are free; `at` is the first step then or later."""
    if times[at] == time:
        _add(clock, times, gains, at, cores)
    else:
        _insert(clock, times, gains, at, time, cores)


@compiled
def _gain(clock: Array, times: Array, gains: Array, time: float, cores: int) -> None:
    """From a time on, so many cores more are free."""
    if time <= times[clock[0]["first_step"]]:
        gains[clock[0]["first_step"]] += cores
    else:
        _gain_at(clock, times, gains, _from(clock, times, time), time, cores)


@compiled
def _move(clock: Array, times: Array, gains: Array, before: float, after: float, cores: int) -> None:
    """So many cores become free at an earlier time than before: a step moves, where it is theirs alone."""
    first = clock[0]["first_step"]
    source = _from(clock, times, before)
    if after <= times[first]:
        _gain_at(clock, times, gains, source, before, -cores)
        gains[first] += cores
        return
    target = _from(clock, times, after)
    if times[source] == before and gains[source] == cores and times[target] != after:
        for k in range(source, target, -1):
            _copy(times, gains, k - 1, k)
        times[target] = after
        gains[target] = cores
    else:
        _gain_at(clock, times, gains, source, before, -cores)
        _gain_at(clock, times, gains, target, after, cores)


@compiled
def take_span(clock: Array, times: Array, gains: Array, start: float, end: float, cores: int) -> None:
    """Promise cores from start to end."""
    _gain(clock, times, gains, start, -cores)
    _gain(clock, times, gains, end, cores)


@compiled
def move_span(
    clock: Array, times: Array, gains: Array, before: float, start: float, duration: float, cores: int
) -> None:
    """Cores that were promised for a while from `before` on are promised from an earlier start on."""
    _move(clock, times, gains, before, start, -cores)
    _move(clock, times, gains, before + duration, start + duration, cores)


@compiled
def earliest_fit(
    clock: Array, times: Array, gains: Array, size: int, duration: float, start: float, end: float, own: float
) -> float:
    """The earliest time from `start` on, before `end`, at which so many cores are free for so long; else `own`.

    `own` is when the job's present place begins: from there on its own cores are free for it; it is not before `end`.
    One branch a step, nearly always taken: whether cores suffice is a choice between two values.
    """
    at = np.uint64(clock[0]["first_step"])
    one = np.uint64(1)
    free: int = gains[at]
    while times[at + one] <= start:
        at += one
        free += gains[at]
    begin = start
    while True:
        following = times[at + one]
        enough = free >= size
        begin = begin if enough else following
        if following >= (min(begin + duration, own) if enough else end):
            break
        at += one
        free += gains[at]
    return begin if begin < end else own


@compiled
def give_back_time(core: Core, plan: Plan | None, job: int) -> None:
    """A running job ends now: what it was expected to hold until later is free."""
    if plan is None or core.clock[0]["planning"] == 0:
        return
    end = core.fate[job]["planned_end"]
    if core.clock[0]["now"] < end:
        # Now is behind the first step, if anything: the past is dropped before anybody looks.
        first = plan.times[core.clock[0]["first_step"]]
        _move(core.clock, plan.times, plan.gains, end, first, core.jobs[job]["size"])
        core.clock[0]["freed_until"] = max(core.clock[0]["freed_until"], end)
