"""At what rates messages go on that share links as under smpirun: all rise together to the level that links allow.

The level of an activity is its rate times its worth; a link is full when its users have reached a level, and they stay
there while the others rise on (max-min fairness with weights, `spec/contention.md` 4.4).
"""

from __future__ import annotations

import numpy as np

from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.simd import (
    any_below,
    are_above_0,
    least_lane,
    load,
    minus,
    most,
    over,
    plus,
    same,
    store,
    times,
    where_above_0,
)
from unspool.engine.kernel.state import NEVER, Sharing
from unspool.engine.kernel.turns import is_out_of_breath
from unspool.engine.network.fair_bottleneck import MOST_WORK, NOT_BEGUN, deal_out

__all__ = ["share_out"]

_IN_LEVELS = 2  # the phase of a component that is being shared out by level
_SAME = 1.0 + 1e-12  # levels so close are one
_LEAST = 1e-300  # and all below this


@compiled
def share_out(sharing: Sharing, leader: int) -> bool:
    """Set the rates of all activities of a component: by level where each has a worth, else by rounds.

    False where Python must have a turn before they are found.
    """
    rule = sharing.rule
    if rule[0]["phase"] == NOT_BEGUN and sharing.activities[leader]["worth"] != 0.0 and rule[0]["endless"] == 0:
        _begin_levels(sharing, leader)
    if rule[0]["phase"] != _IN_LEVELS:
        return deal_out(sharing, leader)
    count, listed = rule[0]["open"], rule[0]["listed"]
    while count > 0:  # each turn fixes a member at least: one at its bound, or all on the link that sets the level
        level, is_bound = _next_level(sharing, count, listed)
        before = count
        count = _fix(sharing, count, level, is_bound)
        if count == before:  # only where something is no number
            rule[0]["endless"] = 1
            break
        rule[0]["work"] += before + listed
        if rule[0]["work"] > MOST_WORK and count > 0:
            rule[0]["work"] = 0
            if is_out_of_breath(rule):
                rule[0]["open"] = count
                return False
    rule[0]["phase"] = NOT_BEGUN
    return True


@compiled
def _begin_levels(sharing: Sharing, leader: int) -> None:
    """List the members of a component, and what they share, unless one of them has no worth."""
    activities = sharing.activities
    count = 0
    slot = leader
    while True:
        if activities[slot]["worth"] == 0.0:
            return
        sharing.members[count] = slot
        count += 1
        slot = activities[slot]["next"]
        if slot == leader:
            break
    sharing.rule[0]["phase"] = _IN_LEVELS
    sharing.rule[0]["open"] = count
    sharing.rule[0]["listed"] = _list_bundles(sharing, count)


@compiled
def _list_bundles(sharing: Sharing, count: int) -> int:
    """List what the members share, whole, with what they ask of it at a level of one; a fat link is only a bound."""
    activities, weights, uses, bundles = sharing.activities, sharing.weights, sharing.uses, sharing.bundles
    sharing.rule[0]["mark"] += 1
    mark = sharing.rule[0]["mark"]
    found = 0
    for at in range(count):
        slot = sharing.members[at]
        bound = activities[slot]["bound"]
        first = activities[slot]["element"]
        fat = first + activities[slot]["shared"]
        for k in range(first, fat):
            bundle = uses[k]
            if bundles[bundle]["mark"] != mark:
                bundles[bundle]["mark"] = mark
                store(sharing.users, bundle, same(0.0))
                store(sharing.share, bundle, same(0.0))
                store(sharing.left, bundle, load(sharing.capacity, bundle))
                sharing.listed[found] = bundle
                found += 1
            _ask(sharing, k, activities[slot]["worth"])
        for k in range(fat, first + activities[slot]["elements"]):
            bound = min(bound, sharing.capacity[uses[k], 0] / weights[k, 0])
        activities[slot]["step"] = bound
    return found


@inlined
def _ask(sharing: Sharing, element: int, worth: float) -> None:
    """Add what an element asks of its bundle at a level of one."""
    users, share, bundle = sharing.users, sharing.share, sharing.uses[element]
    weight = load(sharing.weights, element)
    store(users, bundle, plus(load(users, bundle), are_above_0(weight)))
    store(share, bundle, plus(load(share, bundle), over(weight, same(worth))))


@compiled
def _next_level(sharing: Sharing, count: int, listed: int) -> tuple[float, bool]:
    """The least level at which a link is full, or a member at its bound; True for the latter."""
    level = NEVER
    for at in range(listed):
        bundle = sharing.listed[np.uint64(at)]
        full = over(load(sharing.left, bundle), load(sharing.share, bundle))
        store(sharing.stale, bundle, full)
        level = least_lane(full, level)
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
    activities, weights, uses = sharing.activities, sharing.weights, sharing.uses
    limit = max(level * _SAME, _LEAST)
    kept = 0
    for at in range(count):
        slot = sharing.members[np.uint64(at)]
        worth, bound = activities[slot]["worth"], activities[slot]["step"]
        stops = worth * bound <= level * _SAME
        if stops:
            activities[slot]["rate"] = bound
        elif not is_bound:
            first = activities[slot]["element"]
            for k in range(first, first + activities[slot]["shared"]):
                stops = stops or any_below(load(sharing.stale, uses[np.uint64(k)]), limit, load(weights, k))
            if stops:
                activities[slot]["rate"] = level / worth
        if stops:
            _take(sharing, slot)
        else:
            sharing.members[np.uint64(kept)] = slot
            kept += 1
    return kept


@inlined
def _take(sharing: Sharing, slot: int) -> None:
    """A member that is fixed takes its part of what it shares; what nobody asks for any more is never full."""
    activities, weights, users, left, share = (
        sharing.activities, sharing.weights, sharing.users, sharing.left, sharing.share,
    )  # fmt: skip
    rate, worth = activities[slot]["rate"], activities[slot]["worth"]
    first = activities[slot]["element"]
    for k in range(first, first + activities[slot]["shared"]):
        bundle, weight = sharing.uses[np.uint64(k)], load(weights, k)
        others = minus(load(users, bundle), are_above_0(weight))
        store(users, bundle, others)
        store(left, bundle, most(minus(load(left, bundle), times(weight, rate)), same(0.0)))
        store(share, bundle, where_above_0(others, minus(load(share, bundle), over(weight, same(worth)))))
