"""The three kinds of traces that our figures have, each drawn on axes of matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import unescape
from typing import TYPE_CHECKING, Any

import numpy as np

from unspool.report.figures.style import PALETTE, Floats
from unspool.report.static.axes import Axis, colour, number_format, text_of, values_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DRAWERS", "Canvas"]

_POINTS = 0.75  # of a pixel
_SYMBOLS = {
    "circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "x": "X", "star": "*", "pentagon": "p",
    "cross": "P",
}  # fmt: skip
_DARK = 0.45  # a colour darker than that has white text on it
_LIGHTNESS = np.array([0.299, 0.587, 0.114])

Trace = Mapping[str, Any]


@dataclass
class Canvas:
    """Where traces are drawn, and what those that were leave to the next: heights of stacks, and marks by name."""

    axes: Axes
    x: Axis
    y: Axis
    layout: Mapping[str, Any]
    bar_traces: int = 0
    is_covered: bool = False
    named: dict[str, Callable[[str], Any]] = field(default_factory=dict)
    stacks: dict[str, Any] = field(default_factory=dict)
    bars: int = 0


def _scatter(canvas: Canvas, trace: Trace) -> None:
    x, y = canvas.x.of(trace["x"]), canvas.y.of(trace["y"])
    mode, line, name = trace.get("mode", "lines"), trace.get("line", {}), unescape(trace.get("name", ""))
    step = "post" if line.get("shape") == "hv" else None
    if "stackgroup" in trace:
        low = canvas.stacks.get(trace["stackgroup"], np.zeros(len(y)))
        canvas.stacks[trace["stackgroup"]] = low + y
        fill = colour(trace["fillcolor"])
        canvas.axes.fill_between(x, low, low + y, step=step, color=fill, linewidth=0.0, label="_")
        return
    style = {"color": PALETTE[0], **Axis.line_style(line)}
    if trace.get("fill") == "tozeroy":
        canvas.axes.fill_between(x, 0.0, y, step=step, color=style["color"], alpha=0.4, linewidth=0.0)
    if "lines" in mode:
        canvas.axes.plot(x, y, drawstyle=f"steps-{step}" if step else "default", **style)
        canvas.named[name] = lambda label: _line_handle(style, label)
    if "markers" in mode:
        _markers(canvas, trace, x, y, name)
    if "text" in mode:
        sizes = np.broadcast_to(values_of(trace.get("marker", {}).get("size", 6)), len(x))
        for at, text in enumerate(values_of(trace["text"])):
            above = (0, 3 + _POINTS * float(sizes[at]) / 2.0)
            canvas.axes.annotate(
                text_of(text), (x[at], y[at]), above, textcoords="offset points", ha="center", fontsize=8.5
            )
        canvas.axes.margins(0.12)


def _line_handle(style: dict[str, Any], label: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **style)


def _markers(canvas: Canvas, trace: Trace, x: Floats, y: Floats, name: str) -> None:
    marker = trace.get("marker", {})
    colours = colour(marker.get("color", PALETTE[0]))
    symbol = _SYMBOLS.get(marker.get("symbol", "circle"), "o")
    for letter in ("x", "y"):
        ends = trace.get(f"error_{letter}")
        if ends is not None:
            sizes = np.abs([values_of(ends.get("arrayminus", ends["array"])), values_of(ends["array"])])
            canvas.axes.errorbar(
                x, y, **{f"{letter}err": sizes}, fmt="none", ecolor=colour(ends.get("color", colours)),
                elinewidth=_POINTS * ends.get("thickness", 2), capsize=_POINTS * ends.get("width", 4),
            )  # fmt: skip
    edge = marker.get("line", {})
    canvas.axes.scatter(
        x, y, s=(_POINTS * np.asarray(values_of(marker.get("size", 6)), np.float64)) ** 2, color=colours,
        marker=symbol, alpha=marker.get("opacity"), linewidths=_POINTS * edge.get("width", 0), zorder=3,
        edgecolors=colour(edge["color"]) if "color" in edge else "none",
    )  # fmt: skip

    def handle(label: str) -> Any:
        from matplotlib.lines import Line2D

        return Line2D([], [], color=colours, marker=symbol, linestyle="", markersize=7, label=label)

    canvas.named[name] = handle


def _bar(canvas: Canvas, trace: Trace) -> None:
    is_level = trace.get("orientation") == "h"
    along, across = (canvas.y, canvas.x) if is_level else (canvas.x, canvas.y)
    place = along.of(trace["y" if is_level else "x"])
    length = across.length(trace["x" if is_level else "y"])
    width, shift = _breadth(canvas, trace, along)
    marker = trace.get("marker", {})
    colours, edge = values_of(marker.get("color", PALETTE[0])), marker.get("line", {})
    style = {
        "color": colour(colours) if isinstance(colours, str) else [colour(one) for one in colours],
        "linewidth": _POINTS * edge.get("width", 0.0), "align": "edge",
    }  # fmt: skip
    if edge.get("width"):
        style["edgecolor"] = colour(edge.get("color", "#7f7f7f"))
    elif marker.get("pattern", {}).get("shape"):
        style |= {"hatch": "////", "edgecolor": "#00000066"}
    length = np.nan_to_num(length)
    if is_level:
        canvas.axes.barh(place + shift, length, height=width, left=across.of(trace["base"]), **style)
    else:
        canvas.axes.bar(place + shift, length, width=width, bottom=_bottom(canvas, length), **style)
    canvas.bars += 1


def _breadth(canvas: Canvas, trace: Trace, along: Axis) -> tuple[Any, Any]:
    """How broad bars are, and how far before their value they begin: as said, or side by side with those of others."""
    if "width" in trace:
        width = along.length(trace["width"])
        return width, along.length(trace["offset"]) if "offset" in trace else -width / 2.0
    each = canvas.bar_traces if canvas.layout.get("barmode") == "group" else 1
    whole = 1.0 - canvas.layout.get("bargap", 0.2)
    return whole / each, -whole / 2.0 + (canvas.bars if each > 1 else 0) * whole / each


def _bottom(canvas: Canvas, length: Floats) -> Any:
    if canvas.layout.get("barmode") != "stack":
        return 0.0
    canvas.axes.use_sticky_edges = False  # else the top of a part would be the edge of the picture
    bottom = canvas.stacks.get("bars", np.zeros(len(length)))
    canvas.stacks["bars"] = bottom + length
    return bottom


def _heatmap(canvas: Canvas, trace: Trace) -> None:
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    x, y = canvas.x.of(trace["x"]), canvas.y.of(trace["y"])
    z = np.asarray(values_of(trace["z"]), np.float64)
    scale = LinearSegmentedColormap.from_list("figure", [(at, colour(one)) for at, one in trace["colorscale"]])
    known = z[~np.isnan(z)]
    low = trace.get("zmin", float(known.min()) if len(known) else 0.0)
    high = trace.get("zmax", float(known.max()) if len(known) else 1.0)
    norm = Normalize(low, high if high > low else low + 1.0)
    gap = {"edgecolors": "white", "linewidth": 1.5} if trace.get("xgap") else {"rasterized": True}
    edges = _edges(x, is_log=canvas.x.is_log), _edges(y, is_log=canvas.y.is_log)
    mesh = canvas.axes.pcolormesh(*edges, np.ma.masked_invalid(z), cmap=scale, norm=norm, **gap)
    canvas.is_covered = True
    if "texttemplate" in trace:
        _texts(canvas, trace, x, y, scale(norm(np.nan_to_num(z))))
    _scale(canvas, mesh, trace.get("colorbar", {}))


def _edges(middles: Floats, *, is_log: bool) -> Floats:
    """The ends of cells whose middles are known."""
    at = np.log10(middles) if is_log else middles
    half = np.diff(at) / 2.0 if len(at) > 1 else np.array([0.5])
    ends = np.concatenate([[at[0] - half[0]], at[:-1] + half[: len(at) - 1], [at[-1] + half[-1]]])
    return 10.0**ends if is_log else ends


def _texts(canvas: Canvas, trace: Trace, x: Floats, y: Floats, colours: Any) -> None:
    for row, texts in enumerate(values_of(trace["text"])):
        for column, text in enumerate(texts):
            is_dark = float(colours[row, column, :3] @ _LIGHTNESS) < _DARK
            canvas.axes.text(
                x[column], y[row], text_of(text), ha="center", va="center", fontsize=8,
                color="white" if is_dark else "black",
            )  # fmt: skip


def _scale(canvas: Canvas, mesh: Any, layout: Mapping[str, Any]) -> None:
    bar = canvas.axes.figure.colorbar(mesh, ax=canvas.axes, pad=0.015, aspect=32)
    bar.outline.set_visible(False)
    bar.set_label(text_of((layout.get("title") or {}).get("text", "")))
    if "tickvals" in layout:
        low, high = mesh.norm.vmin, mesh.norm.vmax
        ticks = zip(values_of(layout["tickvals"]), layout["ticktext"], strict=True)
        kept = [(value, text_of(text)) for value, text in ticks if low - 1e-9 <= value <= high + 1e-9]
        bar.set_ticks([value for value, _ in kept], labels=[text for _, text in kept])
    else:
        bar.formatter = number_format(layout.get("tickformat", ""))
        bar.update_ticks()


DRAWERS: Mapping[str, Callable[[Canvas, Trace], None]] = {"scatter": _scatter, "bar": _bar, "heatmap": _heatmap}
"""How a trace of each kind is drawn."""
