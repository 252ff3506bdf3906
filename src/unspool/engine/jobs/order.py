"""Orders of the queue: the key by which each ranks jobs, the lowest first, and ties by line of the log.

A key that never changes makes a job's slot before the run. Keys that change with time, or that are only known on
arrival because a predictor makes the estimate, are computed anew at each decision at which somebody could start: the
waiting jobs are then ranked and dealt new slots, and the policies go on as ever. The order of the last time is nearly
right, so a merge sort that takes what is sorted as it is needs few passes.
"""

from __future__ import annotations

import math

from unspool.engine.jobs.queue import empty_slots, fill_slot, least_size, list_waiting
from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import NEVER, Array, Core, Order, Plan

__all__ = [
    "AREA",
    "F1",
    "F2",
    "F3",
    "F4",
    "GIVEN",
    "LONGEST",
    "MULTIFACTOR",
    "SHORTEST",
    "UNICEF",
    "WFP3",
    "fixed_keys",
    "rank",
    "release_share",
]  # fmt: skip

GIVEN, SHORTEST, LONGEST, AREA, F1, F2, F3, F4, WFP3, UNICEF, MULTIFACTOR = range(11)

_LN2 = math.log(2.0)


@inlined
def _key(core: Core, rule: Array, fixed: Array, kind: int, job: int) -> float:
    """The key of a job for all orders but multifactor. Sources: docs/reference/policies.md."""
    size = float(core.jobs[job]["size"])
    submit = core.jobs[job]["submit"]
    estimate = core.fate[job]["estimate"]
    key: float = fixed[job]
    if kind == SHORTEST:
        key = estimate
    elif kind == LONGEST:
        key = -estimate
    elif kind == AREA:
        key = estimate * size
    elif F1 <= kind <= F4:
        arrival = math.log10(max(submit - rule[0]["first_submit"], 1.0))
        if kind == F1:
            key = math.log10(estimate) * size + 870.0 * arrival
        elif kind == F2:
            key = math.sqrt(estimate) * size + 25600.0 * arrival
        elif kind == F3:
            key = estimate * size + 6860000.0 * arrival
        else:
            key = estimate * math.sqrt(size) + 530000.0 * arrival
    elif kind == WFP3:
        ratio = (core.course[0]["now"] - submit) / estimate
        key = -(ratio * ratio * ratio * size)
    elif kind == UNICEF:
        wait = core.course[0]["now"] - submit
        key = -wait / (math.log2(size) * estimate) if size > 1.0 else -NEVER
    return key


@compiled
def fixed_keys(core: Core, rule: Array, fixed: Array) -> None:
    """Write the keys of all jobs, of an order that does not change with time, into `fixed`."""
    for job in range(len(core.jobs)):
        fixed[job] = _key(core, rule, fixed, rule[0]["kind"], job)


@compiled
def _usage_at(usage: Array, user: int, now: float, half_life: float) -> float:
    """Core seconds that a user has used, those of a half-life ago counting half, as of now."""
    passed = -_LN2 * (now - usage[user]["since"]) / half_life
    grown = -math.expm1(passed) * half_life / _LN2  # not 1 - exp: a long half-life would leave nothing of it
    return usage[user]["decayed"] * math.exp(passed) + usage[user]["cores"] * grown  # type: ignore[no-any-return]


@compiled
def _change_usage(usage: Array, user: int, now: float, half_life: float, cores: int) -> None:
    """From now on a user has so many more cores, or fewer."""
    usage[user]["decayed"] = _usage_at(usage, user, now, half_life)
    usage[user]["since"] = now
    usage[user]["cores"] += cores


@compiled
def _note_starts(core: Core, order: Order) -> None:
    """Count the cores of jobs that started since the last time."""
    half_life = order.rule[0]["half_life"]
    for attempt in range(core.course[0]["noted"], core.course[0]["attempts"]):
        job = core.attempts[attempt]["job"]
        start, cores = core.attempts[attempt]["start"], core.jobs[job]["size"]
        _change_usage(order.usage, order.user[job], start, half_life, cores)
        _change_usage(order.usage, len(order.usage) - 1, start, half_life, cores)
    core.course[0]["noted"] = core.course[0]["attempts"]


@compiled
def release_share(core: Core, order: Order | None, job: int) -> None:
    """A running job ends now: its user has fewer cores."""
    if order is None or order.rule[0]["kind"] != MULTIFACTOR:
        return
    _note_starts(core, order)
    now, half_life = core.course[0]["now"], order.rule[0]["half_life"]
    _change_usage(order.usage, order.user[job], now, half_life, -core.jobs[job]["size"])
    _change_usage(order.usage, len(order.usage) - 1, now, half_life, -core.jobs[job]["size"])


@compiled
def _multifactor(core: Core, order: Order, job: int) -> float:
    """Less than 0 by the priority that Slurm's multifactor plugin gives (classic fair share)."""
    rule, usage, user = order.rule, order.usage, order.user[job]
    now = core.course[0]["now"]
    age = min((now - core.jobs[job]["submit"]) / rule[0]["longest_age"], 1.0)
    if usage[user]["as_of"] != now:  # the same for all jobs of a user, and all through an instant
        used = 0.0
        in_all = _usage_at(usage, len(usage) - 1, now, rule[0]["half_life"])
        if in_all > 0.0:
            used = _usage_at(usage, user, now, rule[0]["half_life"]) / in_all
        usage[user]["fair_share"] = math.exp(-_LN2 * used / usage[user]["share"])
        usage[user]["as_of"] = now
    return (  # type: ignore[no-any-return]
        order.fixed[job] - rule[0]["age"] * age - rule[0]["fair_share"] * usage[user]["fair_share"]
    )


@compiled
def rank(core: Core, order: Order | None, shadow: Array | None, plan: Plan | None) -> None:
    """Deal the waiting jobs slots in the order of their keys as of now.

    Without plans to keep, only if somebody could start: nobody does otherwise, whatever the order.
    """
    if order is None:
        return
    course, fate = core.course, core.fate
    if course[0]["queued"] == 0:
        course[0]["next_slot"] = 0
        return
    if plan is None and least_size(core) > course[0]["free"]:
        return
    ranked, keys = order.ranked, order.keys
    count = list_waiting(core, course[0]["first"], ranked)
    if order.rule[0]["kind"] == MULTIFACTOR:
        _note_starts(core, order)
        for at in range(count):
            keys[at] = _multifactor(core, order, ranked[at])
    else:
        for at in range(count):
            keys[at] = _key(core, order.rule, order.fixed, order.rule[0]["kind"], ranked[at])
    is_fresh_first = _sort(ranked, keys, order.other_ranked, order.other_keys, count)
    if not is_fresh_first:
        ranked = order.other_ranked
    empty_slots(core, course[0]["first"], course[0]["next_slot"] - 1)
    for at in range(count):
        fate[ranked[at]]["slot"] = at
        fill_slot(core, ranked[at])
    course[0]["first"] = 0
    course[0]["next_slot"] = count
    course[0]["fresh"] = 0
    if shadow is not None:
        shadow[0]["head"] = -1  # what was found was found of another order
    if plan is not None:
        for at in range(course[0]["plans"]):
            plan.plans[at]["slot"] = fate[plan.plans[at]["job"]]["slot"]
        _sort_ties(plan.plans, course[0]["plans"])


@compiled
def _sort_ties(plans: Array, count: int) -> None:
    """Plans are sorted by start; sort those of one start by slot."""
    for end in range(1, count):
        at = end
        while at > 0 and plans[at - 1]["start"] == plans[at]["start"] and plans[at - 1]["slot"] > plans[at]["slot"]:
            _swap(plans, at)
            at -= 1


@inlined
def _swap(plans: Array, at: int) -> None:
    """Swap a plan and the one before it, which have the same start."""
    slot, job, size, estimate = plans[at]["slot"], plans[at]["job"], plans[at]["size"], plans[at]["estimate"]
    plans[at]["slot"], plans[at]["job"] = plans[at - 1]["slot"], plans[at - 1]["job"]
    plans[at]["size"], plans[at]["estimate"] = plans[at - 1]["size"], plans[at - 1]["estimate"]
    plans[at - 1]["slot"], plans[at - 1]["job"] = slot, job
    plans[at - 1]["size"], plans[at - 1]["estimate"] = size, estimate


@compiled
def _sort(ranked: Array, keys: Array, other_ranked: Array, other_keys: Array, count: int) -> bool:
    """Sort jobs by (key, job) by merging runs; returns whether the result stands in the first pair of arrays."""
    source_is_first = True
    while True:
        if source_is_first:
            runs = _merge_pairs(ranked, keys, other_ranked, other_keys, count)
        else:
            runs = _merge_pairs(other_ranked, other_keys, ranked, keys, count)
        if runs <= 1:
            return source_is_first
        source_is_first = not source_is_first


@compiled
def _merge_pairs(jobs: Array, keys: Array, to_jobs: Array, to_keys: Array, count: int) -> int:
    """Merge each two neighbouring sorted runs into the other arrays; returns how many runs there were."""
    runs = 0
    begin = 0
    while begin < count:
        middle = _run_end(jobs, keys, begin, count)
        runs += 1
        if begin == 0 and middle == count:
            return 1
        end = middle
        if middle < count:
            end = _run_end(jobs, keys, middle, count)
            runs += 1
        left, right = begin, middle
        for at in range(begin, end):
            takes_left = right >= end or (
                left < middle and (keys[left] < keys[right] or (keys[left] == keys[right] and jobs[left] < jobs[right]))
            )
            taken = left if takes_left else right
            to_jobs[at] = jobs[taken]
            to_keys[at] = keys[taken]
            if takes_left:
                left += 1
            else:
                right += 1
        begin = end
    return runs


@compiled
def _run_end(jobs: Array, keys: Array, begin: int, count: int) -> int:
    """One past the last position of the sorted run that begins at a position."""
    at = begin + 1
    while at < count and (keys[at - 1] < keys[at] or (keys[at - 1] == keys[at] and jobs[at - 1] < jobs[at])):
        at += 1
    return at
