"""Several set-ups for one log, and the log itself: what each costs, how long jobs wait, and which no other beats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from unspool.analysis.costs import Costs
from unspool.metrics.cost.waits import wait_figures
from unspool.model.workload import Workload

__all__ = ["AS_LOGGED", "COST_PARTS", "SetUp", "instance_hours", "set_ups_table"]

AS_LOGGED = "as logged"
"""The row of what the log says itself."""

COST_PARTS: tuple[str, ...] = ("on_demand", "spot", "reserved", "on_premises", "disk", "licence")
"""What the cost of a set-up is made of."""

_HOUR_S = 3600.0


@dataclass(frozen=True, eq=False)
class SetUp:
    """A way to run the jobs of a log: its name, what came of it, and the command that gives the same."""

    name: str
    costs: Costs
    command: str


def set_ups_table(log: Workload, set_ups: Sequence[SetUp]) -> pl.DataFrame:
    """One row a set-up, the log first: costs, waits, hours of instances, jobs that did not run.

    What the log does not say is empty: what it cost, and waits where it has none. `is_best` is true where no other is
    better in cost and mean wait and as good in the other; only set-ups that run as many jobs as any count.
    """
    rows = [_logged(log), *(_row(each, len(log)) for each in set_ups)]
    most = max((each["jobs"] for each in rows[1:]), default=0)
    points = {
        each["set_up"]: (each["total_cost_usd"], each["mean_wait_s"])
        for each in rows[1:]
        if each["jobs"] == most and each["mean_wait_s"] is not None
    }
    for each in rows:
        point = points.get(each["set_up"])
        each["is_best"] = point is not None and not any(_beats(other, point) for other in points.values())
    return pl.DataFrame(rows, schema=_SCHEMA)


_SCHEMA = {
    "set_up": pl.String,
    "total_cost_usd": pl.Float64,
    **{f"{part}_cost_usd": pl.Float64 for part in COST_PARTS},
    "mean_wait_s": pl.Float64,
    "p95_wait_s": pl.Float64,
    "wait_saved_hours": pl.Float64,
    "instances": pl.Int64,
    "instance_hours": pl.Float64,
    "jobs": pl.Int64,
    "jobs_not_run": pl.Int64,
    "is_best": pl.Boolean,
    "command": pl.String,
}


def _logged(log: Workload) -> dict[str, Any]:
    jobs = log.table.select(wait_time=log.column("logged_wait").cast(pl.Float64)).drop_nulls()
    told = wait_figures(jobs)
    known = {"mean_wait_s": told["mean_wait_s"], "p95_wait_s": told["p95_wait_s"]} if len(jobs) else {}
    return {**dict.fromkeys(_SCHEMA), "set_up": AS_LOGGED, **known, "jobs": len(log), "jobs_not_run": 0}


def _row(each: SetUp, jobs: int) -> dict[str, Any]:
    told = each.costs.summary
    return {
        **{name: told.get(name) for name in _SCHEMA},
        "set_up": each.name,
        "instance_hours": instance_hours(each.costs),
        "jobs_not_run": jobs - told["jobs"],
        "command": each.command,
    }


def instance_hours(costs: Costs) -> float:
    """Paid hours of instances on demand, on spot and reserved; machines on premises are no instances."""
    instances = costs.bill.machines.filter(pl.col("plan") != "on-premises")
    return float(instances.select(pl.sum_horizontal("boot_s", "run_s", "idle_s").sum()).item() or 0.0) / _HOUR_S


def _beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether one is no worse in both and better in one."""
    return one != other and all(mine <= theirs for mine, theirs in _pairs(one, other))


def _pairs(one: Iterable[float], other: Iterable[float]) -> Iterable[tuple[float, float]]:
    return zip(one, other, strict=True)
