"""Predictors of durations: those of Simdex that are not neural, and ours (spec dispatch B4.4, A3).

Ours have `predict_one(job)` and `learn_one(job, run_time_s)`; `Adapted` gives any such one the methods of Simdex.
What is learnt is learnt when a job or a reference run has ended: no predictor here but the oracles sees the future.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Sequence
from typing import Any

from unspool.errors import InputError, UnknownName
from unspool.faces.dispatch.draws import NOISE, normal
from unspool.faces.dispatch.index import DurationIndex
from unspool.faces.dispatch.simdex import Job, RefJob

__all__ = [
    "Adapted", "IndexPredictor", "Limits", "NoisyOracle", "Oracle", "Statistics", "Zero",
]  # fmt: skip

_KEYS = {
    "exercise": "exercise_id", "runtime": "runtime_id", "user": "user_id", "group": "group_id", "course": "tlgroup_id",
    "worker_group": "worker_group_id",
}  # fmt: skip
_STATISTICS = ("mean", "median", "quantile", "decayed")


class Limits:
    """The limits of the job times a factor, half of them unless told otherwise."""

    def __init__(self, factor: float = 0.5) -> None:
        self.factor = factor
        self.predict_duration = self.predict_one

    def predict_one(self, job: Job) -> float:
        """How long the job will run, in seconds."""
        return job.limits * self.factor


class Zero:
    """Nothing: every limit admits every job."""

    def predict_one(self, job: Job) -> float:
        """Zero seconds."""
        return 0

    predict_duration = predict_one


class Oracle:
    """The true duration."""

    def predict_one(self, job: Job) -> float:
        """How long the job will run, in seconds."""
        return job.duration

    predict_duration = predict_one


class NoisyOracle:
    """The true duration times a log-normal error whose median is 1, drawn for each job."""

    def __init__(self, sigma: float = 0.5) -> None:
        if sigma < 0:
            raise InputError(f"sigma is {sigma}; expected 0 or more")
        self.sigma = sigma
        self._seed = 0

    def init(self, simulation: Any) -> None:
        """Take the seed of the run."""
        self._seed = simulation.seed

    def predict_one(self, job: Job) -> float:
        """How long the job will run, in seconds, more or less."""
        return job.duration * math.exp(self.sigma * normal(self._seed, NOISE, job.row))

    predict_duration = predict_one


class IndexPredictor:
    """The mean of the same exercise and runtime, else of the exercise, else half the limits; Simdex's statistics.

    It learns from every job that ended, failed compilations too, and from every reference run that did.
    """

    def __init__(self) -> None:
        self.index = DurationIndex()
        self.system_monitor = self

    def predict_duration(self, job: Job) -> float:
        """How long the job will run, in seconds."""
        known = self.index.estimate(job)
        return job.limits / 2 if known is None else known

    def job_finished(self, simulation: Any, job: Job) -> None:
        """Learn the duration of a job that ended."""
        self.index.add(job)

    def ref_job_finished(self, simulation: Any, ref: RefJob) -> None:
        """Learn the duration of a reference run that ended."""
        self.index.add(ref)


class Statistics:
    """A statistic of past durations of the job's like, by all keys given, else without the last one, and so on.

    `statistic` is mean, median, quantile (with `quantile`) or decayed, a mean in which a job counts `decay` times as
    much as the one after it. Until the first key is known: the limits times `factor`. Compilations that failed are
    not learnt, unless `failed` is set.
    """

    def __init__(
        self,
        by: Sequence[str] | str = ("exercise", "runtime"),
        statistic: str = "mean",
        quantile: float = 0.5,
        decay: float = 0.9,
        factor: float = 0.5,
        failed: bool = False,
    ) -> None:
        names = [by] if isinstance(by, str) else list(by)
        for name in names:
            if name not in _KEYS:
                raise UnknownName("key of durations", str(name), _KEYS)
        if statistic not in _STATISTICS:
            raise UnknownName("statistic", str(statistic), _STATISTICS)
        if not 0 <= quantile <= 1 or not 0 < decay <= 1:
            raise InputError(f"quantile is {quantile} and decay {decay}; expected 0 to 1, and decay above 0")
        self._levels = [tuple(_KEYS[name] for name in names[:count]) for count in range(len(names), 0, -1)]
        self._tables: list[dict[tuple[Any, ...], _Past]] = [{} for _ in self._levels]
        self._share = {"median": 0.5, "quantile": quantile}.get(statistic)
        self._served: float | None = None
        self._decay = decay if statistic == "decayed" else 1.0
        self.factor, self.failed = factor, failed

    def predict_one(self, job: Job) -> float:
        """How long the job will run, in seconds."""
        return self._told(job, self._share)

    def serve_quantile(self, quantile: float) -> None:
        """Be ready to tell this quantile of durations too."""
        self._served = quantile

    def predict_quantile(self, job: Job) -> float:
        """The quantile that is served, in seconds."""
        return self._told(job, self._served)

    def _told(self, job: Job, share: float | None) -> float:
        """A quantile of what jobs like it took, or without a share their mean."""
        for names, table in zip(self._levels, self._tables, strict=True):
            past = table.get(tuple(getattr(job, name) for name in names))
            if past is not None:
                return past.total / past.weight if share is None else past.quantile(share)
        return job.limits * self.factor

    def learn_one(self, job: Job | RefJob, run_time_s: float) -> None:
        """A job or a reference run ended after so many seconds."""
        if not job.compilation_ok and not self.failed:
            return
        is_sorted = self._share is not None or self._served is not None
        for names, table in zip(self._levels, self._tables, strict=True):
            values = [getattr(job, name, None) for name in names]
            if None in values:  # reference runs have no user, no group and no course
                continue
            table.setdefault(tuple(values), _Past()).add(run_time_s, self._decay, is_sorted)


class _Past:
    """Durations that were seen: a weighted sum, and where quantiles are asked for all of them in order."""

    __slots__ = ("sorted", "total", "weight")

    def __init__(self) -> None:
        self.total = self.weight = 0.0
        self.sorted: list[float] = []

    def add(self, run_time_s: float, decay: float, is_sorted: bool) -> None:
        self.total = self.total * decay + run_time_s
        self.weight = self.weight * decay + 1.0
        if is_sorted:
            insort(self.sorted, run_time_s)

    def quantile(self, share: float) -> float:
        at = share * (len(self.sorted) - 1)
        low = int(at)
        high = min(low + 1, len(self.sorted) - 1)
        return self.sorted[low] + (self.sorted[high] - self.sorted[low]) * (at - low)


class Adapted:
    """A predictor with `predict_one` and `learn_one` under the names that Simdex calls; River's models are such too."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.predict_duration = inner.predict_one
        self.system_monitor = self
        self._learn = getattr(inner, "learn_one", None)
        for name in ("serve_quantile", "predict_quantile"):
            if hasattr(inner, name):
                setattr(self, name, getattr(inner, name))

    def init(self, simulation: Any) -> None:
        """Pass it on."""
        if hasattr(self.inner, "init"):
            self.inner.init(simulation)

    def job_finished(self, simulation: Any, job: Job) -> None:
        """Let it learn from a job that ended."""
        if self._learn:
            self._learn(job, job.duration)

    def ref_job_finished(self, simulation: Any, ref: RefJob) -> None:
        """Let it learn from a reference run that ended."""
        if self._learn:
            self._learn(ref, ref.duration)
