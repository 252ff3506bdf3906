"""What differs between results: measures of jobs with intervals, what is busy when, and cost against wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from unspool.analysis.compare import Comparison
from unspool.errors import shown
from unspool.report.figures.bins import held_over
from unspool.report.figures.gantt import has_machines
from unspool.report.figures.machines import MOST_COLUMNS, MOST_ROWS, busy_in_rows, cores_in_rows, machines_named
from unspool.report.figures.style import (
    CAPACITY,
    Floats,
    clock_of,
    colour_of,
    counted,
    few_ticks,
    finished,
    left_out,
    nothing,
    plain,
)  # fmt: skip
from unspool.report.figures.waits import size_classes
from unspool.report.shown import amount, duration, money
from unspool.results.result import Result
from unspool.results.series import span_of

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["MEASURE_NAMES", "busy_difference", "cost_against_wait", "group_differences", "paired_differences", "signed"]

MEASURE_NAMES = {"wait_time": "wait", "response_time": "response time", "bounded_slowdown": "bounded slowdown"}
_MOST_GROUPS = 20
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star", "pentagon")
# Less is blue and more is orange, which people of every kind of colour vision tell apart; grey is no difference.
_LESS_TO_MORE = ((0.0, "#00496f"), (0.25, "#0072b2"), (0.5, "#e8eaec"), (0.75, "#d55e00"), (1.0, "#8a3c00"))


def signed(value: float | None, measure: str) -> str:
    """A difference of a measure with its sign and unit, `=` for none and nothing where it is not known."""
    if value is None:
        return ""
    text = amount(abs(value)) if measure == "bounded_slowdown" else duration(abs(value))
    return "=" if value == 0 else f"{'-' if value < 0 else '+'}{text}"


def paired_differences(found: Comparison) -> Figure:
    """How far each result is from the baseline in each measure, in percent of the baseline's mean: a dot, a whisker."""
    whole = found.differences.filter(pl.col("group").is_null())
    rows = [(row, MEASURE_NAMES[row["measure"]]) for row in whole.iter_rows(named=True)]
    heading = f"Mean difference of the same jobs, against {shown(found.baseline)}"
    return _dots(found, rows, list(MEASURE_NAMES.values()), heading)


def group_differences(found: Comparison) -> Figure:
    """The same of the wait of each group of jobs, for the groups with the most jobs."""
    table = found.differences.filter(pl.col("group").is_not_null(), pl.col("measure") == "wait_time")
    sizes = table.group_by("group", maintain_order=True).agg(pl.col("jobs").max())
    kept = sizes.top_k(_MOST_GROUPS, by="jobs")["group"].to_list()
    names = [name for name in sizes["group"].to_list() if name in kept]
    rows = [(row, row["group"]) for row in table.filter(pl.col("group").is_in(names)).iter_rows(named=True)]
    heading = f"Difference in wait by {found.by}, against {shown(found.baseline)}"
    left = len(sizes) - len(names)
    return _dots(found, rows, names, heading, f"{counted(left, 'smaller group')} left out." if left else "")


def _dots(
    found: Comparison, rows: Sequence[tuple[dict[str, Any], str]], names: Sequence[str], heading: str, more: str = ""
) -> Figure:
    """A line for each name from the top down, and on it a dot with a whisker for each result but the baseline."""
    from plotly.graph_objects import Figure

    others = [name for name in found.results["policy"].to_list() if name != found.baseline]
    drawn = [(row, name) for row, name in rows if row["baseline_mean"]]
    if not drawn:
        return nothing(heading, f"Under {shown(found.baseline)} no job waits: there is nothing to be a percentage of.")
    figure, apart = Figure(), 0.7 / max(len(others), 1)
    for at, other in enumerate(others):
        mine = [(row, name) for row, name in drawn if row["policy"] == other]
        shift = (at - (len(others) - 1) / 2.0) * apart
        lines = [names.index(name) + shift for _, name in mine]
        figure.add_trace(_dots_of(other, at, [row for row, _ in mine], lines, found.confidence))
    figure.update_layout(
        xaxis={"title": {"text": "difference (% of the baseline's mean)"},
               "ticksuffix": "%", "zeroline": False},
        yaxis={"tickvals": list(range(len(names))), "ticktext": [plain(name, 18) for name in names],
               "range": [len(names) - 0.4, -0.6], "zeroline": False},
        shapes=[{"type": "line", "x0": 0, "x1": 0, "yref": "paper", "y0": 0, "y1": 1,
                 "line": {"color": CAPACITY, "dash": "dash", "width": 1.5}}],
        hovermode="closest",
    )  # fmt: skip
    sure = f"{100 * found.confidence:.4g}%"
    is_bare = any(_ends(row) is None for row, _ in drawn)
    bare = " A dot without a whisker has too few jobs for an interval." if is_bare else ""
    zero = " Left out: what is 0 under the baseline." if len(drawn) < len(rows) else ""
    caption = (
        f"Left of the dashed line is better: less than under {shown(found.baseline)}. Whiskers are {sure} intervals: "
        f"how much the mean varies over stretches of this log; they say nothing of other logs.{bare}{zero} {more}"
    )
    key = [(shown(other), colour_of(at + 1), "") for at, other in enumerate(others)]
    height = 7.0 + max(2.2, 1.1 * len(others)) * len(names)
    return finished(figure, heading, caption.strip(), key=key, height=height)


def _dots_of(other: str, at: int, rows: Sequence[dict[str, Any]], lines: Sequence[float], confidence: float) -> Any:
    from plotly.graph_objects import Scatter

    shares = [100.0 * row["difference"] / row["baseline_mean"] for row in rows]
    ends = [_ends(row) or (share, share) for row, share in zip(rows, shares, strict=True)]
    colour = colour_of(at + 1)
    return Scatter(
        x=np.round(shares, 4), y=list(lines), name=plain(other), mode="markers",
        marker={"color": colour, "size": 11, "symbol": _SYMBOLS[at % len(_SYMBOLS)]},
        error_x={"type": "data", "symmetric": False, "color": colour, "thickness": 2, "width": 6,
                 "array": [round(end[1] - share, 4) for end, share in zip(ends, shares, strict=True)],
                 "arrayminus": [round(share - end[0], 4) for end, share in zip(ends, shares, strict=True)]},
        customdata=[_told(row, confidence) for row in rows],
        hovertemplate="%{fullData.name}: %{x:+.3~g}%<br>%{customdata}<extra></extra>",
    )  # fmt: skip


def _ends(row: dict[str, Any]) -> tuple[float, float] | None:
    """The ends of the interval in percent of the baseline's mean, where there is one."""
    low, high, base = row["difference_low"], row["difference_high"], row["baseline_mean"]
    return None if low is None or high is None else (100.0 * low / base, 100.0 * high / base)


def _told(row: dict[str, Any], confidence: float) -> str:
    measure = row["measure"]
    text = f"{MEASURE_NAMES[measure]} {signed(row['difference'], measure)}"
    if row["difference_low"] is not None:
        ends = (signed(row[name], measure) for name in ("difference_low", "difference_high"))
        text += f" ({100 * confidence:.4g}%: {' to '.join(ends)})"
    return f"{text}, {counted(row['jobs'])}"


def busy_difference(result: Result, other: Result) -> Figure:
    """When and where more or less is busy in another result than in this one: a heat map.

    A row is some neighbouring machines, where both have the same ones; else, as in a pool, the jobs of some size.
    """
    heading = f"What is busy when: {shown(other.policy)} against {shown(result.policy)}"
    begin, end = span_of([result, other])
    if end <= begin:
        return nothing(heading, "No job ran for any time.")
    edges = np.linspace(begin, end, MOST_COLUMNS + 1)
    if _have_the_same_machines(result, other):
        return _by_machine(result, other, edges, heading)
    return _by_size(result, other, edges, heading)


def _have_the_same_machines(result: Result, other: Result) -> bool:
    return (
        all(has_machines(one) and one.platform.cloud is None for one in (result, other))
        and result.machines["cores"].to_list() == other.machines["cores"].to_list()
    )


def _by_machine(result: Result, other: Result, edges: Floats, heading: str) -> Figure:
    machines = len(result.machines)
    to_a_row = -(-machines // MOST_ROWS)
    rows = -(-machines // to_a_row)
    before, after = (busy_in_rows(one, to_a_row, rows, edges) for one in (result, other))
    share = (after - before) / np.maximum(cores_in_rows(result, to_a_row, rows, edges), 1.0)
    names = [machines_named(row * to_a_row, min((row + 1) * to_a_row, machines) - 1) for row in range(rows)]
    figure = _heat_map(
        (result, other), edges, share, np.arange(rows) * to_a_row, names, 1.0,
        {"title": {"text": "busy share"}, "tickformat": "+.0%"}, "%{z:+.1%} of their cores",
    )  # fmt: skip
    figure.update_yaxes(title={"text": "machine, by number"}, autorange="reversed", tickformat=",~d", **few_ticks(rows))
    in_a_row = "A row is a machine" if to_a_row == 1 else f"A row is {to_a_row:,} neighbouring machines of {machines:,}"
    return finished(figure, heading, _caption(result, other, edges, f"{in_a_row}, a column"), height=28.0)


def _by_size(result: Result, other: Result, edges: Floats, heading: str) -> Figure:
    """Busy cores by the size of the jobs that hold them."""
    both = pl.concat([result.attempts["cores"].cast(pl.Int64), other.attempts["cores"].cast(pl.Int64)]).to_numpy()
    names, rows = size_classes(both)
    split = len(result.attempts)
    before, after = (
        held_over(
            one.attempts["start_time"].to_numpy(), one.attempts["finish_time"].to_numpy(),
            one.attempts["cores"].cast(pl.Float64).to_numpy(), row, edges, len(names),
        )
        for one, row in ((result, rows[:split]), (other, rows[split:]))
    )  # fmt: skip
    change = after - before
    figure = _heat_map(
        (result, other), edges, change, names, names, max(float(np.abs(change).max()), 1e-9),
        {"title": {"text": "busy cores"}, "tickformat": "+,.3~g"}, "%{z:+,.3~g} cores",
    )  # fmt: skip
    figure.update_yaxes(title={"text": "size of the job"}, type="category")
    caption = _caption(result, other, edges, "A row is the jobs of some size, a column")
    return finished(figure, heading, caption, height=8.0 + 2.2 * len(names))


def _heat_map(
    results: Sequence[Result], edges: Floats, values: Floats, rows: Any, names: Sequence[str], most: float,
    bar: dict[str, Any], hover: str,
) -> Figure:  # fmt: skip
    from plotly.graph_objects import Figure, Heatmap

    clock = clock_of(results)
    figure = Figure(
        Heatmap(
            x=clock.of(edges[:-1] + np.diff(edges) / 2.0), y=rows, z=np.round(values, 4), zmin=-most, zmax=most,
            colorscale=_LESS_TO_MORE, colorbar={**bar, "thickness": 12},
            text=[[name] * len(values[0]) for name in names],
            hovertemplate=f"{clock.hover}<br>%{{text}}: {hover}<extra></extra>",
        )
    )  # fmt: skip
    figure.update_layout(xaxis=clock.axis())
    return figure


def _caption(result: Result, other: Result, edges: Floats, row: str) -> str:
    step = duration(float(edges[1] - edges[0]))
    colours = (
        f"Orange: more is busy under {shown(other.policy)}; blue: more under {shown(result.policy)}; grey: the same"
    )
    return f"{row} {step}. {colours}. {left_out([result, other])}"


def cost_against_wait(result: Result, *others: Result) -> Figure:
    """What each result costs against how long jobs wait in it, and those that no other beats in both."""
    from plotly.graph_objects import Figure, Scatter

    results = (result, *others)
    heading = "Cost against wait"
    known = [(at, one) for at, one in enumerate(results) if "total_cost_usd" in one.summary]
    if not known:
        return nothing(heading, "What the machines cost is not known.")
    points = [(one.summary["mean_wait_s"], one.summary["total_cost_usd"]) for _, one in known]
    best = [point for point in sorted(set(points)) if not any(_beats(rival, point) for rival in points)]
    figure = Figure(
        Scatter(x=[wait / 3600.0 for wait, _ in best], y=[usd for _, usd in best], mode="lines", hoverinfo="skip",
                line={"color": CAPACITY, "dash": "dash", "width": 1.5, "shape": "hv"})
    )  # fmt: skip
    for (at, one), (wait, usd) in zip(known, points, strict=True):
        figure.add_trace(
            Scatter(
                x=[wait / 3600.0], y=[usd], name=plain(one.policy), mode="markers+text", text=[plain(one.policy, 24)],
                textposition="top center", cliponaxis=False,
                marker={"color": colour_of(at), "size": 13, "symbol": _SYMBOLS[at % len(_SYMBOLS)]},
                customdata=[[duration(wait), money(usd)]],
                hovertemplate="%{fullData.name}: %{customdata[1]}, mean wait %{customdata[0]}<extra></extra>",
            )
        )  # fmt: skip
    figure.update_layout(
        xaxis={"title": {"text": "mean wait (hours)"}, "rangemode": "tozero"},
        yaxis={"title": {"text": "cost of all (US dollars)"}, "tickprefix": "$", "rangemode": "tozero"},
        hovermode="closest",
    )
    unknown = len(results) - len(known)
    left = f" Left out: {counted(unknown, 'result')} whose cost is not known." if unknown else ""
    names = [shown(one.policy) for (_, one), point in zip(known, points, strict=True) if point in best]
    line = ", joined by the dashed line" if len(best) > 1 else ""
    caption = f"Of all jobs of each run. No other is better in both cost and wait than: {', '.join(names)}{line}.{left}"
    key = [(shown(one.policy), colour_of(at), "") for at, one in known]
    return finished(figure, heading, caption, key=key, height=22.0)


def _beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether one is no worse in both and better in one."""
    return one != other and one[0] <= other[0] and one[1] <= other[1]
