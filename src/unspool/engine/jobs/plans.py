"""Plans that hold machines: where a job was promised room, and what a window of time leaves free beside them."""

from __future__ import annotations

from unspool.engine.jobs.expected_ends import insert_ending, remove_ending
from unspool.engine.jobs.free_cores import steps_to_plan
from unspool.engine.jobs.queue import next_waiting
from unspool.engine.jobs.starts import start_by_count, start_on_picked
from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import NEVER, Core, Later, Place, Plan
from unspool.engine.place.machines import clear_later, touch
from unspool.engine.place.selection import place_units

__all__ = [
    "fits_from",
    "hold_picked",
    "let_go",
    "next_end",
    "room_to_plan",
    "rows_to_plan",
    "start_held",
]


@compiled
def hold_picked(core: Core, place: Place | None, later: Later | None, plan: Plan, job: int, end: float) -> None:
    """Keep the picked machines for a waiting job, until the end of its plan (nothing where any cores will do)."""
    if later is None or place is None:
        return
    course, rows, picked = core.course, plan.rows, place.picked
    first = -1
    for at in range(course[0]["picked"] - 1, -1, -1):
        row = course[0]["spare_plan_row"]
        if row >= 0:
            course[0]["spare_plan_row"] = rows[row]["next"]
        else:
            row = course[0]["plan_rows"]
            course[0]["plan_rows"] = row + 1
        rows[row]["first"] = picked[at]["first"]
        rows[row]["last"] = picked[at]["last"]
        rows[row]["units"] = picked[at]["units"]
        rows[row]["next"] = first
        first = row
    plan.held[job]["row"] = first
    insert_ending(plan.ends, course[0]["plan_ends"], end, core.jobs[job]["size"], job)
    course[0]["plan_ends"] += 1


@compiled
def let_go(core: Core, later: Later | None, plan: Plan, job: int) -> None:
    """Give up the machines that a waiting job's plan holds."""
    if later is None:
        return
    course, rows = core.course, plan.rows
    row = plan.held[job]["row"]
    while row >= 0:
        following = rows[row]["next"]
        rows[row]["next"] = course[0]["spare_plan_row"]
        course[0]["spare_plan_row"] = row
        row = following
    remove_ending(plan.ends, course[0]["plan_ends"], core.fate[job]["planned_end"], job)
    course[0]["plan_ends"] -= 1


@compiled
def start_held(core: Core, place: Place | None, later: Later | None, plan: Plan, job: int) -> None:
    """Start a waiting job on the machines that its plan holds, or on any where any will do."""
    if later is None or place is None:
        start_by_count(core, place, job)
    else:
        _pick_held(core, place, plan, job)
        let_go(core, later, plan, job)
        start_on_picked(core, place, job)


@compiled
def _pick_held(core: Core, place: Place, plan: Plan, job: int) -> None:
    """Copy the machines that a waiting job's plan holds into `picked`."""
    rows, picked = plan.rows, place.picked
    row = plan.held[job]["row"]
    count = 0
    while row >= 0:
        picked[count]["first"] = rows[row]["first"]
        picked[count]["last"] = rows[row]["last"]
        picked[count]["units"] = rows[row]["units"]
        count += 1
        row = rows[row]["next"]
    core.course[0]["picked"] = count


@compiled
def next_end(core: Core, plan: Plan, time: float) -> float:
    """The first time after `time` at which a running job or a plan is taken to end."""
    earliest = NEVER
    for at in range(core.course[0]["running"] - 1, -1, -1):
        if core.running[at]["time"] > time:
            earliest = core.running[at]["time"]
            break
    for at in range(core.course[0]["plan_ends"] - 1, -1, -1):
        if plan.ends[at]["time"] > time:
            earliest = min(earliest, plan.ends[at]["time"])
            break
    return earliest


@compiled
def fits_from(
    core: Core, place: Place | None, later: Later | None, plan: Plan, own: int, job: int, start: float
) -> bool:
    """Whether machines can be picked for a job whose cores in all are free for its estimate from `start` on."""
    if later is None or place is None:
        return True
    return _machines_fit_from(core, place, later, plan, own, job, start)


@compiled
def _machines_fit_from(core: Core, place: Place, later: Later, plan: Plan, own: int, job: int, start: float) -> bool:
    """Whether machines can be picked for a job, into `picked`, that stay free for its estimate from `start` on.

    `own` is the job whose own plan does not count, or -1. The times at which jobs end and plans begin are merged in
    order; at each, what is given back is added before what is taken is subtracted, and the least of each machine
    is kept.
    """
    course, running, plans, ends = core.course, core.running, plan.plans, plan.ends
    end = start + core.fate[job]["estimate"]
    clear_later(core, place.machines, later)
    run = course[0]["running"] - 1
    ending = course[0]["plan_ends"] - 1
    beginning = 0
    planned = course[0]["plans"]
    inside = False
    while True:
        gives_run = running[run]["time"] if run >= 0 else NEVER
        gives_plan = ends[ending]["time"] if ending >= 0 else NEVER
        takes = plans[beginning]["start"] if beginning < planned else NEVER
        time = min(gives_run, gives_plan, takes)
        if not inside and time > start:
            _keep_all_levels(core, place, later)
            inside = True
        if time >= end:
            break
        if gives_run == time:
            _shift_running(core, place, later, running[run]["job"])
            run -= 1
        elif gives_plan == time:
            if ends[ending]["job"] != own:
                _shift_plan(core, place, later, plan, ends[ending]["job"], 1, False)
            ending -= 1
        else:
            if plans[beginning]["job"] != own:
                _shift_plan(core, place, later, plan, plans[beginning]["job"], -1, inside)
            beginning += 1
    return place_units(core, place, later.gain, later.licence_gain, core.jobs[job]["shape"], True)


@inlined
def _keep_all_levels(core: Core, place: Place, later: Later) -> None:
    """The window begins: what is free on top now is the least so far."""
    for at in range(core.course[0]["touched"]):
        machine = place.machines[at]["touched"]
        for resource in range(later.gain.shape[1]):
            later.gain[machine, resource] = later.level[machine, resource]
    for kind in range(len(place.licence)):
        later.licence_gain[kind] = later.licence_level[kind]


@inlined
def _shift_running(core: Core, place: Place, later: Later, job: int) -> None:
    """From here on a running job has given back what it holds."""
    rows = place.rows
    shape = core.jobs[job]["shape"]
    attempt = core.fate[job]["attempt"]
    first_row = core.attempts[attempt]["first_row"]
    for row in range(first_row, first_row + core.attempts[attempt]["row_count"]):
        for machine in range(int(rows[row]["first"]), int(rows[row]["last"]) + 1):
            touch(core, place, machine)
            for resource in range(later.level.shape[1]):
                later.level[machine, resource] += int(rows[row]["units"]) * place.need[shape, resource]
    for kind in range(len(place.licence)):
        later.licence_level[kind] += place.licence_need[shape, kind]


@compiled
def _shift_plan(core: Core, place: Place, later: Later, plan: Plan, job: int, sign: int, keep: bool) -> None:
    """From here on a plan holds its machines (-1) or has given them back (+1); keep the least where asked to."""
    rows, level, gain = plan.rows, later.level, later.gain
    shape = core.jobs[job]["shape"]
    row = plan.held[job]["row"]
    while row >= 0:
        units = sign * rows[row]["units"]
        for machine in range(rows[row]["first"], rows[row]["last"] + 1):
            touch(core, place, machine)
            for resource in range(level.shape[1]):
                level[machine, resource] += units * place.need[shape, resource]
                if keep and level[machine, resource] < gain[machine, resource]:
                    gain[machine, resource] = level[machine, resource]
        row = rows[row]["next"]
    for kind in range(len(place.licence)):
        later.licence_level[kind] += sign * place.licence_need[shape, kind]
        if keep and later.licence_level[kind] < later.licence_gain[kind]:
            later.licence_gain[kind] = later.licence_level[kind]


@compiled
def rows_to_plan(core: Core, place: Place | None) -> int:
    """Rows that the plans of all waiting jobs can need at the most."""
    if place is None:
        return 0
    machines = len(place.machines)
    rows = machines
    slot = next_waiting(core, 0)
    while slot >= 0:
        rows += min(place.shapes[core.jobs[core.waiting[slot]["job"]]["shape"]]["units"], machines)
        slot = next_waiting(core, slot + 1)
    return rows


@compiled
def room_to_plan(core: Core, place: Place | None, later: Later | None, plan: Plan | None) -> bool:
    """Whether the arrays of conservative backfilling hold what one round can add at the most."""
    if plan is None:
        return True
    queued = core.course[0]["queued"]
    if steps_to_plan(core.course) > len(plan.times) or queued > len(plan.plans):
        return False
    if later is None:
        return True
    return bool(queued <= len(plan.ends) and rows_to_plan(core, place) <= len(plan.rows))
