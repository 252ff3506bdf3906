"""Choose the next job: start one of the first jobs of the queue that fit, one after the other, or wait."""

from __future__ import annotations

from unspool.model.platform import Platform
from unspool.model.workload import Workload
from unspool.rl.choices import JobChoice
from unspool.rl.env import EngineEnv, windows_of
from unspool.rl.rewards import Reward
from unspool.rl.windows import Windows

__all__ = ["JobEnv"]


class JobEnv(EngineEnv):
    """Action k < `window` starts job k of the queue, action `window` waits until something happens.

    Instants at which none of these jobs fits are passed over. Platforms are pools, machines, and those with a network.
    """

    def __init__(
        self,
        workload: Workload | Windows | None = None,
        platform: Platform | str | int | None = None,
        *,
        window: int = 32,
        jobs: int = 256,
        seconds: float | None = None,
        reward: Reward | str | dict[str, float] = "bounded_slowdown",
        most_steps: int | None = None,
    ) -> None:
        windows = windows_of(workload, platform, jobs, seconds)
        windows.platform.refuse_cloud("an environment in which jobs are chosen")
        super().__init__(windows, JobChoice(window), reward, most_steps)
