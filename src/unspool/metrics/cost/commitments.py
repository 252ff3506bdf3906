"""What hours would have cost under commitments: reserved instances, EC2 savings plans by family, a compute plan.

A plan is an amount of dollars an hour that is paid whether it is used or not. What runs on demand uses it up at the
plan's price: of a family with the ratio r, a dollar of plan pays for what costs 1 / r on demand. AWS applies reserved
instances first, then EC2 plans, then the compute plan to what saves most. All amounts here are dollars at the price
on demand, so that nothing is lost where sizes of a family differ in their price per core.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import polars as pl

from unspool.platforms.catalogue.plans import FamilyRates

__all__ = ["Commitment", "Outcome", "Rates", "Usage", "outcome", "usage_of"]

Floats = npt.NDArray[np.float64]

_COSTS, _CORE_HOURS, _ALL = " OnDemand Costs", " Core Hours", "Total OnDemand Costs"


@dataclass(frozen=True, eq=False)
class Usage:
    """What ran on demand: dollars and core-hours by hour and family, every hour of the table, idle ones included.

    `total_usd` is the whole bill; what is not on demand (spot, reserved, on premises) no commitment changes.
    """

    families: tuple[str, ...]
    on_demand_usd: Floats
    core_hours: Floats
    total_usd: float
    spot_usd: Floats

    @property
    def hours(self) -> int:
        """Hours of the table, each of which a commitment is paid for."""
        return len(self.on_demand_usd)

    @property
    def other_usd(self) -> float:
        """What no commitment changes."""
        return self.total_usd - float(self.on_demand_usd.sum())


def usage_of(hourly: pl.DataFrame) -> Usage:
    """The usage in an hourly table, as `hourly` makes it and `hourly_stats.csv` holds it.

    >>> table = {"Total OnDemand Costs": [1.0, 0.0], "Spot Costs": [0.5, 0.0], "c5 Core Hours": [10.0, 0.0]}
    >>> usage = usage_of(pl.DataFrame({**table, "c5 OnDemand Costs": [1.0, 0.0], "Total Costs": [1.5, 0.0]}))
    >>> usage.families, usage.hours, usage.other_usd
    (('c5',), 2, 0.5)
    """
    families = tuple(name.removesuffix(_COSTS) for name in hourly.columns if name.endswith(_COSTS) and name != _ALL)

    def columns(suffix: str) -> Floats:
        return hourly.select(pl.col(f"{family}{suffix}").cast(pl.Float64) for family in families).to_numpy().copy()

    spot = hourly["Spot Costs"].cast(pl.Float64).to_numpy()
    shape = (len(hourly), len(families))
    costs, core_hours = (columns(suffix) if families else np.zeros(shape) for suffix in (_COSTS, _CORE_HOURS))
    return Usage(families, costs, core_hours, float(hourly["Total Costs"].cast(pl.Float64).sum()), spot)


@dataclass(frozen=True, eq=False)
class Rates:
    """Ratios to the price on demand by family, in the order of a `Usage`; infinite where a plan is not sold.

    `unit_usd` is the price on demand of the type that would be reserved. `order` has the families with a compute plan,
    those that save most first.
    """

    ec2: Floats
    compute: Floats
    reserved: Floats
    unit_usd: Floats
    order: npt.NDArray[np.int64]

    @classmethod
    def of(cls, families: tuple[FamilyRates, ...]) -> Rates:
        """The rates of families, in their order."""

        def column(ratios: list[float | None]) -> Floats:
            return np.array([np.inf if ratio is None else ratio for ratio in ratios], np.float64)

        compute = column([one.compute for one in families])
        order = np.argsort(compute, kind="stable")
        return cls(
            ec2=column([one.ec2 for one in families]),
            compute=compute,
            reserved=column([one.reserved if one.unit_usd_per_hour else None for one in families]),
            unit_usd=np.array([one.unit_usd_per_hour for one in families], np.float64),
            order=order[np.isfinite(compute[order])],
        )


@dataclass(frozen=True)
class Commitment:
    """Dollars an hour of EC2 plans by family and of the compute plan, and reserved instances by family."""

    ec2_usd_per_hour: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    compute_usd_per_hour: float = 0.0
    reserved: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    def scaled(self, factor: float) -> Commitment:
        """So many times as much of the plans; reserved instances stay."""
        ec2 = {family: factor * usd for family, usd in self.ec2_usd_per_hour.items()}
        return Commitment(ec2, factor * self.compute_usd_per_hour, self.reserved)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the hours cost under a commitment. What is covered is in dollars at the price on demand, [hour, family]."""

    total_usd: float
    reserved_usd: float
    ec2_usd: float
    compute_usd: float
    on_demand_usd: float
    by_reserved: Floats
    by_ec2: Floats
    by_compute: Floats


def outcome(usage: Usage, rates: Rates, commitment: Commitment) -> Outcome:
    """What the hours would have cost, commitments applied as AWS does; without any, it is the bill."""
    families, hours = usage.families, usage.hours
    counts = np.array([commitment.reserved.get(family, 0) for family in families], np.float64)
    ec2 = np.array([commitment.ec2_usd_per_hour.get(family, 0.0) for family in families], np.float64)
    by_reserved = np.minimum(usage.on_demand_usd, counts * rates.unit_usd)
    left = usage.on_demand_usd - by_reserved
    by_ec2 = np.minimum(left, ec2 / rates.ec2)
    left = left - by_ec2
    by_compute = _by_compute(left, rates, commitment.compute_usd_per_hour)
    # One that is not sold costs an infinite amount, of which there is none.
    priced = zip(counts, rates.unit_usd, rates.reserved, strict=True)
    reserved_usd = float(sum(n * unit * r for n, unit, r in priced if n)) * hours
    plans_usd = (float(ec2.sum()) * hours, commitment.compute_usd_per_hour * hours)
    on_demand_usd = float((left - by_compute).sum())
    return Outcome(
        usage.other_usd + reserved_usd + sum(plans_usd) + on_demand_usd,
        reserved_usd, *plans_usd, on_demand_usd, by_reserved, by_ec2, by_compute,
    )  # fmt: skip


def _by_compute(left: Floats, rates: Rates, usd_per_hour: float) -> Floats:
    """What the compute plan covers of what is left, families that save most first."""
    covered = np.zeros_like(left)
    money = np.full(len(left), usd_per_hour)
    for at in rates.order:
        covered[:, at] = np.minimum(left[:, at], money / rates.compute[at])
        money = np.maximum(money - covered[:, at] * rates.compute[at], 0.0)
    return covered
