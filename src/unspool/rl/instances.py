"""Choose the instance to start: in a cloud, for the first job that nothing was started for."""

from __future__ import annotations

from unspool.model.platform import Platform
from unspool.model.workload import Workload
from unspool.rl.choices import InstanceChoice
from unspool.rl.env import EngineEnv, windows_of
from unspool.rl.rewards import Reward
from unspool.rl.windows import Windows

__all__ = ["InstanceEnv"]


class InstanceEnv(EngineEnv):
    """Action 2k starts the job's hosts as instances of type k on demand, 2k + 1 on spot; the last starts none for now.

    Jobs start in queue order wherever they fit on machines that are up. Cost is what instances cost from start to stop,
    without minimal times, disks and licences.
    """

    def __init__(
        self,
        workload: Workload | Windows,
        platform: Platform | str | None = None,
        *,
        jobs: int = 256,
        seconds: float | None = None,
        reward: Reward | str | dict[str, float] = "wait=1,cost=0.1",
        most_steps: int | None = None,
    ) -> None:
        windows = windows_of(workload, platform, jobs, seconds)
        super().__init__(windows, InstanceChoice.on(windows.platform), reward, most_steps)
