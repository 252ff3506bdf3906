"""The figures of a bill by name, and their bands over repeated runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl

from unspool.metrics.cost.allocation import HOUR_S
from unspool.metrics.cost.bill import Bill
from unspool.metrics.cost.groups import cost_by_provider
from unspool.metrics.cost.hosts import hosts_of
from unspool.metrics.cost.threads import PHYSICAL, counted_cores, physical_shares
from unspool.metrics.cost.waits import wait_figures
from unspool.model.cloud import PLANS, Cloud

__all__ = ["bands", "figures", "losses", "peak_live"]

_BAND = (5.0, 95.0)


def figures(
    bill: Bill, attempts: pl.DataFrame, allocations: pl.DataFrame, *, cloud: Cloud | None = None
) -> dict[str, Any]:
    """Every figure of a bill; units stand at the end of the names, and what is unknown is None."""
    machines, jobs = bill.machines, bill.jobs
    by_plan = {plan: machines.filter(pl.col("plan") == plan) for plan in PLANS}
    total = bill.total_usd
    job_core_hours = _job_core_hours(bill)
    machine_core_hours = float(bill.core_hours.sum())
    return {
        "total_cost_usd": total,
        **{f"{_key(plan)}_cost_usd": float(part["cost_usd"].sum()) for plan, part in by_plan.items()},
        **{f"{kind}_cost_usd": float(machines[f"{kind}_cost_usd"].sum()) for kind in ("boot", "run", "idle")},
        **{f"{name}_cost_usd": usd for name, usd in bill.extra_usd.items()},
        "unallocated_cost_usd": bill.unallocated_usd,
        "mean_job_cost_usd": float(jobs["cost_usd"].sum()) / len(jobs) if len(jobs) else None,
        "usd_per_core_hour": total / job_core_hours if job_core_hours else None,
        "job_core_hours": job_core_hours,
        "machine_core_hours": machine_core_hours,
        "jobs": len(jobs),
        "hours": bill.window.hours,
        "first_hour_utc": _hour(bill),
        "instances": len(machines.filter(pl.col("billing") == "life")),
        **{f"{_key(plan)}_machines": len(part) for plan, part in by_plan.items()},
        "peak_live_instances": peak_live(machines),
        **losses(machines, attempts, allocations, checkpoint_s=None if cloud is None else cloud.checkpoint_s),
        **wait_figures(jobs),
        **_by_provider(bill),
        "region": "" if cloud is None else cloud.region,
        "price_date": "" if cloud is None else cloud.price_date,
    }


def _by_provider(bill: Bill) -> dict[str, Any]:
    table = cost_by_provider(bill)
    return {} if table is None else {"provider_cost_usd": dict(table.select("provider", "cost_usd").rows())}


def _job_core_hours(bill: Bill) -> float:
    """Core-hours of jobs in the hours that are billed: of a job that runs past them, the part that lies in them."""
    window = bill.window
    start, finish = pl.col("start_time"), pl.col("finish_time")
    inside_s = finish.clip(window.begin_s, window.end_s) - start.clip(window.begin_s, window.end_s)
    part = pl.when(inside_s < finish - start).then(inside_s / (finish - start)).otherwise(1.0)
    return float(bill.jobs.select((counted_cores(bill.jobs) * pl.col("run_time") * part).sum()).item()) / HOUR_S


def _key(plan: str) -> str:
    return plan.replace("-", "_")


def _hour(bill: Bill) -> str | None:
    if not bill.window.hours:
        return None
    return f"{datetime.fromtimestamp(bill.window.begin_unix_s, UTC):%Y-%m-%dT%H:%M:%S}"


def losses(
    machines: pl.DataFrame, attempts: pl.DataFrame, allocations: pl.DataFrame, *, checkpoint_s: float | None = None
) -> dict[str, float | int]:
    """Instances that were reclaimed, attempts that had to be made again, and the core-hours lost on all their hosts.

    What a checkpoint has kept of an attempt is not lost.
    """
    units = hosts_of(allocations).group_by("attempt").agg(pl.col("units").sum())
    if PHYSICAL in machines.columns:
        units = units.join(physical_shares(machines, allocations), on="attempt")
    share = pl.col("share") if "share" in units.columns else pl.lit(1)
    lost = (
        attempts.filter(pl.col("how") == "lost")
        .with_columns(pl.col("attempt").cast(pl.Int64))
        .join(units, on="attempt", how="left")
        .select(
            held=-(-pl.col("cores") // pl.col("units").fill_null(1))
            * pl.col("units").fill_null(1)
            * share.fill_null(1),
            ran_s=pl.col("finish_time") - pl.col("start_time"),
        )
    )
    lost_s = (
        lost["ran_s"] if checkpoint_s is None else lost["ran_s"] - (lost["ran_s"] / checkpoint_s).floor() * checkpoint_s
    )
    return {
        "reclaimed": int((machines["cause"] == "reclaimed").sum()),
        "retries": len(lost),
        "lost_core_hours": float((lost["held"] * lost_s).sum()) / HOUR_S,
    }


def peak_live(machines: pl.DataFrame) -> int:
    """The most instances of the cloud that were live at once; one that stops makes room for one that starts then."""
    lives = machines.filter(pl.col("billing") == "life", pl.col("stop_time") > pl.col("start_time"))
    if not len(lives):
        return 0
    times = np.concatenate([lives["stop_time"].to_numpy(), lives["start_time"].to_numpy()])
    change = np.repeat(np.array([-1, 1]), len(lives))
    return int(np.cumsum(change[np.argsort(times, kind="stable")]).max())


def bands(summaries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The 5 % and 95 % quantile and the mean of every figure that is a number in all summaries.

    >>> bands([{"total_cost_usd": 1.0, "region": "x"}, {"total_cost_usd": 2.0, "region": "x"}])
    {'total_cost_usd': {'p5': 1.05, 'p95': 1.95, 'mean': 1.5}}
    """
    found: dict[str, Any] = {}
    for name, first in (summaries[0] if summaries else {}).items():
        values = [summary.get(name) for summary in summaries]
        if isinstance(first, Mapping):
            inner = bands([value for value in values if isinstance(value, Mapping)])
            found |= {name: inner} if inner else {}
        elif all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
            low, high = np.percentile(np.array(values, dtype=np.float64), _BAND)
            found[name] = {"p5": float(low), "p95": float(high), "mean": float(np.mean(np.array(values, np.float64)))}
    return found
