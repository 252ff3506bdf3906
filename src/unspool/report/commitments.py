"""The part of a bill's page about commitments: the curve, what to buy, what else there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from unspool.analysis.commitments import BEST, Commitments
from unspool.report.content import Column, Section, table_of
from unspool.report.figures.commitments import commitment_curve
from unspool.report.shown import money, percent

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["commitment_figures", "commitment_sections", "commitment_sentence", "months", "sheet_sentence"]

_LINES = {
    "kind": Column("what"),
    "family": Column("family"),
    "usd_per_hour": Column("dollars an hour", money),
    "break_even_share": Column("pays if used above", percent),
    "used_share": Column("used", percent),
    "saved_usd": Column("saved", money, bar=True),
    "break_even_months": Column("pays back after", lambda value: months(value)),
    "whole_term_usd": Column("for the whole term", money),
}
_CHOICES = {
    "choice": Column("choice"),
    "usd_per_hour": Column("dollars an hour", money),
    "total_usd": Column("the bill", money, bar=True),
    "saved_usd": Column("saved", money),
    "saved_share": Column("share", percent),
    "break_even_months": Column("pays back after", lambda value: months(value)),
    "upfront_usd": Column("paid at once", money),
}
_TERMS = {
    "term": Column("term"),
    "ec2_usd_per_hour": Column("EC2 plans, an hour", money),
    "compute_usd_per_hour": Column("compute plan, an hour", money),
    "total_usd": Column("the bill", money, bar=True),
    "saved_usd": Column("saved", money),
    "upfront_usd": Column("paid at once", money),
}


def months(value: float | None) -> str:
    """A number of months, to a tenth.

    >>> months(24.16), months(1.0), months(1234567.0), months(None)
    ('24.2 months', '1 month', '1,234,567 months', '')
    """
    if value is None:
        return ""
    number = f"{value:,.1f}".removesuffix(".0")
    return f"{number} month{'' if number == '1' else 's'}"


def commitment_sentence(summary: dict[str, Any]) -> str:
    """What to buy, in one sentence."""
    if not summary["usd_per_hour"]:
        return "Nothing that ran on demand would cost less under a savings plan."
    parts = [f"{money(usd)} for {family}" for family, usd in summary["ec2_usd_per_hour"].items()]
    told = [f"EC2 savings plans of {', '.join(parts)}"] if parts else []
    if summary["compute_usd_per_hour"]:
        told.append(f"a compute savings plan of {money(summary['compute_usd_per_hour'])}")
    return (
        f"Commit to {' and '.join(told)} an hour: the bill falls from {money(summary['bill_usd'])} to "
        f"{money(summary['total_usd'])}, by {percent(summary['saved_share'])}. It pays if usage like this goes on for "
        f"{months(summary['break_even_months'])}."
    )


def sheet_sentence(summary: dict[str, Any]) -> str:
    """What the AWS tool's spreadsheet would have said."""
    sheet = summary["spreadsheet"]
    best = sheet["its_best"]
    hours = f"{sheet['hours']:,} of {summary['hours']:,} hours" if sheet["hours"] != summary["hours"] else "all hours"
    plans = sum(best["ec2_usd_per_hour"].values())
    return (
        f"The AWS tool's spreadsheet would look at {hours}, show {money(sheet['for_ours_usd'])} for these plans, and "
        f"be solved at {money(plans)} an hour of EC2 plans and {money(best['compute_usd_per_hour'])} of compute plan: "
        f"it shows {money(best['shown_usd'])} for that, which would have cost {money(best['true_usd'])}."
    )


def commitment_figures(found: Commitments | None) -> dict[str, Figure]:
    """The curve, if anything ran on demand."""
    if found is None or not found.summary["on_demand_usd"]:
        return {}
    return {"commitments": commitment_curve(found.curve, found.summary["hours"])}


def commitment_sections(found: Commitments | None) -> list[Section]:
    """The section, if anything ran on demand."""
    if found is None or not found.summary["on_demand_usd"]:
        return []
    summary = found.summary
    lines = found.table.filter(pl.col("choice") == BEST)
    tables = [
        *([table_of(lines, _LINES, "commitments", "What to buy", rest="commitments.csv")] if len(lines) else []),
        table_of(found.choices, _CHOICES, "choices", "What else there is"),
        *([table_of(found.terms, _TERMS, "terms", "The cheapest plans of every term")] if len(found.terms) else []),
    ]
    terms = f"EC2 plans and reserved instances: {summary['ec2_term']}; compute plan: {summary['compute_term']}."
    sources = sorted({rate[f"{name}_from"] for rate in summary["rates"] for name in ("ec2", "compute")} - {""})
    texts = [commitment_sentence(summary), sheet_sentence(summary)]
    note = f"{terms} Their prices are from {' and '.join(sources)}. A commitment is paid in every hour."
    return [Section("What to commit to", ["commitments"], tables=tables, texts=texts, note=note)]
