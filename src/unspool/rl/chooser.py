"""An agent as a scheduler: what it was shown in training it is shown in any run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unspool.arrays import Array
from unspool.errors import DecisionError
from unspool.policies.base import Decision
from unspool.policies.view import View
from unspool.rl.choices import Choice, JobChoice

if TYPE_CHECKING:
    from unspool.simulation.engine import Engine

__all__ = ["Chooser"]


class Chooser:
    """A scheduler that asks `choose(seen, mask)` for actions, as an environment does; without a choice, as `JobEnv`.

    `seen` is a row of numbers and `mask` says what is allowed; an action that is not counts as the first that is.
    What is chosen is carried out at once, as by a built-in that `view.let_decide` calls.
    """

    version: ClassVar[int] = 1

    def __init__(
        self, choose: Callable[[Array, Array], int], choice: Choice | None = None, name: str = "chooser"
    ) -> None:
        self.choose = choose
        self.choice: Choice = JobChoice() if choice is None else choice
        self.name = name
        self._seen = np.zeros(self.choice.length, np.float32)
        self._mask = np.zeros(self.choice.actions, np.bool_)

    def decide(self, view: View) -> Iterable[Decision]:
        """Do what the agent chooses at this instant."""
        engine: Engine = view._seen  # type: ignore[assignment]
        choice, mask = self.choice, self._mask
        choice.begin(engine)
        while choice.is_due(engine):
            choice.look(engine, self._seen, mask)
            action = int(self.choose(self._seen, mask))
            if not 0 <= action < len(mask):
                raise DecisionError(f"{self.name} chose {action}; expected a number from 0 to {len(mask) - 1}")
            if choice.act(engine, action if mask[action] else int(mask.argmax())):
                break
        return ()

    def __deepcopy__(self, _: dict[int, Any]) -> Chooser:
        # The agent is the same: it keeps nothing of a run.
        return Chooser(self.choose, self.choice.fresh(), self.name)
