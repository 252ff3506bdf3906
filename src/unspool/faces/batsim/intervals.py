"""Sets of machines as texts: closed intervals in ascending order, separated by blanks, such as `0-3 7 9-10`."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import polars as pl

from unspool.errors import InputError, shown

__all__ = ["interval_text", "interval_texts", "parse_intervals"]

_INTERVAL = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_MOST_IN_TEXT = 10_000_000
_Ints = np.ndarray[tuple[int], np.dtype[np.int64]]
_SPACE, _DASH, _NEWLINE = b" -\n"


def parse_intervals(text: str) -> set[int]:
    """The numbers of a set; intervals may touch, overlap and stand in any order.

    >>> sorted(parse_intervals("5 2-2 7 1-3"))
    [1, 2, 3, 5, 7]
    """
    numbers: set[int] = set()
    for part in text.split():
        match = _INTERVAL.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if last < first or last > _MOST_IN_TEXT:
            raise InputError(f"'{shown(text)}' is no set of machines: expected intervals of ids such as 0-3 7")
        numbers.update(range(first, last + 1))
    return numbers


def interval_text(numbers: Iterable[int]) -> str:
    """The shortest text of a set.

    >>> interval_text({1, 2, 3, 5, 7})
    '1-3 5 7'
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def interval_texts(allocations: pl.DataFrame, attempts: int) -> pl.Series:
    """The machines of each attempt, by its number; empty where it has none, as on a pool."""
    rows = allocations.select("attempt", "first_machine", "last_machine")
    at, first, last = (rows[name].to_numpy().astype(np.int64) for name in rows.columns)
    order = at * (1 << 32) + first
    if (order[1:] < order[:-1]).any():
        moved = np.argsort(order, kind="stable")
        at, first, last = at[moved], first[moved], last[moved]
    is_new = np.ones(len(at), bool)
    is_new[1:] = at[1:] != at[:-1]
    begins = is_new.copy()
    begins[1:] |= first[1:] != last[:-1] + 1
    if not begins.all():
        ends = np.append(begins[1:], True)
        at, first, last, is_new = at[begins], first[begins], last[ends], is_new[begins]
    texts = _joined(first, last, is_new)
    if len(texts) == attempts:
        return pl.Series("allocated_resources", texts, dtype=pl.String)
    found = pl.DataFrame({"attempt": at[is_new], "text": texts}, schema={"attempt": pl.Int64, "text": pl.String})
    every = pl.DataFrame({"attempt": np.arange(attempts)})
    joined = every.join(found, on="attempt", how="left", maintain_order="left")
    return joined["text"].fill_null("").alias("allocated_resources")


def _joined(first: _Ints, last: _Ints, is_new: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[str]:
    """The intervals of each set in one text; `is_new` says where a set begins.

    Bytes and not strings, because a large run has millions of intervals: each is a row with a mark, the digits of its
    first machine and, unless it is one machine, a dash and the digits of its last, with zeros wherever there is none.
    """
    if not len(first):
        return []
    most = int(last.max())
    names = np.array([str(number) for number in range(most + 1)], "S4" if most < 10_000 else "S8")
    number = np.dtype(np.uint32 if names.itemsize == 4 else np.uint64)
    digits = names.view(number)
    is_long = first != last
    row = np.dtype([("mark", np.uint8), ("first", number), ("dash", np.uint8), ("last", number)])
    pieces = np.empty(len(first), row)
    pieces["mark"] = np.where(is_new, _NEWLINE, _SPACE)
    pieces["first"] = digits[first]
    pieces["dash"] = np.where(is_long, _DASH, 0)
    pieces["last"] = np.where(is_long, digits[last], 0)
    flat = pieces.view(np.uint8)
    return bytes(flat[flat != 0][1:]).decode("ascii").split("\n")
