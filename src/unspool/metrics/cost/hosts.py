"""Which machines an attempt was on: one row a machine, from rows that are runs of neighbours."""

from __future__ import annotations

import polars as pl

__all__ = ["hosts_of"]


def hosts_of(allocations: pl.DataFrame) -> pl.DataFrame:
    """Attempt, machine, and units of the attempt on it.

    >>> rows = pl.DataFrame({"attempt": [0, 1], "first_machine": [3, 7], "last_machine": [5, 7], "units": [1, 2]})
    >>> hosts_of(rows).rows()
    [(0, 3, 1), (0, 4, 1), (0, 5, 1), (1, 7, 2)]
    """
    first, last = (pl.col(name).cast(pl.Int64) for name in ("first_machine", "last_machine"))
    rows = allocations.select(pl.col("attempt", "units").cast(pl.Int64), first.alias("machine"), last.alias("last"))
    if not (rows["last"] == rows["machine"]).all():
        rows = rows.with_columns(pl.int_ranges("machine", pl.col("last") + 1)).explode("machine")
    return rows.select("attempt", "machine", "units")
