"""When a model is trained, when it serves, how sure it is, and how long that took in real time."""

from __future__ import annotations

import json
import math
import os
import time
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from unspool.confinement.roots import readable
from unspool.engine.kernel.state import Array
from unspool.errors import InputError
from unspool.policies.learning.features import Features, Sample, seconds_of
from unspool.storage import replacing

__all__ = ["Learner", "Model", "Served", "Times"]

_FORMAT = "unspool learner 1"
_KINDS = ("model", "beside")  # what the arrays of each model are called by in a file
_RESIDUALS = 1000  # of the last jobs, which say how wide an interval must be
_FEWEST_RESIDUALS = 20


class Served(Protocol):
    """A model as it was at one time."""

    def predict(self, rows: Array, codes: Array) -> Array:
        """log(1 + seconds) of each row of features, for codes of its keys."""


class Model(Protocol):
    """What learns: `coded` are the positions of keys whose codes it wants; one that `is_online` is fitted at once."""

    @property
    def coded(self) -> tuple[int, ...]:
        """Positions of keys that it wants numbers of."""

    @property
    def is_online(self) -> bool:
        """Whether it learns from each job by itself."""

    def fit(self, rows: Array, codes: Array, targets: Array) -> None:
        """Learn from samples, oldest first."""

    def served(self) -> Served | None:
        """The model as it is now, which later trainings do not change; None before the first."""

    def state(self) -> dict[str, Any]:
        """Arrays to keep in a file."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take them back."""


@dataclass
class Times:
    """Real time that was spent, apart from the time that is simulated."""

    inferences: int = 0
    inference_ns: int = 0
    trainings: int = 0
    training_ns: int = 0

    def values(self) -> dict[str, float]:
        """Counts, seconds in all, and the mean of each."""
        return {
            "inferences": self.inferences,
            "inference_s": self.inference_ns / 1e9,
            "inference_s_mean": self.inference_ns / 1e9 / max(self.inferences, 1),
            "trainings": self.trainings,
            "training_s": self.training_ns / 1e9,
            "training_s_mean": self.training_ns / 1e9 / max(self.trainings, 1),
        }


@dataclass(slots=True)
class _Asked:
    row: Array
    codes: Array
    told: float
    low: float
    high: float
    quantile: float


class Learner:
    """Asks a model, and trains it after every `interval` jobs on the newest `window` of them.

    A job's features are those at its arrival, also when it is learnt. Until `least` jobs have ended the base is what
    is predicted. With `delay_s` a model that is trained at a time serves from so much later on, and no other training
    begins until then. With `quantile` that quantile of a job's run time is told too: by `beside`, a model of it that is
    trained and serves together with the first, or else by how wrong the last predictions were.
    """

    def __init__(
        self,
        model: Model,
        features: Features,
        *,
        interval: int = 500,
        window: int = 20_000,
        least: int = 200,
        delay_s: float = 0.0,
        coverage: float = 0.8,
        quantile: float | None = None,
        beside: Model | None = None,
    ) -> None:
        if interval < 1 or window < 1 or least < 1:
            raise InputError(f"interval {interval}, window {window}, least {least}; expected 1 or more")
        if not delay_s >= 0.0 or not 0.0 < coverage < 1.0:
            raise InputError(f"delay_s is {delay_s}, coverage {coverage}; expected 0 or more, and between 0 and 1")
        if quantile is not None and not 0.0 < quantile < 1.0:
            raise InputError(f"quantile is {quantile}; expected a number between 0 and 1")
        self.model, self.features, self.quantile = model, features, quantile
        self._models = (model,) if beside is None else (model, beside)
        self.interval, self.least, self.delay_s, self.coverage = interval, least, delay_s, coverage
        self.times = Times()
        self.covered = self.judged = 0
        self._asked: dict[Hashable, _Asked] = {}
        self._ahead: dict[Hashable, tuple[int, Array, Array, list[float]]] = {}
        self._rows: deque[Array] = deque(maxlen=window)
        self._codes: deque[Array] = deque(maxlen=window)
        self._targets: deque[float] = deque(maxlen=window)
        self._numbers: list[dict[str, int]] = [{} for _ in model.coded]
        self._new = 0
        self._served: tuple[Served, ...] = ()  # of each model, none before the first training
        self._version = 0
        self._next: tuple[float, tuple[Served, ...]] | None = None  # from when on, and what serves then
        self._last: deque[float] = deque(maxlen=_RESIDUALS)
        self._sorted: list[float] = []

    def predict(self, name: Hashable, sample: Sample, now: float) -> float:
        """How long a job that arrives now will run, in seconds; `name` is what `learn` will call it."""
        began = time.perf_counter_ns()
        self._turn(now)
        row, codes = self.features.row(sample), self._codes_of(sample)
        told, *beside = self._from_ahead(name, row, codes) or self._told(row[None], codes[None])[0]
        low, high = self._around(told, self.coverage)
        quantile = beside[0] if beside else told + self._shift()
        self._asked[name] = _Asked(row, codes, told, low, high, quantile)
        self.times.inferences += 1
        self.times.inference_ns += time.perf_counter_ns() - began
        return seconds_of(told)

    def predict_many(self, samples: Sequence[Sample]) -> list[float]:
        """The same for many jobs at once, with what is known now; each is what it would be alone."""
        rows, codes = self._stacked(samples)
        return [seconds_of(each[0]) for each in self._told(rows, codes)]

    def look_ahead(self, names: Sequence[Hashable], samples: Sequence[Sample]) -> None:
        """Predict jobs that are about to arrive, together.

        What was predicted counts only for those of which nothing was learnt in between, so that it changes no bit.
        """
        if not names:
            return
        began = time.perf_counter_ns()
        rows, codes = self._stacked(samples)
        told = self._told(rows, codes)
        self._ahead = {
            name: (self._version, row, code, each)
            for name, row, code, each in zip(names, rows, codes, told, strict=True)
        }
        self.times.inference_ns += time.perf_counter_ns() - began

    def interval_s(self, name: Hashable) -> tuple[float, float]:
        """Between what a job that was predicted and has not ended will run, in seconds, as often as `coverage` says.

        From how wrong the last predictions were (split conformal prediction; V. Vovk, A. Gammerman, G. Shafer:
        "Algorithmic Learning in a Random World", 2005), on the scale of logarithms.
        """
        asked = self._asked[name]
        return seconds_of(asked.low), seconds_of(asked.high)

    def quantile_s(self, name: Hashable) -> float:
        """The quantile of the run time of a job that was predicted and has not ended, in seconds."""
        return seconds_of(self._asked[name].quantile)

    def learn(self, name: Hashable, sample: Sample, run_time_s: float, now: float) -> None:
        """A job ended now, after so many seconds; one that was never asked for counts with what is known now."""
        target = math.log1p(max(run_time_s, 0.0))
        asked = self._asked.pop(name, None)
        self._ahead.pop(name, None)
        if asked is not None:
            self._judge(asked, target)
        row, codes = (asked.row, asked.codes) if asked else (self.features.row(sample), self._codes_of(sample))
        self.features.learn(sample, target)
        self._rows.append(row)
        self._codes.append(self._codes_of(sample, learn=True) if self.model.coded else codes)
        self._targets.append(target)
        self._new += 1
        self._turn(now)
        if self.model.is_online:
            self._train(row[None], codes[None], np.array([target]), now)
        elif self._new >= self.interval and len(self._rows) >= self.least and self._next is None:
            self._train(np.array(self._rows), np.array(self._codes), np.array(self._targets), now)
            self._new = 0

    def _train(self, rows: Array, codes: Array, targets: Array, now: float) -> None:
        began = time.perf_counter_ns()
        for model in self._models:
            model.fit(rows, codes, targets)
        trained = self._all_served()
        self.times.trainings += 1
        self.times.training_ns += time.perf_counter_ns() - began
        if self.times.trainings == 1:
            trained[0].predict(rows[:1], codes[:1])  # compiled now, not in the time of a question
        if self._next is None:
            self._next = (now + self.delay_s, trained)
            self._turn(now)

    def _all_served(self) -> tuple[Served, ...]:
        return tuple(served for served in (model.served() for model in self._models) if served is not None)

    def _turn(self, now: float) -> None:
        """A model whose time has come serves."""
        if self._next is not None and self._next[0] <= now:
            self._served = self._next[1]
            self._next = None
            self._version += 1

    def _codes_of(self, sample: Sample, *, learn: bool = False) -> Array:
        found = []
        for at, numbers in zip(self.model.coded, self._numbers, strict=True):
            key = sample.keys[at]
            if key is None:
                found.append(0)
            elif learn:
                found.append(numbers.setdefault(key, len(numbers) + 1))
            else:
                found.append(numbers.get(key, 0))
        return np.array(found, np.int64)

    def numbered(self, at: int, key: str) -> int:
        """The code of a key that a model is to know before any job of it has ended."""
        return self._numbers[at].setdefault(key, len(self._numbers[at]) + 1)

    def _stacked(self, samples: Sequence[Sample]) -> tuple[Array, Array]:
        rows = [self.features.row(sample) for sample in samples]
        return np.array(rows), np.array([self._codes_of(sample) for sample in samples])

    def _told(self, rows: Array, codes: Array) -> list[list[float]]:
        """For each row what each model says of it, before the first training the base."""
        columns = [served.predict(rows, codes) for served in self._served] or [rows[:, -1]] * len(self._models)
        return [list(each) for each in zip(*(column.tolist() for column in columns), strict=True)]

    def _from_ahead(self, name: Hashable, row: Array, codes: Array) -> list[float] | None:
        ahead = self._ahead.get(name)
        if ahead is None or ahead[0] != self._version:
            return None
        is_same = np.array_equal(ahead[1], row, equal_nan=True) and np.array_equal(ahead[2], codes)
        return ahead[3] if is_same else None

    def _around(self, told: float, coverage: float) -> tuple[float, float]:
        residuals = self._sorted
        if len(residuals) < _FEWEST_RESIDUALS:
            return -math.inf, math.inf
        most = len(residuals) - 1
        low = math.floor((1.0 - coverage) / 2 * most)
        return told + residuals[low], told + residuals[most - low]

    def _shift(self) -> float:
        """What the quantile lies above the prediction where no model tells it."""
        residuals = self._sorted
        if self.quantile is None or len(residuals) < _FEWEST_RESIDUALS:
            return 0.0
        return residuals[math.floor(self.quantile * (len(residuals) - 1))]

    def _judge(self, asked: _Asked, target: float) -> None:
        if math.isfinite(asked.high):
            self.judged += 1
            self.covered += asked.low <= target <= asked.high
        residual = target - asked.told
        if len(self._last) == _RESIDUALS:
            del self._sorted[bisect_left(self._sorted, self._last[0])]
        self._last.append(residual)
        insort(self._sorted, residual)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was learnt into a file of arrays (.npz), from which `load` goes on with the same bits."""
        told = {
            "format": _FORMAT, "model": type(self.model).__name__, "groups": self.features.state(), "new": self._new,
            "numbers": self._numbers, "levels": self.features.levels, "width": self.features.width,
            "quantile": self.quantile if len(self._models) > 1 else None,
        }  # fmt: skip
        arrays = {
            "rows": np.array(self._rows), "codes": np.array(self._codes), "targets": np.array(self._targets),
            "residuals": np.array(self._last), **{
                f"{kind}_{key}": each for kind, model in zip(_KINDS, self._models, strict=False)
                for key, each in model.state().items()
            },
        }  # fmt: skip
        with replacing(path) as file:
            np.savez_compressed(file, told=np.frombuffer(json.dumps(told).encode(), np.uint8), **arrays)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Take what was learnt from a file that `save` wrote."""
        try:
            with np.load(readable(path), allow_pickle=False) as kept:
                arrays = {name: kept[name] for name in kept.files}
            told = json.loads(arrays.pop("told").tobytes())
        except FileNotFoundError:
            raise InputError(f"{path}: there is no such file; expected one that save wrote") from None
        except Exception as error:  # whatever the parser stumbles over
            raise InputError(f"{path}: not a file that save wrote ({error})") from error
        expected = (_FORMAT, type(self.model).__name__, self.features.width, [list(at) for at in self.features.levels])
        found = (told.get("format"), told.get("model"), told.get("width"), told.get("levels"))
        if found != expected:
            raise InputError(f"{path}: holds {found[1]} with other features; expected {expected[1]} as it is here")
        if len(self._models) > 1 and told.get("quantile") != self.quantile:
            raise InputError(
                f"{path}: holds no model of the quantile {self.quantile}; save one from a run that asks for it"
            )
        self.features.restore(told["groups"])
        self._numbers, self._new = told["numbers"], told["new"]
        self._rows.extend(arrays["rows"])
        self._codes.extend(arrays["codes"].astype(np.int64))
        self._targets.extend(arrays["targets"].tolist())
        self._last.extend(arrays["residuals"].tolist())
        self._sorted = sorted(self._last)
        for kind, model in zip(_KINDS, self._models, strict=False):
            own = {key.removeprefix(f"{kind}_"): each for key, each in arrays.items() if key.startswith(f"{kind}_")}
            model.restore(own)
        self._served = self._all_served()

    def values(self) -> dict[str, Any]:
        """How often the truth was in the interval, and which share was meant to be."""
        share = self.covered / self.judged if self.judged else None
        return {"interval_coverage": share, "interval_coverage_meant": self.coverage}

    def spent(self) -> dict[str, float]:
        """Real time for questions and trainings."""
        return self.times.values()
