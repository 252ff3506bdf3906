"""A trained agent as a scheduler: what it was shown in training it is shown in any run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unspool.engine.state import Array
from unspool.errors import DecisionError, InputError
from unspool.policies.base import Decision
from unspool.policies.view import View
from unspool.simulation.choosing import GLOBALS, PER_JOB, anyone_fits, look, start_chosen

if TYPE_CHECKING:
    from unspool.simulation.engine import Engine

__all__ = ["Chooser"]


class Chooser:
    """A scheduler that asks `choose(seen, mask)` for an action, as `JobEnv` does, until it waits or nothing fits.

    `seen` is a row of numbers and `mask` says what is allowed; an action that is not counts as the first that is.
    Starts are carried out at once, as those of a built-in that `view.let_decide` calls.
    """

    version: ClassVar[int] = 1

    def __init__(self, choose: Callable[[Array, Array], int], window: int = 32, name: str = "chooser") -> None:
        if window < 1:
            raise InputError(f"window is {window}; expected 1 job or more")
        self.choose = choose
        self.window = window
        self.name = name
        self._seen = np.zeros(GLOBALS + PER_JOB * window, np.float32)
        self._mask = np.zeros(window + 1, np.bool_)
        self._jobs = np.full(window, -1, np.int64)

    def decide(self, view: View) -> Iterable[Decision]:
        """Start what the agent chooses at this instant."""
        engine: Engine = view._seen  # type: ignore[assignment]
        engine.platform.refuse_cloud("an agent that chooses jobs")
        total = float(engine.platform.cores)
        while anyone_fits(engine.core, engine.place, self.window):
            look(engine.core, engine.place, total, self._seen, self._mask, self._jobs)
            action = int(self.choose(self._seen, self._mask))
            if not 0 <= action <= self.window:
                raise DecisionError(f"{self.name} chose {action}; expected a number from 0 to {self.window}")
            if not self._mask[action]:
                action = int(self._mask.argmax())
            if action == self.window:
                break
            engine.make_room()
            start_chosen(engine.core, engine.place, int(self._jobs[action]))
        return ()

    def __deepcopy__(self, _: dict[int, Any]) -> Chooser:
        return Chooser(self.choose, self.window, self.name)  # the agent is the same: it keeps nothing of a run
