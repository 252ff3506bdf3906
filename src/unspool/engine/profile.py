"""Free cores over time, as steps: what running jobs are expected to give back and what is promised to waiting ones.

Segment k holds from its time up to the next one's. The last one has no end, and all cores are free in it. Neighbours
that are equal are merged, and what lies in the past is dropped. Behind the last one stands a time that never comes.
"""

from __future__ import annotations

from unspool.engine.compiled import compiled, inlined
from unspool.engine.state import NEVER, Array, Core, Plan

__all__ = [
    "add_span",
    "begin_profile",
    "drop_the_past",
    "earliest_fit",
    "earliest_fit_before",
    "give_back_time",
    "most_free",
]


@inlined
def _copy(segments: Array, source: int, target: int) -> None:
    """Field by field, which Numba compiles to two moves; a record as a whole becomes a call."""
    segments[target]["time"] = segments[source]["time"]
    segments[target]["free"] = segments[source]["free"]


@compiled
def begin_profile(core: Core, plan: Plan) -> None:
    """The profile of the running jobs alone, from now on."""
    clock, running, segments = core.clock, core.running, plan.segments
    segments[0]["time"] = clock[0]["now"]
    segments[0]["free"] = clock[0]["free"]
    count = 1
    for at in range(clock[0]["running"] - 1, -1, -1):
        if running[at]["time"] > segments[count - 1]["time"]:
            segments[count]["time"] = running[at]["time"]
            segments[count]["free"] = segments[count - 1]["free"]
            count += 1
        segments[count - 1]["free"] += running[at]["size"]
    segments[count]["time"] = NEVER
    clock[0]["first_segment"] = 0
    clock[0]["segments"] = count


@compiled
def drop_the_past(clock: Array, segments: Array) -> None:
    """Forget segments that are over; move the rest to the front when it is the smaller half."""
    first = clock[0]["first_segment"]
    last = clock[0]["segments"]
    while first + 1 < last and segments[first + 1]["time"] <= clock[0]["now"]:
        first += 1
    clock[0]["first_segment"] = first
    if 2 * first > last:
        for k in range(first, last + 1):
            _copy(segments, k, k - first)
        clock[0]["first_segment"] = 0
        clock[0]["segments"] = last - first


@compiled
def _at(clock: Array, segments: Array, time: float) -> int:
    """The segment that holds at a time (the first one for times before it)."""
    low: int = clock[0]["first_segment"]
    if time < segments[low + 1]["time"]:
        return low  # now, which is asked for most often
    count = clock[0]["segments"] - low
    while count > 1:  # written so that the compiler needs no branch inside
        half = count >> 1
        low += half if segments[low + half]["time"] <= time else 0
        count -= half
    return low


@compiled
def add_span(clock: Array, segments: Array, start: float, end: float, cores: int) -> None:
    """Free (or, below 0, take) cores from start to end."""
    first = _at(clock, segments, start)
    last = first
    while segments[last + 1]["time"] <= end:
        last += 1
    splits_first = segments[first]["time"] < start
    splits_last = segments[last]["time"] < end
    if splits_first or splits_last:
        _make_room(clock, segments, first, last, splits_first, splits_last)
    if splits_first:
        first += 1
        last += 1
        segments[first]["time"] = start
    if splits_last:
        last += 1
        segments[last]["time"] = end
    for k in range(first, last):
        segments[k]["free"] += cores
    joins_first = first > clock[0]["first_segment"] and segments[first]["free"] == segments[first - 1]["free"]
    joins_last = segments[last]["free"] == segments[last - 1]["free"]
    if joins_first or joins_last:
        _close_up(clock, segments, first, last, joins_first, joins_last)


@inlined
def _make_room(clock: Array, segments: Array, first: int, last: int, splits_first: bool, splits_last: bool) -> None:
    """Double segment `first`, or `last`, or both; what comes behind moves up."""
    count = clock[0]["segments"]
    by = int(splits_first) + int(splits_last)
    for k in range(count, last, -1):
        _copy(segments, k, k + by)
    if splits_last:
        _copy(segments, last, last + by)
    if splits_first:
        for k in range(last, first - 1, -1):
            _copy(segments, k, k + 1)
    clock[0]["segments"] = count + by


@inlined
def _close_up(clock: Array, segments: Array, first: int, last: int, joins_first: bool, joins_last: bool) -> None:
    """Drop segment `first`, or `last`, or both, each equal to the one before it."""
    count = clock[0]["segments"]
    by = int(joins_first) + int(joins_last)
    if joins_first:
        for k in range(first + 1, last):
            _copy(segments, k, k - 1)
    for k in range(last + 1 if joins_last else last, count + 1):
        _copy(segments, k, k - by)
    clock[0]["segments"] = count - by


@inlined
def _run_from(segments: Array, look: int, begin: float, size: int, duration: float, end: float, own: float) -> float:
    """From a segment on, the first time that begins a run of so many free cores of so long, or one that reaches `own`.

    Gives up where no run that begins before `end` will do, and returns a time of `end` or later. One branch a segment,
    nearly always taken: whether cores suffice is a choice between two values.
    """
    while begin < end:
        following = segments[look + 1]["time"]
        begin = begin if segments[look]["free"] >= size else following
        if following >= min(begin + duration, own):
            break
        look += 1
    return begin


@compiled
def earliest_fit(clock: Array, segments: Array, size: int, duration: float, start: float) -> float:
    """The earliest time from `start` on at which so many cores are free for so long."""
    return _run_from(segments, _at(clock, segments, start), start, size, duration, NEVER, NEVER)


@compiled
def earliest_fit_before(
    clock: Array, segments: Array, size: int, duration: float, start: float, end: float, own: float
) -> float:
    """The earliest time from `start` on, before `end`, at which so many cores are free for so long; else `own`.

    `own` is when the job's present place begins: from there on its own cores are free for it.
    """
    begin = _run_from(segments, _at(clock, segments, start), start, size, duration, end, own)
    return begin if begin < end else own


@compiled
def most_free(clock: Array, segments: Array, end: float) -> int:
    """The most cores that are free at any time from now to `end`."""
    at = clock[0]["first_segment"]
    most: int = segments[at]["free"]
    while segments[at + 1]["time"] < end:
        at += 1
        most = max(most, segments[at]["free"])
    return most


@compiled
def give_back_time(core: Core, plan: Plan | None, job: int) -> None:
    """A running job ends now: what it was expected to hold until later is free."""
    if plan is None or core.clock[0]["planning"] == 0:
        return
    now = core.clock[0]["now"]
    end = core.fate[job]["planned_end"]
    if now < end:
        add_span(core.clock, plan.segments, now, end, core.jobs[job]["size"])
        core.clock[0]["freed_until"] = max(core.clock[0]["freed_until"], end)
