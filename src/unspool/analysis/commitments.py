"""What to commit to, put together: the cheapest savings plans, what else there is, and what each would cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from unspool.metrics.cost.cheapest import cheapest
from unspool.metrics.cost.commitments import Commitment, Outcome, Rates, Usage, outcome, usage_of
from unspool.metrics.cost.spreadsheet import sheet_of, sheet_says
from unspool.metrics.cost.threads import counted_cores
from unspool.platforms.catalogue import Catalogue
from unspool.platforms.catalogue.plans import (
    PAYMENTS,
    USUAL_TERM,
    YEARS,
    FamilyRates,
    PlanTerm,
    Ratios,
    rates_of,
    read_ratios,
)

__all__ = ["BEST", "CHOICES", "Commitments", "Offers", "commitments_again", "commitments_of", "units_of"]

BEST = "both savings plans"
CHOICES: Mapping[str, tuple[str, ...]] = {
    "EC2 savings plans": ("ec2",),
    "compute savings plan": ("compute",),
    BEST: ("ec2", "compute"),
    "reserved instances": ("reserved",),
    "plans and reserved instances": ("ec2", "compute", "reserved"),
}
"""What may be bought, and which kinds of commitments that allows."""

_WITHOUT = "on demand only"
_MIXED = "plans and reserved instances"
_MONTHS = 12
_POINTS = 41
_TABLE = {
    "choice": pl.String, "kind": pl.String, "family": pl.String, "type": pl.String, "count": pl.Int64,
    "usd_per_hour": pl.Float64, "break_even_share": pl.Float64, "used_share": pl.Float64, "paid_usd": pl.Float64,
    "covered_usd": pl.Float64, "saved_usd": pl.Float64, "break_even_months": pl.Float64, "term": pl.String,
    "upfront_usd": pl.Float64, "whole_term_usd": pl.Float64,
}  # fmt: skip
_TERMS = {
    "term": pl.String, "ec2_usd_per_hour": pl.Float64, "compute_usd_per_hour": pl.Float64, "total_usd": pl.Float64,
    "saved_usd": pl.Float64, "upfront_usd": pl.Float64,
}  # fmt: skip


@dataclass(frozen=True)
class Offers:
    """On what terms commitments are offered: prices of a catalogue in a region, else ratios."""

    catalogue: Catalogue
    region: str
    ec2: PlanTerm = USUAL_TERM
    compute: PlanTerm = USUAL_TERM
    ratios: Ratios | None = None

    def rates(
        self, families: tuple[str, ...], units: Mapping[str, tuple[str, int]], ec2: PlanTerm, compute: PlanTerm
    ) -> tuple[FamilyRates, ...]:
        """The rates of families on the terms named."""
        return rates_of(
            self.catalogue, self.region, families, ec2, compute, ratios=self.ratios or read_ratios(), units=units
        )


@dataclass(frozen=True, eq=False)
class Commitments:
    """The cheapest commitment and what it is held against.

    `table` has a row for each commitment of each choice, `choices` one for each choice, `terms` one for each term,
    `curve` the total cost against what is committed; `summary` has all but the curve, for `commitments.json`.
    """

    best: Commitment
    rates: tuple[FamilyRates, ...]
    table: pl.DataFrame
    choices: pl.DataFrame
    terms: pl.DataFrame
    curve: pl.DataFrame
    summary: dict[str, Any]


def units_of(machines: pl.DataFrame) -> dict[str, tuple[str, int]]:
    """The type of each family that cost most on demand, which one would reserve, and its cores as core-hours count."""
    plan = "plan" if "plan" in machines.columns else "pricing"
    spent = (
        machines.filter(pl.col(plan).cast(pl.String) == "on-demand")
        .group_by(pl.col("family", "type").cast(pl.String))
        .agg(pl.col("cost_usd").sum(), counted_cores(machines).max().alias("cores"))
        .sort(["cost_usd", "type"], descending=[True, False])
        .unique("family", keep="first", maintain_order=True)
    )
    return {family: (kind, cores) for family, kind, cores in spent.select("family", "type", "cores").iter_rows()}


def commitments_of(
    hourly: pl.DataFrame, offers: Offers, units: Mapping[str, tuple[str, int]] | None = None, *, mixed: bool = False
) -> Commitments:
    """The commitments for an hourly table as `unspool cost` writes it. `mixed` also solves plans with reserved ones.

    Each is paid in every hour of the table, idle or not, and the bill without any is the table's own.
    """
    usage = usage_of(hourly)
    families = offers.rates(usage.families, units or {}, offers.ec2, offers.compute)
    rates = Rates.of(families)
    without = outcome(usage, rates, Commitment())
    found = {
        name: cheapest(usage, rates, ec2="ec2" in kinds, compute="compute" in kinds, reserved="reserved" in kinds)
        for name, kinds in CHOICES.items()
        if mixed or name != _MIXED
    }
    outcomes = {name: outcome(usage, rates, one) for name, one in found.items()}
    rows = [row for name, one in found.items() for row in _lines(name, one, outcomes[name], usage, families, offers)]
    table = pl.DataFrame(rows, schema=_TABLE, orient="row")
    choices = _choices({_WITHOUT: without, **outcomes}, table)
    terms = _terms(usage, offers, units or {})
    their_terms = offers.rates(usage.families, units or {}, offers.ec2, offers.ec2)
    sheet = sheet_says(usage, rates, sheet_of(usage, their_terms), found[BEST])
    chosen = table.filter(pl.col("choice") == BEST)
    summary = {
        "region": offers.region,
        "hours": usage.hours,
        "ec2_term": str(offers.ec2),
        "compute_term": str(offers.compute),
        "bill_usd": without.total_usd,
        "on_demand_usd": without.on_demand_usd,
        **choices.row(by_predicate=pl.col("choice") == BEST, named=True),
        "ec2_usd_per_hour": dict(found[BEST].ec2_usd_per_hour),
        "compute_usd_per_hour": found[BEST].compute_usd_per_hour,
        "commitments": chosen.drop("choice").to_dicts(),
        "choices": choices.to_dicts(),
        "terms": terms.to_dicts(),
        "spreadsheet": sheet,
        "rates": [_rate(one) for one in families],
    }
    return Commitments(found[BEST], families, table, choices, terms, _curve(usage, rates, found), summary)


def commitments_again(summary: dict[str, Any], table: pl.DataFrame, curve: pl.DataFrame) -> Commitments:
    """The same from what was written of them."""
    return Commitments(
        best=Commitment(summary["ec2_usd_per_hour"], summary["compute_usd_per_hour"]),
        rates=tuple(_rate_again(one) for one in summary["rates"]),
        table=table.cast(_TABLE),  # type: ignore[arg-type]
        choices=pl.DataFrame(summary["choices"], infer_schema_length=None),
        terms=pl.DataFrame(summary["terms"], schema=_TERMS),
        curve=curve,
        summary=summary,
    )


def _lines(
    choice: str, one: Commitment, result: Outcome, usage: Usage, families: tuple[FamilyRates, ...], offers: Offers
) -> Iterator[tuple[Any, ...]]:
    """A row for each commitment: what it costs, what it covers at the price on demand, and when it pays."""
    for at, rate in enumerate(families):
        if count := one.reserved.get(rate.family, 0):
            ratio = rate.reserved or 0.0
            paid = count * rate.unit_usd_per_hour * ratio
            covered = float(result.by_reserved[:, at].sum())
            told = _line(paid, covered * ratio, covered, usage.hours, offers.ec2)
            yield (choice, "reserved instances", rate.family, rate.unit, count, paid, ratio, *told)
    for at, rate in enumerate(families):
        if paid := one.ec2_usd_per_hour.get(rate.family, 0.0):
            ratio = rate.ec2 or 0.0
            covered = float(result.by_ec2[:, at].sum())
            told = _line(paid, covered * ratio, covered, usage.hours, offers.ec2)
            yield (choice, "EC2 savings plan", rate.family, None, None, paid, ratio, *told)
    if paid := one.compute_usd_per_hour:
        covered = float(result.by_compute.sum())
        used = sum(float(result.by_compute[:, at].sum()) * (rate.compute or 0.0) for at, rate in enumerate(families))
        told = _line(paid, used, covered, usage.hours, offers.compute)
        yield (choice, "compute savings plan", None, None, None, paid, used / covered if covered else None, *told)


def _line(usd_per_hour: float, used: float, covered: float, hours: int, term: PlanTerm) -> tuple[Any, ...]:
    """Columns from `used_share` on."""
    paid, whole = usd_per_hour * hours, usd_per_hour * term.hours
    months = _MONTHS * term.years * paid / covered if covered else None
    return (used / paid, paid, covered, covered - paid, months, str(term), whole * term.upfront_share, whole)


def _choices(outcomes: Mapping[str, Outcome], table: pl.DataFrame) -> pl.DataFrame:
    """What is committed and what it comes to, for each choice; the months are those of all of its commitments."""
    bill = outcomes[_WITHOUT].total_usd
    weighed = (pl.col("break_even_months") * pl.col("covered_usd")).sum() / pl.col("covered_usd").sum()
    sums = table.group_by("choice").agg(
        pl.col("usd_per_hour").sum(), weighed.alias("break_even_months"), pl.col("upfront_usd").sum()
    )
    totals = pl.DataFrame({"choice": list(outcomes), "total_usd": [one.total_usd for one in outcomes.values()]})
    return totals.join(sums, on="choice", how="left", maintain_order="left").select(
        "choice",
        pl.col("usd_per_hour").fill_null(0.0),
        "total_usd",
        saved_usd=bill - pl.col("total_usd"),
        saved_share=(bill - pl.col("total_usd")) / (bill or 1.0),
        break_even_months="break_even_months",
        upfront_usd=pl.col("upfront_usd").fill_null(0.0),
    )


def _terms(usage: Usage, offers: Offers, units: Mapping[str, tuple[str, int]]) -> pl.DataFrame:
    """The cheapest savings plans, both for the same term, for each term that is offered."""
    rows = []
    for term in (PlanTerm(years, payment) for years in YEARS for payment in PAYMENTS):
        families = offers.rates(usage.families, units, term, term)
        if all(one.ec2 is None and one.compute is None for one in families):
            continue
        rates = Rates.of(families)
        best = cheapest(usage, rates)
        made = outcome(usage, rates, best)
        committed = sum(best.ec2_usd_per_hour.values()) + best.compute_usd_per_hour
        rows.append(
            {
                "term": str(term),
                "ec2_usd_per_hour": sum(best.ec2_usd_per_hour.values()),
                "compute_usd_per_hour": best.compute_usd_per_hour,
                "total_usd": made.total_usd,
                "saved_usd": usage.total_usd - made.total_usd,
                "upfront_usd": committed * term.hours * term.upfront_share,
            }
        )
    return pl.DataFrame(rows, schema=_TERMS)


def _curve(usage: Usage, rates: Rates, found: Mapping[str, Commitment]) -> pl.DataFrame:
    """The total against dollars committed an hour: none, some, the best and twice the best of each choice of plans."""
    rows = []
    for name in list(CHOICES)[:3]:
        best = found[name]
        committed = sum(best.ec2_usd_per_hour.values()) + best.compute_usd_per_hour
        for factor in np.linspace(0.0, 2.0, _POINTS) if committed else (0.0,):
            total = outcome(usage, rates, best.scaled(float(factor))).total_usd
            rows.append({"choice": name, "usd_per_hour": float(factor) * committed, "total_usd": total})
    return pl.DataFrame(rows)


def _rate(one: FamilyRates) -> dict[str, Any]:
    names = ("ec2", "compute", "reserved")
    return {
        "family": one.family,
        "usd_per_core_hour": one.usd_per_core_hour,
        **{name: getattr(one, name) for name in names},
        "reserved_type": one.unit,
        "reserved_type_usd_per_hour": one.unit_usd_per_hour,
        **dict(zip((f"{name}_from" for name in names), one.sources, strict=True)),
    }


def _rate_again(told: Mapping[str, Any]) -> FamilyRates:
    return FamilyRates(
        told["family"], told["ec2"], told["compute"], told["reserved"], told["usd_per_core_hour"],
        told["reserved_type"], told["reserved_type_usd_per_hour"],
        tuple(told[f"{name}_from"] for name in ("ec2", "compute", "reserved")),
    )  # fmt: skip
