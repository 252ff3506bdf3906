"""Where things stand in the workbook, and the formulas of its sheet `Hourly` (spec B4.1).

The columns are the AWS tool's; those after `Total Cost` are ours. Its formulas count core-hours at the rate of the
largest size and pay what the compute plan covers twice (spec B3.3). Here every hour is counted at what it cost, so that
without commitments the workbook shows the bill, and with the cheapest ones what `commitments.json` says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from unspool.platforms.catalogue.plans import FamilyRates

__all__ = ["ALSO_PAID", "Floats", "Layout", "column_name"]

Floats = npt.NDArray[np.float64]

ALSO_PAID = ("Reserved Costs", "OnPremises Costs")
"""Columns of the hourly table that are paid whatever is committed to, beside spot."""

_OTHER = "Other Costs"
_FAMILY = ("CHr", "ESP CHr", "CSP CHr", "CSP Cost", "OD CHr", "OD Cost")
_FIRST_FAMILY_ROW = 6  # of CostSummary and of InstanceFamilyRates, counted from 1
_FIRST_RATE_ROW = 2


def column_name(at: int) -> str:
    """The letters of a column, counted from 0.

    >>> column_name(0), column_name(25), column_name(26), column_name(702)
    ('A', 'Z', 'AA', 'AAA')
    """
    return ("" if at < 26 else column_name(at // 26 - 1)) + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[at % 26]


@dataclass(frozen=True, eq=False)
class Layout:
    """The columns and cells of a workbook for an hourly table and the rates of its families, in their order."""

    hourly: pl.DataFrame
    rates: tuple[FamilyRates, ...]

    @property
    def hours(self) -> int:
        """Rows of the sheet, below its heading."""
        return len(self.hourly)

    @cached_property
    def also_paid(self) -> dict[str, Floats]:
        """What is paid whatever is committed to, beside spot; in the last column whatever has no column of its own."""
        told = {name: self.data(name) for name in ALSO_PAID}
        known = [self.data(name) for name in ("Total OnDemand Costs", "Spot Costs")]
        rest = self.data("Total Costs") - sum((*known, *told.values()), np.zeros(self.hours))
        is_some = abs(rest).sum() > 1e-9 * abs(self.data("Total Costs")).sum()
        return {**told, _OTHER: rest} if is_some else told

    @cached_property
    def _data(self) -> dict[str, Floats]:
        return {name: self.hourly[name].cast(pl.Float64).to_numpy() for name in self.hourly.columns}

    def data(self, name: str) -> Floats:
        """A column of the hourly table."""
        return self._data[name]

    @cached_property
    def columns(self) -> dict[str, int]:
        """The columns of `Hourly` by heading."""
        names = [
            "Relative Hour", "Spot Core Hours", "Spot Costs",
            *(f"{rate.family} {what}" for rate in self.rates for what in _FAMILY),
            "CSP Cost", "OD Cost", "Total CHr", "Total OD CHr", "Total Cost", *self.also_paid,
            *(f"{rate.family} Full Cost" for rate in self.rates), "Full Cost",
        ]  # fmt: skip
        return {name: at for at, name in enumerate(names)}

    def range(self, name: str) -> str:
        """All hours of a column, as other sheets name them."""
        letters = column_name(self.columns[name])
        return f"Hourly!${letters}$2:${letters}${max(self.hours, 1) + 1}"

    def chosen(self, function: str, name: str) -> str:
        """A function over the hours of a column that were chosen on CostSummary: SUMIFS, AVERAGEIFS and the like."""
        hours = self.range("Relative Hour")
        return f'{function}({self.range(name)},{hours},">="&{self.first_hour},{hours},"<="&{self.last_hour})'

    @property
    def first_hour(self) -> str:
        """The cell with the first hour that counts."""
        return "CostSummary!$B$2"

    @property
    def last_hour(self) -> str:
        """The cell with the last."""
        return "CostSummary!$B$3"

    def commit_row(self, at: int) -> int:
        """The row on CostSummary, from 1, of a family's EC2 plan; after the families their sum and the compute plan."""
        return _FIRST_FAMILY_ROW + at

    @property
    def plans(self) -> str:
        """The cell with the sum of EC2 plans."""
        return f"CostSummary!$B${self.commit_row(len(self.rates))}"

    @property
    def compute_plan(self) -> str:
        """The cell with the compute plan."""
        return f"CostSummary!$B${self.commit_row(len(self.rates)) + 1}"

    def ratio(self, at: int, kind: str) -> str:
        """The cell with a family's price of a plan over that on demand."""
        return f"InstanceFamilyRates!${'I' if kind == 'ec2' else 'J'}${_FIRST_RATE_ROW + at}"

    @cached_property
    def order(self) -> list[int]:
        """The families that have a compute plan, those that save most first: in this order it is used up."""
        sold = [at for at, rate in enumerate(self.rates) if rate.compute is not None]
        return sorted(sold, key=lambda at: self.rates[at].compute or 0.0)

    def formulas(self, row: int) -> dict[str, tuple[str, float]]:
        """The formulas of an hour in a row, from 1, and their values while nothing is committed to."""
        hour = row - 2
        found: dict[str, tuple[str, float]] = {}

        def cell(name: str) -> str:
            return f"{column_name(self.columns[name])}{row}"

        for at, rate in enumerate(self.rates):
            by_plan = self._covered(at, cell(f"{rate.family} Full Cost"))
            found |= self._of_family(at, cell, by_plan, hour)
        families = [rate.family for rate in self.rates]
        for name, what, column in (("CSP Cost", "CSP Cost", None), ("OD Cost", "OD Cost", "Total OnDemand Costs"),
                                   ("Total CHr", "CHr", "OnDemand Core Hours"),
                                   ("Total OD CHr", "OD CHr", "OnDemand Core Hours"),
                                   ("Full Cost", "Full Cost", "Total OnDemand Costs")):  # fmt: skip
            summed = "+".join(cell(f"{family} {what}") for family in families) or "0"
            found[name] = (f"={summed}", 0.0 if column is None else float(self.data(column)[hour]))
        paid = "+".join(
            [cell("Spot Costs"), self.plans, self.compute_plan, cell("OD Cost"), *map(cell, self.also_paid)]
        )
        found["Total Cost"] = (f"={paid}", float(self.data("Total Costs")[hour]))
        return found

    def _covered(self, at: int, full: str) -> str:
        """Dollars, at the price on demand, that a family's EC2 plan covers."""
        if self.rates[at].ec2 is None:
            return "0"
        return f"MIN({full},CostSummary!$B${self.commit_row(at)}/{self.ratio(at, 'ec2')})"

    def _of_family(self, at: int, cell: Callable[[str], str], by_plan: str, hour: int) -> dict[str, tuple[str, float]]:
        family = self.rates[at].family
        full, core_hours = cell(f"{family} Full Cost"), cell(f"{family} CHr")
        csp_cost = cell(f"{family} CSP Cost")
        ratio = self.ratio(at, "compute")
        if at in self.order:
            before = "".join(
                f"-{cell(f'{self.rates[other].family} CSP Cost')}" for other in self.order[: self.order.index(at)]
            )
            money = f"=MAX(0,MIN({self.compute_plan}{before},{ratio}*({full}-{by_plan})))"
            by_compute = f"{csp_cost}/{ratio}"
        else:
            money, by_compute = "=0", "0"
        hours, cost = (float(self.data(f"{family} {what}")[hour]) for what in ("Core Hours", "OnDemand Costs"))
        return {
            f"{family} ESP CHr": (f"=IF({full}>0,{core_hours}*{by_plan}/{full},0)", 0.0),
            f"{family} CSP CHr": (f"=IF({full}>0,{core_hours}*{by_compute}/{full},0)", 0.0),
            f"{family} CSP Cost": (money, 0.0),
            f"{family} OD CHr": (f"={core_hours}-{cell(f'{family} ESP CHr')}-{cell(f'{family} CSP CHr')}", hours),
            f"{family} OD Cost": (f"={full}-{by_plan}-{by_compute}", cost),
        }
