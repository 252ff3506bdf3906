"""Many environments in which jobs are chosen, for the algorithms of Stable-Baselines3 (extra `rl`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.utils import seeding
from stable_baselines3.common.vec_env import VecEnv

from unspool.arrays import Array
from unspool.rl.episodes import Episodes
from unspool.rl.rewards import Reward
from unspool.rl.windows import Windows

__all__ = ["JobVecEnv"]


class JobVecEnv(VecEnv):  # type: ignore[misc]
    """So many environments as one, for `MaskablePPO(policy, JobVecEnv(64, windows))`."""

    def __init__(
        self,
        num_envs: int,
        windows: Windows,
        *,
        window: int = 32,
        reward: Reward | str | dict[str, float] = "bounded_slowdown",
        most_steps: int | None = None,
        threads: int = 1,
        seed: int = 0,
    ) -> None:
        self.episodes = Episodes(
            windows, num_envs, window=window, reward=Reward.parse(reward), most_steps=most_steps, threads=threads
        )
        self.render_mode = None
        length = self.episodes.seen.shape[1]
        super().__init__(num_envs, Box(0.0, 1.0, (length,), np.float32), Discrete(window + 1))
        self._seed_all(seed)
        self._actions: Array = np.zeros(num_envs, np.int64)

    def reset(self) -> Array:
        """New episodes in all."""
        if any(seed is not None for seed in self._seeds):
            self._seed_all(self._seeds[0])
            self._reset_seeds()
        self.episodes.begin(np.arange(self.num_envs))
        return self.episodes.seen.copy()

    def step_async(self, actions: Array) -> None:
        """Note what was chosen."""
        self._actions = actions

    def step_wait(self) -> tuple[Array, Array, Array, list[dict[str, Any]]]:
        """Carry it out; who has ended begins anew."""
        episodes = self.episodes
        paid, terminated, truncated = episodes.step(self._actions)
        done = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        over = np.flatnonzero(done)
        for run in over.tolist():
            infos[run] = {
                "terminal_observation": episodes.seen[run].copy(),
                "TimeLimit.truncated": bool(truncated[run]),
                "episode": {"r": float(episodes.returns[run]), "l": int(episodes.steps[run]), "t": 0.0},
            }
        if len(over):
            episodes.begin(over)
        return episodes.seen.copy(), paid.astype(np.float32), done, infos

    def action_masks(self) -> Array:
        """What is allowed now in each."""
        return self.episodes.mask.copy()

    def close(self) -> None:
        """Let the threads go."""
        self.episodes.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of this one, once for each."""
        return [getattr(self, attr_name)] * len(self._named(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute for all."""
        setattr(self, attr_name, value)

    def env_method(self, method_name: str, *arguments: Any, indices: Any = None, **named: Any) -> list[Any]:
        """A row for each of what a method of this one returns."""
        rows = getattr(self, method_name)(*arguments, **named)
        return [rows[at] for at in self._named(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """None of them is: episodes are told in the infos as `Monitor` would."""
        return [False] * len(self._named(indices))

    def _named(self, indices: Any) -> Sequence[int]:
        return list(self._get_indices(indices))

    def _seed_all(self, seed: int | None) -> None:
        seeds = [None if seed is None else seed + at for at in range(self.num_envs)]
        self.episodes.seed([seeding.np_random(one)[0] for one in seeds])
