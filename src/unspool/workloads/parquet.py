"""Parquet files from anywhere: what they say of their own sizes is checked before Polars allocates it.

A damaged or hostile size aborts the process inside Polars, which no `except` survives. Format:
github.com/apache/parquet-format, README.md (File format) and src/main/thrift/parquet.thrift.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from unspool.confinement.roots import readable
from unspool.errors import InputError, shown
from unspool.limits import exceeded, limit, refuse_ratio
from unspool.workloads.thrift import ThriftError, read_struct

__all__ = ["MAGIC", "check_parquet", "read_table"]

MAGIC = b"PAR1"

# Numbers of fields: of the file, a row group, a column in it, what is said of that, a page, and a kind of page.
_SCHEMA, _ROWS, _GROUPS = 2, 3, 4
_COLUMNS, _GROUP_ROWS = 1, 3
_FILE, _ABOUT = 1, 3
_CODEC, _VALUES, _UNPACKED, _PACKED, _DATA_AT, _DICTIONARY_AT = 4, 5, 6, 7, 9, 11
_PAGE_KIND, _PAGE_UNPACKED, _PAGE_PACKED = 1, 2, 3
_PAGE_HEADERS = {0: 5, 2: 7, 3: 8}  # data, dictionary and data of version 2: kind of a page, and its own header
_DICTIONARY, _DATA_2 = 2, 3
_PAGE_VALUES, _LEVELS_2 = 1, (5, 6)
_TYPE_LENGTH, _CHILDREN = 2, 5
_LONGEST_VALUE = 1 << 16  # bytes of a type with a fixed length
_ALWAYS_VALUES = 10_000_000  # of all columns; beyond it a byte of the file stands for no more than the ratio says
_UNPACKED_CODEC = 0
_FOOT = 8  # bytes behind the footer: its length, and the mark


def read_table(path: str | Path, columns: list[str] | None = None) -> pl.DataFrame:
    """The table in a file, checked; whatever is wrong with it is an `InputError`."""
    try:
        with open(readable(path), "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise InputError(f"{path}: the file is empty; expected Parquet")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                check_parquet(data, str(path))
        return pl.read_parquet(path, columns=columns)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; check the path") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    # Damaged files make Polars raise many kinds of errors, and panic, which is no Exception.
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError) as error:
        raise _damaged(str(path), str(error)) from error


def check_parquet(data: Any, where: str) -> None:
    """Complain of a file whose sizes do not fit in it, or are beyond the limits; `data` are its bytes."""
    size = len(data)
    if size < 2 * len(MAGIC) + _FOOT or data[: len(MAGIC)] != MAGIC or data[size - len(MAGIC) : size] != MAGIC:
        raise _damaged(where, "it does not begin and end with PAR1")
    end = size - _FOOT
    begin = end - int.from_bytes(data[end : end + 4], "little")
    try:
        if begin < len(MAGIC):
            raise ThriftError("a footer that is longer than the file")
        told, _ = read_struct(data, begin, end)
        _check_schema(told.get(_SCHEMA), where)
        _check_groups(told, data, begin, where)
    except (ThriftError, TypeError, AttributeError) as error:
        raise _damaged(where, str(error)) from error


def _damaged(where: str, what: str) -> InputError:
    return InputError(f"{where}: the Parquet file is cut off or damaged ({shown(what, 120)}); fetch or write it again")


def _check_schema(schema: Any, where: str) -> None:
    if not isinstance(schema, list) or not schema:
        raise ThriftError("no columns")
    if len(schema) > limit("columns"):
        raise exceeded(where, "columns")
    for element in schema:
        if not 0 <= element.get(_TYPE_LENGTH, 0) <= _LONGEST_VALUE or not 0 <= element.get(_CHILDREN, 0) < len(schema):
            raise ThriftError("a column whose type has no such size")


def _check_groups(told: Mapping[int, Any], data: Any, end: int, where: str) -> None:
    groups = told.get(_GROUPS, [])
    if any(group.get(_GROUP_ROWS, -1) < 0 for group in groups):
        raise ThriftError("rows below 0")
    if told.get(_ROWS) != sum(group[_GROUP_ROWS] for group in groups):
        raise ThriftError("other numbers of rows in all and in the parts")
    chunks = [chunk for group in groups for chunk in group[_COLUMNS]] if groups else []
    values = unpacked = 0
    for chunk in chunks:
        if _FILE in chunk or _ABOUT not in chunk:
            raise ThriftError("columns in other files")
        about = chunk[_ABOUT]
        values += _whole(about, _VALUES)
        unpacked += _check_pages(about, data, end, where)
    if values > max(_ALWAYS_VALUES, len(data) * limit("unpacked_ratio")):
        raise exceeded(where, "unpacked_ratio")
    refuse_ratio(unpacked, len(data), where)


def _check_pages(about: Mapping[int, Any], data: Any, end: int, where: str) -> int:
    """Walk over the pages of a column; how many bytes they unpack to."""
    starts = [_whole(about, field) for field in (_DATA_AT, _DICTIONARY_AT) if about.get(field)]
    at = min(starts, default=0)
    last = at + _whole(about, _PACKED)
    if not len(MAGIC) <= at <= last <= end:
        raise ThriftError("a column beyond the end of the file")
    left, unpacked = _whole(about, _VALUES), 0
    while at < last:
        header, at = read_struct(data, at, last)
        packed, full = _whole(header, _PAGE_PACKED), _whole(header, _PAGE_UNPACKED)
        at += packed
        own = header.get(_PAGE_HEADERS.get(header.get(_PAGE_KIND, -1), -1))
        if own is None or at > last:
            raise ThriftError("a page that is cut off, or of an unknown kind")
        if full > max(limit("page_bytes"), packed * limit("unpacked_ratio")):
            raise exceeded(where, "page_bytes")
        if about.get(_CODEC) == _UNPACKED_CODEC and packed != full:
            raise ThriftError("a page that is not packed, of two sizes")
        count = _whole(own, _PAGE_VALUES)
        if header[_PAGE_KIND] == _DICTIONARY:
            if count > full:
                raise ThriftError("more distinct values than bytes")
        else:
            left -= count
        if header[_PAGE_KIND] == _DATA_2 and sum(_whole(own, field) for field in _LEVELS_2) > packed:
            raise ThriftError("levels that are longer than their page")
        unpacked += full
    if left:
        raise ThriftError("other numbers of values in a column and in its pages")
    return unpacked


def _whole(fields: Mapping[int, Any], number: int) -> int:
    """A size or a count that must be there."""
    found = fields.get(number)
    if not isinstance(found, int) or found < 0:
        raise ThriftError("a size that is missing, or below 0")
    return found
