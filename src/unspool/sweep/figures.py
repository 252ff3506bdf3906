"""Figures of a sweep: the ranking with its intervals, one figure against another, and what a figure depends on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from unspool.report.figures.style import CAPACITY, OTHER, PALETTE, finished, nothing, plain

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["front_figure", "ranking_figure", "sensitivity_figure"]

_MOST = 30


def ranking_figure(table: pl.DataFrame, names: Sequence[str], by: str, shown_as: Callable[[Any], str]) -> Figure:
    """The mean of the first points, with intervals; those that are not told from the best in its colour."""
    from plotly.graph_objects import Figure, Scatter

    heading = f"{by} of the best points"
    drawn = table.with_columns(point=pl.Series(names)).filter(pl.col("mean").is_not_null()).head(_MOST).reverse()
    if not len(drawn):
        return nothing(heading, "No run has this figure.")
    is_near = (drawn["rank"] == 1) | drawn["is_as_good"].fill_null(False)
    half_low = (drawn["mean"] - drawn["low"]).fill_null(0.0)
    half_high = (drawn["high"] - drawn["mean"]).fill_null(0.0)
    figure = Figure(
        Scatter(
            x=drawn["mean"].to_list(), y=[plain(name, 48) for name in drawn["point"]], mode="markers",
            error_x={"type": "data", "symmetric": False, "array": half_high.to_list(),
                     "arrayminus": half_low.to_list(), "color": CAPACITY},
            marker={"size": 10, "color": [PALETTE[0] if near else OTHER for near in is_near]},
            customdata=[[shown_as(value)] for value in drawn["mean"]],
            hovertemplate="%{y}: %{customdata[0]}<extra></extra>",
        )
    )  # fmt: skip
    figure.update_layout(xaxis={"title": {"text": by}}, yaxis={"automargin": True})
    key = [("the best, and what is not told from it", PALETTE[0], ""), ("worse", OTHER, "")]
    more = f" The first {_MOST} of {len(table)}." if len(table) > _MOST else ""
    caption = f"Means over seeds and windows, with 95 % intervals where there are several.{more}"
    return finished(figure, heading, caption, key=key, height=6.0 + 1.6 * len(drawn))


def front_figure(table: pl.DataFrame, names: Sequence[str], figures: tuple[str, str]) -> Figure:
    """One figure of each point against another; those that no other beats joined."""
    from plotly.graph_objects import Figure, Scatter

    across, up = figures
    heading = f"{up} against {across}"
    drawn = table.with_columns(point=pl.Series(names)).drop_nulls([across, up]).head(2000)
    if not len(drawn):
        return nothing(heading, "No run has both figures.")
    best = drawn.filter("is_best").sort(across)
    figure = Figure()
    for part, colour, symbol in ((drawn.filter(~pl.col("is_best")), OTHER, "circle"), (best, PALETTE[0], "diamond")):
        figure.add_trace(
            Scatter(
                x=part[across].to_list(), y=part[up].to_list(), text=[plain(name, 60) for name in part["point"]],
                mode="markers" if part is not best else "lines+markers", line={"color": CAPACITY, "shape": "hv",
                "dash": "dash", "width": 1.5}, marker={"color": colour, "symbol": symbol, "size": 9},
                hovertemplate=f"%{{text}}: {across} %{{x:,.6~g}}, {up} %{{y:,.6~g}}<extra></extra>",
            )
        )  # fmt: skip
    figure.update_layout(
        xaxis={"title": {"text": across}}, yaxis={"title": {"text": up}}, hovermode="closest", showlegend=False
    )
    beaten = f"{len(best)} of {len(drawn)} points {'is' if len(best) == 1 else 'are'} beaten by no other in both"
    caption = f"{beaten}{', joined by the dashed line' * (len(best) > 1)}."
    return finished(figure, heading, caption, key=[("no other is better in both", PALETTE[0], "")])


def sensitivity_figure(table: pl.DataFrame, by: str) -> Figure:
    """The share of the variance that each parameter explains alone."""
    from plotly.graph_objects import Bar, Figure

    heading = f"What {by} depends on"
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
    caption = "Each parameter alone; what is missing to 100 % is due to how they act together, and to seeds."
    return finished(figure, heading, caption, height=6.0 + 2.0 * len(drawn))
