"""`--policy rl:model.zip`: an agent that Stable-Baselines3 saved, as a scheduler (extra `rl`)."""

from __future__ import annotations

from importlib import import_module
from os import fspath
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from unspool.engine.state import Array
from unspool.errors import InputError, UnknownName
from unspool.rl.choices import choice_like
from unspool.rl.chooser import Chooser

__all__ = ["Trained"]

_ALGORITHMS = {
    "maskable-ppo": "sb3_contrib:MaskablePPO",
    "ppo": "stable_baselines3:PPO",
    "a2c": "stable_baselines3:A2C",
    "dqn": "stable_baselines3:DQN",
}


class Trained(Chooser):
    """A model that was trained on an environment of `unspool.rl` and saved; it takes its most likely action.

    What it chooses, jobs, machines or instances, is told by how many numbers it sees.

    An algorithm without a mask may ask for what is not allowed; the first that is then counts, as in training.
    A model is code: load only those that you trust.
    """

    positional: ClassVar[str] = "model"

    def __init__(self, model: str | Path, algorithm: str = "maskable-ppo") -> None:
        if algorithm not in _ALGORITHMS:
            raise UnknownName("algorithm", algorithm, _ALGORITHMS)
        self.path, self.algorithm = fspath(model), algorithm
        self._model = _loaded(Path(self.path), _ALGORITHMS[algorithm])
        self._takes_mask = algorithm == "maskable-ppo"
        shape = self._model.observation_space.shape or ()
        choice = choice_like(shape[0], int(getattr(self._model.action_space, "n", 0))) if len(shape) == 1 else None
        if choice is None:
            raise InputError(
                f"{self.path}: the model sees {self._model.observation_space} and chooses from "
                f"{self._model.action_space}; expected one that was trained on an environment of unspool.rl"
            )
        super().__init__(self._most_likely, choice, f"rl:{self.path}")

    def _most_likely(self, seen: Array, mask: Array) -> int:
        named: dict[str, Any] = {"action_masks": mask} if self._takes_mask else {}
        action, _ = self._model.predict(seen, deterministic=True, **named)
        return int(np.asarray(action))

    def __deepcopy__(self, _: dict[int, Any]) -> Trained:
        twin = object.__new__(Trained)
        twin.__dict__.update(self.__dict__)
        Chooser.__init__(twin, twin._most_likely, self.choice.fresh(), self.name)
        return twin

    def __reduce__(self) -> tuple[Any, ...]:
        return Trained, (self.path, self.algorithm)


def _loaded(path: Path, target: str) -> Any:
    if not path.is_file():
        raise InputError(f"{path}: no such file; expected a model that Stable-Baselines3 saved, such as model.zip")
    module, _, name = target.partition(":")
    try:
        algorithm = getattr(import_module(module), name)
    except ImportError as error:
        raise InputError(
            f"policy rl needs the extra rl, which is not installed: pip install 'unspool[rl]' ({error})"
        ) from error
    try:
        return algorithm.load(path, device="cpu")
    # A file of somebody else's may make the loader raise anything.
    except Exception as error:
        raise InputError(f"{path}: no model of {name} can be read from it: {type(error).__name__}: {error}") from error
