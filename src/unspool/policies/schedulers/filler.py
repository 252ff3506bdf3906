"""Whatever fits starts: no reservation, so large jobs may starve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unspool.engine.jobs.queue import next_fitting
from unspool.engine.jobs.starts import start_by_count, start_on_picked
from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.state import NEVER, Core, Later, Place
from unspool.engine.place.selection import pick
from unspool.policies.base import FILLER, OrderedScheduler

__all__ = ["Filler", "filler"]


@dataclass(frozen=True)
class Filler(OrderedScheduler):
    """Every job that fits starts, in queue order; a large one may wait for ever behind small ones."""

    code: ClassVar[int] = FILLER


@compiled
def filler(core: Core, place: Place | None, later: Later | None) -> None:
    """One round: each job in queue order, if it fits."""
    course = core.course
    course[0]["fresh"] = len(core.waiting)
    slot = 0
    while course[0]["free"] > 0 and slot < len(core.waiting):
        slot = next_fitting(core, slot, course[0]["free"], course[0]["free"], NEVER)
        if slot < 0:
            return
        _start_if_it_fits(core, place, later, core.waiting[slot]["job"])
        slot += 1


@compiled
def _start_if_it_fits(core: Core, place: Place | None, later: Later | None, job: int) -> None:
    """Start a job for which enough cores are free in all, if machines can be picked for it."""
    if later is None or place is None:
        start_by_count(core, place, job)
    elif pick(core, place, job):
        start_on_picked(core, place, job)
