"""The bill: what each machine and each job costs, to the second, and where the rest goes.

A machine's paid time is boot (start to up), run (at least one job runs on it) and idle (all else). Boot is charged to
the job that the machine was started for, run to the jobs on it by the limiting resource, idle to nobody. Disks and
licences of machines are paid and charged in the same way at rates of their own, and kept apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from unspool.metrics.cost.allocation import (
    ALWAYS,
    BOOT,
    HOUR_S,
    IDLE,
    LIFE,
    MACHINE_DTYPE,
    RUN,
    RUN_DTYPE,
    USED,
    sweep,
)
from unspool.metrics.cost.extras import held_licences, machine_rates
from unspool.metrics.cost.hosts import hosts_of
from unspool.metrics.cost.threads import counted_cores, jobs_with_physical_cores, with_physical_cores
from unspool.metrics.cost.window import Window
from unspool.model.cloud import Cloud

__all__ = ["Bill", "bill", "groups_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_BILLINGS = {"life": LIFE, "always": ALWAYS, "used": USED}
_KINDS = {"boot": BOOT, "run": RUN, "idle": IDLE}
_EXTRAS = ("disk", "licence")


@dataclass(frozen=True, eq=False)
class Bill:
    """What is paid in the hours of a window.

    `machines` and `jobs` are the tables of the run with their costs beside; `groups` has the plan and family of each
    row of `cost_usd[kind, group, hour]` (kinds are boot, run, idle) and `core_hours[group, hour]`. Those are the prices
    of the machines; `disk_usd[hour]` and `licence_usd[hour]` come on top.
    """

    window: Window
    machines: pl.DataFrame
    jobs: pl.DataFrame
    groups: pl.DataFrame
    cost_usd: Floats
    core_hours: Floats
    unallocated_usd: float
    disk_usd: Floats
    licence_usd: Floats
    held_licence_usd: float = 0.0

    @property
    def machines_usd(self) -> float:
        """What all machines cost, without disks and licences."""
        return float(self.machines["cost_usd"].sum())

    @property
    def extra_usd(self) -> dict[str, float]:
        """What disks and licences cost, those that jobs hold included."""
        disk, licence = (float(self.machines[f"{name}_cost_usd"].sum()) for name in _EXTRAS)
        return {"disk": disk, "licence": licence + self.held_licence_usd}

    @property
    def total_usd(self) -> float:
        """What everything costs."""
        return self.machines_usd + sum(self.extra_usd.values())


def groups_of(machines: pl.DataFrame) -> pl.DataFrame:
    """The plans and families that machines are of."""
    return machines.select("plan", "family").unique().sort("plan", "family")


def bill(
    machines: pl.DataFrame,
    attempts: pl.DataFrame,
    allocations: pl.DataFrame,
    jobs: pl.DataFrame,
    window: Window,
    *,
    minimum_billed_s: float = 0.0,
    cloud: Cloud | None = None,
) -> Bill:
    """Bill the machines of a run for the hours of a window.

    Machines are numbered from 0. For each unit an attempt has its cores and its job's memory over the number of its
    units, rounded up; where `cheapest-fit` placed it, a host is a unit. No memory counts as 0. What disks and licences
    cost is said by the cloud; licences that jobs hold are billed where the table of jobs has `licences`. With
    hyper-threading, machines and jobs have `physical_cores` beside the `cores` that are shared, for core-hours.
    """
    machines = with_physical_cores(machines.sort("machine"), cloud)
    groups = groups_of(machines)
    paid = _machine_rows(machines, groups)
    numbered = jobs.select("job_id", _memory_of(jobs)).with_row_index("job")
    hosts = _hosts(attempts, allocations, numbered)
    runs, by_finish = _run_rows(hosts)
    cost = np.zeros((len(_KINDS), len(groups), window.hours))
    core_s = np.zeros((len(groups), window.hours))
    sweep(paid, runs, by_finish, window.begin_s, window.hours, minimum_billed_s, cost, core_s)
    billed = _with_costs(machines, paid, hosts)
    if cloud is not None and cloud.providers:
        billed = billed.with_columns(_providers(cloud))
    rates = machine_rates(machines, cloud)
    held = held_licences(attempts, jobs, cloud, window)
    usd, unallocated = _job_costs(billed, numbered, hosts["job"], runs["usd"])
    by_hour = {"licence": held.by_hour}
    for name in _EXTRAS:
        hours_usd, runs_usd = _at_rate(rates[name], paid, runs, by_finish, window, minimum_billed_s)
        by_hour[name] = hours_usd + by_hour.get(name, 0.0)
        billed = billed.with_columns(_paid_for(billed, rates[name]).alias(f"{name}_cost_usd"))
        extra, rest = _job_costs(billed, numbered, hosts["job"], runs_usd, rates[name])
        usd[name], unallocated = extra["boot"] + extra["run"], unallocated + rest
    usd["licence"] = usd["licence"] + held.by_job
    shares = [pl.Series(f"{name}_cost_usd", usd[name]) for name in ("boot", "run", *_EXTRAS)]
    return Bill(
        window=window,
        machines=billed,
        jobs=jobs_with_physical_cores(jobs, machines, attempts, allocations).with_columns(
            *shares, pl.Series("cost_usd", np.sum(list(usd.values()), axis=0))
        ),
        groups=groups,
        cost_usd=cost,
        core_hours=core_s / HOUR_S,
        unallocated_usd=unallocated,
        disk_usd=by_hour["disk"],
        licence_usd=by_hour["licence"],
        held_licence_usd=float(held.by_job.sum()),
    )


def _at_rate(
    rate: Floats,
    paid: npt.NDArray[np.void],
    runs: npt.NDArray[np.void],
    by_finish: Ints,
    window: Window,
    minimum_s: float,
) -> tuple[Floats, Floats]:
    """Dollars of each hour and of each run, were this the price of the machines."""
    cost = np.zeros((len(_KINDS), int(paid["group"].max(initial=0)) + 1, window.hours))
    if not rate.any():
        return cost.sum(axis=(0, 1)), np.zeros(len(runs))
    priced, shared = paid.copy(), runs.copy()
    priced["usd_per_hour"], shared["usd"] = rate, 0.0
    sweep(priced, shared, by_finish, window.begin_s, window.hours, minimum_s, cost, np.zeros(cost.shape[1:]))
    return cost.sum(axis=(0, 1)), shared["usd"]


def _paid_for(machines: pl.DataFrame, rate: Floats) -> pl.Series:
    paid_s = machines.select(pl.sum_horizontal(f"{kind}_s" for kind in _KINDS)).to_series()
    return paid_s / HOUR_S * pl.Series(rate)


def _providers(cloud: Cloud) -> pl.Expr:
    """Who sells a machine; those on premises nobody does."""
    sold_by = pl.col("type").cast(pl.String).replace_strict(dict(cloud.providers), default="")
    return pl.when(pl.col("plan") == "on-premises").then(pl.lit("on-premises")).otherwise(sold_by).alias("provider")


def _memory_of(jobs: pl.DataFrame) -> pl.Expr:
    if "memory_bytes" not in jobs.columns:
        return pl.lit(0, pl.Int64).alias("memory_bytes")
    return pl.col("memory_bytes").fill_null(0)


def _machine_rows(machines: pl.DataFrame, groups: pl.DataFrame) -> npt.NDArray[np.void]:
    rows = np.zeros(len(machines), MACHINE_DTYPE)
    numbered = groups.with_row_index("group")
    found = machines.join(numbered, on=["plan", "family"], how="left", maintain_order="left")
    rows["group"] = found["group"].to_numpy()
    rows["billing"] = machines["billing"].cast(pl.String).replace_strict(_BILLINGS, return_dtype=pl.Int64).to_numpy()
    rows["cores"] = machines["cores"].to_numpy()
    rows["physical"] = machines.select(counted_cores(machines)).to_series().to_numpy()
    rows["memory"] = machines["memory_bytes"].fill_null(0).to_numpy()
    rows["usd_per_hour"] = machines["usd_per_hour"].fill_null(0.0).to_numpy()
    stop = machines["stop_time"].cast(pl.Float64)
    rows["start"] = machines["start_time"].cast(pl.Float64).fill_null(0.0).to_numpy()
    rows["stop"] = stop.fill_null(0.0).to_numpy()
    rows["up"] = machines["up_time"].cast(pl.Float64).fill_null(stop).fill_null(0.0).to_numpy()
    return rows


def _hosts(attempts: pl.DataFrame, allocations: pl.DataFrame, numbered: pl.DataFrame) -> pl.DataFrame:
    """One row for each attempt that ran, on each of its machines, by (machine, start)."""
    of_attempt = attempts.select(pl.col("attempt").cast(pl.Int64), "job_id", "start_time", "finish_time", "cores").join(
        numbered, on="job_id", how="left", maintain_order="left"
    )
    a_unit = -(-pl.col("cores", "memory_bytes").fill_null(0) // pl.col("units").sum().over("attempt"))
    return (
        hosts_of(allocations)
        .join(of_attempt.drop("job_id"), on="attempt", how="left", maintain_order="left")
        .with_columns(a_unit * pl.col("units"))
        .filter(pl.col("finish_time") > pl.col("start_time"))
        .sort("machine", "start_time", maintain_order=True)
    )


def _run_rows(hosts: pl.DataFrame) -> tuple[npt.NDArray[np.void], Ints]:
    runs = np.zeros(len(hosts), RUN_DTYPE)
    for ours, column in (("machine", "machine"), ("start", "start_time"), ("finish", "finish_time"),
                         ("cores", "cores"), ("memory", "memory_bytes")):  # fmt: skip
        runs[ours] = hosts[column].to_numpy()
    return runs, np.lexsort((runs["finish"], runs["machine"])).astype(np.int64)


def _with_costs(machines: pl.DataFrame, paid: npt.NDArray[np.void], hosts: pl.DataFrame) -> pl.DataFrame:
    jobs = hosts.select("machine", "job").unique().group_by("machine").agg(pl.len().cast(pl.Int64).alias("jobs"))
    price = pl.col("usd_per_hour").fill_null(0.0)
    return (
        machines.with_columns(pl.Series(f"{kind}_s", paid[f"{kind}_s"]) for kind in _KINDS)
        .with_columns((pl.col(f"{kind}_s") / HOUR_S * price).alias(f"{kind}_cost_usd") for kind in _KINDS)
        .with_columns((pl.sum_horizontal(f"{kind}_s" for kind in _KINDS) / HOUR_S * price).alias("cost_usd"))
        .join(jobs, on="machine", how="left", maintain_order="left")
        .with_columns(pl.col("jobs").fill_null(0))
    )


def _job_costs(
    machines: pl.DataFrame, numbered: pl.DataFrame, job: pl.Series, usd: Floats, rate: Floats | None = None
) -> tuple[dict[str, Floats], float]:
    """Boot and run cost of each job, and what no job pays: idle time, and jobs that the table of jobs does not have.

    A rate, in dollars an hour of each machine, stands in for the prices of the machines.
    """
    price = machines["usd_per_hour"].fill_null(0.0) if rate is None else pl.Series(rate)
    boots = machines.select(usd=pl.col("boot_s") / HOUR_S * price, job_id="started_for").filter(pl.col("usd") > 0.0)
    started = boots.join(numbered, on="job_id", how="left", maintain_order="left")
    boot, boot_orphaned = _summed(started["job"], started["usd"].to_numpy(), len(numbered))
    run, run_orphaned = _summed(job, usd, len(numbered))
    idle = float((machines["idle_s"] / HOUR_S * price).sum())
    return {"boot": boot, "run": run}, idle + (boot_orphaned + run_orphaned)


def _summed(job: pl.Series, usd: Floats, jobs: int) -> tuple[Floats, float]:
    """Dollars of each job, and of no job."""
    at = job.cast(pl.Int64).fill_null(jobs).to_numpy()
    sums = np.bincount(at, weights=usd, minlength=jobs + 1).astype(np.float64)
    return sums[:jobs], float(sums[jobs])
