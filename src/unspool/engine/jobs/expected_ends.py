"""Jobs sorted by the time at which they are taken to end, latest first: those that run, and those that have a plan.

Latest first, because jobs that end soon come and go most often, and at the end of an array that is cheap.
"""

from __future__ import annotations

from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.state import Array, Core

__all__ = ["forget_ending", "insert_ending", "note_ending", "remove_ending", "renew_overdue"]

_GRACE_S = 60.0


@compiled
def _place(endings: Array, count: int, time: float) -> int:
    """The first position whose time is `time` or less."""
    low = 0
    high = count
    while low < high:
        middle = (low + high) >> 1
        if endings[middle]["time"] > time:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def insert_ending(endings: Array, count: int, time: float, size: int, job: int) -> None:
    """Put a job into its place among the first `count`."""
    place = _place(endings, count, time)
    for at in range(count, place, -1):
        endings[at]["time"] = endings[at - 1]["time"]
        endings[at]["size"] = endings[at - 1]["size"]
        endings[at]["job"] = endings[at - 1]["job"]
    endings[place]["time"] = time
    endings[place]["size"] = size
    endings[place]["job"] = job


@compiled
def remove_ending(endings: Array, count: int, time: float, job: int) -> None:
    """Take a job that ends at `time` out from among the first `count`."""
    at = _place(endings, count, time)
    while endings[at]["job"] != job:
        at += 1
    for k in range(at, count - 1):
        endings[k]["time"] = endings[k + 1]["time"]
        endings[k]["size"] = endings[k + 1]["size"]
        endings[k]["job"] = endings[k + 1]["job"]


@compiled
def note_ending(core: Core, job: int, time: float) -> None:
    """A running job is taken to end at `time`."""
    core.fate[job]["planned_end"] = time
    insert_ending(core.running, core.course[0]["running"], time, core.jobs[job]["size"], job)
    core.course[0]["running"] += 1


@compiled
def forget_ending(core: Core, job: int) -> None:
    """A running job ended, or the time at which it is taken to end changes."""
    remove_ending(core.running, core.course[0]["running"], core.fate[job]["planned_end"], job)
    core.course[0]["running"] -= 1


@compiled
def renew_overdue(core: Core) -> bool:
    """Jobs that outlived their estimate are taken to end at now + max(60 s, estimate, run time so far / 1000).

    The last part keeps the number of such steps small however long a job runs. True if there were any.
    """
    course, running = core.course, core.running
    now = course[0]["now"]
    renewed = False
    while course[0]["running"] > 0 and running[course[0]["running"] - 1]["time"] <= now:
        job = running[course[0]["running"] - 1]["job"]
        forget_ending(core, job)
        so_far = now - core.attempts[core.fate[job]["attempt"]]["start"]
        note_ending(core, job, now + max(_GRACE_S, core.fate[job]["estimate"], so_far / 1000.0))
        renewed = True
    return renewed
