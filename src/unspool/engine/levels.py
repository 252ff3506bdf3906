"""At what rates messages go on that share links as under smpirun: all rise together to the level that links allow.

The level of an activity is its rate times its worth; a link is full when its users have reached a level, and they stay
there while the others rise on (max-min fairness with weights, `spec/contention.md` 4.4).
"""

from __future__ import annotations

from unspool.engine.compiled import compiled
from unspool.engine.sharing import deal_out
from unspool.engine.state import NEVER, Sharing

__all__ = ["share_out"]

_SAME = 1.0 + 1e-12  # levels so close are one


@compiled
def share_out(sharing: Sharing, leader: int) -> None:
    """Set the rates of all activities of a component: by level where each has a worth, else by rounds."""
    activities = sharing.activities
    if activities[leader]["worth"] == 0.0:
        deal_out(sharing, leader)
        return
    count = 0
    slot = leader
    while True:
        if activities[slot]["worth"] == 0.0:
            deal_out(sharing, leader)
            return
        sharing.members[count] = slot
        count += 1
        slot = activities[slot]["next"]
        if slot == leader:
            break
    listed = _list_resources(sharing, count)
    while count > 0:
        level, is_bound = _next_level(sharing, count, listed)
        count = _fix(sharing, count, level, is_bound)


@compiled
def _list_resources(sharing: Sharing, count: int) -> int:
    """List what the members share, whole, with what they ask of it at a level of one; a fat link is only a bound."""
    activities, elements, uses, marks = sharing.activities, sharing.elements, sharing.uses, sharing.marks
    resources = sharing.resources
    sharing.rule[0]["mark"] += 1
    mark = sharing.rule[0]["mark"]
    found = 0
    for at in range(count):
        slot = sharing.members[at]
        worth = activities[slot]["worth"]
        bound = activities[slot]["bound"]
        first = activities[slot]["element"]
        for k in range(first, first + activities[slot]["elements"]):
            resource = uses[k]
            if resources[resource]["is_fat"] != 0:
                bound = min(bound, resources[resource]["capacity"] / elements[k]["weight"])
                continue
            if marks[resource] != mark:
                marks[resource] = mark
                sharing.users[resource] = 0
                sharing.share[resource] = 0.0
                sharing.left[resource] = resources[resource]["capacity"]
                sharing.listed[found] = resource
                found += 1
            sharing.users[resource] += 1
            sharing.share[resource] += elements[k]["weight"] / worth
        activities[slot]["step"] = bound
    return found


@compiled
def _next_level(sharing: Sharing, count: int, listed: int) -> tuple[float, bool]:
    """The least level at which a link is full, or a member at its bound; True for the latter."""
    level = NEVER
    for at in range(listed):
        resource = sharing.listed[at]
        if sharing.users[resource] > 0:
            sharing.stale[resource] = max(sharing.left[resource], 0.0) / sharing.share[resource]
            level = min(level, sharing.stale[resource])
        else:
            sharing.stale[resource] = NEVER
    is_bound = False
    for at in range(count):
        slot = sharing.members[at]
        top = sharing.activities[slot]["worth"] * sharing.activities[slot]["step"]
        if top <= level:
            level = top
            is_bound = True
    return level, is_bound


@compiled
def _fix(sharing: Sharing, count: int, level: float, is_bound: bool) -> int:
    """Members that the level stops stay there; returns how many rise on."""
    activities, uses = sharing.activities, sharing.uses
    kept = 0
    for at in range(count):
        slot = sharing.members[at]
        worth, bound = activities[slot]["worth"], activities[slot]["step"]
        stops = worth * bound <= level * _SAME
        if stops:
            activities[slot]["rate"] = bound
        elif not is_bound:
            first = activities[slot]["element"]
            for k in range(first, first + activities[slot]["elements"]):
                full = sharing.stale[uses[k]]
                if sharing.resources[uses[k]]["is_fat"] == 0 and full <= level * _SAME:
                    stops = True
            if stops:
                activities[slot]["rate"] = level / worth
        if stops:
            _take(sharing, slot)
        else:
            sharing.members[kept] = slot
            kept += 1
    return kept


@compiled
def _take(sharing: Sharing, slot: int) -> None:
    """A member that is fixed takes its part of what it shares."""
    activities, elements, uses = sharing.activities, sharing.elements, sharing.uses
    rate, worth = activities[slot]["rate"], activities[slot]["worth"]
    first = activities[slot]["element"]
    for k in range(first, first + activities[slot]["elements"]):
        resource = uses[k]
        if sharing.resources[resource]["is_fat"] == 0:
            sharing.users[resource] -= 1
            sharing.left[resource] -= elements[k]["weight"] * rate
            sharing.share[resource] -= elements[k]["weight"] / worth
