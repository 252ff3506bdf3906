"""The sets of machines of many attempts as texts such as `0-3 7 9-10`, a column at a time."""

from __future__ import annotations

import numpy as np
import polars as pl

__all__ = ["interval_texts"]

_Ints = np.ndarray[tuple[int], np.dtype[np.int64]]
_SPACE, _DASH, _NEWLINE = b" -\n"


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
