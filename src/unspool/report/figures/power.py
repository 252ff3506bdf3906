"""What machines draw over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unspool.report.figures.bins import held_over
from unspool.report.figures.load import bins_told, edges_of, lines_of
from unspool.report.figures.style import Floats, clock_of, each_of, finished, left_out, nothing, policy_key
from unspool.report.shown import amount, energy
from unspool.results.result import Result

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["power"]


def power(result: Result, *others: Result) -> Figure:
    """Power of all machines over time, under each policy that has some; runs need energy."""
    heading = "Power of all machines over time"
    results = [one for one in (result, *others) if one.power is not None]
    edges = edges_of(results, len(results)) if results else None
    if edges is None:
        return nothing(heading, "No run asked for energy." if not results else "No job ran.")
    watts = [_watts_over(one, edges) for one in results]
    figure = lines_of(results, clock_of(results), edges, watts, "watts", "%{y:,.4~g} W")
    used = each_of(results, [energy(one.summary["energy_j"]) for one in results])
    most = each_of(results, [f"{amount(one.summary['peak_power_w'])} W" for one in results])
    caption = (
        f"{bins_told(edges)} From the first submission to the last end: {used}. The most at any time: {most}. "
        f"{left_out(results)}"
    )
    return finished(figure, heading, caption, key=policy_key(results))


def _watts_over(result: Result, edges: Floats) -> Floats:
    assert result.power is not None
    begin, end, watts = (result.power[name].to_numpy() for name in ("start_time", "finish_time", "watts"))
    inside = (end > edges[0]) & (begin < edges[-1])
    row = np.zeros(int(inside.sum()), np.int64)
    mean: Floats = held_over(begin[inside], end[inside], watts[inside], row, edges, 1)[0]
    return mean
