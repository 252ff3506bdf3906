"""Strategies of self-adaptation, called at every tick and before every dispatch (spec dispatch B4.2, B4.7).

Each has `init(ts, dispatcher, workers)` and `do_adapt(ts, dispatcher, workers, job=None)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unspool.errors import InputError
from unspool.faces.dispatch.simdex import Job, RefJob, Worker

__all__ = ["CategoryStrategy", "HeuristicLimits", "OnOff", "PidLimits", "SimpleStrategy"]

Workers = Sequence[Worker]


class SimpleStrategy:
    """Start with one worker; switch one on when a queue grows, one off when two are empty and none grows."""

    def init(self, ts: float, dispatcher: Any, workers: Workers) -> None:
        """All inactive but the first."""
        for worker in workers:
            worker.set_attribute("active", worker.index == 0)

    def do_adapt(self, ts: float, dispatcher: Any, workers: Workers, job: Job | None = None) -> None:
        """Change at most one worker."""
        idle, off, overloaded = [], [], False
        for worker in workers:
            if not worker.attributes.get("active"):
                off.append(worker)
            elif not worker.jobs:
                idle.append(worker)
            elif len(worker.jobs) > 1:
                overloaded = True
        if len(idle) > 1 and not overloaded:
            idle[0].set_attribute("active", False)
        elif off and overloaded:
            off[0].set_attribute("active", True)


class CategoryStrategy:
    """Teaches the dispatcher the durations of reference runs and of jobs, when they have ended.

    With `compat: original` it looks at the reference runs in the order of the file, a long one holding back those
    after it, and teaches every job that compiles before it is dispatched, with its true duration, as the tool does.
    """

    compat = "none"
    needs_of_dispatcher = ("add_ref_job", "job-category")  # a method, and a dispatcher that has it

    def __init__(self, max_long_queues: int = 2, ref_jobs: list[RefJob] | None = None) -> None:
        self.max_long_queues = max_long_queues
        self._refs = ref_jobs or []
        self._next = 0

    def init(self, ts: float, dispatcher: Any, workers: Workers) -> None:
        """Teach what ended before."""
        self.do_adapt(ts, dispatcher, workers)

    def do_adapt(self, ts: float, dispatcher: Any, workers: Workers, job: Job | None = None) -> None:
        """Teach what ended since the last time."""
        if self.compat == "none":
            return
        refs = self._refs
        while self._next < len(refs) and refs[self._next].spawn_ts + refs[self._next].duration <= ts:
            if refs[self._next].compilation_ok:
                dispatcher.add_ref_job(refs[self._next])
            self._next += 1
        if job is not None and job.compilation_ok:
            dispatcher.add_ref_job(job)

    def on_job_finished(self, simulation: Any, job: Job) -> None:
        """Teach a job that ended."""
        if self.compat == "none" and job.compilation_ok:
            simulation.dispatcher.add_ref_job(job)

    def on_ref_finished(self, simulation: Any, ref: RefJob) -> None:
        """Teach a reference run that ended."""
        if self.compat == "none" and self._refs:
            simulation.dispatcher.add_ref_job(ref)


class _Limits:
    """Moves the `limit` of workers with `dynamic-limit: true` between `limit-min` and `limit-max` at every tick."""

    def init(self, ts: float, dispatcher: Any, workers: Workers) -> None:
        """Check the attributes of the workers that take part, and begin in the middle where no limit is given."""
        self._dynamic = [worker for worker in workers if worker.attributes.get("dynamic-limit")]
        for worker in self._dynamic:
            given = worker.attributes
            if not {"limit-min", "limit-max"} <= given.keys() or given["limit-min"] > given["limit-max"]:
                raise InputError(f"worker {worker.index} has dynamic-limit; expected limit-min and limit-max beside it")
            if given.get("limit") is None:
                worker.set_attribute("limit", (given["limit-min"] + given["limit-max"]) / 2)

    def _move(self, worker: Worker, by: float) -> None:
        given = worker.attributes
        limit = min(max(given["limit"] + by, given["limit-min"]), given["limit-max"])
        worker.set_attribute("limit", limit)


class HeuristicLimits(_Limits):
    """Raises a limit by `aggression` when a worker with a higher one has a queue, lowers it when one is empty."""

    def do_adapt(self, ts: float, dispatcher: Any, workers: Workers, job: Job | None = None) -> None:
        """Move the limits at a tick."""
        if job is not None:
            return
        for worker in self._dynamic:
            own = worker.attributes["limit"]
            above = [len(other.jobs) for other in workers if _is_above(other, own)]
            step = worker.attributes.get("aggression", 1.0)
            if any(count > 1 for count in above):
                self._move(worker, step)
            elif any(count == 0 for count in above):
                self._move(worker, -step)


class PidLimits(_Limits):
    """Keeps the queues of workers with higher limits at a set point with a PID controller.

    The output, times `scale`, is added to the limit in seconds at every tick.
    """

    def __init__(
        self, set_point: float = 0.3, kp: float = 0.9, ki: float = 0.4, kd: float = 0.0, scale: float = 10.0
    ) -> None:
        self.set_point, self.kp, self.ki, self.kd, self.scale = set_point, kp, ki, kd, scale
        self._sums: dict[int, float] = {}
        self._errors: dict[int, float] = {}

    def do_adapt(self, ts: float, dispatcher: Any, workers: Workers, job: Job | None = None) -> None:
        """Move the limits at a tick."""
        if job is not None:
            return
        for worker in self._dynamic:
            own = worker.attributes["limit"]
            above = [len(other.jobs) for other in workers if _is_above(other, own)]
            if not above:
                continue
            error = sum(above) / len(above) - self.set_point
            span = worker.attributes["limit-max"] - worker.attributes["limit-min"]
            reach = span / (self.scale * self.ki) if self.ki and self.scale else float("inf")
            # The integral may move the limit over its whole range and no further, or it would never come back.
            total = min(max(self._sums.get(worker.index, 0.0) + error, -reach), reach)
            change = error - self._errors.get(worker.index, error)
            self._sums[worker.index], self._errors[worker.index] = total, error
            self._move(worker, self.scale * (self.kp * error + self.ki * total + self.kd * change))


def _is_above(worker: Worker, limit: float) -> bool:
    other = worker.attributes.get("limit")
    return bool(worker.attributes.get("active")) and (other is None or other > limit)


class OnOff:
    """Switches workers on when queues grow and off when they have been idle; a worker that is switched on boots first.

    A worker is switched on when every active one has more than `queue` jobs, and off after `idle_s` without a job, as
    long as `least` stay on. What it costs is told by the metric `energy`, from the attributes `watts_busy`,
    `watts_idle`, `watts_boot` and `watts_off` of a worker.
    """

    def __init__(self, boot_s: float = 60.0, idle_s: float = 600.0, queue: int = 0, least: int = 1) -> None:
        least_of = {"boot_s": (boot_s, 0), "idle_s": (idle_s, 0), "queue": (queue, 0), "least": (least, 1)}
        for name, (value, low) in least_of.items():
            if value < low:
                raise InputError(f"{name} is {value}; expected {low} or more")
        self.boot_s, self.idle_s, self.queue, self.least = boot_s, idle_s, queue, least
        self._idle_since: dict[int, float] = {}

    def init(self, ts: float, dispatcher: Any, workers: Workers) -> None:
        """Leave the first ones on."""
        for worker in workers:
            worker.set_attribute("active", worker.index < self.least)
        self._idle_since = {worker.index: ts for worker in workers}

    def on_job_finished(self, simulation: Any, job: Job) -> None:
        """Note when workers became idle."""
        for worker in simulation.workers:
            if worker.jobs:
                self._idle_since[worker.index] = simulation.ts

    def do_adapt(self, ts: float, dispatcher: Any, workers: Workers, job: Job | None = None) -> None:
        """Switch at most one worker on, and off all those that were idle for long."""
        active = [worker for worker in workers if worker.attributes.get("active")]
        for worker in active:
            if worker.jobs:
                self._idle_since[worker.index] = worker.jobs[-1].finish_ts
        if all(len(worker.jobs) > self.queue for worker in active):
            off = next((worker for worker in workers if not worker.attributes.get("active")), None)
            if off is not None:
                switch_on(off, ts, self.boot_s)
                self._idle_since[off.index] = ts + self.boot_s
            return
        for worker in reversed(active):
            idle_s = ts - self._idle_since[worker.index]
            if len(active) > self.least and not worker.jobs and idle_s >= self.idle_s:
                worker.set_attribute("active", False)
                active.remove(worker)


def switch_on(worker: Any, ts: float, boot_s: float) -> None:
    """Make a worker active; it can start jobs after it has booted, in drives that know of that."""
    worker.set_attribute("active", True)
    worker.ready_ts = ts + boot_s
    worker.boots = [*getattr(worker, "boots", ()), (ts, ts + boot_s)]
