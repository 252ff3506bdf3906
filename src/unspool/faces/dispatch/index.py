"""Mean durations by exercise and runtime, by exercise alone where the pair is new (spec B4.1)."""

from __future__ import annotations

from typing import Protocol

__all__ = ["DurationIndex", "Run"]


class Run(Protocol):
    """What is learnt from: a job or a reference run."""

    exercise_id: int
    runtime_id: int
    duration: float


class DurationIndex:
    """Running sums and counts in the order of insertion, which the last digits of a mean depend on."""

    __slots__ = ("_exercises", "_pairs")

    def __init__(self) -> None:
        self._pairs: dict[tuple[int, int], list[float]] = {}
        self._exercises: dict[int, list[float]] = {}

    def add(self, job: Run) -> None:
        """Count the duration of a job or a reference run."""
        duration = job.duration
        pair = self._pairs.get((job.exercise_id, job.runtime_id))
        if pair is None:
            self._pairs[job.exercise_id, job.runtime_id] = [duration, 1]
        else:
            pair[0] += duration
            pair[1] += 1
        exercise = self._exercises.get(job.exercise_id)
        if exercise is None:
            self._exercises[job.exercise_id] = [duration, 1]
        else:
            exercise[0] += duration
            exercise[1] += 1

    def estimate(self, job: Run) -> float | None:
        """The mean of the pair, else of the exercise, else None."""
        found = self._pairs.get((job.exercise_id, job.runtime_id)) or self._exercises.get(job.exercise_id)
        return found[0] / found[1] if found else None
