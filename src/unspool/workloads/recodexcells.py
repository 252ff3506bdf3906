"""Cells of the logs of ReCodEx turned into columns of NumPy, block by block; the first one that is wrong is named.

The texts of ids are numbered in each block and renumbered: at the end, where a whole file is read, so that of a log of
any length only numbers and distinct texts are kept; or at once, where its blocks are given away one by one. Ids that
nobody asks for are looked at and left out.

A block without quotes and blank lines, of even width and with numbers where they belong, as nearly all are, is read by
Polars in one go. Any other is cut into lines and texts first, which takes three times as long and tells what is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from unspool.errors import InputError, shown
from unspool.limits import refuse_beyond
from unspool.units import counted
from unspool.workloads.delimited import plain_lines
from unspool.workloads.encoding import latin_notes
from unspool.workloads.files import AnyPath
from unspool.workloads.lines import Lines, are_quotes_regular, count_marks, fields_of, set_ragged_apart

__all__ = ["Kind", "Table", "numbered", "read_pieces", "read_table"]

_SEPARATOR = b";"


class Kind(Enum):
    """What the cells of a column are, and what is said to be expected where one is not."""

    ID = "a text"
    FLAG = "1 for true, or another text"
    NUMBER = "a number"
    AMOUNT = "a number, 0 or more"
    SORTED = "seconds, 0 or more, with a point for decimals"  # and none smaller than the one above
    OPTIONAL = "a number if anything"  # the column and its cells may be missing


_TYPES = {kind: pl.String() if kind in (Kind.ID, Kind.FLAG) else pl.Float64() for kind in Kind}


class Table(NamedTuple):
    """A file as columns under its own names: numbers (of ids 1, 2, 3 …) and truths, the texts of ids, the lines."""

    path: AnyPath
    columns: dict[str, npt.NDArray[Any]]
    texts: dict[str, pl.Series]
    lines: npt.NDArray[np.int64]
    notes: tuple[str, ...]


class _Part(NamedTuple):
    """Rows that are as they should be: by column the values and, of ids, the distinct texts; lines and notes."""

    columns: dict[str, tuple[npt.NDArray[Any], pl.Series | None]]
    lines: npt.NDArray[np.int64]
    notes: tuple[str, ...]


class _Block(NamedTuple):
    """Cells of whole rows, with the line of each; a row of another width ends the block and the file.

    Numbers are numbers or texts. `texts` makes texts of all, for complaints. `latin` is how many lines were no UTF-8.
    """

    header: tuple[str, ...]
    cells: pl.DataFrame
    lines: npt.NDArray[np.int64]
    texts: Callable[[], pl.DataFrame]
    latin: int
    misfit: str | None = None


def read_table(
    path: AnyPath, columns: Mapping[str, Kind], what: str, limit: int | None, ids: Collection[str] | None = None
) -> Table:
    """The first rows of a file, all without a limit; the first line with a wrong cell is refused.

    Of the columns of ids only those in `ids` are kept, all without it; the others are looked at all the same.
    """
    return _joined(path, list(_parts(path, columns, what, limit, ids)))


def read_pieces(
    path: AnyPath,
    columns: Mapping[str, Kind],
    what: str,
    limit: int | None,
    ids: Collection[str],
    texts: Mapping[str, pl.Series],
) -> Iterator[Table]:
    """The same rows, block by block, each a table without the texts of ids.

    Ids are numbered on from block to block, after those of `texts`, which have numbers already.
    """
    numbers = {name: {text: at for at, text in enumerate(texts.get(name, ()), 1)} for name in ids}
    for part in _parts(path, columns, what, limit, ids):
        found = {
            name: values if distinct is None else _numbered_on(values, distinct, numbers[name])
            for name, (values, distinct) in part.columns.items()
        }
        yield Table(path, found, {}, part.lines, part.notes)


def _numbered_on(values: npt.NDArray[np.int64], distinct: pl.Series, numbers: dict[str, int]) -> npt.NDArray[np.int64]:
    """Numbers of texts that are those of all blocks so far."""
    known = [numbers.setdefault(text, len(numbers) + 1) for text in distinct.to_list()]
    return np.array(known, np.int64)[values - 1]


def _parts(
    path: AnyPath, columns: Mapping[str, Kind], what: str, limit: int | None, ids: Collection[str] | None
) -> Iterator[_Part]:
    """The rows of a file in blocks, checked, up to the limit."""
    if limit is not None and limit < 1:
        raise InputError(f"{path}: a limit of {limit} leaves no {what}; expected 1 or more")
    kept = [name for name, kind in columns.items() if kind is not Kind.ID or ids is None or name in ids]
    read = latin = 0
    last: dict[str, float] = {}
    for block in _blocks(path, columns, kept):
        rows = block if limit is None else block._replace(cells=block.cells.head(limit - read))
        values = _converted(rows, columns, path, last)
        read += len(rows.cells)
        latin += block.latin
        yield _Part(
            {name: _kept(values[name], columns[name]) for name in kept},
            block.lines[: len(rows.cells)],
            (*latin_notes(latin), *_notes(block.header, columns)),
        )
        if read == limit:
            break
        if block.misfit is not None:
            raise InputError(f"{path}, {block.misfit}")
        del block, rows, values
    if not read:
        raise InputError(f"{path}: no {what}s, only the names of columns; expected one {what} a line")


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
    return texts.cast(pl.Enum(distinct)).to_physical().cast(pl.Int64).to_numpy() + 1, distinct


def _blocks(path: AnyPath, columns: Mapping[str, Kind], kept: Collection[str]) -> Iterator[_Block]:
    """The cells of the columns that are wanted, in blocks; ids that are not kept may be missing."""
    header: tuple[str, ...] = ()
    for lines in plain_lines(path, separator=_SEPARATOR):
        is_quoted, latin = b'"' in lines.text, lines.latin
        if is_quoted and not are_quotes_regular(lines.text, _SEPARATOR):
            raise InputError(
                f"{path}, line {_irregular(lines)}: a quote that neither begins nor ends a cell; remove it"
            )
        if not lines.text:
            continue
        if not header:
            number = int(lines.numbers[0])
            header, lines = _header_of(lines)
            refuse_beyond(len(header), "columns", str(path))
            _refuse_header(header, columns, path, number)
        cells = None if is_quoted else _even_cells(lines, header, columns, kept)
        whole, ragged = (
            (lines, []) if cells is not None else set_ragged_apart(lines, _SEPARATOR, len(header), quoted=is_quoted)
        )
        texts = partial(_cells, whole.text, header, columns, dict.fromkeys(columns, pl.String()), is_quoted)
        if cells is not None or not ragged:
            yield _Block(header, texts() if cells is None else cells, whole.numbers, texts, latin)
            del lines, whole, cells, texts  # no block is kept while the next one is read
            continue
        until = int(np.searchsorted(whole.numbers, ragged[0].number))
        width = counted(len(ragged[0].fields), "cell")
        misfit = f"line {ragged[0].number}: {width}; expected {len(header)}, as in the first line"
        yield _Block(header, texts().head(until), whole.numbers[:until], texts, latin, misfit)
        return
    if not header:
        raise InputError(f"{path}: only blank lines; expected the names of the columns, then one row a line")


def _even_cells(
    lines: Lines, header: tuple[str, ...], columns: Mapping[str, Kind], kept: Collection[str]
) -> pl.DataFrame | None:
    """The cells of lines without quotes, numbers as numbers; None if a line is of another width or a cell is wrong.

    Columns that are not kept are left out where no cell is empty, which is all that can be wrong with an id.
    """
    marks = lines.marks or count_marks(lines.text, _SEPARATOR)
    if marks.newlines + marks.separators != len(header) * len(lines.numbers):
        return None
    wanted = columns if marks.has_empty else {*kept, header[-1]}
    try:
        cells = _cells(lines.text, header, wanted, {name: _TYPES[kind] for name, kind in columns.items()})
    except pl.exceptions.PolarsError:
        return None
    # There are as many marks as there should be: a line with more cells means another with fewer, whose last one is
    # missing then.
    optional = {name for name, kind in columns.items() if kind is Kind.OPTIONAL} - {header[-1]}
    is_even = len(cells) == len(lines.numbers) and not any(
        each.null_count() for each in cells if each.name not in optional
    )
    return cells if is_even else None


def _cells(
    text: bytes,
    header: tuple[str, ...],
    columns: Collection[str],
    types: Mapping[str, pl.DataType],
    is_quoted: bool = False,
) -> pl.DataFrame:
    wanted = [at for at, name in enumerate(header) if name in columns]
    cells = pl.read_csv(
        text,
        has_header=False,
        separator=_SEPARATOR.decode(),
        quote_char='"' if is_quoted else None,
        schema={str(at): types.get(name, pl.String()) for at, name in enumerate(header)},
        columns=wanted,
    )
    cells.columns = [header[at] for at in wanted]
    return cells


def _irregular(lines: Lines) -> int:
    """The first line whose quotes are not regular."""
    split = lines.text.split(b"\n")
    at = next((at for at, line in enumerate(split) if not are_quotes_regular(line + b"\n", _SEPARATOR)), 0)
    return int(lines.numbers[at])


def _header_of(lines: Lines) -> tuple[tuple[str, ...], Lines]:
    """The names of the columns, and the lines after them."""
    first, _, rest = lines.text.partition(b"\n")
    names = tuple(cell.decode().strip() for cell in fields_of(first, _SEPARATOR))
    return names, Lines(rest, lines.numbers[1:])


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
    block: _Block, columns: Mapping[str, Kind], path: AnyPath, last: dict[str, float]
) -> dict[str, pl.Series]:
    """The values of a block; `last` has the last value of each sorted column so far."""
    cells = block.cells
    values: dict[str, pl.Series] = {}
    wrong: list[tuple[int, str]] = []  # the first row of each column in which something is wrong
    for name, kind in columns.items():
        if name not in cells.columns and kind is Kind.ID:
            continue
        if name not in cells.columns:
            values[name] = pl.Series(name, [float("nan")]).new_from_index(0, len(cells))
            continue
        values[name] = _values(cells[name], kind)
        if kind is Kind.OPTIONAL:
            values[name] = values[name].fill_null(float("nan"))
        elif values[name].null_count():
            wrong.append((int(values[name].is_null().arg_max() or 0), name))
        elif kind is Kind.SORTED and len(cells):
            is_early = values[name] < values[name].shift(1, fill_value=last.get(name, 0.0))
            if is_early.any():
                wrong.append((int(is_early.arg_max() or 0), name))
            last[name] = values[name][-1]
    if wrong:
        at, name = min(wrong, key=lambda pair: pair[0])
        told = _complaint(name, columns[name], block.texts()[name][at], is_number=values[name][at] is not None)
        raise InputError(f"{path}, line {block.lines[at]}: {told}")
    return values


def _complaint(name: str, kind: Kind, given: str | None, *, is_number: bool) -> str:
    if is_number:
        return f"{name} is {given}, before that of the line above; sort the rows by {name}"
    told = f"'{shown(given)}'" if given and given.strip() else "empty"
    return f"{name} is {told}; expected {kind.value}"


def _values(given: pl.Series, kind: Kind) -> pl.Series:
    """The cells as what they are; null where they are not."""
    if kind is Kind.ID:
        return given
    if kind is Kind.FLAG:
        return given == "1"
    numbers = given if given.dtype.is_float() else given.str.strip_chars().cast(pl.Float64, strict=False)
    lowest = 0.0 if kind in (Kind.AMOUNT, Kind.SORTED) else -math.inf
    with np.errstate(invalid="ignore"):
        array = numbers.to_numpy()
        is_wrong = ~((array >= lowest) & np.isfinite(array))
    return numbers.set(pl.Series(is_wrong), None) if is_wrong.any() else numbers


def _kept(values: pl.Series, kind: Kind) -> tuple[npt.NDArray[Any], pl.Series | None]:
    return numbered(values) if kind is Kind.ID else (values.to_numpy(), None)


def _joined(path: AnyPath, parts: list[_Part]) -> Table:
    """One table of all blocks, its ids numbered over all of them."""
    found: dict[str, npt.NDArray[Any]] = {}
    texts: dict[str, pl.Series] = {}
    for name in list(parts[0].columns):
        blocks = [part.columns.pop(name) for part in parts]
        distinct = [text for _, text in blocks if text is not None]
        if distinct:
            numbers, texts[name] = numbered(pl.concat(distinct))
            starts = np.cumsum([0, *map(len, distinct)])
            found[name] = np.concatenate([numbers[at + of - 1] for at, (of, _) in zip(starts, blocks, strict=False)])
        else:
            found[name] = np.concatenate([values for values, _ in blocks])
    return Table(path, found, texts, np.concatenate([part.lines for part in parts]), parts[-1].notes)
