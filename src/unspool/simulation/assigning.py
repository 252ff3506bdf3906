"""What somebody who gives each arriving job to a worker is shown, and what his choice costs.

Each worker has a queue of its own (`engine/workers.py`). What is seen of a queue are estimates: when its jobs really
end is the future.
"""

from __future__ import annotations

import math

from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.state import Array
from unspool.engine.workers import Desk, collect_until, enqueue, learn, release_before, release_until
from unspool.policies.dispatchers.queues import STATISTICS, predict

__all__ = ["ARRIVAL", "PER_WORKER", "assign", "look_at_workers", "to_arrival"]

# Of the job: its estimate, its limits; and the share of workers that are active.
ARRIVAL = 3
# Of a worker: it is active, jobs in its queue, seconds of work in it, whether its limit admits the job.
PER_WORKER = 4

_LONGEST = math.log1p(86400.0)
_SOME = 4.0


@compiled
def to_arrival(desk: Desk) -> int:
    """Let time pass to the next arrival: jobs that ended are seen and learnt from. -1: all have arrived."""
    rule, jobs = desk.desk, desk.jobs
    job = rule[0]["arrived"]
    if job >= len(jobs):
        return -1
    first = rule[0]["seen"]
    collect_until(desk, jobs[job]["spawn"], False)
    rule[0]["now"] = jobs[job]["spawn"]
    if rule[0]["predictor"] == STATISTICS:
        for at in range(first, rule[0]["seen"]):
            ended = desk.seen[at]
            if jobs[ended]["compiled"] != 0 or rule[0]["learns_failed"] != 0:
                release_before(desk, jobs[ended]["finish"])
                learn(desk.known, jobs[ended]["exercise"], jobs[ended]["pair"], jobs[ended]["duration"])
    release_until(desk, rule[0]["now"])
    jobs[job]["estimate"] = predict(desk, job)
    return job  # type: ignore[no-any-return]


@compiled
def look_at_workers(desk: Desk, job: int, seen: Array, mask: Array) -> None:
    """Write what is seen in numbers from 0 to 1, and which workers are active."""
    jobs, workers = desk.jobs, desk.workers
    active = 0.0
    for worker in range(len(workers)):
        mask[worker] = workers[worker]["active"] != 0
        active += 1.0 if mask[worker] else 0.0
        at = ARRIVAL + PER_WORKER * worker
        seen[at] = 1.0 if mask[worker] else 0.0
        seen[at + 1] = workers[worker]["count"] / (workers[worker]["count"] + _SOME)
        seen[at + 2] = min(math.log1p(_work_of(desk, worker)) / _LONGEST, 1.0)
        admits = job >= 0 and workers[worker]["limit"] >= jobs[job]["estimate"]
        seen[at + 3] = 1.0 if admits else 0.0
    seen[0] = min(math.log1p(max(jobs[job]["estimate"], 0.0)) / _LONGEST, 1.0) if job >= 0 else 0.0
    seen[1] = min(math.log1p(max(jobs[job]["limits"], 0.0)) / _LONGEST, 1.0) if job >= 0 else 0.0
    seen[2] = active / max(len(workers), 1)


@compiled
def _work_of(desk: Desk, worker: int) -> float:
    """Seconds of work in a queue, as far as estimates tell; of the job that runs, what is left of its estimate."""
    jobs = desk.jobs
    work = 0.0
    job = desk.workers[worker]["first"]
    for at in range(desk.workers[worker]["count"]):
        ran = desk.desk[0]["now"] - jobs[job]["start"] if at == 0 else 0.0
        work += max(jobs[job]["estimate"] - ran, 0.0)
        job = jobs[job]["next"]
    return work


@compiled
def assign(desk: Desk, job: int, worker: int, bound_s: float, ledger: Array) -> None:
    """Give a job to a worker, and add up what it then waits: bounded slowdown beyond 1, and seconds."""
    jobs = desk.jobs
    enqueue(desk, job, worker)
    desk.desk[0]["arrived"] = job + 1
    wait, duration = jobs[job]["start"] - jobs[job]["spawn"], jobs[job]["duration"]
    slowdown = max((wait + duration) / max(duration, bound_s), 1.0)
    ledger[0] += slowdown - 1.0
    ledger[1] += wait
    ledger[5] += math.log(slowdown)
