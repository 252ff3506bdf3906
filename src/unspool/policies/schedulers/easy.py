"""EASY backfilling: a job may overtake if the head of the queue does not start later for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unspool.engine.jobs.expected_ends import renew_overdue
from unspool.engine.jobs.queue import least_size, next_fitting
from unspool.engine.jobs.starts import start_by_count, start_on_picked
from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.state import NEVER, Array, Core, Later, Place
from unspool.engine.place.machines import change_gain, clear_later, licences_suffice, units_left, units_that_fit
from unspool.engine.place.selection import fits_together, pick
from unspool.policies.base import EASY, OrderedScheduler
from unspool.policies.schedulers.fcfs import fcfs_by_count, fcfs_on_machines

__all__ = ["Easy", "easy"]

_NOT_KNOWN = -1.0


@dataclass(frozen=True)
class Easy(OrderedScheduler):
    """EASY backfilling: a job may overtake if the head of the queue does not start later for it."""

    code: ClassVar[int] = EASY


@compiled
def easy(core: Core, place: Place | None, later: Later | None, shadow: Array | None) -> None:
    """One round of EASY."""
    if shadow is None:
        return
    if renew_overdue(core):
        core.course[0]["releases"] += 1  # the shadow time moved
    if later is None or place is None:
        _by_count(core, place, shadow)
    else:
        _on_machines(core, place, later, shadow)


@compiled
def _by_count(core: Core, place: Place | None, shadow: Array) -> None:
    """Where a job fits if enough cores are free in all.

    While the head is the same and nothing was released, a job that was refused stays refused: free cores and extra only
    shrink, the shadow time stands, and now + estimate only grows. So only slots filled since then are looked at.
    """
    course, waiting = core.course, core.waiting
    before = course[0]["attempts"]
    head = fcfs_by_count(core, place)
    if course[0]["attempts"] > before:
        shadow[0]["head"] = -1  # who came before this head may run beyond its shadow time
    slot = _first_to_look_at(core, shadow, head, False)
    if slot < 0:
        return
    if shadow[0]["time"] == _NOT_KNOWN:
        if least_size(core) > course[0]["free"]:
            return  # nobody fits, whatever the shadow time
        _find_shadow(core, shadow, waiting[head]["size"])
    while True:
        slot = next_fitting(core, slot, course[0]["free"], shadow[0]["extra"], shadow[0]["time"])
        if slot < 0:
            return
        if course[0]["now"] + waiting[slot]["estimate"] > shadow[0]["time"]:
            shadow[0]["extra"] -= waiting[slot]["size"]
        start_by_count(core, place, waiting[slot]["job"])
        slot += 1


@compiled
def _first_to_look_at(core: Core, shadow: Array, head: int, starts_matter: bool) -> int:
    """Where the backfill scan begins, or -1 where there is nothing to scan for; forgets an outdated shadow time.

    A look at fresh slots is enough while head and releases, and where they matter starts, are as at the last look.
    """
    course = core.course
    slot = head + 1
    if head == shadow[0]["head"] and course[0]["releases"] == shadow[0]["releases"]:
        if not starts_matter or course[0]["attempts"] == shadow[0]["attempts"]:
            slot = max(slot, course[0]["fresh"])
    else:
        if head != shadow[0]["head"]:
            course[0]["releases"] += 1  # shapes were refused for the sake of another head
        shadow[0]["head"] = head
        shadow[0]["releases"] = course[0]["releases"]
        shadow[0]["time"] = _NOT_KNOWN
    shadow[0]["attempts"] = course[0]["attempts"]
    course[0]["fresh"] = len(core.waiting)
    if head < 0 or course[0]["free"] == 0 or slot >= len(core.waiting):
        return -1
    return slot


@compiled
def _find_shadow(core: Core, shadow: Array, size: int) -> None:
    """The earliest time at which the head fits, and what is then free beyond it, all jobs that end by then counted."""
    course, running = core.course, core.running
    free = course[0]["free"]
    at = course[0]["running"] - 1
    time = course[0]["now"]
    while free < size and at >= 0:
        free += running[at]["size"]
        time = running[at]["time"]
        at -= 1
    if free < size:  # machines are down: nobody knows when it will fit
        time = NEVER
        free = size
    while at >= 0 and running[at]["time"] == time:
        free += running[at]["size"]
        at -= 1
    shadow[0]["time"] = time
    shadow[0]["extra"] = free - size


@compiled
def _on_machines(core: Core, place: Place, later: Later, shadow: Array) -> None:
    """Where fitting means that machines can be picked.

    The queue's index finds jobs by their cores in all, which is necessary but not enough; picking machines and asking
    whether the head still fits at the shadow time decides. A start can send a job that was refused before to other
    machines, so only a round after which nothing started lets the next one look at fresh slots alone.
    """
    course, waiting = core.course, core.waiting
    before = course[0]["attempts"]
    head = fcfs_on_machines(core, place)
    if course[0]["attempts"] > before:
        shadow[0]["head"] = -1  # as above
    slot = _first_to_look_at(core, shadow, head, True)
    if slot < 0:
        return
    head_shape = core.jobs[waiting[head]["job"]]["shape"]
    while True:
        extra, until = course[0]["free"], NEVER
        if shadow[0]["time"] != _NOT_KNOWN:
            extra, until = shadow[0]["extra"], shadow[0]["time"]
        slot = next_fitting(core, slot, course[0]["free"], extra, until)
        if slot < 0:
            return
        _try(core, place, later, shadow, waiting[head]["size"], head_shape, slot)
        slot += 1


@compiled
def _try(core: Core, place: Place, later: Later, shadow: Array, head_size: int, head_shape: int, slot: int) -> None:
    """Start the job of a slot if it fits now and does not delay the head.

    Two jobs of one shape are put on the same machines: while nothing starts or is released, one refusal speaks for all.
    """
    course, shapes = core.course, place.shapes
    job = core.waiting[slot]["job"]
    shape = core.jobs[job]["shape"]
    known = shadow[0]["time"] != _NOT_KNOWN
    ends_in_time = known and course[0]["now"] + core.waiting[slot]["estimate"] <= shadow[0]["time"]
    refused = shapes[shape]["refused"] == course[0]["releases"] + course[0]["attempts"]
    if known and not ends_in_time and (refused or not _enough_extra(place, later, shape)):
        return
    if not pick(core, place, job):
        return
    if not known:
        _find_shadow_on_machines(core, place, later, shadow, head_size, head_shape)
        ends_in_time = course[0]["now"] + core.waiting[slot]["estimate"] <= shadow[0]["time"]
    if ends_in_time:
        _note_in_gain(core, place, later, shape, 1)
        start_on_picked(core, place, job)
    elif _head_still_fits(core, place, later, shadow, head_shape, shape):
        shadow[0]["extra"] -= core.waiting[slot]["size"]
        for resource in range(len(later.extra)):
            later.extra[resource] -= shapes[shape]["units"] * place.need[shape, resource]
        start_on_picked(core, place, job)
    else:
        shapes[shape]["refused"] = course[0]["releases"] + course[0]["attempts"]


@compiled
def _enough_extra(place: Place, later: Later, shape: int) -> bool:
    """Whether all machines together have what a shape asks for beyond the head's need at the shadow time."""
    for resource in range(len(later.extra)):
        if place.shapes[shape]["units"] * place.need[shape, resource] > later.extra[resource]:
            return False
    return True


@compiled
def _find_shadow_on_machines(core: Core, place: Place, later: Later, shadow: Array, size: int, shape: int) -> None:
    """The earliest time at which machines can be picked for the head; `gain` then holds what is given back by then."""
    course, running, attempts, rows = core.course, core.running, core.attempts, place.rows
    clear_later(core, place.machines, later)
    for resource in range(len(later.extra)):
        later.extra[resource] = place.total[resource] - place.shapes[shape]["units"] * place.need[shape, resource]
    units = course[0]["watched_units"]
    free = course[0]["free"]
    time = course[0]["now"]
    at = course[0]["running"] - 1
    while at >= 0 and not _would_fit(core, place, later, shape, units):
        time = running[at]["time"]
        while at >= 0 and running[at]["time"] == time:
            job = running[at]["job"]
            free += running[at]["size"]
            of = core.jobs[job]["shape"]
            for resource in range(len(later.extra)):
                later.extra[resource] += place.shapes[of]["units"] * place.need[of, resource]
            attempt = core.fate[job]["attempt"]
            first_row = attempts[attempt]["first_row"]
            for row in range(first_row, first_row + attempts[attempt]["row_count"]):
                for machine in range(int(rows[row]["first"]), int(rows[row]["last"]) + 1):
                    change_gain(core, place, later.gain, machine, of, int(rows[row]["units"]))
                    fit = units_that_fit(place, later.gain, machine, shape, True)
                    units += fit - place.machines[machine]["later"]
                    place.machines[machine]["later"] = fit
            for kind in range(len(place.licence)):
                later.licence_gain[kind] += place.licence_need[of, kind]
            at -= 1
    if not _would_fit(core, place, later, shape, units):  # machines are down: nobody knows when it will fit
        time = NEVER
    shadow[0]["time"] = time
    shadow[0]["extra"] = free - size
    shadow[0]["units"] = units


@compiled
def _would_fit(core: Core, place: Place, later: Later, shape: int, units: int) -> bool:
    """Whether a shape of which so many units fit later can be placed then."""
    if units < place.shapes[shape]["units"]:
        return False
    if not licences_suffice(place.licence, later.licence_gain, place.licence_need, shape, True):
        return False
    return fits_together(core, place, later.gain, shape)


@compiled
def _note_in_gain(core: Core, place: Place, later: Later, shape: int, sign: int) -> None:
    """Add what is picked for a job to what is free later (+1), or take it off (-1)."""
    picked = place.picked
    for at in range(core.course[0]["picked"]):
        units = sign * int(picked[at]["units"])
        for machine in range(int(picked[at]["first"]), int(picked[at]["last"]) + 1):
            change_gain(core, place, later.gain, machine, shape, units)
    for kind in range(len(place.licence)):
        later.licence_gain[kind] += sign * place.licence_need[shape, kind]


@compiled
def _head_still_fits(core: Core, place: Place, later: Later, shadow: Array, head_shape: int, shape: int) -> bool:
    """Whether the head fits at the shadow time if what is picked for a job stays taken until after it."""
    course, machines, picked = core.course, place.machines, place.picked
    wanted = place.shapes[head_shape]["units"]
    units = shadow[0]["units"]
    for at in range(course[0]["picked"]):
        taken = int(picked[at]["units"])
        for machine in range(int(picked[at]["first"]), int(picked[at]["last"]) + 1):
            before = machines[machine]["later"] if machines[machine]["mark"] != 0 else machines[machine]["now"]
            units += units_left(place, later.gain, machine, head_shape, shape, taken) - before
            if units < wanted:
                return False
    _note_in_gain(core, place, later, shape, -1)
    fits = _would_fit(core, place, later, head_shape, units)
    if fits:
        shadow[0]["units"] = units
        _renew_units(core, place, later, head_shape)
    _note_in_gain(core, place, later, shape, 1)
    return fits


@compiled
def _renew_units(core: Core, place: Place, later: Later, head_shape: int) -> None:
    """Write down anew how many units of the head fit later on the picked machines."""
    picked, machines = place.picked, place.machines
    for at in range(core.course[0]["picked"]):
        for machine in range(int(picked[at]["first"]), int(picked[at]["last"]) + 1):
            machines[machine]["later"] = units_that_fit(place, later.gain, machine, head_shape, True)
