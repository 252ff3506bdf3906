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
_SPACE, _DASH, _NEWLINE, _ZERO = b" -\n0"


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

    Bytes and not strings, because a large run has millions of intervals: each is a row with a separator, the digits of
    its first machine and, unless it is one machine, a dash and the digits of its last, with zeros where there is none.
    """
    if not len(first):
        return []
    width = len(str(int(last.max())))
    digits = np.zeros((int(last.max()) + 1, width), np.uint8)
    numbers = np.arange(len(digits))
    for place in range(width):
        has_digit = (numbers >= 10**place) | (place == 0)
        digits[has_digit, width - 1 - place] = (numbers[has_digit] // 10**place) % 10 + _ZERO
    pieces = np.zeros((len(first), 2 * width + 2), np.uint8)
    pieces[:, 0] = np.where(is_new, _NEWLINE, _SPACE)
    pieces[:, 1 : width + 1] = digits[first]
    is_long = first != last
    pieces[is_long, width + 1] = _DASH
    pieces[is_long, width + 2 :] = digits[last[is_long]]
    flat = pieces.ravel()
    return bytes(flat[flat != 0][1:]).decode("ascii").split("\n")
