"""Episodes side by side: many runs that go on to their next decision in one compiled call, a thread for each part."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from unspool.arrays import Array
from unspool.errors import InputError, RunError
from unspool.rl.rewards import Reward
from unspool.rl.windows import Window, Windows
from unspool.simulation.batch import ADVANCE, SKIP, Batch
from unspool.simulation.choosing import GLOBALS, LEDGER, PER_JOB
from unspool.simulation.codes import DECIDE, DONE

__all__ = ["Episodes"]


class Episodes:
    """So many episodes at once, each of them as `JobEnv` would play it with the same seed.

    `seen` and `mask` have a row for each and are written anew by every call.
    """

    def __init__(
        self,
        windows: Windows,
        runs: int,
        *,
        window: int,
        reward: Reward,
        most_steps: int | None = None,
        threads: int = 1,
    ) -> None:
        if window < 1:
            raise InputError(f"window is {window}; expected 1 job or more")
        if runs < 1 or not 1 <= threads <= runs:
            raise InputError(f"{runs} environments on {threads} threads; expected 1 or more, and no more threads")
        if not windows.is_plain:
            raise InputError(
                f"{windows.log.name} on {windows.platform.name}: jobs that wait for others, share a network or run in "
                "a cloud cannot be run side by side; use JobEnv"
            )
        self.windows, self.reward = windows, reward
        self.runs, self.window = runs, window
        self.most_steps = most_steps
        self.batch = Batch(windows.problem, runs, windows.most_jobs, window, GLOBALS + PER_JOB * window)
        self.seen, self.mask = self.batch.seen, self.batch.mask
        self.steps = np.zeros(runs, np.int64)
        self.returns = np.zeros(runs)
        self.drawn: list[Window] = [(0, 0)] * runs
        self._tariff = reward.tariff(self.batch.total)
        self._by_job, self._in_all = reward.scales(self.batch.total)
        self._scale = np.zeros((runs, LEDGER))
        self._random = [np.random.default_rng() for _ in range(runs)]
        edges = np.linspace(0, runs, threads + 1).astype(int).tolist()
        self._parts = list(pairwise(edges))
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def seed(self, generators: Sequence[np.random.Generator]) -> None:
        """One generator of random numbers for each run."""
        self._random = list(generators)

    def begin(self, which: Array, windows: Sequence[Window] | None = None) -> None:
        """Begin new episodes in these runs, over these windows, or over some that are drawn."""
        actions = np.full(self.runs, SKIP, np.int64)
        for at, run in enumerate(which.tolist()):
            first, count = self.windows.draw(self._random[run]) if windows is None else windows[at]
            self.drawn[run] = first, count
            self.batch.begin(run, first, count)
            self._scale[run] = self._by_job / count + self._in_all
            actions[run] = ADVANCE
        self.steps[which] = 0
        self.returns[which] = 0.0
        self._advance(actions)

    def step(self, actions: Array) -> tuple[Array, Array, Array]:
        """Carry out one choice in each: rewards, who has ended (`terminated`), who is cut short (`truncated`)."""
        actions = np.ascontiguousarray(actions, np.int64)
        if len(actions) != self.runs or (actions < 0).any() or (actions > self.window).any():
            raise InputError(f"actions {actions}; expected {self.runs} numbers from 0 to {self.window}")
        is_allowed = self.mask[np.arange(self.runs), actions]
        if not is_allowed.all():
            actions = np.where(is_allowed, actions, self.mask.argmax(axis=1))
        before = self.batch.ledger[:, :LEDGER].copy()
        self._advance(actions)
        paid = -((self.batch.ledger[:, :LEDGER] - before) * self._scale).sum(axis=1)
        self.steps += 1
        self.returns += paid
        terminated = self.batch.status == DONE
        truncated = np.zeros(self.runs, np.bool_)
        if self.most_steps is not None:
            truncated = ~terminated & (self.steps >= self.most_steps)
        return paid, terminated, truncated

    def figures(self, run: int) -> dict[str, float]:
        """What the terms of the reward have added up to in a run."""
        return self.reward.figures(self.batch.ledger[run], self.drawn[run][1], self.batch.total)

    def starts(self, run: int) -> list[tuple[int, float]]:
        """The journal of a run so far: which job of its window started when, in order."""
        attempts: Any = self.batch.cores.attempts[run, : int(self.batch.cores.course[run, 0]["attempts"])]
        return list(zip(attempts["job"].tolist(), attempts["start"].tolist(), strict=True))

    def close(self) -> None:
        """Let the threads go."""
        if self._pool is not None:
            self._pool.shutdown()

    def _advance(self, actions: Array) -> None:
        if self._pool is None:
            self.batch.step(actions, self._tariff, 0, self.runs)
        else:
            list(self._pool.map(lambda part: self.batch.step(actions, self._tariff, *part), self._parts))
        if ((self.batch.status != DECIDE) & (self.batch.status != DONE)).any():
            raise RunError("a run needs more room than was made for it; use JobEnv, and report this")
