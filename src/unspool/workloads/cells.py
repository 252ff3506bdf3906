"""Cells of a table turned into the columns of a workload: null where a cell is empty or does not convert.

Every function takes a column as a file gives it, text or typed, and does not fail on any cell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import polars as pl

from unspool.errors import UnitError
from unspool.units import parse_bytes, parse_duration
from unspool.workloads.encoding import decoded, is_utf8

__all__ = [
    "CONVERSIONS",
    "Conversion",
    "Instants",
    "text_of_bytes",
    "tidied",
    "to_bytes",
    "to_instants",
    "to_number",
    "to_seconds",
    "to_text",
    "to_whole",
]

_ISO = (
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2})(:[0-9]{2}(?:[.,][0-9]{1,9})?)?"
    r"\s*(Z|z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?)?$"
)
_NESTED = (pl.List, pl.Array, pl.Struct, pl.Object)


class Instants(NamedTuple):
    """Instants in microseconds since 1970 UTC, and how many cells did not say their zone."""

    microseconds: pl.Series
    without_zone: int


class Conversion(NamedTuple):
    """How the cells of a column are read, and what is said to be expected where one does not convert."""

    convert: Callable[[pl.Series], pl.Series]
    expected: str


def text_of_bytes(cells: pl.Series) -> tuple[pl.Series, int]:
    """Cells of bytes as text, and how many of them were no UTF-8: these are read as Latin-1.

    >>> text_of_bytes(pl.Series(["Zoë".encode(), None, b"J\\xfcrgen"]))[0].to_list()
    ['Zoë', None, 'Jürgen']
    """
    try:
        return cells.cast(pl.String), 0
    except pl.exceptions.ComputeError:
        given = cells.to_list()
        texts = [None if cell is None else decoded(cell) for cell in given]
        return pl.Series(cells.name, texts, pl.String), sum(cell is not None and not is_utf8(cell) for cell in given)


def tidied(cells: pl.Series) -> pl.Series:
    """The cells with empty ones as null: blank text, not-a-number floats."""
    if cells.dtype == pl.Binary:
        cells, _ = text_of_bytes(cells)
    if cells.dtype in (pl.Categorical, pl.Enum):
        cells = cells.cast(pl.String, strict=False)
    if cells.dtype == pl.String:
        cells = cells.str.strip_chars()
        return cells.set(cells == "", None)
    if cells.dtype.is_float():
        return cells.fill_nan(None)
    return cells


def to_text(cells: pl.Series) -> pl.Series:
    """The cells as text; whole floats lose their point (`7.0` is the way some tools store 7 beside empty cells).

    >>> to_text(pl.Series([7.0, None])).to_list()
    ['7', None]
    """
    if cells.dtype.is_float():
        whole = to_whole(cells)
        if whole.null_count() == cells.null_count():
            cells = whole
    return cells if isinstance(cells.dtype, _NESTED) else cells.cast(pl.String, strict=False)


def to_number(cells: pl.Series) -> pl.Series:
    """The cells as finite floats.

    >>> to_number(pl.Series(["1.5", "x", "inf"])).to_list()
    [1.5, None, None]
    """
    if isinstance(cells.dtype, pl.Duration):
        return cells.dt.total_microseconds() / 1e6
    if not (cells.dtype.is_numeric() or cells.dtype == pl.String):
        return _nothing(cells, pl.Float64())
    numbers = cells.cast(pl.Float64, strict=False)
    return numbers.set(~numbers.is_finite(), None)


def to_whole(cells: pl.Series) -> pl.Series:
    """The cells as whole numbers; `4.0` is one and `4.5` is not.

    >>> to_whole(pl.Series(["4", "4.0", "4.5", "x"])).to_list()
    [4, 4, None, None]
    """
    if cells.dtype.is_integer():
        return cells.cast(pl.Int64, strict=False)
    numbers = to_number(cells)
    numbers = numbers.set(numbers != numbers.floor(), None)
    whole = numbers.cast(pl.Int64, strict=False)
    if cells.dtype != pl.String:
        return whole
    # Floats round whole numbers beyond 2⁵³, so digits are read as they stand.
    exact = cells.cast(pl.Int64, strict=False)
    return exact.zip_with(exact.is_not_null(), whole)


def to_seconds(cells: pl.Series) -> pl.Series:
    """The cells as seconds: numbers, or durations such as `2:00` and `5 min`.

    >>> to_seconds(pl.Series(["90", "2:00", "5 min", "soon"])).to_list()
    [90.0, 120.0, 300.0, None]
    """
    return _with_texts(cells, to_number(cells), parse_duration)


def to_bytes(cells: pl.Series) -> pl.Series:
    """The cells as bytes: whole numbers, or sizes such as `4GiB`.

    >>> to_bytes(pl.Series(["512", "4GiB", "4G"])).to_list()
    [512, 4294967296, None]
    """
    return _with_texts(cells, to_whole(cells), parse_bytes)


def to_instants(cells: pl.Series) -> Instants:
    """The cells as instants: dates with times, ISO 8601 with `T` or a blank; without a zone they count as UTC.

    >>> to_instants(pl.Series(["1970-01-01 00:01", "1970-01-01T02:00:00+02:00", "12"])).microseconds.to_list()
    [60000000, 0, None]
    """
    if isinstance(cells.dtype, pl.Datetime | pl.Date):
        moments = cells.cast(pl.Datetime("us", getattr(cells.dtype, "time_zone", None)))
        zoneless = len(cells) - cells.null_count() if moments.dtype == pl.Datetime("us") else 0
        return Instants(moments.dt.epoch("us"), zoneless)
    if cells.dtype != pl.String:
        return Instants(_nothing(cells, pl.Int64()), 0)
    parts = cells.str.extract_groups(_ISO).struct.unnest()
    parts.columns = ["day", "minute", "second", "zone"]
    second = pl.col("second").str.replace(",", ".", literal=True).fill_null(":00")
    text = pl.concat_str("day", pl.lit("T"), "minute", second)
    sign = pl.when(pl.col("zone").str.starts_with("-")).then(-1).otherwise(1)
    digits = pl.col("zone").str.replace_all(r"\D", "").str.pad_end(4, "0").cast(pl.Int64, strict=False).fill_null(0)
    offset_s = sign * (digits // 100 * 3600 + digits % 100 * 60)
    local = text.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False).dt.epoch("us")
    found = parts.select(moment=local - offset_s * 1_000_000, zoneless=pl.col("zone").is_null())
    is_zoneless = found["zoneless"] & found["moment"].is_not_null()
    return Instants(found["moment"], int(is_zoneless.sum()))


def _with_texts(cells: pl.Series, plain: pl.Series, parse: Callable[[str], float]) -> pl.Series:
    """The plain values, and where there is none what the text parses to; each distinct text is parsed once."""
    if cells.dtype != pl.String or plain.null_count() == cells.null_count():
        return plain
    texts = cells.filter(plain.is_null()).drop_nulls().unique()
    values = pl.Series([_parsed(text, parse) for text in texts], dtype=plain.dtype)
    return plain.zip_with(plain.is_not_null(), cells.replace_strict(texts, values, default=None))


def _parsed(text: str, parse: Callable[[str], float]) -> float | None:
    try:
        return parse(text)
    except UnitError:
        return None


def _nothing(cells: pl.Series, dtype: pl.DataType) -> pl.Series:
    return pl.Series(cells.name, [None], dtype=dtype).new_from_index(0, len(cells))


_WHOLE = Conversion(to_whole, "a whole number")
_SECONDS = Conversion(to_seconds, "seconds, or a duration such as 2:00 or 5 min")
_BYTES = Conversion(to_bytes, "bytes, or a size such as 4GiB")
_TEXT = Conversion(to_text, "text")
_TIMES = ("ineligible_time", "run_time", "walltime", "think_time", "logged_wait", "cpu_time")
_COUNTS = ("cores", "machines", "gpus", "logged_cores", "requested_cores", "status")
_SIZES = ("memory_bytes", "used_memory_bytes")
_NAMES = (
    "job_id",
    "licences",
    "user",
    "group",
    "project",
    "queue",
    "partition",
    "application",
    "profile",
    "details",
    "qos",
    "depends_on",
)

CONVERSIONS = {
    **dict.fromkeys(_TIMES, _SECONDS),
    **dict.fromkeys(_COUNTS, _WHOLE),
    **dict.fromkeys(_SIZES, _BYTES),
    "priority": Conversion(to_number, "a number"),
    **dict.fromkeys(_NAMES, _TEXT),
}
"""How the cells of each column are read; `submit_time` is apart, since it may hold dates."""
