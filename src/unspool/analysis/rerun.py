"""A run once more, from what its result says of it: stopped at any instant, and held against the result on the way."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from os import PathLike
from typing import Any

import numpy as np
import polars as pl

from unspool.engine.outages import next_change
from unspool.engine.programs.programs import find_rates, next_activity
from unspool.errors import InputError, UnspoolError, shown
from unspool.model.network import Contention
from unspool.model.outages import OnLoss, Outage, Outages
from unspool.model.workload import Workload
from unspool.plugins import build
from unspool.policies.base import CompiledScheduler
from unspool.results.result import Result
from unspool.simulation.codes import NEVER, PAUSE
from unspool.simulation.engine import Engine, Policy
from unspool.workloads import format_of, read_workload
from unspool.workloads.sample import read_sample

__all__ = ["Rerun", "workload_of"]

AnyLog = Workload | str | PathLike[str] | None


def workload_of(result: Result, given: AnyLog = None) -> Workload:
    """The log that a result is of: the one given, or where the run says that it read it. It must hold the same jobs."""
    workload = given if isinstance(given, Workload) else _read(result, given)
    if result.workload_digest and workload.digest != result.workload_digest:
        raise InputError(
            f"{workload.name} does not hold the jobs that this result is of: it has changed since, or is another log; "
            "name the right one with --workload (in Python, workload=)"
        )
    return workload


def _read(result: Result, given: str | PathLike[str] | None) -> Workload:
    path = given or result.config.get("workload")
    if path is None:
        return read_sample()
    columns = dict(text.split("=", 1) for text in result.config.get("columns", ()))
    format = None if given is not None and format_of(given) else result.config.get("format")
    try:
        return read_workload(path, format, columns or None)
    except InputError as error:
        if given is not None:
            raise
        raise InputError(
            f"the log of this result cannot be read again: {error}; name it with --workload (in Python, workload=)"
        ) from error


def _policy_of(result: Result) -> Any:
    try:
        return build("schedulers", result.policy)
    except UnspoolError as error:
        raise InputError(
            f"policy '{shown(result.policy)}' of this result cannot be made again: {error}. One that was given from "
            "Python as an object has no name to load it by: give it again, as unspool.why(..., policy=...)"
        ) from error


class Rerun:
    """The run of a result, gone through again under its own policy.

    A job is named by its position in the run, as the engine does. A start that the result does not have is an error.
    """

    def __init__(
        self,
        result: Result,
        workload: AnyLog = None,
        policy: Policy | None = None,
        *,
        progress: Callable[[int, int], None] | None = None,
        compiling: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        result.platform.refuse_cloud("an explanation of waits")
        self.result = result
        chosen = _policy_of(result) if policy is None else policy
        self.engine = Engine(
            workload_of(result, workload),
            result.platform,
            seed=int(result.config.get("seed", 0)),
            kill_at_walltime=bool(result.config.get("kill_at_walltime", False)),
            outages=Outages(tuple(Outage(*row) for row in result.outages.iter_rows())) if len(result.outages) else None,
            on_loss=OnLoss.parse(result.config.get("on_loss", "requeue")),
            contention=Contention.told(result.config.get("contention", {})),
            message_delay_s=float(result.config.get("message_delay_s", 0.0)),
            energy=bool(result.config.get("energy", False)),
        )
        # One that is given may be asked again, and may remember things: this run takes a copy.
        self.policy: Any = chosen if isinstance(chosen, CompiledScheduler) else self.engine.fork_with(chosen)[1]
        self._progress = progress
        with compiling():
            self.engine.compile(self.policy)
        ids = self.engine.workload.table["job_id"].gather(pl.Series(self.engine.used))
        positions = pl.DataFrame({"job_id": ids, "at": np.arange(len(ids))})
        told = result.attempts.select("job_id", "start_time").join(positions, "job_id", "left", maintain_order="left")
        self._started = told["at"].fill_null(-1).to_numpy()
        self._start_times = told["start_time"].to_numpy()
        self._seen = 0

    def index_of(self, job_id: str) -> int:
        """The position of a job in the run."""
        return self.engine.index_of(job_id, job_id)

    def until(self, time: float) -> None:
        """Let everything happen that happens up to a time, decisions at that time included."""
        self.engine.run(self.policy, self._progress, until=time)
        self._compare()

    def next_instant(self) -> float:
        """When something happens next; infinite where nothing does."""
        core, plan = self.engine.core, self.engine.state.plan
        course = core.course[0]
        instants = [NEVER]
        if course["next_arrival"] < len(core.jobs):
            instants.append(float(core.jobs[course["next_arrival"]]["submit"]))
        if course["events"]:
            instants.append(float(core.events[0]["time"]))
        if plan is not None and course["plans"]:
            instants.append(float(plan.plans[0]["start"]))
        instants.append(next_change(core, self.engine.state.outage))
        while find_rates(core, self.engine.state.fluid) == PAUSE:
            pass
        instants.append(next_activity(core, self.engine.state.fluid))
        return min(instants)

    def _compare(self) -> None:
        """Starts since the last time must be those of the result."""
        attempts = self.engine.attempts
        new = attempts[self._seen :]
        jobs, starts = (told[self._seen : len(attempts)] for told in (self._started, self._start_times))
        both = min(len(new), len(jobs))
        same = (jobs[:both] == new["job"][:both]) & (starts[:both] == new["start"][:both])
        if both == len(new) and same.all():
            self._seen = len(attempts)
            return
        at = self._seen + (both if same.all() else int(np.argmin(same)))
        told = self.result.attempts
        instead = f"job {told['job_id'][at]} at {told['start_time'][at]:.15g} s" if at < len(told) else "no more starts"
        name = self.engine.id_of(int(attempts["job"][at]))
        raise InputError(
            f"policy '{shown(self.result.policy)}' does not decide again as in this result: it starts job {name} at "
            f"{attempts['start'][at]:.15g} s, the result has {instead}; was it made by another version, or under a "
            "policy that draws numbers of its own?"
        )
