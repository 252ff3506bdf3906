"""Cells as Slurm writes them, in columns: clocks, dates, sizes and lists of trackable resources (TRES).

Every function gives null where a cell is empty or does not convert, and does not fail on any cell.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from unspool.workloads.cells import to_instants

__all__ = ["by_distinct", "is_filled", "to_clock", "to_count", "to_moments", "to_size", "tres_amount"]

_CLOCK = r"^(?:(?:([0-9]{1,7})-)?([0-9]{1,9}):)?([0-9]{1,9}):([0-9]{1,2}(?:\.[0-9]{1,9})?)$"
_SIZE = r"^([0-9]{1,18}(?:\.[0-9]{1,9})?)([KMGTPE]?)$"
_POWERS = {suffix: 1024.0**power for power, suffix in enumerate(("", *"KMGTPE"))}
_EPOCH = r"^[0-9]{9,11}$"  # from 1973 on: what SLURM_TIME_FORMAT=%s prints
# Slurm writes these where it has no value.
_NO_VALUES = ("Unknown", "None", "N/A", "INVALID")


def by_distinct(cells: pl.Series, convert: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """The converted cells, each distinct text converted once: a log of a million jobs has few different limits."""
    texts = cells.drop_nulls().unique()
    if len(texts) > len(cells) // 4:
        return convert(cells)
    values = convert(texts)
    if not len(texts):
        return values.extend_constant(None, len(cells))
    return cells.replace_strict(texts, values, default=None, return_dtype=values.dtype)


def to_clock(cells: pl.Series) -> pl.Series:
    """Seconds of `[D-]HH:MM:SS` or `MM:SS`, with fractions or not.

    >>> to_clock(pl.Series(["1-00:10:00", "01:07.402", "UNLIMITED"])).to_list()
    [87000.0, 67.402, None]
    """
    # Four times as fast as the expression, and most durations are shorter than a day.
    plain = _whole_dates("1970-01-01T" + cells) / 1e6
    rest = cells.set(plain.is_not_null(), None)
    if rest.null_count() == len(rest):
        return plain
    return plain.zip_with(plain.is_not_null(), by_distinct(rest, _any_clock))


def _any_clock(cells: pl.Series) -> pl.Series:
    parts = cells.str.extract_groups(_CLOCK).struct.unnest()
    parts.columns = ["days", "hours", "minutes", "seconds"]
    days, hours, minutes = (pl.col(name).cast(pl.Float64).fill_null(0.0) for name in ("days", "hours", "minutes"))
    seconds = pl.col("seconds").cast(pl.Float64)
    # Where a larger part is given, a smaller one does not reach it.
    is_clock = (pl.col("hours").is_null() | (minutes < 60)) & (pl.col("days").is_null() | (hours < 24)) & (seconds < 60)
    total = days * 86400 + hours * 3600 + minutes * 60 + seconds
    return parts.select(pl.when(is_clock).then(total).alias("seconds")).to_series()


def _whole_dates(cells: pl.Series) -> pl.Series:
    return cells.str.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="us", strict=False).dt.epoch("us")


def to_moments(cells: pl.Series) -> pl.Series:
    """Microseconds since 1970 of dates, which are UTC unless they say their zone, or of seconds since 1970.

    >>> to_moments(pl.Series(["1970-01-01T00:01:00", "1970-01-01T02:00:00+02:00", "1000000000", "None"])).to_list()
    [60000000, 0, 1000000000000000, None]
    """
    moments = _whole_dates(cells)
    is_open = moments.is_null() & is_filled(cells)
    if not is_open.any():
        return moments
    rest = cells.set(~is_open, None)
    seconds = rest.set(~rest.str.contains(_EPOCH), None).cast(pl.Int64) * 1_000_000
    found = seconds.zip_with(seconds.is_not_null(), to_instants(rest).microseconds)
    return moments.zip_with(moments.is_not_null(), found)


def is_filled(cells: pl.Series) -> pl.Series:
    """Whether each cell says something: not empty, nor one of the words that Slurm writes for no value."""
    return ~cells.is_in(_NO_VALUES).fill_null(True)


def to_size(cells: pl.Series, plain: float = 1.0) -> pl.Series:
    """Bytes of a number with K, M, G, T, P or E after it, powers of 1024; `plain` is what a bare number counts.

    >>> to_size(pl.Series(["114944K", "0.07M", "512", "big"])).to_list()
    [117702656.0, 73400.32, 512.0, None]
    """
    parts = cells.str.to_uppercase().str.extract_groups(_SIZE).struct.unnest()
    parts.columns = ["number", "suffix"]
    powers = {**_POWERS, "": plain}
    factor = pl.col("suffix").replace_strict(list(powers), list(powers.values()), default=None)
    return parts.select((pl.col("number").cast(pl.Float64) * factor).alias("bytes")).to_series()


def to_count(cells: pl.Series) -> pl.Series:
    """Whole numbers; sacct shortens large ones, as in `2K`, which is 2048.

    >>> to_count(pl.Series(["4", "2K", "4.5"])).to_list()
    [4, 2048, None]
    """
    numbers = to_size(cells)
    return numbers.set(numbers != numbers.floor(), None).cast(pl.Int64, strict=False)


def tres_amount(cells: pl.Series, name: str, plain: float = 1.0) -> pl.Series:
    """How much of a resource a list such as `cpu=4,mem=8G,gres/gpu=2` holds; where it is only told by kind
    (`gres/gpu:a100=2`), their sum.

    >>> lists = pl.Series(["cpu=4,mem=8G,gres/gpu=2,gres/gpu:a100=2", "gres/gpu:a100=1,gres/gpu:v100=2", "cpu=1"])
    >>> tres_amount(lists, "gres/gpu").to_list(), tres_amount(lists, "mem").to_list()
    ([2.0, 3.0, None], [8589934592.0, None, None])
    """
    told = to_size(cells.str.extract(rf"(?:^|,){name}=([^,]*)"), plain)
    if told.null_count() == 0 or not cells.str.contains(f"{name}:", literal=True).any():
        return told
    kinds = pl.DataFrame({"part": cells.str.extract_all(rf"(?:^|,){name}:[^,=]*=[^,]*")}).with_row_index()
    parts = kinds.explode("part", empty_as_null=True, keep_nulls=True)
    amounts = to_size(parts["part"].str.extract(r"=([^,]*)$"), plain)
    sums = parts.select("index", amount=amounts).group_by("index", maintain_order=True)
    of_kinds = sums.agg(pl.when(pl.col("amount").count() > 0).then(pl.col("amount").sum()))["amount"]
    return told.zip_with(told.is_not_null(), of_kinds)
