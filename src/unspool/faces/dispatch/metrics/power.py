"""Workers: how long they were on, how busy they were, what energy they took."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from unspool.errors import InputError
from unspool.faces.dispatch.metrics.base import Metric
from unspool.faces.dispatch.simdex import Job, Worker

__all__ = ["Energy", "Power", "Utilisation"]


class Power(Metric):
    """For how long workers were on, relative to the time of the run.

    With `compat` a worker counts for the time between two ticks if it is active at the second one, as in Simdex;
    without it, from the instant at which it was switched on to that at which it was switched off.
    """

    def __init__(self) -> None:
        self._last: float | None = None
        self._period = 0.0
        self._uptime = 0.0
        self._simulation: Any = None
        self._began = 0.0

    def on_start(self, simulation: Any) -> None:
        """Without `compat` no tick is needed."""
        if self.compat == "none":
            self._simulation, self._began = simulation, simulation.ts
            self.snapshot = None  # type: ignore[method-assign, assignment]

    def snapshot(self, ts: float, workers: Sequence[Worker]) -> None:
        """Count the time since the last tick."""
        if self._last:  # the tool's test, by which a tick at 0.0 counts as none
            passed = max(ts - self._last, 0)
            self._period += passed
            self._uptime += passed * sum(1 for worker in workers if worker.attributes.get("active"))
        self._last = ts

    def values(self) -> dict[str, Any]:
        """The time of the run in seconds, and how many workers were on in the mean."""
        period, uptime = self._period, self._uptime
        if self._simulation is not None:
            period = self._simulation.ts - self._began
            uptime = sum(on_time(worker, self._began, self._simulation.ts) for worker in self._simulation.workers)
        return {"simulation_time_s": period, "relative_uptime": uptime / period if period else 0.0}

    def lines(self, *, verbose: bool = False) -> list[str]:
        """One line, as Simdex has it."""
        period, relative = self.values().values()
        told = [f"Simulation time: {period} s, relative workers uptime: {relative}"]
        if verbose and self._simulation is not None and period:
            workers, until = self._simulation.workers, self._simulation.ts
            told += [f"    worker {each.index}: on for {on_time(each, self._began, until):.3f} s" for each in workers]
        return told


class Utilisation(Metric):
    """Which share of the time workers ran jobs: all together, and each."""

    def on_start(self, simulation: Any) -> None:
        """Take the clock and the workers."""
        self._simulation, self._began = simulation, simulation.ts
        self._busy = [0.0] * len(simulation.workers)
        self._ended = simulation.ts

    def job_finished(self, job: Job) -> None:
        """Count the time that it ran."""
        self._busy[job.worker_index] += job.duration
        self._ended = max(self._ended, job.finish_ts)

    def values(self) -> dict[str, Any]:
        """The share of time for all workers and for each, from the first arrival to the last finish."""
        span = (self._ended - self._began) or math.inf
        each = [busy / span for busy in self._busy]
        return {"utilisation": sum(each) / len(each), "utilisation_of_workers": each}

    def lines(self, *, verbose: bool = False) -> list[str]:
        """One line, with `verbose` one for each worker."""
        whole, each = self.values().values()
        told = [f"Utilisation: {whole:.4f}"]
        return told + ([f"    worker {at}: {share:.4f}" for at, share in enumerate(each)] if verbose else [])


class Energy(Metric):
    """What energy the workers took, from their attributes `watts_busy`, `watts_idle`, `watts_boot` and `watts_off`.

    A worker without an attribute gets the one given here.
    """

    def __init__(
        self, watts_busy: float = 200.0, watts_idle: float = 100.0, watts_boot: float = 150.0, watts_off: float = 5.0
    ) -> None:
        self.watts = {"busy": watts_busy, "idle": watts_idle, "boot": watts_boot, "off": watts_off}

    def on_start(self, simulation: Any) -> None:
        """Take the clock and the workers."""
        if simulation.compat != "none":
            raise InputError("the metric energy needs to know when workers are switched; leave compat out")
        self._simulation, self._began = simulation, simulation.ts
        self._busy = [0.0] * len(simulation.workers)

    def job_finished(self, job: Job) -> None:
        """Count the time that it ran."""
        self._busy[job.worker_index] += job.duration

    def _joules(self, worker: Any) -> float:
        until = self._simulation.ts
        on = on_time(worker, self._began, until)
        boot = sum(max(min(end, until) - begin, 0.0) for begin, end in worker.boots)
        busy = self._busy[worker.index]
        watts = {state: float(worker.attributes.get(f"watts_{state}", given)) for state, given in self.watts.items()}
        spent = {"busy": busy, "boot": boot, "idle": max(on - busy - boot, 0.0), "off": until - self._began - on}
        return float(sum(seconds * watts[state] for state, seconds in spent.items()))

    def values(self) -> dict[str, Any]:
        """Joules of all workers, watts in the mean."""
        joules = sum(map(self._joules, self._simulation.workers))
        span = self._simulation.ts - self._began
        return {"energy_j": joules, "power_avg_w": joules / span if span else 0.0}

    def lines(self, *, verbose: bool = False) -> list[str]:
        """One line, with `verbose` one for each worker."""
        joules, watts = self.values().values()
        told = [f"Energy: {joules / 3.6e6:.6f} kWh, {watts:.3f} W in the mean"]
        if verbose:
            workers = self._simulation.workers
            told += [f"    worker {each.index}: {self._joules(each) / 3.6e6:.6f} kWh" for each in workers]
        return told


def on_time(worker: Any, began: float, until: float) -> float:
    """For how many seconds a worker of the exact drive was on."""
    return float(sum(max(min(end, until) - max(begin, began), 0.0) for begin, end in worker.periods))
