"""How much of the platform is used, how long it takes, and what it costs to keep it."""

from __future__ import annotations

import polars as pl

from unspool.model.platform import Platform

__all__ = ["utilisation"]

_HOUR_S = 3600.0


def utilisation(jobs: pl.DataFrame, platform: Platform) -> dict[str, float]:
    """Share of the core-seconds from first submission to last finish, makespan, throughput, and cost where prices are.

    The cost is that of keeping every machine for the makespan, at the first price of its type.
    """
    if not len(jobs):
        return {"utilisation": 0.0, "makespan_s": 0.0, "throughput_per_hour": 0.0, "core_hours": 0.0}
    used = float((jobs["cores"] * jobs["run_time"]).sum())
    makespan = float(jobs["finish_time"].max()) - float(jobs["submit_time"].min())  # type: ignore[arg-type]
    figures = {
        "utilisation": used / (platform.cores * makespan) if platform.cores * makespan else 0.0,
        "makespan_s": makespan,
        "throughput_per_hour": len(jobs) / makespan * _HOUR_S if makespan else 0.0,
        "core_hours": used / _HOUR_S,
    }
    if any(group.machine.prices for group in platform.groups):
        hourly = sum(
            group.count * group.machine.prices[0].usd_per_hour for group in platform.groups if group.machine.prices
        )
        figures["platform_cost_usd"] = hourly * makespan / _HOUR_S
    return figures
