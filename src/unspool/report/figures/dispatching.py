"""What dispatching did: the queues of workers, how jobs were felt, how durations were predicted, delays.

Each figure is of the table of jobs that `unspool dispatch -o` writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from unspool.report.figures.bins import held_over
from unspool.report.figures.style import (
    MOST_MARKS,
    OTHER,
    PALETTE,
    SCALE,
    Clock,
    Floats,
    clock_between,
    colour_of,
    counted,
    few_ticks,
    finished,
    log_durations,
    nothing,
)
from unspool.report.shown import duration

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["VERDICTS", "delay_ecdf", "predictions", "verdict_shares", "worker_queues"]

VERDICTS = {"on time": PALETTE[2], "delayed": PALETTE[1], "late": PALETTE[3]}
"""How a job may be felt, and its colour."""

_MOST_LINES = 6  # workers that are told apart by lines; more are rows of a heat map
_MOST_ROWS = 60
_MOST_BINS, _FEWER_BINS = 400, 160
_BARS = 120
_CELLS = 40  # of the heat map, each way
_STEPS = 400
_LEAST_S, _LEAST_DELAY_S = 0.01, 0.1  # shorter durations and delays stand at the edge of logarithmic axes
_NO_WORKER = "No job was given to a worker."


def worker_queues(jobs: pl.DataFrame, workers: int, *, is_late: bool = False) -> Figure:
    """Jobs at each worker over time, those that run and those that wait there.

    `is_late`: workers take jobs when they are free, so that none waits at one of them.
    """
    heading = "Jobs at each worker over time"
    done = _done(jobs)
    span = _span(done)
    if span is None:
        return nothing(heading, _NO_WORKER)
    clock = clock_between(*span, 0.0)
    at = done["worker"].cast(pl.Int64).to_numpy()
    begin, end = done["start_ts" if is_late else "spawn_ts"].to_numpy(), done["finish_ts"].to_numpy()
    if workers <= _MOST_LINES:
        edges = np.linspace(*span, min(_MOST_BINS, MOST_MARKS // (workers + 2)) + 1)
        rows = held_over(begin, end, np.ones(len(at)), at, edges, workers)
        lines = [(f"worker {number}", row, colour_of(number)) for number, row in enumerate(rows)]
        if is_late:
            lines.append(("waiting to be taken", _waiting(done, edges), OTHER))
        figure, height = _queue_lines(clock, edges, lines), 25.0
    else:
        figure, lines, edges, height = *_queue_map(clock, span, begin, end, at, workers), 24.0
    which = (
        "Workers take jobs when they are free: at a worker is the one that runs, the others wait to be taken."
        if is_late
        else "Jobs that wait there and the one that runs, by the worker that got them."
    )
    caption = f"{which} Means over {len(edges) - 1:,} steps of {duration(_step(edges))}. {_left_out(jobs)}"
    key = [(name, colour, "") for name, _, colour in lines]
    return finished(figure, heading, caption, key=key, height=height)


def _queue_lines(clock: Clock, edges: Floats, lines: list[tuple[str, Floats, str]]) -> Figure:
    from plotly.graph_objects import Figure, Scatter

    figure = Figure()
    for name, values, colour in lines:
        figure.add_trace(
            Scatter(
                x=clock.of(edges), y=np.round(np.append(values, values[-1]), 3), name=name, mode="lines",
                line={"color": colour, "width": 1.5, "shape": "hv"},
                hovertemplate=f"{clock.hover}<br>%{{fullData.name}}: %{{y:,.3~g}} jobs<extra></extra>",
            )
        )  # fmt: skip
    figure.update_layout(xaxis=clock.axis(), yaxis={"title": {"text": "jobs"}, "rangemode": "tozero"})
    return figure


def _queue_map(
    clock: Clock, span: tuple[float, float], begin: Floats, end: Floats, at: npt.NDArray[np.int64], workers: int
) -> tuple[Figure, list[tuple[str, Floats, str]], Floats]:
    """Rows of workers, several in one where there are many, by time; the colour is jobs at a worker."""
    from plotly.graph_objects import Figure, Heatmap

    each = -(-workers // _MOST_ROWS)
    count = -(-workers // each)
    edges = np.linspace(*span, min(_FEWER_BINS, MOST_MARKS // count) + 1)
    sizes = np.minimum(each, workers - each * np.arange(count))
    rows = held_over(begin, end, np.ones(len(at)), at // each, edges, count) / sizes[:, None]
    names = [_workers(each * row, int(size)) for row, size in enumerate(sizes)]
    figure = Figure(
        Heatmap(
            x=clock.of((edges[:-1] + edges[1:]) / 2.0), y=list(range(count)), z=np.round(rows, 2), colorscale=SCALE,
            zmin=0.0, customdata=[[name] * (len(edges) - 1) for name in names],
            colorbar={"title": {"text": "jobs at<br>a worker"}, "thickness": 12},
            hovertemplate=f"{clock.hover}<br>%{{customdata}}: %{{z:,.3~g}} jobs each<extra></extra>",
        )
    )  # fmt: skip
    ticks = list(range(0, count, max(1, count // 12)))
    axis: dict[str, Any] = {"tickvals": ticks, "ticktext": [names[tick] for tick in ticks]}
    figure.update_layout(xaxis=clock.axis(), yaxis={**axis, "autorange": "reversed", **few_ticks(count)})
    return figure, [], edges


def _workers(first: int, count: int) -> str:
    return f"worker {first:,}" if count == 1 else f"workers {first:,} to {first + count - 1:,}"


def _waiting(done: pl.DataFrame, edges: Floats) -> Floats:
    here = np.zeros(len(done), np.int64)
    row: Floats = held_over(
        done["spawn_ts"].to_numpy(), done["start_ts"].to_numpy(), np.ones(len(done)), here, edges, 1
    )[0]
    return row


def verdict_shares(jobs: pl.DataFrame) -> Figure:
    """Which share of the jobs that came in a time were on time, delayed and late."""
    from plotly.graph_objects import Bar, Figure

    heading = "On time, delayed or late, by when jobs came"
    if "experience" not in jobs.columns:
        return nothing(heading, "No metric of this experiment says which jobs were on time: add user-experience.")
    done = _done(jobs)
    span = _span(done)
    if span is None:
        return nothing(heading, _NO_WORKER)
    come = done["spawn_ts"].to_numpy()
    first, last = float(come.min()), float(come.max())
    edges = np.linspace(first, last if last > first else first + 1.0, _BARS + 1)
    clock = clock_between(*span, 0.0)
    at = np.clip(np.searchsorted(edges, come, side="right") - 1, 0, _BARS - 1)
    felt = done["experience"].to_numpy()
    counts = {name: np.bincount(at[felt == name], minlength=_BARS) for name in VERDICTS}
    total = np.bincount(at, minlength=_BARS)
    figure = Figure()
    for name, colour in VERDICTS.items():
        share = np.divide(counts[name], total, out=np.full(_BARS, np.nan), where=total > 0)
        figure.add_trace(
            Bar(
                x=clock.of(edges[:-1]), y=np.round(share, 4), width=float(clock.length(_step(edges))), offset=0,
                name=name, marker={"color": colour, "line": {"width": 0}},
                customdata=np.stack([counts[name], total], axis=1),
                hovertemplate=(
                    f"from {clock.hover}<br>%{{fullData.name}}: %{{y:.1%}} "
                    "(%{customdata[0]:,} of %{customdata[1]:,} jobs)<extra></extra>"
                ),
            )
        )  # fmt: skip
    figure.update_layout(
        barmode="stack", bargap=0, xaxis=clock.axis(),
        yaxis={"title": {"text": "share of jobs"}, "tickformat": ".0%", "range": [0.0, 1.0]},
    )  # fmt: skip
    empty = int((total == 0).sum())
    caption = f"{_BARS} bars of {duration(_step(edges))} each; a job counts where it was submitted."
    caption += f" In {empty:,} of them no job came." if empty else ""
    key = [(name, colour, "") for name, colour in VERDICTS.items()]
    return finished(figure, heading, f"{caption} {_left_out(jobs)}", key=key)


def predictions(jobs: pl.DataFrame) -> Figure:
    """How many jobs of each predicted duration took how long: a heat map with the line of exact predictions."""
    from plotly.graph_objects import Figure, Heatmap, Scatter

    heading = "Predicted against actual duration"
    known = _done(jobs).filter(pl.col("estimate").is_not_null())
    if not len(known):
        return nothing(heading, "Nothing was predicted in this experiment.")
    guess = np.maximum(known["estimate"].cast(pl.Float64).to_numpy(), _LEAST_S)
    truth = np.maximum(known["duration"].cast(pl.Float64).to_numpy(), _LEAST_S)
    low = max(_LEAST_S, float(min(guess.min(), truth.min()))) * 0.999
    high = max(float(max(guess.max(), truth.max())) * 1.001, low * 10.0)
    edges = np.geomspace(low, high, _CELLS + 1)
    count = np.histogram2d(truth, guess, bins=(edges, edges))[0]
    middle = np.round(np.sqrt(edges[:-1] * edges[1:]), 6)
    told = [duration(float(value)) for value in middle]
    shade = np.log10(np.where(count > 0, count, np.nan))
    ticks = list(range(int(np.log10(max(count.max(), 1.0))) + 1))
    figure = Figure(
        Heatmap(
            x=middle, y=middle, z=np.round(shade, 3), colorscale=SCALE, hoverongaps=False, zmin=0.0,
            customdata=[[[int(cell), told[column], told[row]] for column, cell in enumerate(cells)]
                        for row, cells in enumerate(count)],
            colorbar={"title": {"text": "jobs"}, "tickvals": ticks, "ticktext": [f"{10**tick:,}" for tick in ticks],
                      "thickness": 12},
            hovertemplate="%{customdata[0]:,} jobs: predicted about %{customdata[1]}, took about %{customdata[2]}"
            "<extra></extra>",
        )
    )  # fmt: skip
    exact = {"color": OTHER, "width": 1.5, "dash": "dash"}
    figure.add_trace(Scatter(x=[low, high], y=[low, high], mode="lines", line=exact, hoverinfo="skip", name="exact"))
    figure.update_layout(
        xaxis=log_durations("predicted", low, high), yaxis=log_durations("actual", low, high), showlegend=False,
    )  # fmt: skip
    ratio = known.filter(pl.col("duration") > 0.0).select(pl.col("estimate") / pl.col("duration")).to_series()
    within = float(ratio.is_between(0.5, 2.0).mean() or 0.0)  # type: ignore[arg-type]
    without = len(_done(jobs)) - len(known)
    caption = f"{counted(len(known))}, {within:.1%} of them predicted within a factor of two."
    caption += f" {counted(without)} without a prediction left out." if without else ""
    caption += f" Below {duration(_LEAST_S)} counts as that." if low <= _LEAST_S else ""
    return finished(figure, heading, f"{caption} {_left_out(jobs)}", key=[("as predicted", OTHER, "line")], height=30.0)


def delay_ecdf(jobs: pl.DataFrame) -> Figure:
    """The share of jobs that start at most so long after they came."""
    from plotly.graph_objects import Figure, Scatter

    heading = "Share of jobs delayed at most so long"
    done = _done(jobs)
    if not len(done):
        return nothing(heading, _NO_WORKER)
    delays = np.sort(done["delay_s"].to_numpy())
    most = max(10.0, float(delays[-1]))
    steps = np.geomspace(_LEAST_DELAY_S, most, _STEPS)
    shares = np.searchsorted(delays, steps * (1.0 + 1e-12), side="right") / len(delays)
    figure = Figure(
        Scatter(
            x=np.round(steps, 5), y=np.round(shares, 5), mode="lines", name="jobs",
            line={"color": PALETTE[0], "width": 2, "shape": "hv"}, customdata=[duration(float(one)) for one in steps],
            hovertemplate="%{y:.1%} of jobs at most %{customdata}<extra></extra>",
        )
    )  # fmt: skip
    figure.update_layout(
        xaxis=log_durations("delay before the job starts", _LEAST_DELAY_S, most), hovermode="closest",
        yaxis={"title": {"text": "share of jobs"}, "tickformat": ".0%", "range": [0.0, 1.02]},
    )  # fmt: skip
    at_once = int((delays <= _LEAST_DELAY_S).sum())
    edge = duration(_LEAST_DELAY_S)
    caption = f"From submission to start. {at_once:,} of {counted(len(done))} start within {edge} (left edge)."
    return finished(figure, heading, f"{caption} {_left_out(jobs)}")


def _done(jobs: pl.DataFrame) -> pl.DataFrame:
    return jobs.filter(pl.col("worker").is_not_null())


def _span(done: pl.DataFrame) -> tuple[float, float] | None:
    """From the first submission to the last end; None without jobs that take any time."""
    if not len(done):
        return None
    first, last = float(done["spawn_ts"].min()), float(done["finish_ts"].max())  # type: ignore[arg-type]
    return (first, last) if last > first else None


def _step(edges: Floats) -> float:
    return float(edges[1] - edges[0])


def _left_out(jobs: pl.DataFrame) -> str:
    never = int(jobs["worker"].null_count())
    return f"Left out: {counted(never)} that no worker got." if never else "No job is left out."
