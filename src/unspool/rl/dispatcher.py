"""An agent that was trained on `WorkerEnv`, as a dispatcher of `unspool dispatch`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from unspool.arrays import Array
from unspool.errors import InputError
from unspool.faces.dispatch.dispatchers import active_workers, estimated
from unspool.faces.dispatch.simdex import Job, Worker
from unspool.rl.trained import load_model, most_likely
from unspool.simulation.assigning import ARRIVAL, PER_WORKER

__all__ = ["TrainedDispatcher", "WorkerChooser"]

_LONGEST = math.log1p(86400.0)
_SOME = 4.0


class WorkerChooser:
    """A dispatcher that asks `choose(seen, mask)` for a worker, of the same numbers as `WorkerEnv` shows."""

    def __init__(self, choose: Callable[[Array, Array], int]) -> None:
        self.choose = choose

    def dispatch(self, job: Job, workers: Sequence[Worker], simulation: Any) -> None:
        """Give the job to a worker."""
        active_workers(workers)
        estimate = estimated(job, simulation)
        seen, mask = _seen(job, workers, estimate)
        chosen = int(self.choose(seen, mask))
        workers[chosen if 0 <= chosen < len(mask) and mask[chosen] else int(mask.argmax())].enqueue(job)


class TrainedDispatcher(WorkerChooser):
    """In an experiment: `dispatcher: {class: unspool.rl.dispatcher.TrainedDispatcher, args: {model: model.zip}}`."""

    def __init__(self, model: str, algorithm: str = "maskable-ppo", pickle: bool = False) -> None:
        self._model = load_model(model, algorithm, pickle=pickle)
        self._workers = int(getattr(self._model.action_space, "n", 0))
        if self._model.observation_space.shape != (ARRIVAL + PER_WORKER * self._workers,):
            raise InputError(f"{model}: expected a model that was trained on unspool.rl.WorkerEnv")
        super().__init__(most_likely(self._model, algorithm))
        self._name = model

    def dispatch(self, job: Job, workers: Sequence[Worker], simulation: Any) -> None:
        """Give the job to a worker."""
        if len(workers) != self._workers:
            raise InputError(f"{self._name} was trained for {self._workers} workers; there are {len(workers)}")
        super().dispatch(job, workers, simulation)


def _seen(job: Job, workers: Sequence[Worker], estimate: float) -> tuple[Array, Array]:
    """What `simulation/assigning.py` writes, of the workers of an experiment."""
    mask = np.array([bool(worker.attributes.get("active")) for worker in workers])
    rows = np.zeros((len(workers), PER_WORKER))
    rows[:, 0] = mask
    for at, worker in enumerate(workers):
        count, limit = len(worker.jobs), worker.attributes.get("limit")
        rows[at, 1] = count / (count + _SOME)
        rows[at, 2] = min(math.log1p(_work_of(worker, job.spawn_ts)) / _LONGEST, 1.0)
        rows[at, 3] = limit is None or limit >= estimate
    of_job = [min(math.log1p(max(seconds, 0.0)) / _LONGEST, 1.0) for seconds in (estimate, job.limits)]
    return np.array([*of_job, mask.sum() / len(mask), *rows.ravel()], np.float32), mask


def _work_of(worker: Worker, now: float) -> float:
    work = 0.0
    for at, waiting in enumerate(worker.jobs):
        ran = now - waiting.start_ts if at == 0 else 0.0
        work += max(waiting.estimated_duration - ran, 0.0)
    return work
