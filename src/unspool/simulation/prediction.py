"""Predictors in Python: told of the jobs that ended, then asked for the one that arrives."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING

from unspool.engine.jobs.estimates import LEAST_S
from unspool.engine.kernel.state import KILLED, LOST, RUNNING
from unspool.errors import DecisionError
from unspool.policies.base import CompiledScheduler, Predictor
from unspool.policies.view import Job

if TYPE_CHECKING:
    from unspool.simulation.engine import Engine

__all__ = ["Tutor"]


class Tutor:
    """Stands between an engine and a predictor, of which it keeps a copy of its own."""

    def __init__(self) -> None:
        self._predictor: Predictor | None = None
        self._running: list[int] = []  # attempts that the predictor has not been told the end of
        self._seen = 0

    def follow(self, engine: Engine, policy: CompiledScheduler) -> None:
        """From now on ask a policy's predictor; one that knows the future may see it."""
        assert not isinstance(policy.predictor, str)
        self._predictor = copy.deepcopy(policy.predictor)
        engine.clairvoyant = bool(getattr(self._predictor, "clairvoyant", False))

    def predict(self, engine: Engine, job: int) -> None:
        """Ask for the estimate of a job that arrives, and write it down."""
        guess = engine.state.guess
        if guess is None or self._predictor is None:
            return
        self._teach(engine, self._predictor)
        predicted = self._predictor.predict_one(Job(engine, job))
        name = type(self._predictor).__name__
        try:
            seconds = float(predicted)
        except (TypeError, ValueError) as error:
            raise DecisionError(
                f"{name} predicts {predicted!r} for job '{engine.id_of(job)}'; expected seconds"
            ) from error
        if not math.isfinite(seconds):
            raise DecisionError(f"{name} predicts {seconds} for job '{engine.id_of(job)}'; expected a finite number")
        engine.core.fate[job]["estimate"] = max(seconds, LEAST_S)
        guess.known[job] = 1

    def _teach(self, engine: Engine, predictor: Predictor) -> None:
        attempts = engine.attempts
        self._running.extend(range(self._seen, len(attempts)))
        self._seen = len(attempts)
        ended = [at for at in self._running if attempts[at]["how"] > RUNNING]
        if ended:
            self._running = [at for at in self._running if attempts[at]["how"] <= RUNNING]
        for at in sorted(
            (at for at in ended if attempts[at]["how"] not in (KILLED, LOST)),
            key=lambda at: float(attempts[at]["finish"]),
        ):
            run_time_s = float(attempts[at]["finish"] - attempts[at]["start"])
            predictor.learn_one(Job(engine, int(attempts[at]["job"])), run_time_s)

    def fork(self) -> Tutor:
        """The same for a fork of the engine."""
        twin = Tutor()
        twin._predictor = copy.deepcopy(self._predictor)
        twin._running = list(self._running)
        twin._seen = self._seen
        return twin
