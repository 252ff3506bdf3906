"""What stands on a page, as data: the template `page.html` lays it out, the same for every kind of result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from unspool.report.shown import amount

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["Cell", "Column", "Page", "Section", "Split", "Table", "Tile", "rejected_table", "table_of"]

_MOST_ROWS = 100
_LONGEST = 200  # characters of a cell; a name of 10,000 is no use to anybody

Value = str | int | float | None


@dataclass(frozen=True)
class Tile:
    """One number of the answer: the number with its unit, what it is, and what it is to be held against."""

    value: str
    what: str
    beside: str = ""


@dataclass(frozen=True)
class Cell:
    """What a cell shows, and its value, by which rows are sorted and which is downloaded; `width` draws a bar, in %."""

    text: str
    value: Value
    width: float | None = None

    @property
    def raw(self) -> str:
        """The value as text; the empty text where it is not known."""
        return "" if self.value is None else f"{self.value:.10g}" if isinstance(self.value, float) else str(self.value)


@dataclass(frozen=True)
class Column:
    """A column of a table: what stands above it, how its values are written, and whether a bar shows their size."""

    heading: str
    shown: Callable[[Any], str] = str
    bar: bool = False


@dataclass(frozen=True)
class Table:
    """A table that can be sorted and downloaded as `name`.csv; `names` head the file's columns."""

    name: str
    heading: str
    columns: Sequence[str]
    names: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    last: Sequence[Cell] = ()  # stays below the others, however they are sorted


@dataclass(frozen=True)
class Split:
    """Parts of a whole in one bar: name, amount as text, share as text, percent and colour of each."""

    heading: str
    parts: Sequence[tuple[str, str, str, float, str]]


@dataclass(frozen=True)
class Section:
    """A part of a page under a heading: texts, figures by name, bars of parts, tables, names with values."""

    heading: str
    figures: Sequence[str] = ()
    splits: Sequence[Split] = ()
    tables: Sequence[Table] = ()
    pairs: Sequence[tuple[str, str]] = ()
    texts: Sequence[str] = ()
    note: str = ""


@dataclass(frozen=True)
class Page:
    """A page: the first screen with question, answer and one picture; sections; and how it came about."""

    title: str
    question: str
    answer: str
    tiles: Sequence[Tile]
    figures: Mapping[str, Figure]
    picture: str
    about: Sequence[tuple[str, str]] = ()
    summary: Table | None = None  # on the first screen, where several results are held against each other
    sections: Sequence[Section] = ()
    rejected: Table | None = None
    notes: Sequence[str] = ()
    settings: Sequence[tuple[str, str]] = ()
    versions: Sequence[tuple[str, str]] = ()
    commands: Sequence[str] = field(default=())
    files: Sequence[tuple[str, str]] = ()  # name and text of files that say what was run


def table_of(
    frame: pl.DataFrame,
    columns: Mapping[str, Column],
    name: str,
    heading: str,
    *,
    most: int = _MOST_ROWS,
    rest: str = "",
) -> Table:
    """The first rows of a table; the caption says how many more there are, and `rest` where they are."""
    rows = frame.head(most).select(*columns).rows()
    largest = [max((abs(row[at]) for row in rows if row[at] is not None), default=0) if column.bar else None
               for at, column in enumerate(columns.values())]  # fmt: skip
    more = len(frame) - len(rows)
    where = f": all of them are in {rest}" if rest else ""
    return Table(
        name, heading, [column.heading for column in columns.values()], list(columns),
        [[_cell(value, column, of) for value, column, of in zip(row, columns.values(), largest, strict=True)]
         for row in rows],
        f"{amount(more)} more rows are left out here{where}." if more else "",
    )  # fmt: skip


def _cell(value: Any, column: Column, largest: float | None) -> Cell:
    if value is None:
        return Cell("", None)
    text = column.shown(value)
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return Cell(text, value, round(100.0 * abs(value) / largest, 2) if largest else None)


def rejected_table(rejected: pl.DataFrame, rest: str) -> Table | None:
    """The records and jobs that could not be used, the first of them."""
    if not len(rejected):
        return None
    columns = {"line": Column("line of the log", amount), "job_id": Column("job"), "reason": Column("why")}
    return table_of(rejected, columns, "rejected", "Rejected", rest=rest)
