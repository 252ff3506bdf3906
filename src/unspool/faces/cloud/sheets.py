"""Where things stand in the workbook, and the formulas of its sheet `Hourly` (spec B4.1).

The columns are the AWS tool's; those after `Total Cost` are ours. Its formulas count core-hours at the rate of the
largest size and pay what the compute plan covers twice (spec B3.3). Here every hour is counted at what it cost, so that
without commitments the workbook shows the bill, and with the cheapest ones what `commitments.json` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from unspool.platforms.catalogue.plans import FamilyRates

__all__ = ["ALSO_PAID", "ROW", "Floats", "Layout", "column_name"]

Floats = npt.NDArray[np.float64]

ALSO_PAID = ("Reserved Costs", "OnPremises Costs")
"""Columns of the hourly table that are paid whatever is committed to, beside spot."""

ROW = "{row}"
"""Stands for the number of a row in formulas, which are the same in all rows but for that."""

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

    @cached_property
    def formulas(self) -> dict[str, tuple[str, Floats]]:
        """Formulas of an hour, with `ROW` for its row, and their values in all hours while nothing is committed to."""
        found: dict[str, tuple[str, Floats]] = {}
        nothing = np.zeros(self.hours)
        for at, rate in enumerate(self.rates):
            found |= self._of_family(at, self._covered(at, self._cell(f"{rate.family} Full Cost")), nothing)
        sums = {
            "CSP Cost": ("CSP Cost", nothing),
            "OD Cost": ("OD Cost", self.data("Total OnDemand Costs")),
            "Total CHr": ("CHr", self.data("OnDemand Core Hours")),
            "Total OD CHr": ("OD CHr", self.data("OnDemand Core Hours")),
            "Full Cost": ("Full Cost", self.data("Total OnDemand Costs")),
        }
        for name, (what, values) in sums.items():
            summed = "+".join(self._cell(f"{rate.family} {what}") for rate in self.rates) or "0"
            found[name] = (f"={summed}", values)
        also = map(self._cell, self.also_paid)
        paid = [self._cell("Spot Costs"), self.plans, self.compute_plan, self._cell("OD Cost"), *also]
        found["Total Cost"] = (f"={'+'.join(paid)}", self.data("Total Costs"))
        return found

    def _cell(self, name: str) -> str:
        return f"{column_name(self.columns[name])}{ROW}"

    def _covered(self, at: int, full: str) -> str:
        """Dollars, at the price on demand, that a family's EC2 plan covers."""
        if self.rates[at].ec2 is None:
            return "0"
        return f"MIN({full},CostSummary!$B${self.commit_row(at)}/{self.ratio(at, 'ec2')})"

    def _of_family(self, at: int, by_plan: str, nothing: Floats) -> dict[str, tuple[str, Floats]]:
        family = self.rates[at].family
        full, core_hours = self._cell(f"{family} Full Cost"), self._cell(f"{family} CHr")
        ratio = self.ratio(at, "compute")
        if at in self.order:
            earlier = (self.rates[other].family for other in self.order[: self.order.index(at)])
            before = "".join(f"-{self._cell(f'{other} CSP Cost')}" for other in earlier)
            money = f"=MAX(0,MIN({self.compute_plan}{before},{ratio}*({full}-{by_plan})))"
            by_compute = f"{self._cell(f'{family} CSP Cost')}/{ratio}"
        else:
            money, by_compute = "=0", "0"
        covered = f"{self._cell(f'{family} ESP CHr')}-{self._cell(f'{family} CSP CHr')}"
        return {
            f"{family} ESP CHr": (f"=IF({full}>0,{core_hours}*{by_plan}/{full},0)", nothing),
            f"{family} CSP CHr": (f"=IF({full}>0,{core_hours}*{by_compute}/{full},0)", nothing),
            f"{family} CSP Cost": (money, nothing),
            f"{family} OD CHr": (f"={core_hours}-{covered}", self.data(f"{family} Core Hours")),
            f"{family} OD Cost": (f"={full}-{by_plan}-{by_compute}", self.data(f"{family} OnDemand Costs")),
        }
