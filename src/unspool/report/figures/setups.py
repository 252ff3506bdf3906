"""Set-ups beside each other: cost against wait, and what the cost is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from unspool.analysis.setups import AS_LOGGED, COST_PARTS
from unspool.errors import shown
from unspool.report.figures.style import CAPACITY, OTHER, PALETTE, colour_of, finished, nothing, plain
from unspool.report.shown import duration, money

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["cost_parts", "set_ups_against_wait"]

_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")
_SHADES = (*PALETTE[:5], PALETTE[5])


def set_ups_against_wait(table: pl.DataFrame) -> Figure:
    """Cost of each set-up against its mean wait, those that no other beats joined; the log's mean wait as a line."""
    from plotly.graph_objects import Figure, Scatter

    heading = "Cost against wait"
    drawn = table.filter(pl.col("total_cost_usd").is_not_null(), pl.col("mean_wait_s").is_not_null())
    if not len(drawn):
        return nothing(heading, "No set-up ran a job.")
    best = drawn.filter("is_best").select("mean_wait_s", "total_cost_usd").unique().sort("mean_wait_s")
    figure = Figure(
        Scatter(x=(best["mean_wait_s"] / 60.0).to_list(), y=best["total_cost_usd"].to_list(), mode="lines",
                hoverinfo="skip", line={"color": CAPACITY, "dash": "dash", "width": 1.5, "shape": "hv"})
    )  # fmt: skip
    for at, (name, wait, usd) in enumerate(drawn.select("set_up", "mean_wait_s", "total_cost_usd").iter_rows()):
        figure.add_trace(
            Scatter(
                x=[wait / 60.0], y=[usd], name=plain(name), mode="markers+text", text=[plain(name, 24)],
                textposition="top center", cliponaxis=False,
                marker={"color": colour_of(at), "size": 13, "symbol": _SYMBOLS[at % len(_SYMBOLS)]},
                customdata=[[duration(wait), money(usd)]],
                hovertemplate="%{fullData.name}: %{customdata[1]}, mean wait %{customdata[0]}<extra></extra>",
            )
        )  # fmt: skip
    key = [(shown(name), colour_of(at), "") for at, name in enumerate(drawn["set_up"])]
    logged = table.filter(pl.col("set_up") == AS_LOGGED)["mean_wait_s"][0]
    if logged is not None:
        figure.add_vline(x=logged / 60.0, line={"color": OTHER, "width": 1.5, "dash": "dot"})
        key.append((f"mean wait in the log, {duration(logged)}", OTHER, "line"))
    figure.update_layout(
        xaxis={"title": {"text": "mean wait (minutes)"}, "rangemode": "tozero"},
        yaxis={"title": {"text": "cost of all (US dollars)"}, "tickprefix": "$", "rangemode": "tozero"},
        hovermode="closest",
    )
    names = ", ".join(shown(name) for name in drawn.filter("is_best")["set_up"])
    caption = (
        f"No other is better in both cost and wait than: {names}{', joined by the dashed line' * (len(best) > 1)}."
    )
    return finished(figure, heading, caption, key=key, height=22.0)


def cost_parts(table: pl.DataFrame) -> Figure:
    """What the cost of each set-up is made of, stacked."""
    from plotly.graph_objects import Bar, Figure

    drawn = table.filter(pl.col("total_cost_usd").is_not_null()).reverse()
    figure, key = Figure(), []
    for part, colour in zip(COST_PARTS, _SHADES, strict=True):
        usd = drawn[f"{part}_cost_usd"]
        if not (usd.sum() or 0.0) > 0.0:
            continue
        name = {"disk": "disks", "licence": "licences"}.get(part, part.replace("_", " "))
        key.append((name, colour, ""))
        figure.add_trace(
            Bar(
                x=usd.round(6).to_list(), y=[plain(each, 24) for each in drawn["set_up"]], name=name, orientation="h",
                marker={"color": colour, "line": {"width": 0}},
                hovertemplate="%{y}, %{fullData.name}: $%{x:,.2f}<extra></extra>",
            )
        )  # fmt: skip
    heading = "What the cost is made of"
    if not key:
        return nothing(heading, "No set-up costs anything.")
    figure.update_layout(barmode="stack", xaxis={"title": {"text": "US dollars"}, "tickprefix": "$"})
    return finished(figure, heading, "US dollars in all, by what was paid for.", key=key, height=6.0 + 2.5 * len(drawn))
