"""What a run found: tables, a summary, and how it came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import polars as pl

from unspool.metrics import measure
from unspool.metrics.energy import energy_figures
from unspool.metrics.losses import lost_work
from unspool.model.platform import Platform
from unspool.plugins import load_built_in
from unspool.results.rejection import warning_of

if TYPE_CHECKING:
    from unspool.results.plots import Plots

__all__ = ["COUNTS", "ENERGY_TABLES", "NETWORK_USE", "TABLES", "Result"]

TABLES: tuple[str, ...] = ("jobs", "attempts", "allocations", "machines", "outages", "rejected")
"""The tables of a result."""

ENERGY_TABLES: tuple[str, ...] = ("power", "switches")
"""Those that a result has only where energy was asked for."""

COUNTS: tuple[str, ...] = (
    "jobs", "rejected", "rejected_records", "rejected_jobs", "jobs_without_estimate", "outages", "lost_attempts",
    "lost_jobs",
)  # fmt: skip
"""What a result counts."""


NETWORK_USE: Mapping[str, Any] = {
    "resource": pl.String, "kind": pl.String, "capacity": pl.Float64, "begin_time": pl.Float64,
    "end_time": pl.Float64, "amount": pl.Float64,
}  # fmt: skip
"""Columns of `Result.network_use`: flops of hosts and bytes of links between two times; capacities are a second's."""

_CLOUD_FIGURES = ("machine_core_hours", "reclaimed", "retries", "lost_core_hours")


@dataclass(frozen=True, eq=False)
class Result:
    """One workload on one platform under one policy.

    `jobs`, `attempts`, `allocations`, `machines`, `outages` and `rejected` are tables; `summary` has every figure. With
    energy, `power` and `switches` are tables too: what each machine drew, and how its state changed.
    `network_use` is empty unless the run was asked to write down how much of each host and link was used.
    """

    workload: str
    platform: Platform
    policy: str
    jobs: pl.DataFrame
    attempts: pl.DataFrame
    allocations: pl.DataFrame
    machines: pl.DataFrame
    outages: pl.DataFrame
    rejected: pl.DataFrame
    config: Mapping[str, Any]
    counts: Mapping[str, int]
    notes: tuple[str, ...] = ()
    shares: Mapping[str, float] = field(default_factory=dict)  # of the log that was rejected
    timing: dict[str, float] = field(default_factory=dict)
    origin_unix_s: float = 0.0  # of the log, so that hours are those of the calendar
    workload_digest: str = ""  # `Workload.digest` of the log; empty where it was not written down
    network_use: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=NETWORK_USE))
    power: pl.DataFrame | None = None
    switches: pl.DataFrame | None = None
    policy_version: int | None = None  # rises when the policy's results change; None where it has none

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Every figure of the run, by name; units stand at the end of the names."""
        return {
            "workload": self.workload,
            "platform": self.platform.name,
            "policy": self.policy,
            **self.counts,
            **self._rejection(),
            **measure(self.jobs, self.platform),
            **lost_work(self.attempts),
            **self._in_the_cloud(),
            **self._energy(),
            "seed": self.config["seed"],
            "notes": list(self.notes),
            "timing": self.timing,
        }

    def _rejection(self) -> dict[str, Any]:
        """Which share of the log was rejected, and if that is large a warning."""
        warning = warning_of({**self.counts, **self.shares})
        return {**self.shares, **({} if warning is None else {"warning": warning})}

    def _in_the_cloud(self) -> dict[str, Any]:
        """What machines that were brought up and down cost, and how much of them was used."""
        cloud = self.platform.cloud
        if cloud is None or not len(self.jobs):
            return {}
        from unspool.metrics.cost import bill, figures, window_of

        window = window_of(self.machines, self.jobs, self.origin_unix_s)
        made = bill(
            self.machines, self.attempts, self.allocations, self.jobs, window, minimum_billed_s=cloud.minimum_billed_s,
            cloud=cloud,
        )  # fmt: skip
        told = figures(made, self.attempts, self.allocations, cloud=cloud)
        paid = told["machine_core_hours"]
        shown = {name: told[name] for name in told if name.endswith("cost_usd") or name in _CLOUD_FIGURES}
        return {**shown, "utilisation": told["job_core_hours"] / paid if paid else 0.0}

    def _energy(self) -> dict[str, Any]:
        """What machines drew from the first submission to the last end, and how often one was switched."""
        if self.power is None or self.switches is None or not len(self.jobs):
            return {}
        since, until = float(self.jobs["submit_time"].min()), float(self.jobs["finish_time"].max())  # type: ignore[arg-type]
        return {**energy_figures(self.power, since, until), "machine_switches": len(self.switches)}

    def series(self, points: int = 1000) -> pl.DataFrame:
        """Queue length, queued work and busy cores over time: means and largest values in so many equal bins."""
        from unspool.results.series import series

        return series(self, points)

    @property
    def plot(self) -> Plots:
        """Figures of Plotly by name: `result.plot.gantt()`; several policies in one: `easy.plot.wait_ecdf(fcfs)`."""
        from unspool.results.plots import Plots

        return Plots(self)

    def __eq__(self, other: object) -> bool:
        """Whether all is the same, but for how long it took."""
        if not isinstance(other, Result):
            return NotImplemented
        tables = (*TABLES, *ENERGY_TABLES, "network_use")
        told = [one.name for one in fields(self) if one.name not in (*tables, "timing")]
        return all(getattr(self, name) == getattr(other, name) for name in told) and all(
            _is_same(getattr(self, name), getattr(other, name)) for name in tables
        )

    __hash__ = None  # type: ignore[assignment]

    def _repr_html_(self) -> str:
        from unspool.results.overview import comparison
        from unspool.results.plots import SKETCH

        head = f"<p><b>{escape(self.workload)}</b> on {escape(self.platform.name)}</p>"
        return head + comparison([self])._repr_html_() + str(load_built_in(SKETCH)(self))


def _is_same(one: pl.DataFrame | None, other: pl.DataFrame | None) -> bool:
    return one is other if one is None or other is None else one.equals(other)
