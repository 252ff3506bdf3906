"""What was lost with machines: attempts that had to be made again."""

from __future__ import annotations

import polars as pl

__all__ = ["lost_work"]


def lost_work(attempts: pl.DataFrame) -> dict[str, float]:
    """Core hours of attempts that ended because a machine was lost, also those that a checkpoint has kept."""
    lost = attempts.filter(pl.col("how") == "lost")
    core_s = float((lost["cores"] * (lost["finish_time"] - lost["start_time"])).sum())
    return {"lost_attempt_core_hours": core_s / 3600.0}
