"""What disks and licences cost an hour: on machines while they are paid, and held by jobs while they run."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from unspool.metrics.cost.allocation import HOUR_S, spread
from unspool.metrics.cost.window import Window
from unspool.model.cloud import MONTH_HOURS, Cloud

__all__ = ["Held", "held_licences", "machine_rates"]

Floats = npt.NDArray[np.float64]

_AMOUNT = re.compile(r"\d+")


@dataclass(frozen=True, eq=False)
class Held:
    """Dollars for the licences that jobs held while they ran: of each job, and in each hour."""

    by_job: Floats
    by_hour: Floats


def machine_rates(machines: pl.DataFrame, cloud: Cloud | None) -> dict[str, Floats]:
    """Dollars an hour for the disks and for the licences of each machine; those on premises have none.

    >>> from unspool.model.cloud import Disk, Licence
    >>> cloud = Cloud((), disks=(Disk(0.073, gib=100.0),), licences=(Licence("os", usd_per_core_hour=0.5, types="c"),))
    >>> plans = ["spot", "spot", "on-premises"]
    >>> machines = pl.DataFrame({"type": ["c.two", "d.two", "own"], "cores": 2, "plan": plans})
    >>> machine_rates(machines, cloud)
    {'disk': array([0.01, 0.01, 0.  ]), 'licence': array([1., 0., 0.])}
    """
    disk, licence = np.zeros(len(machines)), np.zeros(len(machines))
    if cloud is None or not (cloud.disks or cloud.licences):
        return {"disk": disk, "licence": licence}
    kinds = machines.select(pl.col("type", "plan").cast(pl.String), "cores").with_row_index("row")
    for (name, plan, cores), rows in kinds.group_by("type", "plan", "cores"):
        if plan != "on-premises":
            at = rows["row"].to_numpy()
            disk[at] = _disks(cloud, str(name), int(str(cores)))
            licence[at] = _licences(cloud, str(name), int(str(cores)))
    return {"disk": disk, "licence": licence}


def _disks(cloud: Cloud, name: str, cores: int) -> float:
    gib_months = (
        (one.gib + one.gib_per_core * cores) * one.usd_per_gib_month for one in cloud.disks if _is_of(one.types, name)
    )
    return sum(gib_months) / MONTH_HOURS


def _licences(cloud: Cloud, name: str, cores: int) -> float:
    return sum(one.usd_per_hour + one.usd_per_core_hour * cores for one in cloud.licences if _is_of(one.types, name))


def _is_of(types: str, name: str) -> bool:
    return re.match(types, name, re.IGNORECASE) is not None


def held_licences(attempts: pl.DataFrame, jobs: pl.DataFrame, cloud: Cloud | None, window: Window) -> Held:
    """What the licences that jobs hold cost, for all attempts, in the hours of a window."""
    by_job, by_hour = np.zeros(len(jobs)), np.zeros(window.hours)
    prices = {} if cloud is None else _held_prices(cloud)
    if not prices or "licences" not in jobs.columns:
        return Held(by_job, by_hour)
    rates = jobs["licences"].map_elements(_rate_of(prices), return_dtype=pl.Float64).fill_null(0.0)
    told = jobs.select("job_id", rate=rates).with_row_index("job").filter(pl.col("rate") > 0.0)
    held = attempts.select("job_id", "start_time", "finish_time").join(told, on="job_id", maintain_order="left")
    start, finish = (held[name].clip(window.begin_s, window.end_s).to_numpy() for name in ("start_time", "finish_time"))
    usd = (finish - start) / HOUR_S * held["rate"].to_numpy()
    by_job += np.bincount(held["job"].cast(pl.Int64).to_numpy(), weights=usd, minlength=len(jobs))
    for (rate,), part in held.group_by("rate", maintain_order=True):
        seconds = np.zeros(window.hours)
        begins, ends = (np.array(part[name].cast(pl.Float64).to_numpy()) for name in ("start_time", "finish_time"))
        spread(begins, ends, window.begin_s, window.hours, seconds)
        by_hour += seconds / HOUR_S * float(str(rate))
    return Held(by_job, by_hour)


def _held_prices(cloud: Cloud) -> dict[str, float]:
    """Dollars an hour of each licence that jobs hold, by name; entries of one name add up."""
    prices: dict[str, float] = {}
    for one in cloud.licences:
        if one.usd_per_held_hour > 0.0:
            prices[one.name] = prices.get(one.name, 0.0) + one.usd_per_held_hour
    return prices


def _rate_of(prices: dict[str, float]) -> Callable[[str], float]:
    """Dollars an hour of what a job asks for, `name:amount,name:amount`; a name alone asks for one."""

    def rate(asked: str) -> float:
        total = 0.0
        for part in asked.split(","):
            name, _, amount = part.strip().partition(":")
            total += prices.get(name, 0.0) * (int(amount) if _AMOUNT.fullmatch(amount) else 1)
        return total

    return rate
