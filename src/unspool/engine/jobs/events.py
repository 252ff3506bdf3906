"""What can happen at one instant, in which order, and the heap that keeps it.

This table is the only place that says the order of events. At one instant they are taken by kind, inside a kind by
sequence number; then schedulers decide once, and only then come stops. If a decision makes an event at this same
instant, the round is repeated; the clock moves only when nothing is left.
"""

from __future__ import annotations

from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.state import Array

__all__ = [
    "ARRIVAL", "DEFERRED", "END", "KIND_SHIFT", "RECLAIM", "STOP", "UP", "WAKE", "drop_event", "pop_event",
    "push_event",
]  # fmt: skip

END = 0  # a job ends: its run time is over, or its walltime
RECLAIM = 1  # an instance is taken away (machines that fail or go into maintenance come from a list, at this point)
UP = 2  # an instance has booted
DEFERRED = 3  # a decision made earlier, to be carried out now
ARRIVAL = 4  # a job whose dependencies have ended becomes eligible (plain arrivals come from the sorted job list)
WAKE = 5  # a scheduler asked to be called
STOP = 6  # an instance is stopped if it is idle still: after schedulers have decided

KIND_SHIFT = 48


@compiled
def _sift_up(events: Array, at: int) -> None:
    time, order, subject = events[at]["time"], events[at]["order"], events[at]["subject"]
    while at > 0:
        parent = (at - 1) >> 1
        above = events[parent]["time"]
        if above < time or (above == time and events[parent]["order"] < order):
            break
        _copy(events, parent, at)
        at = parent
    _write(events, at, time, order, subject)


@compiled
def _sift_down(events: Array, at: int, length: int) -> None:
    time, order, subject = events[at]["time"], events[at]["order"], events[at]["subject"]
    while True:
        child = 2 * at + 1
        if child >= length:
            break
        below = events[child]["time"]
        if child + 1 < length:
            other = events[child + 1]["time"]
            if other < below or (other == below and events[child + 1]["order"] < events[child]["order"]):
                child += 1
                below = other
        if time < below or (time == below and order < events[child]["order"]):
            break
        _copy(events, child, at)
        at = child
    _write(events, at, time, order, subject)


@compiled
def _copy(events: Array, source: int, target: int) -> None:
    _write(events, target, events[source]["time"], events[source]["order"], events[source]["subject"])


@compiled
def _write(events: Array, at: int, time: float, order: int, subject: int) -> None:
    events[at]["time"] = time
    events[at]["order"] = order
    events[at]["subject"] = subject


@compiled
def push_event(course: Array, events: Array, time: float, kind: int, subject: int) -> None:
    """Put an event on the heap; the caller has seen to it that there is room."""
    last = course[0]["events"]
    course[0]["sequence"] += 1
    course[0]["events"] = last + 1
    _write(events, last, time, (kind << KIND_SHIFT) + course[0]["sequence"], subject)
    _sift_up(events, last)


@compiled
def pop_event(course: Array, events: Array) -> None:
    """Take the first event off the heap (read it before)."""
    drop_event(course, events, 0)


@compiled
def drop_event(course: Array, events: Array, at: int) -> None:
    """Take the event at a place of the heap off it."""
    last = course[0]["events"] - 1
    course[0]["events"] = last
    if at < last:
        _copy(events, last, at)
        _sift_down(events, at, last)
        if at > 0:
            _sift_up(events, at)
