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
    "earliest_fit_around",
    "earliest_fit_before",
    "give_back_time",
    "lose_place",
    "note_freed",
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
    clock[0]["freed"] = 0


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
    count = clock[0]["segments"] - low
    while count > 1:  # written so that the compiler needs no branch inside
        half = count >> 1
        low += half if segments[low + half]["time"] <= time else 0
        count -= half
    return low


@compiled
def _split(clock: Array, segments: Array, time: float) -> int:
    """The segment that begins at a time; made where there is none."""
    at = _at(clock, segments, time)
    if segments[at]["time"] >= time:
        return at
    last = clock[0]["segments"]
    for k in range(last + 1, at + 1, -1):
        _copy(segments, k - 1, k)
    segments[at + 1]["time"] = time
    segments[at + 1]["free"] = segments[at]["free"]
    clock[0]["segments"] = last + 1
    return at + 1


@compiled
def _merge(clock: Array, segments: Array, at: int) -> None:
    """Drop a segment that is equal to the one before it."""
    if at <= clock[0]["first_segment"] or segments[at]["free"] != segments[at - 1]["free"]:
        return
    last = clock[0]["segments"] - 1
    for k in range(at, last + 1):
        _copy(segments, k + 1, k)
    clock[0]["segments"] = last


@compiled
def add_span(clock: Array, segments: Array, start: float, end: float, cores: int) -> None:
    """Free (or, below 0, take) cores from start to end."""
    first = _split(clock, segments, start)
    last = _split(clock, segments, end)
    for k in range(first, last):
        segments[k]["free"] += cores
    _merge(clock, segments, last)
    _merge(clock, segments, first)


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
def earliest_fit_before(clock: Array, segments: Array, size: int, duration: float, start: float, own: float) -> float:
    """The earliest time from `start` on, before `own`, at which so many cores are free for so long; else `own`.

    `own` is when the job's present place begins: from there on its own cores are free for it.
    """
    return min(_run_from(segments, _at(clock, segments, start), start, size, duration, own, own), own)


@inlined
def earliest_fit_around(
    clock: Array, segments: Array, freed: Array, which: int, size: int, duration: float, own: float
) -> float:
    """The same where the job must touch time that became free.

    Cores stay free over a run of segments: the job fits at the beginning of a run, or not at all in it.
    """
    first = clock[0]["first_segment"]
    end = min(freed[which]["end"], own)
    look = freed[which]["look"]
    if look < 0:
        look = _at(clock, segments, freed[which]["start"])
        freed[which]["look"] = look
    begin = freed[which]["start"]
    if segments[look]["free"] >= size:
        back = look
        while back > first and segments[back - 1]["free"] >= size:
            back -= 1
        if back < look:
            begin = segments[back]["time"]
    begin = max(begin, clock[0]["now"])
    begin = _run_from(segments, look, begin, size, duration, end, own)
    return begin if begin < end else own


@compiled
def lose_place(clock: Array, freed: Array) -> None:
    """The segments were changed: positions in them are found anew."""
    for at in range(clock[0]["freed"]):
        freed[at]["look"] = -1


@compiled
def _most_free(clock: Array, segments: Array, start: float, end: float) -> int:
    """The most cores that are free at any time from start to end."""
    at = _at(clock, segments, start)
    most: int = segments[at]["free"]
    at += 1
    while at < clock[0]["segments"] and segments[at]["time"] < end:
        most = max(most, segments[at]["free"])
        at += 1
    return most


@compiled
def note_freed(core: Core, plan: Plan, start: float, end: float) -> None:
    """Remember that cores became free from start to end, and how many are free there at the most.

    Where the list is full, its last entry is widened: it may then say too much, never too little.
    """
    clock, freed = core.clock, plan.freed
    most = _most_free(clock, plan.segments, start, end)
    at = clock[0]["freed"]
    if at == len(freed):
        at -= 1
        start = min(start, freed[at]["start"])
        end = max(end, freed[at]["end"])
        most = max(most, freed[at]["most"])
    freed[at]["start"] = start
    freed[at]["end"] = end
    freed[at]["most"] = most
    freed[at]["look"] = -1
    clock[0]["freed"] = at + 1


@compiled
def give_back_time(core: Core, plan: Plan | None, job: int) -> None:
    """A running job ends now: what it was expected to hold until later is free."""
    if plan is None or core.clock[0]["planning"] == 0:
        return
    now = core.clock[0]["now"]
    end = core.fate[job]["planned_end"]
    if now < end:
        add_span(core.clock, plan.segments, now, end, core.jobs[job]["size"])
        note_freed(core, plan, now, end)
        core.clock[0]["ended_early"] = 1
