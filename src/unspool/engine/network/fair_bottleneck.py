"""At what rates activities go on that share processors and links: rounds in which each resource is dealt out.

An activity is one unknown: all its computations and messages move at one rate. On a resource each activity that can
still rise gets an equal part of what is left; an activity rises by the least that its resources allow; what it cannot
use is dealt out in the next round. This is SimGrid's fair-bottleneck solver with its two side effects: an activity
that has closed goes on taking what it took in its last round, and a fat link loses only what the least of its users
takes (`docs/background/contention.md`). The clean variant has neither.

A host and links of its own are dealt out at once, as the lanes of a bundle. A lane that an element has no weight in
allows it anything. Indices in the loops are unsigned, so that none need be looked at for its sign.
"""

from __future__ import annotations

import numpy as np

from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.simd import (
    LANES,
    any_above_0,
    any_below,
    are_above_0,
    least,
    least_lane,
    load,
    minus,
    over,
    plus,
    same,
    store,
    times,
)
from unspool.engine.kernel.state import NEVER, Array, Sharing
from unspool.engine.kernel.turns import is_out_of_breath

__all__ = ["IN_ROUNDS", "MOST_WORK", "NOTHING_LEFT", "NOT_BEGUN", "alone", "deal_out"]

NOTHING_LEFT = 1e-5  # of a resource: less than this is nothing
NOT_BEGUN, IN_ROUNDS = 0, 1  # phases of a component that is being shared out
MOST_WORK = 1 << 18  # members and bundles to come by between two looks at the clock: some milliseconds
_MOST_ROUNDS = 10_000_000  # on fat links
_FORESEES = 1023  # after so many rounds and one more it is counted how many are still to come


@inlined
def alone(activities: Array, weights: Array, uses: Array, capacity: Array, slot: int) -> float:
    """The rate of an activity that shares nothing, and uses no resource twice."""
    rate = activities[slot]["bound"]
    first = activities[slot]["element"]
    for k in range(first, first + activities[slot]["elements"]):
        rate = least_lane(over(load(capacity, uses[np.uint64(k)]), load(weights, k)), rate)
    return rate  # type: ignore[no-any-return]


@compiled
def deal_out(sharing: Sharing, leader: int) -> bool:
    """Set the rates of all activities of a component; False where Python must have a turn before they are found.

    Rounds end. In each, what an open task rises by is set by its bound, which closes it, or by a resource. One that is
    shared, by n, keeps at most 1 - 1/n of what it had: after n * ln(capacity / 1e-5) such rounds nothing is left. But
    a fat link loses no more than the least of its users takes, which may be next to nothing, or less than rounding
    shows. Then others rise on it round after round, in SimGrid too. Where rounds are to be more than `_MOST_ROUNDS`
    it is noted, and no rate is right from then on.
    """
    rule = sharing.rule
    if rule[0]["endless"] != 0:
        return True
    if rule[0]["phase"] == NOT_BEGUN:
        _begin_rounds(sharing, leader)
    still_open, shared, fat = rule[0]["open"], rule[0]["listed"], rule[0]["listed_fat"]
    rounds, work = rule[0]["rounds"], rule[0]["work"]
    while still_open > 0:
        rule[0]["mark"] += 1
        shared = _divide(sharing, shared)
        fat = _divide_fat(sharing, fat)
        for at in range(still_open):
            _rise(sharing, sharing.members[at])
        _take_of_fat(sharing, fat)
        _round_off(sharing, sharing.listed, shared)
        _round_off(sharing, sharing.listed_fat, fat)
        open_before = still_open
        still_open = _close(sharing, still_open)
        rounds += 1
        if rounds & _FORESEES == 0 and still_open > 0:
            is_same = still_open == open_before
            if rounds > _MOST_ROUNDS or (is_same and _are_many_to_come(sharing, still_open, shared, fat)):
                rule[0]["endless"] = 1
                break
        work += open_before + shared + fat
        if work > MOST_WORK and still_open > 0:
            work = 0
            if is_out_of_breath(rule):
                rule[0]["open"], rule[0]["listed"], rule[0]["listed_fat"] = still_open, shared, fat
                rule[0]["rounds"], rule[0]["work"] = rounds, work
                return False
    rule[0]["phase"], rule[0]["work"] = NOT_BEGUN, work
    return True


@inlined
def _begin_rounds(sharing: Sharing, leader: int) -> None:
    """List the members of a component, and what they share."""
    rule = sharing.rule
    count = _gather(sharing.activities, sharing.members, leader)
    rule[0]["phase"] = IN_ROUNDS
    rule[0]["rounds"] = 0
    rule[0]["open"] = count
    rule[0]["listed"] = _list_bundles(sharing, sharing.listed, count, False)
    rule[0]["listed_fat"] = 0
    if rule[0]["has_fat"] != 0:
        rule[0]["listed_fat"] = _list_bundles(sharing, sharing.listed_fat, count, True)


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
    """The first element of an activity on bundles that are shared, or on fat links."""
    first = activities[np.uint64(slot)]["element"]
    if fat:
        first += activities[np.uint64(slot)]["shared"]
    return first  # type: ignore[no-any-return]


@inlined
def _last(activities: Array, slot: int, fat: bool) -> int:
    """One past the last such element."""
    last = activities[np.uint64(slot)]["element"]
    last += activities[np.uint64(slot)]["elements"] if fat else activities[np.uint64(slot)]["shared"]
    return last  # type: ignore[no-any-return]


@compiled
def _list_bundles(sharing: Sharing, listed: Array, count: int, fat: bool) -> int:
    """List the bundles that the members use, whole and undivided."""
    rule = sharing.rule
    if count == rule[0]["flows"] and rule[0]["in_use"] >= len(sharing.bundles):
        return _list_all(sharing, listed, fat)
    return _list_of_members(sharing, listed, count, fat)


@compiled
def _list_all(sharing: Sharing, listed: Array, fat: bool) -> int:
    """Where all are of one component: every bundle that somebody uses."""
    found = 0
    for bundle in range(len(sharing.bundles)):
        using = load(sharing.using, bundle)
        if any_above_0(using) and (sharing.bundles[bundle]["is_fat"] != 0) == fat:
            store(sharing.users, bundle, using)
            store(sharing.left, bundle, load(sharing.capacity, bundle))
            store(sharing.stale, bundle, same(NEVER if fat else 0.0))
            listed[found] = bundle
            found += 1
    return found


@compiled
def _list_of_members(sharing: Sharing, listed: Array, count: int, fat: bool) -> int:
    """Where others share elsewhere: what the members use."""
    activities, uses, users, bundles = sharing.activities, sharing.uses, sharing.users, sharing.bundles
    sharing.rule[0]["mark"] += 1
    mark = sharing.rule[0]["mark"]
    found = 0
    for at in range(count):
        slot = sharing.members[np.uint64(at)]
        for k in range(_first(activities, slot, fat), _last(activities, slot, fat)):
            bundle = uses[np.uint64(k)]
            weighed = are_above_0(load(sharing.weights, k))
            if bundles[bundle]["mark"] != mark:
                bundles[bundle]["mark"] = mark
                store(users, bundle, weighed)
                store(sharing.left, bundle, load(sharing.capacity, bundle))
                store(sharing.stale, bundle, same(NEVER if fat else 0.0))
                listed[found] = bundle
                found += 1
            else:
                store(users, bundle, plus(load(users, bundle), weighed))
    return found


@compiled
def _divide(sharing: Sharing, count: int) -> int:
    """What each open user of a resource gets, and what closed ones take; bundles without open ones leave the list."""
    left, listed = sharing.left, sharing.listed
    kept = 0
    for at in range(count):
        bundle = listed[np.uint64(at)]
        users = load(sharing.users, bundle)
        if any_above_0(users):
            listed[np.uint64(kept)] = bundle
            kept += 1
            here = load(left, bundle)
            store(sharing.share, bundle, over(here, users))
            store(left, bundle, minus(here, load(sharing.stale, bundle)))
    return kept


@compiled
def _divide_fat(sharing: Sharing, count: int) -> int:
    """The same of fat links, of which each user gets all."""
    listed = sharing.listed_fat
    kept = 0
    for at in range(count):
        bundle = listed[np.uint64(at)]
        if sharing.users[bundle, 0] > 0.0:
            listed[np.uint64(kept)] = bundle
            kept += 1
            sharing.share[bundle, 0] = sharing.left[bundle, 0]
            sharing.bundles[bundle]["least"] = sharing.stale[bundle, 0]
    return kept


@inlined
def _rise(sharing: Sharing, slot: int) -> None:
    """An open activity rises by what its resources allow, and takes that off them."""
    activities, weights, runs, uses, left = (
        sharing.activities, sharing.weights, sharing.runs, sharing.uses, sharing.left,
    )  # fmt: skip
    first, last = _first(activities, slot, False), _last(activities, slot, False)
    first_fat, last_fat = _first(activities, slot, True), _last(activities, slot, True)
    step = activities[np.uint64(slot)]["bound"] - activities[np.uint64(slot)]["rate"]
    step = _least_step(weights, runs, uses, sharing.share, first, last, step)
    for k in range(first_fat, last_fat):
        step = min(step, sharing.share[uses[np.uint64(k)], 0] / weights[np.uint64(k), 0])
    activities[np.uint64(slot)]["step"] = step
    activities[np.uint64(slot)]["rate"] += step
    k = first
    while k < last:
        end = k + runs[np.uint64(k)]
        amount = times(load(weights, k), step)
        while k + 1 < end:
            one, other = uses[np.uint64(k)], uses[np.uint64(k + 1)]
            store(left, one, minus(load(left, one), amount))
            store(left, other, minus(load(left, other), amount))
            k += 2
        if k < end:
            store(left, uses[np.uint64(k)], minus(load(left, uses[np.uint64(k)]), amount))
            k += 1
    for k in range(first_fat, last_fat):
        bundle = uses[np.uint64(k)]
        sharing.bundles[bundle]["least"] = min(sharing.bundles[bundle]["least"], weights[np.uint64(k), 0] * step)


@inlined
def _least_step(weights: Array, runs: Array, uses: Array, share: Array, first: int, last: int, step: float) -> float:
    """The least of a step and what some elements allow. Those that weigh the same are divided once."""
    k = first
    while k < last:
        end = k + runs[np.uint64(k)]
        weight = load(weights, k)
        one = other = third = fourth = same(NEVER)
        while k + 3 < end:  # four at a time, for each must be done before the next can begin
            one = least(one, load(share, uses[np.uint64(k)]))
            other = least(other, load(share, uses[np.uint64(k + 1)]))
            third = least(third, load(share, uses[np.uint64(k + 2)]))
            fourth = least(fourth, load(share, uses[np.uint64(k + 3)]))
            k += 4
        while k < end:
            one = least(one, load(share, uses[np.uint64(k)]))
            k += 1
        step = least_lane(over(least(least(one, other), least(third, fourth)), weight), step)
    return step


@compiled
def _take_of_fat(sharing: Sharing, count: int) -> None:
    """A fat link loses what the least of its users rose by."""
    for at in range(count):
        bundle = sharing.listed_fat[at]
        sharing.left[bundle, 0] -= min(sharing.share[bundle, 0], sharing.bundles[bundle]["least"])


@compiled
def _are_many_to_come(sharing: Sharing, count: int, shared: int, fat: int) -> bool:
    """Whether more than `_MOST_ROUNDS` rounds are to come before any activity closes.

    Until then no part can grow, so nothing changes by more in any round than it did in this one, in which nobody
    closed. What is no number changes by nothing.
    """
    activities, users, share, left = sharing.activities, sharing.users, sharing.share, sharing.left
    for at in range(count):
        slot = sharing.members[at]
        if activities[slot]["step"] * _MOST_ROUNDS >= activities[slot]["bound"] - activities[slot]["rate"]:
            return False
    for at in range(shared):
        bundle = sharing.listed[at]
        for lane in range(LANES):
            lost = share[bundle, lane] * users[bundle, lane] - left[bundle, lane]
            if users[bundle, lane] > 0.0 and lost * _MOST_ROUNDS >= left[bundle, lane]:
                return False
    for at in range(fat):
        bundle = sharing.listed_fat[at]
        if (share[bundle, 0] - left[bundle, 0]) * _MOST_ROUNDS >= left[bundle, 0]:
            return False
    return True


@compiled
def _round_off(sharing: Sharing, listed: Array, count: int) -> None:
    """Too little of a resource is nothing. Once is enough, as it only grows less; those who use it are marked."""
    for at in range(count):
        bundle = listed[np.uint64(at)]
        if any_below(load(sharing.left, bundle), NOTHING_LEFT, load(sharing.users, bundle)):
            _mark_users(sharing, bundle)


@compiled
def _mark_users(sharing: Sharing, bundle: int) -> None:
    """Write the mark of the round on the activities that use a lane of which nothing is left."""
    lanes = 0
    for lane in range(LANES):
        if sharing.left[bundle, lane] < NOTHING_LEFT:
            sharing.left[bundle, lane] = 0.0
            lanes += 1 << lane
    beside, mark = sharing.beside, sharing.rule[0]["mark"]
    k = sharing.bundles[bundle]["first"]
    while k >= 0:
        if beside[np.uint64(k)]["lanes"] & lanes != 0:
            sharing.activities[np.uint64(beside[np.uint64(k)]["activity"])]["mark"] = mark
        k = beside[np.uint64(k)]["next"]


@compiled
def _close(sharing: Sharing, count: int) -> int:
    """Activities at their bound, or with a resource of which nothing is left, rise no more; returns how many do."""
    activities, members, mark = sharing.activities, sharing.members, sharing.rule[0]["mark"]
    kept = 0
    closed = count  # those that close are put behind all others, where there is room, for they may be the last
    for at in range(count):
        slot = members[np.uint64(at)]
        if activities[slot]["rate"] == activities[slot]["bound"] or activities[slot]["mark"] == mark:
            members[np.uint64(closed)] = slot
            closed += 1
        else:
            members[np.uint64(kept)] = slot
            kept += 1
    if kept > 0:
        for at in range(count, closed):
            _leave_rounds(sharing, members[np.uint64(at)])
    return kept


@inlined
def _leave_rounds(sharing: Sharing, slot: int) -> None:
    """An activity rises no more, but goes on taking what it took last, unless all is clean."""
    activities, weights, uses, users, stale = (
        sharing.activities, sharing.weights, sharing.uses, sharing.users, sharing.stale,
    )  # fmt: skip
    step = 0.0 if sharing.rule[0]["clean"] != 0 else activities[slot]["step"]
    k, last = _first(activities, slot, False), _last(activities, slot, False)
    while k < last:
        end = k + sharing.runs[np.uint64(k)]
        weighed = are_above_0(load(weights, k))
        amount = times(load(weights, k), step)
        while k < end:
            bundle = uses[np.uint64(k)]
            store(users, bundle, minus(load(users, bundle), weighed))
            store(stale, bundle, plus(load(stale, bundle), amount))
            k += 1
    for k in range(_first(activities, slot, True), _last(activities, slot, True)):
        bundle = uses[np.uint64(k)]
        users[bundle, 0] -= 1.0
        stale[bundle, 0] = min(stale[bundle, 0], weights[np.uint64(k), 0] * step)
