"""Choose the next job: start one of the first jobs of the queue that fit, one after the other, or wait."""

from __future__ import annotations

from unspool.model.platform import Platform
from unspool.model.workload import Workload
from unspool.rl.choices import JobChoice
from unspool.rl.env import EngineEnv, windows_of
from unspool.rl.rewards import Reward
from unspool.rl.windows import Windows
from unspool.simulation.batch import ADVANCE, step_one
from unspool.simulation.codes import DONE, ROOM
from unspool.simulation.engine import Engine

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
        self._is_plain = windows.is_plain

    def _carry_out(self, engine: Engine, action: int) -> bool:
        if not self._is_plain:
            return super()._carry_out(engine, action)
        # One compiled call, as for many side by side, in place of one for each part of a step.
        choice: JobChoice = self.choice  # type: ignore[assignment]
        status = ROOM
        while status == ROOM:
            core, place = engine.state.core, engine.state.place
            status = step_one(
                core, place, action, self._total, self._tariff, self._seen, self._mask, choice.jobs, self._ledger
            )
            if status == ROOM:
                engine.grow()
                action = ADVANCE
        return status == DONE

    def _go_on(self, engine: Engine) -> bool:
        return self._carry_out(engine, ADVANCE) if self._is_plain else super()._go_on(engine)
