"""How long jobs wait, and how that feels in proportion to their length."""

from __future__ import annotations

import polars as pl

from unspool.model.platform import Platform

__all__ = ["BOUND_S", "job_times", "waiting"]

BOUND_S = 10.0
"""Shorter jobs count as this long in the bounded slowdown (Feitelson et al. 1997)."""


def job_times() -> list[pl.Expr]:
    """Columns that follow from submit, start and finish time of a job; a job of no length has no slowdown."""
    wait = pl.col("start_time") - pl.col("submit_time")
    response = pl.col("finish_time") - pl.col("submit_time")
    run = pl.col("finish_time") - pl.col("start_time")
    return [
        wait.alias("wait_time"),
        run.alias("run_time"),
        response.alias("response_time"),
        pl.when(run > 0.0).then(response / run).alias("slowdown"),
        pl.max_horizontal(pl.lit(1.0), response / pl.max_horizontal(run, pl.lit(BOUND_S))).alias("bounded_slowdown"),
    ]


def waiting(jobs: pl.DataFrame, platform: Platform) -> dict[str, float | None]:
    """Wait, response, slowdown and bounded slowdown; quantiles are interpolated between neighbours; None: of no job."""
    figures = {
        "mean_wait_s": jobs["wait_time"].mean(),
        "median_wait_s": jobs["wait_time"].median(),
        "p95_wait_s": jobs["wait_time"].quantile(0.95, interpolation="linear"),
        "max_wait_s": jobs["wait_time"].max(),
        "mean_response_s": jobs["response_time"].mean(),
        "mean_slowdown": jobs["slowdown"].mean(),
        "mean_bounded_slowdown": jobs["bounded_slowdown"].mean(),
        "p95_bounded_slowdown": jobs["bounded_slowdown"].quantile(0.95, interpolation="linear"),
    }
    return {name: None if value is None else float(value) for name, value in figures.items()}  # type: ignore[arg-type]
