"""What happened to each job: attempts begin and end here, and nowhere else."""

from __future__ import annotations

from unspool.engine.jobs.events import ARRIVAL, END, KIND_SHIFT, drop_event, push_event
from unspool.engine.jobs.expected_ends import forget_ending, note_ending
from unspool.engine.jobs.queue import dequeue, enqueue
from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import COMPLETED, NEVER, REJECTED, RUNNING, TIMED_OUT, Core, Links

__all__ = [
    "arrive",
    "begin_attempt",
    "begin_when_up",
    "cancel_end",
    "end_attempt",
    "how_it_ends",
    "reject_waiting",
    "release_dependents",
]


@compiled
def arrive(core: Core, job: int) -> None:
    """A job enters the queue."""
    enqueue(core, job)
    core.course[0]["dirty"] = 1


@compiled
def begin_attempt(core: Core, job: int, first_row: int, row_count: int) -> None:
    """A waiting job starts now; its machines are already taken."""
    now = core.course[0]["now"]
    _write_attempt(core, job, first_row, row_count, now)
    note_ending(core, job, now + core.fate[job]["estimate"])


@compiled
def begin_when_up(core: Core, job: int, first_row: int, row_count: int, start: float) -> None:
    """A waiting job starts now, or when the last of its machines has booted; nobody looks for its end but the heap."""
    _write_attempt(core, job, first_row, row_count, start)
    core.fate[job]["planned_end"] = NEVER


@inlined
def _write_attempt(core: Core, job: int, first_row: int, row_count: int, start: float) -> None:
    course, attempts = core.course, core.attempts
    dequeue(core, job)
    at = course[0]["attempts"]
    course[0]["attempts"] = at + 1
    attempts[at]["job"] = job
    attempts[at]["start"] = start
    attempts[at]["finish"] = -1.0
    attempts[at]["how"] = RUNNING
    attempts[at]["first_row"] = first_row
    attempts[at]["row_count"] = row_count
    core.fate[job]["attempt"] = at
    core.fate[job]["state"] = RUNNING
    end = start + min(core.jobs[job]["run_time"], core.jobs[job]["walltime"])
    if end < NEVER:  # else nobody knows yet
        push_event(course, core.events, end, END, job)


@compiled
def how_it_ends(core: Core, job: int) -> int:
    """How an attempt that nobody disturbs ends."""
    return TIMED_OUT if core.jobs[job]["walltime"] < core.jobs[job]["run_time"] else COMPLETED


@compiled
def end_attempt(core: Core, job: int, how: int) -> None:
    """A running job ends now; the caller has freed its machines."""
    course = core.course
    now = course[0]["now"]
    attempt = core.fate[job]["attempt"]
    core.attempts[attempt]["finish"] = now
    core.attempts[attempt]["how"] = how
    core.fate[job]["state"] = how
    course[0]["free"] += core.jobs[job]["size"]
    if core.fate[job]["planned_end"] < NEVER:
        forget_ending(core, job)
    course[0]["releases"] += 1
    course[0]["dirty"] = 1


@compiled
def cancel_end(core: Core, job: int) -> None:
    """Take the end of a running job off the heap, because it is killed before."""
    events = core.events
    for at in range(core.course[0]["events"]):
        if events[at]["subject"] == job and events[at]["order"] >> KIND_SHIFT == END:
            drop_event(core.course, events, at)
            return


@compiled
def reject_waiting(core: Core, job: int) -> None:
    """A waiting job leaves the queue for good; jobs that depend on it need wait no longer."""
    dequeue(core, job)
    core.fate[job]["state"] = REJECTED
    core.course[0]["dirty"] = 1


@compiled
def release_dependents(core: Core, links: Links | None, job: int) -> None:
    """A job is over: those that waited for it alone become eligible, after their think time."""
    if links is None:
        return
    course, chain, still_open = core.course, links.links, links.open
    now = course[0]["now"]
    first = chain[job]["first"]
    for at in range(first, first + chain[job]["count"]):
        dependent = links.dependents[at]
        still_open[dependent] -= 1
        if still_open[dependent] > 0:
            continue
        submit = core.jobs[dependent]["submit"]
        eligible = now + chain[dependent]["think_time"]
        if eligible <= submit and dependent >= course[0]["next_arrival"]:
            continue  # it has not been submitted yet, and may queue when it is
        still_open[dependent] = -1
        push_event(course, core.events, max(eligible, submit), ARRIVAL, dependent)
