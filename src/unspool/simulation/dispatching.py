"""The loop over workers and their dispatcher: the family `workers`. Arrivals, ends, ticks, reference runs."""

from __future__ import annotations

from unspool.engine.kernel.compiled import compiled
from unspool.engine.workers import (
    Desk,
    collect_until,
    enqueue,
    learn,
    next_finish,
    release_before,
    release_until,
    set_active,
)
from unspool.policies.dispatchers.queues import CATEGORY, SIMPLE, STATISTICS, adapt_simply, choose, predict

__all__ = ["EXACT", "FORK", "ORIGINAL", "end_desk", "run_desk"]

# What is seen when: in order at the instant it happens, or as Simdex does (spec dispatch, B2), in either version.
EXACT, ORIGINAL, FORK = 0, 1, 2


@compiled
def run_desk(desk: Desk, until_job: int) -> bool:
    """Run until so many jobs have arrived; False if one found no active worker.

    The room for switches of workers is seen to by the caller: two a job and one a tick at the most.
    """
    rule, jobs = desk.desk, desk.jobs
    while rule[0]["arrived"] < until_job:
        job = rule[0]["arrived"]
        if jobs[job]["number"] == 0:
            _begin(desk)
        _advance(desk, jobs[job]["spawn"])
        _adapt(desk, job)
        jobs[job]["estimate"] = predict(desk, job)
        worker = choose(desk, job)
        if worker < 0:
            rule[0]["failed"] = jobs[job]["number"] + 1
            return False
        enqueue(desk, job, worker)
        rule[0]["arrived"] = job + 1
    return True


@compiled
def end_desk(desk: Desk) -> None:
    """All jobs have arrived: run to the end, and one period more."""
    end = desk.desk[0]["now"]
    for worker in range(len(desk.workers)):
        if desk.workers[worker]["count"] > 0:
            end = max(end, desk.jobs[desk.workers[worker]["last"]]["finish"])
    _advance(desk, end + desk.desk[0]["period"])


@compiled
def _begin(desk: Desk) -> None:
    rule = desk.desk
    rule[0]["now"] = desk.jobs[0]["spawn"]
    rule[0]["next_tick"] = rule[0]["now"] + rule[0]["period"]
    if rule[0]["strategy"] == SIMPLE:
        for worker in range(len(desk.workers)):
            set_active(desk, worker, 1 if worker == 0 else 0)
    elif rule[0]["strategy"] == CATEGORY:
        release_until(desk, desk.desk[0]["now"])


@compiled
def _advance(desk: Desk, time: float) -> None:
    """Let time pass; ticks at the very time are for the next step."""
    rule = desk.desk
    if rule[0]["has_ticks"] != 0:
        finish = next_finish(desk)
        while rule[0]["next_tick"] < time:
            rule[0]["now"] = rule[0]["next_tick"]
            if finish <= rule[0]["now"]:
                _collect(desk)
                finish = next_finish(desk)
            if rule[0]["mode"] == FORK:
                release_until(desk, desk.desk[0]["now"])
            rule[0]["ticks"] += 1
            _adapt(desk, -1)
            rule[0]["next_tick"] += rule[0]["period"]
    rule[0]["now"] = time
    _collect(desk)
    if rule[0]["mode"] != ORIGINAL:
        release_until(desk, desk.desk[0]["now"])


@compiled
def _collect(desk: Desk) -> None:
    """Jobs that have ended are seen, and learnt from."""
    rule, jobs = desk.desk, desk.jobs
    first = rule[0]["seen"]
    collect_until(desk, rule[0]["now"], rule[0]["mode"] != 0)
    if rule[0]["predictor"] == STATISTICS and rule[0]["strategy"] != CATEGORY:
        for at in range(first, rule[0]["seen"]):
            job = desk.seen[at]
            if jobs[job]["compiled"] != 0 or rule[0]["learns_failed"] != 0:
                if rule[0]["mode"] == EXACT:
                    release_before(desk, jobs[job]["finish"])
                learn(desk.known, jobs[job]["exercise"], jobs[job]["pair"], jobs[job]["duration"])


@compiled
def _adapt(desk: Desk, job: int) -> None:
    """What a strategy does at each tick and before each job (-1: none)."""
    strategy = desk.desk[0]["strategy"]
    if strategy == SIMPLE:
        adapt_simply(desk)
    elif strategy == CATEGORY:
        release_until(desk, desk.desk[0]["now"])
        if job >= 0 and desk.jobs[job]["compiled"] != 0:  # before it has run: Simdex's own, for its digits
            learn(desk.known, desk.jobs[job]["exercise"], desk.jobs[job]["pair"], desk.jobs[job]["duration"])
