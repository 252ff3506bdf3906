"""Conservative backfilling: every job is promised a start on arrival, and nobody is made to wait beyond it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unspool.engine.compiled import compiled, inlined
from unspool.engine.plans import fits_from, hold_picked, let_go, next_end, start_held
from unspool.engine.profile import (
    add_span,
    begin_profile,
    drop_the_past,
    earliest_fit,
    earliest_fit_around,
    earliest_fit_before,
    lose_place,
    note_freed,
)
from unspool.engine.queue import next_waiting
from unspool.engine.running import renew_overdue
from unspool.engine.state import NEVER, Array, Core, Later, Place, Plan
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
    clock = core.clock
    if renew_overdue(core) or clock[0]["planning"] == 0:
        _plan_all_again(core, place, later, plan)
    else:
        drop_the_past(clock, plan.segments)
        if clock[0]["ended_early"] != 0:
            if clock[0]["in_queue_order"] != 0:
                _move_in_queue_order(core, place, later, plan)
            else:
                _move_forward(core, place, later, plan)
    clock[0]["planning"] = 1
    clock[0]["ended_early"] = 0
    _plan_arrivals(core, place, later, plan)
    _start_due(core, place, later, plan)


@inlined
def _find_start(
    core: Core, place: Place | None, later: Later | None, plan: Plan, job: int, own: int, start: float, until: float
) -> float:
    """The earliest fit of a job in [start, until), or `until`; where plans hold machines, they are picked.

    Cores free in all are necessary everywhere. Where they are not enough, machines are asked at the time found and
    then at each later time at which something is given back.
    """
    clock = core.clock
    size = core.jobs[job]["size"]
    estimate = core.fate[job]["estimate"]
    while start < until:
        if own < 0:
            start = earliest_fit(clock, plan.segments, size, estimate, start)
        else:
            start = earliest_fit_before(clock, plan.segments, size, estimate, start, until)
        if start >= until or fits_from(core, place, later, plan, own, job, start):
            break
        start = next_end(core, plan, start)
    return min(start, until)


@inlined
def _put(core: Core, place: Place | None, later: Later | None, plan: Plan, at: int, start: float) -> None:
    """Give the plan at a position a start, and move it to its place among those before it, by (start, slot)."""
    plans = plan.plans
    slot, job, size, estimate = plans[at]["slot"], plans[at]["job"], plans[at]["size"], plans[at]["estimate"]
    while at > 0 and (
        plans[at - 1]["start"] > start or (plans[at - 1]["start"] == start and plans[at - 1]["slot"] > slot)
    ):
        plans[at] = plans[at - 1]
        at -= 1
    plans[at]["start"] = start
    plans[at]["slot"] = slot
    plans[at]["job"] = job
    plans[at]["size"] = size
    plans[at]["estimate"] = estimate
    end = start + estimate
    core.fate[job]["planned_start"] = start
    core.fate[job]["planned_end"] = end
    add_span(core.clock, plan.segments, start, end, -size)
    hold_picked(core, place, later, plan, job, end)


@compiled
def _plan_all_again(core: Core, place: Place | None, later: Later | None, plan: Plan) -> None:
    """A job outlived its estimate, or there was no plan yet: all are placed anew, in the order of their plans."""
    clock, plans = core.clock, plan.plans
    begin_profile(core, plan)
    clock[0]["plan_ends"] = 0
    clock[0]["plan_rows"] = 0
    clock[0]["spare_plan_row"] = -1
    count = clock[0]["plans"]
    for at in range(count):
        clock[0]["plans"] = at  # those before it are placed
        start = _find_start(core, place, later, plan, plans[at]["job"], -1, clock[0]["now"], NEVER)
        _put(core, place, later, plan, at, start)
    clock[0]["plans"] = count


@inlined
def _move_forward(core: Core, place: Place | None, later: Later | None, plan: Plan) -> None:
    """Some job ended early: each is lifted out, in the order of the plans, and put at its earliest fit.

    A job that fits no earlier keeps its place.
    """
    clock, plans = core.clock, plan.plans
    for at in range(clock[0]["plans"]):
        job = plans[at]["job"]
        start = plans[at]["start"]
        if later is None:
            best = _earlier_by_count(clock, plan.segments, plan.freed, plans, at)
        else:
            best = _find_start(core, place, later, plan, job, job, clock[0]["now"], start)
        if best < start:
            _bring_forward(core, place, later, plan, at, best)
            lose_place(clock, plan.freed)
            note_freed(core, plan, start, start + core.fate[job]["estimate"])
    clock[0]["freed"] = 0


@compiled
def _bring_forward(core: Core, place: Place | None, later: Later | None, plan: Plan, at: int, start: float) -> None:
    """Lift a plan out and put it at an earlier start."""
    plans = plan.plans
    before, estimate = plans[at]["start"], plans[at]["estimate"]
    add_span(core.clock, plan.segments, before, before + estimate, plans[at]["size"])
    let_go(core, later, plan, plans[at]["job"])
    _put(core, place, later, plan, at, start)


@compiled
def _move_in_queue_order(core: Core, place: Place | None, later: Later | None, plan: Plan) -> None:
    """The same in the order of the queue, where the policy was given one.

    A job may now find room that another one left after its own turn the last time, so each looks from now on.
    """
    clock, fate, waiting = core.clock, core.fate, core.waiting
    slot = next_waiting(core, 0) if clock[0]["queued"] > 0 else -1
    while slot >= 0:
        job = waiting[slot]["job"]
        if fate[job]["planned_end"] > 0.0:
            start = fate[job]["planned_start"]
            best = _find_start(core, place, later, plan, job, job, clock[0]["now"], start)
            if best < start:
                _bring_forward(core, place, later, plan, _position(clock, plan.plans, start, job), best)
        slot = next_waiting(core, slot + 1) if slot + 1 < len(waiting) else -1
    clock[0]["freed"] = 0


@compiled
def _position(clock: Array, plans: Array, start: float, job: int) -> int:
    """Where the plan of a job stands."""
    low = 0
    high = clock[0]["plans"]
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
def _earlier_by_count(clock: Array, segments: Array, freed: Array, plans: Array, at: int) -> float:
    """The earliest fit of a plan's job where cores in all decide.

    It had none before its plan at the last pass, so it must touch time before its plan at which cores became free
    since then, as many as it needs. Jobs behind it in the order of the plans free no such time: it lies after its plan.
    """
    size = plans[at]["size"]
    best: float = plans[at]["start"]
    for k in range(clock[0]["freed"]):
        if freed[k]["most"] >= size and freed[k]["start"] < best:
            found = earliest_fit_around(clock, segments, freed, k, size, plans[at]["estimate"], best)
            best = min(best, found)
    return best


@inlined
def _plan_arrivals(core: Core, place: Place | None, later: Later | None, plan: Plan) -> None:
    clock = core.clock
    slot = clock[0]["fresh"]
    clock[0]["fresh"] = len(core.waiting)
    if slot < len(core.waiting):
        slot = next_waiting(core, slot)
        while slot >= 0:
            job = core.waiting[slot]["job"]
            if core.fate[job]["planned_end"] == 0.0:
                start = _find_start(core, place, later, plan, job, -1, clock[0]["now"], NEVER)
                at = clock[0]["plans"]
                clock[0]["plans"] = at + 1
                plan.plans[at]["slot"] = slot
                plan.plans[at]["job"] = job
                plan.plans[at]["size"] = core.jobs[job]["size"]
                plan.plans[at]["estimate"] = core.fate[job]["estimate"]
                _put(core, place, later, plan, at, start)
            slot = next_waiting(core, slot + 1) if slot + 1 < len(core.waiting) else -1


@inlined
def _start_due(core: Core, place: Place | None, later: Later | None, plan: Plan) -> None:
    clock, plans = core.clock, plan.plans
    due = 0
    while due < clock[0]["plans"] and plans[due]["start"] <= clock[0]["now"]:
        job = plans[due]["job"]
        start_held(core, place, later, plan, job)
        due += 1
    if due > 0:
        left = clock[0]["plans"] - due
        for at in range(left):
            plans[at] = plans[at + due]
        clock[0]["plans"] = left
