"""Many independent runs side by side: each array of a state with one more dimension, advanced in one compiled call.

The runs are those of `Engine`, by the same functions on the same records; only pools and machines without anything
that needs Python in between (dependencies, outages, clouds, profiles) can be put side by side.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unspool.engine.jobs.records import ATTEMPT, ENDING, EVENT, FATE, JOB, WAITING, WORD
from unspool.engine.kernel.bitset import word_count
from unspool.engine.kernel.compiled import compiled, unlocked
from unspool.engine.kernel.state import COURSE, DECIDE, DONE, Array, Core, Place, State
from unspool.engine.place.records import ROW
from unspool.engine.setup import Problem
from unspool.model.workload import Workload
from unspool.simulation.choosing import LEDGER, accrue, anyone_fits, look, start_chosen
from unspool.simulation.engine import Engine
from unspool.simulation.instants import to_next_decision

__all__ = ["ADVANCE", "SKIP", "Batch", "part_of", "refill", "stacked", "step_many", "step_one"]

ADVANCE, SKIP = -1, -2  # in place of a choice: let time pass from the beginning on, or leave this run alone
_SPARE = 64

# Of a place, what is the same for all runs; each has the rest for itself.
_SHARED = ("least", "need", "allowed", "licence_need")


class Batch:
    """The arrays of so many runs, and what is shown of each."""

    def __init__(self, problem: Problem, runs: int, most_jobs: int, window: int, seen: int) -> None:
        self.log = problem.state.core
        self.first = problem.state
        self.runs, self.most_jobs, self.window = runs, most_jobs, window
        self.total = float(self.log.course[0]["free"])
        self.cores, self.places = stacked(problem.state, runs, most_jobs)
        self.counts = np.zeros((runs, 2), np.int64)
        self.seen = np.zeros((runs, seen), np.float32)
        self.mask = np.zeros((runs, window + 1), np.bool_)
        self.jobs = np.full((runs, window), -1, np.int64)
        self.ledger = np.zeros((runs, LEDGER + 1))
        self.status = np.zeros(runs, np.int64)

    def begin(self, run: int, first: int, count: int) -> None:
        """Put a run back to its beginning, over so many jobs of the log from a place on."""
        refill(self.cores, self.places, self.first, run, first, count)
        self.counts[run] = count, word_count(count)
        self.ledger[run] = 0.0

    def step(self, actions: Array, tariff: Array, first: int, end: int) -> None:
        """Carry out one choice in each run from `first` to before `end`, and go on to its next one."""
        step_many(
            self.cores, self.places, self.counts, actions, self.total, tariff,
            self.seen, self.mask, self.jobs, self.ledger, self.status, first, end,
        )  # fmt: skip


def stacked(state: State, runs: int, most_jobs: int) -> tuple[Core, Place | None]:
    """Room for so many runs of so many jobs at the most."""
    at_once = min(most_jobs, int(state.core.course[0]["free"])) + _SPARE
    lengths = {
        "course": (1, COURSE), "jobs": (most_jobs, JOB), "fate": (most_jobs, FATE), "attempts": (most_jobs, ATTEMPT),
        "events": (at_once, EVENT), "running": (at_once, ENDING), "waiting": (most_jobs, WAITING),
        "words": (word_count(most_jobs), WORD),
    }  # fmt: skip
    cores = Core(**{name: np.zeros((runs, length), kind) for name, (length, kind) in lengths.items()})
    if state.place is None:
        return cores, None
    place = state.place
    own = {name: array for name, array in place._asdict().items() if name not in _SHARED and array is not None}
    widest = np.minimum(place.shapes["units"], len(place.machines)).max(initial=1)
    own["rows"] = np.zeros(int(state.core.course[0]["free"]) + int(widest) * most_jobs, ROW)
    return cores, place._replace(**{name: np.stack([array] * runs) for name, array in own.items()})


def refill(cores: Core, places: Place | None, first_state: State, run: int, first: int, count: int) -> None:
    """Write a window of the log and an empty machine into one run."""
    log = first_state.core
    cores.course[run] = log.course
    cores.course["first"][run] = cores.course["fresh"][run] = count
    cores.jobs[run, :count] = log.jobs[first : first + count]
    fate = cores.fate[run, :count]
    fate["estimate"] = log.fate["estimate"][first : first + count]
    fate["planned_end"] = fate["state"] = 0
    fate["attempt"] = -1
    fate["slot"] = np.arange(count)
    cores.words["bits"][run] = 0
    if places is not None and first_state.place is not None:
        for name in ("machines", "bits", "free", "total", "shapes", "licence"):
            getattr(places, name)[run] = getattr(first_state.place, name)


def part_of(engine: Engine, problem: Problem, workload: Workload, first: int) -> Engine:
    """A run over some jobs of a problem that is posed, from a place on, without posing them anew.

    `engine` is any run on that platform, at its beginning; `workload` are the jobs.
    """
    count = len(workload)
    cores, places = stacked(problem.state, 1, count)
    refill(cores, places, problem.state, 0, first, count)
    place = None
    if places is not None:
        own = [name for name, array in places._asdict().items() if name not in _SHARED and array is not None]
        place = places._replace(**{name: getattr(places, name)[0] for name in own})
    state = problem.state._replace(core=Core(*(array[0] for array in cores)), place=place)
    part = engine.fork()
    part.workload, part.state = workload, state
    part._problem = replace(problem, state=state, used=np.arange(count))
    part._reserved_events = len(state.core.events)
    return part


@unlocked
def step_many(
    cores: Core,
    places: Place | None,
    counts: Array,
    actions: Array,
    total: float,
    tariff: Array,
    seen: Array,
    mask: Array,
    jobs: Array,
    ledger: Array,
    status: Array,
    first: int,
    end: int,
) -> None:
    """The compiled call: act, let time pass, look; for each run from `first` to before `end`."""
    for run in range(first, end):
        if actions[run] != SKIP:
            count, words = counts[run, 0], counts[run, 1]
            core = Core(
                cores.course[run], cores.jobs[run][:count], cores.fate[run][:count], cores.attempts[run][:count],
                cores.events[run], cores.running[run], cores.waiting[run][:count], cores.words[run][:words],
            )  # fmt: skip
            status[run] = step_one(
                core, _place_of(places, run), actions[run], total, tariff, seen[run], mask[run], jobs[run], ledger[run]
            )


@compiled
def _place_of(places: Place | None, run: int) -> Place | None:
    if places is None:
        return None
    return Place(
        places.machines[run], places.bits[run], places.least, places.free[run], places.total[run], places.shapes[run],
        places.need, places.allowed, places.licence[run], places.licence_need, places.rows[run], places.picked[run],
        _of_run(places.tally, run), _of_run(places.domains, run),
    )  # fmt: skip


@compiled
def _of_run(arrays: Array | None, run: int) -> Array | None:
    if arrays is None:
        return None
    return arrays[run]  # type: ignore[no-any-return]


@compiled
def step_one(
    core: Core,
    place: Place | None,
    action: int,
    total: float,
    tariff: Array,
    seen: Array,
    mask: Array,
    jobs: Array,
    ledger: Array,
) -> int:
    """Act, let time pass to the next decision, look; the status is `DECIDE`, `DONE`, or that of the instant."""
    window = len(jobs)
    state = State(core, place, None, None, None, None, None, None, None, None, None, None)
    status = DECIDE
    is_over = action < 0 or action == window
    if not is_over:
        start_chosen(core, place, jobs[action])
        is_over = not anyone_fits(core, place, window)
    while is_over and status == DECIDE:
        before = core.course[0]["now"]
        ledger[LEDGER] = core.course[0]["free"]
        status = to_next_decision(state)
        accrue(core, before, total, tariff, ledger)
        is_over = not anyone_fits(core, place, window)
    look(core, place, total, seen, mask, jobs)
    if status == DONE:
        mask[window] = True  # so that something may be chosen, by those who choose for all at once
    return status
