"""Workers: machines that run one job at a time, each with a queue of its own; and what is known of durations.

A job's start and finish are fixed when it joins a queue: it starts when it arrives, or when the last job before it
ends. What a run leaves behind is who went where and when, and in which order jobs were seen to finish.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import NEVER, Array

__all__ = [
    "DESK", "ENTRY", "REFERENCE", "TASK", "TURN", "WORKER", "Desk", "collect_until", "enqueue", "estimate_of", "learn",
    "next_finish", "release_before", "release_until", "set_active",
]  # fmt: skip

DESK = np.dtype(
    [
        ("now", "f8"),
        ("period", "f8"),
        ("next_tick", "f8"),
        ("ticks", "i8"),  # that have passed
        ("arrived", "i8"),  # of the jobs at the desk
        ("seen", "i8"),  # jobs that were seen to finish
        ("released", "i8"),  # reference runs that are known
        ("turns", "i8"),  # of workers that were switched on or off
        ("queued", "i8"),  # jobs that wait in one queue for all
        ("failed", "i8"),  # a job for which no worker was active, from 1; 0: none
        # What the experiment is made of, by code.
        ("dispatcher", "i8"),
        ("predictor", "i8"),
        ("strategy", "i8"),
        ("mode", "i8"),
        ("factor", "f8"),  # what part of the limits is taken for a duration
        ("has_ticks", "i8"),
        ("learns_failed", "i8"),  # 1: durations of jobs that did not compile count
    ],
    align=True,
)
TASK = np.dtype(
    [
        ("spawn", "f8"),
        ("duration", "f8"),
        ("limits", "f8"),
        ("compiled", "i8"),
        ("exercise", "i8"),  # position in the table of sums,
        ("pair", "i8"),  # and with its runtime
        # What became of it.
        ("worker", "i8"),
        ("start", "f8"),
        ("finish", "f8"),
        ("estimate", "f8"),
        ("next", "i8"),  # the one behind it in its queue, -1 for none
        ("number", "i8"),  # its place in the log; -1: it has left
    ],
    align=True,
)
WORKER = np.dtype(
    [
        ("active", "i8"),
        ("limit", "f8"),  # of estimated durations; infinite: none
        ("count", "i8"),  # jobs in its queue, with the one that runs
        ("first", "i8"),
        ("last", "i8"),
    ],
    align=True,
)
REFERENCE = np.dtype(
    [("finish", "f8"), ("duration", "f8"), ("compiled", "i8"), ("exercise", "i8"), ("pair", "i8")], align=True
)
ENTRY = np.dtype([("key", "f8"), ("job", "i8")], align=True)
TURN = np.dtype([("ticks", "i8"), ("worker", "i8"), ("active", "i8")], align=True)


class Desk(NamedTuple):
    """All of one run; with jobs that come piece by piece, those of the last piece and those that have not left."""

    desk: Array  # `DESK`
    jobs: Array  # `TASK`, in the order of arrival
    workers: Array  # `WORKER`
    references: Array  # `REFERENCE`, in the order in which they are released
    known: Array  # [position, 2] sum and number of the durations of each exercise and of each pair
    seen: Array  # jobs in the order in which they were seen to finish
    turns: Array  # `TURN`


@compiled
def enqueue(desk: Desk, job: int, worker: int) -> None:
    """A job joins the queue of a worker, and its start and finish are fixed."""
    jobs, workers = desk.jobs, desk.workers
    start = jobs[job]["spawn"]
    if workers[worker]["count"] > 0:
        last = workers[worker]["last"]
        start = jobs[last]["finish"]
        jobs[last]["next"] = job
    else:
        workers[worker]["first"] = job
    workers[worker]["last"] = job
    workers[worker]["count"] += 1
    jobs[job]["worker"] = worker
    jobs[job]["start"] = start
    jobs[job]["finish"] = start + jobs[job]["duration"]
    jobs[job]["next"] = -1


@compiled
def next_finish(desk: Desk) -> float:
    """When the next job ends; infinite where none runs."""
    earliest = NEVER
    for worker in range(len(desk.workers)):
        if desk.workers[worker]["count"] > 0:
            earliest = min(earliest, desk.jobs[desk.workers[worker]["first"]]["finish"])
    return earliest


@compiled
def collect_until(desk: Desk, time: float, by_worker: bool) -> None:
    """Jobs that have ended by a time leave their queues: worker by worker, or in the order of their ends."""
    jobs, workers = desk.jobs, desk.workers
    if by_worker:
        for worker in range(len(workers)):
            while workers[worker]["count"] > 0 and jobs[workers[worker]["first"]]["finish"] <= time:
                _leave(desk, worker)
        return
    while True:
        earliest = time
        leaving = -1
        for worker in range(len(workers)):
            if workers[worker]["count"] > 0:
                finish = jobs[workers[worker]["first"]]["finish"]
                if finish < earliest or (finish == earliest and leaving < 0):
                    earliest = finish
                    leaving = worker
        if leaving < 0:
            return
        _leave(desk, leaving)


@compiled
def _leave(desk: Desk, worker: int) -> None:
    """The first job of a queue is seen to have finished."""
    jobs, workers = desk.jobs, desk.workers
    job = workers[worker]["first"]
    workers[worker]["first"] = jobs[job]["next"]
    workers[worker]["count"] -= 1
    at = desk.desk[0]["seen"]
    desk.seen[at] = job
    desk.desk[0]["seen"] = at + 1


@compiled
def learn(known: Array, exercise: int, pair: int, duration: float) -> None:
    """A duration counts for its exercise, and for it with its runtime."""
    known[exercise, 0] += duration
    known[exercise, 1] += 1.0
    known[pair, 0] += duration
    known[pair, 1] += 1.0


@inlined
def estimate_of(known: Array, exercise: int, pair: int) -> float:
    """The mean duration of an exercise with a runtime, else of the exercise, else -1."""
    estimate = -1.0
    if known[pair, 1] > 0.0:
        estimate = known[pair, 0] / known[pair, 1]
    elif known[exercise, 1] > 0.0:
        estimate = known[exercise, 0] / known[exercise, 1]
    return estimate


@compiled
def release_until(desk: Desk, time: float) -> None:
    """Reference runs that have ended are known, as far as none before them in the list has not."""
    rule, references = desk.desk, desk.references
    while rule[0]["released"] < len(references) and references[rule[0]["released"]]["finish"] <= time:
        _know(desk)


@compiled
def release_before(desk: Desk, time: float) -> None:
    """The same, but for those that end at that very time: jobs come before them."""
    rule, references = desk.desk, desk.references
    while rule[0]["released"] < len(references) and references[rule[0]["released"]]["finish"] < time:
        _know(desk)


@compiled
def _know(desk: Desk) -> None:
    """The next reference run counts, if it compiled."""
    at = desk.desk[0]["released"]
    if desk.references[at]["compiled"] != 0:
        learn(desk.known, desk.references[at]["exercise"], desk.references[at]["pair"], desk.references[at]["duration"])
    desk.desk[0]["released"] = at + 1


@compiled
def set_active(desk: Desk, worker: int, active: int) -> None:
    """Switch a worker on or off, if it is not so already; what it has in its queue it still runs."""
    if desk.workers[worker]["active"] == active:
        return
    at = desk.desk[0]["turns"]
    desk.workers[worker]["active"] = active
    desk.turns[at]["ticks"] = desk.desk[0]["ticks"]
    desk.turns[at]["worker"] = worker
    desk.turns[at]["active"] = active
    desk.desk[0]["turns"] = at + 1
