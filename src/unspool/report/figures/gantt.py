"""Machines over time: a bar for each job where they can be told apart, and how busy machines are where they cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from unspool.errors import shown
from unspool.report.figures.bins import waiting_over
from unspool.report.figures.load import groupings, held_by
from unspool.report.figures.packing import lanes
from unspool.report.figures.style import (
    NOT_SAID,
    OTHER,
    PALETTE,
    Clock,
    classes_of,
    clock_of,
    colour_of,
    counted,
    few_ticks,
    finished,
    left_out,
    nothing,
    plain,
)  # fmt: skip
from unspool.report.shown import duration
from unspool.results.result import Result
from unspool.results.series import span_of

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["gantt", "has_machines", "widest_window"]

_MOST_JOBS, _MOST_BARS = 1500, 4000
_MANY = 100  # machines
_PLACES = 600  # where the longest queue is looked for
_TOLD = {"user": "user", "queue": "queue", "project": "project", "partition": "partition", "state": "ended"}


def gantt(result: Result, by: str | None = None, *, begin: float | None = None, end: float | None = None) -> Figure:
    """Machines (or cores, in a pool) over time, a bar for each job that held them.

    Of a large run the part around the longest queue is drawn; `begin` and `end`, in seconds of the log, choose another.
    `by` says what the colours tell apart at first: user, queue, project, partition or state.
    """
    from plotly.graph_objects import Bar, Figure

    heading = f"What runs where under {shown(result.policy)}"
    names = list(dict.fromkeys([*([by] if by else []), *groupings(result), "state"]))
    attempts = result.attempts.filter(pl.col("finish_time") > pl.col("start_time"))
    if not len(attempts):
        return nothing(heading, "No job ran for any time.")
    clock = clock_of([result])
    window = _window(result, attempts, begin, end)
    drawn = _overlapping(attempts, *window).head(_MOST_JOBS)
    bars = _bars_on_machines(result, drawn) if has_machines(result) else _bars_in_pool(result, drawn)
    bars = bars.head(_MOST_BARS)
    of_jobs = held_by(result, *names, attempts=result.attempts[bars["attempt"]])
    choices = [*(_choice(name, of_jobs[name]) for name in names), _each_job(bars["attempt"])]
    if not by and not groupings(result):
        choices.reverse()
    rows = _rows(result, float((bars["low"] + bars["height"]).max()))  # type: ignore[arg-type]
    outline = 0.0 if has_machines(result) and rows > _MANY else 0.5  # it would hide bars that are thin
    figure = Figure(
        Bar(
            orientation="h", base=clock.of(bars["start_time"]),
            x=clock.length(bars["finish_time"] - bars["start_time"]), y=bars["low"].to_numpy() - 0.5,
            width=bars["height"].to_numpy(), offset=0.0, name="jobs", showlegend=False,
            marker={"color": choices[0]["colours"], "line": {"width": outline, "color": "rgba(127,127,127,.6)"}},
            hovertext=_hover(of_jobs, names, clock), textposition="none", hovertemplate="%{hovertext}<extra></extra>",
        )
    )  # fmt: skip
    unit = "machine" if has_machines(result) else "core"
    figure.update_layout(
        barmode="overlay",
        xaxis={**clock.axis(), "range": clock.of([max(window[0], _first(bars)), min(window[1], _last(bars))]).tolist()},
        yaxis={
            "title": {"text": f"{unit}, by number"},
            "range": [rows - 0.5, -0.5],
            "tickformat": ",~d",
            **few_ticks(rows),
        },
    )
    caption = _caption(result, attempts, bars, window, clock, is_asked=begin is not None or end is not None)
    return finished(figure, heading, caption, key=choices[0]["key"], choices=choices, height=28.0)


def widest_window(result: Result) -> tuple[float, float] | None:
    """From when to when a run is drawn that has too many jobs for a figure; None if it has not.

    Of several policies all are drawn from and to the times of one.
    """
    attempts = result.attempts.filter(pl.col("finish_time") > pl.col("start_time"))
    return _window(result, attempts, None, None) if len(attempts) > _MOST_JOBS else None


def has_machines(result: Result) -> bool:
    """Whether it is known which machines a job had, which in a pool it is not."""
    return not result.platform.is_pool and len(result.allocations) > 0


def _window(result: Result, attempts: pl.DataFrame, begin: float | None, end: float | None) -> tuple[float, float]:
    """From when to when bars are drawn: as asked, all, or so much around the longest queue as has not too many jobs."""
    first, last = _first(attempts), _last(attempts)
    if begin is not None or end is not None or len(attempts) <= _MOST_JOBS:
        return (first if begin is None else begin), (last if end is None else end)
    edges = np.linspace(*span_of([result]), _PLACES + 1)
    centre = float(edges[int(np.argmax(waiting_over(result, edges)))])
    starts, ends = np.sort(attempts["start_time"].to_numpy()), np.sort(attempts["finish_time"].to_numpy())
    narrow, wide = 0.0, last - first
    for _ in range(60):
        half = (narrow + wide) / 2.0
        running = np.searchsorted(starts, centre + half) - np.searchsorted(ends, centre - half, side="right")
        narrow, wide = (half, wide) if running <= _MOST_JOBS else (narrow, half)
    return max(first, centre - wide), min(last, centre + wide)


def _overlapping(attempts: pl.DataFrame, begin: float, end: float) -> pl.DataFrame:
    return attempts.filter((pl.col("start_time") < end) & (pl.col("finish_time") > begin)).sort("start_time", "attempt")


def _first(table: pl.DataFrame) -> float:
    return float(table["start_time"].min())  # type: ignore[arg-type]


def _last(table: pl.DataFrame) -> float:
    return float(table["finish_time"].max())  # type: ignore[arg-type]


def _bars_in_pool(result: Result, drawn: pl.DataFrame) -> pl.DataFrame:
    """Bars of jobs whose cores have no numbers: the lowest that are free."""
    given = lanes(drawn.select("start_time", "finish_time", "cores").iter_rows(), result.platform.cores)
    rows = [(float(first), last - first + 1.0) for pieces in given for first, last in pieces]
    return _placed(drawn[np.repeat(np.arange(len(drawn)), [len(pieces) for pieces in given])], rows)


def _bars_on_machines(result: Result, drawn: pl.DataFrame) -> pl.DataFrame:
    """Bars of jobs on machines; a job that has a part of a machine gets as much of its row."""
    held = drawn.join(result.allocations, on="attempt", how="inner", maintain_order="left")
    span = pl.col("last_machine") - pl.col("first_machine") + 1
    each = pl.col("cores") * pl.col("units") / (pl.col("units") * span).sum().over("attempt")
    held = held.with_columns(span=span, each=each, has=result.machines["cores"].gather(held["first_machine"]))
    whole = held.filter(pl.col("each") >= pl.col("has"))
    parts = held.filter(pl.col("each") < pl.col("has")).head(_MOST_BARS)
    parts = parts.with_columns(machine=pl.int_ranges("first_machine", pl.col("last_machine") + 1)).explode("machine")
    bars = [_placed(whole, list(zip(whole["first_machine"].cast(float), whole["span"].cast(float), strict=True)))]
    bars += [_within(rows) for rows in parts.head(_MOST_BARS).partition_by("machine", maintain_order=True)]
    return pl.concat(bars).sort("start_time", "attempt")


def _within(rows: pl.DataFrame) -> pl.DataFrame:
    """Bars of the jobs of one machine within its row; if they have more than there is, they share what there is."""
    machine, cores = rows.select("machine", "has").row(0)
    counts = rows["each"].ceil().cast(pl.Int64).clip(lower_bound=1)
    given = lanes(zip(rows["start_time"], rows["finish_time"], counts, strict=True), cores)
    there = max(cores, 1 + max(last for pieces in given for _, last in pieces))
    places = [(machine + first / there, (last - first + 1) / there) for pieces in given for first, last in pieces]
    return _placed(rows[np.repeat(np.arange(len(rows)), [len(pieces) for pieces in given])], places)


def _placed(table: pl.DataFrame, rows: list[tuple[float, float]]) -> pl.DataFrame:
    placed = pl.DataFrame(rows, schema={"low": pl.Float64, "height": pl.Float64}, orient="row")
    return table.select("attempt", "start_time", "finish_time").hstack(placed)


def _rows(result: Result, highest: float) -> float:
    """How many rows the figure has: all that are there, unless the platform has no fixed number of them."""
    if result.platform.cloud is not None:
        return highest
    return float(result.platform.machine_count if has_machines(result) else max(result.platform.cores, highest))


def _choice(name: str, values: pl.Series) -> dict[str, Any]:
    """The colours of bars by a column, and what they stand for."""
    numbers, names = classes_of(values)
    colours = [OTHER if one == NOT_SAID else colour_of(at) for at, one in enumerate(names)]
    return {
        "name": name,
        "colours": [colours[number] for number in numbers],
        "key": [[shown(one), colour, ""] for one, colour in zip(names, colours, strict=True)],
    }


def _each_job(attempts: pl.Series) -> dict[str, Any]:
    """Colours in turn, so that neighbours can be told apart."""
    return {"name": "job", "colours": [PALETTE[at % len(PALETTE)] for at in attempts], "key": []}


def _hover(jobs: pl.DataFrame, names: list[str], clock: Clock) -> list[str]:
    told = []
    for row in jobs.iter_rows(named=True):
        lines = [f"job {plain(row['job_id'])}: {row['cores']:,} core{'' if row['cores'] == 1 else 's'}"]
        lines.append(f"from {clock.text(row['start_time'])}, for {duration(row['finish_time'] - row['start_time'])}")
        lines += [f"{_TOLD[name]}: {plain(row[name])}" for name in names if row[name] is not None]
        told.append("<br>".join(lines))
    return told


def _caption(
    result: Result,
    attempts: pl.DataFrame,
    bars: pl.DataFrame,
    window: tuple[float, float],
    clock: Clock,
    *,
    is_asked: bool,
) -> str:
    told = bars["attempt"].n_unique()
    timeless = len(result.attempts) - len(attempts)
    what = "job" if len(result.attempts) == len(result.jobs) else "attempt"  # a job that was lost is started again
    text = f"A bar is a job on what it held: {counted(told, what)}."
    text += f" Left out: {counted(timeless, what)} that ran for no time." if timeless else ""
    if told < len(attempts):
        where = "" if is_asked else ", where the queue is longest"
        text = (
            f"A bar is a job on what it held: {told:,} of {counted(len(attempts), what)}, those that run "
            f"between {clock.text(window[0])} and {clock.text(window[1])}{where}; "
            f"{len(attempts) - told:,} are left out here."
        )
    if not has_machines(result):
        text += " A pool does not say which cores a job has: the lowest free ones are drawn."
    is_whole = told == len(attempts) and not timeless
    return f"{text} {left_out([result])}" if is_whole or result.counts["rejected_jobs"] else text
