"""What the AWS tool's workbook would have said of commitments, its faults included (spec B3.3 and B4.1).

- It counts as many hours as its table has rows, from the first on; hours in which nothing was live have none. So the
  last hours are lost where there was a gap.
- Core-hours cost what those of the family's largest size do.
- What the compute plan covers is paid at the EC2 plan's price once more, beside the plan itself.
- The compute plan has the EC2 plan's term.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unspool.metrics.cost.cheapest import cheapest
from unspool.metrics.cost.commitments import Commitment, Floats, Rates, Usage, outcome
from unspool.platforms.catalogue.plans import FamilyRates

__all__ = ["Sheet", "sheet_of", "sheet_says"]


@dataclass(frozen=True, eq=False)
class Sheet:
    """The workbook's own idea of the usage and of prices."""

    usage: Usage
    rates: Rates
    twice: Floats

    def total_usd(self, commitment: Commitment) -> float:
        """The total that the workbook shows for a commitment of savings plans."""
        plain = outcome(self.usage, self.rates, commitment)
        return plain.total_usd + float((plain.by_compute * self.twice).sum())

    def best(self) -> Commitment:
        """The plans at which its total is least, which is what a solver in the spreadsheet looks for.

        The compute plan is here used where it gains most by its sums, the sheet uses it where its discount is largest.
        Where the two orders differ this is close to the least, and may be a little above.
        """
        return cheapest(self.usage, self.rates, compute_worth=1.0 - self.twice)


def sheet_of(usage: Usage, families: tuple[FamilyRates, ...]) -> Sheet:
    """The workbook of a usage; the rates of its families are both those of the EC2 plan's term."""
    is_live = (usage.on_demand_usd.sum(axis=1) > 0.0) | (usage.spot_usd > 0.0)
    shown = int(is_live.sum())
    prices = np.array([one.usd_per_core_hour or np.nan for one in families], np.float64)
    usd = np.where(np.isnan(prices), usage.on_demand_usd, usage.core_hours * prices)[:shown]
    spot = usage.spot_usd[:shown]
    rates = Rates.of(families)
    counted = Usage(usage.families, usd, usage.core_hours[:shown], float(usd.sum() + spot.sum()), spot)
    return Sheet(counted, rates, np.where(np.isfinite(rates.ec2), rates.ec2, 1.0))


def sheet_says(usage: Usage, rates: Rates, sheet: Sheet, ours: Commitment) -> dict[str, object]:
    """The totals that it shows without commitments, for ours and for its own best, and what that would truly cost."""
    best = sheet.best()
    return {
        "hours": sheet.usage.hours,
        "without_usd": sheet.total_usd(Commitment()),
        "for_ours_usd": sheet.total_usd(ours),
        "its_best": {
            "ec2_usd_per_hour": dict(best.ec2_usd_per_hour),
            "compute_usd_per_hour": best.compute_usd_per_hour,
            "shown_usd": sheet.total_usd(best),
            "true_usd": outcome(usage, rates, best).total_usd,
        },
    }
