"""Free cores over time, as steps: what running jobs are expected to give back and what is promised to waiting ones.

Segment k holds from its time up to the next one's. The last one has no end, and all cores are free in it. Neighbours
that are equal are merged, and what lies in the past is dropped.
"""

from __future__ import annotations

from unspool.engine.compiled import compiled
from unspool.engine.state import Array, Core, Plan

__all__ = [
    "add_span",
    "begin_profile",
    "drop_the_past",
    "earliest_fit",
    "earliest_fit_around",
    "earliest_fit_before",
    "give_back_time",
    "note_freed",
]


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
        for k in range(first, last):
            segments[k - first]["time"] = segments[k]["time"]
            segments[k - first]["free"] = segments[k]["free"]
        clock[0]["first_segment"] = 0
        clock[0]["segments"] = last - first


@compiled
def _at(clock: Array, segments: Array, time: float) -> int:
    """The segment that holds at a time (the first one for times before it)."""
    low: int = clock[0]["first_segment"]
    high = clock[0]["segments"]
    while high - low > 1:
        middle = (low + high) >> 1
        if segments[middle]["time"] <= time:
            low = middle
        else:
            high = middle
    return low


@compiled
def _split(clock: Array, segments: Array, time: float) -> int:
    """The segment that begins at a time; made where there is none."""
    at = _at(clock, segments, time)
    if segments[at]["time"] >= time:
        return at
    last = clock[0]["segments"]
    for k in range(last, at + 1, -1):
        segments[k]["time"] = segments[k - 1]["time"]
        segments[k]["free"] = segments[k - 1]["free"]
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
    for k in range(at, last):
        segments[k]["time"] = segments[k + 1]["time"]
        segments[k]["free"] = segments[k + 1]["free"]
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


@compiled
def earliest_fit(clock: Array, segments: Array, size: int, duration: float, start: float) -> float:
    """The earliest time from `start` on at which so many cores are free for so long."""
    last = clock[0]["segments"] - 1
    look = _at(clock, segments, start)
    while True:
        if segments[look]["free"] < size:
            look += 1
            start = segments[look]["time"]
        elif look == last or segments[look + 1]["time"] >= start + duration:
            return start
        else:
            look += 1


@compiled
def earliest_fit_before(clock: Array, segments: Array, size: int, duration: float, start: float, own: float) -> float:
    """The earliest time from `start` on, before `own`, at which so many cores are free for so long; else `own`.

    `own` is when the job's present place begins: from there on its own cores are free for it.
    """
    last = clock[0]["segments"] - 1
    look = _at(clock, segments, start)
    while start < own:
        if segments[look]["free"] < size:
            look += 1
            start = segments[look]["time"]
        elif look == last or segments[look + 1]["time"] >= min(start + duration, own):
            return start
        else:
            look += 1
    return own


@compiled
def earliest_fit_around(
    clock: Array, segments: Array, size: int, duration: float, start: float, end: float, own: float
) -> float:
    """The same where the time at which the job runs must touch start..end, or before that `own`, else `own`.

    Cores stay free over a run of segments: where one touches start..end, the job fits at the beginning of the run or
    not at all in it.
    """
    now = clock[0]["now"]
    first = clock[0]["first_segment"]
    last = clock[0]["segments"] - 1
    look = first if start <= now else _at(clock, segments, start)
    begin = max(start, now)
    if segments[look]["free"] >= size:
        back = look
        while back > first and segments[back - 1]["free"] >= size:
            back -= 1
        begin = max(segments[back]["time"], now)
    while begin < own:
        if segments[look]["free"] < size:
            look += 1
            begin = segments[look]["time"]
            if begin >= end:
                return own
        elif look == last or segments[look + 1]["time"] >= min(begin + duration, own):
            return begin
        else:
            look += 1
    return own


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
