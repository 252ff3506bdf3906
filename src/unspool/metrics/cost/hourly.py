"""The bill hour by hour, in the columns of the AWS tool's `hourly_stats.csv` and more.

Column names are those of that file (spec/cloud-cost.md, B4.1), because people have spreadsheets that read it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from unspool.metrics.cost.allocation import BOOT, HOUR_S, IDLE, RUN, spread
from unspool.metrics.cost.bill import Bill
from unspool.metrics.cost.window import Window

__all__ = ["hourly"]

Floats = npt.NDArray[np.float64]


def hourly(bill: Bill, attempts: pl.DataFrame) -> pl.DataFrame:
    """One row for each hour, gaps included: dollars and core-hours by pricing, and on demand and spot by family.

    Core-hours are those of the machines while they are paid, boot and idle time included. Running jobs and live
    instances are means over the hour; machines on premises are no instances.
    """
    usd = bill.cost_usd.sum(axis=0)
    on_demand = _of_plan(bill, usd, "on-demand")
    columns: dict[str, Floats] = {
        "OnDemand Core Hours": on_demand[0],
        "Total OnDemand Costs": on_demand[1],
        "Spot Core Hours": (spot := _of_plan(bill, usd, "spot"))[0],
        "Spot Costs": spot[1],
    }
    for family in _families(bill, "on-demand"):
        columns[f"{family} Core Hours"], columns[f"{family} OnDemand Costs"] = _of_plan(bill, usd, "on-demand", family)
    for title, plan in (("Reserved", "reserved"), ("OnPremises", "on-premises")):
        columns[f"{title} Core Hours"], columns[f"{title} Costs"] = _of_plan(bill, usd, plan)
    for title, kind in (("Boot", BOOT), ("Run", RUN), ("Idle", IDLE)):
        columns[f"{title} Costs"] = bill.cost_usd[kind].sum(axis=0)
    columns["Disk Costs"], columns["Licence Costs"] = bill.disk_usd, bill.licence_usd
    columns["Total Costs"] = usd.sum(axis=0) + bill.disk_usd + bill.licence_usd
    columns["Running Jobs"] = _mean_count(attempts["start_time"], attempts["finish_time"], bill.window)
    columns["Live Instances"] = _live(bill)
    for family in _families(bill, "spot"):
        columns[f"{family} Spot Core Hours"], columns[f"{family} Spot Costs"] = _of_plan(bill, usd, "spot", family)
    return pl.DataFrame({"Relative Hour": np.arange(bill.window.hours, dtype=np.int64), **columns})


def _families(bill: Bill, plan: str) -> list[str]:
    return sorted(bill.groups.filter(pl.col("plan") == plan)["family"].to_list())


def _of_plan(bill: Bill, usd: Floats, plan: str, family: str | None = None) -> tuple[Floats, Floats]:
    """Core-hours and dollars of a plan in each hour, of one family or of all."""
    chosen = (bill.groups["plan"] == plan).to_numpy()
    if family is not None:
        chosen = chosen & (bill.groups["family"] == family).to_numpy()
    return bill.core_hours[chosen].sum(axis=0), usd[chosen].sum(axis=0)


def _live(bill: Bill) -> Floats:
    lives = bill.machines.filter(pl.col("billing") == "life")
    reserved = int((bill.machines["plan"] == "reserved").sum())
    return _mean_count(lives["start_time"], lives["stop_time"], bill.window) + reserved


def _mean_count(starts: pl.Series, ends: pl.Series, window: Window) -> Floats:
    total_s = np.zeros(window.hours)
    begins, stops = (np.array(times.cast(pl.Float64).to_numpy()) for times in (starts, ends))
    spread(begins, stops, window.begin_s, window.hours, total_s)
    return total_s / HOUR_S
