"""The tables of the page about a comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import polars as pl

from unspool.analysis.compare import Comparison
from unspool.errors import shown
from unspool.report.content import Cell, Column, Split, Table, table_of
from unspool.report.figures.difference import MEASURE_NAMES, signed
from unspool.report.shown import amount, duration, money, percent
from unspool.results.result import Result
from unspool.units import counted

__all__ = ["difference_tables", "interval", "results_table", "settings_table", "share_splits", "whole"]

_SHADES = {"better": ("wait less", "#0072b2"), "equal": ("as long", "#9498a0"), "worse": ("wait longer", "#d55e00")}
_MOST_SPLITS = 12
_ROUNDING_S = 1e-3


def whole(found: Comparison, measure: str) -> list[dict[str, Any]]:
    """The differences of all jobs in a measure, a row for each result but the baseline."""
    return found.differences.filter(pl.col("measure") == measure, pl.col("group").is_null()).to_dicts()


def interval(found: Comparison, row: Mapping[str, Any]) -> str:
    """The interval of a difference in words."""
    low, high, measure = row["difference_low"], row["difference_high"], row["measure"]
    if low is None or high is None:
        return "too few jobs for an interval"
    return f"{100 * found.confidence:.4g}% interval: {signed(low, measure)} to {signed(high, measure)}"


def results_table(named: Mapping[str, Result], found: Comparison) -> Table:
    """One row a result, the baseline first: what it is like, and how far its waits are from the baseline's."""
    waits = {row["policy"]: row for row in whole(found, "wait_time")}
    facts = {row["policy"]: row for row in found.results.iter_rows(named=True)}
    time = partial(signed, measure="wait_time")
    sure = f"{100 * found.confidence:.4g}%"
    columns = {
        "policy": Column("policy", lambda name: shown(name, 200)),
        "mean_wait_time": Column("mean wait", duration, bar=True),
        "difference": Column(f"against {shown(found.baseline, 20)}", time),
        "difference_low": Column(f"{sure} from", time),
        "difference_high": Column("to", time),
        "mean_bounded_slowdown": Column("mean bounded slowdown", amount),
        "jain_index_of_users": Column("Jain's index of users", amount),
        "jobs": Column("jobs", amount),
        "rejected": Column("rejected", amount),
    }
    if any("total_cost_usd" in result.summary for result in named.values()):
        columns["total_cost_usd"] = Column("cost", money)
    rows = [{**facts[name], **waits.get(name, {"difference": 0.0}), "jobs": facts[name]["jobs"],
             "total_cost_usd": result.summary.get("total_cost_usd")} for name, result in named.items()]  # fmt: skip
    known = [name for name in columns if any(row.get(name) is not None for row in rows)]
    frame = pl.DataFrame([{name: row.get(name) for name in known} for row in rows], infer_schema_length=None)
    return table_of(frame, {name: columns[name] for name in known}, "results", "Side by side")


def difference_tables(found: Comparison) -> list[Table]:
    """One table a measure: each result, and each group of jobs where they were asked for.

    Where every job runs as long as under the baseline, waits say all about responses.
    """
    waits, responses = (found.differences.filter(pl.col("measure") == name)["difference"]
                        for name in ("wait_time", "response_time"))  # fmt: skip
    is_the_same = not ((waits - responses).abs() > _ROUNDING_S).any()
    return [_differences(found, name) for name in MEASURE_NAMES if name != "response_time" or not is_the_same]


def _differences(found: Comparison, measure: str) -> Table:
    value: Callable[[Any], str] = amount if measure == "bounded_slowdown" else duration
    change = partial(signed, measure=measure)
    sure = f"{100 * found.confidence:.4g}%"
    columns = {"policy": Column("policy", lambda name: shown(name, 200))}
    columns |= {"group": Column(found.by)} if found.by else {}
    columns |= {
        "jobs": Column("jobs in both", amount),
        "baseline_mean": Column(f"under {shown(found.baseline, 20)}", value),
        "mean": Column("mean", value),
        "difference": Column("difference", change),
        "difference_low": Column(f"{sure} from", change),
        "difference_high": Column("to", change),
        "better": Column("better", percent),
        "worse": Column("worse", percent),
    }
    rows = found.differences.filter(pl.col("measure") == measure).with_columns(pl.col("group").fill_null("all jobs"))
    heading = f"{MEASURE_NAMES[measure].capitalize()}, against {shown(found.baseline)}"
    return table_of(rows, columns, f"differences_{measure}", heading, rest="what unspool compare --json prints")


def share_splits(found: Comparison) -> list[Split]:
    """Of each result the shares of jobs that wait less, as long and longer than under the baseline."""
    return [
        Split(
            f"Waits under {shown(row['policy'])}, against {shown(found.baseline)}",
            [(name, counted(round(row[key] * row["jobs"])), percent(row[key]), round(100.0 * row[key], 3), colour)
             for key, (name, colour) in _SHADES.items() if row[key]],
        )
        for row in whole(found, "wait_time")[:_MOST_SPLITS]
    ]  # fmt: skip


def settings_table(named: Mapping[str, Result]) -> Table:
    """The configuration of each result, one row a setting."""
    settings = dict.fromkeys(name for result in named.values() for name in result.config)
    rows = [
        [Cell(setting, setting), *(_setting(result.config.get(setting)) for result in named.values())]
        for setting in settings
    ]
    names = ["setting", *(shown(name) for name in named)]
    return Table("settings", "Settings of each", names, names, rows)


def _setting(value: Any) -> Cell:
    text = "" if value is None else str(value)
    return Cell(shown(text, 200), text)
