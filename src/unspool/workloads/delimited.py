"""Cells between commas or tabs (RFC 4180), with the line of each record and the lines that do not fit the header."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
import polars as pl

from unspool.errors import InputError
from unspool.limits import refuse_beyond
from unspool.model.workload import rejected_table
from unspool.units import counted
from unspool.workloads.encoding import BYTE_ORDER_MARK, as_utf8, latin_notes
from unspool.workloads.files import AnyPath, read_blocks
from unspool.workloads.lines import Lines, are_quotes_regular, count_marks, drop_lines, fields_of, set_ragged_apart

__all__ = ["Cells", "plain_lines", "read_cells"]

_ROWS_AT_ONCE = 2_000  # few enough to stay in the processor's cache: twice as fast as 50,000


class Cells(NamedTuple):
    """A table as a file gives it: names of the columns, cells by position, line of each row, rows left out, notes."""

    header: tuple[str, ...]
    columns: list[pl.Series]
    lines: pl.Series
    rejected: pl.DataFrame
    notes: tuple[str, ...] = ()


def read_cells(path: AnyPath, separator: str) -> Cells:
    """The cells of a text file whose first line names the columns; rows of another width are set apart.

    A file goes through Polars if its quotes, where it has any, are regular; else, as with newlines inside them, through
    the `csv` module, which takes longer.
    """
    header: tuple[str, ...] = ()
    frames: list[pl.DataFrame] = []
    rejected = [rejected_table()]
    latin = 0
    for lines in plain_lines(path):
        latin += lines.latin
        is_quoted = b'"' in lines.text
        if is_quoted and not are_quotes_regular(lines.text, separator.encode()):
            return _read_quoted(path, separator)
        if not lines.text:
            continue
        if not header:
            first, _, rest = lines.text.partition(b"\n")
            header = tuple(cell.decode().strip() for cell in fields_of(first, separator.encode()))
            refuse_beyond(len(header), "columns", str(path))
            lines = Lines(rest, lines.numbers[1:])
        lines, ragged = set_ragged_apart(lines, separator.encode(), len(header), quoted=is_quoted, where=str(path))
        rejected.append(rejected_table([_misfit(line.number, len(line.fields), len(header)) for line in ragged]))
        refuse_beyond(sum(map(len, rejected)), "rejected", str(path))
        schema = {str(i): pl.String() for i in range(len(header))}
        frame = pl.read_csv(
            lines.text, has_header=False, separator=separator, quote_char='"' if is_quoted else None, schema=schema
        )
        frames.append(frame.with_columns(line=pl.Series(lines.numbers, dtype=pl.Int64)))
    return _as_cells(path, header, frames, rejected, latin)


def _read_quoted(path: AnyPath, separator: str) -> Cells:
    latin: list[int] = []
    rows = csv.reader(_texts(path, latin), delimiter=separator, strict=True)
    frames: list[pl.DataFrame] = []
    rejected = [rejected_table()]
    header: tuple[str, ...] = ()
    left_out = 0
    try:
        header = tuple(cell.strip() for cell in next((row for row in rows if row), ()))
        refuse_beyond(len(header), "columns", str(path))
        schema = {"line": pl.Int64(), **{str(i): pl.String() for i in range(len(header))}}
        numbered = _numbered(rows)
        while part := list(islice(numbered, _ROWS_AT_ONCE)):
            whole = {line: row for line, row in part if len(row) == len(header)}
            columns = zip(*whole.values(), strict=True) if whole else [()] * len(header)
            frames.append(pl.DataFrame(dict(zip(schema, (list(whole), *columns), strict=True)), schema))
            ragged = [(line, len(row)) for line, row in part if len(row) != len(header)]
            rejected.append(rejected_table([_misfit(line, width, len(header)) for line, width in ragged]))
            left_out += len(ragged)
            refuse_beyond(left_out, "rejected", str(path))
    except csv.Error as error:
        raise InputError(f"{path}, line {rows.line_num}: {error}; check the quotes of this record") from error
    return _as_cells(path, header, frames, rejected, sum(latin))


def _numbered(rows: csv._reader) -> Iterator[tuple[int, list[str]]]:  # type: ignore[name-defined]
    """Each row with the line on which it begins."""
    line = rows.line_num + 1
    for row in rows:
        if row:
            yield line, row
        line = rows.line_num + 1


def _as_cells(
    path: AnyPath, header: tuple[str, ...], frames: list[pl.DataFrame], rejected: list[pl.DataFrame], latin: int
) -> Cells:
    if not header:
        raise InputError(f"{path}: only blank lines; expected the names of the columns, then one job a line")
    left_out = pl.concat(rejected).sort("line", maintain_order=True)
    table = pl.concat(frames) if frames else pl.DataFrame(schema={str(i): pl.String for i in range(len(header))})
    lines = table["line"] if frames else pl.Series([], dtype=pl.Int64)
    return Cells(header, [table[str(i)] for i in range(len(header))], lines, left_out, tuple(latin_notes(latin)))


def _misfit(line: int, width: int, expected: int) -> tuple[int, None, str]:
    return line, None, f"{counted(width, 'cell')}; expected {expected}, as in the first line"


def plain_lines(path: AnyPath, comment: bytes | None = None, separator: bytes = b"") -> Iterator[Lines]:
    """The lines of each block in UTF-8, without the empty ones and those that begin with the mark of a comment.

    Where a separator is given, it is counted along.
    """
    first_line = 1
    for block in read_blocks(path):
        text, latin = as_utf8(block.removeprefix(BYTE_ORDER_MARK) if first_line == 1 else block)
        text = text.replace(b"\r\n", b"\n") if b"\r" in text else text
        marks = count_marks(text, separator)
        if marks.has_blank or (comment and (text.startswith(comment) or b"\n" + comment in text)):
            yield drop_lines(text, first_line, comment)._replace(latin=latin)
        else:
            yield Lines(text, np.arange(first_line, first_line + marks.newlines), marks, latin)
        first_line += marks.newlines
        del block, text  # before the next one is read: its memory is that of this one


def _texts(path: AnyPath, latin: list[int]) -> Iterator[str]:
    """The lines of a file as text, newlines kept; adds to `latin` how many of each block were no UTF-8."""
    for i, block in enumerate(read_blocks(path)):
        text, count = as_utf8(block if i else block.removeprefix(BYTE_ORDER_MARK))
        latin.append(count)
        yield from (f"{line}\n" for line in text.decode().removesuffix("\n").split("\n"))
