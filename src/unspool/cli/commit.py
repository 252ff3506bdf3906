"""`unspool cost commit`: which savings plans and reserved instances would have made a bill least?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
from cyclopts import Parameter

from unspool.analysis.commitments import BEST, Commitments
from unspool.cli.options import Flag
from unspool.cli.output import Announcement, counted, note, print_json, print_table, print_text
from unspool.faces.cloud.commit import commitments_in, write_commitments
from unspool.faces.cloud.config import CostConfig, read_config
from unspool.platforms.catalogue import read_catalogue
from unspool.platforms.catalogue.plans import PAYMENTS, read_ratios
from unspool.report.commitments import commitment_sentence, months, sheet_sentence
from unspool.report.shown import money, percent
from unspool.results.store import check_free

__all__ = ["commit"]

_PAID = {name.partition(" ")[0].lower(): name for name in PAYMENTS}


def commit(
    folder: Path,
    /,
    *,
    config: Annotated[Path | None, Parameter(name=["--config", "-c"])] = None,
    years: Literal[1, 3] | None = None,
    payment: Literal["no", "partial", "all"] | None = None,
    catalogue: Path | None = None,
    ratios: Path | None = None,
    region: str | None = None,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    force: Annotated[bool, Flag] = False,
    json: Annotated[bool, Flag] = False,
) -> int:
    """Say which savings plans and reserved instances would have made a bill least.

    For example: unspool cost commit OUT --years 1 --payment no

    Solved exactly over the hours of the bill, idle ones included, beside what each kind and each term would give.

    Parameters
    ----------
    folder
        The folder of a bill, as unspool cost -o writes it.
    config
        The configuration, for its terms of savings plans. Without it, three years, all upfront.
    years
        Years of every commitment: 1 or 3. Without it, as configured.
    payment
        What is paid upfront: no, partial or all. Without it, as configured.
    catalogue
        Prices: CSV, or instance_type_info.json. Without it, those that ship, with ratios for commitments.
    ratios
        Prices of commitments over those on demand, where the catalogue has none: CSV with family, years, payment,
        ec2, compute, reserved_standard. Without it, those that ship, of 2022.
    region
        Region of the prices. Without it, that of the bill.
    out
        Folder for commitments.json, commitments.csv and commitment_curve.csv.
    force
        Replace the folder if it is there.
    json
        Print all of it as JSON.
    """
    if out is not None:
        check_free(out, force=force)
    settings = _on_terms(read_config(config), years, payment)
    with Announcement("solving …"):
        found = commitments_in(
            folder, settings, read_catalogue(catalogue), ratios=read_ratios(ratios), region=region
        )  # fmt: skip
    for text in _sources(found.summary):
        note(text)
    if out is not None:
        write_commitments(found, out, force=force)
    if json:
        print_json(found.summary)
    else:
        _print(found)
    if out is not None:
        note(f"results: {out}")
    return 0


def _on_terms(settings: CostConfig, years: int | None, payment: str | None) -> CostConfig:
    plans = [
        replace(plan, years=years or plan.years, payment=_PAID[payment] if payment else plan.payment)
        for plan in (settings.ec2_plan, settings.compute_plan)
    ]
    return replace(settings, ec2_plan=plans[0], compute_plan=plans[1])


def _sources(summary: dict[str, Any]) -> list[str]:
    """Where prices are from, for each that is not of the catalogue, and which families have none."""
    found: dict[str, set[str]] = {}
    without = [rate["family"] for rate in summary["rates"] if rate["ec2"] is None and rate["compute"] is None]
    for rate in summary["rates"]:
        for name in ("ec2", "compute", "reserved"):
            if rate[f"{name}_from"] not in ("the catalogue", ""):
                found.setdefault(rate[f"{name}_from"], set()).add(rate["family"])
    told = [f"prices of commitments for {', '.join(sorted(families))}: {source}" for source, families in found.items()]
    if without:
        told.append(f"no savings plan for {', '.join(without)}: neither catalogue nor ratios have one of this term")
    return told


def _print(found: Commitments) -> None:
    summary = found.summary
    title = f"{money(summary['bill_usd'])} for {counted(summary['hours'], 'hour')} in {summary['region']}"
    print_table(
        ("", "an hour", "bill", "saved", "share", "pays back after", "paid at once"),
        [
            (name, money(hourly), money(total), money(saved), percent(share), months(after), money(upfront))
            for name, hourly, total, saved, share, after, upfront in found.choices.iter_rows()
        ],
        f"{title}, {money(summary['on_demand_usd'])} of it on demand; {_terms_told(summary)}",
    )
    lines = found.table.filter(pl.col("choice").is_in([BEST, "reserved instances"]))
    if len(lines):
        print_text("")
        print_table(
            ("to buy", "family", "number", "an hour", "pays if used above", "used", "saved", "pays back after"),
            [_line(row) for row in lines.iter_rows(named=True)],
        )
    if len(found.terms):
        print_text("")
        print_table(
            ("both savings plans for", "EC2 an hour", "compute an hour", "bill", "saved", "paid at once"),
            [(term, *map(money, rest)) for term, *rest in found.terms.iter_rows()],
        )
    print_text("")
    print_text(commitment_sentence(summary))
    if summary["on_demand_usd"]:
        print_text(sheet_sentence(summary))


def _terms_told(summary: dict[str, Any]) -> str:
    ec2, compute = summary["ec2_term"], summary["compute_term"]
    return ec2 if ec2 == compute else f"EC2 plans {ec2}, compute plan {compute}"


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    number = "" if row["count"] is None else f"{row['count']:,} {row['type']}"
    shares = [percent(row[name]) for name in ("break_even_share", "used_share")]
    hourly, saved, after = money(row["usd_per_hour"]), money(row["saved_usd"]), months(row["break_even_months"])
    return (row["kind"], row["family"] or "any", number, hourly, *shares, saved, after)
