"""Starting a waiting job: take what it needs, then begin its attempt."""

from __future__ import annotations

from unspool.engine.compiled import compiled
from unspool.engine.journal import begin_attempt
from unspool.engine.machines import take_picked
from unspool.engine.selection import place_units
from unspool.engine.state import Core, Place

__all__ = ["start_by_count", "start_on_picked"]


@compiled
def start_by_count(core: Core, place: Place | None, job: int) -> None:
    """Start a job that fits by its number of cores: on a pool, or on machines of which any will do."""
    if place is None:
        core.clock[0]["free"] -= core.jobs[job]["size"]
        begin_attempt(core, job, 0, 0)
    else:
        place_units(core, place, place.free, place.licence, core.jobs[job]["shape"], False)
        start_on_picked(core, place, job)


@compiled
def start_on_picked(core: Core, place: Place, job: int) -> None:
    """Start a job on the machines that were picked for it."""
    count = core.clock[0]["picked"]
    first_row = take_picked(core, place, job)
    begin_attempt(core, job, first_row, count)
