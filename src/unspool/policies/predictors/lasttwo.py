"""The mean of the user's last two run times.

D. Tsafrir, Y. Etsion, D. G. Feitelson: "Backfilling using system-generated predictions rather than user runtime
estimates", IEEE Transactions on Parallel and Distributed Systems 18(6), 2007.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from unspool.engine.jobs.estimates import LAST_TWO, LEAST_S

if TYPE_CHECKING:
    from unspool.policies.view import Job

__all__ = ["LastTwo"]


class LastTwo:
    """The mean run time of the user's last two jobs that ended, at most the walltime; the walltime until one has."""

    kind: ClassVar[int] = LAST_TWO

    def __init__(self) -> None:
        self._last: dict[Any, list[float]] = {}

    def predict_one(self, job: Job) -> float:
        """How long the job will run, in seconds."""
        last = self._last.get(job["user"])
        return min(job.estimate, max(sum(last) / len(last), LEAST_S)) if last else job.estimate

    def learn_one(self, job: Job, run_time_s: float) -> None:
        """A job ended after so many seconds."""
        self._last[job["user"]] = [run_time_s, *self._last.get(job["user"], [])][:2]
