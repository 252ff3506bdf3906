"""First come, first served: nobody overtakes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unspool.engine.jobs.queue import first_waiting
from unspool.engine.jobs.starts import start_by_count, start_on_picked
from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.state import Core, Later, Place
from unspool.engine.place.machines import watch
from unspool.engine.place.selection import pick
from unspool.policies.base import FCFS, CompiledScheduler

__all__ = ["Fcfs", "fcfs", "fcfs_by_count", "fcfs_on_machines"]


@dataclass(frozen=True)
class Fcfs(CompiledScheduler):
    """First come, first served: jobs start in queue order, and nobody overtakes."""

    code: ClassVar[int] = FCFS


@compiled
def fcfs(core: Core, place: Place | None, later: Later | None) -> None:
    """One round of FCFS."""
    if later is None or place is None:
        fcfs_by_count(core, place)
    else:
        fcfs_on_machines(core, place)


@compiled
def fcfs_by_count(core: Core, place: Place | None) -> int:
    """Start jobs from the head of the queue while they fit; returns the slot of the first that does not, or -1."""
    while True:
        slot = first_waiting(core)
        if slot < 0 or core.waiting[slot]["size"] > core.course[0]["free"]:
            return slot
        start_by_count(core, place, core.waiting[slot]["job"])


@compiled
def fcfs_on_machines(core: Core, place: Place) -> int:
    """The same where fitting means that machines can be picked."""
    course, shapes = core.course, place.shapes
    while True:
        slot = first_waiting(core)
        if slot < 0:
            return slot
        shape = core.jobs[core.waiting[slot]["job"]]["shape"]
        if shape == course[0]["watched"] and course[0]["watched_units"] < shapes[shape]["units"]:
            return slot
        if not pick(core, place, core.waiting[slot]["job"]):
            if shape != course[0]["watched"]:
                watch(core, place, shape)
            return slot
        start_on_picked(core, place, core.waiting[slot]["job"])
