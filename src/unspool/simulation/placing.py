"""What somebody who chooses machines for the head of the queue is shown: one set of machines for each way to choose."""

from __future__ import annotations

import math

from unspool.engine.jobs.starts import start_on_picked
from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import Array, Core, Place
from unspool.engine.place.selection import place_units
from unspool.model.platform import SELECTIONS

__all__ = ["PER_SET", "SETS", "SIGHT", "head_fits", "look_at_sets", "start_by"]

SETS = len(SELECTIONS)
# Free cores, queue, running jobs; the head's cores, units, estimate, wait; machines by their share of free cores (8).
_BINS = 8
_FIRST_BIN = 7
SIGHT = _FIRST_BIN + _BINS
# Of a set: it is there, machines in it, how far they lie apart, runs of neighbours, how many have nothing left.
PER_SET = 5

_LONGEST = math.log1p(7 * 86400.0)
_SOME = 32.0


@inlined
def _head(core: Core) -> int:
    return core.waiting[core.course[0]["first"]]["job"] if core.course[0]["queued"] > 0 else -1


@compiled
def _found(core: Core, place: Place, job: int, selection: int) -> bool:
    """Whether a way to choose finds machines for a job; they stand in `picked` then."""
    course = core.course
    if core.jobs[job]["size"] > course[0]["free"]:
        return False
    own = course[0]["selection"]
    course[0]["selection"] = selection
    found = place_units(core, place, place.free, place.licence, core.jobs[job]["shape"], False)
    course[0]["selection"] = own
    return found


@compiled
def head_fits(core: Core, place: Place) -> bool:
    """Whether any way finds machines for the head of the queue."""
    job = _head(core)
    return job >= 0 and _found(core, place, job, 0)


@compiled
def start_by(core: Core, place: Place, selection: int) -> None:
    """Start the head of the queue on the machines that a way to choose finds."""
    job = _head(core)
    _found(core, place, job, selection)
    start_on_picked(core, place, job)


@compiled
def look_at_sets(core: Core, place: Place, capacity: Array, seen: Array, mask: Array) -> None:
    """Write what is seen in numbers from 0 to 1, and which ways find machines; at the end, whether to wait is allowed.

    `capacity` has the cores of each machine when it is empty.
    """
    course, machines = core.course, len(place.machines)
    for at in range(len(seen)):
        seen[at] = 0.0
    total = 0.0
    for machine in range(machines):
        total += capacity[machine]
        share = place.free[machine, 0] / capacity[machine]
        seen[_FIRST_BIN + min(int(share * _BINS), _BINS - 1)] += 1.0 / machines
    seen[0] = course[0]["free"] / total
    seen[1] = course[0]["queued"] / (course[0]["queued"] + _SOME)
    seen[2] = course[0]["running"] / (course[0]["running"] + _SOME)
    job = _head(core)
    for selection in range(SETS):
        mask[selection] = False
    mask[SETS] = course[0]["running"] > 0
    if job < 0:
        return
    units = place.shapes[core.jobs[job]["shape"]]["units"]
    seen[3] = core.jobs[job]["size"] / total
    seen[4] = min(units / machines, 1.0)
    seen[5] = min(math.log1p(core.fate[job]["estimate"]) / _LONGEST, 1.0)
    seen[6] = min(math.log1p(max(course[0]["now"] - core.jobs[job]["submit"], 0.0)) / _LONGEST, 1.0)
    for selection in range(SETS):
        mask[selection] = _found(core, place, job, selection)
        if mask[selection]:
            _describe(core, place, job, seen, SIGHT + PER_SET * selection)


@compiled
def _describe(core: Core, place: Place, job: int, seen: Array, at: int) -> None:
    """Write what there is to say of the machines that are picked."""
    machines = float(len(place.machines))
    cores = place.need[core.jobs[job]["shape"], 0]
    runs = core.course[0]["picked"]
    count, filled = 0.0, 0.0
    low, high = len(place.machines), 0
    for row in range(runs):
        first, last = int(place.picked[row]["first"]), int(place.picked[row]["last"])
        low, high = min(low, first), max(high, last)
        for machine in range(first, last + 1):
            count += 1.0
            if place.free[machine, 0] - place.picked[row]["units"] * cores < 1.0:
                filled += 1.0
    seen[at] = 1.0
    seen[at + 1] = count / machines
    seen[at + 2] = (high - low + 1) / machines
    seen[at + 3] = runs / machines
    seen[at + 4] = filled / max(count, 1.0)
