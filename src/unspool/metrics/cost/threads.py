"""Physical cores behind the vCPUs that jobs get with hyper-threading: core-hours count them (spec cloud-cost, B2)."""

from __future__ import annotations

import polars as pl

from unspool.metrics.cost.hosts import hosts_of
from unspool.model.cloud import Cloud

__all__ = ["PHYSICAL", "counted_cores", "jobs_with_physical_cores", "physical_shares", "with_physical_cores"]

PHYSICAL = "physical_cores"
"""The column of machines and jobs where jobs get vCPUs; without it their `cores` are physical ones."""


def counted_cores(table: pl.DataFrame) -> pl.Expr:
    """The cores of machines or jobs by which core-hours are counted."""
    return pl.col(PHYSICAL if PHYSICAL in table.columns else "cores")


def with_physical_cores(machines: pl.DataFrame, cloud: Cloud | None) -> pl.DataFrame:
    """The machines with their physical cores, where the cloud says that jobs get vCPUs; else as they are.

    >>> from unspool.model.cloud import Cloud
    >>> machines = pl.DataFrame({"type": ["c.two", "own"], "plan": ["spot", "on-premises"], "cores": [2, 8]})
    >>> with_physical_cores(machines, Cloud((), physical_cores={"c.two": 1}))["physical_cores"].to_list()
    [1, 8]
    """
    if cloud is None or not cloud.physical_cores:
        return machines
    known = (
        pl.col("type").cast(pl.String).replace_strict(dict(cloud.physical_cores), default=None, return_dtype=pl.Int64)
    )
    is_own = pl.col("plan").cast(pl.String) == "on-premises"
    return machines.with_columns(pl.when(is_own | known.is_null()).then("cores").otherwise(known).alias(PHYSICAL))


def physical_shares(machines: pl.DataFrame, allocations: pl.DataFrame) -> pl.DataFrame:
    """For each attempt, how much of a physical core each of its cores is: the mean over its hosts."""
    of_machine = machines.select(pl.col("machine").cast(pl.Int64), share=counted_cores(machines) / pl.col("cores"))
    hosts = hosts_of(allocations).join(of_machine, on="machine", how="left")
    weighed = (pl.col("share") * pl.col("units")).sum() / pl.col("units").sum()
    return hosts.group_by("attempt").agg(weighed.alias("share"))


def jobs_with_physical_cores(
    jobs: pl.DataFrame, machines: pl.DataFrame, attempts: pl.DataFrame, allocations: pl.DataFrame
) -> pl.DataFrame:
    """The jobs with the physical cores that they had in their last attempt, where machines have them."""
    if PHYSICAL not in machines.columns:
        return jobs
    last = attempts.group_by("job_id").agg(pl.col("attempt").max().cast(pl.Int64))
    shares = last.join(physical_shares(machines, allocations), on="attempt", how="left").select("job_id", "share")
    held = pl.col("cores") * pl.col("share").fill_null(1.0)
    return (
        jobs.join(shares, on="job_id", how="left", maintain_order="left")
        .with_columns(held.alias(PHYSICAL))
        .drop("share")
    )
