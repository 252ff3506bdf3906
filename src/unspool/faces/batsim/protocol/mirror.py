"""A run as a scheduler sees it: jobs that are submitted, started and over when somebody says so, on so many machines.

A policy of ours decides in it as in any run; what it started, turned away or killed is then read off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from unspool.engine.kernel.state import Outage
from unspool.engine.leave import make_leave
from unspool.engine.outages import CHANGE, ON_LOSS, change_machine
from unspool.model.platform import MachineGroup, MachineType, Platform
from unspool.model.workload import Workload
from unspool.policies.base import CompiledScheduler, Scheduler
from unspool.policies.view import View
from unspool.simulation.admission import Admission, NewJob
from unspool.simulation.codes import COMPLETED, KEEP, KILLED, NEVER
from unspool.simulation.engine import Engine, Policy
from unspool.workloads.intervals import format_intervals

__all__ = ["Mirror"]

_COLUMNS = {
    "job_id": pl.String, "submit_time": pl.Float64, "run_time": pl.Float64, "cores": pl.Int64, "machines": pl.Int64,
    "walltime": pl.Float64, "user": pl.String, "queue": pl.String, "profile": pl.String, "details": pl.String,
    "priority": pl.Float64, "line": pl.Int64,
}  # fmt: skip
_SLOTS = 1000  # jobs on one machine, where they may share it


class Mirror:
    """What is known of a run that goes on elsewhere, and a policy that decides in it."""

    def __init__(self, policy: Policy, machines: int, *, shares_machines: bool = False, seed: int = 0) -> None:
        machine = MachineType("host", _SLOTS if shares_machines else 1)
        selection = "worst" if shares_machines else "first"
        self.platform = Platform((MachineGroup(machine, machines),), selection=selection, name="machines")
        self.engine = Engine(Workload(pl.DataFrame(schema=_COLUMNS)), self.platform, seed=seed)
        self.admission = Admission(self.engine)
        self._policy = policy
        self._seen_attempts = self._seen_rejected = 0
        self._index: dict[str, int] = {}
        self._names: list[str] = []
        self.running: set[int] = set()
        self.engine.clairvoyant = False

    def reach(self, now: float) -> None:
        """Let time pass; what the policy wanted to be called for on the way it decides."""
        engine = self.engine
        if now <= engine.now:
            return
        engine.wake_at(now)
        while engine.now < now:
            engine.advance()
            if engine.now < now:
                self.decide()

    def submit(self, job: NewJob) -> bool:
        """A job waits from now on; False where it can never run."""
        if job.machines > self.platform.machine_count:
            return False
        self._index[job.job_id] = self.admission.admit(job)
        self._names.append(job.job_id)
        return True

    def end(self, job_id: str) -> None:
        """A job is over, unless it was the policy that ended it."""
        job = self._index.get(job_id)
        if job is None or job not in self.running:
            return
        engine = self.engine
        core = engine.core
        core.jobs[job]["run_time"] = engine.now - core.attempts[core.fate[job]["attempt"]]["start"]
        make_leave(engine.state, job, COMPLETED)
        self.running.discard(job)

    def change(self, machines: Sequence[int], *, is_lost: bool) -> None:
        """Machines are closed to new jobs, or open again."""
        engine, place = self.engine, self.engine.place
        assert place is not None
        if engine.state.outage is None:
            rule = np.zeros(1, ON_LOSS)
            rule["fate"], rule["known_until"] = KEEP, NEVER
            capacity = place.free.copy()
            capacity[:, 0] = self.platform.groups[0].machine.cores
            none = np.zeros(len(place.machines), np.int64)
            losses = np.zeros(len(engine.core.jobs), np.int64)
            outage = Outage(rule, np.zeros(0, CHANGE), none, losses, capacity)
            engine.state = engine.state._replace(outage=outage)
        for machine in machines:
            changes = np.array([(engine.now, machine, 1 if is_lost else -1)], CHANGE)
            assert engine.state.outage is not None
            state = engine.state = engine.state._replace(outage=engine.state.outage._replace(changes=changes))
            engine.core.course[0]["next_change"] = 0
            change_machine(
                state.core, state.place, state.plan, state.links, state.order, state.guess, state.outage, state.elastic,
                state.fluid,
            )  # fmt: skip

    def decide(self) -> None:
        """Let the policy decide the present instant."""
        engine = self.engine
        if isinstance(self._policy, CompiledScheduler):
            engine.decide(self._policy)
            engine.apply(())
        else:
            policy: Any = self._policy
            engine.clairvoyant = False
            engine.apply(policy.decide(View(engine)) if isinstance(policy, Scheduler) else policy(View(engine)))
        engine.core.course[0]["dirty"] = 0

    # What was decided.

    def killed(self) -> Iterator[str]:
        """Jobs that the policy ended since this was last asked."""
        for job in sorted(self.running):
            if self.engine.core.fate[job]["state"] == KILLED:
                self.running.discard(job)
                yield self._names[job]

    def rejected(self) -> Iterator[str]:
        """Jobs that it turned away."""
        turned_away = self.engine._turned_away[self._seen_rejected :]
        self._seen_rejected += len(turned_away)
        return (str(job_id) for _, job_id, _ in turned_away)

    def started(self) -> Iterator[tuple[str, str]]:
        """Jobs that it started, each with its machines."""
        place = self.engine.place
        assert place is not None
        new = self.engine.attempts[self._seen_attempts :]
        self._seen_attempts += len(new)
        for attempt in new:
            job, first = int(attempt["job"]), int(attempt["first_row"])
            rows = place.rows[first : first + int(attempt["row_count"])]
            machines = [machine for row in rows for machine in range(int(row["first"]), int(row["last"]) + 1)]
            self.running.add(job)
            yield self._names[job], format_intervals(machines)

    def next_call(self) -> float:
        """When the policy wants to be called, whatever happens; never where it does not."""
        core, plan = self.engine.core, self.engine.state.plan
        due = float(core.events[0]["time"]) if core.course[0]["events"] else float(NEVER)
        if plan is not None and core.course[0]["plans"]:
            due = min(due, float(plan.plans[0]["start"]))
        return due

    def notes(self) -> dict[str, list[str]]:
        """Texts that the policy wrote beside jobs since this was last asked."""
        found, self.engine.annotations = self.engine.annotations, {}
        return found
