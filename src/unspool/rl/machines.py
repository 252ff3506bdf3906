"""Choose the machines: the head of the queue starts on the set that one of the ways to choose machines finds."""

from __future__ import annotations

from dataclasses import replace

from unspool.model.platform import Platform
from unspool.model.workload import Workload
from unspool.rl.choices import MachineChoice
from unspool.rl.env import EngineEnv, windows_of
from unspool.rl.rewards import Reward
from unspool.rl.windows import Windows

__all__ = ["MachineEnv"]


class MachineEnv(EngineEnv):
    """Actions 0 to 5 are first, best, worst, contiguous, spread and pack, and 6 waits; jobs start in queue order."""

    def __init__(
        self,
        workload: Workload | Windows | None = None,
        platform: Platform | str | int | None = "32x8",
        *,
        jobs: int = 256,
        seconds: float | None = None,
        reward: Reward | str | dict[str, float] = "bounded_slowdown",
        most_steps: int | None = None,
    ) -> None:
        windows = windows_of(workload, platform, jobs, seconds)
        where = replace(windows.platform, selection="best")  # so that every way to choose has what it needs
        windows = Windows(windows.log, where, jobs=windows.jobs, seconds=windows.seconds)
        super().__init__(windows, MachineChoice(), reward, most_steps)
        self.choice.begin(windows.engine(windows.in_turn()[0]))
