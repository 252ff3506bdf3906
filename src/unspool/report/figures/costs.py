"""What is paid, over time, and waits as logged and as they would have been."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from unspool.errors import shown
from unspool.report.figures.style import OTHER, PALETTE, Floats, counted, finished, plain
from unspool.report.figures.waits import share_bars

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["cost_over_time", "waits_compared"]

_MOST_PARTS = len(PALETTE)
_MOST_BARS = 800
_BARS_H = {1: "hour", 6: "6 hours", 24: "day", 168: "week", 672: "4 weeks"}
_SUFFIXES = {" OnDemand Costs": "on demand", " Spot Costs": "spot"}
_WHOLE = {
    "Reserved Costs": "reserved", "OnPremises Costs": "on premises", "Disk Costs": "disks", "Licence Costs": "licences",
}  # fmt: skip


def cost_over_time(hourly: pl.DataFrame, begin_unix_s: float) -> Figure:
    """Dollars by instance family and pricing, stacked: a bar an hour, or as many hours as make a readable picture."""
    from plotly.graph_objects import Bar, Figure

    width_h = next((width for width in _BARS_H if len(hourly) / width <= _MOST_BARS), max(_BARS_H))
    begin = datetime.fromtimestamp(begin_unix_s, UTC).replace(tzinfo=None)
    count = -(-len(hourly) // width_h)
    times = [(begin + timedelta(hours=width_h * at)).isoformat() for at in range(count)]
    figure = Figure()
    key = []
    for name, usd, colour, is_spot in _parts(hourly):
        key.append((shown(name), colour, "spot" if is_spot else ""))
        pattern = {"shape": "/", "fillmode": "overlay", "size": 6, "solidity": 0.35} if is_spot else {}
        figure.add_trace(
            Bar(
                x=times,
                y=np.round(_binned(usd, width_h, count), 6).tolist(),
                name=plain(name),
                width=width_h * 3.6e6,
                offset=0,
                marker={"color": colour, "line": {"width": 0}, "pattern": pattern},
                hovertemplate="%{x|%d %b %Y %H:%M} UTC<br>%{fullData.name}: $%{y:,.2f}<extra></extra>",
            )
        )
    figure.update_layout(
        barmode="stack",
        yaxis={"title": {"text": f"US dollars per {_BARS_H[width_h]}"}, "tickprefix": "$", "rangemode": "tozero"},
        xaxis={"title": {"text": "time (UTC)"}, "type": "date"},
    )
    per = _BARS_H[width_h]
    caption = f"US dollars per {per}, by instance family; hatched: spot. {_covered(hourly)}"
    return finished(figure, "What it costs over time", caption, key=key)


def _covered(hourly: pl.DataFrame) -> str:
    """How many hours the table has, gaps included, and in how many of them anything is paid."""
    paid = int((hourly["Total Costs"] > 0.0).sum())
    rest = "" if paid == len(hourly) else f"; something is paid in {paid:,} of them"
    return f"The bill covers {counted(len(hourly), 'hour')}{rest}."


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
    return [*named, ("others", np.sum(rest, axis=0), OTHER, False)] if rest else named


def _binned(values: Floats, width: int, count: int) -> Floats:
    padded = np.zeros(count * width)
    padded[: len(values)] = values
    sums: Floats = padded.reshape(count, width).sum(axis=1)
    return sums


def waits_compared(jobs: pl.DataFrame, here: str = "in the cloud") -> Figure:
    """The share of jobs in each class of waits: as logged, and in the run, which is called `here`."""
    logged = jobs["logged_wait"].drop_nulls() if "logged_wait" in jobs.columns else pl.Series([], dtype=pl.Float64)
    parts = [("in the log", logged, OTHER)] if len(logged) else []
    missing = len(jobs) - len(logged) if parts else 0
    caption = f"Share of {counted(len(jobs))} by how long they wait."
    caption += f" The log does not say it of {counted(missing)}, left out there." if missing else ""
    return share_bars(
        [*parts, (here, jobs["wait_time"], PALETTE[0])],
        f"How long jobs wait, in the log and {here}" if parts else f"How long jobs wait {here}",
        caption,
    )
