"""The commitment that costs least, exactly: a linear program over the hourly table, solved by HiGHS.

Written out, the program has two unknowns for each hour and family. But once the commitments are fixed every hour is
solved in closed form, with its dual prices; so the program is solved by Benders' decomposition: HiGHS chooses the few
commitments under cuts that the hours give, until the lower bound meets the best that was found. (Benders, Numerische
Mathematik 4, 1962.) Reserved instances are whole numbers, so that the program of the cuts is then a mixed one.

One kind of commitment alone, by family, needs no program: it is a newsvendor's problem for each family.
"""

from __future__ import annotations

import os
import sys
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from unspool.errors import UnspoolError
from unspool.metrics.cost.commitments import Commitment, Floats, Rates, Usage

__all__ = ["cheapest"]

_TOLERANCE = 1e-11  # of the bill
_BILL = 1e4  # what the bill is scaled to: HiGHS stops at absolute gaps of 1e-6
_MOST_CUTS = 5000


def cheapest(
    usage: Usage,
    rates: Rates,
    *,
    ec2: bool = True,
    compute: bool = True,
    reserved: bool = False,
    compute_worth: Floats | None = None,
) -> Commitment:
    """The commitment of the kinds allowed under which the hours cost least; nothing, where nothing saves.

    `compute_worth` is how much of a dollar on demand is saved where the compute plan covers it, by family; all of it,
    unless a spreadsheet reckons otherwise.
    """
    if not compute and ec2 != reserved:
        return _plans_alone(usage, rates) if ec2 else _reserved_alone(usage, rates)
    hours = _Hours.of(usage, rates, compute_worth)
    most = hours.most(ec2=ec2, compute=compute, reserved=reserved)
    found = _solve(hours, most) if most.any() else most
    count = len(usage.families)
    return Commitment(
        {family: float(usd) for family, usd in zip(usage.families, found, strict=False) if usd > 0.0},
        float(found[count]),
        {family: round(number) for family, number in zip(usage.families, found[count + 1 :], strict=True) if number},
    )


def _plans_alone(usage: Usage, rates: Rates) -> Commitment:
    """EC2 plans: as much as is exceeded in a share of the hours that is the ratio, the least where several are."""
    found = {}
    for family, usd, ratio in zip(usage.families, usage.on_demand_usd.T, rates.ec2, strict=True):
        levels = np.append(0.0, np.sort(usd))
        above = len(usd) - np.searchsorted(levels[1:], levels, side="right")
        level = levels[np.argmax(above <= ratio * len(usd))]
        if ratio < 1.0 and level > 0.0:
            found[family] = float(level * ratio)
    return Commitment(found)


def _reserved_alone(usage: Usage, rates: Rates) -> Commitment:
    """Reserved instances: as many as are each used for more than they cost. One more is used less than the last."""
    found = {}
    columns = zip(usage.families, usage.on_demand_usd.T, rates.reserved, rates.unit_usd, strict=True)
    for family, usd, ratio, unit in columns:
        if not (ratio < 1.0 and unit > 0.0 and usage.hours):
            continue
        most = int(np.ceil(usd.max() / unit))
        needed = ratio * unit * len(usd)
        count = bisect_left(range(most), True, key=lambda at: np.clip(usd - at * unit, 0.0, unit).sum() <= needed)
        if count:
            found[family] = count
    return Commitment(reserved=found)


@dataclass(frozen=True, eq=False)
class _Hours:
    """The distinct hours and how often each occurs. Commitments are one vector: EC2 plans, the compute plan, counts."""

    usd: Floats
    times: Floats
    rates: Rates
    worth: Floats
    order: npt.NDArray[np.int64]

    @classmethod
    def of(cls, usage: Usage, rates: Rates, worth: Floats | None) -> _Hours:
        distinct, times = np.unique(usage.on_demand_usd, axis=0, return_counts=True)
        worth = np.ones(len(usage.families)) if worth is None else worth
        useful = [at for at in rates.order if worth[at] > 0.0]
        order = np.array(sorted(useful, key=lambda at: rates.compute[at] / worth[at]), np.int64)
        return cls(distinct, times.astype(np.float64), rates, worth, order)

    def most(self, *, ec2: bool, compute: bool, reserved: bool) -> Floats:
        """The most of each commitment that could be of use; 0 where it is not allowed, not sold or saves nothing."""
        peak = self.usd.max(axis=0, initial=0.0)
        plans = np.where(self.rates.ec2 < 1.0, peak * np.minimum(self.rates.ec2, 1.0), 0.0)
        needs = (self.usd[:, self.order] * self.rates.compute[self.order]).sum(axis=1).max(initial=0.0)
        saves = any(self.rates.compute[at] < self.worth[at] for at in self.order)
        units = np.where(self.rates.unit_usd > 0.0, self.rates.unit_usd, np.inf)
        counts = np.where(self.rates.reserved < 1.0, np.ceil(peak / units), 0.0)
        return np.concatenate([plans * ec2, [needs * compute * saves], counts * reserved])

    def cost(self, chosen: Floats) -> tuple[float, Floats]:
        """What the hours cost, and a subgradient by the commitments: their prices less what the hours' duals give."""
        count = len(self.rates.ec2)
        ec2, money, reserved = chosen[:count], chosen[count], chosen[count + 1 :]
        hours = float(self.times.sum())
        room = reserved * self.rates.unit_usd + ec2 / self.rates.ec2
        left = np.maximum(self.usd - room, 0.0)
        needs = left[:, self.order] * self.rates.compute[self.order]
        upto = np.cumsum(needs, axis=1)
        used = np.clip(money - (upto - needs), 0.0, needs)
        # The value of one more dollar of compute plan: that of the first family which it does not cover whole.
        is_short = upto > money
        value = self.worth[self.order] / self.rates.compute[self.order]
        dual = np.where(is_short.any(axis=1), value[np.argmax(is_short, axis=1)], 0.0) if len(self.order) else 0.0
        dual = np.broadcast_to(dual, len(self.usd))
        price = np.ones_like(left)
        of_rest = (1.0 - self.worth[self.order]) + self.rates.compute[self.order] * dual[:, None]
        price[:, self.order] = np.minimum(1.0, of_rest)
        worth_of_room = (self.times[:, None] * price * (self.usd > room)).sum(axis=0)
        unit_price = np.where(reserved > 0, self.rates.unit_usd * np.minimum(self.rates.reserved, 1e9), 0.0)
        saved = (used * value).sum(axis=1) if len(self.order) else 0.0
        total = hours * (ec2.sum() + money + (reserved * unit_price).sum()) + float(
            (self.times * (left.sum(axis=1) - saved)).sum()
        )
        by_unit = np.where(np.isfinite(self.rates.reserved), self.rates.reserved, 1.0) * self.rates.unit_usd
        return float(total), np.concatenate(
            [
                hours - worth_of_room / self.rates.ec2,
                [hours - float((self.times * dual).sum())],
                hours * by_unit - worth_of_room * self.rates.unit_usd,
            ]
        )


def _solve(hours: _Hours, most: Floats) -> Floats:
    """The best commitments between 0 and the most. Unknowns are shares of the most, but for counts, and the cost."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    free = np.flatnonzero(most)
    count = len(hours.rates.ec2)
    is_count = free > count
    unit = np.where(is_count, 1.0, most[free])
    bounds = Bounds(np.zeros(len(free) + 1), np.append(most[free] / unit, np.inf))
    scale = _BILL / hours.cost(np.zeros_like(most))[0]
    target = np.append(np.zeros(len(free)), 1.0)
    at = np.zeros_like(most)
    best, best_cost = at, np.inf
    cuts: list[Floats] = []
    bounds_of: list[float] = []
    seen = {at.tobytes()}
    while len(cuts) < _MOST_CUTS:
        cost, slope = hours.cost(at)
        if cost < best_cost:
            best, best_cost = at, cost
        cuts.append(np.append(slope[free] * unit * scale, -1.0))
        bounds_of.append(float(slope[free] @ at[free] - cost) * scale)
        with _unheard(bool(is_count.any())):
            found = milp(
                target, integrality=np.append(is_count, False).astype(int), bounds=bounds,
                constraints=LinearConstraint(np.array(cuts), ub=np.array(bounds_of)), options={"mip_rel_gap": 0.0},
            )  # fmt: skip
        if found.x is None:
            raise UnspoolError(f"HiGHS could not solve the commitments: {found.message}")
        step = np.clip(np.where(is_count, np.round(found.x[:-1]), found.x[:-1]), 0.0, bounds.ub[:-1])
        following = np.zeros_like(most)
        following[free] = step * unit
        # A point that comes again gives the same cut again: HiGHS sees nothing better within its own tolerance.
        if best_cost * scale - found.fun <= _TOLERANCE * _BILL or following.tobytes() in seen:
            return np.where(best > 1e-12 * most, best, 0.0)
        at = following
        seen.add(at.tobytes())
    raise UnspoolError(f"the commitments were not solved within {_MOST_CUTS} cuts; please report the hourly table")


@contextmanager
def _unheard(is_mixed: bool) -> Iterator[None]:
    """Keep stdout for data: HiGHS 1.12 prints a line of its own from C++ while it solves mixed programs."""
    if not is_mixed:
        yield
        return
    sys.stdout.flush()
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(nowhere)
        os.close(kept)
