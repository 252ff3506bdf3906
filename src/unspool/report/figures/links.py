"""How much of links and hosts is used over time, by jobs whose profiles say what they send and compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from unspool.errors import UnknownName, shown
from unspool.report.figures.style import SCALE, Floats, clock_of, counted, finished, nothing, plain
from unspool.report.shown import decimal, duration, percent
from unspool.results.result import Result

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["busiest", "has_links", "link_use"]

_MOST_ROWS, _MOST_COLUMNS = 24, 200
_UNITS = {"link": ("B", "bandwidth"), "host": ("flop", "speed")}


def link_use(result: Result, kind: str = "link") -> Figure:
    """The share of their capacity at which the busiest links are used over time: a heat map; or hosts, if so asked."""
    from plotly.graph_objects import Figure, Heatmap

    if kind not in _UNITS:
        raise UnknownName("kind of resource", kind, _UNITS)
    heading = f"How much of the busiest {kind}s is used"
    use = result.network_use.filter(pl.col("kind") == kind)
    if not len(use):
        return nothing(heading, f"No use of {kind}s was written down.")
    ranked = busiest(result, kind)
    names = ranked["resource"].head(_MOST_ROWS).to_list()
    edges, share = _shares(use, names)
    clock = clock_of([result])
    figure = Figure(
        Heatmap(
            x=clock.of((edges[:-1] + edges[1:]) / 2.0), y=[plain(name, 24) for name in names], z=np.round(share, 4),
            zmin=0.0, zmax=1.0, colorscale=SCALE, colorbar={"title": {"text": "used"}, "tickformat": ".0%",
                                                            "thickness": 12},
            hovertemplate=f"{clock.hover}<br>%{{y}}: %{{z:.1%}} used<extra></extra>",
        )
    )  # fmt: skip
    figure.update_layout(
        xaxis=clock.axis(), yaxis={"title": {"text": kind}, "type": "category", "autorange": "reversed"}
    )
    left = len(ranked) - len(names)
    first = ranked.row(0, named=True)
    step = duration(float(edges[1] - edges[0]))
    unit, what = _UNITS[kind]
    caption = (
        f"The colour is the share of its {what} that a {kind} uses, in steps of {step}; the busiest stand first. "
        f"{shown(first['resource'])}: {percent(first['mean_use'])} on average, {percent(first['most_use'])} at most, "
        f"{decimal(first['amount'], unit)} in all."
    )
    caption += f" Left out: {counted(left, f'less used {kind}')}." if left else ""
    caption += " Links that give each user all of their bandwidth are not in it." if kind == "link" else ""
    return finished(figure, heading, caption, height=9.0 + 1.1 * len(names))


def has_links(result: Result) -> bool:
    """Whether it is known that a link carried anything."""
    return bool((result.network_use["kind"] == "link").any())


def busiest(result: Result, kind: str = "link") -> pl.DataFrame:
    """Links, or hosts, by the share of their capacity that is used from the first use of any to the last.

    `amount` is what was carried, in bytes or flops, `mean_use` and `most_use` (in a bin) are shares of the capacity.
    """
    use = result.network_use
    begin, end = (use["begin_time"].min() or 0.0), (use["end_time"].max() or 0.0)
    in_bin = pl.col("amount") / (pl.col("capacity") * (pl.col("end_time") - pl.col("begin_time")))
    return (
        use.filter(pl.col("kind") == kind)
        .group_by("resource", "capacity")
        .agg(pl.col("amount").sum(), most_use=in_bin.max())
        .with_columns(mean_use=pl.col("amount") / (pl.col("capacity") * pl.lit(end - begin)))  # type: ignore[operator]
        .sort(["mean_use", "resource"], descending=[True, False])
    )


def _shares(use: pl.DataFrame, names: list[str]) -> tuple[Floats, Floats]:
    """The edges of columns, each one bin or as many as make few enough, and the share used of each name in each."""
    begin, end = float(use["begin_time"].min()), float(use["end_time"].max())  # type: ignore[arg-type]
    width = float((use["end_time"] - use["begin_time"])[0])
    bins = round((end - begin) / width)
    each = -(-bins // _MOST_COLUMNS)
    columns = -(-bins // each)
    kept = use.filter(pl.col("resource").is_in(names))
    row = kept["resource"].replace_strict({name: at for at, name in enumerate(names)}, return_dtype=pl.Int64)
    column = ((kept["begin_time"] - begin) / width).round(0).cast(pl.Int64) // each
    part = (kept["amount"] / kept["capacity"]).to_numpy()
    sums = np.bincount((row * columns + column).to_numpy(), part, minlength=len(names) * columns)
    edges: Floats = begin + width * each * np.arange(columns + 1, dtype=np.float64)
    return edges, sums.reshape(len(names), columns) / (width * each)
