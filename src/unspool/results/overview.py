"""The table that `unspool run` prints: one row a policy with the figures that matter most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from unspool.results.result import Result

__all__ = ["COMPARED", "comparison"]

COMPARED: tuple[str, ...] = (
    "jobs",
    "rejected",
    "mean_wait_s",
    "p95_wait_s",
    "max_wait_s",
    "mean_bounded_slowdown",
    "utilisation",
    "makespan_s",
)
"""The figures of the table that `unspool run` prints."""


def comparison(results: Sequence[Result]) -> pl.DataFrame:
    """One row a policy with the figures that matter most."""
    rows = [{"policy": result.policy, **{name: result.summary[name] for name in COMPARED}} for result in results]
    return pl.DataFrame(rows)
