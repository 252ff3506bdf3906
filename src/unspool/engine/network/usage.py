"""How much of each host and link is used over time, where that is asked for: flops and bytes in equal bins.

Between two changes of its rate an activity takes its resources evenly, so what it took since the last change is added
when the rate changes, and when it ends. Bins are as narrow as the time that has passed allows: when it outgrows them,
they are folded two into one. Their sum is what was carried, to rounding, however often they are folded.
"""

from __future__ import annotations

from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.simd import LANES
from unspool.engine.kernel.state import NEVER, Array, Sharing

__all__ = ["BINS", "LEAST_BIN_S", "note_component", "note_part", "note_use"]

BINS = 400
"""Bins of each resource; half of them are in use at the least."""

LEAST_BIN_S = 1e-3
"""How wide they are at first."""


@compiled
def note_component(sharing: Sharing, leader: int, now: float) -> None:
    """What all members of a component took since their rates last changed."""
    activities = sharing.activities
    if sharing.rule[0]["use_from"] == NEVER:
        sharing.rule[0]["use_from"] = now
    slot = leader
    while True:
        note_part(sharing, slot, now)
        slot = activities[slot]["next"]
        if slot == leader:
            break


@compiled
def note_part(sharing: Sharing, slot: int, now: float) -> None:
    """What an activity that goes on, or is cut, took since its rate last changed."""
    activities = sharing.activities
    done = activities[slot]["rate"] * (now - activities[slot]["since"])
    note_use(sharing, slot, now, min(done, activities[slot]["left"]))


@compiled
def note_use(sharing: Sharing, slot: int, now: float, part: float) -> None:
    """Such a part of an activity was done since its rate last changed."""
    if not part > 0.0:
        return
    rule, used, activities = sharing.rule, sharing.used, sharing.activities
    bins = used.shape[1]
    begin, end = activities[slot]["since"] - rule[0]["use_from"], now - rule[0]["use_from"]
    while end > bins * rule[0]["bin_s"]:
        _fold(used)
        rule[0]["bin_s"] *= 2.0
    width = rule[0]["bin_s"]
    first, last = min(int(begin / width), bins - 1), min(int(end / width), bins - 1)
    element = activities[slot]["element"]
    for k in range(element, element + activities[slot]["elements"]):
        for lane in range(LANES):
            amount = sharing.weights[k, lane] * part
            if amount > 0.0:
                _spread(used, LANES * sharing.uses[k] + lane, amount, begin, end, first, last, width)


@inlined
def _spread(
    used: Array, place: int, amount: float, begin: float, end: float, first: int, last: int, width: float
) -> None:
    """Add an amount to the bins from one time to another, evenly."""
    if first == last:
        used[place, first] += amount
        return
    rate = amount / (end - begin)
    used[place, first] += rate * ((first + 1) * width - begin)
    for at in range(first + 1, last):
        used[place, at] += rate * width
    used[place, last] += rate * (end - last * width)


@compiled
def _fold(used: Array) -> None:
    """Make one bin of two; the second half is free again."""
    bins = used.shape[1]
    for place in range(used.shape[0]):
        for at in range(bins):
            amount = 0.0
            if 2 * at + 1 < bins:
                amount = used[place, 2 * at] + used[place, 2 * at + 1]
            used[place, at] = amount
