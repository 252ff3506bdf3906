"""`unspool.check_policy`: a policy on many small random workloads, against what every policy must keep."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from unspool.analysis.audit.laws import Report, Tally, Verdict
from unspool.analysis.audit.replay import Progress
from unspool.analysis.check import check_schedule, policy_of
from unspool.analysis.trials import changed_after, random_workload
from unspool.errors import DecisionError, InputError, RunError, UnspoolError
from unspool.model.platform import Platform
from unspool.model.workload import Workload
from unspool.platforms import read_platform
from unspool.plugins import build
from unspool.policies.base import CompiledScheduler, Decision, Scheduler, Start
from unspool.policies.view import View
from unspool.results.result import Result
from unspool.results.run import name_of, run
from unspool.simulation.engine import Policy

__all__ = ["check_policy"]

_RULES = {
    "decisions": ("every decision is one that the rules allow, and nothing else is raised", "runs"),
    "ends": ("every job starts or is rejected", "runs"),
    "determinism": ("the same workload and seed give the same journal", "workloads"),
    "no look-ahead": ("what happens after an instant changes no decision up to it", "changed futures"),
    "names": ("new names for jobs change nothing but the names", "workloads"),
}
_REPEATS = 2
_FUTURES = 3
_MOST_CALLS = 10_000  # in a row in which nothing happens
_CLAIRVOYANT = "the policy is clairvoyant: run times were left as they are"
_GAVE_UP = "a run did not end: no more workloads were tried"


def check_policy(
    policy: str | Policy | type[Scheduler],
    *,
    laws: Sequence[str] = (),
    platform: Platform | str | int = 8,
    workloads: int = 50,
    seed: int = 0,
    progress: Progress | None = None,
) -> Report:
    """Run a policy on small random workloads and say what it breaks.

    It is a name, a function of a view, an object with `decide(view)`, or a class of such, made anew for every run. An
    object is copied for every run. Held for every policy: its decisions are allowed, all jobs end, machines are not
    overfilled, the same input gives the same journal, and no decision depends on what happens later. `laws` are what
    the policy claims beside that: `fcfs`, `easy` or `conservative`. Estimates are upper bounds, and jobs ask for cores.

    In a test: `assert unspool.check_policy(my_policy).ok`.

    >>> report = check_policy("easy", laws=["easy"], workloads=5)
    >>> report.ok, report["no look-ahead"].violations
    (True, 0)
    """
    for law in laws:
        policy_of(law)
    if workloads < 1:
        raise InputError(f"workloads is {workloads}; expected 1 or more")
    where = platform if isinstance(platform, Platform) else read_platform(str(platform))
    conformity = _Conformity(policy, where, seed, tuple(laws))
    for number in range(workloads):
        conformity.try_on(number)
        if conformity.is_endless:
            break
        if progress is not None:
            progress(number + 1, workloads)
    return conformity.report(f"{_name_of(policy)} on {workloads} random workloads, {where.name}")


def _name_of(policy: Any) -> str:
    return policy if isinstance(policy, str) else name_of(policy)


@dataclass
class _Watched:
    """A policy with a note of what it decides beside starts, that gives up if it is called without end."""

    policy: Any
    clairvoyant: bool
    others: list[tuple[float, str]] = field(default_factory=list)
    calls: int = 0
    started: int = -1

    def decide(self, view: View) -> Iterable[Decision]:
        """What the policy decides."""
        started = len(view.running)
        self.calls = 0 if started != self.started or view.ended or view.arrived else self.calls + 1
        self.started = started
        if self.calls >= _MOST_CALLS:
            raise _EndlessError(f"it was called {self.calls:,} times in a row, and nothing happened")
        decide = self.policy.decide if isinstance(self.policy, Scheduler) else self.policy
        decided: Iterable[Decision] = decide(view)
        try:
            listed = list(decided or ())
        except TypeError:
            return decided  # the engine says what is wrong with it
        self.others += [(view.now, repr(decision)) for decision in listed if not isinstance(decision, Start)]
        return listed


class _EndlessError(RunError):
    """A policy that asks to be woken for ever."""


@dataclass(frozen=True)
class _Journal:
    """What a policy did, with jobs by their place in the queue."""

    result: Result
    starts: list[tuple[float, int, tuple[tuple[int, int, int], ...]]]
    others: list[tuple[float, str]]

    def until(self, time: float) -> tuple[list[Any], list[Any]]:
        """What was decided up to a time."""
        return [one for one in self.starts if one[0] <= time], [one for one in self.others if one[0] <= time]


class _Conformity:
    def __init__(self, policy: Any, platform: Platform, seed: int, laws: tuple[str, ...]) -> None:
        self.policy = build("schedulers", policy) if isinstance(policy, str) else policy
        self.platform = platform
        self.seed = seed
        self.laws = laws
        self.tallies = {law: Tally() for law in _RULES}
        self.audits: dict[str, Verdict] = {}
        self.is_endless = False
        self.is_clairvoyant = bool(getattr(self._fresh(), "clairvoyant", False))

    def _fresh(self) -> Any:
        """A policy with no memory of earlier runs, as far as that can be had: a function is what it is."""
        if isinstance(self.policy, type):
            return self.policy()
        try:
            return deepcopy(self.policy)
        # An object of somebody else's may refuse in its own way.
        except Exception as error:
            name = _name_of(self.policy)
            raise InputError(f"{name} cannot be copied for each run ({error}); give its class instead") from error

    def try_on(self, number: int) -> None:
        """Everything, on one workload."""
        draw = np.random.default_rng((self.seed, number))
        workload = random_workload(draw, self.platform.cores, f"workload {number}")
        journal = self._run(workload)
        if journal is None:
            return
        self._audit(journal.result, workload)
        if self._repeats(journal, workload):
            self._change_the_future(journal, workload, draw)
            self._rename(journal, workload, draw)

    def _run(self, workload: Workload) -> _Journal | None:
        """Run a fresh policy; None where it failed, which is noted."""
        scheduler = self._fresh()
        watched = None if isinstance(scheduler, CompiledScheduler) else _Watched(scheduler, self.is_clairvoyant)
        for law in ("decisions", "ends"):
            self.tallies[law].checked += 1
        try:
            result = run(workload, self.platform, watched or scheduler, seed=self.seed)
        except DecisionError as error:
            self.tallies["decisions"].note(0.0, f"{workload.name}: {error}")
        except RunError as error:
            self.is_endless = isinstance(error, _EndlessError)
            self.tallies["ends"].note(0.0, f"{workload.name}: {error}")
        # A policy of somebody else's may raise anything.
        except Exception as error:
            if isinstance(error, UnspoolError):
                raise
            self.tallies["decisions"].note(0.0, f"{workload.name}: it raised {type(error).__name__}: {error}")
        else:
            return _journal_of(result, workload, watched.others if watched else [])
        return None

    def _audit(self, result: Result, workload: Workload) -> None:
        for policy in self.laws or ("none",):
            for verdict in check_schedule(result, workload, self.platform, policy, tolerance=0.0).verdicts:
                known = self.audits.get(verdict.law)
                told = f"{workload.name}: {verdict.example}" if verdict.example else ""
                verdict = replace(verdict, example=told)
                self.audits[verdict.law] = verdict if known is None else _added(known, verdict)

    def _repeats(self, journal: _Journal, workload: Workload) -> bool:
        """Whether it does the same again; if not, nothing can be said of why it would do something else."""
        tally = self.tallies["determinism"]
        tally.checked += 1
        kept = []  # other objects then lie at other addresses
        for repeat in range(_REPEATS):
            kept.append([object() for _ in range(1 + 997 * repeat)])
            again = self._run(workload)
            if again is None or again.until(math.inf) != journal.until(math.inf):
                told = "it failed" if again is None else _difference(journal, again, math.inf, workload)
                tally.note(0.0, f"{workload.name}: the second time {told}")
                return False
        return True

    def _change_the_future(self, journal: _Journal, workload: Workload, draw: np.random.Generator) -> None:
        """Other run times of what has not ended, other arrivals: up to then the same must be decided."""
        times = sorted({start for start, _, _ in journal.starts})
        tally = self.tallies["no look-ahead"]
        for time in draw.choice(times, min(_FUTURES, len(times)), replace=False).tolist() if times else []:
            changed = changed_after(workload, journal.result, time, draw, run_times=not self.is_clairvoyant)
            other = self._run(changed)
            tally.checked += 1
            if other is None or other.until(time) != journal.until(time):
                told = "it failed" if other is None else _difference(journal, other, time, workload)
                tally.note(0.0, f"{workload.name}: with another future from {time:.10g} s on {told}")

    def _rename(self, journal: _Journal, workload: Workload, draw: np.random.Generator) -> None:
        names = [f"job-{number}" for number in draw.permutation(len(workload))]
        renamed = replace(workload, table=workload.table.with_columns(job_id=pl.Series(names)))
        other = self._run(renamed)
        tally = self.tallies["names"]
        tally.checked += 1
        if other is None or other.starts != journal.starts:
            told = "it failed" if other is None else _difference(journal, other, math.inf, workload)
            tally.note(0.0, f"{workload.name}: under other names {told}")

    def report(self, subject: str) -> Report:
        """All that was found."""
        reasons = {"names": ("a policy may go by the names of jobs",)}
        verdicts = [
            Verdict(law, says, tally.checked, of, tally.violations, 0.0, "", tally.example, reasons.get(law, ()))
            for (law, (says, of)), tally in zip(_RULES.items(), self.tallies.values(), strict=True)
        ]
        notes = [_CLAIRVOYANT] * self.is_clairvoyant + [_GAVE_UP] * self.is_endless
        return Report(subject, (*verdicts, *self.audits.values()), tuple(notes))


def _added(one: Verdict, two: Verdict) -> Verdict:
    """The sum of two verdicts on a law; the worst case is that of both."""
    worse = two if two.worst > one.worst or not one.example else one
    return replace(
        worse,
        checked=one.checked + two.checked,
        violations=one.violations + two.violations,
        reasons=tuple(dict.fromkeys((*one.reasons, *two.reasons))),
    )


def _journal_of(result: Result, workload: Workload, others: list[tuple[float, str]]) -> _Journal:
    place = {name: at for at, name in enumerate(workload.table["job_id"])}
    held: dict[int, list[tuple[int, int, int]]] = {}
    for attempt, first, last, units in result.allocations.iter_rows():
        held.setdefault(attempt, []).append((first, last, units))
    starts = [
        (start, place[name], tuple(held.get(at, ())))
        for at, (name, start) in enumerate(result.attempts.select("job_id", "start_time").iter_rows())
    ]
    return _Journal(result, starts, others)


def _difference(one: _Journal, two: _Journal, time: float, workload: Workload) -> str:
    """The first decision up to a time that differs."""
    ids = workload.table["job_id"]
    for mine, theirs in zip(one.until(time), two.until(time), strict=True):
        for at in range(max(len(mine), len(theirs))):
            was, is_now = (part[at] if at < len(part) else None for part in (mine, theirs))
            if was != is_now:
                return f"it {_told(is_now, ids)} where it {_told(was, ids)} before"
    return "it decided the same"


def _told(decision: Any, ids: pl.Series) -> str:
    if decision is None:
        return "did nothing more"
    if isinstance(decision[1], str):
        return f"decided {decision[1]} at {decision[0]:.10g} s"
    return f"started job {ids[decision[1]]} at {decision[0]:.10g} s"
