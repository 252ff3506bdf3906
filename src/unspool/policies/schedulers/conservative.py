"""Conservative backfilling: every job is promised a start on arrival, and nobody is made to wait beyond it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unspool.engine.jobs.expected_ends import renew_overdue
from unspool.engine.jobs.free_cores import (
    begin_profile,
    drop_the_past,
    earliest_fit,
    is_blocked_after,
    last_step_before,
    move_span,
    room_before,
    take_span,
)
from unspool.engine.jobs.plans import fits_from, hold_picked, let_go, next_end, start_held
from unspool.engine.jobs.queue import next_waiting, waits_at
from unspool.engine.jobs.starts import start_by_count
from unspool.engine.kernel.bitset import WORD, lowest
from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import KEPT, NEVER, NOT_NEEDED, SPOILT, Array, Core, Later, Place, Plan
from unspool.policies.base import CONSERVATIVE, OrderedScheduler
from unspool.policies.orders import QueueOrder

__all__ = ["Conservative", "conservative"]


@dataclass(frozen=True)
class Conservative(OrderedScheduler):
    """Conservative backfilling: a job may overtake if no job before it starts later for it.

    Plans move forward in the order of their starts; in the order of the queue where one is given.
    """

    code: ClassVar[int] = CONSERVATIVE
    order: QueueOrder | str | None = None


@compiled
def conservative(core: Core, place: Place | None, later: Later | None, plan: Plan | None) -> None:
    """One round of conservative backfilling."""
    if plan is None:
        return
    course = core.course
    is_overdue = renew_overdue(core)
    if course[0]["planning"] != NOT_NEEDED:
        if is_overdue or course[0]["planning"] == SPOILT:
            _plan_all_again(core, place, later, plan)
        else:
            drop_the_past(course, plan.times, plan.gains)
            if course[0]["freed_until"] > course[0]["now"]:
                if course[0]["in_queue_order"] != 0:
                    _move_in_queue_order(core, place, later, plan)
                else:
                    _move_forward(core, place, later, plan)
        course[0]["planning"] = KEPT
        course[0]["freed_until"] = 0.0
    _plan_arrivals(core, place, later, plan)
    _start_due(core, place, later, plan)
    if later is None and course[0]["plans"] == 0:
        course[0]["planning"] = NOT_NEEDED


@inlined
def _find_start(
    core: Core,
    place: Place | None,
    later: Later | None,
    plan: Plan,
    job: int,
    own: int,
    start: float,
    end: float,
    until: float,
) -> float:
    """The earliest fit of a job in [start, end), or `until`; where plans hold machines, they are picked.

    Cores free in all are necessary everywhere. Where they are not enough, machines are asked at the time found and
    then at each later time at which something is given back.
    """
    course = core.course
    size = core.jobs[job]["size"]
    estimate = core.fate[job]["estimate"]
    while start < end:
        start = earliest_fit(course, plan.times, plan.gains, size, estimate, start, end, until)
        if start >= end or fits_from(core, place, later, plan, own, job, start):
            break
        start = next_end(core, plan, start)
    return start if start < end else until


@inlined
def _copy(plans: Array, source: int, target: int) -> None:
    """Field by field, which Numba compiles to a few moves; a record as a whole becomes a call."""
    of, to = np.uint64(source), np.uint64(target)
    plans[to]["start"] = plans[of]["start"]
    plans[to]["estimate"] = plans[of]["estimate"]
    plans[to]["size"] = plans[of]["size"]
    plans[to]["slot"] = plans[of]["slot"]
    plans[to]["job"] = plans[of]["job"]


@inlined
def _write(core: Core, plans: Array, at: int, job: int) -> None:
    """Write at a position what a plan is of; `_put` gives it its start."""
    plans[at]["slot"] = core.fate[job]["slot"]
    plans[at]["job"] = job
    plans[at]["size"] = core.jobs[job]["size"]
    plans[at]["estimate"] = core.fate[job]["estimate"]


@inlined
def _put(core: Core, place: Place | None, later: Later | None, plan: Plan, at: int, start: float) -> None:
    """Give the plan at a position a start, and move it to its place among those before it, by (start, slot)."""
    plans = plan.plans
    slot, job, size, estimate = plans[at]["slot"], plans[at]["job"], plans[at]["size"], plans[at]["estimate"]
    while at > 0:
        before = np.uint64(at - 1)
        if plans[before]["start"] < start or (plans[before]["start"] == start and plans[before]["slot"] < slot):
            break
        _copy(plans, at - 1, at)
        at -= 1
    plans[at]["start"] = start
    plans[at]["slot"] = slot
    plans[at]["job"] = job
    plans[at]["size"] = size
    plans[at]["estimate"] = estimate
    plan.held[job]["start"] = start
    core.fate[job]["planned_end"] = start + estimate
    if start < NEVER:  # it is not, while machines are down that it needs
        hold_picked(core, place, later, plan, job, start + estimate)


@compiled
def _plan_all_again(core: Core, place: Place | None, later: Later | None, plan: Plan) -> None:
    """A job outlived its estimate, machines changed, or there was no plan yet: all are placed anew.

    Jobs that lost a machine come first, for they had started; then the others in the order of their plans.
    """
    course, plans = core.course, plan.plans
    begin_profile(core, plan)
    course[0]["plan_ends"] = 0
    course[0]["plan_rows"] = 0
    course[0]["spare_plan_row"] = -1
    count = _put_lost_first(core, plans)
    for at in range(count):
        course[0]["plans"] = at  # those before it are placed
        start = _find_start(core, place, later, plan, plans[at]["job"], -1, course[0]["now"], NEVER, NEVER)
        if start < NEVER:
            take_span(course, plan.times, plan.gains, start, start + plans[at]["estimate"], plans[at]["size"])
        _put(core, place, later, plan, at, start)
    course[0]["plans"] = count


@compiled
def _put_lost_first(core: Core, plans: Array) -> int:
    """Write the waiting jobs that have run before, and have no plan, before those that do; returns how many all are."""
    course, waiting = core.course, core.waiting
    count = course[0]["plans"]
    lost = 0
    slot = next_waiting(core, 0)
    while slot >= 0:
        if _has_lost_its_plan(core, waiting[slot]["job"]):
            lost += 1
        slot = next_waiting(core, slot + 1)
    if lost == 0:
        return int(count)
    for at in range(count - 1, -1, -1):
        _copy(plans, at, at + lost)
    at = 0
    slot = next_waiting(core, 0)
    while slot >= 0:
        job = waiting[slot]["job"]
        if _has_lost_its_plan(core, job):
            _write(core, plans, at, job)
            at += 1
        slot = next_waiting(core, slot + 1)
    return int(count + lost)


@inlined
def _has_lost_its_plan(core: Core, job: int) -> bool:
    """Whether a waiting job has run before and is not planned yet."""
    return bool(core.fate[job]["attempt"] >= 0 and core.fate[job]["planned_end"] == 0.0)


@inlined
def _move_forward(core: Core, place: Place | None, later: Later | None, plan: Plan) -> None:
    """Some job ended early: each is lifted out, in the order of the plans, and put at its earliest fit.

    A job that fits no earlier keeps its place. Where cores in all decide, it had no earlier fit at the last pass, so a
    new one begins before the end of the time that became free since then; jobs behind it in this order free time after
    its plan only, where its own cores are. So one look at the profile nearly always tells its new start, or that there
    is none: the room right before its old start is its own, and an earlier fit is over before the lack of cores that
    comes before this room. Where its start lies behind the freed time, there is no such room, and a fit is over before
    the first lack there too; those that are too long or too wide for it are told a word of them at a time.
    """
    course, plans, times, gains = core.course, plan.plans, plan.times, plan.gains
    now = course[0]["now"]
    freed_until = course[0]["freed_until"] if later is None else NEVER
    count = course[0]["plans"]
    step = course[0]["steps"]
    free = most = gains[step]
    at = first = left = 0  # `left` are those of a word, from `first` on, that are to be looked at
    while left != 0 or at < count:
        if left == 0:
            which = at
            start = plans[np.uint64(which)]["start"]
            while times[np.uint64(step - 1)] < start and times[np.uint64(step - 1)] <= freed_until:
                step -= 1
                free += gains[np.uint64(step)]
                most = max(most, free)
            if start > freed_until:
                first = at
                at = min(first + WORD, count)
                left = _short_and_narrow(plans, first, at, now, most)
                continue
            at += 1
            size, estimate = plans[np.uint64(which)]["size"], plans[np.uint64(which)]["estimate"]
            if size > most:
                continue
            begin, is_earliest, until = room_before(course, times, gains, step, free, size, now + estimate)
            is_vain = is_earliest and begin < step
        else:
            which = first + lowest(left)
            left &= left - 1
            its = np.uint64(which)
            start, size, estimate = plans[its]["start"], plans[its]["size"], plans[its]["estimate"]
            is_vain = is_blocked_after(times, gains, step, free, size, now + estimate)
            begin, is_earliest, until = step - 1, False, freed_until
        if is_vain:
            continue
        best, end = start, min(start, freed_until)
        if later is None:  # else machines must be found, too
            best = times[np.uint64(begin)] if begin >= step else start
            end = min(best, until)
        if later is not None or not is_earliest:
            begin = course[0]["steps"]
            job = plans[np.uint64(which)]["job"]
            best = _find_start(core, place, later, plan, job, job, now, end, best)
        if best < start:
            _bring_forward(core, place, later, plan, which, best, step, begin)
            # What is free right before its old start has changed by this job alone; where it is not known, begin anew.
            if start > freed_until:
                at = which + 1
                left = 0
                step = course[0]["steps"]
                free = most = gains[step]
            else:
                step = last_step_before(course, times, start, step + 2)  # so much further may it stand now
                free -= size if best + estimate >= start else 0
            freed_until = max(freed_until, start + estimate)


@inlined
def _short_and_narrow(plans: Array, first: int, last: int, now: float, most: int) -> int:
    """Which plans, from first to before last, have at most so many cores and, begun now, are over before their start.

    No branch depends on what is found.
    """
    found = 0
    for at in range(first, last):
        its = np.uint64(at)
        may_move = (plans[its]["size"] <= most) & (now + plans[its]["estimate"] < plans[its]["start"])
        found |= int(may_move) << (at - first)
    return found


@compiled
def _bring_forward(
    core: Core,
    place: Place | None,
    later: Later | None,
    plan: Plan,
    at: int,
    start: float,
    near_before: int,
    near_start: int,
) -> None:
    """Lift a plan out and put it at an earlier start.

    The positions are of steps of the profile that are not later than its present start, and the new one.
    """
    before, estimate, size = plan.plans[at]["start"], plan.plans[at]["estimate"], plan.plans[at]["size"]
    if before < NEVER:
        move_span(core.course, plan.times, plan.gains, before, start, estimate, size, near_before, near_start)
        let_go(core, later, plan, plan.plans[at]["job"])
    else:
        take_span(core.course, plan.times, plan.gains, start, start + estimate, size)
    _put(core, place, later, plan, at, start)


@compiled
def _move_in_queue_order(core: Core, place: Place | None, later: Later | None, plan: Plan) -> None:
    """The same in the order of the queue, where the policy was given one.

    A job may now find room that another one left after its own turn the last time, so each looks from now on.
    """
    course, fate, waiting = core.course, core.fate, core.waiting
    slot = next_waiting(core, 0)
    while slot >= 0:
        job = waiting[slot]["job"]
        if fate[job]["planned_end"] > 0.0:
            start = plan.held[job]["start"]
            best = _find_start(core, place, later, plan, job, job, course[0]["now"], start, start)
            if best < start:
                last = course[0]["steps"]
                _bring_forward(core, place, later, plan, _position(course, plan.plans, start, job), best, last, last)
        slot = next_waiting(core, slot + 1)


@compiled
def _position(course: Array, plans: Array, start: float, job: int) -> int:
    """Where the plan of a job stands."""
    low = 0
    high = course[0]["plans"]
    while low < high:
        middle = (low + high) >> 1
        if plans[middle]["start"] < start:
            low = middle + 1
        else:
            high = middle
    while plans[low]["job"] != job:
        low += 1
    return low


@inlined
def _plan_arrivals(core: Core, place: Place | None, later: Later | None, plan: Plan) -> None:
    """Promise new jobs their starts; who may start now does so, if nobody else is about to, who may come before it."""
    course, plans = core.course, plan.plans
    now = course[0]["now"]
    slot = course[0]["fresh"]
    course[0]["fresh"] = len(core.waiting)
    while course[0]["queued"] > course[0]["plans"]:
        if not waits_at(core, slot):
            slot = next_waiting(core, slot + 1)
        job = core.waiting[slot]["job"]
        if core.fate[job]["planned_end"] == 0.0:
            size, start = core.jobs[job]["size"], now
            if course[0]["planning"] == NOT_NEEDED and size > course[0]["free"]:
                begin_profile(core, plan)
                course[0]["planning"] = KEPT
            if course[0]["planning"] == KEPT:
                start = _find_start(core, place, later, plan, job, -1, now, NEVER, NEVER)
                if start < NEVER:
                    take_span(course, plan.times, plan.gains, start, start + core.fate[job]["estimate"], size)
            at = course[0]["plans"]
            if later is None and start <= now and (at == 0 or plans[0]["start"] > now):
                start_by_count(core, place, job)
            else:
                course[0]["plans"] = at + 1
                _write(core, plans, at, job)
                _put(core, place, later, plan, at, start)
        slot += 1


@inlined
def _start_due(core: Core, place: Place | None, later: Later | None, plan: Plan) -> None:
    course, plans = core.course, plan.plans
    due = 0
    while due < course[0]["plans"] and plans[due]["start"] <= course[0]["now"]:
        job = plans[due]["job"]
        start_held(core, place, later, plan, job)
        due += 1
    if due > 0:
        left = course[0]["plans"] - due
        for at in range(left):
            _copy(plans, at + due, at)
        course[0]["plans"] = left
