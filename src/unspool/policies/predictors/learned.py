"""Predictors that learn from many columns of a log: boosting, linear, quantile, network and embedding."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, ClassVar

from unspool.engine.jobs.estimates import LEAST_S
from unspool.errors import DecisionError
from unspool.policies.learning.features import Features, Sample
from unspool.policies.learning.learner import Learner, Model
from unspool.policies.learning.linear import Linear as LinearModel
from unspool.policies.learning.network import Network as NetworkModel
from unspool.policies.learning.trees import Trees

if TYPE_CHECKING:
    from unspool.policies.view import Job

__all__ = ["Boosting", "Embedding", "Linear", "Network", "Quantile"]

_COLUMNS = ("user", "application", "group", "queue")
# Positions in the columns above, then 4 the walltime and 5 the cores: many jobs are sent again as they were.
_LEVELS = [(0, 1, 4, 5), (0, 4, 5), (0, 4), (0, 1), (0,), (1,), (2,), (3,)]


class _Learned:
    """Stands between a scheduler's jobs and a learner; at most the walltime is predicted, with `capped`."""

    coded: ClassVar[tuple[int, ...]] = ()

    def __init__(self, model: Model, capped: bool, load: str | None, **how: Any) -> None:
        self.learner = Learner(model, Features(_LEVELS, numbers=3), **how)
        self._capped = capped
        self._now = 0.0
        if load is not None:
            self.learner.load(load)

    def predict_one(self, job: Job) -> float:
        """How long the job will run, in seconds."""
        self._now = job.submit_time
        told = max(self.learner.predict(job.index, _sample(job), self._now), LEAST_S)
        return min(told, job.estimate) if self._capped else told

    def learn_one(self, job: Job, run_time_s: float) -> None:
        """A job ended after so many seconds."""
        try:
            now = job.finish_time
        except DecisionError:  # it was lost and waits again
            now = self._now
        self.learner.learn(job.index, _sample(job), run_time_s, now)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was learnt into a file, which `load` takes."""
        self.learner.save(path)


def _sample(job: Job) -> Sample:
    asked = _walltime(job)
    keys = [_text(job[column]) for column in _COLUMNS]
    numbers = (math.log1p(asked), math.log1p(job.cores), float(job.submit_time % 86400.0) / 8640.0)
    return Sample((*keys, f"{asked:g}", str(job.cores)), numbers, asked)


def _walltime(job: Job) -> float:
    """What was asked for: the estimate of a job may be a prediction by now."""
    told = job["walltime"]
    return job.estimate if told is None or not math.isfinite(told) else float(told)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


class Boosting(_Learned):
    """Gradient boosting of scikit-learn, grown anew after every `interval` jobs from the newest `window`."""

    def __init__(
        self, trees: int = 50, learning_rate: float = 0.1, leaves: int = 15, quantile: float = 0.5,
        interval: int = 500, window: int = 10_000, delay_s: float = 0.0, capped: bool = True, seed: int = 0,
        load: str | None = None,
    ) -> None:  # fmt: skip
        model = Trees(trees, learning_rate, leaves, quantile=quantile, seed=seed)
        super().__init__(model, capped, load, interval=interval, window=window, delay_s=delay_s)


class Linear(_Learned):
    """A linear model that learns from each job when it ends."""

    def __init__(self, learning_rate: float = 0.05, capped: bool = True, load: str | None = None) -> None:
        super().__init__(LinearModel(0.5, learning_rate), capped, load)


class Quantile(_Learned):
    """A linear model of a quantile: with 0.9, nine jobs of ten are meant to run no longer."""

    def __init__(
        self, quantile: float = 0.9, learning_rate: float = 0.05, capped: bool = True, load: str | None = None
    ) -> None:
        super().__init__(LinearModel(quantile, learning_rate), capped, load)


class Network(_Learned):
    """Dense layers, trained on by PyTorch after every `interval` jobs."""

    def __init__(
        self, width: int = 64, interval: int = 1000, batch: int = 1000, epochs: int = 5, delay_s: float = 0.0,
        capped: bool = True, seed: int = 0, load: str | None = None,
    ) -> None:  # fmt: skip
        model = NetworkModel((width,), epochs, batch, coded=self.coded, seed=seed)
        super().__init__(model, capped, load, interval=interval, delay_s=delay_s)


class Embedding(Network):
    """Dense layers of PyTorch with a vector that is learnt for each user, application and queue."""

    coded: ClassVar[tuple[int, ...]] = (0, 1, 3)
