"""EASY backfilling: what a blocked head is promised, and who may start before it."""

from __future__ import annotations

from bisect import insort

from unspool.analysis.audit.fcfs import note_missed
from unspool.analysis.audit.laws import Tally
from unspool.analysis.audit.matching import Array, Match
from unspool.analysis.audit.replay import Instant, Pool, Progress, free_at, instants_of

__all__ = ["follow_easy"]


def follow_easy(found: Match, cores: int, tolerance: float, progress: Progress) -> dict[str, Tally]:
    """The laws of EASY: promise, greedy and, for information, what may overtake."""
    follower = _Follower(found, cores, tolerance)
    total = len(found.ran)
    for instant in instants_of(found, tolerance):
        follower.judge(instant)
        progress(follower.pool.begun, total)
    return {"promise": follower.kept(), "greedy": follower.greedy, "backfill": follower.backfill}


class _Follower:
    """Follows a schedule; `promised` has the first shadow time of each head that was blocked."""

    def __init__(self, found: Match, cores: int, tolerance: float) -> None:
        self.found = found
        self.tolerance = tolerance
        self.pool = Pool(found, cores)
        self.greedy, self.backfill = Tally(), Tally()
        self.promised: dict[int, float] = {}
        self._last_head = -1

    def kept(self) -> Tally:
        """How the promises were kept."""
        tally = Tally()
        tally.checked = len(self.promised)
        for head, shadow in self.promised.items():
            start = self.pool.start[head]
            if start > shadow + self.tolerance:
                text = f"job {self.found.ids[head]} was promised {shadow:.10g} s and starts at {start:.10g} s"
                tally.note(start - shadow, text)
        return tally

    def judge(self, instant: Instant) -> None:
        """Follow the schedule through one instant, and judge what it did there.

        For the shadow time, jobs before the head in the queue that start now have started, and those behind it have
        not: else a job that may not overtake would move the shadow time itself.
        """
        pool = self.pool
        self.greedy.checked += 1
        if any(job < self._last_head for job in instant.arrivals):
            # A job whose dependencies have ended takes its old place, before the head, which loses its promise.
            self.promised.pop(self._last_head, None)
        lasting, over = pool.move_on(instant)
        waiting = pool.waiting()
        head = int(waiting[0]) if len(waiting) else -1
        if over:
            self._judge_rounds(instant, waiting)
        before = [job for job in lasting if head < 0 or job < head]
        behind = [job for job in lasting if job > head >= 0]
        for job in before:
            pool.begin(job)
        if head >= 0 and not over:
            self._judge_head(instant.now, waiting, head, behind)
        for job in behind:
            pool.begin(job)

    def _judge_head(self, now: float, waiting: Array, head: int, behind: list[int]) -> None:
        """The head waits, those before it have started, those `behind` it start now and are not yet counted."""
        pool, found = self.pool, self.found
        if pool.size[head] <= pool.free:
            note_missed(self.greedy, pool, now, head)
            return
        free = pool.free - sum(pool.size[job] for job in behind)
        rest = waiting[1:]
        rest = rest[found.size[rest] <= free]
        if head in self.promised and not behind and not len(rest):
            return
        shadow, extra = pool.shadow(pool.size[head])
        self._promise(head, shadow)
        for job in behind:
            self.backfill.checked += 1
            late = pool.start[job] + pool.estimate[job] - shadow
            if late > self.tolerance:
                extra -= pool.size[job]
                if extra < 0:
                    text = (
                        f"at {now:.10g} s job {found.ids[job]} overtakes job {found.ids[head]}, may end {late:.10g} s"
                    )
                    self.backfill.note(late, f"{text} after its shadow time, and takes {-extra} of its cores")
        ends = now + found.estimate[rest]
        # Rounding may be somebody's: nearly at the shadow time is forgiven, exactly at it is not.
        in_time = (ends == shadow) | (ends <= shadow - self.tolerance)
        may_start = rest[in_time | (found.size[rest] <= extra)]
        if len(may_start):
            note_missed(self.greedy, pool, now, int(max(may_start, key=lambda job: pool.start[job])))

    def _promise(self, head: int, shadow: float) -> None:
        self._last_head = head
        self.promised.setdefault(head, shadow)

    def _judge_rounds(self, instant: Instant, waiting: Array) -> None:
        """An instant at which a job starts and is over: the rule decides again when it is, on what is then free.

        Which round a start belongs to is not in a schedule. So the rule is carried out in rounds from the state before
        all of them: what it starts and the schedule does not is missed; where both start the same, its last head is
        promised its last shadow time.
        """
        if self.found.has_dependencies:
            return  # who joins the queue in which round is not known either
        queue = sorted([*waiting.tolist(), *instant.starts])
        started, head, shadow = _rounds(self.pool, queue, instant.now, self.tolerance)
        missed = started - set(instant.starts)
        if missed:
            note_missed(self.greedy, self.pool, instant.now, max(missed, key=lambda job: self.pool.start[job]))
        elif head >= 0 and len(started) == len(instant.starts):
            self._promise(head, shadow)


def _rounds(pool: Pool, queue: list[int], now: float, tolerance: float) -> tuple[set[int], int, float]:
    """What EASY starts at an instant, round after round; then its head, or -1, and the head's shadow time."""
    found, size = pool.found, pool.size
    free, running = pool.free, list(pool.running)
    started: set[int] = set()
    while True:
        begun: list[int] = []
        head, shadow, extra = -1, 0.0, 0
        for job in queue:
            ends = now + pool.estimate[job]
            if size[job] > free:
                if head < 0:
                    head = job
                    shadow, extra = free_at(running, size, free, size[job])
                continue
            if head >= 0 and ends > shadow:
                if size[job] > extra:
                    continue
                extra -= size[job]
            free -= size[job]
            insort(running, (ends, job))
            begun.append(job)
        started.update(begun)
        queue = [job for job in queue if job not in started]
        over = {job for job in begun if found.finish[job] - found.start[job] <= tolerance}
        if not over:
            return started, head, shadow
        free += sum(size[job] for job in over)
        running = [(end, job) for end, job in running if job not in over]
