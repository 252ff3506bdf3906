"""Taking and giving back cores, memory, GPUs, consumables and licences on machines.

`free[machine, r]` is what a machine has left of resource r (0 cores, 1 memory, 2 GPUs, then consumables);
`need[shape, r]` is what one unit of a shape takes. A unit is a machine's share of a job that asks for machines, or one
core (or GPU) with its part of the memory of a job that asks for a total. `gain[machine, r]` is what is free on top of
that at a later time: all questions with `later` are about that time.
"""

from __future__ import annotations

from unspool.engine.kernel import bitset
from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import SPOILT, Array, Core, Later, Place
from unspool.engine.place.domains import note_spanning

__all__ = [
    "change_gain",
    "clear_later",
    "give_machine",
    "is_on_machine",
    "licences_suffice",
    "release_machines",
    "set_machine",
    "take_of_machine",
    "take_picked",
    "touch",
    "units_left",
    "units_that_fit",
    "watch",
]  # fmt: skip


@inlined
def units_that_fit(place: Place, gain: Array, machine: int, shape: int, later: bool) -> int:
    """How many units of one job of a shape fit on what a machine has free, now or later."""
    shapes, free, need = place.shapes, place.free, place.need
    fit = 0
    if place.allowed[shapes[shape]["partition"], place.machines[machine]["group"]] != 0:
        if shapes[shape]["plain"] != 0:
            cores = int(free[machine, 0] + gain[machine, 0] if later else free[machine, 0])
            fit = min(cores if shapes[shape]["cores"] == 1 else cores // shapes[shape]["cores"], shapes[shape]["units"])
        else:
            fit = shapes[shape]["units"]
            for resource in range(free.shape[1]):
                asked = need[shape, resource]
                if asked > 0.0:
                    room = free[machine, resource] + gain[machine, resource] if later else free[machine, resource]
                    if fit * asked > room:
                        fit = int(room / asked)  # exact: both are whole numbers below 2**53
        if shapes[shape]["distinct"] != 0:
            fit = min(fit, 1)
    return max(fit, 0)


@inlined
def units_left(place: Place, gain: Array, machine: int, shape: int, other: int, taken: int) -> int:
    """How many units of one job of a shape fit later if so many units of another stay on the machine until then."""
    shapes, need = place.shapes, place.need
    fit = 0
    if place.allowed[shapes[shape]["partition"], place.machines[machine]["group"]] != 0:
        fit = shapes[shape]["units"]
        if shapes[shape]["distinct"] != 0:
            fit = 1
        for resource in range(need.shape[1]):
            asked = need[shape, resource]
            if asked > 0.0:
                room = place.free[machine, resource] + gain[machine, resource] - taken * need[other, resource]
                if fit * asked > room:
                    fit = int(room / asked)
    return max(fit, 0)


@compiled
def licences_suffice(licence: Array, gain: Array, licence_need: Array, shape: int, later: bool) -> bool:
    """Whether the platform has the licences free, now or later, that a job of this shape takes."""
    for kind in range(len(licence)):
        room = licence[kind] + gain[kind] if later else licence[kind]
        if licence_need[shape, kind] > room:
            return False
    return True


@inlined
def _change_row(core: Core, place: Place, first: int, last: int, shape: int, units: int) -> None:
    """Give back (units > 0) or take (units < 0) so many units of a shape on each machine from first to last."""
    course = core.course
    if place.shapes[shape]["plain"] != 0:
        place.total[0] += (last - first + 1) * units * place.shapes[shape]["cores"]
    else:
        for resource in range(place.free.shape[1]):
            place.total[resource] += (last - first + 1) * units * place.need[shape, resource]
    if course[0]["one_core"] != 0 and place.shapes[shape]["plain"] != 0 and course[0]["watched"] < 0:
        for machine in range(first, last + 1):
            place.free[machine, 0] += units
        if units > 0:
            bitset.add_range(place.bits, len(place.machines), first, last)
        else:
            bitset.discard_range(place.bits, len(place.machines), first, last)
    else:
        for machine in range(first, last + 1):
            _change_machine(core, place, machine, shape, units)


@inlined
def _change_machine(core: Core, place: Place, machine: int, shape: int, units: int) -> None:
    """The same on one machine."""
    free, machines = place.free, place.machines
    has_room = True
    for resource in range(free.shape[1]):
        left = free[machine, resource] + units * place.need[shape, resource]
        free[machine, resource] = left
        if left < place.least[resource]:
            has_room = False
    if has_room:
        if units > 0:
            bitset.add(place.bits, len(machines), machine)
    elif units < 0:
        bitset.discard(place.bits, len(machines), machine)
    _count_watched(core, place, machine)


@inlined
def _count_watched(core: Core, place: Place, machine: int) -> None:
    """What a machine has free changed: count anew how many units of the watched shape fit on it."""
    course, machines = core.course, place.machines
    if course[0]["watched"] >= 0:
        fit = units_that_fit(place, place.free, machine, course[0]["watched"], False)
        course[0]["watched_units"] += fit - machines[machine]["now"]
        machines[machine]["now"] = fit


@compiled
def set_machine(core: Core, place: Place, capacity: Array, machine: int, share: float) -> None:
    """Give a machine that nobody uses all that it has (1), or nothing (0)."""
    course, free, machines = core.course, place.free, place.machines
    has_room = True
    for resource in range(free.shape[1]):
        left = share * capacity[machine, resource]
        change = left - free[machine, resource]
        place.total[resource] += change
        if resource == 0:
            course[0]["free"] += int(change)
        free[machine, resource] = left
        if left < place.least[resource]:
            has_room = False
    if has_room and share > 0.0:
        bitset.add(place.bits, len(machines), machine)
    else:
        bitset.discard(place.bits, len(machines), machine)
    _count_watched(core, place, machine)


@compiled
def take_of_machine(core: Core, place: Place, machine: int, shape: int, units: int) -> None:
    """Take so many units of a shape on a machine, outside of any start."""
    _change_row(core, place, machine, machine, shape, -units)
    core.course[0]["free"] -= units * place.shapes[shape]["cores"]


@compiled
def give_machine(core: Core, place: Place, capacity: Array, machine: int, share: float) -> None:
    """The same for a machine that comes or goes: whatever was found out about room no longer holds."""
    set_machine(core, place, capacity, machine, share)
    core.course[0]["releases"] += 1
    core.course[0]["dirty"] = 1
    core.course[0]["planning"] = SPOILT


@compiled
def watch(core: Core, place: Place, shape: int) -> None:
    """Keep count, from now on, of the units of a shape that fit: whether a blocked head fits is then known at once."""
    course, machines = core.course, place.machines
    units = 0
    for machine in range(len(machines)):
        machines[machine]["now"] = 0
    machine = bitset.next_member(place.bits, len(machines), 0)
    while machine >= 0:
        fit = units_that_fit(place, place.free, machine, shape, False)
        machines[machine]["now"] = fit
        units += fit
        machine = bitset.next_member(place.bits, len(machines), machine + 1)
    course[0]["watched"] = shape
    course[0]["watched_units"] = units


@inlined
def change_gain(core: Core, place: Place, gain: Array, machine: int, shape: int, units: int) -> None:
    """Add units of a shape to what a machine has free later, and remember that it did."""
    touch(core, place, machine)
    if place.shapes[shape]["plain"] != 0:
        gain[machine, 0] += units * place.shapes[shape]["cores"]
    else:
        for resource in range(gain.shape[1]):
            gain[machine, resource] += units * place.need[shape, resource]


@inlined
def touch(core: Core, place: Place, machine: int) -> None:
    """Remember a machine as one that is to be cleared by `clear_later`."""
    course, machines = core.course, place.machines
    if machines[machine]["mark"] == 0:
        machines[machine]["mark"] = 1
        machines[machine]["later"] = machines[machine]["now"]
        machines[course[0]["touched"]]["touched"] = machine
        course[0]["touched"] += 1


@compiled
def clear_later(core: Core, machines: Array, later: Later) -> None:
    """Later is now again: nothing is free on top of what is free."""
    course, gain = core.course, later.gain
    for at in range(course[0]["touched"]):
        machine = machines[at]["touched"]
        machines[machine]["mark"] = 0
        machines[machine]["later"] = 0
        for resource in range(gain.shape[1]):
            gain[machine, resource] = 0.0
            later.level[machine, resource] = 0.0
    course[0]["touched"] = 0
    for kind in range(len(later.licence_gain)):
        later.licence_gain[kind] = 0.0
        later.licence_level[kind] = 0.0


@inlined
def take_picked(core: Core, place: Place, job: int) -> int:
    """Take the machines in `picked` for a job and write them as rows; returns the first row."""
    course, rows, picked = core.course, place.rows, place.picked
    shape = core.jobs[job]["shape"]
    first_row: int = course[0]["rows"]
    for at in range(course[0]["picked"]):
        row = first_row + at
        rows[row]["first"] = picked[at]["first"]
        rows[row]["last"] = picked[at]["last"]
        rows[row]["units"] = picked[at]["units"]
        _change_row(core, place, int(picked[at]["first"]), int(picked[at]["last"]), shape, -int(picked[at]["units"]))
    note_spanning(place.domains, place.machines, rows, first_row, course[0]["picked"], 1)
    course[0]["rows"] = first_row + course[0]["picked"]
    course[0]["free"] -= core.jobs[job]["size"]
    for kind in range(len(place.licence)):
        place.licence[kind] -= place.licence_need[shape, kind]
    return first_row


@compiled
def release_machines(core: Core, place: Place | None, job: int) -> None:
    """Free the machines and licences that a running job holds."""
    if place is None:
        return
    rows = place.rows
    shape = core.jobs[job]["shape"]
    attempt = core.fate[job]["attempt"]
    first_row = core.attempts[attempt]["first_row"]
    if core.attempts[attempt]["row_count"] == 0:
        return  # it runs by a scheduler's word alone, and holds nothing
    for row in range(first_row, first_row + core.attempts[attempt]["row_count"]):
        _change_row(core, place, int(rows[row]["first"]), int(rows[row]["last"]), shape, int(rows[row]["units"]))
    note_spanning(place.domains, place.machines, rows, first_row, core.attempts[attempt]["row_count"], -1)
    for kind in range(len(place.licence)):
        place.licence[kind] += place.licence_need[shape, kind]


@compiled
def is_on_machine(core: Core, place: Place, job: int, machine: int) -> bool:
    """Whether a running job holds a machine."""
    attempt = core.fate[job]["attempt"]
    first = core.attempts[attempt]["first_row"]
    for row in range(first, first + core.attempts[attempt]["row_count"]):
        if place.rows[row]["first"] <= machine <= place.rows[row]["last"]:
            return True
    return False
