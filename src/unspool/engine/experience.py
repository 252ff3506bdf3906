"""What finished jobs say, one after the other in the order in which they were seen: sums and judgements.

The order matters: sums of floats depend on it in the last digit, and what is expected of a job on those before it.
"""

from __future__ import annotations

from unspool.engine.compiled import compiled
from unspool.engine.state import Array
from unspool.engine.workers import estimate_of, learn

__all__ = ["DELAYED", "LATE", "ON_TIME", "judge", "sum_in_order", "uptime"]

ON_TIME, DELAYED, LATE = 0, 1, 2
_LEAST_ON_TIME_S, _LEAST_DELAYED_S = 10.0, 30.0


@compiled
def sum_in_order(values: Array) -> float:
    """The sum, added up from the first to the last."""
    total = 0.0
    for at in range(len(values)):
        total += values[at]
    return total


@compiled
def judge(seen: Array, jobs: Array, known: Array, on_time: float, delayed: float, verdicts: Array) -> None:
    """Whether each job was on time, by what its exercise takes; each that compiled counts for those after it."""
    for at in range(len(seen)):
        job = seen[at]
        wait = jobs[job]["start"] - jobs[job]["spawn"]
        expected = estimate_of(known, jobs[job]["exercise"], jobs[job]["pair"])
        if expected <= 0.0:
            expected = jobs[job]["duration"] if jobs[job]["compiled"] != 0 else jobs[job]["limits"]
        verdict = LATE
        if wait <= max(expected * on_time, _LEAST_ON_TIME_S):
            verdict = ON_TIME
        elif wait <= max(expected * delayed, _LEAST_DELAYED_S):
            verdict = DELAYED
        verdicts[at] = verdict
        if jobs[job]["compiled"] != 0:
            learn(known, jobs[job]["exercise"], jobs[job]["pair"], jobs[job]["duration"])


@compiled
def uptime(begin: float, period: float, ticks: int, active: int, turns: Array, sums: Array) -> None:
    """Time that has passed and that workers were active, sampled at ticks, into `sums`; `active` were so at first."""
    last = now = begin
    at = 0
    for tick in range(ticks):
        while at < len(turns) and turns[at]["ticks"] <= tick:
            active += 1 if turns[at]["active"] != 0 else -1
            at += 1
        now += period
        step = max(now - last, 0.0)
        sums[0] += step
        sums[1] += step * active
        last = now
