"""What all hours together cost against what is committed to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from unspool.report.figures.style import OTHER, PALETTE, counted, finished, nothing
from unspool.report.shown import money

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["commitment_curve"]

_HEADING = "What to commit to"
_DASHES = ("dash", "dot", "solid")


def commitment_curve(curve: pl.DataFrame, hours: int) -> Figure:
    """The total cost against dollars committed an hour, from none to twice the best, of each choice of savings plans.

    The columns are those of the curve of `unspool.analysis.commitments`. The least of each curve is marked.
    """
    from plotly.graph_objects import Figure, Scatter

    drawn = [(name[0], part) for name, part in curve.group_by("choice", maintain_order=True) if len(part) > 1]
    if not drawn:
        return nothing(_HEADING, "Nothing that ran on demand would cost less under a savings plan.")
    bill = float(curve["total_usd"][0])
    figure = Figure()
    key = []
    for at, (name, part) in enumerate(drawn):
        x, y = part["usd_per_hour"].to_numpy(), part["total_usd"].to_numpy()
        low = int(np.argmin(y))
        colour = PALETTE[at]
        key.append((f"{name}: {money(float(y[low]))} at {money(float(x[low]))} an hour", colour, "line"))
        hover = f"{name}<br>$%{{x:,.3f}} an hour committed: $%{{y:,.2f}}<extra></extra>"
        line = {"color": colour, "width": 2, "dash": _DASHES[at % len(_DASHES)]}
        figure.add_trace(
            Scatter(x=x.round(9).tolist(), y=y.round(6).tolist(), mode="lines", line=line, hovertemplate=hover)
        )
        dot = {"mode": "markers", "marker": {"color": colour, "size": 9}, "hovertemplate": hover}
        figure.add_trace(Scatter(x=[round(float(x[low]), 9)], y=[round(float(y[low]), 6)], **dot))
    figure.add_hline(y=bill, line={"color": OTHER, "width": 1, "dash": "dash"})
    figure.update_layout(
        showlegend=False,
        xaxis={"title": {"text": "committed to, US dollars an hour"}, "tickprefix": "$", "rangemode": "tozero"},
        yaxis={"title": {"text": "the whole bill, US dollars"}, "tickprefix": "$"},
    )
    caption = (
        f"The bill of these {counted(hours, 'hour')} if savings plans had been bought: none at the left, the cheapest "
        f"at the dot, twice as much at the right. The dashed line is the bill without any, {money(bill)}. Above it, a "
        "commitment costs more than it saves."
    )
    return finished(figure, _HEADING, caption, key=key)
