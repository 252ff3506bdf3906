"""Waiting saved: how long jobs waited in the log, and how long they wait here."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from unspool.metrics.cost.allocation import HOUR_S

__all__ = ["MEMORY_GIB", "RUN_MINUTES", "SIZES", "wait_bins", "wait_figures"]

RUN_MINUTES: tuple[float, ...] = (1, 5, 20, 60, 240, 1440)
"""Upper bounds of the bins of run times, in minutes."""

MEMORY_GIB: tuple[float, ...] = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
"""Upper bounds of the bins of memory on each host, in GiB."""

SIZES: tuple[float, ...] = (1, 8, 32, 128, 512, 2048, 8192)
"""Upper bounds of the bins of cores."""

_GIB = float(1 << 30)
_QUANTILES = {"median": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}


def wait_figures(jobs: pl.DataFrame) -> dict[str, float | int | None]:
    """Modelled and logged waits: mean, quantiles, largest; and hours saved over the jobs whose wait was logged.

    Figures of logged waits are None where the log has none; a job that waits longer here counts against the saving.
    """
    logged = _logged(jobs)
    saved_s = (logged - jobs["wait_time"]).drop_nulls()
    return {
        **_figures(jobs["wait_time"], ""),
        **_figures(logged.drop_nulls(), "logged_"),
        "wait_hours": _float(jobs["wait_time"].sum()) / HOUR_S,
        "logged_wait_hours": _float(logged.sum()) / HOUR_S if len(saved_s) else None,
        "wait_saved_hours": _float(saved_s.sum()) / HOUR_S if len(saved_s) else None,
        "mean_wait_saved_s": _float(saved_s.mean()) if len(saved_s) else None,
        "jobs_with_logged_wait": len(saved_s),
        "jobs_that_wait_longer": int((saved_s < 0.0).sum()),
    }


def _figures(waits: pl.Series, prefix: str) -> dict[str, float | int | None]:
    found = {
        "mean": waits.mean(),
        **{name: waits.quantile(share, interpolation="linear") for name, share in _QUANTILES.items()},
        "max": waits.max(),
    }
    return {f"{prefix}{name}_wait_s": None if value is None else _float(value) for name, value in found.items()}


def wait_bins(
    jobs: pl.DataFrame,
    by: str = "cores",
    bounds: Sequence[float] | None = None,
    run_minutes: Sequence[float] = RUN_MINUTES,
) -> pl.DataFrame:
    """Jobs and their waits by size and run time: `by` is `cores`, or `memory` in GiB on each host.

    A job is in the first bin whose upper bound is not below it; what is above the last bound is in one more bin.
    Bins without jobs are left out, and a bin is named by its upper bound; that of the last one is empty.
    """
    bounds = list(bounds or (SIZES if by == "cores" else MEMORY_GIB))
    size = pl.col("cores").cast(pl.Float64) if by == "cores" else _gib_per_host(jobs)
    logged_h = pl.col("logged_wait") / HOUR_S
    wait_h = pl.col("wait_time") / HOUR_S
    saved_h = (logged_h - wait_h).drop_nulls()
    unit = "cores" if by == "cores" else "memory_gib"
    return (
        jobs.with_columns(
            _logged(jobs),
            _bin(size, bounds).alias("size_bin"),
            _bin(pl.col("run_time") / 60.0, run_minutes).alias("run_bin"),
        )
        .group_by("size_bin", "run_bin")
        .agg(
            pl.len().cast(pl.Int64).alias("jobs"),
            (pl.col("run_time").sum() / HOUR_S).alias("run_hours"),
            wait_h.sum().alias("wait_hours"),
            pl.when(logged_h.count() > 0).then(logged_h.sum()).alias("logged_wait_hours"),
            pl.when(saved_h.len() > 0).then(saved_h.sum()).alias("wait_saved_hours"),
        )
        .sort("size_bin", "run_bin")
        .select(_bound("size_bin", bounds, unit), _bound("run_bin", run_minutes, "run_minutes"), pl.exclude("^.*_bin$"))
    )


def _bin(value: pl.Expr, bounds: Sequence[float]) -> pl.Expr:
    """How many upper bounds are below the value: the number of its bin."""
    return pl.sum_horizontal((value > bound).cast(pl.Int64) for bound in sorted(bounds))


def _bound(number: str, bounds: Sequence[float], name: str) -> pl.Expr:
    upper = {at: float(bound) for at, bound in enumerate(sorted(bounds))}
    return pl.col(number).replace_strict(upper, default=None, return_dtype=pl.Float64).alias(f"{name}_up_to")


def _gib_per_host(jobs: pl.DataFrame) -> pl.Expr:
    memory = pl.col("memory_bytes").fill_null(0) if "memory_bytes" in jobs.columns else pl.lit(0)
    hosts = pl.max_horizontal(pl.col("machines").fill_null(1), 1) if "machines" in jobs.columns else pl.lit(1)
    return memory / hosts / _GIB


def _logged(jobs: pl.DataFrame) -> pl.Series:
    if "logged_wait" in jobs.columns:
        return jobs["logged_wait"].cast(pl.Float64)
    return pl.Series("logged_wait", [None], dtype=pl.Float64).new_from_index(0, len(jobs))


def _float(value: object) -> float:
    return float(value)  # type: ignore[arg-type]
