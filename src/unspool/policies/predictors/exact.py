"""The future itself: what the best of all predictors would say."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from unspool.engine.jobs.estimates import EXACT, LEAST_S

if TYPE_CHECKING:
    from unspool.policies.view import Job

__all__ = ["Exact"]


class Exact:
    """The run time that the log has; no scheduler can know it, so it is the limit of what prediction can bring."""

    kind: ClassVar[int] = EXACT
    clairvoyant = True

    def predict_one(self, job: Job) -> float:
        """How long the job will run, in seconds."""
        return max(job.run_time, LEAST_S)

    def learn_one(self, job: Job, run_time_s: float) -> None:
        """There is nothing to learn."""
