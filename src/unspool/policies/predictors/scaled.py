"""A part of what was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unspool.errors import InputError

if TYPE_CHECKING:
    from unspool.policies.view import Job

__all__ = ["Scaled"]


class Scaled:
    """The walltime times a factor; with half of it, many systems of exercises do well enough."""

    def __init__(self, factor: float = 0.5) -> None:
        if not factor >= 0.0:
            raise InputError(f"scaled: the factor is {factor}; expected 0 or more")
        self._factor = factor

    def predict_one(self, job: Job) -> float:
        """How long the job will run, in seconds."""
        return self._factor * job.estimate

    def learn_one(self, job: Job, run_time_s: float) -> None:
        """There is nothing to learn."""
