"""Machines are lost and come back: what that does to them, to the jobs on them and to what was planned."""

from __future__ import annotations

import math

import numpy as np

from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.state import (
    KEEP,
    KILL,
    LOST,
    NEVER,
    RESUME,
    Core,
    Elastic,
    Fluid,
    Guess,
    Links,
    Order,
    Outage,
    Place,
    Plan,
)
from unspool.engine.leave import leave
from unspool.engine.place.machines import give_machine, is_on_machine, take_of_machine

__all__ = ["CHANGE", "ON_LOSS", "change_machine", "next_change"]

CHANGE = np.dtype([("time", "f8"), ("machine", "i8"), ("step", "i8")], align=True)  # +1 it is lost, -1 it comes back
ON_LOSS = np.dtype([("fate", "i8"), ("checkpoint", "f8"), ("most", "i8"), ("known_until", "f8")], align=True)


@compiled
def next_change(core: Core, outage: Outage | None) -> float:
    """When the next machine is lost or comes back; never where nobody is left who would mind."""
    if outage is None:
        return NEVER
    course = core.course
    is_idle = course[0]["queued"] == 0 and course[0]["running"] == 0 and course[0]["events"] == 0
    if is_idle and course[0]["next_arrival"] == len(core.jobs):
        return NEVER
    if course[0]["next_change"] == len(outage.changes):
        return NEVER
    return outage.changes[course[0]["next_change"]]["time"]  # type: ignore[no-any-return]


@compiled
def change_machine(
    core: Core,
    place: Place | None,
    plan: Plan | None,
    links: Links | None,
    order: Order | None,
    guess: Guess | None,
    outage: Outage | None,
    elastic: Elastic | None,
    fluid: Fluid | None,
) -> None:
    """Carry out the next change."""
    if place is None or outage is None:
        return
    at = core.course[0]["next_change"]
    core.course[0]["next_change"] = at + 1
    machine = outage.changes[at]["machine"]
    before = outage.down[machine]
    outage.down[machine] = before + outage.changes[at]["step"]
    if before == 0:
        if outage.rule[0]["fate"] != KEEP:
            _lose_jobs(core, place, plan, links, order, guess, outage, elastic, fluid, machine)
        give_machine(core, place, outage.capacity, machine, 0.0)
    elif outage.down[machine] == 0:
        give_machine(core, place, outage.capacity, machine, 1.0)
        if outage.rule[0]["fate"] == KEEP:
            _leave_to_jobs(core, place, machine)


@compiled
def _leave_to_jobs(core: Core, place: Place, machine: int) -> None:
    """A machine is back on which jobs went on: they have what they had."""
    for at in range(core.course[0]["running"]):
        job = core.running[at]["job"]
        attempt = core.fate[job]["attempt"]
        first = core.attempts[attempt]["first_row"]
        for row in range(first, first + core.attempts[attempt]["row_count"]):
            if place.rows[row]["first"] <= machine <= place.rows[row]["last"]:
                take_of_machine(core, place, machine, core.jobs[job]["shape"], place.rows[row]["units"])


@compiled
def _lose_jobs(
    core: Core,
    place: Place,
    plan: Plan | None,
    links: Links | None,
    order: Order | None,
    guess: Guess | None,
    outage: Outage,
    elastic: Elastic | None,
    fluid: Fluid | None,
    machine: int,
) -> None:
    """End the attempts that hold a machine. Backwards, because those that end leave the list."""
    at = core.course[0]["running"] - 1
    while at >= 0:
        job = core.running[at]["job"]
        if is_on_machine(core, place, job, machine):
            _keep_checkpoint(core, outage, job)
            comes_back = not _is_given_up(outage, job)
            leave(core, place, plan, links, order, guess, outage, elastic, fluid, job, LOST, comes_back)
        at -= 1


@compiled
def _is_given_up(outage: Outage, job: int) -> bool:
    """Whether a job that lost a machine is over."""
    outage.losses[job] += 1
    return bool(outage.rule[0]["fate"] == KILL or outage.losses[job] >= outage.rule[0]["most"])


@compiled
def _keep_checkpoint(core: Core, outage: Outage, job: int) -> None:
    """What a job has done up to its last checkpoint need not be done again."""
    if outage.rule[0]["fate"] != RESUME:
        return
    every = outage.rule[0]["checkpoint"]
    ran = core.course[0]["now"] - core.attempts[core.fate[job]["attempt"]]["start"]
    core.jobs[job]["run_time"] -= math.floor(ran / every) * every
