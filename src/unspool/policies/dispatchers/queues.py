"""Dispatchers that are compiled: by the length of queues, by limits, by work, in turn; and what guesses durations."""

from __future__ import annotations

from unspool.engine.compiled import compiled
from unspool.engine.state import NEVER
from unspool.engine.workers import Desk, estimate_of, set_active

__all__ = [
    "CATEGORY", "DISPATCHERS", "FILTER", "LEAST_WORK", "LIMITS", "NOBODY", "ORACLE", "PREDICTORS", "ROUND_ROBIN",
    "SHORTEST", "SIMPLE", "STATISTICS", "STRATEGIES", "ZERO", "adapt_simply", "choose", "predict",
]  # fmt: skip

SHORTEST, FILTER, LEAST_WORK, ROUND_ROBIN = 0, 1, 2, 3
LIMITS, ZERO, ORACLE, STATISTICS = 0, 1, 2, 3
NOBODY, SIMPLE, CATEGORY = 0, 1, 2
DISPATCHERS = {"shortest-queue": SHORTEST, "duration-filter": FILTER, "least-work": LEAST_WORK, "in-turn": ROUND_ROBIN}
PREDICTORS = {"limits": LIMITS, "zero": ZERO, "oracle": ORACLE, "statistics": STATISTICS}
STRATEGIES = {"none": NOBODY, "simple": SIMPLE, "category": CATEGORY}


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
    kind = desk.desk[0]["dispatcher"]
    if kind == ROUND_ROBIN:
        return _next_in_turn(desk)
    if kind == FILTER:
        worker = _least(desk, desk.jobs[job]["estimate"], False)
        if worker >= 0:
            return worker
    return _least(desk, -NEVER, kind == LEAST_WORK)


@compiled
def _least(desk: Desk, estimate: float, by_work: bool) -> int:
    """The active worker with the fewest jobs, or the least work, whose limit is not below an estimate."""
    workers = desk.workers
    found = -1
    least = NEVER
    for worker in range(len(workers)):
        if workers[worker]["active"] != 0 and workers[worker]["limit"] >= estimate:
            load = workers[worker]["work"] if by_work else float(workers[worker]["count"])
            if load < least:
                least = load
                found = worker
    return found


@compiled
def _next_in_turn(desk: Desk) -> int:
    count = len(desk.workers)
    for step in range(count):
        worker = (desk.desk[0]["turn_of"] + step) % count
        if desk.workers[worker]["active"] != 0:
            desk.desk[0]["turn_of"] = (worker + 1) % count
            return int(worker)
    return -1


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
