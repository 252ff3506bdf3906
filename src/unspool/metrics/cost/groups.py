"""Who pays, and for what: the cost of jobs by user, queue or project, and of machines by type."""

from __future__ import annotations

import polars as pl

from unspool.metrics.cost.allocation import HOUR_S
from unspool.metrics.cost.bill import Bill
from unspool.metrics.cost.threads import counted_cores

__all__ = ["GROUPED", "UNALLOCATED", "cost_by", "cost_by_provider", "cost_by_type"]

GROUPED: tuple[str, ...] = ("user", "queue", "project")
"""What costs are told by, where the log knows it."""

UNALLOCATED = "(unallocated)"
"""The row of what no job pays: idle time."""


def cost_by(bill: Bill, column: str) -> pl.DataFrame | None:
    """One row a user (queue, project), the most expensive first, and last what no job pays; None if all are unknown.

    Jobs that do not say are one row with an empty name. Waiting saved is empty where no job's wait was logged.
    """
    jobs = bill.jobs
    if column not in jobs.columns or jobs[column].null_count() == len(jobs):
        return None
    logged = pl.col("logged_wait") if "logged_wait" in jobs.columns else pl.lit(None, pl.Float64)
    saved_s = (logged - pl.col("wait_time")).drop_nulls()
    table = (
        jobs.group_by(pl.col(column).cast(pl.String))
        .agg(
            pl.len().cast(pl.Int64).alias("jobs"),
            ((counted_cores(jobs) * pl.col("run_time")).sum() / HOUR_S).alias("core_hours"),
            pl.col("cost_usd").sum(),
            pl.col("wait_time").mean().alias("mean_wait_s"),
            logged.mean().alias("logged_mean_wait_s"),
            pl.when(saved_s.len() > 0).then(saved_s.sum() / HOUR_S).alias("wait_saved_hours"),
        )
        .sort(["cost_usd", column], descending=[True, False], nulls_last=True)
    )
    rest = pl.DataFrame({column: [UNALLOCATED], "jobs": [0], "core_hours": [0.0], "cost_usd": [bill.unallocated_usd]})
    return pl.concat([table, rest], how="diagonal_relaxed").with_columns(
        cost_share=pl.col("cost_usd") / bill.total_usd if bill.total_usd else pl.lit(0.0)
    )


def cost_by_type(bill: Bill) -> pl.DataFrame:
    """One row a type of machine and pricing, the most expensive first; `run_share` is the part of the cost that ran.

    Shares are of what machines cost, without disks and licences.
    """
    paid_s = pl.sum_horizontal("boot_s", "run_s", "idle_s")
    cost = pl.col("cost_usd").sum()
    return (
        bill.machines.group_by(pl.col("type", "plan").cast(pl.String))
        .agg(
            pl.len().cast(pl.Int64).alias("machines"),
            ((counted_cores(bill.machines) * paid_s).sum() / HOUR_S).alias("core_hours"),
            cost,
            pl.when(cost > 0.0).then(pl.col("run_cost_usd").sum() / cost).alias("run_share"),
        )
        .with_columns(cost_share=pl.col("cost_usd") / bill.machines_usd if bill.machines_usd else pl.lit(0.0))
        .sort(["cost_usd", "type", "plan"], descending=[True, False, False])
    )


def cost_by_provider(bill: Bill) -> pl.DataFrame | None:
    """One row a provider, the most expensive first, where a run may choose between several; else None.

    `cost_usd` is what its machines cost, disks and licences come on top; shares are of what all of that costs together.
    """
    if "provider" not in bill.machines.columns:
        return None
    paid_s = pl.sum_horizontal("boot_s", "run_s", "idle_s")
    names = ("cost_usd", "disk_cost_usd", "licence_cost_usd")
    whole = bill.total_usd - bill.held_licence_usd
    return (
        bill.machines.group_by("provider")
        .agg(
            pl.len().cast(pl.Int64).alias("machines"),
            ((counted_cores(bill.machines) * paid_s).sum() / HOUR_S).alias("core_hours"),
            *(pl.col(name).sum() for name in names),
        )
        .with_columns(cost_share=pl.sum_horizontal(names) / whole if whole else pl.lit(0.0))
        .sort(["cost_usd", "provider"], descending=[True, False])
    )
