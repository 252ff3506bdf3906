"""What happens to activities, and when: a heap that knows where everybody stands."""

from __future__ import annotations

from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import NEVER, Array

__all__ = ["next_due", "schedule", "scheduled", "unschedule"]


@compiled
def next_due(rule: Array, heap: Array) -> float:
    """When something happens next; rates must be up to date (`settle`)."""
    if rule[0]["due"] == 0:
        return NEVER
    return heap[0]["time"]  # type: ignore[no-any-return]


@inlined
def _put(heap: Array, activities: Array, at: int, time: float, slot: int) -> None:
    heap[at]["time"] = time
    heap[at]["activity"] = slot
    activities[slot]["place"] = at


@compiled
def _sift(activities: Array, heap: Array, length: int, at: int) -> None:
    """Bring the entry at a place to where it belongs."""
    time, slot = heap[at]["time"], heap[at]["activity"]
    while at > 0 and heap[(at - 1) >> 1]["time"] > time:
        above = (at - 1) >> 1
        _put(heap, activities, at, heap[above]["time"], heap[above]["activity"])
        at = above
    while True:
        child = 2 * at + 1
        if child >= length:
            break
        if child + 1 < length and heap[child + 1]["time"] < heap[child]["time"]:
            child += 1
        if heap[child]["time"] >= time:
            break
        _put(heap, activities, at, heap[child]["time"], heap[child]["activity"])
        at = child
    _put(heap, activities, at, time, slot)


@compiled
def schedule(rule: Array, activities: Array, heap: Array, slot: int, time: float) -> None:
    """Something happens to an activity, or to the component that it leads, at this time and not at another."""
    at = activities[slot]["place"]
    if at < 0:
        at = rule[0]["due"]
        rule[0]["due"] = at + 1
    heap[at]["time"] = time
    heap[at]["activity"] = slot
    _sift(activities, heap, rule[0]["due"], at)


@compiled
def unschedule(rule: Array, activities: Array, heap: Array, slot: int) -> None:
    """Nothing is to happen to an activity any more."""
    at = activities[slot]["place"]
    if at < 0:
        return
    activities[slot]["place"] = -1
    last = rule[0]["due"] - 1
    rule[0]["due"] = last
    if at < last:
        heap[at]["time"] = heap[last]["time"]
        heap[at]["activity"] = heap[last]["activity"]
        _sift(activities, heap, last, at)


@inlined
def scheduled(activities: Array, heap: Array, slot: int) -> float:
    """When something is to happen to an activity, or to the component that it leads."""
    at = activities[slot]["place"]
    return heap[at]["time"] if at >= 0 else NEVER
