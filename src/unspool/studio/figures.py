"""Figures as people read them: of several runs side by side, and of the points of a sweep, the best first."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl

from unspool.report.shown import amount
from unspool.studio.kept import LARGE, written
from unspool.sweeps.unrun import JOBS_NOT_RUN, RUNS_FEWER, told_unrun
from unspool.units import format_duration

__all__ = ["Ranking", "Row", "ranked", "side_by_side"]

_LEFT_OUT = {"seed", "replicas"}
_LAST = ("jobs", "rejected", "outages", "lost")  # counts stand behind what was asked for


@dataclass(frozen=True)
class Row:
    """A figure under each result, as people read it, with how much it differs from the first."""

    name: str
    cells: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Ranking:
    """The first points of a sweep: the figure that they are ranked by, the settings that differ, and a row each.

    `unrun` says of points that leave out jobs that they do; empty where none does, and rows then have no such cell.
    """

    figure: str
    settings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int
    unrun: str = ""


def ranked(path: Path, most: int = 10) -> Ranking | None:
    """The ranking that a sweep wrote; None where there is none."""
    try:
        with StringIO(written(path, LARGE).decode(), newline="") as file:
            lines = csv.DictReader(file, restval="")
            rows: list[dict[str, str]] = []
            unrun: list[tuple[float, bool]] = []
            for row in lines:
                unrun.append((float(row.get(JOBS_NOT_RUN) or 0.0), row.get(RUNS_FEWER) == "true"))
                if len(rows) < most:
                    rows.append(row)
            names = list(lines.fieldnames or ())
            settings = tuple(names[names.index("figure") + 1 : names.index("runs")])
            told = told_unrun(pl.DataFrame(unrun, [JOBS_NOT_RUN, RUNS_FEWER], orient="row"))
            cells = tuple(_ranked_cells(row, settings, with_unrun=bool(told)) for row in rows)
            return Ranking(_titled(rows[0]["figure"]), settings, cells, len(unrun) - len(rows), told)
    except (OSError, ValueError, LookupError, csv.Error):
        return None


def _ranked_cells(row: dict[str, str], settings: Sequence[str], *, with_unrun: bool) -> tuple[str, ...]:
    """Rank, settings, mean, interval, difference from the first, jobs not run, runs and those that failed."""
    figure = row["figure"]
    mean, low, high, more = (_shown(figure, float(row[name])) if row[name] else "" for name in
                             ("mean", "low", "high", "difference"))  # fmt: skip
    between = f"{low} to {high}" if low and row["low"] != row["high"] else ""
    not_run = f"{'! ' * (row[RUNS_FEWER] == 'true')}{amount(float(row[JOBS_NOT_RUN] or 0.0))}" if with_unrun else ""
    return (
        row["rank"],
        *(row[name] for name in settings),
        mean or "unknown",
        between,
        more,
        *([not_run] if with_unrun else []),
        row["runs"],
        row["failed"],
    )


def side_by_side(summaries: Sequence[dict[str, Any]]) -> list[Row]:
    """The numbers that all of these have in common, but those that are 0 everywhere.

    >>> side_by_side([{"mean_wait_s": 120.0, "jobs": 3, "x": 1}, {"mean_wait_s": 60.0, "jobs": 3}])[0]
    Row(name='mean wait', cells=(('2:00', ''), ('1:00', '-50.0%')))
    """
    if not summaries:
        return []
    names = [
        name for name in summaries[0] if name not in _LEFT_OUT and all(_is_number(each.get(name)) for each in summaries)
    ]
    names = [name for name in names if any(each[name] for each in summaries)]
    names.sort(key=lambda name: name.startswith(_LAST))
    return [
        Row(
            _titled(name),
            tuple((_shown(name, each[name]), _change(summaries[0][name], each[name])) for each in summaries),
        )
        for name in names
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _titled(name: str) -> str:
    for ending in ("_s", "_usd"):
        name = name.removesuffix(ending)
    return name.replace("_", " ")


def _shown(name: str, value: float) -> str:
    if name.endswith("_s"):
        return format_duration(round(value))
    if name.endswith("_usd"):
        return f"${value:,.2f}"
    if name == "utilisation":
        return f"{value:.1%}"
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 1000 else f"{value:.4g}"


def _change(first: float, value: float) -> str:
    if value == first:
        return ""
    return f"{(value - first) / abs(first):+.1%}" if first else "new"
