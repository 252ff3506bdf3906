"""`unspool.diff`: the first decision in which two runs of one log differ, and why each did not do as the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, fields, replace
from os import PathLike
from typing import Any

import polars as pl

from unspool.analysis.changes import TIME_OF, changes_of, compared_attempts, earliest
from unspool.analysis.reasons import reason_for, told_time
from unspool.analysis.rerun import AnyLog, Rerun
from unspool.errors import InputError
from unspool.results.result import Result
from unspool.results.store import load
from unspool.simulation.codes import QUEUED, UNSEEN

__all__ = ["Decided", "Difference", "Fate", "Side", "diff"]

_EXPLAINED = 5  # jobs of each side whose absence from the other is explained
_SETTINGS = ("seed", "kill_at_walltime")


@dataclass(frozen=True)
class Fate:
    """How an attempt went in one of the runs; machines as `first-last x units on each`, empty on a pool."""

    start_time: float
    finish_time: float | None
    how: str
    machines: str


@dataclass(frozen=True)
class Decided:
    """A job that one run treats in another way than the other at the instant of the first difference.

    `other` is None where the other run has no such attempt. `reason` says why the other run did not start it then,
    where that is known.
    """

    job: str
    cores: int
    walltime: float | None
    here: Fate
    other: Fate | None
    reason: str | None = None


@dataclass(frozen=True)
class Side:
    """One of the two runs, and what only it did at that instant."""

    policy: str
    platform: str
    only: tuple[Decided, ...]


@dataclass(frozen=True)
class Difference:
    """The first difference of two runs, and how much differs in all.

    `change` is `start` (a job starts in one run only), `end` (a job ends at another time, or in another way) or
    `machines` (a job starts on others); None where all attempts are the same. `queue` and `free_cores` are those of
    both runs just before: jobs that are submitted and have not started, and cores that are free. `counts` has the
    attempts of both, and those with another `start`, `end` and, where the machines can be compared, `machines`.
    """

    workload: str
    change: str | None
    time: float | None
    queue: int
    free_cores: tuple[int, int]
    started_by_both: int
    first: Side
    second: Side
    counts: Mapping[str, int]
    rejected: tuple[tuple[str, ...], tuple[str, ...]]  # jobs that only one of the two rejected
    notes: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether nothing differs: attempts, machines and rejected jobs."""
        return self.change is None and not any(self.rejected)

    def __str__(self) -> str:
        if self.time is None:
            return "the same" if self.same else "the same starts, ends and machines; other jobs were rejected"
        jobs = [f"{side.policy}: job{'s' * (len(side.only) > 1)} {', '.join(one.job for one in side.only)}"
                for side in (self.first, self.second) if side.only]  # fmt: skip
        return f"first difference at {told_time(self.time)} s ({self.change}): {'; '.join(jobs)}"

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        sides = {
            name: {"policy": side.policy, "platform": side.platform, "only": [asdict(one) for one in side.only]}
            for name, side in (("first", self.first), ("second", self.second))
        }
        return {
            "workload": self.workload,
            "same": self.same,
            "change": self.change,
            "time": self.time,
            "queue": self.queue,
            "free_cores": list(self.free_cores),
            "started_by_both": self.started_by_both,
            **sides,
            "counts": dict(self.counts),
            "rejected": [list(ids) for ids in self.rejected],
            "notes": list(self.notes),
        }


def diff(
    first: Result | str | PathLike[str],
    second: Result | str | PathLike[str],
    *,
    workload: AnyLog = None,
    explain: bool = True,
    progress: Callable[[int, int], None] | None = None,
    compiling: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Difference:
    """The first decision in which two results (or their folders) of one log differ.

    Jobs are compared by their starts, ends and machines. With `explain`, both runs are repeated up to that instant to
    say why each did not start what the other did; where that cannot be done, a note says so.

    >>> import polars as pl
    >>> from unspool import Workload, run
    >>> jobs = {"job_id": ["a", "b", "c"], "submit_time": [0, 1, 2], "run_time": [9, 9, 5], "cores": [3, 4, 1],
    ...         "walltime": [9, 9, 5]}
    >>> log = Workload.of(pl.DataFrame(jobs))
    >>> found = diff(run(log, 4, "fcfs"), run(log, 4, "easy"), workload=log)
    >>> found.time, found.second.only[0].job, found.second.only[0].reason
    (2.0, 'c', 'is behind job b, which has no room, and nobody may overtake')
    """
    pair = tuple(one if isinstance(one, Result) else load(one) for one in (first, second))
    a, b = pair
    _refuse_other_log(a, b)
    notes = _settings(a, b)
    compared = compared_attempts(a, b)
    changes = changes_of(compared, with_machines=_same_machines(a, b))
    if "machines" not in changes and not (a.platform.is_pool and b.platform.is_pool):
        notes.append("the machines of the two are not the same: which ones jobs ran on is not compared")
    change, time = earliest(changes)
    sides = [Side(one.policy, one.platform.name, ()) for one in pair]
    queue, free, both = 0, (0, 0), 0
    if change is not None and time is not None:
        onlys = _only(changes[change], change, time)
        if change == "start" and explain:
            onlys = _explained(pair, onlys, time, workload, notes, progress, compiling)
        sides = [Side(one.policy, one.platform.name, only) for one, only in zip(pair, onlys, strict=True)]
        queue = len(a.jobs.filter((pl.col("submit_time") <= time) & (pl.col("start_time") >= time)))
        free = (_free_cores(a, time), _free_cores(b, time))
        both = len(compared.filter((pl.col("start_time") == time) & (pl.col("start_time_b") == time)))
    turned_away = [set(one.rejected["job_id"].drop_nulls()) for one in pair]
    return Difference(
        workload=a.workload,
        change=change,
        time=time,
        queue=queue,
        free_cores=free,
        started_by_both=both,
        first=sides[0],
        second=sides[1],
        counts={"attempts": len(compared), **{name: len(rows) for name, rows in changes.items()}},
        rejected=(
            tuple(sorted(turned_away[0] - turned_away[1])),
            tuple(sorted(turned_away[1] - turned_away[0])),
        ),
        notes=tuple(notes),
    )


def _refuse_other_log(a: Result, b: Result) -> None:
    known = a.workload_digest and b.workload_digest
    if known and a.workload_digest != b.workload_digest:
        raise InputError(f"the two results are not of one log: {a.workload} and {b.workload} hold other jobs")
    ids = [set(one.jobs["job_id"]) | set(one.rejected["job_id"].drop_nulls()) for one in (a, b)]
    if not known and ids[0] != ids[1]:
        raise InputError(f"the two results are not of one log: {a.workload} and {b.workload} name other jobs")


def _settings(a: Result, b: Result) -> list[str]:
    """In what the two runs were set up in another way, beside their policies."""
    notes = [
        f"{name} is {a.config.get(name)} in the first, {b.config.get(name)} in the second"
        for name in _SETTINGS
        if a.config.get(name) != b.config.get(name)
    ]
    if a.platform != replace(b.platform, selection=a.platform.selection):
        notes.append(f"the platform is {a.platform.name} in the first, {b.platform.name} in the second")
    if a.platform.selection != b.platform.selection:
        notes.append(f"selection is {a.platform.selection} in the first, {b.platform.selection} in the second")
    return notes


def _same_machines(a: Result, b: Result) -> bool:
    return not a.platform.is_pool and a.platform.groups == b.platform.groups


def _only(changes: pl.DataFrame, change: str, time: float) -> tuple[tuple[Decided, ...], tuple[Decided, ...]]:
    """What each of the two did at an instant and the other did not, in the order in which it did."""
    sides = []
    for here, other in (("", "_b"), ("_b", "")):
        column = TIME_OF[change]
        rows = changes.filter(pl.col(f"{column}{here}") == time).sort(f"at{here}")
        sides.append(tuple(_decided(row, here, other) for row in rows.iter_rows(named=True)))
    return sides[0], sides[1]


def _decided(row: Mapping[str, Any], here: str, other: str) -> Decided:
    def fate(side: str) -> Fate | None:
        if row[f"start_time{side}"] is None:
            return None
        return Fate(**{one.name: row[f"{one.name}{side}"] for one in fields(Fate)})

    mine = fate(here)
    assert mine is not None
    return Decided(row["job_id"], row[f"cores{here}"], row[f"walltime{here}"], mine, fate(other))


def _free_cores(result: Result, time: float) -> int:
    """Cores that are free at a time once jobs have ended, before any starts."""
    held = result.attempts.filter((pl.col("start_time") < time) & (pl.col("finish_time") > time))
    return result.platform.cores - int(held["cores"].sum())


def _explained(
    pair: tuple[Result, ...],
    onlys: tuple[tuple[Decided, ...], ...],
    time: float,
    workload: AnyLog,
    notes: list[str],
    progress: Callable[[int, int], None] | None,
    compiling: Callable[[], AbstractContextManager[None]],
) -> tuple[tuple[Decided, ...], tuple[Decided, ...]]:
    """The same with the reason why the other run did not start each job, as far as it can be repeated."""
    told = []
    for other, only in zip(reversed(pair), onlys, strict=True):
        reasons: dict[str, str] = {}
        if only:
            try:
                rerun = Rerun(other, workload, progress=progress, compiling=compiling)
                workload = rerun.engine.workload  # read once for both
                rerun.until(time)
                reasons = {one.job: reason for one in only[:_EXPLAINED] if (reason := _reason(rerun, one.job))}
            except InputError as error:
                notes.append(f"why '{other.policy}' did not start them is not known: {error}")
        told.append(tuple(replace(one, reason=reasons.get(one.job)) for one in only))
    return told[0], told[1]


def _reason(rerun: Rerun, job: str) -> str | None:
    """Why a job does not start at the present instant of a run; None where it is not one that waits."""
    rejected = rerun.result.rejected.filter(pl.col("job_id") == job)
    if len(rejected):
        return f"was rejected: {rejected['reason'][0]}"
    at = rerun.index_of(job)
    if rerun.engine.core.fate[at]["state"] not in (UNSEEN, QUEUED):
        return None
    return str(reason_for(rerun.engine, rerun.policy, at))
