"""Train schedulers: environments of Gymnasium over the engine that runs everything else (extra `rl`).

A name is loaded when it is first used, and with it what it needs of the extra.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from unspool.errors import InputError

if TYPE_CHECKING:
    from unspool.rl.choices import InstanceChoice, JobChoice, MachineChoice
    from unspool.rl.chooser import Chooser
    from unspool.rl.dispatcher import TrainedDispatcher, WorkerChooser
    from unspool.rl.episodes import Episodes
    from unspool.rl.instances import InstanceEnv
    from unspool.rl.jobs import JobEnv
    from unspool.rl.machines import MachineEnv
    from unspool.rl.network import JobPolicy
    from unspool.rl.rewards import Reward
    from unspool.rl.sb3 import JobVecEnv
    from unspool.rl.trained import Trained
    from unspool.rl.vector import JobVectorEnv
    from unspool.rl.windows import Windows
    from unspool.rl.workers import WorkerEnv

_MODULE_OF = {
    "Chooser": "chooser",
    "Episodes": "episodes",
    "InstanceChoice": "choices",
    "InstanceEnv": "instances",
    "JobChoice": "choices",
    "JobEnv": "jobs",
    "JobPolicy": "network",
    "JobVecEnv": "sb3",
    "JobVectorEnv": "vector",
    "MachineChoice": "choices",
    "MachineEnv": "machines",
    "Reward": "rewards",
    "Trained": "trained",
    "TrainedDispatcher": "dispatcher",
    "Windows": "windows",
    "WorkerChooser": "dispatcher",
    "WorkerEnv": "workers",
}

__all__ = [
    "Chooser", "Episodes", "InstanceChoice", "InstanceEnv", "JobChoice", "JobEnv", "JobPolicy", "JobVecEnv",
    "JobVectorEnv", "MachineChoice", "MachineEnv", "Reward", "Trained", "TrainedDispatcher",
    "Windows", "WorkerChooser", "WorkerEnv",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'unspool.rl' has no attribute '{name}'")
    try:
        value = getattr(import_module(f"unspool.rl.{_MODULE_OF[name]}"), name)
    except ModuleNotFoundError as error:
        raise InputError(
            f"unspool.rl.{name} needs {error.name}, which is not installed: pip install 'unspool[rl]'"
        ) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
