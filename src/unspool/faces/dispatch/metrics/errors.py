"""How good the predictions were, and how the wait is spread over users, exercises and runtimes."""

from __future__ import annotations

import math
from typing import Any

from unspool.errors import UnknownName
from unspool.faces.dispatch.metrics.base import Metric
from unspool.faces.dispatch.simdex import Job

__all__ = ["ByClass", "PredictionError"]

_CLASSES = {
    "user": "user_id", "exercise": "exercise_id", "runtime": "runtime_id", "group": "group_id", "course": "tlgroup_id",
    "worker_group": "worker_group_id",
}  # fmt: skip


class PredictionError(Metric):
    """Mean absolute error, that of the logarithm, and how often the prediction is on the wrong side of a limit."""

    def __init__(self, limit: float = 30.0) -> None:
        self.limit = limit
        self._jobs = 0
        self._absolute = self._bias = self._logarithm = 0.0
        self._sides = {(predicted, true): 0 for predicted in (False, True) for true in (False, True)}

    def job_finished(self, job: Job) -> None:
        """Hold its estimate against its duration."""
        estimate, duration = job.estimated_duration, job.duration
        self._jobs += 1
        self._absolute += abs(estimate - duration)
        self._bias += estimate - duration
        self._logarithm += abs(math.log1p(max(estimate, 0.0)) - math.log1p(duration))
        self._sides[estimate > self.limit, duration > self.limit] += 1

    def values(self) -> dict[str, Any]:
        """Errors in seconds, of log(1 + seconds), and the four counts: short or long, predicted and in truth."""
        jobs = self._jobs or 1
        return {
            "prediction_mae_s": self._absolute / jobs,
            "prediction_bias_s": self._bias / jobs,
            "prediction_log_error": self._logarithm / jobs,
            "predicted_short_is_short": self._sides[False, False],
            "predicted_short_is_long": self._sides[False, True],
            "predicted_long_is_short": self._sides[True, False],
            "predicted_long_is_long": self._sides[True, True],
        }

    def lines(self, *, verbose: bool = False) -> list[str]:
        """One line, with `verbose` the four counts."""
        mae, bias, logarithm, *counts = self.values().values()
        wrong = counts[1] + counts[2]
        told = [
            f"Prediction error: {mae:.3f} s, bias {bias:.3f} s, of the logarithm {logarithm:.4f}; "
            f"wrong side of {self.limit} s: {wrong} of {self._jobs}"
        ]
        if verbose:
            told.append(f"    short: {counts[0]} right, {counts[2]} predicted long")
            told.append(f"    long: {counts[3]} right, {counts[1]} predicted short")
        return told


class ByClass(Metric):
    """The wait by user, exercise, runtime, group or course, and how evenly it is spread (Jain's index)."""

    def __init__(self, by: str = "user", most: int = 10) -> None:
        if by not in _CLASSES:
            raise UnknownName("class of jobs", str(by), _CLASSES)
        self.by, self.most = by, most
        self._name = _CLASSES[by]
        self._found: dict[Any, list[float]] = {}
        self._texts: Any = None

    def on_start(self, simulation: Any) -> None:
        """Take the texts that the numbers of the log stand for."""
        texts = simulation.log.texts.get(self._name.removesuffix("_id")) if simulation.log is not None else None
        self._texts = None if texts is None else texts.to_list()

    def _text(self, key: Any) -> str:
        return str(key) if self._texts is None or isinstance(key, str) else str(self._texts[key - 1])

    def job_finished(self, job: Job) -> None:
        """Count its delay for its class."""
        own = self._found.setdefault(getattr(job, self._name), [0, 0.0, 0.0])
        delay = job.start_ts - job.spawn_ts
        own[0] += 1
        own[1] += delay
        own[2] = max(own[2], delay)

    def values(self) -> dict[str, Any]:
        """The number of classes, Jain's index, and for each class its jobs, mean and greatest delay."""
        means = [total / count for count, total, _ in self._found.values()]
        squares = sum(mean * mean for mean in means) * len(means)
        table = {
            self._text(key): {"jobs": int(count), "delay_avg": total / count, "delay_max": most}
            for key, (count, total, most) in self._found.items()
        }
        fairness = sum(means) ** 2 / squares if squares else 1.0
        return {f"{self.by}s": len(means), f"fairness_of_{self.by}s": fairness, f"by_{self.by}": table}

    def lines(self, *, verbose: bool = False) -> list[str]:
        """One line, with `verbose` those that wait longest."""
        number, fairness, table = self.values().values()
        told = [f"By {self.by}: {number} of them, fairness of mean delays {fairness:.4f}"]
        if verbose:
            longest = sorted(table.items(), key=lambda pair: -pair[1]["delay_avg"])[: self.most]
            told += [f"    {key}: {row['jobs']} jobs, avg. delay: {row['delay_avg']:.3f}" for key, row in longest]
        return told
