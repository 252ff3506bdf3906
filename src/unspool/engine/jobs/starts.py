"""Starting a waiting job: take what it needs, then begin its attempt."""

from __future__ import annotations

from unspool.engine.jobs.journal import begin_attempt
from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.state import Array, Core, Place
from unspool.engine.place.machines import take_picked
from unspool.engine.place.selection import place_units

__all__ = ["start_by_count", "start_on_each", "start_on_picked"]


@compiled
def start_by_count(core: Core, place: Place | None, job: int) -> None:
    """Start a job that fits by its number of cores: on a pool, or on machines of which any will do."""
    if place is None:
        core.course[0]["free"] -= core.jobs[job]["size"]
        begin_attempt(core, job, 0, 0)
    else:
        place_units(core, place, place.free, place.licence, core.jobs[job]["shape"], False)
        start_on_picked(core, place, job)


@compiled
def start_on_picked(core: Core, place: Place, job: int) -> None:
    """Start a job on the machines that were picked for it."""
    count = core.course[0]["picked"]
    first_row = take_picked(core, place, job)
    begin_attempt(core, job, first_row, count)


@compiled
def start_on_each(core: Core, place: Place, job: int, machines: Array) -> bool:
    """Start a job on machines that somebody else chose, ascending, with one unit on each; False where it cannot be."""
    shape = core.jobs[job]["shape"]
    count, picked = 0, place.picked
    if place.shapes[shape]["distinct"] == 0 or place.shapes[shape]["units"] != len(machines):
        return False
    for licence in range(len(place.licence)):
        if place.licence_need[shape, licence] > place.licence[licence]:
            return False
    for at in range(len(machines)):
        machine = machines[at]
        if not 0 <= machine < len(place.machines) or (at > 0 and machine <= machines[at - 1]):
            return False
        if place.allowed[place.shapes[shape]["partition"], place.machines[machine]["group"]] == 0:
            return False
        for resource in range(place.free.shape[1]):
            if place.free[machine, resource] < place.need[shape, resource]:
                return False
        if count > 0 and picked[count - 1]["last"] == machine - 1:
            picked[count - 1]["last"] = machine
        else:
            picked[count]["first"] = machine
            picked[count]["last"] = machine
            picked[count]["units"] = 1
            count += 1
    core.course[0]["picked"] = count
    start_on_picked(core, place, job)
    return True
