"""Activities over time: timers, latencies and work that shares resources, in components that have none in common.

Rates change only in a component that somebody joins or leaves, or in which a host changes its speed: it becomes
dirty, and is dealt out anew once all that happens at the instant has happened (`settle`). A component stands once in
the heap, with the first end of its members.
"""

from __future__ import annotations

from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import NEVER, Array, Sharing
from unspool.engine.network.activity_heap import schedule, unschedule
from unspool.engine.network.components import bound_rate, forget_passed_over, join, leave, soil, split
from unspool.engine.network.fair_bottleneck import NOT_BEGUN, alone
from unspool.engine.network.maxmin import share_out
from unspool.engine.network.usage import note_component, note_part, note_use

__all__ = [
    "FLOWS", "LATENT", "TIMER", "block_of", "done_fraction", "drop_activity", "has_slots", "new_slot",
    "set_speed", "settle", "start_flow", "start_timer", "take_due",
]  # fmt: skip

UNUSED, TIMER, LATENT, FLOWS = 0, 1, 2, 3

_SAME_INSTANT_S = 1e-9  # ends so close to one another are one instant, but never more than
_SAME_INSTANT = 1e-12  # of the time on the clock
_FEW = 4  # a component of so many is searched for parts whenever one leaves


@inlined
def _horizon(now: float) -> float:
    return now + min(_SAME_INSTANT_S, _SAME_INSTANT * abs(now))


@compiled
def start_timer(sharing: Sharing, owner: int, time: float) -> int:
    """Something that happens at a time; returns its slot. The caller has seen to it that there is room."""
    slot = new_slot(sharing.rule, sharing.activities, TIMER, owner)
    schedule(sharing.rule, sharing.activities, sharing.heap, slot, time)
    return slot


@inlined
def start_flow(sharing: Sharing, slot: int, now: float, latency: float) -> None:
    """A task whose elements are there waits for its latency, and then shares."""
    sharing.activities[slot]["left"] = 1.0
    sharing.activities[slot]["since"] = now
    if latency > 0.0:
        schedule(sharing.rule, sharing.activities, sharing.heap, slot, now + latency)
    else:
        _begin_to_share(sharing, slot, now)


@inlined
def _begin_to_share(sharing: Sharing, slot: int, now: float) -> None:
    sharing.activities[slot]["kind"] = FLOWS
    sharing.activities[slot]["since"] = now
    join(sharing, slot)


@compiled
def has_slots(rule: Array, activities: Array, starts: int) -> bool:
    """Whether so many activities can be started, whoever gives back a slot."""
    return bool(rule[0]["slots"] + starts <= len(activities))


@inlined
def new_slot(rule: Array, activities: Array, kind: int, owner: int) -> int:
    """A slot for an activity; the caller has seen to it that there is room."""
    slot: int = rule[0]["spare"]
    if slot >= 0:
        rule[0]["spare"] = activities[slot]["next"]
    else:
        slot = rule[0]["slots"]
        rule[0]["slots"] = slot + 1
    activities[slot]["kind"] = kind
    activities[slot]["owner"] = owner
    activities[slot]["place"] = -1
    activities[slot]["dirty"] = 0
    activities[slot]["elements"] = 0
    activities[slot]["worth"] = 0.0
    return slot


@inlined
def _give_back(sharing: Sharing, slot: int) -> None:
    """An activity is over: its slot and its elements may be used again."""
    rule, activities = sharing.rule, sharing.activities
    count = activities[slot]["elements"]
    if count > 0:
        first = activities[slot]["element"]
        kind = block_of(count)
        sharing.beside[first]["next"] = sharing.blocks[kind]
        sharing.blocks[kind] = first
    activities[slot]["kind"] = UNUSED
    activities[slot]["next"] = rule[0]["spare"]
    rule[0]["spare"] = slot


@compiled
def block_of(count: int) -> int:
    """The least power of two that is at least so large, by its exponent."""
    kind = 0
    while (1 << kind) < count:
        kind += 1
    return kind


@inlined
def settle(sharing: Sharing, now: float) -> bool:
    """Bring the rates of all dirty components up to date.

    False where Python must have a turn before: then call it again, with nothing in between.
    """
    rule, activities = sharing.rule, sharing.activities
    at, phase = rule[0]["settled"], rule[0]["phase"]
    if phase == NOT_BEGUN and rule[0]["dirty"] > 1:  # then all that parts of components add below has room
        forget_passed_over(rule, activities, sharing.dirty)
    while at < rule[0]["dirty"]:  # parts are added, but no more than there are members
        leader = sharing.dirty[at]
        at += 1
        if phase == NOT_BEGUN:
            if activities[leader]["dirty"] == 0 or activities[leader]["kind"] != FLOWS:
                continue
            size, gone = activities[leader]["size"], activities[leader]["gone"]
            if gone > 0 and size > 1 and (size <= _FEW or 2 * gone >= size):
                split(sharing, leader)
            activities[leader]["dirty"] = 0
            if rule[0]["bin_s"] > 0.0:
                note_component(sharing, leader, now)
            _catch_up(activities, leader, now)
        if activities[leader]["size"] == 1 and activities[leader]["is_plain"] != 0:
            activities[leader]["rate"] = alone(activities, sharing.weights, sharing.uses, sharing.capacity, leader)
        elif not share_out(sharing, leader):
            rule[0]["settled"] = at - 1
            return False
        phase = NOT_BEGUN
        schedule(rule, activities, sharing.heap, leader, _first_end(activities, leader, now))
    rule[0]["settled"] = rule[0]["dirty"] = 0
    return True


@compiled
def _catch_up(activities: Array, leader: int, now: float) -> None:
    """What is left of each member now."""
    slot = leader
    while True:
        done = activities[slot]["rate"] * (now - activities[slot]["since"])
        activities[slot]["left"] = max(activities[slot]["left"] - done, 0.0)
        activities[slot]["since"] = now
        slot = activities[slot]["next"]
        if slot == leader:
            break


@compiled
def _first_end(activities: Array, leader: int, now: float) -> float:
    """When the first member of a component ends at its new rate."""
    first = NEVER
    slot = leader
    while True:
        rate = activities[slot]["rate"]
        end = now + activities[slot]["left"] / rate if rate > 0.0 else NEVER
        activities[slot]["end"] = end
        first = min(first, end)
        slot = activities[slot]["next"]
        if slot == leader:
            return first


@inlined
def take_due(sharing: Sharing, now: float) -> int:
    """The owner of the next activity that is over by now, which is given back; -1 where none is."""
    rule, activities, heap = sharing.rule, sharing.activities, sharing.heap
    horizon = _horizon(now)
    while rule[0]["due"] > 0 and heap[0]["time"] <= horizon:
        slot = heap[0]["activity"]
        kind = activities[slot]["kind"]
        if kind == LATENT:
            unschedule(rule, activities, heap, slot)
            _begin_to_share(sharing, slot, now)
            continue
        if kind == FLOWS:
            slot = _over_in(rule, activities, heap, slot, horizon)
            if slot < 0:
                continue
            if rule[0]["bin_s"] > 0.0:
                note_use(sharing, slot, now, activities[slot]["left"])
            leave(sharing, slot)
        else:
            unschedule(rule, activities, heap, slot)
        owner: int = activities[slot]["owner"]
        _give_back(sharing, slot)
        return owner
    return -1


@compiled
def _over_in(rule: Array, activities: Array, heap: Array, leader: int, horizon: float) -> int:
    """A member of a component that is over; -1 where none is, and then it stands in the heap by the first of its ends.

    A component may be large, and all of it be over at once: so those that are over are brought together behind the
    leader, who goes last, for then another must lead.
    """
    after: int = activities[leader]["next"]
    if (after != leader and activities[after]["end"] <= horizon) or _bring_forward(activities, leader, horizon):
        return activities[leader]["next"]  # type: ignore[no-any-return]
    if activities[leader]["end"] <= horizon:
        return leader
    first = NEVER
    slot = leader
    while True:
        first = min(first, activities[slot]["end"])
        slot = activities[slot]["next"]
        if slot == leader:
            break
    schedule(rule, activities, heap, leader, first)
    return -1


@compiled
def _bring_forward(activities: Array, leader: int, horizon: float) -> bool:
    """Move members that are over behind the leader, in their order; False where there is none."""
    last = leader
    slot = activities[leader]["next"]
    while slot != leader:
        after = activities[slot]["next"]
        if activities[slot]["end"] <= horizon:
            if activities[last]["next"] != slot:
                before, behind = activities[slot]["before"], activities[last]["next"]
                activities[before]["next"] = after
                activities[after]["before"] = before
                activities[slot]["next"] = behind
                activities[behind]["before"] = slot
                activities[last]["next"] = slot
                activities[slot]["before"] = last
            last = slot
        slot = after
    return bool(last != leader)


@compiled
def done_fraction(activities: Array, slot: int, now: float) -> float:
    """How much of a task is done."""
    if activities[slot]["kind"] != FLOWS:
        return 0.0
    left: float = activities[slot]["left"] - activities[slot]["rate"] * (now - activities[slot]["since"])
    return 1.0 - max(left, 0.0)


@compiled
def drop_activity(sharing: Sharing, slot: int, now: float) -> None:
    """End an activity before its time."""
    if sharing.activities[slot]["kind"] == FLOWS:
        if sharing.rule[0]["bin_s"] > 0.0:
            note_part(sharing, slot, now)
        leave(sharing, slot)
    else:
        unschedule(sharing.rule, sharing.activities, sharing.heap, slot)
    _give_back(sharing, slot)


@compiled
def set_speed(sharing: Sharing, host: int, speed: float) -> None:
    """The cores of a host have another speed from now on."""
    resources, activities, beside = sharing.resources, sharing.activities, sharing.beside
    resources[host]["speed"] = speed
    sharing.capacity[host, 0] = speed * resources[host]["cores"]
    k = sharing.bundles[host]["first"]
    while k >= 0:
        if sharing.weights[k, 0] > 0.0:
            bound_rate(
                sharing.rule, activities, resources, sharing.weights, sharing.runs, sharing.uses, beside[k]["activity"]
            )
            soil(sharing.rule, activities, sharing.dirty, activities[beside[k]["activity"]]["leader"])
        k = beside[k]["next"]
