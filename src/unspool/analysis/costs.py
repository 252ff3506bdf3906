"""What a run in the cloud costs, put together: the bill, the hours, the figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from unspool.analysis.commitments import Commitments
from unspool.metrics.cost import Bill, bill, figures, hourly, window_of
from unspool.metrics.cost.waits import MEMORY_GIB, RUN_MINUTES
from unspool.model.cloud import Cloud
from unspool.model.workload import Workload
from unspool.results.rejection import SHARES
from unspool.results.result import Result

__all__ = ["Costs", "costs_of"]

_FROM_LOG = ("machines", "memory_bytes", "logged_wait", "user", "queue", "project", "licences")

_REJECTED = ("rejected", "rejected_records", "rejected_jobs", *SHARES, "warning")

_NOTHING_PAID = "no hour lies in the window: here the jobs end and all machines stop outside it, so nothing is billed"


@dataclass(frozen=True, eq=False)
class Costs:
    """One run and what it costs: `bill` has the tables of machines and jobs with their costs, `summary` the figures.

    `memory_bins_gib` and `run_time_bins_min` are upper bounds of the bins that waits are told by. `commitments` are
    there if they were asked for. `origin` says how it came about, where that is known: `command`, `versions`, and
    `files`, the text of each by its name.
    """

    bill: Bill
    hourly: pl.DataFrame
    attempts: pl.DataFrame
    allocations: pl.DataFrame
    rejected: pl.DataFrame
    summary: dict[str, Any]
    notes: tuple[str, ...] = ()
    memory_bins_gib: tuple[float, ...] = MEMORY_GIB
    run_time_bins_min: tuple[float, ...] = RUN_MINUTES
    commitments: Commitments | None = None
    origin: Mapping[str, Any] = field(default_factory=dict)


def costs_of(
    result: Result,
    workload: Workload,
    *,
    starttime: float | None = None,
    endtime: float | None = None,
    memory_bins_gib: tuple[float, ...] = MEMORY_GIB,
    run_time_bins_min: tuple[float, ...] = RUN_MINUTES,
    notes: tuple[str, ...] = (),
) -> Costs:
    """The costs of a run. `starttime` and `endtime`, in seconds since 1970, leave out hours before and after."""
    cloud = result.platform.cloud
    jobs = _with_log(result.jobs, workload)
    window = window_of(
        result.machines, jobs, workload.origin_unix_s, starttime=starttime, endtime=endtime
    )  # fmt: skip
    minimum_s = 0.0 if cloud is None else cloud.minimum_billed_s
    made = bill(
        result.machines, result.attempts, result.allocations, jobs, window, minimum_billed_s=minimum_s, cloud=cloud
    )  # fmt: skip
    told = figures(made, result.attempts, result.allocations, cloud=cloud)
    return Costs(
        bill=made,
        hourly=hourly(made, result.attempts),
        attempts=result.attempts,
        allocations=result.allocations,
        rejected=result.rejected,
        summary={
            "workload": result.workload,
            "policy": result.policy,
            **told,
            **{name: result.summary[name] for name in _REJECTED if name in result.summary},
            "seed": result.config["seed"],
        },
        notes=(
            *notes,
            *result.notes,
            *_on_architectures(result.machines, cloud),
            *((_NOTHING_PAID,) if len(jobs) and not window.hours else ()),
        ),
        memory_bins_gib=memory_bins_gib,
        run_time_bins_min=run_time_bins_min,
    )


def _on_architectures(machines: pl.DataFrame, cloud: Cloud | None) -> list[str]:
    """That instances of several architectures were started: programs are seldom built for all of them."""
    if cloud is None:
        return []
    kinds = {kind.name: kind.architecture for kind in cloud.types if kind.architecture}
    started = machines.filter(pl.col("start_time").is_not_null())["type"].replace_strict(kinds, default=None)
    counts = started.drop_nulls().value_counts(sort=True, name="instances").sort("instances", "type", descending=True)
    if len(counts) < 2:
        return []
    told = ", ".join(f"{count:,} {name}" for name, count in counts.iter_rows())
    most = counts["type"][0]
    return [f"instances of several architectures were started: {told}; Architecture: {most} starts only those"]


def _with_log(jobs: pl.DataFrame, workload: Workload) -> pl.DataFrame:
    """The jobs that ran, with what the log says of them and the run did not keep."""
    missing = [name for name in _FROM_LOG if name not in jobs.columns and name in workload.table.columns]
    if not missing:
        return jobs
    return jobs.join(workload.table.select("job_id", *missing), on="job_id", how="left", maintain_order="left")
