"""Which machines a job gets: filters say where it may run, a weigher says in which order they are tried.

Filters: the job's partition, and room for at least one unit. Weighers, by code (`model.platform.SELECTIONS`):

| code | name | machines are tried |
| --- | --- | --- |
| 0 | first | by id |
| 1 | best | fewest free cores first, then by id |
| 2 | worst | most free cores first, then by id |
| 3 | contiguous | by id, and all machines of the job are neighbours |
| 4 | spread | as worst, but units are dealt one a machine in rounds |
| 5 | pack | most units first, then by id: few machines, well filled |
| 6 | nearby | by id, in as few parts of the network as will do (see `engine/place/domains.py`) |
| 7 | local | the same, and no more parts than on the empty platform: else the job waits |

A shape that is local has all its machines in one part of the network, in any case: in the part that nearby would take,
where machines are tried by id; in the first that has neighbours enough; else in the first that has room if machines are
tried in the order of the selection.
"""

from __future__ import annotations

from unspool.engine.kernel import bitset
from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import Array, Core, Place
from unspool.engine.place.domains import next_domain
from unspool.engine.place.machines import licences_suffice, units_that_fit

__all__ = ["fits_together", "pick", "place_units"]

FIRST, BEST, WORST, CONTIGUOUS, SPREAD, PACK, NEARBY, LOCAL = 0, 1, 2, 3, 4, 5, 6, 7


@compiled
def pick(core: Core, place: Place, job: int) -> bool:
    """Choose machines for a job on what is free now, into `picked`; False where there is no room.

    A shape that found no room finds none until something is released; it is not asked again before.
    """
    course, shapes = core.course, place.shapes
    shape = core.jobs[job]["shape"]
    if shapes[shape]["failed"] == course[0]["releases"] or core.jobs[job]["size"] > course[0]["free"]:
        return False
    if _enough_in_all(place, shape) and place_units(core, place, place.free, place.licence, shape, False):
        return True
    shapes[shape]["failed"] = course[0]["releases"]
    return False


@inlined
def _enough_in_all(place: Place, shape: int) -> bool:
    """Whether all machines together have what a shape asks for: necessary, and quickly known."""
    enough = True
    for resource in range(len(place.total)):
        if place.shapes[shape]["units"] * place.need[shape, resource] > place.total[resource]:
            enough = False
    return enough


@compiled
def place_units(core: Core, place: Place, gain: Array, licence_gain: Array, shape: int, later: bool) -> bool:
    """Choose machines for a shape, now or later, by the platform's selection."""
    course = core.course
    course[0]["picked"] = 0
    if not licences_suffice(place.licence, licence_gain, place.licence_need, shape, later):
        return False
    selection = course[0]["selection"]
    is_local = _is_local(place.domains, place.shapes, shape)
    if selection == FIRST and not is_local:
        if course[0]["one_core"] != 0 and place.shapes[shape]["plain"] != 0 and not later:
            return _place_on_runs(core, place, shape)
        return _place_first(core, place, gain, shape, later)
    if selection == CONTIGUOUS:
        return _place_in_a_row(core, place, gain, place.domains, shape, later)
    if selection in (FIRST, NEARBY, LOCAL):
        return _place_nearby(core, place, gain, place.domains, shape, later)
    return _place_weighed(core, place, gain, place.tally, place.domains, shape, selection, later)


@inlined
def _is_local(domains: Array | None, shapes: Array, shape: int) -> bool:
    """Whether all machines of a shape must be in one part of the network."""
    return bool(domains is not None and shapes[shape]["local"] != 0)


@inlined
def _is_cut(place: Place, domains: Array | None, shape: int, machine: int) -> bool:
    """Whether a machine is no neighbour of the one before it, as it is in another part of the network."""
    machines = place.machines
    is_cut = False
    if machine > 0 and _is_local(domains, place.shapes, shape):
        is_cut = machines[machine]["domain"] != machines[machine - 1]["domain"]
    return is_cut


@inlined
def _append(core: Core, place: Place, machine: int, units: int) -> None:
    """Add a machine to `picked`, lengthening the last row where it is its neighbour with as many units."""
    course, picked = core.course, place.picked
    count = course[0]["picked"]
    if count > 0 and picked[count - 1]["last"] == machine - 1 and picked[count - 1]["units"] == units:
        picked[count - 1]["last"] = machine
    else:
        picked[count]["first"] = machine
        picked[count]["last"] = machine
        picked[count]["units"] = units
        course[0]["picked"] = count + 1


@inlined
def _next_candidate(place: Place, machine: int, later: bool) -> int:
    """The next machine that may have a free core: now the bitset knows, later it may be any."""
    following = -1
    if later:
        if machine < len(place.machines):
            following = machine
    else:
        following = bitset.next_member(place.bits, len(place.machines), machine)
    return following


@compiled
def _place_first(core: Core, place: Place, gain: Array, shape: int, later: bool) -> bool:
    wanted = place.shapes[shape]["units"]
    machines = len(place.machines)
    for word in range((machines + bitset.WORD - 1) // bitset.WORD):
        left = bitset.first_bits(machines - word * bitset.WORD) if later else place.bits[word]
        while left != 0:
            machine = word * bitset.WORD + bitset.lowest(left)
            left &= left - 1
            units = min(units_that_fit(place, gain, machine, shape, later), wanted)
            if units > 0:
                _append(core, place, machine, units)
                wanted -= units
                if wanted == 0:
                    return True
    return False


@inlined
def _place_on_runs(core: Core, place: Place, shape: int) -> bool:
    """First fit where every machine has one core: whole runs of free machines at a stroke."""
    picked, machines = place.picked, len(place.machines)
    wanted = place.shapes[shape]["units"]
    count = 0
    first = bitset.next_member(place.bits, machines, 0)
    while first >= 0 and wanted > 0:
        last = min(bitset.run_end(place.bits, machines, first), first + wanted - 1)
        picked[count]["first"] = first
        picked[count]["last"] = last
        picked[count]["units"] = 1
        count += 1
        wanted -= last - first + 1
        first = bitset.next_member(place.bits, machines, last + 1)
    core.course[0]["picked"] = count
    return bool(wanted == 0)


@compiled
def _place_in_a_row(core: Core, place: Place, gain: Array, domains: Array | None, shape: int, later: bool) -> bool:
    course = core.course
    wanted = place.shapes[shape]["units"]
    last = -2
    machine = _next_candidate(place, 0, later)
    while machine >= 0:
        units = units_that_fit(place, gain, machine, shape, later)
        if units == 0 or last != machine - 1 or _is_cut(place, domains, shape, machine):
            course[0]["picked"] = 0
            wanted = place.shapes[shape]["units"]
        if units > 0:
            last = machine
            _append(core, place, machine, min(units, wanted))
            wanted -= min(units, wanted)
            if wanted == 0:
                return True
        machine = _next_candidate(place, machine + 1, later)
    return False


@compiled
def fits_together(core: Core, place: Place, gain: Array, shape: int) -> bool:
    """Whether machines that have room later for all units of a shape are where it may be; leaves `picked` as it was."""
    selection = core.course[0]["selection"]
    if selection == CONTIGUOUS:
        return _fits_in_a_row(place, gain, place.domains, shape)
    if selection != LOCAL and not _is_local(place.domains, place.shapes, shape):
        return True
    return _choose_parts(place, gain, place.domains, shape, True)


@compiled
def _fits_in_a_row(place: Place, gain: Array, domains: Array | None, shape: int) -> bool:
    machines = len(place.machines)
    wanted = place.shapes[shape]["units"]
    for machine in range(machines):
        units = units_that_fit(place, gain, machine, shape, True)
        if units == 0 or _is_cut(place, domains, shape, machine):
            wanted = place.shapes[shape]["units"]
        if units > 0:
            wanted -= units
            if wanted <= 0:
                return True
    return False


@compiled
def _place_weighed(
    core: Core, place: Place, gain: Array, tally: Array | None, domains: Array | None, shape: int, selection: int,
    later: bool,
) -> bool:  # fmt: skip
    """Counting sort of the candidates by weight, then units are given in that order, then rows are made by id."""
    if tally is None:
        return False
    machines = place.machines
    highest = len(tally) - 1
    for weight in range(highest + 1):
        tally[weight] = 0
    candidates = 0
    machine = _next_candidate(place, 0, later)
    while machine >= 0:
        units = units_that_fit(place, gain, machine, shape, later)
        machines[machine]["given"] = 0
        machines[machine]["fit"] = units
        if units > 0:
            candidates += 1
            tally[_weight(place, gain, highest, machine, selection, later)] += 1
        machine = _next_candidate(place, machine + 1, later)
    total = 0
    for weight in range(highest + 1):
        total += tally[weight]
        tally[weight] = total - tally[weight]
    machine = _next_candidate(place, 0, later)
    while machine >= 0:
        if machines[machine]["fit"] > 0:
            weight = _weight(place, gain, highest, machine, selection, later)
            machines[tally[weight]]["order"] = machine
            tally[weight] += 1
        machine = _next_candidate(place, machine + 1, later)
    if _is_local(domains, place.shapes, shape) and not _keep_to_one_part(place, domains, candidates, shape):
        return False
    wanted = _give_units(place, candidates, place.shapes[shape]["units"], selection == SPREAD)
    if wanted > 0:
        return False
    machine = _next_candidate(place, 0, later)
    while machine >= 0:
        if machines[machine]["fit"] > 0 and machines[machine]["given"] > 0:
            _append(core, place, machine, machines[machine]["given"])
        machine = _next_candidate(place, machine + 1, later)
    return True


@compiled
def _keep_to_one_part(place: Place, domains: Array | None, candidates: int, shape: int) -> bool:
    """Let units fit only in the part of the network that is the first, in the order of machines, to have room."""
    if domains is None:
        return False
    machines = place.machines
    for domain in range(len(domains)):
        domains[domain]["room"] = 0
    part = -1
    for at in range(candidates):
        machine = machines[at]["order"]
        domain = machines[machine]["domain"]
        domains[domain]["room"] += machines[machine]["fit"]
        if domains[domain]["room"] >= place.shapes[shape]["units"]:
            part = domain
            break
    for at in range(candidates):
        machine = machines[at]["order"]
        if machines[machine]["domain"] != part:
            machines[machine]["fit"] = 0
    return part >= 0


@compiled
def _place_nearby(core: Core, place: Place, gain: Array, domains: Array | None, shape: int, later: bool) -> bool:
    """Choose parts of the network, then machines in them by id."""
    if domains is None:
        return False
    if not _choose_parts(place, gain, domains, shape, later):
        return False
    machines = place.machines
    machine = _next_candidate(place, 0, later)
    while machine >= 0:
        domain = machines[machine]["domain"]
        units = min(machines[machine]["fit"], domains[domain]["taken"])
        if units > 0:
            _append(core, place, machine, units)
            domains[domain]["taken"] -= units
        machine = _next_candidate(place, machine + 1, later)
    return True


@compiled
def _choose_parts(place: Place, gain: Array, domains: Array | None, shape: int, later: bool) -> bool:
    """How many units of a shape go into each part of the network, as few as will do; False where they are too many."""
    if domains is None:
        return False
    machines = place.machines
    for domain in range(len(domains)):
        domains[domain]["room"] = 0
        domains[domain]["taken"] = 0
    machine = _next_candidate(place, 0, later)
    while machine >= 0:
        units = units_that_fit(place, gain, machine, shape, later)
        machines[machine]["fit"] = units
        domains[machines[machine]["domain"]]["room"] += units
        machine = _next_candidate(place, machine + 1, later)
    wanted = place.shapes[shape]["units"]
    parts = place.shapes[shape]["parts"]
    while wanted > 0:
        domain = next_domain(domains, wanted)
        if domain < 0 or parts == 0:
            return False
        parts -= 1
        domains[domain]["taken"] = min(domains[domain]["room"], wanted)
        wanted -= domains[domain]["taken"]
        domains[domain]["room"] = 0
    return True


@inlined
def _weight(place: Place, gain: Array, highest: int, machine: int, selection: int, later: bool) -> int:
    """The lower, the sooner tried. Within the bounds of `tally`."""
    cores = int(place.free[machine, 0] + gain[machine, 0] if later else place.free[machine, 0])
    weight = cores
    if selection in (WORST, SPREAD):
        weight = highest - cores
    elif selection == PACK:
        weight = highest - min(place.machines[machine]["fit"], highest)
    return weight


@inlined
def _give_units(place: Place, candidates: int, wanted: int, in_rounds: bool) -> int:
    """Give units to machines in their order, all that fit or one a round; returns how many found no place."""
    machines = place.machines
    given = 1
    while wanted > 0 and given > 0:
        given = 0
        for at in range(candidates):
            machine = machines[at]["order"]
            units = min(machines[machine]["fit"] - machines[machine]["given"], wanted)
            if in_rounds:
                units = min(units, 1)
            if units > 0:
                machines[machine]["given"] += units
                wanted -= units
                given += units
    return wanted
