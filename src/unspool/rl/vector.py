"""Many environments in which jobs are chosen, as one vector environment of Gymnasium."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from unspool.arrays import Array
from unspool.model.platform import Platform
from unspool.model.workload import Workload
from unspool.rl.env import windows_of
from unspool.rl.episodes import Episodes
from unspool.rl.rewards import Reward
from unspool.rl.windows import Windows

__all__ = ["JobVectorEnv"]


class JobVectorEnv(gymnasium.vector.VectorEnv):  # type: ignore[misc]
    """`num_envs` times `JobEnv`, advanced in one compiled call on each of `threads` threads.

    Environment i with the seed s plays what `JobEnv` plays with the seed s + i. Who has ended begins anew in the same
    step (`AutoresetMode.SAME_STEP`): `info["final_obs"]` has what was seen last, `info["figures"]` what it came to.
    """

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}

    def __init__(
        self,
        num_envs: int,
        workload: Workload | Windows | None = None,
        platform: Platform | str | int | None = None,
        *,
        window: int = 32,
        jobs: int = 256,
        seconds: float | None = None,
        reward: Reward | str | dict[str, float] = "bounded_slowdown",
        most_steps: int | None = None,
        threads: int = 1,
    ) -> None:
        super().__init__()
        self.num_envs = num_envs
        windows = windows_of(workload, platform, jobs, seconds)
        self.episodes = Episodes(
            windows, num_envs, window=window, reward=Reward.parse(reward), most_steps=most_steps, threads=threads
        )
        self.single_observation_space = Box(0.0, 1.0, (self.episodes.seen.shape[1],), np.float32)
        self.single_action_space = Discrete(window + 1)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._has_generators = False

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """New episodes in all; `options={"windows": [(first, count), …]}` says over which jobs."""
        self._seed(seed)
        self.episodes.begin(np.arange(self.num_envs), (options or {}).get("windows"))
        return self.episodes.seen.copy(), {"action_mask": self.episodes.mask.copy()}

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Carry out one choice in each."""
        episodes = self.episodes
        paid, terminated, truncated = episodes.step(np.asarray(actions))
        info: dict[str, Any] = {}
        over = np.flatnonzero(terminated | truncated)
        if len(over):
            last, figures = np.full(self.num_envs, None, object), np.full(self.num_envs, None, object)
            for run in over.tolist():
                last[run], figures[run] = episodes.seen[run].copy(), episodes.figures(run)
            info["final_obs"], info["figures"] = last, figures
            info["_final_obs"] = info["_figures"] = terminated | truncated
            episodes.begin(over)
        info["action_mask"] = episodes.mask.copy()
        return episodes.seen.copy(), paid, terminated, truncated, info

    def action_masks(self) -> Array:
        """What is allowed now in each."""
        return self.episodes.mask.copy()

    def close_extras(self, **_: Any) -> None:
        """Let the threads go."""
        self.episodes.close()

    def _seed(self, seed: int | list[int | None] | None) -> None:
        if isinstance(seed, int):
            seed = [seed + at for at in range(self.num_envs)]
        if seed is None and self._has_generators:
            return
        seeds = seed if seed is not None else [None] * self.num_envs
        self.episodes.seed([gymnasium.utils.seeding.np_random(one)[0] for one in seeds])
        self._has_generators = True
