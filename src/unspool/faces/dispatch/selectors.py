"""Worker selectors for the dispatcher `selector`: greedy on the predicted finish, and two bandits (spec dispatch A3).

Each has `select_worker(simulation, job)`, which returns the number of a worker. Inactive workers and those whose limit
is below the estimate are never chosen, unless no active worker admits the job.
"""

from __future__ import annotations

import math
from typing import Any

from unspool.errors import InputError
from unspool.faces.dispatch.dispatchers import active_workers, admitting
from unspool.faces.dispatch.draws import BANDIT, normal
from unspool.faces.dispatch.simdex import Job, Worker

__all__ = ["GreedyFinish", "Thompson", "Ucb"]

_MINDED_S = 10.0  # a wait below this is as good as none (spec B4.5)


class GreedyFinish:
    """The worker on which the job is predicted to end first."""

    def __init__(self) -> None:
        self.system_monitor = self
        self._work: dict[int, float] = {}  # predicted seconds of the jobs in each queue
        self._chosen: dict[Job, int] = {}

    def select_worker(self, simulation: Any, job: Job) -> int:
        """The number of a worker."""
        able = admitting(active_workers(simulation.workers), job.estimated_duration)
        best = min(able, key=lambda worker: self._left(worker, simulation.ts))
        self._work[best.index] = self._work.get(best.index, 0.0) + job.estimated_duration
        self._chosen[job] = best.index
        return best.index

    def _left(self, worker: Worker, now: float) -> float:
        if not worker.jobs:
            return max(getattr(worker, "ready_ts", 0.0) - now, 0.0)
        head: Job = worker.jobs[0]
        ran = min(max(now - head.start_ts, 0.0), head.estimated_duration)
        return self._work.get(worker.index, 0.0) - ran

    def job_finished(self, simulation: Any, job: Job) -> None:
        """Take its estimate off its worker; of an empty worker nothing is left over by rounding."""
        index = self._chosen.pop(job)
        left = self._work[index] - job.estimated_duration
        self._work[index] = left if simulation.workers[index].jobs else 0.0


class _Bandit:
    """Learns the reward of giving a job to a worker whose queue is so long; every such pair is an arm.

    The reward of a job that ended is that of Simdex's selector: 0 for a wait below 10 s, else minus the wait over the
    duration (of at least 1 s), here squeezed to between 0 and 1 as 1 / (1 - reward).
    """

    def __init__(self, longest: int = 16) -> None:
        if longest < 1:
            raise InputError(f"longest is {longest}; expected 1 or more")
        self.longest = longest
        self.system_monitor = self
        self._arms: dict[tuple[int, int], list[float]] = {}  # number, sum and sum of squares of the rewards
        self._pulled: dict[Job, tuple[int, int]] = {}
        self._count = 0

    def select_worker(self, simulation: Any, job: Job) -> int:
        """The number of a worker."""
        able = admitting(active_workers(simulation.workers), job.estimated_duration)
        self._count += 1
        best, most = able[0], -math.inf
        # Shortest queue first: of arms that are valued alike, as all are in the beginning, it is the best guess.
        for worker in sorted(able, key=lambda each: len(each.jobs)):
            value = self._value(self._arm(worker), simulation, job)
            if value > most:
                best, most = worker, value
        self._pulled[job] = self._arm(best)
        return best.index

    def _arm(self, worker: Worker) -> tuple[int, int]:
        return worker.index, min(len(worker.jobs), self.longest)

    def _value(self, arm: tuple[int, int], simulation: Any, job: Job) -> float:
        raise NotImplementedError

    def job_finished(self, simulation: Any, job: Job) -> None:
        """Learn the reward of what was chosen for it."""
        wait = job.start_ts - job.spawn_ts
        cost = 0.0 if wait < _MINDED_S else wait / max(job.duration, 1.0)
        reward = 1.0 / (1.0 + cost)
        told = self._arms.setdefault(self._pulled.pop(job), [0.0, 0.0, 0.0])
        told[0] += 1.0
        told[1] += reward
        told[2] += reward * reward


class Ucb(_Bandit):
    """The arm with the highest upper confidence bound, mean + c sqrt(2 ln n / n_arm).

    P. Auer, N. Cesa-Bianchi, P. Fischer: "Finite-time analysis of the multiarmed bandit problem", Machine Learning 47,
    2002. An arm without a reward yet is valued as one reward of 1 less the length of its queue over `longest`.
    """

    def __init__(self, c: float = 0.1, longest: int = 16) -> None:
        super().__init__(longest)
        self.c = c

    def _value(self, arm: tuple[int, int], simulation: Any, job: Job) -> float:
        count, total, _ = self._arms.get(arm, (0.0, 0.0, 0.0))
        mean = (total + 1.0 - arm[1] / self.longest) / (count + 1.0)
        return mean + self.c * math.sqrt(2.0 * math.log(self._count) / (count + 1.0))


class Thompson(_Bandit):
    """The arm with the best draw from what is believed of its mean reward, a normal distribution.

    W. R. Thompson: "On the likelihood that one unknown probability exceeds another", Biometrika 25, 1933.
    """

    def _value(self, arm: tuple[int, int], simulation: Any, job: Job) -> float:
        count, total, squares = self._arms.get(arm, (0.0, 0.0, 0.0))
        mean = (total + 1.0 - arm[1] / self.longest) / (count + 1.0)
        spread = max(squares / count - (total / count) ** 2, 0.01) if count else 0.05
        drawn = normal(simulation.seed, BANDIT, job.row, arm[0] * (self.longest + 1) + arm[1])
        return mean + drawn * math.sqrt(spread / (count + 1.0))
