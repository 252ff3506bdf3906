"""The tables of a bill as people read them: names instead of numbers, UTC dates instead of seconds."""

from __future__ import annotations

import polars as pl

from unspool.analysis.costs import Costs
from unspool.metrics.cost import hosts_of
from unspool.metrics.cost.threads import PHYSICAL

__all__ = ["instances_table", "jobs_table", "rejected_table"]

_LOGGED = ("user", "queue", "project")


def jobs_table(costs: Costs) -> pl.DataFrame:
    """One row a job that ran, in the order of the log: where, when, how long it waited, what it cost.

    Instances, their types and pricing are those of its last attempt; costs are those of all attempts.
    """
    jobs = costs.bill.jobs
    origin = costs.bill.window.origin_unix_s
    logged = pl.col("logged_wait") if "logged_wait" in jobs.columns else pl.lit(None, pl.Float64)
    hosts = pl.col("machines").fill_null(1) if "machines" in jobs.columns else pl.lit(1, pl.Int64)
    memory = pl.col("memory_bytes") if "memory_bytes" in jobs.columns else pl.lit(None, pl.Int64)
    return jobs.join(_places(costs), on="job_id", how="left", maintain_order="left").select(
        "job_id",
        *(name for name in _LOGGED if name in jobs.columns),
        "cores",
        *(name for name in (PHYSICAL,) if name in jobs.columns),
        hosts.alias("hosts"),
        (memory / (1 << 30)).alias("memory_gib"),
        "instances",
        "instance_types",
        "pricing",
        utc("submit_time", origin).alias("eligible_time"),
        utc("start_time", origin),
        utc("finish_time", origin),
        pl.col("wait_time").alias("wait_s"),
        logged.alias("logged_wait_s"),
        (logged - pl.col("wait_time")).alias("wait_saved_s"),
        pl.col("run_time").alias("run_s"),
        "attempts",
        *(f"{name}_cost_usd" for name in ("boot", "run", "disk", "licence")),
        "cost_usd",
    )


def _places(costs: Costs) -> pl.DataFrame:
    """Instances, their types and how they are paid, of each job's last attempt, joined by blanks."""
    last = costs.attempts.group_by("job_id").agg(pl.col("attempt").max().cast(pl.Int64))
    machines = costs.bill.machines.select("machine", pl.col("type", "plan").cast(pl.String))
    named = hosts_of(costs.allocations).join(last, on="attempt").join(machines, on="machine")
    alone = pl.len().over("attempt") == 1
    columns = {
        "instances": pl.col("machine").cast(pl.String),
        "instance_types": pl.col("type"),
        "pricing": pl.col("plan"),
    }
    single = named.filter(alone).select("job_id", **columns)
    several = (
        named.filter(~alone)
        .sort("attempt", "machine")
        .group_by("job_id")
        .agg(
            pl.col("machine").cast(pl.String).str.join(" ").alias("instances"),
            pl.col("type").unique(maintain_order=True).str.join(" ").alias("instance_types"),
            pl.col("plan").unique(maintain_order=True).str.join(" ").alias("pricing"),
        )
    )
    return pl.concat([single, several])


def instances_table(costs: Costs) -> pl.DataFrame:
    """One row a machine: what it is, how it is paid, when it lived, what its boot, run and idle time cost."""
    origin = costs.bill.window.origin_unix_s
    has_threads = PHYSICAL in costs.bill.machines.columns
    return costs.bill.machines.select(
        pl.col("machine").alias("instance"),
        "type",
        "family",
        *(name for name in ("provider",) if name in costs.bill.machines.columns),
        pl.col("plan").alias("pricing"),
        "billing",
        *((pl.col(PHYSICAL).alias("cores"), pl.col("cores").alias("vcpus")) if has_threads else ("cores",)),
        (pl.col("memory_bytes") / (1 << 30)).alias("memory_gib"),
        "gpus",
        "usd_per_hour",
        utc("start_time", origin),
        utc("up_time", origin),
        utc("stop_time", origin),
        "cause",
        "started_for",
        "jobs",
        *(f"{kind}_s" for kind in ("boot", "run", "idle")),
        *(f"{kind}_cost_usd" for kind in ("boot", "run", "idle")),
        "cost_usd",
        "disk_cost_usd",
        "licence_cost_usd",
    )


def rejected_table(costs: Costs) -> pl.DataFrame:
    """Records and jobs that did not run: file, line, job and reason."""
    rejected = costs.rejected
    file = pl.col("file") if "file" in rejected.columns else pl.lit(costs.summary["workload"])
    return rejected.select(file.alias("file"), "line", "job_id", "reason")


def utc(column: str, origin_unix_s: float) -> pl.Expr:
    """A time as text, such as 2026-03-01T08:00:00; fractions of a second only where there are any."""
    micros = ((pl.col(column).cast(pl.Float64) + origin_unix_s) * 1e6).round(0).cast(pl.Int64)
    return micros.cast(pl.Datetime("us")).dt.to_string("%Y-%m-%dT%H:%M:%S%.f").alias(column)
