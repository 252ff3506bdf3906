"""First come, first served: nobody overtakes."""

from __future__ import annotations

from unspool.engine.compiled import compiled
from unspool.engine.queue import first_waiting
from unspool.engine.selection import pick
from unspool.engine.starts import start_by_count, start_on_picked
from unspool.engine.state import Core, Place

__all__ = ["fcfs_by_count", "fcfs_on_machines"]


@compiled
def fcfs_by_count(core: Core, place: Place) -> int:
    """Start jobs from the head of the queue while they fit; returns the slot of the first that does not, or -1."""
    while True:
        slot = first_waiting(core)
        if slot < 0 or core.waiting[slot]["size"] > core.clock[0]["free"]:
            return slot
        start_by_count(core, place, core.waiting[slot]["job"])


@compiled
def fcfs_on_machines(core: Core, place: Place) -> int:
    """The same where fitting means that machines can be picked."""
    while True:
        slot = first_waiting(core)
        if slot < 0 or not pick(core, place, core.waiting[slot]["job"]):
            return slot
        start_on_picked(core, place, core.waiting[slot]["job"])
