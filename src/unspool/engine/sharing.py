"""At what rates activities go on that share processors and links: rounds in which each resource is dealt out.

An activity is one unknown: all its computations and messages move at one rate. On a resource each activity that can
still rise gets an equal part of what is left; an activity rises by the least that its resources allow; what it cannot
use is dealt out in the next round. This is SimGrid's fair-bottleneck solver with its two side effects: an activity
that has closed goes on taking what it took in its last round, and a fat link loses only what the least of its users
takes (`docs/background/contention.md`). The clean variant has neither. Indices in the loops are unsigned, so that none
need be looked at for its sign.
"""

from __future__ import annotations

import numpy as np

from unspool.engine.compiled import compiled, inlined
from unspool.engine.state import NEVER, Array, Sharing

__all__ = ["NOTHING_LEFT", "alone", "deal_out"]

NOTHING_LEFT = 1e-5  # of a resource: less than this is nothing


@inlined
def alone(activities: Array, elements: Array, uses: Array, resources: Array, slot: int) -> float:
    """The rate of an activity that shares nothing, and uses no resource twice."""
    rate = activities[slot]["bound"]
    first = activities[slot]["element"]
    for k in range(first, first + activities[slot]["elements"]):
        rate = min(rate, resources[uses[k]]["capacity"] / elements[k]["weight"])
    return rate  # type: ignore[no-any-return]


@compiled
def deal_out(sharing: Sharing, leader: int) -> None:
    """Set the rates of all activities of a component."""
    activities, resources = sharing.activities, sharing.resources
    with_twins = activities[leader]["uneven"] != 0
    still_open = _gather(activities, sharing.members, leader)
    shared = _list_resources(sharing, sharing.listed, still_open, with_twins, False)
    fat = 0
    if sharing.rule[0]["has_fat"] != 0:
        fat = _list_resources(sharing, sharing.listed_fat, still_open, with_twins, True)
    while still_open > 0:
        sharing.rule[0]["mark"] += 1
        shared = _divide(sharing, shared)
        fat = _divide_fat(sharing, fat)
        for at in range(still_open):
            _rise(sharing, sharing.members[at], with_twins)
        _take_of_fat(resources, sharing.left, sharing.share, sharing.listed_fat, fat)
        _round_off(sharing, sharing.listed, shared)
        _round_off(sharing, sharing.listed_fat, fat)
        still_open = _close(sharing, still_open, with_twins)


@compiled
def _gather(activities: Array, members: Array, leader: int) -> int:
    """List the members of a component, with rates of nothing."""
    count = 0
    slot = leader
    while True:
        members[count] = slot
        count += 1
        activities[slot]["rate"] = 0.0
        slot = activities[slot]["next"]
        if slot == leader:
            return count


@inlined
def _first(activities: Array, slot: int, fat: bool) -> int:
    """The first element of an activity on shared resources, or on fat ones."""
    first = activities[slot]["element"]
    if fat:
        first += activities[slot]["shared"] + activities[slot]["twins"]
    return first  # type: ignore[no-any-return]


@inlined
def _last(activities: Array, slot: int, with_twins: bool, fat: bool) -> int:
    """One past the last such element that the rounds look at."""
    last = activities[slot]["element"]
    if fat:
        last += activities[slot]["elements"]
    else:
        last += activities[slot]["shared"]
        if with_twins:
            last += activities[slot]["twins"]
    return last  # type: ignore[no-any-return]


@compiled
def _list_resources(sharing: Sharing, listed: Array, count: int, with_twins: bool, fat: bool) -> int:
    """List the resources that the members use, whole and undivided."""
    rule = sharing.rule
    if count == rule[0]["flows"] and rule[0]["in_use"] >= len(sharing.resources):
        return _list_all(sharing, listed, with_twins, fat)
    return _list_of_members(sharing, listed, count, with_twins, fat)


@compiled
def _list_all(sharing: Sharing, listed: Array, with_twins: bool, fat: bool) -> int:
    """Where all are of one component: every resource that somebody uses."""
    resources = sharing.resources
    found = 0
    for resource in range(len(resources)):
        users = resources[resource]["users"]
        if with_twins:
            users += resources[resource]["twins"]
        if users > 0 and (resources[resource]["is_fat"] != 0) == fat:
            sharing.users[resource] = users
            sharing.left[resource] = resources[resource]["capacity"]
            sharing.stale[resource] = NEVER if fat else 0.0
            listed[found] = resource
            found += 1
    return found


@compiled
def _list_of_members(sharing: Sharing, listed: Array, count: int, with_twins: bool, fat: bool) -> int:
    """Where others share elsewhere: what the members use."""
    activities, uses, users, marks = sharing.activities, sharing.uses, sharing.users, sharing.marks
    sharing.rule[0]["mark"] += 1
    mark = sharing.rule[0]["mark"]
    found = 0
    for at in range(count):
        slot = sharing.members[np.uint64(at)]
        for k in range(_first(activities, slot, fat), _last(activities, slot, with_twins, fat)):
            resource = uses[np.uint64(k)]
            if marks[resource] != mark:
                marks[resource] = mark
                users[resource] = 0
                sharing.left[resource] = sharing.resources[resource]["capacity"]
                sharing.stale[resource] = NEVER if fat else 0.0
                listed[found] = resource
                found += 1
            users[resource] += 1
    return found


@compiled
def _divide(sharing: Sharing, count: int) -> int:
    """What each open user of a resource gets, and what closed ones take; resources without open ones leave the list."""
    left, users, listed = sharing.left, sharing.users, sharing.listed
    kept = 0
    for at in range(count):
        resource = listed[np.uint64(at)]
        if users[resource] > 0:
            listed[np.uint64(kept)] = resource
            kept += 1
            sharing.share[resource] = left[resource] / users[resource]
            left[resource] -= sharing.stale[resource]
    return kept


@compiled
def _divide_fat(sharing: Sharing, count: int) -> int:
    """The same of fat links, of which each user gets all."""
    listed = sharing.listed_fat
    kept = 0
    for at in range(count):
        resource = listed[np.uint64(at)]
        if sharing.users[resource] > 0:
            listed[np.uint64(kept)] = resource
            kept += 1
            sharing.share[resource] = sharing.left[resource]
            sharing.resources[resource]["least"] = sharing.stale[resource]
    return kept


@inlined
def _rise(sharing: Sharing, slot: int, with_twins: bool) -> None:
    """An open activity rises by what its resources allow, and takes that off them."""
    activities, elements, uses, left = sharing.activities, sharing.elements, sharing.uses, sharing.left
    share = sharing.share
    first, last = _first(activities, slot, False), _last(activities, slot, with_twins, False)
    first_fat, last_fat = _first(activities, slot, True), _last(activities, slot, with_twins, True)
    step = activities[np.uint64(slot)]["bound"] - activities[np.uint64(slot)]["rate"]
    step = _least_step(elements, uses, share, first, last, step)
    step = _least_step(elements, uses, share, first_fat, last_fat, step)
    activities[np.uint64(slot)]["step"] = step
    activities[np.uint64(slot)]["rate"] += step
    k = first
    while k < last:
        end = k + elements[np.uint64(k)]["run"]
        amount = elements[np.uint64(k)]["weight"] * step
        while k < end:
            left[uses[np.uint64(k)]] -= amount
            k += 1
    for k in range(first_fat, last_fat):
        least = min(sharing.resources[uses[np.uint64(k)]]["least"], elements[np.uint64(k)]["weight"] * step)
        sharing.resources[uses[np.uint64(k)]]["least"] = least


@inlined
def _least_step(elements: Array, uses: Array, share: Array, first: int, last: int, step: float) -> float:
    """The least of a step and what some elements allow. Those that weigh the same are divided once."""
    k = first
    while k < last:
        end = k + elements[np.uint64(k)]["run"]
        weight = elements[np.uint64(k)]["weight"]
        one = other = third = fourth = NEVER
        while k + 3 < end:  # four at a time, for each must be done before the next can begin
            one = min(one, share[uses[np.uint64(k)]])
            other = min(other, share[uses[np.uint64(k + 1)]])
            third = min(third, share[uses[np.uint64(k + 2)]])
            fourth = min(fourth, share[uses[np.uint64(k + 3)]])
            k += 4
        while k < end:
            one = min(one, share[uses[np.uint64(k)]])
            k += 1
        step = min(step, min(min(one, other), min(third, fourth)) / weight)
    return step


@compiled
def _take_of_fat(resources: Array, left: Array, share: Array, listed: Array, count: int) -> None:
    """A fat link loses what the least of its users rose by."""
    for at in range(count):
        left[listed[at]] -= min(share[listed[at]], resources[listed[at]]["least"])


@compiled
def _round_off(sharing: Sharing, listed: Array, count: int) -> None:
    """Too little of a resource is nothing. Once is enough, as it only grows less; those who use it are marked."""
    left = sharing.left
    for at in range(count):
        if left[listed[np.uint64(at)]] < NOTHING_LEFT:
            left[listed[np.uint64(at)]] = 0.0
            _mark_users(sharing, listed[np.uint64(at)])


@compiled
def _mark_users(sharing: Sharing, resource: int) -> None:
    """Write the mark of the round on the activities that use a resource."""
    k = sharing.resources[resource]["first"]
    while k >= 0:
        sharing.activities[sharing.beside[k]["activity"]]["mark"] = sharing.rule[0]["mark"]
        k = sharing.beside[k]["next"]


@compiled
def _close(sharing: Sharing, count: int, with_twins: bool) -> int:
    """Activities at their bound, or with a resource of which nothing is left, rise no more; returns how many do."""
    activities, members, mark = sharing.activities, sharing.members, sharing.rule[0]["mark"]
    kept = 0
    for at in range(count):
        slot = members[np.uint64(at)]
        if activities[slot]["rate"] == activities[slot]["bound"] or activities[slot]["mark"] == mark:
            _leave_rounds(sharing, slot, with_twins)
        else:
            members[np.uint64(kept)] = slot
            kept += 1
    return kept


@inlined
def _leave_rounds(sharing: Sharing, slot: int, with_twins: bool) -> None:
    """An activity rises no more, but goes on taking what it took last, unless all is clean."""
    activities, elements, uses, users, stale = (
        sharing.activities, sharing.elements, sharing.uses, sharing.users, sharing.stale,
    )  # fmt: skip
    step = 0.0 if sharing.rule[0]["clean"] != 0 else activities[slot]["step"]
    k, last = _first(activities, slot, False), _last(activities, slot, with_twins, False)
    while k < last:
        end = k + elements[np.uint64(k)]["run"]
        amount = elements[np.uint64(k)]["weight"] * step
        while k < end:
            resource = uses[np.uint64(k)]
            users[resource] -= 1
            stale[resource] += amount
            k += 1
    for k in range(_first(activities, slot, True), _last(activities, slot, with_twins, True)):
        users[uses[np.uint64(k)]] -= 1
        amount = elements[np.uint64(k)]["weight"] * step
        stale[uses[np.uint64(k)]] = min(stale[uses[np.uint64(k)]], amount)
