"""Conservative backfilling: the plan that each job was given on arrival, and the one in force when it started.

Plans are made by the rule and the schedule is followed. Where it does something else than its plans say, what it did
counts: a job that did not start when it was due is planned again, and where a job that started too early takes cores
from plans, all plans are made anew around it, in their order.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort

from unspool.analysis.audit.laws import Tally
from unspool.analysis.audit.matching import Match
from unspool.analysis.audit.replay import Instant, Pool, Progress, instants_of

__all__ = ["follow_conservative"]


def follow_conservative(found: Match, cores: int, tolerance: float, progress: Progress) -> dict[str, Tally]:
    """The laws of conservative backfilling: first plan and, for information, the plan in force."""
    follower = _Follower(found, cores, tolerance)
    total = len(found.ran)
    for instant in instants_of(found, tolerance, also_starts=True):
        follower.follow(instant)
        progress(follower.pool.begun, total)
    return {"first plan": follower.kept(), "plan": follower.plan}


class _Follower:
    def __init__(self, found: Match, cores: int, tolerance: float) -> None:
        self.found = found
        self.cores = cores
        self.tolerance = tolerance
        self.pool = Pool(found, cores)
        self.profile = _Profile(cores, -math.inf)
        self.plan = Tally()
        self.first: dict[int, float] = {}
        self.planned: dict[int, float] = {}  # of those that wait
        self.in_order: list[tuple[float, int]] = []  # the same, sorted
        self._deviant: set[int] = set()

    def kept(self) -> Tally:
        """How the first plans were kept."""
        tally = Tally()
        tally.checked = len(self.first)
        for job, planned in self.first.items():
            start = self.pool.start[job]
            if start > planned + self.tolerance:
                text = f"job {self.found.ids[job]} was planned for {planned:.10g} s on arrival"
                tally.note(start - planned, f"{text} and starts at {start:.10g} s")
        return tally

    def follow(self, instant: Instant) -> None:
        """Follow the schedule through one instant. A job that is over within it makes the rule decide again."""
        pool = self.pool
        now = instant.now
        over = {job for job in instant.ends if job not in pool.expected_end}
        ended_early = sum(self._end(job, now) for job in instant.ends if job not in over) > 0
        self.profile.forget_before(now)
        for job in instant.arrivals:
            pool.join(job)
        if pool.renew_overdue(now):
            self._plan_anew(now)
        self._plan_late_ones(now)
        left = [job for job in instant.starts if not self._starts_unasked(job, instant)]
        arrivals = [job for job in instant.arrivals if pool.waits(job)]
        while True:
            if ended_early:
                self._move_forward()
            for job in arrivals:
                self.first[job] = self._place(job)
            due = [job for job in left if self.planned[job] <= now + self.tolerance]
            for job in due:
                self._start(job)
            left = [job for job in left if job not in due]
            done = [job for job in due if job in over]
            for job in done:
                self._end(job, now)
            ended_early, arrivals = True, []
            if not done:
                break
        for job in left:
            self._deviate(job, self.planned[job] - now)
            self._start(job)
        for job in left:
            if job in over:
                self._end(job, now)
        if left and min(self.profile.free) < 0:
            self._plan_anew(now)

    def _starts_unasked(self, job: int, instant: Instant) -> bool:
        """A job starts before it is submitted, so that no plan was made for it."""
        if job in self.planned or job in instant.arrivals:
            return False
        self.pool.leave(job)
        self.pool.begin(job)
        self._plan_anew(instant.now)
        return True

    def _end(self, job: int, now: float) -> bool:
        """A job ends; True if that is earlier than expected."""
        expected = self.pool.expected_end[job]
        self.pool.end(job)
        if now < expected:
            self.profile.change(now, expected, self.pool.size[job])
            return True
        return False

    def _start(self, job: int) -> None:
        """A job with a plan starts, as the schedule says."""
        pool = self.pool
        self.plan.checked += 1
        planned, start = self.planned.pop(job), pool.start[job]
        del self.in_order[bisect_left(self.in_order, (planned, job))]
        pool.leave(job)
        pool.begin(job)
        if start != planned:
            self.profile.change(planned, planned + pool.estimate[job], pool.size[job])
            self.profile.change(start, start + pool.estimate[job], -pool.size[job])

    def _plan_late_ones(self, now: float) -> None:
        """Jobs whose plan was due before now and that still wait are planned again; each is a deviation."""
        late = bisect_left(self.in_order, (now - self.tolerance, -1))
        passed, self.in_order = self.in_order[:late], self.in_order[late:]
        for planned, job in passed:
            self._deviate(job, self.pool.start[job] - planned)
            self.profile.change(now, planned + self.pool.estimate[job], self.pool.size[job])
            self._place(job)

    def _deviate(self, job: int, by: float) -> None:
        """The schedule does something else than the plan in force says; told once for each job."""
        if job not in self._deviant:
            self._deviant.add(job)
            start, planned = self.pool.start[job], self.planned[job]
            text = f"job {self.found.ids[job]} starts at {start:.10g} s; the plan in force says {planned:.10g} s"
            self.plan.note(by, text)

    def _place(self, job: int) -> float:
        size, estimate = self.pool.size[job], self.pool.estimate[job]
        start = self.profile.earliest_fit(size, estimate)
        if start < math.inf:
            self.profile.change(start, start + estimate, -size)
        self.planned[job] = start
        insort(self.in_order, (start, job))
        return start

    def _move_forward(self) -> None:
        """Some job ended early: in the order of the plans, each goes to its earliest fit before its place."""
        moved = []
        for planned, job in self.in_order:
            size, estimate = self.pool.size[job], self.pool.estimate[job]
            start = self.profile.earliest_fit_before(size, estimate, planned)
            if start < planned:
                self.profile.change(planned, planned + estimate, size)
                self.profile.change(start, start + estimate, -size)
                self.planned[job] = start
            moved.append((start, job))
        self.in_order = sorted(moved)

    def _plan_anew(self, now: float) -> None:
        """Plans that no longer hold are made again around what runs, in their order."""
        self.profile = _Profile(self.cores, now)
        for end, job in self.pool.running:
            self.profile.change(now, end, -self.pool.size[job])
        waiting, self.in_order = self.in_order, []
        for _, job in waiting:
            self._place(job)


class _Profile:
    """Free cores over time: `free[i]` from `times[i]` to `times[i + 1]`, the last one for ever."""

    def __init__(self, cores: int, now: float) -> None:
        self.times = [now]
        self.free = [cores]

    def forget_before(self, now: float) -> None:
        """The past is over."""
        first = bisect_right(self.times, now) - 1
        if first > 0:
            del self.times[:first], self.free[:first]
        self.times[0] = max(self.times[0], now)

    def change(self, start: float, end: float, amount: int) -> None:
        """Add `amount` to what is free from `start`, or from the beginning if that is later, to `end`."""
        start = max(start, self.times[0])
        if end <= start:
            return
        first = self._index(start)
        last = self._index(end)
        for at in range(first, last):
            self.free[at] += amount
        for at in (last, first):
            if at > 0 and self.free[at] == self.free[at - 1]:
                del self.times[at], self.free[at]

    def _index(self, time: float) -> int:
        """The position of the breakpoint at a time, made if there is none."""
        at = bisect_left(self.times, time)
        if at == len(self.times) or self.times[at] != time:
            self.times.insert(at, time)
            self.free.insert(at, self.free[at - 1])
        return at

    def earliest_fit(self, size: int, estimate: float) -> float:
        """The earliest start at which so many cores are free for so long; never, if there are not that many."""
        return self._fit(size, estimate, math.inf)

    def earliest_fit_before(self, size: int, estimate: float, planned: float) -> float:
        """The earliest start of a job whose own place from `planned` on is free for it; that, if there is no other."""
        return self._fit(size, estimate, planned)

    def _fit(self, size: int, estimate: float, until: float) -> float:
        times, free = self.times, self.free
        start, last = times[0], len(times) - 1
        for at, here in enumerate(free):
            if times[at] >= until:
                break
            if here < size:
                start = times[at + 1] if at < last else math.inf
            elif at == last or times[at + 1] >= start + estimate:
                return min(start, until)
        return min(start, until)
