"""An axis as Plotly describes it, for matplotlib: values to places, ticks and their texts, ranges."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from html import unescape
from typing import TYPE_CHECKING, Any

import numpy as np

from unspool.report.figures.style import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Axis", "colour", "number_format", "text_of", "values_of"]

_POINTS = 0.75  # of a pixel
_DAY_MS = 86_400_000.0
_DASHES = {"dash": "--", "dot": ":", "dashdot": "-."}
_FORMAT = re.compile(r"(?P<sign>\+?)(?P<comma>,?)(?:\.(?P<digits>\d+))?(?P<trim>~?)(?P<kind>[dgf%]?)")
_SMALL = 8.0
_LONG = 95  # characters of the texts of all ticks that stand side by side


def text_of(text: object, *, is_markup: bool = True) -> str:
    """A text of Plotly, which is markup, as matplotlib takes it, where dollars would begin a formula.

    >>> text_of("jobs at<br>a worker &lt;$5&gt;")
    'jobs at\\na worker <\\\\$5>'
    """
    plain = str(text)
    if is_markup:
        plain = unescape(re.sub(r"<[^>]*>", "", re.sub(r"<br ?/?>", "\n", plain)))
    return plain.replace("$", r"\$")


def values_of(values: Any) -> Any:
    """The values of a trace: Plotly keeps arrays of numbers as text in base 64."""
    if isinstance(values, Mapping) and "bdata" in values:
        flat = np.frombuffer(b64decode(values["bdata"]), dtype=np.dtype(values["dtype"]))
        shape = values.get("shape")
        return flat if shape is None else flat.reshape([int(size) for size in str(shape).split(",")])
    return values


def colour(text: str) -> Any:
    """A colour as matplotlib takes it; Plotly has those of style sheets too.

    >>> colour("rgba(127,127,127,.6)"), colour("#0072b2")
    ((0.498, 0.498, 0.498, 0.6), '#0072b2')
    """
    if not text.startswith("rgb"):
        return text
    parts = [float(part) for part in re.findall(r"[\d.]+", text)]
    return tuple(round(part / 255.0, 4) if at < 3 else part for at, part in enumerate(parts))


def number_format(spec: str, prefix: str = "", suffix: str = "") -> Callable[[float, Any], str]:
    """A number as a tick says it, by a format of d3, of which the kinds d, g, f and % are known.

    >>> number_format(".0%")(0.25, None), number_format(",~d", "$")(1200.0, None), number_format("+,.3~g")(-4.5, None)
    ('25%', '$1,200', '-4.5')
    """
    found = _FORMAT.fullmatch(spec)
    sign, comma, digits, trim, kind = found.groups() if found else ("", ",", None, "~", "g")
    if kind == "d":
        python = f"{sign}{comma}.0f"
    elif digits is None:
        python = f"{sign}{comma or ','}.10g"
    else:
        python = f"{sign}{comma}.{digits}{kind or 'g'}"

    def told(value: float, _: Any) -> str:
        text = format(value, python) if abs(value) > 1e-9 else format(0.0, python.removeprefix("+"))
        text = text.rstrip("0").rstrip(".") if trim and "." in text and "e" not in text else text
        return text_of(f"{'-' if text.startswith('-') else ''}{prefix}{text.removeprefix('-')}{suffix}")

    return told


class Axis:
    """One axis: where values stand on it, and how it is drawn once all of them are."""

    def __init__(self, layout: Mapping[str, Any], letter: str) -> None:
        self._layout = layout
        self._letter = letter
        self._categories: dict[str, int] = {}
        self._kind = layout.get("type") or "linear"

    @property
    def is_log(self) -> bool:
        """Whether it is logarithmic."""
        return self._kind == "log"

    def of(self, values: Any) -> Floats:
        """Where values stand: dates as days since 1970, names one after another, numbers as they are."""
        known = values_of(values)
        if len(known) and isinstance(known[0], str):
            if self._kind == "date":
                return np.array(
                    [datetime.fromisoformat(one).replace(tzinfo=UTC).timestamp() / 86400.0 for one in known]
                )
            self._kind = "category"
            return np.array([self._categories.setdefault(one, len(self._categories)) for one in known], np.float64)
        return self.length(known)

    def length(self, values: Any) -> Floats:
        """How long what is so long is on the axis."""
        numbers = np.asarray(values_of(values), np.float64)
        return numbers / _DAY_MS if self._kind == "date" else numbers

    @staticmethod
    def line_style(line: Mapping[str, Any]) -> dict[str, Any]:
        """Colour, width and dashes of a line."""
        style: dict[str, Any] = {"linewidth": _POINTS * line.get("width", 2.0), "linestyle": "-"}
        if "color" in line:
            style["color"] = colour(line["color"])
        if "dash" in line:
            style["linestyle"] = _DASHES.get(line["dash"], "-")
        return style

    def apply(self, axes: Axes) -> None:
        """Scale, range, ticks and title."""
        axis = getattr(axes, f"{self._letter}axis")
        layout = self._layout
        if layout.get("visible") is False:
            axes.set_axis_off()
        axis.set_label_text(text_of((layout.get("title") or {}).get("text", "")))
        if self.is_log:
            getattr(axes, f"set_{self._letter}scale")("log")
        self._ticks(axes, axis)
        self._range(axes)

    def _ticks(self, axes: Axes, axis: Any) -> None:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
        from matplotlib.ticker import LogLocator, MaxNLocator, MultipleLocator, NullLocator

        layout = self._layout
        if self._kind == "category" or "tickvals" in layout:
            places = self.of(layout["tickvals"]) if "tickvals" in layout else list(self._categories.values())
            texts = [text_of(text) for text in layout.get("ticktext", self._categories)]
            axis.set_ticks(places, texts, fontsize=_SMALL if self._kind == "category" else None)
            axis.set_minor_locator(NullLocator())
            if self._letter == "x" and sum(map(len, texts)) > _LONG:
                axes.tick_params(axis="x", labelrotation=25)
            return
        if self._kind == "date":
            locator = AutoDateLocator(maxticks=9, tz=UTC)
            axis.set_major_locator(locator)
            axis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC))
            return
        spec = layout.get("tickformat", "")
        if self.is_log:
            axis.set_major_locator(LogLocator())
        elif "dtick" in layout:
            axis.set_major_locator(MultipleLocator(layout["dtick"]))
        else:
            axis.set_major_locator(MaxNLocator(8, steps=[1, 2, 2.5, 5, 10], integer=spec.endswith("d")))
        axis.set_major_formatter(number_format(spec, layout.get("tickprefix", ""), layout.get("ticksuffix", "")))
        if self.is_log:
            axis.set_minor_formatter(lambda *_: "")

    def _range(self, axes: Axes) -> None:
        low_high = self._layout.get("range")
        limit = getattr(axes, f"set_{self._letter}lim")
        if low_high is not None:
            ends = self.of(low_high)
            limit(*(10.0**ends if self.is_log else ends))
        elif self._layout.get("rangemode") == "tozero":
            low, high = getattr(axes, f"get_{self._letter}lim")()
            limit(min(0.0, low) if low < 0.0 and self._has_negatives(axes) else 0.0, high)
        if self._layout.get("autorange") == "reversed":
            getattr(axes, f"invert_{self._letter}axis")()

    def _has_negatives(self, axes: Axes) -> bool:
        """Whether what is drawn, and not only the margin around it, goes below zero."""
        edge = axes.dataLim.intervalx if self._letter == "x" else axes.dataLim.intervaly
        return bool(edge[0] < 0.0)
