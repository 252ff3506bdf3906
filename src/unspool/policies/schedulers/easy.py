"""EASY backfilling: a job may overtake if the head of the queue does not start later for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unspool.engine import bitset
from unspool.engine.compiled import compiled
from unspool.engine.machines import change_gain, clear_later, licences_suffice, touch, units_that_fit
from unspool.engine.queue import next_fitting
from unspool.engine.running import renew_overdue
from unspool.engine.selection import CONTIGUOUS, fits_in_a_row, pick
from unspool.engine.starts import start_by_count, start_on_picked
from unspool.engine.state import NEVER, Array, Core, Later, Place
from unspool.policies.base import EASY, CompiledScheduler
from unspool.policies.schedulers.fcfs import fcfs_by_count, fcfs_on_machines

__all__ = ["Easy", "easy"]

_NOT_KNOWN = -1.0


@dataclass(frozen=True)
class Easy(CompiledScheduler):
    """EASY backfilling: a job may overtake if the head of the queue does not start later for it."""

    code: ClassVar[int] = EASY


@compiled
def easy(core: Core, place: Place | None, later: Later | None, shadow: Array | None) -> None:
    """One round of EASY."""
    if shadow is None:
        return
    if renew_overdue(core):
        core.clock[0]["releases"] += 1  # the shadow time moved
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
    clock, waiting = core.clock, core.waiting
    head = fcfs_by_count(core, place)
    slot = _first_to_look_at(core, shadow, head, False)
    if slot < 0:
        return
    if shadow[0]["time"] == _NOT_KNOWN:
        slot = next_fitting(core, slot, clock[0]["free"], clock[0]["free"], NEVER)
        if slot < 0:
            return
        _find_shadow(core, shadow, waiting[head]["size"])
    while True:
        slot = next_fitting(core, slot, clock[0]["free"], shadow[0]["extra"], shadow[0]["time"])
        if slot < 0:
            return
        if clock[0]["now"] + waiting[slot]["estimate"] > shadow[0]["time"]:
            shadow[0]["extra"] -= waiting[slot]["size"]
        start_by_count(core, place, waiting[slot]["job"])
        slot += 1


@compiled
def _first_to_look_at(core: Core, shadow: Array, head: int, starts_matter: bool) -> int:
    """Where the backfill scan begins, or -1 where there is nothing to scan for; forgets an outdated shadow time.

    A look at fresh slots is enough while head and releases, and where they matter starts, are as at the last look.
    """
    clock = core.clock
    slot = head + 1
    if head == shadow[0]["head"] and clock[0]["releases"] == shadow[0]["releases"]:
        if not starts_matter or clock[0]["attempts"] == shadow[0]["attempts"]:
            slot = max(slot, clock[0]["fresh"])
    else:
        shadow[0]["head"] = head
        shadow[0]["releases"] = clock[0]["releases"]
        shadow[0]["time"] = _NOT_KNOWN
    shadow[0]["attempts"] = clock[0]["attempts"]
    clock[0]["fresh"] = len(core.waiting)
    if head < 0 or clock[0]["free"] == 0 or slot >= len(core.waiting):
        return -1
    return slot


@compiled
def _find_shadow(core: Core, shadow: Array, size: int) -> None:
    """The earliest time at which the head fits, and what is then free beyond it, all jobs that end by then counted."""
    clock, running = core.clock, core.running
    free = clock[0]["free"]
    at = clock[0]["running"] - 1
    time = clock[0]["now"]
    while free < size:
        free += running[at]["size"]
        time = running[at]["time"]
        at -= 1
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
    clock, waiting, jobs = core.clock, core.waiting, core.jobs
    head = fcfs_on_machines(core, place)
    slot = _first_to_look_at(core, shadow, head, True)
    if slot < 0:
        return
    head_shape = jobs[waiting[head]["job"]]["shape"]
    while True:
        extra, until = clock[0]["free"], NEVER
        if shadow[0]["time"] != _NOT_KNOWN:
            extra, until = shadow[0]["extra"], shadow[0]["time"]
        slot = next_fitting(core, slot, clock[0]["free"], extra, until)
        if slot < 0:
            return
        job = waiting[slot]["job"]
        if pick(core, place, job):
            if shadow[0]["time"] == _NOT_KNOWN:
                _find_shadow_on_machines(core, place, later, shadow, waiting[head]["size"], head_shape)
            if clock[0]["now"] + waiting[slot]["estimate"] <= shadow[0]["time"]:
                _note_in_gain(core, place, later, jobs[job]["shape"], 1)
                start_on_picked(core, place, job)
            elif _head_still_fits(core, place, later, shadow, head_shape, jobs[job]["shape"]):
                shadow[0]["extra"] -= waiting[slot]["size"]
                start_on_picked(core, place, job)
        slot += 1


@compiled
def _find_shadow_on_machines(core: Core, place: Place, later: Later, shadow: Array, size: int, shape: int) -> None:
    """The earliest time at which machines can be picked for the head; `gain` then holds what is given back by then."""
    clock, running, attempts, rows = core.clock, core.running, core.attempts, place.rows
    clear_later(core, place.machines, later)
    units = 0
    machine = bitset.next_member(place.bits, len(place.machines), 0)
    while machine >= 0:
        fit = units_that_fit(place, later.gain, machine, shape, False)
        units += fit
        touch(core, place, machine)
        place.machines[machine]["later"] = fit
        machine = bitset.next_member(place.bits, len(place.machines), machine + 1)
    free = clock[0]["free"]
    time = clock[0]["now"]
    at = clock[0]["running"] - 1
    while at >= 0 and not _would_fit(core, place, later, shape, units):
        time = running[at]["time"]
        while at >= 0 and running[at]["time"] == time:
            job = running[at]["job"]
            free += running[at]["size"]
            of = core.jobs[job]["shape"]
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
    return core.clock[0]["selection"] != CONTIGUOUS or fits_in_a_row(place, later.gain, shape)


@compiled
def _note_in_gain(core: Core, place: Place, later: Later, shape: int, sign: int) -> None:
    """Add what is picked for a job to what is free later (+1), or take it off (-1)."""
    picked = place.picked
    for at in range(core.clock[0]["picked"]):
        units = sign * int(picked[at]["units"])
        for machine in range(int(picked[at]["first"]), int(picked[at]["last"]) + 1):
            change_gain(core, place, later.gain, machine, shape, units)
    for kind in range(len(place.licence)):
        later.licence_gain[kind] += sign * place.licence_need[shape, kind]


@compiled
def _head_still_fits(core: Core, place: Place, later: Later, shadow: Array, head_shape: int, shape: int) -> bool:
    """Whether the head fits at the shadow time if what is picked for a job stays taken until after it."""
    _note_in_gain(core, place, later, shape, -1)
    units = shadow[0]["units"] + _renewed_units(core, place, later, head_shape)
    fits = _would_fit(core, place, later, head_shape, units)
    _note_in_gain(core, place, later, shape, 1)
    if fits:
        shadow[0]["units"] = units
    else:
        _renewed_units(core, place, later, head_shape)
    return fits


@compiled
def _renewed_units(core: Core, place: Place, later: Later, head_shape: int) -> int:
    """Count the units of the head on the picked machines anew; returns by how much their number changed."""
    picked, machines = place.picked, place.machines
    change = 0
    for at in range(core.clock[0]["picked"]):
        for machine in range(int(picked[at]["first"]), int(picked[at]["last"]) + 1):
            fit = units_that_fit(place, later.gain, machine, head_shape, True)
            change += fit - machines[machine]["later"]
            machines[machine]["later"] = fit
    return change
