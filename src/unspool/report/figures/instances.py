"""What instances do over time, and what waiting is saved for the money, when and for whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from unspool.analysis.costs import Costs
from unspool.metrics.cost.hosts import hosts_of
from unspool.report.figures.bins import held_over
from unspool.report.figures.style import (
    NOT_SAID,
    PALETTE,
    Floats,
    clock_between,
    counted,
    finished,
    nothing,
    plain,
)
from unspool.report.shown import duration, hours, money

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["cost_against_wait", "instance_states", "instances_over", "waiting_saved"]

_STATES = {"running jobs": PALETTE[0], "idle": PALETTE[1], "booting": PALETTE[5]}
_MOST_BINS, _BARS, _MOST_POINTS = 400, 120, 1000
_FEW = 20  # dots that can have their names beside them
_LEAST_USD = 0.01


def instance_states(costs: Costs) -> Figure:
    """Instances that run jobs, are idle and boot, over the paid hours, stacked."""
    from plotly.graph_objects import Figure, Scatter

    heading = "Instances by what they do, over time"
    window, fixed = costs.bill.window, costs.bill.machines["start_time"].null_count()
    started = len(costs.bill.machines) - fixed
    if not started or not window.hours:
        return nothing(heading, "No instance was started.")
    edges = np.linspace(window.begin_s, window.end_s, _MOST_BINS + 1)
    clock = clock_between(window.begin_s, window.end_s, window.origin_unix_s)
    figure = Figure()
    for (name, colour), row in zip(_STATES.items(), instances_over(costs, edges), strict=True):
        figure.add_trace(
            Scatter(
                x=clock.of(edges), y=np.round(np.append(row, row[-1]), 3), name=name, mode="lines", stackgroup="all",
                fillcolor=colour, line={"width": 0, "color": colour, "shape": "hv"},
                hovertemplate=f"{clock.hover}<br>%{{fullData.name}}: %{{y:,.3~f}} instances<extra></extra>",
            )
        )  # fmt: skip
    figure.update_layout(xaxis=clock.axis(), yaxis={"title": {"text": "instances"}, "rangemode": "tozero"})
    step = duration(float(edges[1] - edges[0]))
    caption = f"Means over {_MOST_BINS} steps of {step}: {counted(started, 'instance')} in all."
    caption += f" Left out: {counted(fixed, 'machine')} always there." if fixed else ""
    return finished(figure, heading, caption, key=[(name, colour, "") for name, colour in _STATES.items()])


def instances_over(costs: Costs, edges: Floats) -> tuple[Floats, Floats, Floats]:
    """Instances that run jobs, are idle, and boot: on the mean in each bin."""
    end_s = float(edges[-1])
    started = costs.bill.machines.filter(pl.col("start_time").is_not_null()).select(
        "machine", "start_time", stop_time=pl.col("stop_time").fill_null(end_s), up_time="up_time"
    )
    started = started.with_columns(up_time=pl.min_horizontal(pl.col("up_time").fill_null(np.inf), "stop_time"))
    held = (
        hosts_of(costs.allocations)
        .join(costs.attempts.select(pl.col("attempt").cast(pl.Int64), "start_time", "finish_time"), on="attempt")
        .join(started.select(pl.col("machine").cast(pl.Int64)), on="machine", how="semi")
        .sort("machine", "start_time")
    )
    # Jobs share instances: each counts from the latest end of those before it.
    before = pl.col("finish_time").cum_max().shift(1).over("machine").fill_null(-np.inf)
    held = held.with_columns(start_time=pl.max_horizontal("start_time", before))
    held = held.filter(pl.col("start_time") < pl.col("finish_time"))
    booting = _mean(started["start_time"], started["up_time"], edges)
    up = _mean(started["up_time"], started["stop_time"], edges)
    running = _mean(held["start_time"], held["finish_time"], edges)
    return running, np.maximum(up - running, 0.0), booting


def _mean(begin: pl.Series, end: pl.Series, edges: Floats) -> Floats:
    rows = np.zeros(len(begin), np.int64)
    mean: Floats = held_over(
        begin.cast(pl.Float64).to_numpy(), end.cast(pl.Float64).to_numpy(), np.ones(len(begin)), rows, edges, 1
    )[0]
    return mean


def waiting_saved(costs: Costs) -> Figure:
    """Hours of waiting that are saved, by when jobs are submitted: the log's waits less those of the run."""
    from plotly.graph_objects import Bar, Figure

    heading = "Waiting saved, by when jobs are submitted"
    jobs = costs.bill.jobs
    known = jobs.filter(pl.col("logged_wait").is_not_null()) if "logged_wait" in jobs.columns else jobs.head(0)
    if not len(known):
        return nothing(heading, "The log does not say how long its jobs waited.")
    submit = known["submit_time"].to_numpy()
    first, last = float(submit.min()), float(submit.max())
    edges = np.linspace(first, last if last > first else first + 1.0, _BARS + 1)
    at = np.clip(np.searchsorted(edges, submit, side="right") - 1, 0, _BARS - 1)
    saved = np.bincount(at, (known["logged_wait"] - known["wait_time"]).to_numpy() / 3600.0, minlength=_BARS)
    clock = clock_between(first, float(edges[-1]), costs.bill.window.origin_unix_s)
    colours = [PALETTE[0] if value >= 0.0 else PALETTE[3] for value in saved]
    figure = Figure(
        Bar(
            x=clock.of(edges[:-1]), y=np.round(saved, 4), width=float(clock.length(float(edges[1] - edges[0]))),
            offset=0, name="saved", marker={"color": colours, "line": {"width": 0}},
            customdata=np.bincount(at, minlength=_BARS),
            hovertemplate=f"from {clock.hover}<br>%{{y:,.2~f}} hours saved, of %{{customdata:,}} jobs<extra></extra>",
        )
    )  # fmt: skip
    figure.update_layout(xaxis=clock.axis(), yaxis={"title": {"text": "hours saved"}})
    missing = len(jobs) - len(known)
    caption = f"{_BARS} bars of {duration(float(edges[1] - edges[0]))} each; in all {hours(float(saved.sum()))}."
    caption += f" The log does not say it of {counted(missing)}, left out here." if missing else ""
    key = [("saved", PALETTE[0], ""), ("waits longer than in the log", PALETTE[3], "")]
    return finished(figure, heading, caption, key=key if (saved < 0.0).any() else key[:1])


def cost_against_wait(table: pl.DataFrame, column: str) -> Figure:
    """What each user (queue, project) pays, against the waiting it saves; or, where no wait is logged, the mean wait.

    The table is that of `unspool.metrics.cost.cost_by`, without the row of what nobody pays.
    """
    from plotly.graph_objects import Figure, Scatter

    is_saved = table["wait_saved_hours"].count() > 0
    y = "wait_saved_hours" if is_saved else "mean_wait_s"
    heading = f"What each {column} pays, and {'what waiting it saves' if is_saved else 'how long its jobs wait'}"
    drawn = table.filter(pl.col(y).is_not_null()).head(_MOST_POINTS)
    names = drawn[column].fill_null(NOT_SAID)
    text = hours if is_saved else duration
    told = [
        f"{plain(name)}: {money(usd)}, {text(value)}{' saved' if is_saved else ' mean wait'}, {counted(jobs)}"
        for name, usd, value, jobs in zip(names, drawn["cost_usd"], drawn[y], drawn["jobs"], strict=True)
    ]
    is_few = len(drawn) <= _FEW
    values = drawn[y].to_numpy() / (1.0 if is_saved else 60.0)
    sizes = np.sqrt(drawn["core_hours"].to_numpy() / max(float(drawn["core_hours"].max() or 0.0), 1e-9))  # type: ignore[arg-type]
    figure = Figure(
        Scatter(
            x=np.round(np.maximum(drawn["cost_usd"].to_numpy(), _LEAST_USD), 6), y=np.round(values, 4),
            mode="markers+text" if is_few else "markers", textposition="top center", cliponaxis=False,
            text=[plain(name, 16) for name in names] if is_few else None,
            hovertext=told, hovertemplate="%{hovertext}<extra></extra>", name=f"by {column}",
            marker={"color": PALETTE[0], "opacity": 0.65, "size": np.round(7.0 + 25.0 * sizes, 1),
                    "line": {"width": 0.5, "color": "rgba(127,127,127,.6)"}},
        )
    )  # fmt: skip
    figure.update_layout(
        xaxis={"title": {"text": "US dollars"}, "type": "log", "tickprefix": "$", "dtick": 1, "tickformat": ",~f"},
        yaxis={"title": {"text": "hours of waiting saved" if is_saved else "mean wait (minutes)"}},
        hovermode="closest",
    )
    left = len(table) - len(drawn)
    caption = f"A dot is a {column}, larger the more core-hours it has; idle time is paid by none of them."
    caption += f" Below {money(_LEAST_USD)} counts as that." if (drawn["cost_usd"] < _LEAST_USD).any() else ""
    caption += (
        f" {left:,} of {len(table):,} left out: those of the least cost, or without a logged wait." if left else ""
    )
    return finished(figure, heading, caption)
