"""A run that broke off: what is kept of it are the jobs that had ended."""

from __future__ import annotations

import numpy as np

from unspool.simulation.codes import QUEUED, RUNNING
from unspool.simulation.engine import Engine

__all__ = ["forget_running"]


def forget_running(engine: Engine) -> None:
    """Take the attempts that still run out of the journal, as if these jobs had not been started."""
    core, place = engine.core, engine.place
    attempts = engine.attempts
    is_kept = attempts["how"] != RUNNING
    rows = np.concatenate(
        [np.arange(each["first_row"], each["first_row"] + each["row_count"]) for each in attempts[is_kept]]
        or [np.zeros(0, np.int64)]
    ).astype(np.int64)
    dropped = attempts["job"][~is_kept]
    kept = attempts[is_kept].copy()
    kept["first_row"] = np.cumsum(kept["row_count"]) - kept["row_count"]
    core.attempts[: len(kept)] = kept
    core.fate["attempt"][kept["job"]] = np.arange(len(kept))
    core.fate["attempt"][dropped] = -1
    core.fate["state"][dropped] = QUEUED
    course = core.course[0]
    course["attempts"] = len(kept)
    if place is not None:
        place.rows[: len(rows)] = place.rows[rows]
        course["rows"] = len(rows)
