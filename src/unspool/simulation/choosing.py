"""What somebody who chooses the next job is shown, what may be chosen, and what waiting costs meanwhile.

The window is the first jobs of the queue. `look` writes numbers in [0, 1]: first `GLOBALS` of the whole machine, then
`PER_JOB` of each job of the window. Nothing in them is the future: run times are those that were asked for.
"""

from __future__ import annotations

import math

from unspool.engine.jobs.queue import next_waiting
from unspool.engine.jobs.starts import start_by_count, start_on_picked
from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.state import NEVER, Array, Core, Place
from unspool.engine.place.selection import pick

__all__ = ["GLOBALS", "LEDGER", "PER_JOB", "accrue", "anyone_fits", "look", "start_chosen"]

# Of the machine: free cores, queue, running jobs, the head's wait, cores beyond its need, free cores later (five).
GLOBALS = 10
# Of a job: it is there, it fits, cores, estimate, wait, wait beside estimate, whether it leaves the head its start,
# the logarithm of its cores.
PER_JOB = 8
# What is added up between decisions: bounded slowdown beyond 1, seconds waited, idle core-seconds, dollars, joules,
# the logarithm of bounded slowdown.
LEDGER = 6

_HORIZONS = (900.0, 3600.0, 14400.0, 43200.0, 86400.0)
_HOUR_S = 3600.0
_LONGEST = math.log1p(7 * 86400.0)


@compiled
def anyone_fits(core: Core, place: Place | None, window: int) -> bool:
    """Whether one of the first jobs of the queue could start now."""
    slot = core.course[0]["first"]
    for _ in range(min(window, core.course[0]["queued"])):
        slot = next_waiting(core, slot)
        if _fits(core, place, core.waiting[slot]["job"]):
            return True
        slot += 1
    return False


@compiled
def _fits(core: Core, place: Place | None, job: int) -> bool:
    if place is None:
        return bool(core.jobs[job]["size"] <= core.course[0]["free"])
    return pick(core, place, job)


@compiled
def start_chosen(core: Core, place: Place | None, job: int) -> None:
    """Start a job that fits, where the platform's own selection puts it."""
    if place is None:
        start_by_count(core, place, job)
    else:
        pick(core, place, job)
        start_on_picked(core, place, job)


@compiled
def look(core: Core, place: Place | None, total: float, seen: Array, mask: Array, jobs: Array) -> None:
    """Write what is seen, what may be chosen (start one of the window, or at the end wait) and who stands where.

    To wait is allowed while something runs: then something will happen. `jobs` has -1 behind the last one.
    """
    course, window = core.course, len(jobs)
    now, free = course[0]["now"], course[0]["free"]
    queued, running = course[0]["queued"], course[0]["running"]
    for at in range(len(seen)):
        seen[at] = 0.0
    _look_ahead(core, total, now, seen)
    shadow, extra = now, float(free)
    if queued > 0:
        head = core.waiting[course[0]["first"]]["job"]
        shadow, extra = _promise(core, now, float(core.jobs[head]["size"]))
    seen[0] = free / total
    seen[1] = queued / (queued + window)
    seen[2] = running / (running + window)
    seen[3] = (shadow - now) / (shadow - now + _HOUR_S)
    seen[4] = max(extra, 0.0) / total
    slot = course[0]["first"]
    for at in range(window):
        mask[at] = False
        jobs[at] = -1
        if at >= queued:
            continue
        slot = next_waiting(core, slot)
        job = core.waiting[slot]["job"]
        slot += 1
        jobs[at] = job
        mask[at] = _fits(core, place, job)
        size, estimate = float(core.jobs[job]["size"]), core.fate[job]["estimate"]
        wait = max(now - core.jobs[job]["submit"], 0.0)
        first = GLOBALS + PER_JOB * at
        seen[first] = 1.0
        seen[first + 1] = 1.0 if mask[at] else 0.0
        seen[first + 2] = size / total
        seen[first + 3] = min(math.log1p(estimate) / _LONGEST, 1.0)
        seen[first + 4] = min(math.log1p(wait) / _LONGEST, 1.0)
        seen[first + 5] = wait / (wait + max(estimate, 1.0))
        is_harmless = at == 0 or now + estimate <= shadow or size <= extra
        seen[first + 6] = 1.0 if is_harmless else 0.0
        seen[first + 7] = min(math.log1p(size) / math.log1p(total), 1.0)
    mask[window] = running > 0


@compiled
def _look_ahead(core: Core, total: float, now: float, seen: Array) -> None:
    """Cores that are free some time from now if jobs end when they are taken to; those overdue are taken to end now."""
    at = core.course[0]["running"] - 1
    free = float(core.course[0]["free"])
    for k in range(len(_HORIZONS)):
        while at >= 0 and core.running[at]["time"] <= now + _HORIZONS[k]:
            free += core.running[at]["size"]
            at -= 1
        seen[GLOBALS - len(_HORIZONS) + k] = free / total


@compiled
def _promise(core: Core, now: float, size: float) -> tuple[float, float]:
    """When the head can start by estimates, counting cores alone, and how many are then left over."""
    at = core.course[0]["running"] - 1
    free = float(core.course[0]["free"])
    shadow = now
    while free < size and at >= 0:
        free += core.running[at]["size"]
        shadow = max(shadow, core.running[at]["time"])
        at -= 1
    if shadow == NEVER:
        shadow = now
    return shadow, free - size


@compiled
def accrue(core: Core, before: float, total: float, tariff: Array, ledger: Array) -> None:
    """Add what passed since a time: nobody started or ended in between, and who has just come has not waited.

    The tariff: dollars an hour for all cores, watts of an idle core, watts of a busy one, seconds that bound slowdown.
    """
    course = core.course
    passed = course[0]["now"] - before
    if not 0.0 < passed < NEVER:
        return
    # Those that ended at this very instant were busy until then: their cores are counted as they were before.
    busy = total - ledger[LEDGER]
    ledger[2] += (total - busy) * passed
    ledger[3] += tariff[0] * passed / _HOUR_S
    ledger[4] += ((total - busy) * tariff[1] + busy * tariff[2]) * passed
    slot = course[0]["first"]
    for _ in range(course[0]["queued"]):
        slot = next_waiting(core, slot)
        job = core.waiting[slot]["job"]
        slot += 1
        submit = core.jobs[job]["submit"]
        run_s = min(core.jobs[job]["run_time"], core.jobs[job]["walltime"])
        if run_s == NEVER:  # it shares a network, and nobody knows yet
            run_s = core.fate[job]["estimate"]
        was, waited = max(before - submit, 0.0), max(course[0]["now"] - submit, 0.0)
        least = max(run_s, tariff[3])
        slower, slow = max((waited + run_s) / least, 1.0), max((was + run_s) / least, 1.0)
        ledger[0] += slower - slow
        ledger[1] += waited - was
        ledger[5] += math.log(slower / slow)
