"""A whole picture: axes with title, key and caption, and the files of it."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unspool.errors import InputError
from unspool.report.static.axes import Axis, text_of
from unspool.report.static.traces import DRAWERS, Canvas
from unspool.storage import blame, make_folder
from unspool.workloads.files import replaced

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FORMATS", "drawn", "write_figures"]

FORMATS = ("svg", "png")
"""How a picture may be written."""

_INK, _SOFT, _GRID = "#1d2329", "#56606a", "#e4e6e8"
_WIDTH_IN, _LINE_IN = 8.0, 0.165
_COLUMNS, _KEY_COLUMNS = 130, 105  # characters of a line of the caption, and of the key
_DPI = 150
_STYLE = {
    "font.size": 9.5, "axes.edgecolor": _SOFT, "axes.labelcolor": _INK, "axes.titlecolor": _INK, "text.color": _INK,
    "xtick.color": _SOFT, "ytick.color": _SOFT, "xtick.labelcolor": _INK, "ytick.labelcolor": _INK,
    "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True, "hatch.linewidth": 1.2,
    "svg.hashsalt": "unspool",
}  # fmt: skip
_EXTRA = "static figures need matplotlib, which is not installed; run: pip install 'unspool[matplotlib]'"


def drawn(figure: go.Figure) -> Figure:
    """A figure of Plotly as one of matplotlib: the same marks, colours, axes, title, key and caption.

    Scatter, bar and heat map are drawn, on one pair of axes; what pointing at a mark shows is left out.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError(_EXTRA) from error
    content = figure.to_plotly_json()
    layout, told = content["layout"], content["layout"].get("meta") or {}
    _check(content)
    caption = textwrap.wrap(str(told.get("caption", "")), _COLUMNS)
    height = _LINE_IN * (float(told.get("height", 25.0)) + len(caption) + 2.0)
    with rc_context(_STYLE):
        picture = Figure(figsize=(_WIDTH_IN, height), layout="constrained")
        axes = picture.subplots()
        x, y = Axis(layout.get("xaxis", {}), "x"), Axis(layout.get("yaxis", {}), "y")
        canvas = Canvas(axes, x, y, layout, sum(trace["type"] == "bar" for trace in content["data"]))
        for trace in content["data"]:
            DRAWERS[trace["type"]](canvas, trace)
        for axis in (x, y):
            axis.apply(axes)
        _lines_and_texts(axes, layout, x, y)
        if not canvas.is_covered:
            axes.grid(color=_GRID, linewidth=0.7)
        heading = text_of((layout.get("title") or {}).get("text", ""))
        picture.suptitle("\n".join(textwrap.wrap(heading, 88)), x=0.01, ha="left", fontsize=11, fontweight="bold")
        _key(canvas, told)
        if caption:
            lines = [text_of(line) for line in caption]
            picture.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=8, color=_SOFT)
    return picture


def write_figures(
    figures: Mapping[str, go.Figure], folder: Path, format: str = "svg", *, force: bool = False
) -> list[Path]:
    """Write each figure that shows anything as `folder`/NAME.`format`, and say which files there are now."""
    if format not in FORMATS:
        raise InputError(f"figures of the format '{format}' cannot be written; expected {' or '.join(FORMATS)}")
    shown = {name: figure for name, figure in figures.items() if len(figure.data)}
    pictures = {folder / f"{name}.{format}": drawn(figure) for name, figure in shown.items()}
    try:
        make_folder(folder)
    except OSError as error:
        raise blame(error)(f"{folder}: cannot be made: {error.strerror}; name another folder") from error
    for path, picture in pictures.items():
        with replaced(path, force=force) as file:
            _save(picture, file, format)
    return list(pictures)


def _save(picture: Figure, file: Any, format: str) -> None:
    from matplotlib import rc_context

    with warnings.catch_warnings(), rc_context(_STYLE):
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # names in scripts that the font has not
        without = {"Date": None, "Creator": None} if format == "svg" else {"Software": None}
        picture.savefig(file, format=format, dpi=_DPI, metadata=without)


def _check(content: Mapping[str, Any]) -> None:
    """Figures of other packages may have anything in them."""
    for trace in content["data"]:
        if trace["type"] not in DRAWERS:
            known = ", ".join(DRAWERS)
            raise InputError(f"a figure with a trace of the kind '{trace['type']}' cannot be drawn; expected {known}")
    more = [name for name in content["layout"] if name.startswith(("xaxis", "yaxis")) and name[5:]]
    if more:
        raise InputError(f"a figure with several pairs of axes cannot be drawn; it has {', '.join(sorted(more))}")


def _lines_and_texts(axes: Axes, layout: Mapping[str, Any], x: Axis, y: Axis) -> None:
    """Straight lines across the axes, and texts; either may be placed by the axes instead of by their values."""
    for shape in layout.get("shapes", ()):
        style = x.line_style(shape.get("line", {}))
        if shape.get("xref") == "paper":
            axes.axhline(float(y.of([shape["y0"]])[0]), **style)
        else:
            axes.axvline(float(x.of([shape["x0"]])[0]), **style)
    for note in layout.get("annotations", ()):
        axes.text(
            note["x"], note["y"], text_of(note["text"]), transform=axes.transAxes, ha="center", va="center", wrap=True
        )


def _key(canvas: Canvas, told: Mapping[str, Any]) -> None:
    """The key that the page has: names and colours, drawn as the marks are where one mark has that name."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    for name, colour, how in told.get("key", ()):
        shown = text_of(name, is_markup=False)
        if how == "line":
            handles.append(Line2D([], [], color=colour, linestyle="--", linewidth=1.4, label=shown))
        elif name in canvas.named:
            handles.append(canvas.named[name](shown))
        else:
            hatch = {"hatch": "////", "edgecolor": "#00000066", "linewidth": 0.0} if how == "spot" else {}
            handles.append(Patch(facecolor=colour, label=shown, **hatch))
    if not handles:
        return
    columns = max(1, min(len(handles), _KEY_COLUMNS // (6 + max(len(one.get_label()) for one in handles))))
    choices = told.get("choices", ())
    canvas.axes.legend(
        handles=handles, title=choices[0]["name"] if choices else None, alignment="left", ncols=columns,
        loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.3, frameon=False, fontsize=8.5, title_fontsize=8.5,
    )  # fmt: skip
