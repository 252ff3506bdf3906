"""First come, first served: nobody overtakes, and the head never waits where it fits."""

from __future__ import annotations

from unspool.analysis.audit.laws import Tally
from unspool.analysis.audit.matching import Match
from unspool.analysis.audit.replay import Pool, Progress, instants_of
from unspool.units import counted

__all__ = ["follow_fcfs", "note_missed"]


def follow_fcfs(found: Match, cores: int, tolerance: float, progress: Progress) -> dict[str, Tally]:
    """The laws of first come, first served: order and greedy."""
    order, greedy = Tally(), Tally()
    pool = Pool(found, cores)
    total = len(found.ran)
    for instant in instants_of(found, tolerance):
        for job in instant.between:
            pool.leave(job)
            _check_order(order, pool, [job], tolerance)
        lasting, _ = pool.move_on(instant)
        for job in lasting:
            pool.begin(job)
        _check_order(order, pool, instant.starts, tolerance)
        greedy.checked += 1
        waiting = pool.waiting()
        if len(waiting) and pool.size[waiting[0]] <= pool.free:
            note_missed(greedy, pool, instant.now, int(waiting[0]))
        progress(pool.begun, total)
    return {"order": order, "greedy": greedy}


def _check_order(tally: Tally, pool: Pool, starts: list[int], tolerance: float) -> None:
    """Who of those that start passes the head of those that still wait."""
    waiting = pool.waiting()
    tally.checked += len(starts)
    for job in starts:
        if len(waiting) and waiting[0] < job and pool.start[waiting[0]] > pool.start[job] + tolerance:
            head = int(waiting[0])
            by = pool.start[head] - pool.start[job]
            text = f"at {pool.start[job]:.10g} s job {pool.found.ids[job]} starts, {by:.10g} s before job"
            tally.note(by, f"{text} {pool.found.ids[head]}, which stands before it in the queue")


def note_missed(tally: Tally, pool: Pool, now: float, job: int) -> None:
    """A job waits that may start."""
    start, name, size = pool.start[job], pool.found.ids[job], pool.size[job]
    cores = counted(size, "core")
    tally.note(start - now, f"at {now:.10g} s job {name} ({cores}) may start; it starts at {start:.10g} s")
