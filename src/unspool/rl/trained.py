"""`--policy rl:model.zip`: an agent that Stable-Baselines3 saved, as a scheduler (extra `rl`)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from os import fspath
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from unspool.arrays import Array
from unspool.errors import InputError, UnknownName
from unspool.rl.choices import choice_like
from unspool.rl.chooser import Chooser
from unspool.rl.weights import NeedsPickleError, policy_of_weights

__all__ = ["Trained", "load_model", "most_likely"]

_MASKED = "maskable-ppo"
_ALGORITHMS = {
    _MASKED: ("sb3_contrib", "MaskablePPO"),
    "ppo": ("stable_baselines3", "PPO"),
    "a2c": ("stable_baselines3", "A2C"),
    "dqn": ("stable_baselines3", "DQN"),
}


class Trained(Chooser):
    """A saved model of an agent that was trained in `unspool.rl`; it takes its most likely action.

    What it chooses, jobs, machines or instances, is told by how many numbers it sees. An algorithm without a mask may
    ask for what is not allowed; the first that is then counts, as in training. Only weights are read; with `pickle`,
    which policies of your own need, the model is code, so load only those that you trust.
    """

    positional: ClassVar[str] = "model"

    def __init__(self, model: str | Path, algorithm: str = _MASKED, pickle: bool = False) -> None:
        self.path, self.algorithm, self.pickle = fspath(model), algorithm, pickle
        loaded = load_model(self.path, algorithm, pickle=pickle)
        shape: tuple[int, ...] = loaded.observation_space.shape or ()
        choice = choice_like(shape[0], int(getattr(loaded.action_space, "n", 0))) if len(shape) == 1 else None
        if choice is None:
            raise InputError(
                f"{self.path}: the model sees {loaded.observation_space} and chooses from {loaded.action_space}; "
                "expected one that was trained on an environment of unspool.rl"
            )
        super().__init__(most_likely(loaded, algorithm), choice, f"rl:{self.path}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Trained, (self.path, self.algorithm, self.pickle)


def load_model(path: str, algorithm: str, *, pickle: bool = False) -> Any:
    """What an algorithm of Stable-Baselines3 saved: its policy, from weights alone; with `pickle` all of it."""
    if algorithm not in _ALGORITHMS:
        raise UnknownName("algorithm", algorithm, _ALGORITHMS)
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file; expected a model that Stable-Baselines3 saved, such as model.zip")
    module, name = _ALGORITHMS[algorithm]
    try:
        found = getattr(import_module(module), name)
    except ImportError as error:
        raise InputError(
            f"policy rl needs the extra rl, which is not installed: pip install 'unspool[rl]' ({error})"
        ) from error
    try:
        if not pickle:
            return policy_of_weights(path, algorithm)
        return found.load(path, device="cpu")
    except NeedsPickleError as error:
        raise InputError(
            f"{path}: {error} can only be loaded by pickle, which runs code of whoever made the model; if you trust "
            "that, say pickle=true"
        ) from error
    # A file of somebody else's may make the loader raise anything.
    except Exception as error:
        raise InputError(f"{path}: no model of {name} can be read from it: {type(error).__name__}: {error}") from error


def most_likely(model: Any, algorithm: str) -> Callable[[Array, Array], int]:
    """The action that a model finds most likely, of those that are allowed where it knows of masks."""

    def choose(seen: Array, mask: Array) -> int:
        named: dict[str, Any] = {"action_masks": mask} if algorithm == _MASKED else {}
        action, _ = model.predict(seen, deterministic=True, **named)
        return int(np.asarray(action))

    return choose
