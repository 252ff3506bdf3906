"""A schedule followed event by event, from its own starts and ends.

Nothing of the engine is used: the state at an instant is what the schedule itself has running and waiting. Decision
instants are submissions and ends; instants within the tolerance of each other are one. At an instant ends are taken
first, then arrivals, then what the schedule starts there is judged.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from unspool.analysis.audit.matching import Array, Match

__all__ = ["Instant", "Pool", "Progress", "free_at", "instants_of"]

Progress = Callable[[int, int], None]

_GRACE_S = 60.0  # a job past its estimate is taken to run at least so much longer


@dataclass(frozen=True)
class Instant:
    """What happens at one instant of a schedule, jobs by their place in the queue.

    `between` started since the last instant, at no instant of its own; `ends` and `arrivals` come next; `starts` are
    the schedule's own at this instant. `limit` is the end of the instant: later is later.
    """

    now: float
    limit: float
    between: list[int]
    ends: list[int]
    arrivals: list[int]
    starts: list[int]


def instants_of(found: Match, tolerance: float, *, also_starts: bool = False) -> Iterator[Instant]:
    """The decision instants of a schedule in order of time, with `also_starts` every instant at which a job starts too.

    A job that is not in the schedule never joins the queue.
    """
    jobs = found.ran
    by = {name: jobs[np.argsort(getattr(found, name)[jobs], kind="stable")] for name in ("start", "finish", "eligible")}
    columns = [found.eligible[jobs], found.finish[jobs], *([found.start[jobs]] if also_starts else [])]
    times = np.unique(np.concatenate(columns))
    position = dict.fromkeys(by, 0)

    def taken(name: str, until: float, *, included: bool) -> list[int]:
        order, values = by[name], getattr(found, name)
        first = at = position[name]
        while at < len(order) and (values[order[at]] < until or (included and values[order[at]] == until)):
            at += 1
        position[name] = at
        part: list[int] = order[first:at].tolist()
        return part

    at = 0
    while at < len(times):
        limit = float(times[at]) + tolerance
        last = int(np.searchsorted(times, limit, side="right"))
        now = float(times[last - 1])
        between = taken("start", float(times[at]) - tolerance, included=False)
        ends = taken("finish", limit, included=True)
        arrivals = taken("eligible", limit, included=True)
        yield Instant(now, limit, between, ends, arrivals, sorted(taken("start", limit, included=True)))
        at = last


class Pool:
    """Cores, running jobs by expected end, and who waits, as the schedule has it."""

    def __init__(self, found: Match, cores: int) -> None:
        self.found = found
        self.free = cores
        self.size: list[int] = found.size.tolist()
        self.estimate: list[float] = found.estimate.tolist()
        self.start: list[float] = found.start.tolist()
        self.running: list[tuple[float, int]] = []
        self.expected_end: dict[int, float] = {}
        self._waits = np.zeros(len(found.ids), bool)
        self._has_begun = np.zeros(len(found.ids), bool)
        self.begun = 0
        self._first = 0  # nobody waits before this place
        self._last = 0  # nor from this one on

    def waiting(self) -> Array:
        """Who waits, in queue order."""
        waits = self._waits[self._first : self._last]
        jobs = np.flatnonzero(waits)
        jobs += self._first
        self._first = int(jobs[0]) if len(jobs) else self._last
        return jobs

    def waits(self, job: int) -> bool:
        """Whether a job waits."""
        return bool(self._waits[job])

    def join(self, job: int) -> None:
        """A job arrives; one that has started already does not wait."""
        if not self._has_begun[job]:
            self._waits[job] = True
            self._first = min(self._first, job)
            self._last = max(self._last, job + 1)

    def leave(self, job: int) -> None:
        """A job waits no more."""
        self._waits[job] = False
        self.begun += not self._has_begun[job]
        self._has_begun[job] = True

    def begin(self, job: int) -> None:
        """A job takes its cores, from its start in the schedule on."""
        self.free -= self.size[job]
        self.expect(job, self.start[job] + self.estimate[job])

    def expect(self, job: int, end: float) -> None:
        """A running job is taken to end at a time."""
        self.expected_end[job] = end
        insort(self.running, (end, job))

    def end(self, job: int) -> bool:
        """A job gives its cores back; False if it had not begun."""
        end = self.expected_end.pop(job, None)
        if end is None:
            return False
        del self.running[bisect_left(self.running, (end, job))]
        self.free += self.size[job]
        return True

    def renew_overdue(self, now: float) -> list[int]:
        """Put off the ends of running jobs past their estimate, by max(60 s, estimate, run time so far / 1000); who."""
        renewed = []
        while self.running and self.running[0][0] <= now:
            _, job = self.running.pop(0)
            self.expect(job, now + max(_GRACE_S, self.estimate[job], (now - self.start[job]) / 1000.0))
            renewed.append(job)
        return renewed

    def shadow(self, need: int) -> tuple[float, int]:
        """When so many cores are free if running jobs end as expected, and what is free then beyond them."""
        return free_at(self.running, self.size, self.free, need)

    def move_on(self, instant: Instant) -> tuple[list[int], list[int]]:
        """Take what happened before the decision; what of the starts lasts, and what is over within the instant."""
        for job in instant.between:
            self.leave(job)
            self.begin(job)
        over = {job for job in instant.ends if not self.end(job)}
        for job in instant.arrivals:
            self.join(job)
        for job in instant.starts:
            self.leave(job)
        self.renew_overdue(instant.now)
        return [job for job in instant.starts if job not in over], [job for job in instant.starts if job in over]


def free_at(running: list[tuple[float, int]], size: list[int], free: int, need: int) -> tuple[float, int]:
    """The earliest expected end at which `need` cores are free, and what is free then beyond; all ends then count."""
    shadow = math.inf
    for end, job in running:
        if end > shadow:
            break
        free += size[job]
        if shadow == math.inf and free >= need:
            shadow = end
    return shadow, free - need
