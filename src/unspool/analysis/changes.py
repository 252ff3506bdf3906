"""Starts of two results side by side: which are at another time, end otherwise, or are on other machines."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from unspool.results.result import Result

__all__ = ["TIME_OF", "changes_of", "compared_attempts", "earliest"]

TIME_OF = {"start": "start_time", "end": "finish_time", "machines": "start_time"}
"""For each kind of change, the column that says when it is seen."""


def compared_attempts(a: Result, b: Result) -> pl.DataFrame:
    """Attempts side by side, by job and how many times it was started before."""
    return _attempts(a).join(_attempts(b), on=["job_id", "nth"], how="full", coalesce=True, suffix="_b")


def _attempts(result: Result) -> pl.DataFrame:
    rows = result.allocations.with_columns(
        row=pl.format("{}-{} x {}", pl.col("first_machine"), pl.col("last_machine"), pl.col("units"))
    )
    machines = rows.group_by("attempt").agg(pl.col("row").str.join(", ").alias("machines"))
    walltime = result.jobs.select("job_id", "walltime") if "walltime" in result.jobs.columns else None
    attempts = (
        result.attempts.with_columns(
            pl.col("how").cast(pl.String), nth=pl.int_range(pl.len()).over("job_id"), at=pl.col("attempt")
        )
        .join(machines.cast({"attempt": pl.Int64}), on="attempt", how="left", maintain_order="left")
        .with_columns(pl.col("machines").fill_null(""))
        .drop("attempt", "submit_time")
    )
    if walltime is None:
        return attempts.with_columns(walltime=pl.lit(None, pl.Float64))
    return attempts.join(walltime, on="job_id", how="left", maintain_order="left")


def changes_of(compared: pl.DataFrame, *, with_machines: bool) -> dict[str, pl.DataFrame]:
    """Attempts that start at another time; of the others, those that end otherwise, and those on other machines."""
    at_once = pl.col("start_time") == pl.col("start_time_b")
    same_end = pl.col("finish_time").eq_missing(pl.col("finish_time_b")) & pl.col("how").eq_missing(pl.col("how_b"))
    changes = {
        "start": compared.filter(~pl.col("start_time").eq_missing(pl.col("start_time_b"))),
        "end": compared.filter(at_once & ~same_end),
    }
    if with_machines:
        changes["machines"] = compared.filter(at_once & (pl.col("machines") != pl.col("machines_b")))
    return changes


def earliest(changes: Mapping[str, pl.DataFrame]) -> tuple[str | None, float | None]:
    """The first change; of several at one instant, ends are before starts, as in the run."""
    found = []
    for name in ("end", "start", "machines"):
        if name in changes and len(changes[name]):
            times = changes[name].select(pl.min_horizontal(TIME_OF[name], f"{TIME_OF[name]}_b").min())
            found.append((float(times.item()), name))
    if not found:
        return None, None
    time, change = min(found, key=lambda one: one[0])
    return change, time
