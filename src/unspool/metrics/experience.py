"""What finished jobs say, one after the other in the order in which they were seen: sums and judgements.

The order matters: sums of floats depend on it in the last digit, and what is expected of a job on those before it.
"""

from __future__ import annotations

import numpy as np

from unspool.arrays import Array
from unspool.engine.kernel.compiled import compiled
from unspool.engine.workers import estimate_of, learn

__all__ = ["DELAYED", "LATE", "METER", "ON_TIME", "add_by_worker", "judge", "sum_in_order", "uptime"]

ON_TIME, DELAYED, LATE = 0, 1, 2
_LEAST_ON_TIME_S, _LEAST_DELAYED_S = 10.0, 30.0

METER = np.dtype(
    [
        ("now", "f8"),
        ("ticks", "i8"),  # up to now
        ("active", "i8"),  # workers
        ("passed", "f8"),  # time in all,
        ("uptime", "f8"),  # and of all workers that were active
    ],
    align=True,
)


@compiled
def sum_in_order(values: Array, total: float) -> float:
    """The sum, added to a total from the first to the last."""
    for at in range(len(values)):
        total += values[at]
    return total


@compiled
def add_by_worker(values: Array, workers: Array, sums: Array) -> None:
    """Add each value to that of its worker; `sums` has number and sum for each."""
    for at in range(len(values)):
        sums[workers[at], 0] += 1.0
        sums[workers[at], 1] += values[at]


@compiled
def judge(jobs: Array, known: Array, on_time: float, delayed: float, verdicts: Array) -> None:
    """Whether each job was on time, by what its exercise takes; each that compiled counts for those after it."""
    for job in range(len(jobs)):
        wait = jobs[job]["start"] - jobs[job]["spawn"]
        expected = estimate_of(known, jobs[job]["exercise"], jobs[job]["pair"])
        if expected <= 0.0:
            expected = jobs[job]["duration"] if jobs[job]["compiled"] != 0 else jobs[job]["limits"]
        verdict = LATE
        if wait <= max(expected * on_time, _LEAST_ON_TIME_S):
            verdict = ON_TIME
        elif wait <= max(expected * delayed, _LEAST_DELAYED_S):
            verdict = DELAYED
        verdicts[job] = verdict
        if jobs[job]["compiled"] != 0:
            learn(known, jobs[job]["exercise"], jobs[job]["pair"], jobs[job]["duration"])


@compiled
def uptime(meter: Array, period: float, ticks: int, turns: Array) -> int:
    """Read a meter (`METER`) at each tick up to so many; returns how many turns came before the last of them."""
    at = 0
    while meter[0]["ticks"] < ticks:
        while at < len(turns) and turns[at]["ticks"] <= meter[0]["ticks"]:
            meter[0]["active"] += 1 if turns[at]["active"] != 0 else -1
            at += 1
        now = meter[0]["now"] + period
        step = max(now - meter[0]["now"], 0.0)
        meter[0]["passed"] += step
        meter[0]["uptime"] += step * meter[0]["active"]
        meter[0]["now"] = now
        meter[0]["ticks"] += 1
    return at
