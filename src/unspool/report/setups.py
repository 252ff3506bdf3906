"""The page that holds several set-ups against each other, and against the log: what should we do?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from unspool.analysis.setups import AS_LOGGED, COST_PARTS, SetUp
from unspool.errors import shown
from unspool.metrics.cost import GROUPED, UNALLOCATED, cost_by
from unspool.model.workload import Workload
from unspool.report.content import Cell, Column, Page, Section, Table, Tile, table_of
from unspool.report.figures.setups import cost_parts, set_ups_against_wait
from unspool.report.figures.style import NOT_SAID
from unspool.report.page import filled
from unspool.report.shown import amount, duration, hours, money
from unspool.results.rejection import warnings_of, with_warning

__all__ = ["set_ups_headline", "set_ups_page", "set_ups_report"]

_NOTE = (
    "Every set-up runs the same jobs; under one seed the spot instances of a type meet the same luck in all of them. "
    "The log does not say what its machines cost. Each row is what its own command gives."
)


def set_ups_report(table: pl.DataFrame, set_ups: Sequence[SetUp], log: Workload, *, command: str = "") -> str:
    """The page as HTML, whole in itself, of the table that `set_ups_table` makes."""
    return filled(set_ups_page(table, set_ups, log, command=command))


def set_ups_page(table: pl.DataFrame, set_ups: Sequence[SetUp], log: Workload, *, command: str = "") -> Page:
    """What stands on the page."""
    made = table.filter(pl.col("set_up") != AS_LOGGED)
    warning = warnings_of({shown(each.name): each.costs.summary for each in set_ups})
    headline = with_warning(set_ups_headline(table), warning)
    figures = {"pareto": set_ups_against_wait(table), "parts": cost_parts(table)}
    return Page(
        title=headline,
        question="What does each way to run these jobs cost, and how long do they wait?",
        answer=headline,
        tiles=_tiles(table),
        figures=figures,
        picture="pareto",
        about=[("log", log.name), ("jobs", amount(len(log))), ("set-ups", amount(len(made)))],
        summary=_summary(table),
        sections=[
            Section(figures["parts"].layout.meta["heading"], ["parts"]),
            *(Section(f"Who pays: by {each.names[0]}", tables=[each]) for each in _who_pays(set_ups)),
        ],
        notes=[_NOTE, *(f"{each.name}: {note}" for each in set_ups for note in each.costs.notes)],
        commands=[each for each in (command, *made["command"]) if each],
    )


def set_ups_headline(table: pl.DataFrame) -> str:
    """The answer in one sentence: what costs least, and what waits least if that is another."""
    best = table.filter("is_best").sort("total_cost_usd", "mean_wait_s")
    if not len(best):
        return "No set-up ran a job"
    cheap, quick = best.row(0, named=True), best.row(-1, named=True)
    count = len(table) - 1
    first = f"Of {count} set-ups {shown(cheap['set_up'])}" if count > 1 else shown(cheap["set_up"])
    costs = f"{first} costs least, {money(cheap['total_cost_usd'])} at a mean wait of {duration(cheap['mean_wait_s'])}"
    if quick["set_up"] == cheap["set_up"]:
        return f"{costs}; none waits less" if count > 1 else costs
    more = quick["total_cost_usd"] - cheap["total_cost_usd"]
    return f"{costs}; for {money(more)} more {shown(quick['set_up'])} waits {duration(quick['mean_wait_s'])}"


def _tiles(table: pl.DataFrame) -> list[Tile]:
    best = table.filter("is_best").sort("total_cost_usd", "mean_wait_s")
    logged = table.row(0, named=True)
    tiles = []
    if len(best):
        cheap, quick = best.row(0, named=True), best.row(-1, named=True)
        tiles.append(Tile(money(cheap["total_cost_usd"]), "the least cost", shown(cheap["set_up"], 40)))
        tiles.append(Tile(duration(quick["mean_wait_s"]), "the least mean wait", shown(quick["set_up"], 40)))
    if logged["mean_wait_s"] is not None:
        tiles.append(
            Tile(
                duration(logged["mean_wait_s"]),
                "mean wait in the log",
                f"95 % {duration(logged['p95_wait_s'])} at most",
            )
        )
    lost = [row for row in table.iter_rows(named=True) if row["jobs_not_run"]]
    tiles.append(
        Tile(amount(len(lost)), "set-ups that leave out jobs", ", ".join(shown(row["set_up"], 20) for row in lost))
    )
    return tiles


def _who_pays(set_ups: Sequence[SetUp]) -> list[Table]:
    """What each user, queue and project pays in each set-up, and last what nobody pays."""
    made = []
    for column in GROUPED:
        parts = [cost_by(each.costs.bill, column) for each in set_ups]
        known = [part for part in parts if part is not None]
        if not known or len(known) < len(parts):
            continue
        rows: dict[str, dict[str, float]] = {}
        for at, part in enumerate(known):
            for name, usd in part.select(pl.col(column).fill_null(NOT_SAID), "cost_usd").iter_rows():
                rows.setdefault(name, {})[f"cost_{at}"] = usd
        last = rows.pop(UNALLOCATED)
        costs = {f"cost_{at}": pl.Float64 for at in range(len(known))}
        frame = pl.DataFrame([{column: name, **each} for name, each in rows.items()], {column: pl.String, **costs})
        named = {f"cost_{at}": Column(shown(each.name, 40), money) for at, each in enumerate(set_ups)}
        shown_rows = table_of(frame, {column: Column(column), **named}, f"by_{column}", f"By {column}")
        below = [Cell(UNALLOCATED, UNALLOCATED), *(Cell(money(last[name]), last[name]) for name in costs)]
        made.append(replace(shown_rows, last=below))
    return made


def _summary(table: pl.DataFrame) -> Table:
    """All rows; parts of the cost that none has are left out."""
    parts: dict[str, Column] = {}
    for part in COST_PARTS:
        if (table[f"{part}_cost_usd"].sum() or 0.0) > 0.0:
            name = {"disk": "disks", "licence": "licences"}.get(part, part.replace("_", " "))
            parts[f"{part}_cost_usd"] = Column(name, money)
    columns: dict[str, Any] = {
        "set_up": Column("set-up"),
        "total_cost_usd": Column("cost", money, bar=True),
        **parts,
        "mean_wait_s": Column("mean wait", duration),
        "p95_wait_s": Column("95 % wait at most", duration),
        "wait_saved_hours": Column("waiting saved", hours),
        "instance_hours": Column("instance-hours", amount),
        "jobs_not_run": Column("jobs not run", amount),
    }
    return table_of(table, columns, "set_ups", "The set-ups", rest="comparison.csv")
