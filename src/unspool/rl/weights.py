"""A model of Stable-Baselines3 from its weights alone: nothing of the file is unpickled, so that none of it can run.

Its zip has the weights, which PyTorch reads with `weights_only`, and `data`, JSON with pickled objects among its
values. Of these a policy needs its class, which is looked up in a table, and its spaces, of which the JSON tells the
sizes; learning needs the others.
"""

from __future__ import annotations

import base64
import io
import json
import pickletools
import zipfile
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from unspool.errors import InputError, shown

__all__ = ["NeedsPickleError", "policy_of_weights"]

_ACTOR_CRITIC, _MASKED = "stable_baselines3.common.policies", "sb3_contrib.common.maskable.policies"
_POLICIES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "maskable-ppo": ((_MASKED, "MaskableActorCriticPolicy"), ("unspool.rl.network", "JobPolicy")),
    "ppo": ((_ACTOR_CRITIC, "ActorCriticPolicy"),),
    "a2c": ((_ACTOR_CRITIC, "ActorCriticPolicy"),),
    "dqn": (("stable_baselines3.dqn.policies", "DQNPolicy"),),
}
_OF_LEARNING = ("optimizer_class", "optimizer_kwargs")  # parameters of a policy that do not change what it decides
_BY_REFERENCE = {"PROTO", "FRAME", "SHORT_BINUNICODE", "BINUNICODE", "MEMOIZE", "STACK_GLOBAL", "STOP"}
_PICKLED, _TYPE = ":serialized:", ":type:"
_MOST_BYTES = 1 << 30


class NeedsPickleError(InputError):
    """A model that holds something which only pickle can make."""


def policy_of_weights(path: str, algorithm: str) -> Any:
    """The policy of a model: an object with `predict`, `observation_space` and `action_space`."""
    import torch
    from gymnasium.spaces import Box, Discrete

    with zipfile.ZipFile(path) as file:
        data = json.loads(_read(file, "data"))
        weights = torch.load(io.BytesIO(_read(file, "policy.pth")), map_location="cpu", weights_only=True)
    seen, chosen = data["observation_space"], data["action_space"]
    policy = _class_of(data["policy_class"], algorithm)(
        Box(0.0, 1.0, tuple(map(int, seen["_shape"])), "float32"),
        Discrete(int(chosen["n"])),
        lambda _: 0.0,
        **_parameters(data.get("policy_kwargs") or {}),
    )
    policy.load_state_dict(weights)
    policy.set_training_mode(False)
    return policy


def _read(file: zipfile.ZipFile, name: str) -> bytes:
    if file.getinfo(name).file_size > _MOST_BYTES:
        raise InputError(f"{name} unpacks to more than {_MOST_BYTES >> 30} GiB")
    return file.read(name)


def _class_of(told: Mapping[str, Any], algorithm: str) -> Any:
    """The class of a policy, where it is one of the table; read off the pickle, which is not run."""
    names: list[str] = []
    for code, argument, _ in pickletools.genops(base64.b64decode(told[_PICKLED])):
        if code.name not in _BY_REFERENCE:
            raise NeedsPickleError("its policy class")
        names += [argument] if isinstance(argument, str) else []
    module, name = names
    if (module, name) not in _POLICIES[algorithm]:
        raise NeedsPickleError(f"its policy class {shown(f'{module}.{name}', 100)}")
    return getattr(import_module(module), name)


def _parameters(told: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a policy that are plain values; of a pickled map the JSON has those beside."""
    plain = {key: value for key, value in told.items() if key not in (_PICKLED, _TYPE, *_OF_LEARNING)}
    for key, value in plain.items() if _PICKLED in told else ():
        if isinstance(value, str):  # how an object is shown
            raise NeedsPickleError(f"its parameter {shown(key)}")
    return plain
