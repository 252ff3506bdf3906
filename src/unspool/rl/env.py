"""An environment of Gymnasium over one run of the engine at a time, whatever there is to choose."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from unspool.arrays import Array
from unspool.errors import InputError, RunError
from unspool.model.platform import Platform
from unspool.model.workload import Workload
from unspool.platforms import read_platform
from unspool.rl.choices import Choice
from unspool.rl.rewards import Reward
from unspool.rl.windows import Windows
from unspool.simulation.choosing import LEDGER, accrue
from unspool.simulation.engine import Engine
from unspool.simulation.provisioning import spent
from unspool.workloads.sample import read_sample

__all__ = ["EngineEnv", "windows_of"]

_DOLLARS = 3  # the place of the cost among what is added up


def windows_of(
    workload: Workload | Windows | None, platform: Platform | str | int | None, jobs: int, seconds: float | None
) -> Windows:
    """The windows that episodes are drawn from; without a log those of the bundled sample, on its own machine."""
    if isinstance(workload, Windows):
        return workload
    if workload is None:
        workload = read_sample()
    if platform is None:
        platform = workload.max_cores or int(workload.table["cores"].max())  # type: ignore[arg-type]
    where = platform if isinstance(platform, Platform) else read_platform(str(platform))
    return Windows(workload, where, jobs=jobs, seconds=seconds)


class EngineEnv(gymnasium.Env):  # type: ignore[misc]
    """Asks for a choice at each instant at which there is one, until the last action, to wait, or nothing is left.

    `action_masks()`, and `info["action_mask"]`, say what is allowed; an action that is not counts as the first that
    is. An episode ends (`terminated`) when all its jobs have, and is cut short (`truncated`) after `most_steps`
    decisions.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(
        self, windows: Windows, choice: Choice, reward: Reward | str | dict[str, float], most_steps: int | None
    ) -> None:
        if most_steps is not None and most_steps < 1:
            raise InputError(f"most_steps is {most_steps}; expected 1 or more, or none")
        self.windows = windows
        self.choice = choice
        self.most_steps = most_steps
        self.reward = Reward.parse(reward)
        self.render_mode = None
        self.observation_space = Box(0.0, 1.0, (choice.length,), np.float32)
        self.action_space = Discrete(choice.actions)
        self._has_cloud = windows.platform.cloud is not None
        if self._has_cloud and self.reward.energy:
            raise InputError("reward: energy is not known in a cloud; give it no weight")
        self._total = float(windows.platform.cores or 1)
        self._tariff = self.reward.tariff(self._total)
        self._by_job, self._in_all = self.reward.scales(self._total)
        self._seen = np.zeros(choice.length, np.float32)
        self._mask = np.zeros(choice.actions, np.bool_)
        self._ledger = np.zeros(LEDGER + 1)
        self._scale = self._by_job
        self._steps = 0
        self.engine: Engine | None = None
        self.workload: Workload | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """A new episode; `options={"window": (first, count)}` says over which jobs, else they are drawn."""
        super().reset(seed=seed)
        window = (options or {}).get("window") or self.windows.draw(self.np_random)
        self.workload = self.windows.workload(window)
        self.engine = self.windows.engine(window)
        self.choice = self.choice.fresh()
        self._scale = self._by_job / len(self.workload) + self._in_all
        self._ledger[:] = 0.0
        self._steps = 0
        self._go_on(self.engine)
        return self._seen.copy(), {"action_mask": self._mask.copy(), "time": self.engine.now}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Carry out a choice, and go on to the next."""
        engine, asked = self.engine, int(action)
        if engine is None or self.workload is None:
            raise RunError("step() before reset(): there is no episode yet")
        chosen = asked if self._mask[asked] else int(self._mask.argmax())
        before = self._ledger[:LEDGER].copy()
        terminated = self._carry_out(engine, chosen)
        self._steps += 1
        truncated = not terminated and self.most_steps is not None and self._steps >= self.most_steps
        info: dict[str, Any] = {"action_mask": self._mask.copy(), "time": engine.now}
        if chosen != asked:
            info["forbidden"] = asked
        if terminated or truncated:
            info["figures"] = self.reward.figures(self._ledger, len(self.workload), self._total)
        paid = -float((self._ledger[:LEDGER] - before) @ self._scale)
        return self._seen.copy(), paid, terminated, truncated, info

    def action_masks(self) -> Array:
        """What is allowed now, as MaskablePPO asks for it."""
        return self._mask.copy()

    def _carry_out(self, engine: Engine, action: int) -> bool:
        """Do what was chosen and go on to the next choice; True if none comes."""
        if self.choice.act(engine, action) or not self.choice.is_due(engine):
            return self._go_on(engine)
        self.choice.look(engine, self._seen, self._mask)
        return False

    def _go_on(self, engine: Engine) -> bool:
        """Let time pass to the next instant at which there is something to choose; True if none comes."""
        while True:
            before = engine.now
            self._ledger[LEDGER] = engine.core.course[0]["free"]
            if self._has_cloud:
                engine.apply(())  # which looks to it that jobs that may not burst yet are looked at when they may
            is_over = engine.advance() is None
            accrue(engine.core, before, self._total, self._tariff, self._ledger)
            if self._has_cloud and engine.state.elastic is not None:
                self._ledger[_DOLLARS] = spent(engine.core, engine.state.elastic)
            if not is_over:
                self.choice.begin(engine)
            if is_over or self.choice.is_due(engine):
                self.choice.look(engine, self._seen, self._mask)
                self._mask[-1] |= is_over  # so that something may be chosen, by those who choose for many at once
                return is_over
