"""EASY backfilling: a job may overtake if the head of the queue does not start later for it."""

from __future__ import annotations

from unspool.engine import bitset
from unspool.engine.compiled import compiled, inlined
from unspool.engine.machines import change_gain, clear_gain, licences_suffice, touch, units_that_fit
from unspool.engine.queue import next_fitting
from unspool.engine.running import renew_overdue
from unspool.engine.selection import CONTIGUOUS, fits_in_a_row, pick
from unspool.engine.starts import start_by_count, start_on_picked
from unspool.engine.state import NEVER, Core, Place
from unspool.policies.schedulers.fcfs import fcfs_by_count, fcfs_on_machines

__all__ = ["easy_by_count", "easy_on_machines"]

_NOT_KNOWN = -1.0


@compiled
def easy_by_count(core: Core, place: Place) -> None:
    """One round of EASY where a job fits if enough cores are free in all.

    While the head is the same and nothing was released, a job that was refused stays refused: free cores and extra only
    shrink, the shadow time stands, and now + estimate only grows. So only slots filled since then are looked at.
    """
    clock, waiting = core.clock, core.waiting
    if renew_overdue(core):
        clock[0]["releases"] += 1  # the shadow time moved
    head = fcfs_by_count(core, place)
    slot = _first_to_look_at(core, head, _is_known(core, head))
    if slot < 0:
        return
    if clock[0]["shadow"] == _NOT_KNOWN:
        slot = next_fitting(core, slot, clock[0]["free"], clock[0]["free"], NEVER)
        if slot < 0:
            return
        _find_shadow(core, waiting[head]["size"])
    while True:
        slot = next_fitting(core, slot, clock[0]["free"], clock[0]["extra"], clock[0]["shadow"])
        if slot < 0:
            return
        if clock[0]["now"] + waiting[slot]["estimate"] > clock[0]["shadow"]:
            clock[0]["extra"] -= waiting[slot]["size"]
        start_by_count(core, place, waiting[slot]["job"])
        slot += 1


@inlined
def _is_known(core: Core, head: int) -> bool:
    """Whether what was found for this head still stands."""
    clock = core.clock
    return bool(head == clock[0]["head"] and clock[0]["releases"] == clock[0]["head_releases"])


@inlined
def _first_to_look_at(core: Core, head: int, only_fresh: bool) -> int:
    """Where the backfill scan begins, or -1 where there is nothing to scan for; forgets an outdated shadow time."""
    clock = core.clock
    fresh = clock[0]["fresh"]
    clock[0]["fresh"] = len(core.waiting)
    if not _is_known(core, head):
        clock[0]["head"] = head
        clock[0]["head_releases"] = clock[0]["releases"]
        clock[0]["shadow"] = _NOT_KNOWN
    slot = head + 1
    if only_fresh:
        slot = max(slot, fresh)
    if head < 0 or clock[0]["free"] == 0 or slot >= len(core.waiting):
        slot = -1
    return slot


@compiled
def _find_shadow(core: Core, size: int) -> None:
    """The earliest time at which the head fits, and what is then free beyond it, all jobs that end by then counted."""
    clock, running = core.clock, core.running
    free = clock[0]["free"]
    at = clock[0]["running"] - 1
    shadow = clock[0]["now"]
    while free < size:
        free += running[at]["size"]
        shadow = running[at]["time"]
        at -= 1
    while at >= 0 and running[at]["time"] == shadow:
        free += running[at]["size"]
        at -= 1
    clock[0]["shadow"] = shadow
    clock[0]["extra"] = free - size


@compiled
def easy_on_machines(core: Core, place: Place) -> None:
    """One round of EASY on machines.

    The queue's index finds jobs by their cores in all, which is necessary but not enough; picking machines and asking
    whether the head still fits at the shadow time decides. A start can send a job that was refused before to other
    machines, so only a round after which nothing started lets the next one look at fresh slots alone.
    """
    clock, waiting, jobs = core.clock, core.waiting, core.jobs
    if renew_overdue(core):
        clock[0]["releases"] += 1  # the shadow time moved
    head = fcfs_on_machines(core, place)
    slot = _first_to_look_at(core, head, _is_known(core, head) and clock[0]["attempts"] == clock[0]["head_attempts"])
    clock[0]["head_attempts"] = clock[0]["attempts"]
    if slot < 0:
        return
    head_shape = jobs[waiting[head]["job"]]["shape"]
    while True:
        if clock[0]["shadow"] == _NOT_KNOWN:
            slot = next_fitting(core, slot, clock[0]["free"], clock[0]["free"], NEVER)
        else:
            slot = next_fitting(core, slot, clock[0]["free"], clock[0]["extra"], clock[0]["shadow"])
        if slot < 0:
            return
        job = waiting[slot]["job"]
        if pick(core, place, job):
            if clock[0]["shadow"] == _NOT_KNOWN:
                _find_shadow_on_machines(core, place, waiting[head]["size"], head_shape)
            if clock[0]["now"] + waiting[slot]["estimate"] <= clock[0]["shadow"]:
                _note_in_gain(core, place, jobs[job]["shape"], 1)
                start_on_picked(core, place, job)
            elif _head_still_fits(core, place, head_shape, jobs[job]["shape"]):
                clock[0]["extra"] -= waiting[slot]["size"]
                start_on_picked(core, place, job)
        slot += 1


@compiled
def _find_shadow_on_machines(core: Core, place: Place, size: int, shape: int) -> None:
    """The earliest time at which machines can be picked for the head; `gain` then holds what is given back by then."""
    clock, running, attempts, rows = core.clock, core.running, core.attempts, place.rows
    clear_gain(core, place)
    units = 0
    machine = bitset.next_member(place.bits, len(place.machines), 0)
    while machine >= 0:
        fit = units_that_fit(place, machine, shape, False)
        units += fit
        touch(core, place, machine)
        place.machines[machine]["later"] = fit
        machine = bitset.next_member(place.bits, len(place.machines), machine + 1)
    free = clock[0]["free"]
    shadow = clock[0]["now"]
    at = clock[0]["running"] - 1
    while at >= 0:
        if _would_fit(core, place, shape, units):
            break
        shadow = running[at]["time"]
        while at >= 0 and running[at]["time"] == shadow:
            job = running[at]["job"]
            free += running[at]["size"]
            of = core.jobs[job]["shape"]
            attempt = core.fate[job]["attempt"]
            first_row = attempts[attempt]["first_row"]
            for row in range(first_row, first_row + attempts[attempt]["row_count"]):
                given = int(rows[row]["units"])
                for machine in range(int(rows[row]["first"]), int(rows[row]["last"]) + 1):
                    change_gain(core, place, machine, of, given)
                    fit = units_that_fit(place, machine, shape, True)
                    units += fit - place.machines[machine]["later"]
                    place.machines[machine]["later"] = fit
            for kind in range(place.licence.shape[1]):
                place.licence[1, kind] += place.licence_need[of, kind]
            at -= 1
    clock[0]["shadow"] = shadow
    clock[0]["extra"] = free - size
    clock[0]["head_units"] = units


@compiled
def _would_fit(core: Core, place: Place, shape: int, units: int) -> bool:
    """Whether a shape of which so many units fit later can be placed then."""
    if units < place.shapes[shape]["units"]:
        return False
    if not licences_suffice(place.licence, place.licence_need, shape, True):
        return False
    return core.clock[0]["selection"] != CONTIGUOUS or fits_in_a_row(core, place, shape)


@inlined
def _note_in_gain(core: Core, place: Place, shape: int, sign: int) -> None:
    """Add what is picked for a job to what is free later (+1), or take it off (-1)."""
    picked = place.picked
    for at in range(core.clock[0]["picked"]):
        units = int(picked[at]["units"])
        for machine in range(int(picked[at]["first"]), int(picked[at]["last"]) + 1):
            change_gain(core, place, machine, shape, sign * units)
    for kind in range(place.licence.shape[1]):
        place.licence[1, kind] += sign * place.licence_need[shape, kind]


@compiled
def _head_still_fits(core: Core, place: Place, head_shape: int, shape: int) -> bool:
    """Whether the head fits at the shadow time if what is picked for a job stays taken until after it."""
    clock = core.clock
    before = clock[0]["head_units"]
    _note_in_gain(core, place, shape, -1)
    units = before + _renewed_units(core, place, head_shape)
    fits = _would_fit(core, place, head_shape, units)
    _note_in_gain(core, place, shape, 1)
    if fits:
        clock[0]["head_units"] = units
    else:
        _renewed_units(core, place, head_shape)
    return fits


@inlined
def _renewed_units(core: Core, place: Place, head_shape: int) -> int:
    """Count the units of the head on the picked machines anew; returns by how much their number changed."""
    picked, machines = place.picked, place.machines
    change = 0
    for at in range(core.clock[0]["picked"]):
        for machine in range(int(picked[at]["first"]), int(picked[at]["last"]) + 1):
            fit = units_that_fit(place, machine, head_shape, True)
            change += fit - machines[machine]["later"]
            machines[machine]["later"] = fit
    return change
