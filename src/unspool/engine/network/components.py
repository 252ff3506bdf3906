"""Components: activities that share nothing with others, as rings with a leader who knows how many there are.

Whoever joins or leaves makes a component dirty: its rates are out of date.
"""

from __future__ import annotations

import numpy as np

from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.simd import LANES, are_above_0, load, plus, store, times
from unspool.engine.kernel.state import NEVER, Array, Sharing
from unspool.engine.network.activity_heap import schedule, scheduled, unschedule

__all__ = ["bound_rate", "forget_passed_over", "join", "leave", "soil", "split"]


@inlined
def soil(rule: Array, activities: Array, dirty: Array, leader: int) -> None:
    """The rates of a component are out of date."""
    if activities[leader]["dirty"] != 0:
        return
    if rule[0]["dirty"] == len(dirty):
        forget_passed_over(rule, activities, dirty)
    activities[leader]["dirty"] = 1
    dirty[rule[0]["dirty"]] = leader
    rule[0]["dirty"] += 1


@compiled
def forget_passed_over(rule: Array, activities: Array, dirty: Array) -> None:
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


@inlined
def join(sharing: Sharing, slot: int) -> None:
    """An activity begins to share: it and all that it meets become one component."""
    activities, uses, bundles, beside = sharing.activities, sharing.uses, sharing.bundles, sharing.beside
    activities[slot]["rate"] = 0.0
    activities[slot]["end"] = NEVER
    activities[slot]["leader"] = slot
    activities[slot]["next"] = slot
    activities[slot]["before"] = slot
    activities[slot]["size"] = 1
    activities[slot]["gone"] = 0
    bound_rate(sharing.rule, activities, sharing.resources, sharing.weights, sharing.runs, uses, slot)
    first = activities[slot]["element"]
    for k in range(first, first + activities[slot]["elements"]):
        _meet(sharing, slot, k)
        other = bundles[uses[k]]["first"]
        beside[k]["activity"] = slot
        beside[k]["before"] = -1
        beside[k]["next"] = other
        if other >= 0:
            beside[other]["before"] = k
        bundles[uses[k]]["first"] = k
    _count(sharing, slot, 1.0)
    soil(sharing.rule, activities, sharing.dirty, activities[slot]["leader"])


@inlined
def _meet(sharing: Sharing, slot: int, element: int) -> None:
    """Unite an activity with those that are in the lanes of an element of it. One in each lane is enough."""
    activities, beside = sharing.activities, sharing.beside
    alone_in = beside[element]["lanes"]
    other = sharing.bundles[sharing.uses[element]]["first"]
    while other >= 0 and alone_in != 0:
        if beside[other]["lanes"] & alone_in != 0:
            alone_in &= ~beside[other]["lanes"]
            if activities[beside[other]["activity"]]["leader"] != activities[slot]["leader"]:
                _unite(sharing, slot, beside[other]["activity"])
        other = beside[other]["next"]


@inlined
def _count(sharing: Sharing, slot: int, sign: float) -> None:
    """An activity begins to share (1), or shares no more (-1)."""
    activities, uses, using = sharing.activities, sharing.uses, sharing.using
    sharing.rule[0]["flows"] += int(sign)
    sharing.rule[0]["in_use"] += int(sign) * activities[slot]["elements"]
    k = activities[slot]["element"]
    last = k + activities[slot]["elements"]
    while k < last:
        end = k + sharing.runs[np.uint64(k)]
        change = times(are_above_0(load(sharing.weights, k)), sign)
        while k < end:
            bundle = uses[np.uint64(k)]
            store(using, bundle, plus(load(using, bundle), change))
            k += 1


@inlined
def bound_rate(
    rule: Array, activities: Array, resources: Array, weights: Array, runs: Array, uses: Array, slot: int
) -> None:
    """The most that the rate of an activity can be: one core a computation, and what its latencies allow."""
    bound = activities[slot]["wire_bound"]
    k = activities[slot]["element"]
    last = k + activities[slot]["shared"]
    while k < last:
        end = k + runs[np.uint64(k)]
        if weights[k, 0] > 0.0 and uses[np.uint64(k)] < rule[0]["hosts"]:
            slowest = NEVER
            for at in range(k, end):
                slowest = min(slowest, resources[uses[np.uint64(at)]]["speed"])
            bound = min(bound, slowest / weights[k, 0])
        k = end
    activities[slot]["bound"] = bound


@compiled
def _unite(sharing: Sharing, one: int, other: int) -> None:
    """Make one component of two; the smaller takes the leader of the larger."""
    activities = sharing.activities
    leader, follower = activities[one]["leader"], activities[other]["leader"]
    if activities[leader]["size"] < activities[follower]["size"]:
        leader, follower = follower, leader
    _follow(activities, follower, leader)
    last, last_follower = activities[leader]["before"], activities[follower]["before"]
    activities[last]["next"] = follower
    activities[follower]["before"] = last
    activities[last_follower]["next"] = leader
    activities[leader]["before"] = last_follower
    activities[leader]["size"] += activities[follower]["size"]
    activities[leader]["gone"] += activities[follower]["gone"]
    activities[follower]["dirty"] = 0  # where it stands among the dirty, it is passed over
    first = min(scheduled(activities, sharing.heap, leader), scheduled(activities, sharing.heap, follower))
    unschedule(sharing.rule, activities, sharing.heap, follower)
    if first < NEVER:
        schedule(sharing.rule, activities, sharing.heap, leader, first)
    soil(sharing.rule, activities, sharing.dirty, leader)


@inlined
def _follow(activities: Array, first: int, leader: int) -> None:
    """All of a ring, from one of them on, have this leader."""
    slot = first
    while True:
        activities[slot]["leader"] = leader
        slot = activities[slot]["next"]
        if slot == first:
            break


@inlined
def _unlink(activities: Array, uses: Array, bundles: Array, beside: Array, slot: int) -> None:
    """Take the elements of an activity off their bundles."""
    first = activities[slot]["element"]
    for k in range(first, first + activities[slot]["elements"]):
        before, after = beside[k]["before"], beside[k]["next"]
        if before >= 0:
            beside[before]["next"] = after
        else:
            bundles[uses[k]]["first"] = after
        if after >= 0:
            beside[after]["before"] = before


@inlined
def leave(sharing: Sharing, slot: int) -> None:
    """An activity shares no more."""
    activities = sharing.activities
    _unlink(activities, sharing.uses, sharing.bundles, sharing.beside, slot)
    _count(sharing, slot, -1.0)
    if activities[slot]["next"] == slot:
        activities[slot]["dirty"] = 0
        unschedule(sharing.rule, activities, sharing.heap, slot)
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
    soil(sharing.rule, activities, sharing.dirty, leader)


@compiled
def _crown(sharing: Sharing, old: int, leader: int) -> None:
    """Another leads the component that the old leader has left."""
    activities = sharing.activities
    activities[leader]["size"] = activities[old]["size"]
    activities[leader]["gone"] = activities[old]["gone"]
    activities[leader]["dirty"] = 0
    activities[old]["dirty"] = 0
    _follow(activities, leader, leader)
    at = activities[old]["place"]
    activities[old]["place"] = -1
    activities[leader]["place"] = at
    if at >= 0:
        sharing.heap[at]["activity"] = leader


@compiled
def split(sharing: Sharing, leader: int) -> None:
    """Search a component for parts that share nothing, and make each a component of its own, all of them dirty."""
    activities, uses, bundles, beside = sharing.activities, sharing.uses, sharing.bundles, sharing.beside
    members = sharing.members
    sharing.rule[0]["mark"] += 1
    mark = sharing.rule[0]["mark"]
    in_all = activities[leader]["size"]
    count = 0
    slot = leader
    for at in range(in_all):  # the ring is cut up below, so who is in it is put behind the room of one part
        members[in_all + at] = slot
        slot = activities[slot]["next"]
    unschedule(sharing.rule, activities, sharing.heap, leader)
    for each in range(in_all):
        seed = members[in_all + each]
        if activities[seed]["mark"] == mark:
            continue
        activities[seed]["mark"] = mark
        members[0] = seed
        count = 1
        at = 0
        while at < count:
            slot = members[at]
            at += 1
            first = activities[slot]["element"]
            for k in range(first, first + activities[slot]["elements"]):
                bundle = uses[k]
                bundles[bundle]["seen"] = max(bundles[bundle]["seen"], mark << LANES)
                lanes = beside[k]["lanes"] & ~bundles[bundle]["seen"]
                if lanes == 0:
                    continue
                bundles[bundle]["seen"] |= lanes
                other = bundles[bundle]["first"]
                while other >= 0:
                    met = beside[other]["activity"]
                    if beside[other]["lanes"] & lanes != 0 and activities[met]["mark"] != mark:
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
        if seed != leader:
            activities[seed]["dirty"] = 0
            activities[seed]["place"] = -1
            soil(sharing.rule, activities, sharing.dirty, seed)
