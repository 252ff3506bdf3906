"""What is busy and what waits, over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from unspool.errors import UnknownName, shown
from unspool.report.figures.bins import busy_over, capacity_over, held_over, most_waiting, waiting_over
from unspool.report.figures.style import (
    CAPACITY,
    MOST_MARKS,
    NOT_SAID,
    OTHER,
    PALETTE,
    Clock,
    Floats,
    classes_of,
    clock_of,
    colour_of,
    each_of,
    finished,
    left_out,
    nothing,
    plain,
    policy_key,
)  # fmt: skip
from unspool.report.shown import amount, duration
from unspool.results.result import Result
from unspool.results.series import span_of

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "bins_told", "edges_of", "groupings", "held_by", "lines_of", "occupancy", "queue_length", "queued_work",
    "utilisation",
]  # fmt: skip

_MOST_BINS, _FEWER_BINS = 600, 160  # fewer where lines lie over each other, so that they can be told apart
_BY = ("user", "queue", "project", "partition")


def utilisation(result: Result, *others: Result) -> Figure:
    """Busy cores over time, under each policy, against the cores that are there."""
    results = (result, *others)
    heading = "Busy cores over time"
    edges = edges_of(results, len(results) + 1)
    if edges is None:
        return nothing(heading, "No job ran.")
    clock = clock_of(results)
    busy = [busy_over(one, edges) for one in results]
    figure = lines_of(results, clock, edges, busy, "cores", "%{y:,.4~g} cores busy")
    key = policy_key(results)
    figure.add_trace(_capacity(result, clock, edges))
    there = capacity_over(result, edges)
    is_alike = all(np.allclose(capacity_over(one, edges), there) for one in others)
    name = "cores that are there" + ("" if is_alike else f" under {shown(result.policy)}")
    shares = each_of(results, [f"{one.summary['utilisation']:.1%}" for one in results])
    caption = f"{bins_told(edges)} Used of what was there: {shares}. Dashed: {name}. {left_out(results)}"
    return finished(figure, heading, caption, key=[*key, (name, CAPACITY, "line")])


def queue_length(result: Result, *others: Result) -> Figure:
    """Jobs that wait, over time, under each policy."""
    return _queue((result, *others), "Jobs that wait over time", "jobs", 1.0, work=False)


def queued_work(result: Result, *others: Result) -> Figure:
    """Core-hours that wait, over time, under each policy."""
    return _queue((result, *others), "Work that waits over time", "core-hours", 3600.0, work=True)


def _queue(results: Sequence[Result], heading: str, name: str, unit: float, *, work: bool) -> Figure:
    edges = edges_of(results, len(results))
    if edges is None:
        return nothing(heading, "No job ran.")
    values = [waiting_over(one, edges, work=work) / unit for one in results]
    figure = lines_of(results, clock_of(results), edges, values, name, f"%{{y:,.4~g}} {name} wait")
    most = each_of(results, [amount(most_waiting(one, work=work) / unit) for one in results])
    caption = f"{bins_told(edges)} The most {name} at any time: {most}. {left_out(results)}"
    return finished(figure, heading, caption, key=policy_key(results))


def occupancy(result: Result, by: str | None = None) -> Figure:
    """Busy cores over time by who holds them, stacked: by user, queue, project, partition or state."""
    from plotly.graph_objects import Figure

    held = held_by(result, by or next(iter(groupings(result)), "state"))
    column = held.columns[-1]
    heading = f"Who holds the cores under {shown(result.policy)}, by {column}"
    edges = edges_of([result], len(PALETTE) + 2)
    if edges is None:
        return nothing(heading, "No job ran.")
    cores = held["cores"].cast(pl.Float64)
    begin, end = held["start_time"], held["finish_time"]
    numbers, names = classes_of(held[column], cores * (end - begin))
    rows = held_over(begin.to_numpy(), end.to_numpy(), cores.to_numpy(), numbers, edges, len(names))
    clock, figure = clock_of([result]), Figure()
    key = []
    for at, (name, row) in enumerate(zip(names, rows, strict=True)):
        colour = OTHER if name == NOT_SAID else colour_of(at)
        trace = _line(clock, edges, row, name, {"width": 0, "color": colour}, "%{fullData.name}: %{y:,.4~g} cores")
        figure.add_trace(trace.update(stackgroup="held", fillcolor=colour))
        key.append((shown(name), colour, ""))
    figure.add_trace(_capacity(result, clock, edges))
    figure.update_layout(xaxis=clock.axis(), yaxis={"title": {"text": "cores"}, "rangemode": "tozero"})
    caption = f"{bins_told(edges)} By core-hours, the largest first. Dashed: cores that are there. {left_out([result])}"
    return finished(figure, heading, caption, key=[*key, ("cores that are there", CAPACITY, "line")])


def groupings(result: Result) -> list[str]:
    """The columns by which jobs can be told apart: those that the log has, and that have two values or more."""
    return [name for name in _BY if name in result.jobs.columns and result.jobs[name].n_unique() > 1]


def held_by(result: Result, *columns: str, attempts: pl.DataFrame | None = None) -> pl.DataFrame:
    """Start, end and cores of each attempt, or of those given, in their order, with columns of their jobs."""
    known = ["state", *(name for name in _BY if name in result.jobs.columns)]
    for column in columns:
        if column not in known:
            raise UnknownName("column of jobs to tell apart by", column, known)
    held = result.attempts if attempts is None else attempts
    held = held.select("job_id", "start_time", "finish_time", "cores", state="how")
    asked = [name for name in columns if name != "state"]
    if asked:
        held = held.join(result.jobs.select("job_id", *asked), on="job_id", how="left", maintain_order="left")
    return held.select("job_id", "start_time", "finish_time", "cores", *columns)


def edges_of(results: Sequence[Result], lines: int) -> Floats | None:
    """The ends of as many equal bins as so many lines may have points; None without jobs that take any time."""
    begin, end = span_of(list(results))
    if end <= begin:
        return None
    return np.linspace(begin, end, min(_MOST_BINS if lines <= 2 else _FEWER_BINS, MOST_MARKS // (lines + 1)) + 1)


def bins_told(edges: Floats) -> str:
    """What the steps of a line are, for a caption."""
    return f"Means over {len(edges) - 1:,} steps of {duration(float(edges[1] - edges[0]))}."


def lines_of(
    results: Sequence[Result], clock: Clock, edges: Floats, values: Sequence[Floats], unit: str, hover: str
) -> Figure:
    """One line of steps for each result."""
    from plotly.graph_objects import Figure

    figure = Figure()
    for at, (one, line) in enumerate(zip(results, values, strict=True)):
        style = {"color": colour_of(at), "width": 1.6}
        fill = {"fill": "tozeroy"} if len(results) == 1 else {}
        figure.add_trace(_line(clock, edges, line, one.policy, style, f"%{{fullData.name}}: {hover}").update(fill))
    figure.update_layout(xaxis=clock.axis(), yaxis={"title": {"text": unit}, "rangemode": "tozero"})
    return figure


def _capacity(result: Result, clock: Clock, edges: Floats) -> Any:
    style = {"color": CAPACITY, "width": 1.5, "dash": "dash"}
    return _line(
        clock, edges, capacity_over(result, edges), "cores that are there", style, "%{y:,.4~g} cores are there"
    )


def _line(clock: Clock, edges: Floats, values: Floats, name: str, style: dict[str, Any], hover: str) -> Any:
    """A line in steps: the mean of each bin from its beginning on."""
    from plotly.graph_objects import Scatter

    return Scatter(
        x=clock.of(edges), y=np.round(np.append(values, values[-1]), 4), name=plain(name), mode="lines",
        line={**style, "shape": "hv"}, hovertemplate=f"{clock.hover}<br>{hover}<extra></extra>",
    )  # fmt: skip
