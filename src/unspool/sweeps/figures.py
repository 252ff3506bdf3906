"""Figures of a sweep: the ranking with its intervals, one figure against another, and what a figure depends on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from unspool.report.figures.style import CAPACITY, OTHER, PALETTE, finished, nothing, plain
from unspool.sweeps.unrun import RUNS_FEWER

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["axis_of", "front_figure", "ranking_figure", "sensitivity_figure", "spoken"]

_MOST = 30
_ENDINGS = ("_s", "_usd", "_j")
_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"))


def spoken(figure: str) -> str:
    """A figure in words.

    >>> spoken("mean_wait_s"), spoken("total_cost_usd"), spoken("energy_j"), spoken("utilisation")
    ('mean wait', 'total cost', 'energy', 'utilisation')
    """
    ending = next((each for each in _ENDINGS if figure.endswith(each)), "")
    return figure.removesuffix(ending).replace("_", " ")


def axis_of(figure: str, values: pl.Series) -> tuple[float, dict[str, Any]]:
    """What the values of a figure are divided by for an axis, and the axis: times in the unit that fits them.

    >>> axis_of("mean_wait_s", pl.Series([60.0, 9000.0]))
    (3600.0, {'title': {'text': 'mean wait (h)'}})
    """
    largest = float(values.abs().max() or 0.0)  # type: ignore[arg-type]
    if figure.endswith("_s"):
        unit_s, unit = next(((of, name) for of, name in _UNITS if largest >= 2.0 * of), (1.0, "s"))
        return unit_s, {"title": {"text": f"{spoken(figure)} ({unit})"}}
    more = {"tickprefix": "$"} if figure.endswith("_usd") else {"tickformat": ".0%"} if figure == "utilisation" else {}
    return 1.0, {"title": {"text": spoken(figure)}, **more}


def ranking_figure(table: pl.DataFrame, names: Sequence[str], by: str, shown_as: Callable[[Any], str]) -> Figure:
    """The mean of the first points, with intervals; those that are not told from the best in its colour."""
    from plotly.graph_objects import Figure, Scatter

    heading = f"The points by {spoken(by)}"
    drawn = table.with_columns(point=pl.Series(names)).filter(pl.col("mean").is_not_null()).head(_MOST).reverse()
    if not len(drawn):
        return nothing(heading, "No run has this figure.")
    is_near = (drawn["rank"] == 1) | drawn["is_as_good"].fill_null(False)
    unit, axis = axis_of(by, drawn["mean"])
    half_low = (drawn["mean"] - drawn["low"]).fill_null(0.0) / unit
    half_high = (drawn["high"] - drawn["mean"]).fill_null(0.0) / unit
    figure = Figure(
        Scatter(
            x=(drawn["mean"] / unit).to_list(), y=list(range(len(drawn))), mode="markers",
            error_x={"type": "data", "symmetric": False, "array": half_high.to_list(),
                     "arrayminus": half_low.to_list(), "color": CAPACITY},
            marker={"size": 10, "color": [PALETTE[0] if near else OTHER for near in is_near],
                    "symbol": ["circle-open" if fewer else "circle" for fewer in drawn[RUNS_FEWER]]},
            customdata=[
                [plain(row["point"], 60), shown_as(row["mean"]) + _between(row, shown_as)
                 + ", of fewer jobs" * row[RUNS_FEWER]]
                for row in drawn.iter_rows(named=True)
            ],
            hovertemplate="%{customdata[0]}: %{customdata[1]}<extra></extra>",
        )
    )  # fmt: skip
    labels = {"tickvals": list(range(len(drawn))), "ticktext": [plain(name, 28) for name in drawn["point"]]}
    figure.update_layout(xaxis=axis, yaxis={**labels, "automargin": True, "range": [-0.7, len(drawn) - 0.3]})
    key = [("the best, and what may be as good", PALETTE[0], ""), ("worse", OTHER, "")]
    more = f" The first {_MOST} of {len(table)}." if len(table) > _MOST else ""
    fewer = " Open circles run fewer jobs, and come last." if drawn[RUNS_FEWER].any() else ""
    caption = f"Means over seeds and windows, with 95 % intervals where there are several.{fewer}{more}"
    return finished(figure, heading, caption, key=key, height=6.0 + 1.6 * len(drawn))


def _between(row: dict[str, Any], shown_as: Callable[[Any], str]) -> str:
    if row["low"] is None or row["low"] == row["high"]:
        return ""
    return f", between {shown_as(row['low'])} and {shown_as(row['high'])}"


def front_figure(table: pl.DataFrame, names: Sequence[str], figures: tuple[str, str]) -> Figure:
    """One figure of each point against another; those that no other beats joined."""
    from plotly.graph_objects import Figure, Scatter

    across, up = figures
    heading = f"{spoken(up).capitalize()} against {spoken(across)}"
    drawn = table.with_columns(point=pl.Series(names)).drop_nulls([across, up]).head(2000)
    if not len(drawn):
        return nothing(heading, "No run has both figures.")
    best = drawn.filter("is_best").sort(across)
    (wide, x_axis), (tall, y_axis) = axis_of(across, drawn[across]), axis_of(up, drawn[up])
    figure = Figure()
    for part, colour, symbol in ((drawn.filter(~pl.col("is_best")), OTHER, "circle"), (best, PALETTE[0], "diamond")):
        figure.add_trace(
            Scatter(
                x=(part[across] / wide).to_list(), y=(part[up] / tall).to_list(),
                text=[plain(name, 60) for name in part["point"]],
                mode="markers" if part is not best else "lines+markers", line={"color": CAPACITY, "shape": "hv",
                "dash": "dash", "width": 1.5}, marker={"color": colour, "symbol": symbol, "size": 9},
                hovertemplate=f"%{{text}}: {x_axis['title']['text']} %{{x}}, {y_axis['title']['text']} %{{y}}"
                "<extra></extra>",
            )
        )  # fmt: skip
    figure.update_layout(xaxis=x_axis, yaxis=y_axis, hovermode="closest", showlegend=False)
    beaten = f"{len(best)} of {len(drawn)} points {'is' if len(best) == 1 else 'are'} beaten by no other in both"
    fewer = " Points that run fewer jobs than others count as beaten." if drawn[RUNS_FEWER].any() else ""
    caption = f"{beaten}{', joined by the dashed line' * (len(best) > 1)}.{fewer}"
    return finished(figure, heading, caption, key=[("no other is better in both", PALETTE[0], "")])


def sensitivity_figure(table: pl.DataFrame, by: str) -> Figure:
    """The share of the variance that each parameter explains alone."""
    from plotly.graph_objects import Bar, Figure

    heading = f"What the {spoken(by)} depends on"
    if not len(table):
        return nothing(heading, "Nothing differs between the runs.")
    drawn = table.reverse()
    figure = Figure(
        Bar(
            x=drawn["share"].to_list(), y=[plain(name, 40) for name in drawn["parameter"]], orientation="h",
            marker={"color": PALETTE[0]}, hovertemplate="%{y}: %{x:.1%}<extra></extra>",
        )
    )  # fmt: skip
    figure.update_layout(xaxis={"title": {"text": "share of the variance"}, "tickformat": ".0%", "range": [0, 1]})
    caption = "Each parameter alone. What is missing to 100 % comes from how they act together, and from seeds."
    return finished(figure, heading, caption, height=6.0 + 2.0 * len(drawn))
