"""Windows of a log, each an episode: so many jobs in a row, or what was submitted within so many seconds."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
import polars as pl

from unspool.engine.setup import Problem, pose
from unspool.errors import InputError
from unspool.model.platform import Platform
from unspool.model.workload import Workload
from unspool.simulation.batch import part_of
from unspool.simulation.engine import Engine

__all__ = ["Window", "Windows"]

Window = tuple[int, int]
"""The first job of a window, by its place in `Windows.log`, and how many there are."""

_MOST_DRAWS = 1000


class Windows:
    """The windows of a log on a platform. Jobs that can never run there take no part: they are counted in `left_out`.

    `log` is the log without them, with a walltime for every job: an estimate then does not depend on the window. An
    episode begins with an empty machine and with the first job of its window.

    >>> from unspool.workloads.generators import poisson
    >>> windows = Windows(poisson(100, rate_per_s=1.0, mean_run_time_s=5.0), Platform.pool(4), jobs=30)
    >>> windows.in_turn()
    [(0, 30), (30, 30), (60, 30)]
    """

    def __init__(
        self, workload: Workload, platform: Platform, *, jobs: int = 256, seconds: float | None = None
    ) -> None:
        if jobs < 1 or (seconds is not None and not seconds > 0.0):
            raise InputError(f"windows: {jobs} jobs, {seconds} seconds; expected 1 job or more, or more than 0 seconds")
        problem = pose(workload, platform)
        used = problem.used
        if not len(used):
            raise InputError(f"{workload.name}: no job can run on {platform.name}, so there is nothing to learn from")
        estimate = pl.Series(problem.state.core.fate["estimate"])
        self.log: Workload = replace(workload, table=workload.table[used].with_columns(walltime=estimate))
        self.platform = platform
        self.left_out = len(workload) - len(used)
        self.jobs, self.seconds = min(jobs, len(used)), seconds
        self._submit = self.log.table["submit_time"].to_numpy()

    @cached_property
    def problem(self) -> Problem:
        """A run over all of the log, of which windows are parts."""
        return pose(self.log, self.platform)

    def workload(self, window: Window) -> Workload:
        """The jobs of a window, times as in the log."""
        first, count = window
        return self.log[first : first + count]

    def engine(self, window: Window) -> Engine:
        """A run over a window that is about to begin."""
        workload = self.workload(window)
        if not self.is_plain or not len(workload):
            return Engine(workload, self.platform)
        return part_of(self._engine, self.problem, workload, window[0])

    @cached_property
    def is_plain(self) -> bool:
        """Whether nothing but cores and machines matters: jobs do not wait for others, nor share a network or cloud."""
        state = self.problem.state
        return state.links is None and state.fluid is None and state.elastic is None

    @cached_property
    def _engine(self) -> Engine:
        return Engine(self.log[:1], self.platform)

    def draw(self, random: np.random.Generator) -> Window:
        """A window that begins anywhere; one of seconds that has no job is drawn again."""
        if self.seconds is None:
            return int(random.integers(len(self.log) - self.jobs + 1)), self.jobs
        low, high = float(self._submit[0]), max(float(self._submit[-1]) - self.seconds, float(self._submit[0]))
        for _ in range(_MOST_DRAWS):
            window = self._within(float(random.uniform(low, high)))
            if window[1]:
                return window
        raise InputError(f"{self.log.name}: {_MOST_DRAWS} windows of {self.seconds:g} s had no job; take longer ones")

    def in_turn(self) -> list[Window]:
        """All windows one after the other; jobs at the end that do not fill one are left out, and empty ones too."""
        if self.seconds is None:
            return [(first, self.jobs) for first in range(0, len(self.log) - self.jobs + 1, self.jobs)]
        count = max(int((self._submit[-1] - self._submit[0]) // self.seconds), 1)
        found = [self._within(float(self._submit[0]) + at * self.seconds) for at in range(count)]
        return [window for window in found if window[1]]

    @property
    def most_jobs(self) -> int:
        """The most jobs that a window can have."""
        if self.seconds is None:
            return self.jobs
        ends = np.searchsorted(self._submit, self._submit + self.seconds, "left")
        return int((ends - np.arange(len(ends))).max())

    def _within(self, start: float) -> Window:
        first, end = np.searchsorted(self._submit, [start, start + (self.seconds or 0.0)], "left")
        return int(first), int(end - first)
