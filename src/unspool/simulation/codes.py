"""What becomes of jobs and of a run, as codes: all that others than the engine, policies and the loop need of them."""

from __future__ import annotations

from unspool.engine.kernel.state import (
    COMPLETED,
    DECIDE,
    DONE,
    FAILED,
    KEEP,
    KILLED,
    LOST,
    NEVER,
    PAUSE,
    QUEUED,
    REJECTED,
    ROOM,
    RUNNING,
    TIMED_OUT,
    UNSEEN,
)

__all__ = [
    "COMPLETED", "DECIDE", "DONE", "FAILED", "KEEP", "KILLED", "LOST", "NEVER", "PAUSE", "QUEUED", "REJECTED", "ROOM",
    "RUNNING", "TIMED_OUT", "UNSEEN",
]  # fmt: skip
