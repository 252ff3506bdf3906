"""Activities over time: timers, latencies and work that shares resources, in components that have none in common.

Rates change only in a component that somebody joins or leaves, or in which a host changes its speed: it becomes
dirty, and is dealt out anew once all that happens at the instant has happened (`settle`). A component stands once in
the heap, with the first end of its members.
"""

from __future__ import annotations

import numpy as np

from unspool.engine.compiled import compiled, inlined
from unspool.engine.levels import share_out
from unspool.engine.sharing import alone
from unspool.engine.state import NEVER, Array, Sharing
from unspool.engine.usage import note_component, note_part, note_use

__all__ = [
    "FLOWS", "LATENT", "TIMER", "block_of", "done_fraction", "drop_activity", "has_slots", "new_slot", "next_due",
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
def next_due(rule: Array, heap: Array) -> float:
    """When something happens next; rates must be up to date (`settle`)."""
    if rule[0]["due"] == 0:
        return NEVER
    return heap[0]["time"]  # type: ignore[no-any-return]


@compiled
def start_timer(sharing: Sharing, owner: int, time: float) -> int:
    """Something that happens at a time; returns its slot. The caller has seen to it that there is room."""
    slot = new_slot(sharing.rule, sharing.activities, TIMER, owner)
    _schedule(sharing.rule, sharing.activities, sharing.heap, slot, time)
    return slot


@inlined
def start_flow(sharing: Sharing, slot: int, now: float, latency: float) -> None:
    """A task whose elements are there waits for its latency, and then shares."""
    sharing.activities[slot]["left"] = 1.0
    sharing.activities[slot]["since"] = now
    if latency > 0.0:
        _schedule(sharing.rule, sharing.activities, sharing.heap, slot, now + latency)
    else:
        _join(sharing, slot, now)


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


# The heap: it knows where everybody stands.


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
def _schedule(rule: Array, activities: Array, heap: Array, slot: int, time: float) -> None:
    """Something happens to an activity, or to the component that it leads, at this time and not at another."""
    at = activities[slot]["place"]
    if at < 0:
        at = rule[0]["due"]
        rule[0]["due"] = at + 1
    heap[at]["time"] = time
    heap[at]["activity"] = slot
    _sift(activities, heap, rule[0]["due"], at)


@compiled
def _unschedule(rule: Array, activities: Array, heap: Array, slot: int) -> None:
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
def _scheduled(activities: Array, heap: Array, slot: int) -> float:
    at = activities[slot]["place"]
    return heap[at]["time"] if at >= 0 else NEVER


# Components: rings of activities, with a leader who knows how many there are.


@compiled
def _soil(rule: Array, activities: Array, dirty: Array, leader: int) -> None:
    """The rates of a component are out of date."""
    if activities[leader]["dirty"] != 0:
        return
    if rule[0]["dirty"] == len(dirty):
        _forget_passed_over(rule, activities, dirty)
    activities[leader]["dirty"] = 1
    dirty[rule[0]["dirty"]] = leader
    rule[0]["dirty"] += 1


@compiled
def _forget_passed_over(rule: Array, activities: Array, dirty: Array) -> None:
    """Keep of the list of dirty components those that still are, each once."""
    kept = 0
    for at in range(rule[0]["dirty"]):
        leader = dirty[at]
        if activities[leader]["dirty"] == 1:
            activities[leader]["dirty"] = 2
            dirty[kept] = leader
            kept += 1
    for at in range(kept):
        activities[dirty[at]]["dirty"] = 1
    rule[0]["dirty"] = kept


@compiled
def _join(sharing: Sharing, slot: int, now: float) -> None:
    """An activity begins to share: it and all that it meets become one component."""
    activities, uses, resources, beside = sharing.activities, sharing.uses, sharing.resources, sharing.beside
    activities[slot]["kind"] = FLOWS
    activities[slot]["since"] = now
    activities[slot]["rate"] = 0.0
    activities[slot]["end"] = NEVER
    activities[slot]["leader"] = slot
    activities[slot]["next"] = slot
    activities[slot]["before"] = slot
    activities[slot]["size"] = 1
    activities[slot]["gone"] = 0
    activities[slot]["uneven"] = activities[slot]["is_uneven"]
    _bound(sharing.rule, activities, sharing.elements, uses, resources, slot)
    first = activities[slot]["element"]
    for k in range(first, first + activities[slot]["elements"]):
        resource = uses[k]
        other = resources[resource]["first"]
        if other >= 0 and activities[beside[other]["activity"]]["leader"] != activities[slot]["leader"]:
            _unite(sharing, slot, beside[other]["activity"])
        beside[k]["activity"] = slot
        beside[k]["before"] = -1
        beside[k]["next"] = other
        if other >= 0:
            beside[other]["before"] = k
        resources[resource]["first"] = k
    _count(sharing, slot, 1)
    _soil(sharing.rule, activities, sharing.dirty, activities[slot]["leader"])


@inlined
def _count(sharing: Sharing, slot: int, sign: int) -> None:
    """An activity begins to share (1), or shares no more (-1)."""
    activities, uses, resources = sharing.activities, sharing.uses, sharing.resources
    sharing.rule[0]["flows"] += sign
    sharing.rule[0]["in_use"] += sign * activities[slot]["elements"]
    first = activities[slot]["element"]
    twins = first + activities[slot]["shared"]
    for k in range(first, twins):
        resources[uses[np.uint64(k)]]["users"] += sign
    for k in range(twins, twins + activities[slot]["twins"]):
        resources[uses[np.uint64(k)]]["twins"] += sign
    for k in range(twins + activities[slot]["twins"], first + activities[slot]["elements"]):
        resources[uses[np.uint64(k)]]["users"] += sign


@compiled
def _bound(rule: Array, activities: Array, elements: Array, uses: Array, resources: Array, slot: int) -> None:
    """The most that the rate of an activity can be: one core a computation, and what its latencies allow."""
    bound = activities[slot]["wire_bound"]
    first = activities[slot]["element"]
    for k in range(first, first + activities[slot]["elements"]):
        resource = uses[k]
        if resource < rule[0]["hosts"]:
            bound = min(bound, resources[resource]["speed"] / elements[k]["weight"])
    activities[slot]["bound"] = bound


@compiled
def _unite(sharing: Sharing, one: int, other: int) -> None:
    """Make one component of two; the smaller takes the leader of the larger."""
    activities = sharing.activities
    leader, follower = activities[one]["leader"], activities[other]["leader"]
    if activities[leader]["size"] < activities[follower]["size"]:
        leader, follower = follower, leader
    slot = follower
    while True:
        activities[slot]["leader"] = leader
        slot = activities[slot]["next"]
        if slot == follower:
            break
    last, last_follower = activities[leader]["before"], activities[follower]["before"]
    activities[last]["next"] = follower
    activities[follower]["before"] = last
    activities[last_follower]["next"] = leader
    activities[leader]["before"] = last_follower
    activities[leader]["size"] += activities[follower]["size"]
    activities[leader]["gone"] += activities[follower]["gone"]
    activities[leader]["uneven"] += activities[follower]["uneven"]
    activities[follower]["dirty"] = 0  # where it stands among the dirty, it is passed over
    first = min(_scheduled(activities, sharing.heap, leader), _scheduled(activities, sharing.heap, follower))
    _unschedule(sharing.rule, activities, sharing.heap, follower)
    if first < NEVER:
        _schedule(sharing.rule, activities, sharing.heap, leader, first)
    _soil(sharing.rule, activities, sharing.dirty, leader)


@compiled
def _unlink(activities: Array, uses: Array, resources: Array, beside: Array, slot: int) -> None:
    """Take the elements of an activity off their resources."""
    first = activities[slot]["element"]
    for k in range(first, first + activities[slot]["elements"]):
        before, after = beside[k]["before"], beside[k]["next"]
        if before >= 0:
            beside[before]["next"] = after
        else:
            resources[uses[k]]["first"] = after
        if after >= 0:
            beside[after]["before"] = before


@inlined
def _leave(sharing: Sharing, slot: int) -> None:
    """An activity shares no more."""
    activities = sharing.activities
    _unlink(activities, sharing.uses, sharing.resources, sharing.beside, slot)
    _count(sharing, slot, -1)
    if activities[slot]["next"] == slot:
        activities[slot]["dirty"] = 0
        _unschedule(sharing.rule, activities, sharing.heap, slot)
    else:
        _leave_others(sharing, slot)


@compiled
def _leave_others(sharing: Sharing, slot: int) -> None:
    """An activity leaves a component in which there are others."""
    activities = sharing.activities
    leader = activities[slot]["leader"]
    after = activities[slot]["next"]
    before = activities[slot]["before"]
    activities[before]["next"] = after
    activities[after]["before"] = before
    if leader == slot:
        _crown(sharing, slot, after)
        leader = after
    activities[leader]["size"] -= 1
    activities[leader]["gone"] += 1
    activities[leader]["uneven"] -= activities[slot]["is_uneven"]
    _soil(sharing.rule, activities, sharing.dirty, leader)


@compiled
def _crown(sharing: Sharing, old: int, leader: int) -> None:
    """Another leads the component that the old leader has left."""
    activities = sharing.activities
    activities[leader]["size"] = activities[old]["size"]
    activities[leader]["gone"] = activities[old]["gone"]
    activities[leader]["uneven"] = activities[old]["uneven"]
    activities[leader]["dirty"] = 0
    activities[old]["dirty"] = 0
    slot = leader
    while True:
        activities[slot]["leader"] = leader
        slot = activities[slot]["next"]
        if slot == leader:
            break
    at = activities[old]["place"]
    activities[old]["place"] = -1
    activities[leader]["place"] = at
    if at >= 0:
        sharing.heap[at]["activity"] = leader


@compiled
def _split(sharing: Sharing, leader: int) -> None:
    """Search a component for parts that share nothing, and make each a component of its own, all of them dirty."""
    activities, uses, resources, beside = sharing.activities, sharing.uses, sharing.resources, sharing.beside
    members = sharing.members
    sharing.rule[0]["mark"] += 1
    mark = sharing.rule[0]["mark"]
    in_all = activities[leader]["size"]
    count = 0
    slot = leader
    for at in range(in_all):  # the ring is cut up below, so who is in it is put behind the room of one part
        members[in_all + at] = slot
        slot = activities[slot]["next"]
    _unschedule(sharing.rule, activities, sharing.heap, leader)
    for each in range(in_all):
        seed = members[in_all + each]
        if activities[seed]["mark"] == mark:
            continue
        activities[seed]["mark"] = mark
        members[0] = seed
        count = 1
        at = 0
        uneven = 0
        while at < count:
            slot = members[at]
            at += 1
            uneven += activities[slot]["is_uneven"]
            first = activities[slot]["element"]
            for k in range(first, first + activities[slot]["elements"]):
                resource = uses[k]
                if sharing.marks[resource] == mark:
                    continue
                sharing.marks[resource] = mark
                other = resources[resource]["first"]
                while other >= 0:
                    met = beside[other]["activity"]
                    if activities[met]["mark"] != mark:
                        activities[met]["mark"] = mark
                        members[count] = met
                        count += 1
                    other = beside[other]["next"]
        for at in range(count):
            slot = members[at]
            activities[slot]["leader"] = seed
            activities[slot]["next"] = members[at + 1 if at + 1 < count else 0]
            activities[slot]["before"] = members[at - 1 if at > 0 else count - 1]
        activities[seed]["size"] = count
        activities[seed]["gone"] = 0
        activities[seed]["uneven"] = uneven
        if seed != leader:
            activities[seed]["dirty"] = 0
            activities[seed]["place"] = -1
            _soil(sharing.rule, activities, sharing.dirty, seed)


# Time.


@compiled
def settle(sharing: Sharing, now: float) -> None:
    """Bring the rates of all dirty components up to date."""
    rule, activities = sharing.rule, sharing.activities
    if rule[0]["dirty"] > 1:  # then all that parts of components add below has room
        _forget_passed_over(rule, activities, sharing.dirty)
    at = 0
    while at < rule[0]["dirty"]:
        leader = sharing.dirty[at]
        at += 1
        if activities[leader]["dirty"] == 0 or activities[leader]["kind"] != FLOWS:
            continue
        size, gone = activities[leader]["size"], activities[leader]["gone"]
        if gone > 0 and size > 1 and (size <= _FEW or 2 * gone >= size):
            _split(sharing, leader)
        activities[leader]["dirty"] = 0
        if rule[0]["bin_s"] > 0.0:
            note_component(sharing, leader, now)
        _catch_up(activities, leader, now)
        if activities[leader]["size"] == 1 and activities[leader]["is_plain"] != 0:
            activities[leader]["rate"] = alone(activities, sharing.elements, sharing.uses, sharing.resources, leader)
        else:
            share_out(sharing, leader)
        _schedule(rule, activities, sharing.heap, leader, _first_end(activities, leader, now))
    rule[0]["dirty"] = 0


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


@compiled
def take_due(sharing: Sharing, now: float) -> int:
    """The owner of the next activity that is over by now, which is given back; -1 where none is."""
    rule, activities, heap = sharing.rule, sharing.activities, sharing.heap
    horizon = _horizon(now)
    while rule[0]["due"] > 0 and heap[0]["time"] <= horizon:
        slot = heap[0]["activity"]
        kind = activities[slot]["kind"]
        if kind == LATENT:
            _unschedule(rule, activities, heap, slot)
            _join(sharing, slot, now)
            continue
        if kind == FLOWS:
            slot = _over_in(sharing, slot, horizon)
            if slot < 0:
                continue
            if rule[0]["bin_s"] > 0.0:
                note_use(sharing, slot, now, activities[slot]["left"])
            _leave(sharing, slot)
        else:
            _unschedule(rule, activities, heap, slot)
        owner: int = activities[slot]["owner"]
        _give_back(sharing, slot)
        return owner
    return -1


@compiled
def _over_in(sharing: Sharing, leader: int, horizon: float) -> int:
    """A member of a component that is over; -1 where none is, and then it stands in the heap by the first of its ends.

    A component may be large, and all of it be over at once: so those that are over are brought together behind the
    leader, who goes last, for then another must lead.
    """
    activities = sharing.activities
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
    _schedule(sharing.rule, activities, sharing.heap, leader, first)
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
        _leave(sharing, slot)
    else:
        _unschedule(sharing.rule, sharing.activities, sharing.heap, slot)
    _give_back(sharing, slot)


@compiled
def set_speed(sharing: Sharing, host: int, speed: float) -> None:
    """The cores of a host have another speed from now on."""
    resources, activities, beside, uses = sharing.resources, sharing.activities, sharing.beside, sharing.uses
    resources[host]["speed"] = speed
    resources[host]["capacity"] = speed * resources[host]["cores"]
    k = resources[host]["first"]
    while k >= 0:
        slot = beside[k]["activity"]
        _bound(sharing.rule, activities, sharing.elements, uses, resources, slot)
        _soil(sharing.rule, activities, sharing.dirty, activities[slot]["leader"])
        k = beside[k]["next"]
