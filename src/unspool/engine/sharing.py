"""At what rates activities go on that share processors and links: rounds in which each resource is dealt out.

An activity is one unknown: all its computations and messages move at one rate. On a resource each activity that can
still rise gets an equal part of what is left; an activity rises by the least that its resources allow; what it cannot
use is dealt out in the next round. This is SimGrid's fair-bottleneck solver, operation by operation, with its two side
effects (`docs/background/contention.md`); the clean variant has neither.
"""

from __future__ import annotations

from unspool.engine.compiled import compiled, inlined
from unspool.engine.state import NEVER, Array, Sharing

__all__ = ["NOTHING_LEFT", "deal_out"]

NOTHING_LEFT = 1e-5  # of a resource: less than this is nothing


@compiled
def deal_out(sharing: Sharing, leader: int) -> None:
    """Set the rates of all activities of a component."""
    activities = sharing.activities
    if activities[leader]["size"] == 1 and activities[leader]["is_plain"] != 0:
        activities[leader]["rate"] = _alone(activities, sharing.elements, sharing.uses, sharing.resources, leader)
        return
    with_twins = activities[leader]["uneven"] != 0
    count = _gather(sharing.activities, sharing.members, leader)
    listed = _list_resources(sharing, count, with_twins)
    is_clean = sharing.rule[0]["clean"] != 0
    still_open = count
    while still_open > 0:
        listed = _divide(sharing, listed)
        still_open -= _rise(sharing, count, with_twins)
        _take(sharing, count, with_twins, is_clean)
        if not is_clean:
            _take_of_fat(sharing.resources, sharing.left, sharing.share, sharing.listed, listed)
        if _is_some_exhausted(sharing.left, sharing.listed, listed):
            still_open -= _close_on_exhausted(sharing, count, with_twins, is_clean)


@compiled
def _alone(activities: Array, elements: Array, uses: Array, resources: Array, slot: int) -> float:
    """The rate of an activity that shares nothing."""
    rate = activities[slot]["bound"]
    first = activities[slot]["element"]
    for k in range(first, first + activities[slot]["elements"]):
        rate = min(rate, resources[uses[k]]["capacity"] / elements[k]["weight"])
    return rate  # type: ignore[no-any-return]


@compiled
def _gather(activities: Array, members: Array, leader: int) -> int:
    """List the members of a component, with rates of nothing."""
    count = 0
    slot = leader
    while True:
        members[count] = slot
        count += 1
        activities[slot]["rate"] = 0.0
        activities[slot]["step"] = 0.0
        activities[slot]["open"] = 1
        slot = activities[slot]["next"]
        if slot == leader:
            return count


@inlined
def _last(activities: Array, slot: int, with_twins: bool) -> int:
    """One past the last element of an activity on a shared resource that the rounds look at."""
    last = activities[slot]["element"] + activities[slot]["shared"]
    if with_twins:
        last += activities[slot]["twins"]
    return last  # type: ignore[no-any-return]


@inlined
def _first_fat(activities: Array, slot: int) -> int:
    return activities[slot]["element"] + activities[slot]["shared"] + activities[slot]["twins"]  # type: ignore[no-any-return]


@inlined
def _end(activities: Array, slot: int) -> int:
    return activities[slot]["element"] + activities[slot]["elements"]  # type: ignore[no-any-return]


@compiled
def _list_resources(sharing: Sharing, count: int, with_twins: bool) -> int:
    """List the resources that the members use, whole and undivided."""
    activities = sharing.activities
    sharing.rule[0]["mark"] += 1
    found = 0
    for at in range(count):
        slot = sharing.members[at]
        found = _list_some(sharing, activities[slot]["element"], _last(activities, slot, with_twins), found)
        found = _list_some(sharing, _first_fat(activities, slot), _end(activities, slot), found)
    return found


@compiled
def _list_some(sharing: Sharing, first: int, last: int, found: int) -> int:
    uses, users, marks = sharing.uses, sharing.users, sharing.marks
    mark = sharing.rule[0]["mark"]
    for k in range(first, last):
        resource = uses[k]
        if marks[resource] != mark:
            marks[resource] = mark
            users[resource] = 0
            sharing.left[resource] = sharing.resources[resource]["capacity"]
            sharing.listed[found] = resource
            found += 1
        users[resource] += 1
    return found


@compiled
def _divide(sharing: Sharing, count: int) -> int:
    """What each open user of a resource gets; resources without one leave the list."""
    resources, left, users, listed = sharing.resources, sharing.left, sharing.users, sharing.listed
    kept = 0
    for at in range(count):
        resource = listed[at]
        if users[resource] > 0:
            listed[kept] = resource
            kept += 1
            is_fat = resources[resource]["is_fat"] != 0
            sharing.share[resource] = left[resource] if is_fat else left[resource] / users[resource]
            resources[resource]["least"] = NEVER
    return kept


@compiled
def _rise(sharing: Sharing, count: int, with_twins: bool) -> int:
    """Each open activity rises by what its resources allow; returns how many thereby reached their bound."""
    activities, elements, uses, share = sharing.activities, sharing.elements, sharing.uses, sharing.share
    closed = 0
    for at in range(count):
        slot = sharing.members[at]
        if activities[slot]["open"] == 0:
            continue
        step = activities[slot]["bound"] - activities[slot]["rate"]
        step = _least_step(
            elements, uses, share, activities[slot]["element"], _last(activities, slot, with_twins), step
        )
        step = _least_step(elements, uses, share, _first_fat(activities, slot), _end(activities, slot), step)
        activities[slot]["step"] = step
        activities[slot]["rate"] += step
        if activities[slot]["rate"] == activities[slot]["bound"]:
            _close(activities, uses, sharing.users, slot)
            closed += 1
    return closed


@inlined
def _least_step(elements: Array, uses: Array, share: Array, first: int, last: int, step: float) -> float:
    """The least of a step and what some elements allow. Those that weigh the same are divided once."""
    k = first
    while k < last:
        end = k + elements[k]["run"]
        weight = elements[k]["weight"]
        least = share[uses[k]]
        other = least
        k += 1
        while k + 1 < end:  # two at a time, for each is done before the next can begin
            least = min(least, share[uses[k]])
            other = min(other, share[uses[k + 1]])
            k += 2
        if k < end:
            least = min(least, share[uses[k]])
            k += 1
        step = min(step, min(least, other) / weight)
    return step


@compiled
def _close(activities: Array, uses: Array, users: Array, slot: int) -> None:
    """An activity can rise no more."""
    activities[slot]["open"] = 0
    for k in range(activities[slot]["element"], _end(activities, slot)):
        users[uses[k]] -= 1


@compiled
def _take(sharing: Sharing, count: int, with_twins: bool, is_clean: bool) -> None:
    """Take off each resource what its users rose by; those that closed in an earlier round too, unless all is clean."""
    activities, elements, uses, resources = sharing.activities, sharing.elements, sharing.uses, sharing.resources
    left = sharing.left
    for at in range(count):
        slot = sharing.members[at]
        step = activities[slot]["step"]
        if step == 0.0:
            continue
        k = activities[slot]["element"]
        last = _last(activities, slot, with_twins)
        while k < last:
            end = k + elements[k]["run"]
            amount = elements[k]["weight"] * step
            while k < end:
                rest = left[uses[k]] - amount
                left[uses[k]] = 0.0 if rest < NOTHING_LEFT else rest
                k += 1
        for k in range(_first_fat(activities, slot), _end(activities, slot)):
            resources[uses[k]]["least"] = min(resources[uses[k]]["least"], elements[k]["weight"] * step)
        if is_clean and activities[slot]["open"] == 0:
            activities[slot]["step"] = 0.0


@compiled
def _take_of_fat(resources: Array, left: Array, share: Array, listed: Array, count: int) -> None:
    """A fat link loses what the least of its users rose by."""
    for at in range(count):
        resource = listed[at]
        if resources[resource]["is_fat"] != 0:
            rest = left[resource] - min(share[resource], resources[resource]["least"])
            left[resource] = 0.0 if rest < NOTHING_LEFT else rest


@compiled
def _is_some_exhausted(left: Array, listed: Array, count: int) -> bool:
    found = False
    for at in range(count):
        found = found or left[listed[at]] == 0.0
    return found


@compiled
def _close_on_exhausted(sharing: Sharing, count: int, with_twins: bool, is_clean: bool) -> int:
    """Close the activities that use a resource of which nothing is left; returns how many."""
    activities, uses, left = sharing.activities, sharing.uses, sharing.left
    closed = 0
    for at in range(count):
        slot = sharing.members[at]
        if activities[slot]["open"] == 0:
            continue
        is_out = _is_out(uses, left, activities[slot]["element"], _last(activities, slot, with_twins))
        if is_out or _is_out(uses, left, _first_fat(activities, slot), _end(activities, slot)):
            _close(activities, uses, sharing.users, slot)
            if is_clean:
                activities[slot]["step"] = 0.0
            closed += 1
    return closed


@inlined
def _is_out(uses: Array, left: Array, first: int, last: int) -> bool:
    """Whether nothing is left of a resource that some elements are of."""
    is_out = False
    for k in range(first, last):
        if left[uses[k]] == 0.0:
            is_out = True
            break
    return is_out
