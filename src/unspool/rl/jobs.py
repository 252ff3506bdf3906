"""Choose the next job: an environment of Gymnasium over one run of the engine at a time."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np

from unspool.engine.state import Array
from unspool.errors import RunError
from unspool.model.platform import Platform
from unspool.model.workload import Workload
from unspool.platforms import read_platform
from unspool.rl.rewards import Reward
from unspool.rl.spaces import allowed, job_spaces, length_of
from unspool.rl.windows import Windows
from unspool.simulation.choosing import LEDGER, accrue, anyone_fits, look, start_chosen
from unspool.simulation.engine import Engine
from unspool.workloads.sample import read_sample

__all__ = ["JobEnv", "windows_of"]


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
    where.refuse_cloud("an environment in which jobs are chosen")
    return Windows(workload, where, jobs=jobs, seconds=seconds)


class JobEnv(gymnasium.Env):  # type: ignore[misc]
    """At each instant: start one of the first jobs of the queue that fit, one after the other, or wait.

    Action k < `window` starts job k of the queue, action `window` waits until something happens. `action_masks()`, and
    `info["action_mask"]`, say what is allowed; an action that is not counts as the first that is. Instants at which
    nothing fits are passed over. An episode ends (`terminated`) when all its jobs have, and is cut short
    (`truncated`) after `most_steps` decisions.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

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
        self.observation_space, self.action_space = job_spaces(window)
        self.windows = windows_of(workload, platform, jobs, seconds)
        self.window = window
        self.most_steps = most_steps
        self.reward = Reward.parse(reward)
        self.render_mode = None
        self._total = float(self.windows.platform.cores)
        self._tariff = self.reward.tariff(self._total)
        self._by_job, self._in_all = self.reward.scales(self._total)
        self._seen = np.zeros(length_of(window), np.float32)
        self._mask = np.zeros(window + 1, np.bool_)
        self._jobs = np.full(window, -1, np.int64)
        self._ledger = np.zeros(LEDGER + 1)
        self.engine: Engine | None = None
        self.workload: Workload | None = None
        self._steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """A new episode; `options={"window": (first, count)}` says over which jobs, else they are drawn."""
        super().reset(seed=seed)
        window = (options or {}).get("window") or self.windows.draw(self.np_random)
        self.workload = self.windows.workload(window)
        self.engine = Engine(self.workload, self.windows.platform)
        self._scale = self._by_job / len(self.workload) + self._in_all
        self._ledger[:] = 0.0
        self._steps = 0
        self._go_on(self.engine)
        return self._seen.copy(), {"action_mask": self._mask.copy(), "time": self.engine.now}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Carry out a choice, and go on to the next."""
        engine = self.engine
        if engine is None:
            raise RunError("step() before reset(): there is no episode yet")
        chosen = allowed(int(action), self._mask)
        before = self._ledger[:LEDGER].copy()
        is_over = chosen == self.window
        if not is_over:
            engine.make_room()
            start_chosen(engine.core, engine.place, int(self._jobs[chosen]))
            is_over = not anyone_fits(engine.core, engine.place, self.window)
        terminated = self._go_on(engine) if is_over else self._look(engine)
        self._steps += 1
        truncated = not terminated and self.most_steps is not None and self._steps >= self.most_steps
        info = {"action_mask": self._mask.copy(), "time": engine.now}
        if chosen != int(action):
            info["forbidden"] = int(action)
        if terminated or truncated:
            assert self.workload is not None
            info["figures"] = self.reward.figures(self._ledger, len(self.workload), self._total)
        paid = -float((self._ledger[:LEDGER] - before) @ self._scale)
        return self._seen.copy(), paid, terminated, truncated, info

    def action_masks(self) -> Array:
        """What is allowed now, as MaskablePPO asks for it."""
        return self._mask.copy()

    def _go_on(self, engine: Engine) -> bool:
        """Let time pass to the next instant at which somebody fits; True if there is none."""
        while True:
            before = engine.now
            self._ledger[LEDGER] = engine.core.clock[0]["free"]
            view = engine.advance()
            accrue(engine.core, before, self._total, self._tariff, self._ledger)
            if view is None:
                self._look(engine)
                self._mask[self.window] = True
                return True
            if anyone_fits(engine.core, engine.place, self.window):
                return self._look(engine)

    def _look(self, engine: Engine) -> bool:
        look(engine.core, engine.place, self._total, self._seen, self._mask, self._jobs)
        return False
