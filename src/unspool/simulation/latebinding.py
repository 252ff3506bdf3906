"""Workers that take jobs when they are free, from one queue for all: in the order of arrival, or the shortest first.

What happens at one instant: jobs end, worker by worker; each worker that is free takes a job; then jobs arrive.
"""

from __future__ import annotations

from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import NEVER, Array
from unspool.engine.workers import Desk, learn, release_before, release_until
from unspool.policies.dispatchers.queues import STATISTICS, predict

__all__ = ["CENTRAL_FIFO", "CENTRAL_SHORTEST", "end_late", "run_late"]

CENTRAL_FIFO, CENTRAL_SHORTEST = 0, 1


@compiled
def run_late(desk: Desk, waiting: Array, policy: int, ageing: float, until_job: int) -> None:
    """Run until so many jobs have arrived.

    `waiting` is a heap of (key, job), of equal keys with the first to arrive on top. A job that is expected to take e
    seconds and has waited w is taken before those with a larger e - ageing * w; that order never changes, so its key is
    e + ageing * arrival.
    """
    rule, jobs = desk.desk, desk.jobs
    while rule[0]["arrived"] < until_job:
        job = rule[0]["arrived"]
        _finish_until(desk, waiting, jobs[job]["spawn"])
        rule[0]["now"] = jobs[job]["spawn"]
        release_until(desk, rule[0]["now"])
        jobs[job]["estimate"] = predict(desk, job)
        jobs[job]["next"] = -1
        worker = _idle_worker(desk)
        if worker >= 0:
            _start(desk, job, worker)
        else:
            key = jobs[job]["estimate"] + ageing * jobs[job]["spawn"] if policy == CENTRAL_SHORTEST else 0.0
            _push(rule, waiting, key, job)
        rule[0]["arrived"] = job + 1


@compiled
def end_late(desk: Desk, waiting: Array) -> bool:
    """All jobs have arrived: run to the end; False if no worker is active."""
    _finish_until(desk, waiting, NEVER)
    if desk.desk[0]["queued"] > 0:
        desk.desk[0]["failed"] = desk.jobs[waiting[0]["job"]]["number"] + 1
        return False
    return True


@compiled
def _finish_until(desk: Desk, waiting: Array, time: float) -> None:
    """Jobs that end by a time leave, in the order of their ends; their workers take others."""
    rule, jobs, workers = desk.desk, desk.jobs, desk.workers
    while True:
        ending = -1
        earliest = NEVER
        for worker in range(len(workers)):
            if workers[worker]["count"] > 0:
                finish = jobs[workers[worker]["first"]]["finish"]
                if finish < earliest:
                    earliest = finish
                    ending = worker
        if ending < 0 or earliest > time:
            return
        rule[0]["now"] = earliest
        job = workers[ending]["first"]
        workers[ending]["count"] -= 1
        desk.seen[rule[0]["seen"]] = job
        rule[0]["seen"] += 1
        release_before(desk, earliest)
        if rule[0]["predictor"] == STATISTICS and (jobs[job]["compiled"] != 0 or rule[0]["learns_failed"] != 0):
            learn(desk.known, jobs[job]["exercise"], jobs[job]["pair"], jobs[job]["duration"])
        if rule[0]["queued"] > 0 and workers[ending]["active"] != 0:
            _start(desk, _pop(rule, waiting), ending)


@inlined
def _idle_worker(desk: Desk) -> int:
    found = -1
    for worker in range(len(desk.workers)):
        if found < 0 and desk.workers[worker]["active"] != 0 and desk.workers[worker]["count"] == 0:
            found = worker
    return found


@compiled
def _start(desk: Desk, job: int, worker: int) -> None:
    """A worker that is free takes a job."""
    jobs, workers = desk.jobs, desk.workers
    workers[worker]["count"] = 1
    workers[worker]["first"] = workers[worker]["last"] = job
    jobs[job]["worker"] = worker
    jobs[job]["start"] = desk.desk[0]["now"]
    jobs[job]["finish"] = desk.desk[0]["now"] + jobs[job]["duration"]


@compiled
def _push(rule: Array, heap: Array, key: float, job: int) -> None:
    at = rule[0]["queued"]
    rule[0]["queued"] = at + 1
    while at > 0:
        parent = (at - 1) >> 1
        if heap[parent]["key"] < key or (heap[parent]["key"] == key and heap[parent]["job"] < job):
            break
        heap[at]["key"], heap[at]["job"] = heap[parent]["key"], heap[parent]["job"]
        at = parent
    heap[at]["key"], heap[at]["job"] = key, job


@compiled
def _pop(rule: Array, heap: Array) -> int:
    """Take the first job off the heap."""
    top: int = heap[0]["job"]
    last = rule[0]["queued"] - 1
    rule[0]["queued"] = last
    key, job = heap[last]["key"], heap[last]["job"]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= last:
            break
        if child + 1 < last and (
            heap[child + 1]["key"] < heap[child]["key"]
            or (heap[child + 1]["key"] == heap[child]["key"] and heap[child + 1]["job"] < heap[child]["job"])
        ):
            child += 1
        if key < heap[child]["key"] or (key == heap[child]["key"] and job < heap[child]["job"]):
            break
        heap[at]["key"], heap[at]["job"] = heap[child]["key"], heap[child]["job"]
        at = child
    heap[at]["key"], heap[at]["job"] = key, job
    return top
