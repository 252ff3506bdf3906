"""What all figures share: colours, texts that Plotly takes as they are, axes of time, and what a page is told of them.

Colours of text and lines are left to the page, which knows whether it is light or dark; so are legends, which Plotly
lays over the picture where the page is narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from unspool.errors import shown
from unspool.results.result import Result
from unspool.results.series import span_of
from unspool.units import counted, format_moment, format_number

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "CAPACITY", "MOST_MARKS", "NOT_SAID", "OTHER", "PALETTE", "SCALE", "Clock", "Floats", "classes_of",
    "clock_between", "clock_of", "colour_of", "counted", "each_of", "few_ticks", "finished", "left_out",
    "log_durations", "nothing", "plain", "policy_key",
]  # fmt: skip

MOST_MARKS = 5000
"""The most points, bars or cells of a figure."""

# Okabe and Ito's colours, told apart by people of every kind of colour vision; yellow last, which is faint on white.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#f0e442")
OTHER = "#9498a0"
CAPACITY = "#7d858d"
NOT_SAID = "(not said)"
SCALE = "Cividis"
"""Of heat maps: even in lightness, and the same for people who do not see red or green."""

_TICKS = {
    0.001: "1 ms", 0.01: "10 ms", 0.1: "0.1 s", 1.0: "1 s", 10.0: "10 s", 60.0: "1 min", 600.0: "10 min", 3600.0: "1 h",
    14400.0: "4 h", 86400.0: "1 d", 604800.0: "1 week", 2592000.0: "30 d", 31536000.0: "1 year", 3.1536e8: "10 years",
}  # fmt: skip
_FINE_TICKS = {
    **_TICKS, 2.0: "2 s", 5.0: "5 s", 20.0: "20 s", 30.0: "30 s", 120.0: "2 min", 300.0: "5 min", 1200.0: "20 min",
    1800.0: "30 min", 7200.0: "2 h", 28800.0: "8 h", 57600.0: "16 h", 172800.0: "2 d", 345600.0: "4 d",
}  # fmt: skip
_UNITS = ((172800.0, 86400.0, "d"), (7200.0, 3600.0, "h"), (120.0, 60.0, "min"))
_YEAR_S = 31_536_000.0
_YEAR_10000_S = 253_402_300_800.0  # the first time that no calendar here holds

Floats = npt.NDArray[np.float64]


def plain(text: object, length: int = 40) -> str:
    """Somebody's text for Plotly, which reads some HTML: on one line, cut, and with nothing in it that is markup.

    >>> plain("<b>me</b>"), plain("x" * 99, 5)
    ('&lt;b&gt;me&lt;/b&gt;', 'xxxx…')
    """
    return escape(shown(str(text), length), quote=False)


def colour_of(at: int) -> str:
    """The colour of the so-manieth thing; those beyond the palette share one."""
    return PALETTE[at] if at < len(PALETTE) else OTHER


def finished(
    figure: Figure,
    heading: str,
    caption: str,
    *,
    label: str = "",
    key: Sequence[tuple[str, str, str]] = (),
    choices: Sequence[dict[str, Any]] = (),
    height: float = 25.0,
) -> Figure:
    """The same figure with what a page says of it; `height` is in lines of text.

    A key is name, colour and how it is drawn: "" for an area, "line", or "spot" if hatched. A choice is `name`,
    `colours` of the marks of the first trace, and a `key` of its own: the page offers all, the first is drawn.
    """
    told = {
        "heading": heading, "caption": caption, "label": label or heading, "key": [list(one) for one in key],
        "choices": list(choices), "height": height,
    }  # fmt: skip
    figure.update_layout(title={"text": plain(heading, 200)}, meta=told, colorway=list(PALETTE))
    return figure


def nothing(heading: str, why: str) -> Figure:
    """A figure of nothing, that says why."""
    from plotly.graph_objects import Figure

    figure = Figure()
    figure.update_layout(
        xaxis={"visible": False}, yaxis={"visible": False},
        annotations=[
            {"text": plain(why, 200), "showarrow": False, "xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5}
        ],
    )  # fmt: skip
    return finished(figure, heading, why, height=6.0)


@dataclass(frozen=True)
class Clock:
    """How times of a log are written on an axis: as dates, or in a unit since its origin."""

    is_calendar: bool
    origin_unix_s: float
    unit_s: float
    unit: str

    def of(self, seconds: npt.ArrayLike) -> Floats:
        """Times as the axis takes them: milliseconds since 1970, or a number of units."""
        times = np.asarray(seconds, np.float64)
        return np.round((times + self.origin_unix_s) * 1e3) if self.is_calendar else times / self.unit_s

    def length(self, seconds: npt.ArrayLike) -> Floats:
        """Lengths of time as bars on the axis take them."""
        return np.asarray(seconds, np.float64) * (1e3 if self.is_calendar else 1.0 / self.unit_s)

    def axis(self) -> dict[str, Any]:
        """The axis."""
        title = "time (UTC)" if self.is_calendar else f"time since the origin of the log ({self.unit})"
        return {"title": {"text": title}, "type": "date" if self.is_calendar else "linear"}

    @property
    def hover(self) -> str:
        """A time under the pointer."""
        return "%{x|%d %b %Y %H:%M}" if self.is_calendar else f"%{{x:,.4~f}} {self.unit}"

    def text(self, seconds: float) -> str:
        """A time in a sentence."""
        if self.is_calendar:
            return f"{format_moment(self.origin_unix_s + seconds)} UTC"
        return f"{format_number(seconds / self.unit_s, 4)} {self.unit}"


def clock_of(results: Sequence[Result]) -> Clock:
    """Dates where all logs have the same, which one that begins in 1970 has not; else the largest unit that fits.

    Nor has one that goes beyond the year 9999.
    """
    origins = {result.origin_unix_s for result in results}
    return clock_between(*span_of(list(results)), origins.pop() if len(origins) == 1 else None)


def clock_between(first: float, last: float, origin_unix_s: float | None) -> Clock:
    """The clock of what happens between two times, counted from an origin that may not be known."""
    if origin_unix_s is not None and origin_unix_s + first > _YEAR_S and origin_unix_s + last < _YEAR_10000_S:
        return Clock(True, origin_unix_s, 1.0, "s")
    unit_s, unit = next((unit[1:] for unit in _UNITS if last - first >= unit[0]), (1.0, "s"))
    return Clock(False, 0.0, unit_s, unit)


def few_ticks(rows: float) -> dict[str, Any]:
    """What an axis of numbered things needs where they are few: a tick for each of them."""
    return {"dtick": 1} if rows <= 12 else {}


def log_durations(title: str, low: float, high: float) -> dict[str, Any]:
    """A logarithmic axis of durations, in seconds, with ticks that people know."""
    high = max(high, low * 10.0)
    known = _TICKS if high > 100.0 * low else _FINE_TICKS
    ticks = {value: known[value] for value in sorted(known) if low * 0.999 <= value <= high * 1.001}
    return {
        "title": {"text": title}, "type": "log", "tickvals": list(ticks), "ticktext": list(ticks.values()),
        "range": [float(np.log10(low)), float(np.log10(high))],
    }  # fmt: skip


def classes_of(
    values: pl.Series, weights: pl.Series | None = None, most: int = len(PALETTE)
) -> tuple[npt.NDArray[np.int64], list[str]]:
    """For each value the number of its class, and the names of the classes: those of most weight, then the others."""
    table = pl.DataFrame({"name": values.cast(pl.String).fill_null(NOT_SAID)})
    table = table.with_columns(weight=pl.lit(1.0) if weights is None else weights)
    ranked = table.group_by("name").agg(pl.col("weight").sum()).sort(["weight", "name"], descending=[True, False])
    names = ranked["name"].to_list()
    kept = names if len(names) <= most else names[:most]
    number = pl.DataFrame(
        {"name": kept, "number": np.arange(len(kept))}, schema={"name": pl.String, "number": pl.Int64}
    )
    found = table.join(number, on="name", how="left", maintain_order="left")["number"].fill_null(len(kept))
    more = len(names) - len(kept)
    return found.to_numpy(), [*kept, *([counted(more, "other")] if more else [])]


def policy_key(results: Sequence[Result]) -> list[tuple[str, str, str]]:
    """The key of figures that have a colour for each policy; of one alone there is nothing to tell apart."""
    named = [(shown(one.policy), colour_of(at), "") for at, one in enumerate(results)]
    return named if len(named) > 1 else []


def each_of(results: Sequence[Result], texts: Sequence[str]) -> str:
    """What is to be said of each result, after its policy's name where there are several."""
    named = [f"{shown(one.policy)} {text}" for one, text in zip(results, texts, strict=True)]
    return ", ".join(named) if len(named) > 1 else texts[0]


def left_out(results: Sequence[Result]) -> str:
    """How many jobs are not in a figure, because they never ran."""
    numbers = {shown(one.policy): one.counts["rejected_jobs"] for one in results}
    if not any(numbers.values()):
        return "No job is left out."
    if len(set(numbers.values())) == 1:
        return f"Left out: {counted(next(iter(numbers.values())))} that never ran."
    return (
        f"Left out, because they never ran: {', '.join(f'{count:,} under {name}' for name, count in numbers.items())}."
    )
