"""How busy machines are over time, many of them to a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from unspool.errors import shown
from unspool.report.figures.bins import held_over
from unspool.report.figures.gantt import has_machines
from unspool.report.figures.style import SCALE, Floats, clock_of, counted, few_ticks, finished, left_out, nothing
from unspool.report.shown import duration
from unspool.results.result import Result
from unspool.results.series import span_of

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["MOST_COLUMNS", "MOST_ROWS", "busy_in_rows", "busy_machines", "cores_in_rows", "machines_named"]

MOST_ROWS, MOST_COLUMNS = 48, 100
"""Of a heat map of machines over time: fewer than the marks that a figure may have."""


def busy_machines(result: Result) -> Figure:
    """The share of the cores of machines that is busy over time: a heat map, with neighbouring machines in a row."""
    from plotly.graph_objects import Figure, Heatmap

    heading = f"How busy machines are under {shown(result.policy)}"
    begin, end = span_of([result])
    if not has_machines(result) or end <= begin:
        return nothing(heading, "In a pool machines have no numbers." if result.platform.is_pool else "No job ran.")
    machines = len(result.machines)
    to_a_row = -(-machines // MOST_ROWS)
    rows = -(-machines // to_a_row)
    edges = np.linspace(begin, end, MOST_COLUMNS + 1)
    busy = busy_in_rows(result, to_a_row, rows, edges)
    there = cores_in_rows(result, to_a_row, rows, edges)
    share = np.divide(busy, there, out=np.full(busy.shape, np.nan), where=there > 1e-9)
    clock = clock_of([result])
    names = [machines_named(row * to_a_row, min((row + 1) * to_a_row, machines) - 1) for row in range(rows)]
    figure = Figure(
        Heatmap(
            x=clock.of(edges[:-1] + np.diff(edges) / 2.0), y=np.arange(rows) * to_a_row, z=np.round(share, 4),
            zmin=0.0, zmax=1.0, colorscale=SCALE, hoverongaps=False, text=[[name] * MOST_COLUMNS for name in names],
            colorbar={"title": {"text": "busy"}, "tickformat": ".0%", "thickness": 12},
            hovertemplate=f"{clock.hover}<br>%{{text}}: %{{z:.1%}} busy<extra></extra>",
        )
    )  # fmt: skip
    figure.update_layout(
        xaxis=clock.axis(),
        yaxis={
            "title": {"text": "machine, by number"},
            "autorange": "reversed",
            "tickformat": ",~d",
            **few_ticks(rows),
        },
    )
    in_a_row = "A row is a machine" if to_a_row == 1 else f"A row is {to_a_row:,} neighbouring machines of {machines:,}"
    step = duration(float(edges[1] - edges[0]))
    away = " Where nothing is drawn no machine was up." if np.isnan(share).any() else ""
    jobs = counted(len(result.jobs))
    caption = f"{in_a_row}, a column {step}: the share of their cores that {jobs} held.{away} {left_out([result])}"
    return finished(figure, heading, caption, height=28.0)


def busy_in_rows(result: Result, to_a_row: int, rows: int, edges: Floats) -> Floats:
    """Busy cores in each row and bin."""
    held = result.allocations
    at, units = held["attempt"].to_numpy(), held["units"].to_numpy().astype(np.float64)
    first, last = held["first_machine"].to_numpy().astype(np.int64), held["last_machine"].to_numpy().astype(np.int64)
    of_attempt = np.bincount(at, units * (last - first + 1), minlength=len(result.attempts))
    each = result.attempts["cores"].to_numpy()[at] * units / of_attempt[at]
    spanned = last // to_a_row - first // to_a_row + 1
    source = np.repeat(np.arange(len(held)), spanned)
    row = np.arange(len(source)) - np.repeat(np.cumsum(spanned) - spanned, spanned) + (first // to_a_row)[source]
    low, high = np.maximum(first[source], row * to_a_row), np.minimum(last[source], (row + 1) * to_a_row - 1)
    weight = (high - low + 1) * each[source]
    begin, end = result.attempts["start_time"].to_numpy()[at], result.attempts["finish_time"].to_numpy()[at]
    return held_over(begin[source], end[source], weight, row, edges, rows)


def cores_in_rows(result: Result, to_a_row: int, rows: int, edges: Floats) -> Floats:
    """Cores of machines that were up, in each row and bin."""
    machines = result.machines
    row = machines["machine"].to_numpy() // to_a_row
    cores = machines["cores"].cast(pl.Float64).to_numpy()
    if result.platform.cloud is None:
        return np.repeat(np.bincount(row, cores, minlength=rows)[:, None], len(edges) - 1, axis=1)
    is_fixed = machines["start_time"].is_null().to_numpy()
    up = np.where(is_fixed, edges[0], machines["up_time"].fill_null(edges[-1]).to_numpy())
    stop = np.maximum(up, machines["stop_time"].fill_null(edges[-1]).to_numpy())
    return held_over(up, stop, cores, row, edges, rows)


def machines_named(first: int, last: int) -> str:
    """Neighbouring machines by their numbers."""
    return f"machine {first:,}" if first == last else f"machines {first:,} to {last:,}"
