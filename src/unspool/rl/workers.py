"""Choose the worker: each job of a log goes, as it arrives, to the queue of one worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from unspool.arrays import Array
from unspool.errors import InputError, RunError, UnknownName
from unspool.policies.dispatchers.queues import LIMITS, STATISTICS
from unspool.rl.rewards import Reward
from unspool.simulation.assigning import ARRIVAL, PER_WORKER, assign, look_at_workers, to_arrival
from unspool.simulation.choosing import LEDGER
from unspool.simulation.desk import DESK, TURN, WORKER, Columns, Desk, tables_of
from unspool.workloads.recodex import JobLog, RefLog
from unspool.workloads.sample import read_recodex_sample

__all__ = ["WorkerEnv"]

_PREDICTORS = {"limits": LIMITS, "index": STATISTICS}


class WorkerEnv(gymnasium.Env):  # type: ignore[misc]
    """Action k gives the job that arrives to worker k; workers that are not active are masked.

    `workers` are attributes as in an experiment: `active`, and `limit`, up to which estimate a worker admits jobs (it
    is shown, and not enforced). Estimates are half the limits of a job, or with `predictor="index"` the mean of its
    like. A job's wait is known when it is given away, so that is when the agent is paid. An episode is so many jobs in
    a row.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(
        self,
        log: JobLog | None = None,
        references: RefLog | None = None,
        *,
        workers: int | Sequence[Mapping[str, Any]] = 4,
        predictor: str = "limits",
        jobs: int = 256,
        reward: Reward | str | dict[str, float] = "bounded_slowdown",
        most_steps: int | None = None,
    ) -> None:
        if log is None:
            log, references = read_recodex_sample()
        if predictor not in _PREDICTORS:
            raise UnknownName("predictor", predictor, _PREDICTORS)
        if jobs < 1 or not len(log):
            raise InputError(f"{jobs} of {len(log)} jobs an episode; expected 1 or more")
        self.reward = Reward.parse(reward)
        if self.reward.utilisation or self.reward.cost or self.reward.energy:
            raise InputError(
                "reward: workers are there all the time; give weights to bounded_slowdown, log_slowdown and wait only"
            )
        given = [{"active": True}] * workers if isinstance(workers, int) else list(workers)
        if not any(worker.get("active") for worker in given):
            raise InputError("workers: none is active; expected one or more with active: true")
        self.log, self.jobs, self.most_steps = log, min(jobs, len(log)), most_steps
        limits = Columns(log.spawn, log.duration, log.compilation_ok, log.exercise, log.runtime, log.limits)
        known = None
        if references is not None:
            known = Columns(
                references.spawn, references.duration, references.compilation_ok, references.exercise,
                references.runtime,
            )  # fmt: skip
        self._tasks, refs, self._known = tables_of(limits, known)
        self._refs = refs[np.argsort(refs["finish"], kind="stable")]
        self._workers = np.zeros(len(given), WORKER)
        self._workers["active"] = [bool(worker.get("active")) for worker in given]
        unlimited = float("inf")
        self._workers["limit"] = [unlimited if worker.get("limit") is None else worker["limit"] for worker in given]
        self._code = _PREDICTORS[predictor]
        self.render_mode = None
        self.observation_space = Box(0.0, 1.0, (ARRIVAL + PER_WORKER * len(given),), np.float32)
        self.action_space = Discrete(len(given))
        self._seen = np.zeros(self.observation_space.shape, np.float32)
        self._mask = np.zeros(len(given), np.bool_)
        self._ledger = np.zeros(LEDGER)
        self._by_job, _ = self.reward.scales(1.0)
        self.desk: Desk | None = None
        self._job = -1
        self._steps = 0
        self.window = (0, 0)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """A new episode; `options={"window": (first, count)}` says over which jobs, else they are drawn."""
        super().reset(seed=seed)
        drawn = (int(self.np_random.integers(len(self._tasks) - self.jobs + 1)), self.jobs)
        self.window = (options or {}).get("window") or drawn
        first, count = self.window
        rule = np.zeros(1, DESK)
        rule["predictor"], rule["factor"], rule["learns_failed"] = self._code, 0.5, 1
        self.desk = Desk(
            rule, self._tasks[first : first + count].copy(), self._workers.copy(), self._refs, self._known.copy(),
            np.zeros(count, np.int64), np.zeros(0, TURN),
        )  # fmt: skip
        self._ledger[:] = 0.0
        self._steps = 0
        self._look(self.desk)
        return self._seen.copy(), {"action_mask": self._mask.copy()}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Give the job away, and go on to the next arrival."""
        desk, asked = self.desk, int(action)
        if desk is None:
            raise RunError("step() before reset(): there is no episode yet")
        if self._job < 0:
            raise RunError("step() after the end of an episode: reset() begins another")
        chosen = asked if self._mask[asked] else int(self._mask.argmax())
        before = self._ledger.copy()
        assign(desk, self._job, chosen, self.reward.bound_s, self._ledger)
        terminated = self._look(desk)
        self._steps += 1
        truncated = not terminated and self.most_steps is not None and self._steps >= self.most_steps
        info: dict[str, Any] = {"action_mask": self._mask.copy()}
        if chosen != asked:
            info["forbidden"] = asked
        if terminated or truncated:
            info["figures"] = self.reward.figures(self._ledger, len(desk.jobs), 1.0)
        paid = -float((self._ledger - before) @ self._by_job) / len(desk.jobs)
        return self._seen.copy(), paid, terminated, truncated, info

    def action_masks(self) -> Array:
        """Which workers are active, as MaskablePPO asks for it."""
        return self._mask.copy()

    def _look(self, desk: Desk) -> bool:
        self._job = to_arrival(desk)
        look_at_workers(desk, self._job, self._seen, self._mask)
        return self._job < 0
