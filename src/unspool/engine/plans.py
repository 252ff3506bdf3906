"""Plans that hold machines: where a job was promised room, and what a window of time leaves free beside them."""

from __future__ import annotations

from unspool.engine.compiled import compiled, inlined
from unspool.engine.machines import clear_gain, touch
from unspool.engine.queue import next_waiting
from unspool.engine.running import insert_ending, remove_ending
from unspool.engine.selection import place_units
from unspool.engine.state import NEVER, Core, Place, Plan, State

__all__ = ["fits_from", "hold_picked", "let_go", "next_end", "pick_held", "rows_to_plan"]


@compiled
def hold_picked(core: Core, place: Place, plan: Plan, job: int, end: float) -> None:
    """Keep the picked machines for a waiting job, until the end of its plan."""
    clock, rows, picked = core.clock, plan.rows, place.picked
    slot = core.jobs[job]["slot"]
    first = -1
    for at in range(clock[0]["picked"] - 1, -1, -1):
        row = clock[0]["spare_plan_row"]
        if row >= 0:
            clock[0]["spare_plan_row"] = rows[row]["next"]
        else:
            row = clock[0]["plan_rows"]
            clock[0]["plan_rows"] = row + 1
        rows[row]["first"] = picked[at]["first"]
        rows[row]["last"] = picked[at]["last"]
        rows[row]["units"] = picked[at]["units"]
        rows[row]["next"] = first
        first = row
    core.waiting[slot]["plan_row"] = first
    insert_ending(plan.ends, clock[0]["plan_ends"], end, core.jobs[job]["size"], job)
    clock[0]["plan_ends"] += 1


@compiled
def let_go(core: Core, plan: Plan, job: int) -> None:
    """Give up the machines that a waiting job's plan holds."""
    clock, rows = core.clock, plan.rows
    row = core.waiting[core.jobs[job]["slot"]]["plan_row"]
    while row >= 0:
        following = rows[row]["next"]
        rows[row]["next"] = clock[0]["spare_plan_row"]
        clock[0]["spare_plan_row"] = row
        row = following
    remove_ending(plan.ends, clock[0]["plan_ends"], core.fate[job]["planned_end"], job)
    clock[0]["plan_ends"] -= 1


@compiled
def pick_held(core: Core, place: Place, plan: Plan, job: int) -> None:
    """Copy the machines that a waiting job's plan holds into `picked`."""
    rows, picked = plan.rows, place.picked
    row = core.waiting[core.jobs[job]["slot"]]["plan_row"]
    count = 0
    while row >= 0:
        picked[count]["first"] = rows[row]["first"]
        picked[count]["last"] = rows[row]["last"]
        picked[count]["units"] = rows[row]["units"]
        count += 1
        row = rows[row]["next"]
    core.clock[0]["picked"] = count


@compiled
def next_end(core: Core, plan: Plan, time: float) -> float:
    """The first time after `time` at which a running job or a plan is taken to end."""
    earliest = NEVER
    for at in range(core.clock[0]["running"] - 1, -1, -1):
        if core.running[at]["time"] > time:
            earliest = core.running[at]["time"]
            break
    for at in range(core.clock[0]["plan_ends"] - 1, -1, -1):
        if plan.ends[at]["time"] > time:
            earliest = min(earliest, plan.ends[at]["time"])
            break
    return earliest


@compiled
def fits_from(core: Core, place: Place, plan: Plan, own: int, job: int, start: float) -> bool:
    """Whether machines can be picked for a job, into `picked`, that stay free for its estimate from `start` on.

    `own` is the job whose own plan does not count, or -1. The times at which jobs end and plans begin are merged in
    order; at each, what is given back is added before what is taken is subtracted, and the least of each machine
    is kept.
    """
    clock, running, plans, ends = core.clock, core.running, plan.plans, plan.ends
    end = start + core.fate[job]["estimate"]
    clear_gain(core, place)
    run = clock[0]["running"] - 1
    ending = clock[0]["plan_ends"] - 1
    beginning = 0
    planned = clock[0]["plans"]
    inside = False
    while True:
        gives_run = running[run]["time"] if run >= 0 else NEVER
        gives_plan = ends[ending]["time"] if ending >= 0 else NEVER
        takes = plans[beginning]["start"] if beginning < planned else NEVER
        time = min(gives_run, gives_plan, takes)
        if not inside and time > start:
            _keep_all_levels(core, place)
            inside = True
        if time >= end:
            break
        if gives_run == time:
            _shift_running(core, place, running[run]["job"])
            run -= 1
        elif gives_plan == time:
            if ends[ending]["job"] != own:
                _shift_plan(core, place, plan, ends[ending]["job"], 1, False)
            ending -= 1
        else:
            if plans[beginning]["job"] != own:
                _shift_plan(core, place, plan, plans[beginning]["job"], -1, inside)
            beginning += 1
    return place_units(core, place, core.jobs[job]["shape"], True)


@inlined
def _keep_all_levels(core: Core, place: Place) -> None:
    """The window begins: what is free on top now is the least so far."""
    for at in range(core.clock[0]["touched"]):
        machine = place.machines[at]["touched"]
        for resource in range(place.gain.shape[1]):
            place.gain[machine, resource] = place.level[machine, resource]
    for kind in range(place.licence.shape[1]):
        place.licence[1, kind] = place.licence[2, kind]


@inlined
def _shift_running(core: Core, place: Place, job: int) -> None:
    """From here on a running job has given back what it holds."""
    rows = place.rows
    shape = core.jobs[job]["shape"]
    attempt = core.fate[job]["attempt"]
    first_row = core.attempts[attempt]["first_row"]
    for row in range(first_row, first_row + core.attempts[attempt]["row_count"]):
        for machine in range(int(rows[row]["first"]), int(rows[row]["last"]) + 1):
            touch(core, place, machine)
            for resource in range(place.level.shape[1]):
                place.level[machine, resource] += int(rows[row]["units"]) * place.need[shape, resource]
    for kind in range(place.licence.shape[1]):
        place.licence[2, kind] += place.licence_need[shape, kind]


@compiled
def _shift_plan(core: Core, place: Place, plan: Plan, job: int, sign: int, keep: bool) -> None:
    """From here on a plan holds its machines (-1) or has given them back (+1); keep the least where asked to."""
    rows, level, gain = plan.rows, place.level, place.gain
    shape = core.jobs[job]["shape"]
    row = core.waiting[core.jobs[job]["slot"]]["plan_row"]
    while row >= 0:
        units = sign * rows[row]["units"]
        for machine in range(rows[row]["first"], rows[row]["last"] + 1):
            touch(core, place, machine)
            for resource in range(level.shape[1]):
                level[machine, resource] += units * place.need[shape, resource]
                if keep and level[machine, resource] < gain[machine, resource]:
                    gain[machine, resource] = level[machine, resource]
        row = rows[row]["next"]
    for kind in range(place.licence.shape[1]):
        place.licence[2, kind] += sign * place.licence_need[shape, kind]
        if keep and place.licence[2, kind] < place.licence[1, kind]:
            place.licence[1, kind] = place.licence[2, kind]


@compiled
def rows_to_plan(state: State) -> int:
    """Rows that the plans of all waiting jobs can need at the most."""
    core = state.core
    machines = len(state.place.machines)
    rows = machines
    slot = next_waiting(core, 0) if core.clock[0]["queued"] > 0 else -1
    while slot >= 0:
        rows += min(state.place.shapes[core.jobs[core.waiting[slot]["job"]]["shape"]]["units"], machines)
        slot = next_waiting(core, slot + 1) if slot + 1 < len(core.waiting) else -1
    return rows
