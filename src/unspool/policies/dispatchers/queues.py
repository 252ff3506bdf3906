"""Dispatchers that are compiled: by the length of queues, and by limits; and what guesses durations."""

from __future__ import annotations

from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.state import NEVER
from unspool.engine.workers import Desk, estimate_of, set_active

__all__ = [
    "CATEGORY", "FILTER", "LIMITS", "NOBODY", "ORACLE", "SHORTEST", "SIMPLE", "STATISTICS", "ZERO", "adapt_simply",
    "choose", "predict",
]  # fmt: skip

SHORTEST, FILTER = 0, 1
LIMITS, ZERO, ORACLE, STATISTICS = 0, 1, 2, 3
NOBODY, SIMPLE, CATEGORY = 0, 1, 2


@compiled
def predict(desk: Desk, job: int) -> float:
    """How long a job is taken to run."""
    jobs, kind = desk.jobs, desk.desk[0]["predictor"]
    estimate = 0.0
    if kind == ORACLE:
        estimate = jobs[job]["duration"]
    elif kind == LIMITS:
        estimate = jobs[job]["limits"] * desk.desk[0]["factor"]
    elif kind == STATISTICS:
        estimate = estimate_of(desk.known, jobs[job]["exercise"], jobs[job]["pair"])
        if estimate < 0.0:
            estimate = jobs[job]["limits"] * desk.desk[0]["factor"]
    return estimate


@compiled
def choose(desk: Desk, job: int) -> int:
    """The worker for a job among those that are active, the one with the lowest number on ties; -1 if none is."""
    if desk.desk[0]["dispatcher"] == FILTER:
        worker = _fewest(desk, desk.jobs[job]["estimate"])
        if worker >= 0:
            return worker
    return _fewest(desk, -NEVER)


@compiled
def _fewest(desk: Desk, estimate: float) -> int:
    """The active worker with the fewest jobs whose limit is not below an estimate."""
    workers = desk.workers
    found = -1
    for worker in range(len(workers)):
        is_open = workers[worker]["active"] != 0 and workers[worker]["limit"] >= estimate
        if is_open and (found < 0 or workers[worker]["count"] < workers[found]["count"]):
            found = worker
    return found


@compiled
def adapt_simply(desk: Desk) -> None:
    """Switch one worker off if two idle and none is crowded; one on if one is crowded (Simdex's simple strategy)."""
    workers = desk.workers
    idle = 0
    first_idle = -1
    crowded = 0
    first_off = -1
    for worker in range(len(workers)):
        if workers[worker]["active"] == 0:
            if first_off < 0:
                first_off = worker
        elif workers[worker]["count"] == 0:
            idle += 1
            if first_idle < 0:
                first_idle = worker
        elif workers[worker]["count"] > 1:
            crowded += 1
    if idle > 1 and crowded == 0:
        set_active(desk, first_idle, 0)
    elif first_off >= 0 and crowded > 0:
        set_active(desk, first_off, 1)
