"""How long jobs wait: in classes, as distributions, and by size and run time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from unspool.errors import shown
from unspool.report.figures.style import (
    MOST_MARKS,
    SCALE,
    Floats,
    colour_of,
    counted,
    each_of,
    finished,
    left_out,
    log_durations,
    nothing,
    plain,
    policy_key,
)
from unspool.report.shown import duration
from unspool.results.result import Result

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["share_bars", "size_classes", "slowdown_ecdf", "wait_by_size", "wait_classes", "wait_ecdf"]

_CLASSES = {
    "none": 1.0, "up to 1 min": 60.0, "1 to 5 min": 300.0, "5 to 15 min": 900.0, "15 min to 1 h": 3600.0,
    "1 to 4 h": 14400.0, "4 to 24 h": 86400.0, "over a day": np.inf,
}  # fmt: skip
_STEPS = 400
_RUN_TIMES = {
    "under 1 min": 60.0, "1 to 10 min": 600.0, "10 min to 1 h": 3600.0, "1 to 4 h": 14400.0, "4 to 12 h": 43200.0,
    "12 h to 1 d": 86400.0, "over a day": np.inf,
}  # fmt: skip
_MOST_SIZES = 12
_TICKS = {60.0: "1 min", 600.0: "10 min", 3600.0: "1 h", 14400.0: "4 h", 86400.0: "1 d", 604800.0: "1 week"}
_LEAST = np.log10(60.0)  # a mean wait below that has the darkest colour

Named = tuple[str, pl.Series, str]


def wait_classes(result: Result, *others: Result) -> Figure:
    """The share of jobs that wait for no time, up to a minute, and so on, under each policy."""
    results = (result, *others)
    parts = [(one.policy, one.jobs["wait_time"], colour_of(at)) for at, one in enumerate(results)]
    counts = " and ".join(dict.fromkeys(counted(len(one.jobs)) for one in results))
    caption = f"Share of {counts} by how long they wait for their start. 'None' is up to a second. {left_out(results)}"
    return share_bars(parts, "How long jobs wait", caption)


def wait_ecdf(result: Result, *others: Result) -> Figure:
    """The share of jobs that wait no longer than each time, on a logarithmic axis."""
    results = (result, *others)
    most = max([10.0, *(float(one.jobs["wait_time"].max() or 0.0) for one in results)])  # type: ignore[arg-type]
    heading = "Share of jobs that wait at most so long"
    at_once = each_of(results, [f"{int((one.jobs['wait_time'] < 1.0).sum()):,}" for one in results])
    caption = f"Jobs that wait less than a second stand at the left edge ({at_once}). {left_out(results)}"
    axis = log_durations("wait", 1.0, most)
    return _ecdf(
        results, "wait_time", np.geomspace(1.0, most, _steps(results)), heading, caption, axis, "%{customdata}"
    )


def slowdown_ecdf(result: Result, *others: Result) -> Figure:
    """The share of jobs whose bounded slowdown is at most so much, on a logarithmic axis."""
    results = (result, *others)
    most = max([10.0, *(float(one.jobs["bounded_slowdown"].max() or 0.0) for one in results)])  # type: ignore[arg-type]
    caption = (
        "Bounded slowdown is (wait + run time) / run time, where jobs under 10 s count as 10 s: 1 is no wait at all. "
        + left_out(results)
    )
    axis = {"title": {"text": "bounded slowdown"}, "type": "log", "range": [0.0, float(np.log10(most))], "dtick": 1}
    steps = np.geomspace(1.0, most, _steps(results))
    return _ecdf(
        results, "bounded_slowdown", steps, "Share of jobs slowed down at most so much", caption, axis, "%{x:,.3~g}"
    )


def _steps(results: Sequence[Result]) -> int:
    return min(_STEPS, MOST_MARKS // len(results))


def _ecdf(
    results: Sequence[Result], column: str, steps: Floats, heading: str, caption: str, axis: dict[str, Any], hover: str
) -> Figure:
    """One line a result: at each step, the share of its jobs up to and with it."""
    from plotly.graph_objects import Figure, Scatter

    if not any(len(one.jobs) for one in results):
        return nothing(heading, "No job ran.")
    figure = Figure()
    told = [duration(float(step)) for step in steps] if "customdata" in hover else None
    for at, one in enumerate(results):
        values = np.sort(one.jobs[column].cast(pl.Float64).to_numpy())
        shares = np.searchsorted(values, steps * (1.0 + 1e-12), side="right") / max(len(values), 1)
        style = {"color": colour_of(at), "width": 2, "dash": ("solid", "dash", "dot", "dashdot")[at % 4]}
        figure.add_trace(
            Scatter(
                x=np.round(steps, 4),
                y=np.round(shares, 5),
                name=plain(one.policy),
                mode="lines",
                line={**style, "shape": "hv"},
                customdata=told,
                hovertemplate=f"%{{fullData.name}}: %{{y:.1%}} of jobs at most {hover}<extra></extra>",
            )
        )
    figure.update_layout(
        xaxis=axis, yaxis={"title": {"text": "share of jobs"}, "tickformat": ".0%", "range": [0.0, 1.02]},
        hovermode="closest",
    )  # fmt: skip
    return finished(figure, heading, caption, key=policy_key(results))


def wait_by_size(result: Result) -> Figure:
    """The mean wait of jobs by how many cores they have and how long they run: a heat map."""
    from plotly.graph_objects import Figure, Heatmap

    heading = f"Who waits under {shown(result.policy)}: mean wait by size and run time"
    if not len(result.jobs):
        return nothing(heading, "No job ran.")
    sizes, rows = size_classes(result.jobs["cores"].to_numpy())
    columns = np.searchsorted(
        np.array(list(_RUN_TIMES.values())[:-1]), result.jobs["run_time"].to_numpy(), side="right"
    )
    cells = rows * len(_RUN_TIMES) + columns
    shape = (len(sizes), len(_RUN_TIMES))
    count = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
    total = np.bincount(cells, result.jobs["wait_time"].to_numpy(), minlength=shape[0] * shape[1]).reshape(shape)
    mean = np.divide(total, count, out=np.full(shape, np.nan), where=count > 0)
    told = [
        [duration(float(cell)) if known else "" for cell, known in zip(*pair, strict=True)]
        for pair in zip(mean, count > 0, strict=True)
    ]
    colour = np.log10(np.maximum(mean, 1.0))
    figure = Figure(
        Heatmap(
            x=list(_RUN_TIMES), y=sizes, z=np.round(colour, 3), text=told, texttemplate="%{text}",
            customdata=count, colorscale=SCALE, xgap=2, ygap=2, hoverongaps=False, zmin=_LEAST,
            zmax=max(np.log10(3600.0), float(np.nanmax(colour))),
            colorbar={"tickvals": [float(tick) for tick in np.log10(list(_TICKS))], "ticktext": list(_TICKS.values()),
                      "title": {"text": "mean wait"},
                      "thickness": 12},
            hovertemplate="%{y}, %{x}: mean wait %{text} (%{customdata:,} jobs)<extra></extra>",
        )
    )  # fmt: skip
    figure.update_layout(
        xaxis={"title": {"text": "run time"}, "type": "category"},
        yaxis={"title": {"text": "size of the job"}, "type": "category"},
    )
    caption = f"Mean wait of {counted(len(result.jobs))}; a cell without a number has no jobs. {left_out([result])}"
    return finished(figure, heading, caption, height=max(14.0, 8.0 + 2.2 * len(sizes)))


def size_classes(cores: npt.NDArray[Any]) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Names of classes of sizes, each twice as large as the one before it (or four times, or more), and each job's."""
    largest = max(int(cores.max()), 1)
    step = next(power for power in range(1, 64) if power * _MOST_SIZES > np.log2(largest))
    bounds = [1]
    while bounds[-1] < largest:
        bounds.append(bounds[-1] << step)
    names = ["1 core", *(_from_to(low + 1, min(high, largest)) for low, high in pairwise(bounds))]
    return names, np.searchsorted(np.array(bounds), cores, side="left").astype(np.int64)


def _from_to(low: int, high: int) -> str:
    return f"{high:,} cores" if low == high else f"{low:,} to {high:,} cores"


def share_bars(parts: Sequence[Named], heading: str, caption: str) -> Figure:
    """Bars side by side: the share of each series of waits in each class. A part is a name, waits and a colour."""
    from plotly.graph_objects import Bar, Figure

    figure = Figure()
    for name, waits, colour in parts:
        count = _counts(waits)
        figure.add_trace(
            Bar(
                x=list(_CLASSES),
                y=(count / max(len(waits), 1)).tolist(),
                name=plain(name),
                marker={"color": colour, "line": {"width": 0}},
                customdata=count.tolist(),
                hovertemplate="%{x}, %{fullData.name}: %{y:.1%} (%{customdata:,} jobs)<extra></extra>",
            )
        )
    figure.update_layout(
        barmode="group",
        bargap=0.25,
        yaxis={"title": {"text": "share of jobs"}, "tickformat": ".0%", "rangemode": "tozero"},
        xaxis={"title": {"text": "wait before the job starts"}},
    )
    return finished(
        figure, heading, caption, key=[(shown(name), colour, "") for name, _, colour in parts] if len(parts) > 1 else []
    )


def _counts(waits: pl.Series) -> npt.NDArray[np.int64]:
    """How many waits are in each class; up to and with its upper bound, and what began too early waits for nothing."""
    bounds = np.array(list(_CLASSES.values())[:-1])
    at: Any = np.searchsorted(bounds, waits.cast(pl.Float64).to_numpy())
    return np.bincount(at, minlength=len(_CLASSES)).astype(np.int64)
