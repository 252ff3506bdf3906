"""The ids of the jobs that a job waits for: several in one cell, told apart by the ids that there are."""

from __future__ import annotations

import polars as pl

__all__ = ["ids_between_commas", "listed", "waits_of"]

_ALONE = r"[^\s:]+"  # between blanks and colons, as in `4 5 6` and `4:5:6`
_MAY_BE_SEVERAL = r"[\s:]"


def listed(cells: pl.Series, known: pl.Series) -> pl.Series:
    """The ids in each cell of `depends_on`, as a list: a known id if the whole cell is one, else those between commas.

    >>> listed(pl.Series(["4, 5", "a,b", None]), pl.Series(["4", "5", "a,b"])).to_list()
    [['4', '5'], ['a,b'], None]
    """
    whole = cells.str.strip_chars()
    ids = pl.element().str.strip_chars()
    lists = whole.str.split(",").list.eval(ids.filter(ids != ""))
    is_one = whole.is_in(known.implode()).fill_null(False)
    return lists.zip_with(~is_one, whole.reshape((len(whole), 1)).arr.to_list()) if is_one.any() else lists


def waits_of(table: pl.DataFrame) -> pl.DataFrame:
    """Who waits for whom: `job`, the row of a job, and `on`, the id of one that it waits for, each pair once."""
    cells = table["depends_on"]
    jobs = pl.DataFrame({"job": pl.int_range(len(table), eager=True), "cell": cells}).drop_nulls()
    waits = jobs.select("job", on=listed(jobs["cell"], table["job_id"])).filter(pl.col("on").list.len() > 0)
    return waits.explode("on").unique(maintain_order=True)


def ids_between_commas(table: pl.DataFrame) -> pl.DataFrame:
    """The jobs, with commas between the ids of `depends_on` where there are blanks or colons.

    An id of a job of the table stays whole, whatever is in it.

    >>> jobs = pl.DataFrame({"job_id": ["4", "5", "a:1", "z"], "depends_on": [None, "4", "4 5", "a:1,4:5"]})
    >>> ids_between_commas(jobs)["depends_on"].to_list()
    [None, '4', '4,5', 'a:1,4,5']
    """
    cells = table["depends_on"]
    if not cells.str.contains(_MAY_BE_SEVERAL).any():
        return table
    rows = pl.int_range(len(table), eager=True)
    waits = pl.DataFrame({"job": rows, "on": listed(cells, table["job_id"])})
    waits = waits.filter(pl.col("on").list.len() > 0).explode("on")
    is_several = waits["on"].str.contains(_MAY_BE_SEVERAL) & ~waits["on"].is_in(table["job_id"].implode())
    if not is_several.any():
        return table
    alone = pl.when(is_several).then(pl.col("on").str.extract_all(_ALONE)).otherwise(pl.concat_list("on"))
    changed = pl.col("job").is_in(waits["job"].filter(is_several).implode())
    told = waits.with_columns(on=alone).filter(changed).explode("on").drop_nulls()
    told = told.group_by("job").agg(pl.col("on").str.join(","))
    found = pl.DataFrame({"job": rows}).join(told, on="job", how="left", maintain_order="left")["on"]
    return table.with_columns(depends_on=pl.select(pl.coalesce(found, cells)).to_series())
