"""Jobs in groups: by user, queue, partition and the like, and by size."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

from unspool.errors import InputError, UnknownName

__all__ = ["COLUMNS", "GROUPINGS", "UNNAMED", "grouped", "size_class"]

COLUMNS = ("user", "group", "project", "queue", "partition", "application")
"""The columns of the log that jobs can be grouped by."""

GROUPINGS: tuple[str, ...] = (*COLUMNS, "size")
"""What jobs can be grouped by: a column of the log, or the class of their size."""

UNNAMED = "(none)"
"""The group of jobs that say nothing in the column."""

Ints = npt.NDArray[np.int64]


def grouped(jobs: pl.DataFrame, by: str) -> tuple[list[str], Ints]:
    """The names of the groups, and the number of each job's: sizes from small to large, others by jobs, most first."""
    if by not in GROUPINGS:
        raise UnknownName("grouping", by, GROUPINGS)
    if by == "size":
        return _sizes(jobs["cores"].to_numpy())
    if by not in jobs.columns:
        has = [name for name in COLUMNS if name in jobs.columns]
        raise InputError(
            f"jobs cannot be compared by {by}: the log has no such column; it has {', '.join([*has, 'size'])}"
        )
    if jobs[by].null_count() == len(jobs):
        raise InputError(f"jobs cannot be compared by {by}: the column is empty in all {len(jobs):,} jobs")
    names = jobs[by].cast(pl.String).fill_null(UNNAMED)
    ordered = names.value_counts().sort(["count", by], descending=[True, False])[by]
    number = pl.DataFrame({by: ordered}).with_row_index("number")
    found = pl.DataFrame({by: names}).join(number, on=by, how="left", maintain_order="left")["number"]
    return ordered.to_list(), found.cast(pl.Int64).to_numpy()


def size_class(cores: int) -> str:
    """The class of a job's size: 1, 2-8, 9-32, 33-128 and so on, each up to four times the one before.

    >>> size_class(1), size_class(2), size_class(32), size_class(33), size_class(1000)
    ('1', '2-8', '9-32', '33-128', '513-2048')
    """
    return _sizes(np.array([cores]))[0][-1]


def _sizes(cores: Ints) -> tuple[list[str], Ints]:
    ends = [1, 8]
    while ends[-1] < cores.max(initial=1):
        ends.append(4 * ends[-1])
    classes = np.searchsorted(np.array(ends), cores).astype(np.int64)
    found, numbers = np.unique(classes, return_inverse=True)
    names = ["1", *(f"{low + 1}-{high}" for low, high in pairwise(ends))]
    return [names[at] for at in found.tolist()], numbers.astype(np.int64)
