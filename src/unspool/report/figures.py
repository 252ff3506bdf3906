"""The figures of pages: one function each, from tables to a figure of Plotly.

Colours of text and lines are left to the page, which knows whether it is light or dark; so are legends, which Plotly
lays over the picture where the page is narrow.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["PALETTE", "cost_over_time", "waits_compared"]

PALETTE = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#ff8ab7", "#a463f2", "#97bbf5", "#9c6b4e")
_OTHER = "#9498a0"
_MOST_PARTS = len(PALETTE)
_MOST_BARS = 800
_BARS_H = {1: "hour", 6: "6 hours", 24: "day", 168: "week", 672: "4 weeks"}
_SUFFIXES = {" OnDemand Costs": "on demand", " Spot Costs": "spot"}
_WHOLE = {"Reserved Costs": "reserved", "OnPremises Costs": "on premises"}
_WAITS = {
    "none": 1.0, "up to 1 min": 60.0, "1 to 5 min": 300.0, "5 to 15 min": 900.0, "15 min to 1 h": 3600.0,
    "1 to 4 h": 14400.0, "4 to 24 h": 86400.0, "over a day": np.inf,
}  # fmt: skip

Floats = npt.NDArray[np.float64]


def cost_over_time(hourly: pl.DataFrame, begin_unix_s: float) -> Figure:
    """Dollars by instance family and pricing, stacked: a bar an hour, or as many hours as make a readable picture."""
    from plotly.graph_objects import Bar, Figure

    width_h = next((width for width in _BARS_H if len(hourly) / width <= _MOST_BARS), max(_BARS_H))
    begin = datetime.fromtimestamp(begin_unix_s, UTC).replace(tzinfo=None)
    count = -(-len(hourly) // width_h)
    times = [(begin + timedelta(hours=width_h * at)).isoformat() for at in range(count)]
    figure = Figure()
    for name, usd, colour, is_spot in _parts(hourly):
        pattern = {"shape": "/", "fillmode": "overlay", "size": 6, "solidity": 0.35} if is_spot else {}
        figure.add_trace(
            Bar(
                x=times,
                y=np.round(_binned(usd, width_h, count), 6).tolist(),
                name=name,
                width=width_h * 3.6e6,
                offset=0,
                marker={"color": colour, "line": {"width": 0}, "pattern": pattern},
                hovertemplate=f"%{{x|%d %b %Y %H:%M}} UTC<br>{name}: $%{{y:,.2f}}<extra></extra>",
            )
        )
    figure.update_layout(
        barmode="stack",
        yaxis={"title": {"text": f"US dollars per {_BARS_H[width_h]}"}, "tickprefix": "$", "rangemode": "tozero"},
        xaxis={"title": {"text": "time (UTC)"}, "type": "date"},
        showlegend=False,
    )
    return figure


def _parts(hourly: pl.DataFrame) -> list[tuple[str, Floats, str, bool]]:
    """Name, dollars an hour, colour and whether it is spot, of each family and pricing, the most expensive first.

    A family has one colour; those beyond the palette are summed up.
    """
    found: list[tuple[str, str, Floats]] = []
    for column in hourly.columns:
        for suffix, pricing in _SUFFIXES.items():
            if column.endswith(suffix) and column != "Total OnDemand Costs":
                found.append((column.removesuffix(suffix), pricing, hourly[column].to_numpy()))
        if column in _WHOLE:
            found.append((_WHOLE[column], "", hourly[column].to_numpy()))
    paid = sorted((part for part in found if part[2].sum() > 0.0), key=lambda part: -float(part[2].sum()))
    colours = dict(zip(dict.fromkeys(family for family, *_ in paid), PALETTE, strict=False))
    kept = [part for part in paid if part[0] in colours][:_MOST_PARTS]
    rest = [usd for family, pricing, usd in paid if (family, pricing) not in {(f, p) for f, p, _ in kept}]
    named = [(f"{family} {pricing}".strip(), usd, colours[family], pricing == "spot") for family, pricing, usd in kept]
    return [*named, ("others", np.sum(rest, axis=0), _OTHER, False)] if rest else named


def _binned(values: Floats, width: int, count: int) -> Floats:
    padded = np.zeros(count * width)
    padded[: len(values)] = values
    sums: Floats = padded.reshape(count, width).sum(axis=1)
    return sums


def waits_compared(jobs: pl.DataFrame, here: str = "in the cloud") -> Figure:
    """The share of jobs in each class of waits: as logged, and in the run, which is called `here`."""
    from plotly.graph_objects import Bar, Figure

    figure = Figure()
    logged = jobs["logged_wait"].drop_nulls() if "logged_wait" in jobs.columns else pl.Series([], dtype=pl.Float64)
    shown = [("in the log", logged, _OTHER)] if len(logged) else []
    for name, waits, colour in (*shown, (here, jobs["wait_time"], PALETTE[0])):
        figure.add_trace(
            Bar(
                x=list(_WAITS),
                y=(_classes(waits) / max(len(waits), 1)).tolist(),
                name=name,
                marker={"color": colour, "line": {"width": 0}},
                customdata=_classes(waits).tolist(),
                hovertemplate=f"%{{x}}, {name}: %{{y:.1%}} (%{{customdata:,}} jobs)<extra></extra>",
            )
        )
    figure.update_layout(
        barmode="group",
        bargap=0.25,
        yaxis={"title": {"text": "share of jobs"}, "tickformat": ".0%", "rangemode": "tozero"},
        xaxis={"title": {"text": "wait before the job starts"}},
        showlegend=False,
    )
    return figure


def _classes(waits: pl.Series) -> npt.NDArray[np.int64]:
    """How many waits are in each class; up to and with its upper bound, and what began too early waits for nothing."""
    bounds = np.array(list(_WAITS.values())[:-1])
    at: Any = np.searchsorted(bounds, waits.cast(pl.Float64).to_numpy())
    return np.bincount(at, minlength=len(_WAITS)).astype(np.int64)
