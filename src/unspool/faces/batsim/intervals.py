"""The sets of machines of many attempts as texts such as `0-3 7 9-10`, a column at a time."""

from __future__ import annotations

import numpy as np
import polars as pl

__all__ = ["interval_texts"]

_Ints = np.ndarray[tuple[int], np.dtype[np.int32]]
_Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]


def interval_texts(allocations: pl.DataFrame, attempts: int) -> pl.Series:
    """The machines of each attempt, by its number; empty where it has none, as on a pool."""
    rows = allocations.select("attempt", "first_machine", "last_machine")
    at, first, last = (rows[name].to_numpy() for name in rows.columns)
    is_new = _is_new(at)
    if (at[1:] < at[:-1]).any() or ((first[1:] < first[:-1]) & ~is_new[1:]).any():
        moved = np.lexsort((first, at))
        at, first, last = at[moved], first[moved], last[moved]
        is_new = _is_new(at)
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


def _is_new(attempts: _Ints) -> _Bools:
    """Where a row is of another attempt than the one before it."""
    is_new = np.ones(len(attempts), bool)
    is_new[1:] = attempts[1:] != attempts[:-1]
    return is_new


def _joined(first: _Ints, last: _Ints, is_new: _Bools) -> list[str]:
    """The intervals of each set in one text; `is_new` says where a set begins.

    Bytes and not strings, because a large run has millions of intervals: each is a row of a mark with its first machine
    and, unless it is one machine, a dash with its last. They are filled up with zeros, which are then taken out.
    """
    if not len(first):
        return []
    count = int(last.max()) + 1
    heads = np.array([f"{mark}{number}" for mark in " \n" for number in range(count)], "S")
    tails = np.array([*(f"-{number}" for number in range(count)), ""], "S")
    pieces = np.empty((len(first), 2), heads.dtype)
    pieces[:, 0] = heads[first + is_new * np.int32(count)]
    pieces[:, 1] = tails[np.where(first == last, np.int32(count), last)]
    return pieces.tobytes().translate(None, b"\0")[1:].decode("ascii").split("\n")
