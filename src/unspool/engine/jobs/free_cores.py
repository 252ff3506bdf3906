"""Free cores over time, as steps: what running jobs are expected to give back and what is promised to waiting ones.

The step that stands for now gains what is free now; each later one gains so many cores (or, below 0, loses them) at its
time. No two have one time and none gains 0. Now is the last one in the arrays and the latest time the first, because
steps that are soon come and go most often, and at the end of an array that is cheap; before the latest time stand times
that never come. Indices are made unsigned in loops, which spares the machine a look at their sign.
"""

from __future__ import annotations

import numpy as np

from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.simd import BLOCK, count_below
from unspool.engine.kernel.state import KEPT, NEVER, Array, Core, Plan

__all__ = [
    "begin_profile",
    "drop_the_past",
    "earliest_fit",
    "is_blocked_after",
    "last_step_before",
    "move_span",
    "release_time",
    "room_before",
    "steps_to_plan",
    "take_span",
]


@inlined
def _copy(times: Array, gains: Array, source: int, target: int) -> None:
    times[np.uint64(target)] = times[np.uint64(source)]
    gains[np.uint64(target)] = gains[np.uint64(source)]


@compiled
def steps_to_plan(course: Array) -> int:
    """Steps that the profile can need at the most before the next round: a job has two ends in it."""
    return int(2 * (course[0]["running"] + course[0]["queued"]) + BLOCK + 4)


@compiled
def begin_profile(core: Core, plan: Plan) -> None:
    """The profile of the running jobs alone, from now on."""
    course, running, times, gains = core.course, core.running, plan.times, plan.gains
    for at in range(BLOCK):
        times[at] = NEVER
    last = BLOCK - 1
    for at in range(course[0]["running"]):
        if running[at]["time"] < times[last]:
            last += 1
            times[last] = running[at]["time"]
            gains[last] = 0
        gains[last] += running[at]["size"]
    times[last + 1] = course[0]["now"]
    gains[last + 1] = course[0]["free"]
    course[0]["steps"] = last + 1


@compiled
def drop_the_past(course: Array, times: Array, gains: Array) -> None:
    """What has changed by now is free now."""
    last = course[0]["steps"]
    while times[last - 1] <= course[0]["now"]:
        gains[last - 1] += gains[last]
        last -= 1
    times[last] = course[0]["now"]
    course[0]["steps"] = last


@inlined
def _first_from(times: Array, time: float, at: int) -> int:
    """The first step at a time or later, where all that come before that of a position are earlier."""
    while times[np.uint64(at - BLOCK + 1)] < time:
        at -= BLOCK
    return at - count_below(times, at - BLOCK + 1, time)  # no branch depends on what is found


@inlined
def _change_at(course: Array, times: Array, gains: Array, at: int, time: float, cores: int) -> int:
    """From a time on, so many cores more (or, below 0, fewer) are free; returns how many steps more there are.

    `at` is the first step at that time or later.
    """
    last = course[0]["steps"]
    if times[at] != time:
        for k in range(last, at, -1):
            _copy(times, gains, k, k + 1)
        times[at + 1] = time
        gains[at + 1] = cores
        course[0]["steps"] = last + 1
        return 1
    gains[at] += cores
    if gains[at] != 0:
        return 0
    for k in range(at, last):
        _copy(times, gains, k + 1, k)
    course[0]["steps"] = last - 1
    return -1


@inlined
def _change(course: Array, times: Array, gains: Array, at: int, time: float, cores: int) -> int:
    """The same for a time that is not before that of a position; returns such a position for times that are later."""
    last = course[0]["steps"]
    if time <= times[last]:
        gains[last] += cores
        return int(last)
    at = _first_from(times, time, at)
    return at + max(0, _change_at(course, times, gains, at, time, cores))


@compiled
def take_span(course: Array, times: Array, gains: Array, start: float, end: float, cores: int) -> None:
    """Promise cores from start to end."""
    at = _change(course, times, gains, course[0]["steps"], start, -cores)
    _change(course, times, gains, at, end, cores)


@inlined
def _move(
    course: Array,
    times: Array,
    gains: Array,
    before: float,
    after: float,
    cores: int,
    near_before: int,
    near_after: int,
) -> int:
    """So many cores become free at an earlier time than before; returns a position for times later than `before`.

    The positions are such that the times are not before theirs.
    """
    last = course[0]["steps"]
    if after <= times[last]:
        gains[last] += cores
        return _change(course, times, gains, near_before, before, -cores)
    at = _first_from(times, after, near_after)
    source = _first_from(times, before, min(at, near_before))
    if times[source] == before and gains[source] == cores and times[at] != after:
        for k in range(source, at):  # a step that is theirs alone moves
            _copy(times, gains, k + 1, k)
        times[at] = after
        gains[at] = cores
    else:
        more = _change_at(course, times, gains, source, before, -cores)
        _change_at(course, times, gains, at + more, after, cores)
        source += max(0, more)
    return source


@compiled
def move_span(
    course: Array,
    times: Array,
    gains: Array,
    before: float,
    start: float,
    duration: float,
    cores: int,
    near_before: int,
    near_start: int,
) -> None:
    """Cores that were promised for a while from `before` on are promised from an earlier start on.

    The positions are such that the times are not before theirs.
    """
    at = _move(course, times, gains, before, start, -cores, near_before, near_start)
    last = course[0]["steps"]
    near_end = at if start + duration >= before else last
    _move(course, times, gains, before + duration, start + duration, cores, min(at, last), min(near_end, last))


@compiled
def earliest_fit(
    course: Array, times: Array, gains: Array, size: int, duration: float, start: float, end: float, own: float
) -> float:
    """The earliest time from `start` on, before `end`, at which so many cores are free for so long; else `own`.

    `own` is when the job's present place begins: from there on its own cores are free for it; it is not before `end`.
    One branch a step, nearly always taken: whether cores suffice is a choice between two values.
    """
    at = np.uint64(course[0]["steps"])
    one = np.uint64(1)
    free: int = gains[at]
    while times[at - one] <= start:
        at -= one
        free += gains[at]
    begin = start
    while True:
        following = times[at - one]
        enough = free >= size
        begin = begin if enough else following
        if following >= (min(begin + duration, own) if enough else end):
            break
        at -= one
        free += gains[at]
    return begin if begin < end else own


@inlined
def last_step_before(course: Array, times: Array, time: float, near: int) -> int:
    """The last step before a time that is later than now, and not before that of a position."""
    return _first_from(times, time, min(near, course[0]["steps"])) + 1


@inlined
def room_before(
    course: Array, times: Array, gains: Array, at: int, free: int, size: int, end: float
) -> tuple[int, bool, float]:
    """Where the room for a job begins that lasts to the end of the step at `at`: its first step, `at - 1` for none.

    And whether a job that ends at `end` or later can begin no earlier than there; and when the lack of cores before
    that room begins, by which an earlier fit is over. The lack is followed back only for as long as the job might end
    before it. `free` is what the step has.
    """
    last = course[0]["steps"]
    while free >= size and at < last:
        free -= gains[np.uint64(at)]
        at += 1
    begin = at if free >= size else at - 1
    is_earliest = free >= size
    while free < size and times[np.uint64(at)] >= end and at < last:
        free -= gains[np.uint64(at)]
        at += 1
    return begin, is_earliest or free < size, times[np.uint64(at - 1)]


@inlined
def is_blocked_after(times: Array, gains: Array, at: int, free: int, size: int, end: float) -> bool:
    """Whether a job that begins before the end of the step at `at`, and ends at `end` or later, lacks cores from it on.

    `free` is what the step has.
    """
    while free >= size and times[np.uint64(at - 1)] < end:
        at -= 1
        free += gains[np.uint64(at)]
    return bool(free < size and times[np.uint64(at)] < end)


@compiled
def release_time(core: Core, plan: Plan | None, job: int) -> None:
    """A running job ends now: what it was expected to hold until later is free."""
    if plan is None or core.course[0]["planning"] != KEPT:
        return
    end = core.fate[job]["planned_end"]
    if core.course[0]["now"] < end:
        # Now is behind the first step, if anything: the past is dropped before anybody looks.
        last = core.course[0]["steps"]
        plan.gains[last] += core.jobs[job]["size"]
        _change(core.course, plan.times, plan.gains, last, end, -core.jobs[job]["size"])
        core.course[0]["freed_until"] = max(core.course[0]["freed_until"], end)
