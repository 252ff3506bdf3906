"""One file a family of metrics: each is a function of the table of jobs and the platform, computed in columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from unspool.metrics.fairness import fairness
from unspool.metrics.utilisation import utilisation
from unspool.metrics.waiting import waiting
from unspool.model.platform import Platform

__all__ = ["METRICS", "measure"]

METRICS: tuple[Callable[[pl.DataFrame, Platform], Mapping[str, float | None]], ...] = (waiting, utilisation, fairness)
"""All families; a new one is one file and one name here."""


def measure(jobs: pl.DataFrame, platform: Platform) -> dict[str, float | None]:
    """Every figure of every family, for the jobs that ran."""
    return {name: value for family in METRICS for name, value in family(jobs, platform).items()}
