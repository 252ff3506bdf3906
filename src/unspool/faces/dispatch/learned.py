"""Predictors of durations that learn from all that is known of a job when it arrives (spec dispatch A3, B4.4, W3).

Ids are learnt as the texts of the log, so that what was saved holds for another log. Every one is causal: it learns
what has ended, with the features that a job had when it arrived.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from unspool.confinement.roots import readable
from unspool.errors import InputError
from unspool.faces.dispatch.simdex import Job, RefJob
from unspool.policies.learning.features import Features, Sample
from unspool.policies.learning.learner import Learner, Model
from unspool.policies.learning.linear import Linear as LinearModel
from unspool.policies.learning.network import Network as NetworkModel
from unspool.policies.learning.trees import Trees

__all__ = ["Boosting", "Embedding", "Linear", "Network", "NetworkCategory", "Quantile"]

_KEYS = ("exercise", "runtime", "user", "tlgroup", "solution")
_EXERCISE, _RUNTIME, _USER, _COURSE, _SOLUTION = range(len(_KEYS))
_LEVELS = [
    (_SOLUTION,), (_EXERCISE, _USER), (_EXERCISE, _RUNTIME), (_EXERCISE,), (_COURSE, _RUNTIME), (_USER,), (_RUNTIME,),
]  # fmt: skip
_OF_REFS = (_EXERCISE, _RUNTIME, _SOLUTION)  # what a reference run tells


class _Learned:
    """Stands between the jobs of an experiment and a learner."""

    def __init__(
        self, *, interval: int, window: int, delay_s: float, factor: float, coverage: float, save: str | None,
        load: str | None,
    ) -> None:  # fmt: skip
        self._how: dict[str, Any] = {
            "interval": interval, "window": window, "delay_s": delay_s, "coverage": coverage,
        }  # fmt: skip
        self.factor, self._save, self._load = factor, save, load
        self.system_monitor = self
        self._texts: dict[str, Sequence[str]] = {}
        self.learner = self._learner(0)  # complains of bad arguments when it is made, not when it is run

    def _model(self, seed: int) -> Model:
        raise NotImplementedError

    def _model_of(self, quantile: float, seed: int) -> Model | None:
        """A model of a quantile to stand beside; None where there is no such one, and past errors tell it."""
        return None

    def _learner(self, seed: int) -> Learner:
        quantile = self._how.get("quantile")
        beside = None if quantile is None else self._model_of(quantile, seed)
        return Learner(self._model(seed), Features(_LEVELS, numbers=2), beside=beside, **self._how)

    def serve_quantile(self, quantile: float) -> None:
        """Be ready to tell this quantile of durations too."""
        self._how["quantile"] = quantile
        self.learner = self._learner(0)

    def init(self, simulation: Any) -> None:
        """Begin with the seed of the run and the texts of its ids, and with what was saved."""
        self.learner = self._learner(simulation.seed)
        log = simulation.log
        self._texts = {} if log is None else {name: log.texts[name].to_list() for name in _KEYS}
        if self._load is not None:
            self.learner.load(self._load)

    def predict_duration(self, job: Job) -> float:
        """How long the job will run, in seconds."""
        return self.learner.predict(job.row, self._sample(job), job.spawn_ts)

    def predict_interval(self, job: Job) -> tuple[float, float]:
        """Between what a job that was predicted will run, in seconds; not of one that has ended."""
        return self.learner.interval_s(job.row)

    def predict_quantile(self, job: Job) -> float:
        """The quantile that is served, of a job that was predicted, in seconds; not of one that has ended."""
        return self.learner.quantile_s(job.row)

    def predict_many(self, jobs: Sequence[Job]) -> list[float]:
        """The same durations for many jobs at once."""
        return self.learner.predict_many([self._sample(job) for job in jobs])

    def precompute_batch(self, jobs: Sequence[Job]) -> None:
        """Predict jobs ahead, as far as nothing that is learnt in between changes what is predicted."""
        self.learner.look_ahead([job.row for job in jobs], [self._sample(job) for job in jobs])

    def job_finished(self, simulation: Any, job: Job) -> None:
        """Learn from a job that ended, compiled or not: nobody knows before whether it will."""
        self.learner.learn(job.row, self._sample(job), job.duration, job.finish_ts)

    def ref_job_finished(self, simulation: Any, ref: RefJob) -> None:
        """Learn from a reference run that ended: its exercise and runtime, but no features of a job."""
        known = {at: self._text(_KEYS[at], getattr(ref, f"{_KEYS[at]}_id")) for at in _OF_REFS}
        sample = Sample(tuple(known.get(at) for at in range(len(_KEYS))), (math.nan, math.nan), ref.duration)
        self.learner.features.learn(sample, math.log1p(ref.duration))

    def end(self, simulation: Any) -> None:
        """Keep what was learnt, where a file is named."""
        if self._save is not None:
            self.learner.save(self._save)

    def values(self) -> dict[str, Any]:
        """How often the truth was in the interval that was told."""
        return self.learner.values()

    def spent(self) -> dict[str, float]:
        """Real time for questions and trainings."""
        return self.learner.spent()

    def _sample(self, job: Job) -> Sample:
        text = self._text
        keys = (
            text("exercise", job.exercise_id), text("runtime", job.runtime_id), text("user", job.user_id),
            text("tlgroup", job.tlgroup_id), text("solution", job.solution_id),
        )  # fmt: skip
        return Sample(keys, (math.log1p(job.limits), float(job.cpu_time)), job.limits * self.factor)

    def _text(self, name: str, number: int) -> str:
        texts = self._texts.get(name)
        return texts[number - 1] if texts else str(number)


class Boosting(_Learned):
    """Gradient boosting of scikit-learn, grown anew after every `interval` jobs from the newest `window`."""

    def __init__(
        self,
        trees: int = 50,
        learning_rate: float = 0.1,
        leaves: int = 15,
        least: int = 20,
        quantile: float = 0.5,
        interval: int = 250,
        window: int = 10_000,
        delay_s: float = 0.0,
        factor: float = 0.5,
        coverage: float = 0.8,
        save: str | None = None,
        load: str | None = None,
    ) -> None:
        self._given, self._quantile = (trees, learning_rate, leaves, least), quantile
        super().__init__(
            interval=interval, window=window, delay_s=delay_s, factor=factor, coverage=coverage, save=save, load=load
        )

    def _model(self, seed: int) -> Model:
        return self._model_of(self._quantile, seed)

    def _model_of(self, quantile: float, seed: int) -> Model:
        return Trees(*self._given, quantile, seed)


class Quantile(_Learned):
    """A linear model of a quantile that learns from each job when it ends: with 0.9, nine of ten run no longer."""

    def __init__(
        self,
        quantile: float = 0.9,
        learning_rate: float = 0.05,
        factor: float = 0.5,
        coverage: float = 0.8,
        save: str | None = None,
        load: str | None = None,
    ) -> None:
        self._quantile, self._learning_rate = quantile, learning_rate
        super().__init__(interval=1, window=1, delay_s=0.0, factor=factor, coverage=coverage, save=save, load=load)

    def _model(self, seed: int) -> Model:
        return self._model_of(self._quantile, seed)

    def _model_of(self, quantile: float, seed: int) -> Model:
        return LinearModel(quantile, self._learning_rate)


class Linear(Quantile):
    """A linear model of the least absolute error that learns from each job when it ends."""

    def __init__(
        self,
        learning_rate: float = 0.05,
        factor: float = 0.5,
        coverage: float = 0.8,
        save: str | None = None,
        load: str | None = None,
    ) -> None:
        super().__init__(0.5, learning_rate, factor, coverage, save, load)


class Network(_Learned):
    """Dense layers that PyTorch trains on, `training_epochs` times the newest `batch_size` jobs and older ones.

    The first four arguments are those of Simdex's network. Its weights are kept from training to training.
    """

    _coded: ClassVar[tuple[int, ...]] = ()

    def __init__(
        self,
        layer_widths: Sequence[int] = (64,),
        training_interval: int = 500,
        batch_size: int = 1000,
        training_epochs: int = 5,
        replay: float = 2.0,
        learning_rate: float = 0.003,
        delay_s: float = 0.0,
        factor: float = 0.5,
        coverage: float = 0.8,
        save: str | None = None,
        load: str | None = None,
    ) -> None:
        if isinstance(layer_widths, int | str) or not all(isinstance(width, int) for width in layer_widths):
            raise InputError(f"layer_widths is {layer_widths!r}; expected a list of numbers, such as [64, 32]")
        self._given = (layer_widths, training_epochs, batch_size, replay, learning_rate, self._coded)
        super().__init__(
            interval=training_interval, window=20_000, delay_s=delay_s, factor=factor, coverage=coverage, save=save,
            load=load,
        )  # fmt: skip

    def _model(self, seed: int) -> Model:
        return NetworkModel(*self._given, seed=seed)


class Embedding(Network):
    """The same with a vector that is learnt for each exercise, runtime and course.

    `embedding_training_data` is a file of pairs `tlgroup_id;exercise_id` from which the vectors of exercises learn
    before the first training, as in Simdex; such a file knows the whole log, also the future.
    """

    _coded: ClassVar[tuple[int, ...]] = (_EXERCISE, _RUNTIME, _COURSE)

    def __init__(
        self,
        layer_widths: Sequence[int] = (64,),
        training_interval: int = 500,
        batch_size: int = 1000,
        training_epochs: int = 5,
        hash_converters: Mapping[str, Any] | None = None,
        embedding_training_data: str | None = None,
        embedding_dim: int = 16,
        embedding_batch_size: int = 5000,
        embedding_training_epochs: int = 20,
        **others: Any,
    ) -> None:
        self._pairs = None if embedding_training_data is None else _read_pairs(Path(embedding_training_data))
        self._dim, self._pair_epochs = embedding_dim, embedding_training_epochs
        super().__init__(layer_widths, training_interval, batch_size, training_epochs, **others)

    def _model(self, seed: int) -> Model:
        return NetworkModel(*self._given, dim=self._dim, seed=seed)

    def _learner(self, seed: int) -> Learner:
        learner = super()._learner(seed)
        if self._pairs:
            codes = [[learner.numbered(0, exercise), learner.numbered(2, course)] for course, exercise in self._pairs]
            learner.model.pretrain(np.array(codes), self._pair_epochs)  # type: ignore[attr-defined]
        return learner


class NetworkCategory:
    """Trains a network on jobs that ended and gives it to the dispatcher `predicted-category`, as the original does.

    It trains after every `batch_size` jobs, `batch_epochs` times. Unlike the original's it learns a job when it has
    ended, and each reference run then too.
    """

    def __init__(
        self,
        layers_widths: Sequence[int] = (64,),
        batch_size: int = 500,
        batch_epochs: int = 5,
        ref_jobs: list[RefJob] | None = None,
    ) -> None:
        self._refs = ref_jobs or []
        self.network = Network(layers_widths, batch_size, batch_size, batch_epochs)

    def init(self, simulation: Any) -> None:
        """Begin with the seed of the run and give the dispatcher the predictor."""
        setter = getattr(simulation.dispatcher, "set_predictor", None)
        if setter is None:
            raise InputError("the strategy network-category needs the dispatcher predicted-category")
        self.network.init(simulation)
        setter(self.network.predict_duration)

    def do_adapt(self, ts: float, dispatcher: Any, workers: Any, job: Job | None = None) -> None:
        """Nothing is to be done between the ends of jobs."""

    def on_job_finished(self, simulation: Any, job: Job) -> None:
        """Learn from a job that ended and compiled."""
        if job.compilation_ok:
            self.network.job_finished(simulation, job)

    def on_ref_finished(self, simulation: Any, ref: RefJob) -> None:
        """Learn from a reference run that ended, where they are given."""
        if self._refs:
            self.network.ref_job_finished(simulation, ref)

    def spent(self) -> dict[str, float]:
        """Real time for questions and trainings."""
        return self.network.spent()


def _read_pairs(path: Path) -> list[tuple[str, str]]:
    expected = "expected the columns tlgroup_id;exercise_id"
    try:
        with readable(path).open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, delimiter=";"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}); {expected}") from error
    try:
        return [(row["tlgroup_id"], row["exercise_id"]) for row in rows]
    except KeyError as error:
        raise InputError(f"{path}: no column {error}; {expected}") from None
