"""`hourly_stats.xlsx`: the AWS tool's workbook, its sheets in their order, with formulas that are right (spec B4.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from unspool.analysis.commitments import Commitments
from unspool.analysis.costs import Costs
from unspool.errors import InputError
from unspool.faces.cloud.config import CostConfig
from unspool.faces.cloud.sheets import ROW, Floats, Layout
from unspool.metrics.cost import wait_bins
from unspool.storage import write_bytes
from unspool.units import format_number, name_duration

__all__ = ["SHEETS", "needs_xlsxwriter", "write_workbook"]

SHEETS = (
    "CostSummary", "InstanceFamilySummary", "JobStats", "Config", "InstanceFamilyRates", "Hourly", "Core Hours Chart",
)  # fmt: skip
"""The sheets, in the order of the AWS tool's."""

_HELP = (
    "Yellow cells are yours to change: everything follows.",
    "The cheapest commitments stand beside them; they were solved exactly for all hours, so there is nothing to solve.",
    "A savings plan is paid in every hour, used or not. EC2 plans are used up first, then the compute plan where it "
    "saves most.",
)
_NO_END = CostConfig().bin_ends[1]
_SUMMARY_FUNCTIONS: tuple[tuple[str, Callable[[Floats], Any]], ...] = (
    ("_xlfn.MINIFS", np.min),
    ("AVERAGEIFS", np.mean),
    ("_xlfn.MAXIFS", np.max),
)


# A text of a log stays a text: it is neither a formula nor a link.
_OPTIONS = {"in_memory": True, "nan_inf_to_errors": True, "strings_to_formulas": False, "strings_to_urls": False}


def needs_xlsxwriter() -> None:
    """Complain if the package that writes workbooks is not there, before any work is done."""
    try:
        import xlsxwriter  # noqa: F401
    except ImportError as error:
        raise InputError(
            "--excel needs the extra excel, which is not installed: pip install 'unspool[excel]'"
        ) from error


def write_workbook(costs: Costs, settings: CostConfig, path: Path) -> None:
    """Write the workbook of a bill with commitments, all of them 0 at first, so that its total is the bill."""
    import xlsxwriter

    assert costs.commitments is not None
    # In memory, or it would have files of its own in the folder of the system for such.
    content = BytesIO()
    with xlsxwriter.Workbook(content, _OPTIONS) as book:
        sheets = {name: book.add_worksheet(name, _as_written()) for name in SHEETS}
        styles = {
            "bold": book.add_format({"bold": True}),
            "usd": book.add_format({"num_format": "$#,##0.00"}),
            "rate": book.add_format({"num_format": "$#,##0.0000"}),
            "share": book.add_format({"num_format": "0.0%"}),
            "yours": book.add_format({"bg_color": "#fff2a8", "num_format": "0.0000", "locked": False}),
            "hour": book.add_format({"bg_color": "#fff2a8", "num_format": "0", "locked": False}),
        }
        layout = Layout(costs.hourly, costs.commitments.rates)
        _cost_summary(sheets["CostSummary"], layout, costs.commitments, styles)
        _family_summary(sheets["InstanceFamilySummary"], layout, styles)
        _job_stats(sheets["JobStats"], costs, settings, styles)
        _config(sheets["Config"], costs, settings, styles)
        _rates(sheets["InstanceFamilyRates"], layout, styles)
        _hourly(sheets["Hourly"], layout, styles)
        _charts(book, sheets["Core Hours Chart"], layout)
        for name in SHEETS[1:-1]:
            sheets[name].protect()
        sheets["CostSummary"].activate()
    write_bytes(path, content.getvalue())


def _as_written() -> type:
    """Sheets that take formulas as they stand.

    XlsxWriter would search each for the names of thirty functions, which takes three quarters of the time; ours have
    their prefix already. The method is private to it: where it has another name, the search goes on.
    """
    from xlsxwriter.worksheet import Worksheet

    class AsWritten(Worksheet):  # type: ignore[misc]
        def _prepare_formula(self, formula: str, expand_future_functions: bool = False) -> str:
            return formula.removeprefix("=")

    return AsWritten


def _cost_summary(sheet: Any, layout: Layout, found: Commitments, styles: Mapping[str, Any]) -> None:
    sheet.set_column(0, 0, 44)
    sheet.set_column(1, 3, 16)
    sheet.write_row(0, 0, ["Hours", "which count"], styles["bold"])
    sheet.write_column(1, 0, ["First hour", "Last hour"])
    sheet.write_number(1, 1, 0, styles["hour"])
    sheet.write_number(2, 1, layout.hours - 1, styles["hour"])
    sheet.write_row(4, 0, ["EC2 savings plan commitments", "USD an hour", "cheapest"], styles["bold"])
    for at, rate in enumerate(layout.rates):
        row = layout.commit_row(at) - 1
        sheet.write_string(row, 0, rate.family)
        sheet.write_number(row, 1, 0.0, styles["yours"])
        sheet.write_number(row, 2, found.best.ec2_usd_per_hour.get(rate.family, 0.0), styles["rate"])
    end = layout.commit_row(len(layout.rates)) - 1
    first, last = layout.commit_row(0), layout.commit_row(len(layout.rates) - 1)
    sheet.write(end, 0, "EC2 savings plan commitments, total", styles["bold"])
    for at, letter in ((1, "B"), (2, "C")):
        total = 0.0 if letter == "B" else sum(found.best.ec2_usd_per_hour.values())
        formula = f"=SUM({letter}{first}:{letter}{last})" if layout.rates else "=0"
        sheet.write_formula(end, at, formula, styles["rate"], total)
    sheet.write(end + 1, 0, "Compute savings plan commitment", styles["bold"])
    sheet.write_number(end + 1, 1, 0.0, styles["yours"])
    sheet.write_number(end + 1, 2, found.best.compute_usd_per_hour, styles["rate"])
    totals = _totals(layout, end + 4)
    for row, (name, formula, value) in enumerate(totals, start=end + 3):
        sheet.write(row, 0, name, styles["bold"] if name == "Total" else None)
        sheet.write_formula(row, 1, formula, styles["usd"], value)
    row = end + 3 + len(totals)
    sheet.write(row, 0, "Total at the cheapest commitments, all hours")
    sheet.write_number(row, 1, found.summary["total_usd"], styles["usd"])
    for at, text in enumerate(_HELP):
        sheet.write(row + 2 + at, 0, text)


def _totals(layout: Layout, first_row: int) -> list[tuple[str, str, float]]:
    """Names, formulas and values without commitments; `first_row` is that of the first, from 1."""
    hours = f"({layout.last_hour}-{layout.first_hour}+1)"
    on_demand, spot = (float(layout.data(name).sum()) for name in ("Total OnDemand Costs", "Spot Costs"))
    also = {name: float(values.sum()) for name, values in layout.also_paid.items()}
    parts = [
        ("Total Spot", f"={layout.chosen('SUMIFS', 'Spot Costs')}", spot),
        ("Total OD", f"={layout.chosen('SUMIFS', 'OD Cost')}", on_demand),
        ("Total ESP", f"={hours}*{layout.plans}", 0.0),
        ("Total CSP", f"={hours}*{layout.compute_plan}", 0.0),
        *(
            (f"Total {name.removesuffix(' Costs')}", f"={layout.chosen('SUMIFS', name)}", usd)
            for name, usd in also.items()
        ),
    ]
    bill = float(layout.data("Total Costs").sum())
    full = "+".join(layout.chosen("SUMIFS", name) for name in ("Spot Costs", "Full Cost", *also))
    return [
        *parts,
        ("Total", f"=SUM(B{first_row}:B{first_row + len(parts) - 1})", bill),
        ("Total without commitments", f"={full}", bill),
    ]


def _family_summary(sheet: Any, layout: Layout, styles: Mapping[str, Any]) -> None:
    sheet.set_column(0, 6, 16)
    heads = [f"{which} {what}" for what in ("Core Hours", "OnDemand Costs") for which in ("Min", "Avg", "Max")]
    sheet.write_row(0, 0, ["Family", *heads], styles["bold"])
    rows = [(rate.family, f"{rate.family} CHr", f"{rate.family} Full Cost") for rate in layout.rates]
    data = {
        f"{rate.family} {ours}": layout.data(f"{rate.family} {theirs}")
        for rate in layout.rates
        for ours, theirs in (("CHr", "Core Hours"), ("Full Cost", "OnDemand Costs"))
    }
    data |= {"Total CHr": layout.data("OnDemand Core Hours"), "Full Cost": layout.data("Total OnDemand Costs")}
    for row, (name, core_hours, usd) in enumerate([*rows, ("Total", "Total CHr", "Full Cost")], start=1):
        sheet.write_string(row, 0, name)
        for at, column in enumerate((core_hours, usd)):
            for which, (function, of) in enumerate(_SUMMARY_FUNCTIONS):
                value = float(of(data[column])) if layout.hours else 0.0
                formula = f"=IFERROR({layout.chosen(function, column)},0)"
                sheet.write_formula(row, 1 + 3 * at + which, formula, styles["usd"] if at else None, value)


def _job_stats(sheet: Any, costs: Costs, settings: CostConfig, styles: Mapping[str, Any]) -> None:
    """Jobs by memory and run time: how many, how long they ran, and how long they waited in the log, in minutes."""
    sheet.set_column(0, 0, 18)
    memory, minutes = costs.memory_bins_gib, costs.run_time_bins_min
    low, high = settings.bin_ends
    sheet.write(0, 0, "Memory (GB)", styles["bold"])
    runs = _bins(minutes, low, high, " minutes", lambda most: name_duration(60.0 * most))
    for at, (label, _) in enumerate(runs):
        sheet.write(0, 1 + 3 * at, label, styles["bold"])
        sheet.write_row(1, 1 + 3 * at, ["Jobs", "Duration (min)", "Wait in the log (min)"], styles["bold"])
    table = wait_bins(costs.bill.jobs, "memory", memory, minutes)
    wanted = ("jobs", "run_hours", "logged_wait_hours")
    keys = table.select("memory_gib_up_to", "run_minutes_up_to").rows()
    found = dict(zip(keys, table.select(wanted).rows(), strict=True))
    for row, (label, bound) in enumerate(_bins(memory, low, high), start=2):
        sheet.write(row, 0, label)
        for at, (_, run_bound) in enumerate(runs):
            jobs, ran_h, waited_h = found.get((bound, run_bound), (0, 0.0, 0.0))
            cells = (jobs, ran_h * 60.0, None if waited_h is None else waited_h * 60.0)
            for which, value in enumerate(cells):
                if value is not None:
                    sheet.write_number(row, 1 + 3 * at + which, value)


def _bins(
    bounds: Sequence[float], low: float, high: float, unit: str = "", named: Callable[[float], str] = format_number
) -> list[tuple[str, float | None]]:
    """Names and upper bounds of bins. The last one is open, and its name says so unless it is given another end.

    >>> _bins((1, 5000), 0, 10_000), _bins((1,), 0, 1_000_000)
    ([('0-1', 1), ('1-5,000', 5000), ('5,000-10,000', None)], [('0-1', 1), ('more than 1', None)])
    """
    names = [f"{format_number(a)}-{format_number(b)}{unit}" for a, b in pairwise([low, *bounds, high])]
    if high == _NO_END:
        names[-1] = f"more than {named(bounds[-1])}"
    return list(zip(names, [*bounds, None], strict=True))


def _config(sheet: Any, costs: Costs, settings: CostConfig, styles: Mapping[str, Any]) -> None:
    sheet.set_column(0, 0, 34)
    sheet.set_column(1, 1, 40)
    spot = settings.spot_rules[0].max_minutes if settings.spot_rules else 0.0
    by_minutes = len(settings.spot_rules) <= 1 and np.isfinite(spot)
    told: dict[str, str | float] = {
        "Region": str(costs.summary["region"]),
        "Prices of": str(costs.summary["price_date"]) or "not known",
        "Minimum CPU speed (GHz)": settings.rules.min_ghz,
        "Maximum minutes for spot": float(spot) if by_minutes else "as SpotRules say",
        "EC2 savings plan": str(settings.ec2_plan),
        "Compute savings plan": str(settings.compute_plan),
        "First hour (UTC)": str(costs.summary["first_hour_utc"] or ""),
    }
    for row, (name, value) in enumerate(told.items()):
        sheet.write(row, 0, name, styles["bold"])
        sheet.write(row, 1, value)


def _rates(sheet: Any, layout: Layout, styles: Mapping[str, Any]) -> None:
    sheet.set_column(0, 9, 18)
    heads = ("OD Rate", "ESP Rate", "ESP Discount", "ESP Core Hours", "CSP Rate", "CSP Discount", "CSP Max Core Hours")
    sheet.write_row(0, 0, ["Family", *heads, "ESP Ratio", "CSP Ratio"], styles["bold"])
    for at, rate in enumerate(layout.rates):
        row = at + 1
        cells = {letter: f"{letter}{row + 1}" for letter in "BIJ"}
        sheet.write_string(row, 0, rate.family)
        if rate.usd_per_core_hour is not None:
            sheet.write_number(row, 1, rate.usd_per_core_hour, styles["rate"])
        plans = ((2, "I", 8, rate.ec2, f"CostSummary!$B${layout.commit_row(at)}"),
                 (5, "J", 9, rate.compute, layout.compute_plan))  # fmt: skip
        for column, letter, of_ratio, ratio, committed in plans:
            if ratio is None:
                continue
            price = (rate.usd_per_core_hour or 0.0) * ratio
            sheet.write_number(row, of_ratio, ratio)
            sheet.write_formula(row, column, f"={cells['B']}*{cells[letter]}", styles["rate"], price)
            sheet.write_formula(row, column + 1, f"=1-{cells[letter]}", styles["share"], 1.0 - ratio)
            bought = f"=IF({cells['B']}>0,{committed}/({cells['B']}*{cells[letter]}),0)"
            sheet.write_formula(row, column + 2, bought, None, 0.0)


def _hourly(sheet: Any, layout: Layout, styles: Mapping[str, Any]) -> None:
    sheet.freeze_panes(1, 1)
    sheet.set_column(0, len(layout.columns) - 1, 14)
    sheet.write_row(0, 0, list(layout.columns), styles["bold"])
    given = {"Relative Hour": layout.data("Relative Hour"), **layout.also_paid}
    given |= {name: layout.data(name) for name in ("Spot Core Hours", "Spot Costs")}
    for rate in layout.rates:
        given[f"{rate.family} CHr"] = layout.data(f"{rate.family} Core Hours")
        given[f"{rate.family} Full Cost"] = layout.data(f"{rate.family} OnDemand Costs")
    for name, values in given.items():
        sheet.write_column(1, layout.columns[name], values.tolist())
    for name, (formula, worth) in layout.formulas.items():
        column = layout.columns[name]
        for row, value in enumerate(worth.tolist(), start=1):
            sheet.write_formula(row, column, formula.replace(ROW, str(row + 1)), None, value)


def _charts(book: Any, sheet: Any, layout: Layout) -> None:
    """Core-hours on demand: all families stacked, then each alone."""
    families = [rate.family for rate in layout.rates]
    if not families or not layout.hours:
        sheet.write(0, 0, "Nothing ran on demand.")
        return
    charts = [("OnDemand core hours by family", families, "stacked"), *((name, [name], None) for name in families)]
    for at, (title, names, subtype) in enumerate(charts):
        chart = book.add_chart({"type": "line", **({"subtype": subtype} if subtype else {})})
        for name in names:
            chart.add_series(
                {
                    "name": name,
                    "categories": f"={layout.range('Relative Hour')}",
                    "values": f"={layout.range(f'{name} CHr')}",
                }
            )
        chart.set_title({"name": title})
        chart.set_x_axis({"name": "Relative hour"})
        chart.set_y_axis({"name": "Core hours"})
        chart.set_size({"width": 960, "height": 360})
        sheet.insert_chart(at * 19, 0, chart)
