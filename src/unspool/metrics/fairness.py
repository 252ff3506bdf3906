"""How evenly the users are treated."""

from __future__ import annotations

import polars as pl

from unspool.model.platform import Platform

__all__ = ["fairness", "jain_index"]


def jain_index(values: pl.Series) -> float:
    """Jain's index of amounts, (Σx)² / (n Σx²): 1 if all are equal, 1/n if one has all; 0 without any.

    It does not change if all amounts are multiplied by the same number. Source: R. Jain, D. Chiu, W. Hawe: "A
    quantitative measure of fairness and discrimination for resource allocation in shared computer systems", DEC
    Research Report TR-301, 1984.

    >>> jain_index(pl.Series([2.0, 2.0, 2.0])), jain_index(pl.Series([4.0, 0.0]))
    (1.0, 0.5)
    """
    squares = float((values * values).sum())
    return float(values.sum()) ** 2 / (len(values) * squares) if squares else 0.0


def fairness(jobs: pl.DataFrame, platform: Platform) -> dict[str, float]:
    """Jain's index of the users' mean bounded slowdowns; jobs without a user are left out.

    The bounded slowdown is at least 1, so a user who never waits counts as much as one who always does. No figure
    where the log names no users.
    """
    if "user" not in jobs.columns or (len(jobs) and jobs["user"].null_count() == len(jobs)):
        return {}
    # In the order of the table: a sum in any order differs in its last digit from one time to another.
    named = jobs.filter(pl.col("user").is_not_null()).group_by("user", maintain_order=True)
    means = named.agg(pl.col("bounded_slowdown").mean())
    return {"jain_index_of_users": jain_index(means["bounded_slowdown"])}
