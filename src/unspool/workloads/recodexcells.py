"""Cells of the logs of ReCodEx turned into columns of NumPy, block by block; the first one that is wrong is named.

The texts of ids are numbered in each block and renumbered at the end, so that of a log of any length only numbers and
distinct texts are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from unspool.errors import InputError, shown
from unspool.workloads.delimited import plain_lines
from unspool.workloads.files import AnyPath
from unspool.workloads.lines import Lines, are_quotes_regular, fields_of, set_ragged_apart

__all__ = ["Kind", "Table", "numbered", "read_table"]

_SEPARATOR = b";"


class Kind(Enum):
    """What the cells of a column are, and what is said to be expected where one is not."""

    ID = "a text"
    FLAG = "1 for true, or another text"
    NUMBER = "a number"
    AMOUNT = "a number, 0 or more"
    SORTED = "seconds, 0 or more, with a point for decimals"  # and none smaller than the one above
    OPTIONAL = "a number if anything"  # the column and its cells may be missing


class Table(NamedTuple):
    """A file as columns under its own names: numbers (of ids 1, 2, 3 …) and truths, the texts of ids, the lines."""

    path: AnyPath
    columns: dict[str, npt.NDArray[Any]]
    texts: dict[str, pl.Series]
    lines: npt.NDArray[np.int64]
    notes: tuple[str, ...]


_Part = dict[str, tuple[npt.NDArray[Any], pl.Series | None]]  # by column its values and, of ids, the distinct texts


class _Block(NamedTuple):
    """Cells of whole rows, with the line of each; a row of another width ends the block and the file."""

    header: tuple[str, ...]
    cells: pl.DataFrame
    lines: npt.NDArray[np.int64]
    misfit: str | None


def read_table(path: AnyPath, columns: Mapping[str, Kind], what: str, limit: int | None) -> Table:
    """The first rows of a file, all without a limit; the first line with a wrong cell is refused."""
    if limit is not None and limit < 1:
        raise InputError(f"{path}: a limit of {limit} leaves no {what}; expected 1 or more")
    parts: list[_Part] = []
    lines: list[npt.NDArray[np.int64]] = []
    notes: tuple[str, ...] = ()
    left = limit
    last: dict[str, float] = {}
    for block in _blocks(path, columns):
        notes = _notes(block.header, columns)
        rows = block.cells if left is None else block.cells.head(left)
        parts.append(_converted(rows, block.lines, columns, path, last))
        lines.append(block.lines[: len(rows)])
        left = None if left is None else left - len(rows)
        if left == 0:
            break
        if block.misfit is not None:
            raise InputError(f"{path}, {block.misfit}")
    if not sum(map(len, lines)):
        raise InputError(f"{path}: no {what}s, only the names of columns; expected one {what} a line")
    return _joined(path, parts, columns, np.concatenate(lines), notes)


def numbered(texts: pl.Series) -> tuple[npt.NDArray[np.int64], pl.Series]:
    """Texts as 1, 2, 3 … in order of first appearance, and the distinct texts in that order.

    >>> numbers, distinct = numbered(pl.Series(["b", "a", "b"]))
    >>> numbers, distinct.to_list()
    (array([1, 2, 1]), ['b', 'a'])
    """
    distinct = texts.unique(maintain_order=True)
    if len(distinct) == len(texts):
        return np.arange(1, len(texts) + 1), texts
    # Views of a few texts would keep all texts of the block in memory, so they are copied.
    distinct = pl.Series(texts.name, distinct.to_list(), pl.String)
    places = pl.DataFrame({"text": distinct}).with_row_index("number", offset=1)
    told = pl.DataFrame({"text": texts}).join(places, on="text", how="left", maintain_order="left")
    return told["number"].cast(pl.Int64).to_numpy(), distinct


def _blocks(path: AnyPath, columns: Mapping[str, Kind]) -> Iterator[_Block]:
    """The cells of the columns that are wanted, in blocks."""
    header: tuple[str, ...] = ()
    for lines in plain_lines(path):
        is_quoted = b'"' in lines.text
        if is_quoted and not are_quotes_regular(lines.text, _SEPARATOR):
            raise InputError(
                f"{path}, line {_irregular(lines)}: a quote that neither begins nor ends a cell; remove it"
            )
        if not lines.text:
            continue
        if not header:
            first, _, rest = lines.text.partition(b"\n")
            header = tuple(cell.decode().strip() for cell in fields_of(first, _SEPARATOR))
            _refuse_header(header, columns, path, int(lines.numbers[0]))
            lines = Lines(rest, lines.numbers[1:])
        whole, ragged = set_ragged_apart(lines, _SEPARATOR, len(header), quoted=is_quoted)
        cells = _cells(whole.text, header, columns, is_quoted)
        if not ragged:
            yield _Block(header, cells, whole.numbers, None)
            continue
        until = int(np.searchsorted(whole.numbers, ragged[0].number))
        misfit = f"line {ragged[0].number}: {len(ragged[0].fields)} cells; expected {len(header)}, as in the first line"
        yield _Block(header, cells.head(until), whole.numbers[:until], misfit)
        return
    if not header:
        raise InputError(f"{path}: only blank lines; expected the names of the columns, then one row a line")


def _cells(text: bytes, header: tuple[str, ...], columns: Mapping[str, Kind], is_quoted: bool) -> pl.DataFrame:
    wanted = [at for at, name in enumerate(header) if name in columns]
    schema = {str(at): pl.String() for at in range(len(header))}
    cells = pl.read_csv(
        text,
        has_header=False,
        separator=_SEPARATOR.decode(),
        quote_char='"' if is_quoted else None,
        schema=schema,
        columns=wanted,
    )
    cells.columns = [header[at] for at in wanted]
    return cells


def _irregular(lines: Lines) -> int:
    """The first line whose quotes are not regular."""
    split = lines.text.split(b"\n")
    at = next((at for at, line in enumerate(split) if not are_quotes_regular(line + b"\n", _SEPARATOR)), 0)
    return int(lines.numbers[at])


def _refuse_header(header: tuple[str, ...], columns: Mapping[str, Kind], path: AnyPath, line: int) -> None:
    missing = [name for name, kind in columns.items() if name not in header and kind is not Kind.OPTIONAL]
    twice = [name for name in columns if header.count(name) > 1]
    if len(header) == 1 and len(missing) > 1:
        raise InputError(f"{path}, line {line}: no semicolons; expected the names of columns between semicolons")
    if missing:
        raise InputError(
            f"{path}, line {line}: no column {', '.join(missing)}; expected it among the names, between semicolons"
        )
    if twice:
        raise InputError(f"{path}, line {line}: column {twice[0]} stands twice; leave one out")


def _notes(header: tuple[str, ...], columns: Mapping[str, Kind]) -> tuple[str, ...]:
    unused = [shown(name) or "one without a name" for name in header if name not in columns]
    return (f"columns that are not used: {', '.join(unused)}",) if unused else ()


def _converted(
    cells: pl.DataFrame,
    lines: npt.NDArray[np.int64],
    columns: Mapping[str, Kind],
    path: AnyPath,
    last: dict[str, float],
) -> _Part:
    """The values of a block; `last` has the last value of each sorted column so far."""
    values: dict[str, pl.Series] = {}
    wrong: list[tuple[int, str]] = []  # row and what is wrong there: the first of each kind
    for name, kind in columns.items():
        if name not in cells.columns:
            values[name] = pl.Series(name, [float("nan")]).new_from_index(0, len(cells))
            continue
        given = cells[name]
        values[name] = _values(given, kind)
        if kind is Kind.OPTIONAL:
            values[name] = values[name].fill_null(float("nan"))
        elif values[name].null_count():
            at = int(values[name].is_null().arg_max() or 0)
            told = "empty" if not (given[at] or "").strip() else f"'{shown(given[at])}'"
            wrong.append((at, f"{name} is {told}; expected {kind.value}"))
        elif kind is Kind.SORTED and len(given):
            above = values[name].shift(1, fill_value=last.get(name, 0.0))
            at = int((values[name] < above).arg_max() or 0)
            if values[name][at] < above[at]:
                wrong.append((at, f"{name} is {given[at]}, before that of the line above; sort the rows by {name}"))
            last[name] = values[name][-1]
    if wrong:
        at, told = min(wrong, key=lambda pair: pair[0])
        raise InputError(f"{path}, line {lines[at]}: {told}")
    ids = {name for name in values if columns[name] is Kind.ID}
    return {name: numbered(each) if name in ids else (each.to_numpy(), None) for name, each in values.items()}


def _values(given: pl.Series, kind: Kind) -> pl.Series:
    """The cells as what they are; null where they are not."""
    if kind is Kind.ID:
        return given
    if kind is Kind.FLAG:
        return given == "1"
    numbers = given.str.strip_chars().cast(pl.Float64, strict=False)
    is_wrong = ~numbers.is_finite()
    if kind in (Kind.AMOUNT, Kind.SORTED):
        is_wrong |= numbers < 0
    return numbers.set(is_wrong, None)


def _joined(
    path: AnyPath, parts: list[_Part], columns: Mapping[str, Kind], lines: npt.NDArray[np.int64], notes: tuple[str, ...]
) -> Table:
    """One table of all blocks, its ids numbered over all of them."""
    found: dict[str, npt.NDArray[Any]] = {}
    texts: dict[str, pl.Series] = {}
    for name in columns:
        blocks = [part.pop(name) for part in parts]
        distinct = [text for _, text in blocks if text is not None]
        if distinct:
            numbers, texts[name] = numbered(pl.concat(distinct))
            starts = np.cumsum([0, *map(len, distinct)])
            found[name] = np.concatenate([numbers[at + of - 1] for at, (of, _) in zip(starts, blocks, strict=False)])
        else:
            found[name] = np.concatenate([values for values, _ in blocks])
    return Table(path, found, texts, lines, notes)
