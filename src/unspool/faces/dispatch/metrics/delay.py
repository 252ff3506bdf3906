"""Waiting: delays and their quantiles, response times, slowdown."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from unspool.errors import InputError
from unspool.faces.dispatch.metrics.base import Metric
from unspool.faces.dispatch.simdex import Job

__all__ = ["Delay", "Quantiles", "Response", "Slowdown"]

_QUANTILES = (0.5, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
_ON_EACH = "    worker {}: {} jobs, avg. delay: {:.3f}"


class Delay(Metric):
    """How long jobs wait from arrival to start: number, mean, most."""

    def __init__(self) -> None:
        self.jobs = 0
        self.delay_sum = 0.0
        self.delay_max = 0.0
        self._by_worker: dict[int, list[float]] = {}

    def job_finished(self, job: Job) -> None:
        """Count its delay."""
        delay = job.start_ts - job.spawn_ts
        self.jobs += 1
        self.delay_sum += delay
        if delay > self.delay_max:
            self.delay_max = delay
        own = self._by_worker.get(job.worker_index)
        if own is None:
            self._by_worker[job.worker_index] = [1, delay]
        else:
            own[0] += 1
            own[1] += delay

    def values(self) -> dict[str, Any]:
        """The number of jobs, their mean and greatest delay in seconds."""
        mean = self.delay_sum / self.jobs if self.jobs else 0.0
        return {"jobs_total": self.jobs, "delay_avg": mean, "delay_max": self.delay_max}

    def lines(self, *, verbose: bool = False) -> list[str]:
        """One line, as Simdex has it."""
        mean = self.delay_sum / self.jobs if self.jobs else 0.0
        told = [f"Total jobs: {self.jobs}, avg. delay: {mean}, max. delay: {self.delay_max}"]
        if verbose:
            each = sorted(self._by_worker.items())
            told += [_ON_EACH.format(index, int(count), total / count) for index, (count, total) in each]
        return told


class _Kept(Metric):
    """A figure of each job, all of them kept."""

    name = ""

    def __init__(self) -> None:
        self._kept = array("d")

    def values(self) -> dict[str, Any]:
        """Mean, median, 95 % and greatest."""
        kept = np.frombuffer(self._kept) if self._kept else np.zeros(1)
        median, most = np.quantile(kept, [0.5, 0.95]).tolist()
        return {
            f"{self.name}_avg": float(kept.mean()),
            f"{self.name}_median": median,
            f"{self.name}_p95": most,
            f"{self.name}_max": float(kept.max()),
        }

    def lines(self, *, verbose: bool = False) -> list[str]:
        """One line."""
        avg, median, most, top = self.values().values()
        told = self.name.removesuffix("_s").replace("_", " ").capitalize()
        return [f"{told}: avg. {avg:.3f}, median {median:.3f}, 95 % {most:.3f}, max. {top:.3f}"]


class Response(_Kept):
    """How long jobs take from arrival to finish, in seconds."""

    name = "response_s"

    def job_finished(self, job: Job) -> None:
        """Keep its response time."""
        self._kept.append(job.finish_ts - job.spawn_ts)


class Slowdown(_Kept):
    """Response time over duration, at least 1; durations below `bound_s` count as that."""

    name = "bounded_slowdown"

    def __init__(self, bound_s: float = 10.0) -> None:
        super().__init__()
        self.bound_s = bound_s

    def job_finished(self, job: Job) -> None:
        """Keep its slowdown."""
        self._kept.append(max(1.0, (job.finish_ts - job.spawn_ts) / max(job.duration, self.bound_s, 1e-9)))


class Quantiles(Metric):
    """Quantiles of the delay, linear between two values."""

    def __init__(self, quantiles: Sequence[float] | None = None) -> None:
        self.quantiles = list(_QUANTILES if quantiles is None else quantiles)
        for quantile in self.quantiles:
            if not isinstance(quantile, int | float) or not 0 <= quantile <= 1:
                raise InputError(f"a quantile is {quantile}; expected a number from 0 to 1")
        self._delays = array("d")

    def job_finished(self, job: Job) -> None:
        """Keep its delay."""
        self._delays.append(job.start_ts - job.spawn_ts)

    def _found(self) -> list[float]:
        delays = np.frombuffer(self._delays) if self._delays else np.zeros(1)
        found: list[float] = np.quantile(delays, self.quantiles).tolist()
        return found

    def values(self) -> dict[str, Any]:
        """The delay at each quantile in seconds."""
        return {f"delay_q{quantile}": value for quantile, value in zip(self.quantiles, self._found(), strict=True)}

    def lines(self, *, verbose: bool = False) -> list[str]:
        """A line for each, as Simdex has it."""
        width = max((len(str(quantile)) for quantile in self.quantiles), default=0)
        pairs = zip(self.quantiles, self._found(), strict=True)
        return ["Delay quantiles:", *(f"    {quantile!s:<{width}}: {value:.2f}" for quantile, value in pairs)]
