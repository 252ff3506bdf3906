"""How users feel about their wait: on time, delayed or late, held against what jobs of that kind take (spec B4.6)."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from typing import Any

from unspool.errors import InputError, UnknownName
from unspool.faces.dispatch.index import DurationIndex
from unspool.faces.dispatch.metrics.base import Metric
from unspool.faces.dispatch.simdex import Job, RefJob

__all__ = ["ExperienceHistory", "UserExperience"]

_YARDSTICKS = ("all-refs", "causal", "fixed")
_ON_TIME_S, _DELAYED_S = 10.0, 30.0  # nobody minds less than this
_HEADER = " TOTAL,  ONTIME   %, DELAYED   %,    LATE   %, DIFF_ON   %, DIFF_DE   %, DIFF_LA   %"


class UserExperience(Metric):
    """How many jobs start on time, delayed or late, against the usual duration of their exercise and runtime.

    The yardstick: `all-refs` knows every reference run from the start and learns from jobs as they end, as Simdex
    does; `causal` knows reference runs when they have ended; `fixed` knows every reference run and job of the log
    from the start and learns nothing, so that it is the same for every policy.
    """

    def __init__(
        self,
        ref_jobs: list[RefJob] | None = None,
        thresholds: Sequence[float] | None = None,
        yardstick: str = "all-refs",
    ) -> None:
        if ref_jobs is None:
            raise InputError("there are no reference runs; give --refs, and ref_jobs: '@@ref_jobs' in args")
        if yardstick not in _YARDSTICKS:
            raise UnknownName("yardstick", str(yardstick), _YARDSTICKS)
        self.thresholds = [1.0, 2.0] if thresholds is None else list(thresholds)
        are_numbers = all(isinstance(each, int | float) for each in self.thresholds)
        if len(self.thresholds) != 2 or not are_numbers or self.thresholds[0] > self.thresholds[1]:
            raise InputError(f"thresholds are {thresholds}; expected two numbers, the smaller one first")
        self.yardstick = yardstick
        self.counts = [0, 0, 0]  # on time, delayed, late
        self.verdicts = array("b")  # of each job, in the order in which they ended
        self._index = DurationIndex()
        self._refs = [ref for ref in ref_jobs if ref.compilation_ok]
        self._simulation: Any = None
        self._next = 0
        if yardstick == "causal":
            self._refs.sort(key=lambda ref: ref.spawn_ts + ref.duration)
        else:
            for ref in self._refs:
                self._index.add(ref)

    def on_start(self, simulation: Any) -> None:
        """Take the clock of the run and, for a fixed yardstick, the jobs of the log."""
        log = simulation.log if self._simulation is None else None
        self._simulation = simulation
        if self.yardstick == "fixed" and log is not None:
            columns = (log.exercise, log.runtime, log.duration, log.compilation_ok)
            for exercise, runtime, duration, compiles in zip(*(each.tolist() for each in columns), strict=True):
                if compiles:
                    self._index.add(_Like(exercise, runtime, duration))

    def job_finished(self, job: Job) -> None:
        """Judge its delay, then learn its duration."""
        if self.yardstick == "causal":
            self._learn_refs()
        expected = self._index.estimate(job)
        if not expected:
            expected = job.duration if job.compilation_ok else job.limits
        delay = job.start_ts - job.spawn_ts
        first, second = self.thresholds
        verdict = 2
        if delay <= max(expected * first, _ON_TIME_S):
            verdict = 0
        elif delay <= max(expected * second, _DELAYED_S):
            verdict = 1
        self.counts[verdict] += 1
        self.verdicts.append(verdict)
        if job.compilation_ok and self.yardstick != "fixed":
            self._index.add(job)

    def _learn_refs(self) -> None:
        refs, now = self._refs, self._simulation.ts
        while self._next < len(refs) and refs[self._next].spawn_ts + refs[self._next].duration <= now:
            self._index.add(refs[self._next])
            self._next += 1

    def values(self) -> dict[str, Any]:
        """How many jobs, and which share of them, were on time, delayed and late."""
        total = sum(self.counts)
        named = dict(zip(("jobs_on_time", "jobs_delayed", "jobs_late"), self.counts, strict=True))
        shares = {f"{name}_percentage": count / total if total else 0.0 for name, count in named.items()}
        return {"jobs_total": total, **named, **shares}

    def lines(self, *, verbose: bool = False) -> list[str]:
        """One line, as Simdex has it: the fork with percentages, rounded down."""
        total = sum(self.counts)
        told = zip(("on time", "delayed", "late"), self.counts, strict=True)
        if self.compat == "original":
            parts = [f"{name}: {count}" for name, count in told]
        else:
            parts = [f"{name}: {count} ({_percent(count, total)}%)" for name, count in told]
        return [f"Total jobs: {total}, {', '.join(parts)}"]


class ExperienceHistory(UserExperience):
    """User experience, with a row of the counts so far after every `history_step` jobs."""

    def __init__(
        self,
        ref_jobs: list[RefJob] | None = None,
        thresholds: Sequence[float] | None = None,
        history_step: int | None = None,
        print_progress: bool = False,
        yardstick: str = "all-refs",
    ) -> None:
        super().__init__(ref_jobs, thresholds, yardstick)
        if history_step is not None and history_step < 1:
            raise InputError(f"history_step is {history_step}; expected 1 or more")
        self.history_step = history_step
        self.print_progress = print_progress
        self.history: list[list[int]] = []

    def job_finished(self, job: Job) -> None:
        """Judge its delay and, at every so many jobs, keep a row."""
        super().job_finished(job)
        if self.history_step and len(self.verdicts) % self.history_step == 0:
            self.history.append(list(self.counts))
            if self.print_progress:
                sys.stderr.write(self._row(len(self.history) - 1) + "\n")

    def _row(self, at: int) -> str:
        counts = self.history[at]
        before = self.history[at - 1] if at else [0, 0, 0]
        cells = [f"{sum(counts):6}"]
        for row in (counts, [now - then for now, then in zip(counts, before, strict=True)]):
            cells += [cell for count in row for cell in (f"{count:6}", f"{_percent(count, sum(row)):3}")]
        return ", ".join(cells)

    def lines(self, *, verbose: bool = False) -> list[str]:
        """The line, then the table of rows, as Simdex has it."""
        return [*super().lines(verbose=verbose), _HEADER, *map(self._row, range(len(self.history)))]


class _Like:
    """A kind of job and how long it took."""

    __slots__ = ("duration", "exercise_id", "runtime_id")

    def __init__(self, exercise_id: int, runtime_id: int, duration: float) -> None:
        self.exercise_id, self.runtime_id, self.duration = exercise_id, runtime_id, duration


def _percent(count: int, total: int) -> int:
    return 100 * count // total if total else 0
