"""Why a job waits at one instant of a run: read off the engine's state after the policy has decided."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from unspool.analysis.room import Amount, shortage_of
from unspool.errors import DecisionError
from unspool.model.dependencies import listed
from unspool.policies.base import CONSERVATIVE, EASY, FCFS, CompiledScheduler
from unspool.simulation.codes import NEVER, QUEUED, REJECTED
from unspool.simulation.engine import Engine
from unspool.units import format_duration

__all__ = ["REASONS", "Reason", "reason_for", "told_time"]

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "no room": "fewer cores, memory, GPUs or machines are free than it needs",
        "licence": "a licence that it needs is not free",
        "machines down": "it would have room if no machine were down",
        "order": "it has room; a job before it has none, and nobody may overtake",
        "reservation": "it has room; started now, it could delay the head of the queue",
        "plan": "it has room now, but not for as long as it may run: cores are promised to other jobs",
        "dependency": "a job that it depends on has not ended",
        "not eligible": "the pause after the jobs that it depends on is not over",
        "policy": "it has room, and the policy did not start it",
    }
)
"""Everything that a job can wait for, in one sentence each."""

_NAMED = 3  # jobs that a sentence names


@dataclass(frozen=True)
class Reason:
    """One reason. `what` says of what there is too little, `jobs` who is in the way, in the order of the queue.

    `expected_start` is when the head (reservation) or the job itself (plan, and conservative in general) is to start,
    `expected_end` when the job would be taken to end if it started now.
    """

    reason: str
    what: str = ""
    jobs: tuple[str, ...] = ()
    amounts: tuple[Amount, ...] = ()
    expected_start: float | None = None
    expected_end: float | None = None
    pause_s: float | None = None

    @property
    def key(self) -> str:
        """What totals are made for.

        >>> Reason("no room", "cores").key, Reason("policy").key
        ('no room: cores', 'policy')
        """
        return f"{self.reason}: {self.what}" if self.what else self.reason

    def is_like(self, other: Reason) -> bool:
        """Whether two instants have one reason: the same kind, too little of the same, the same jobs in the way."""
        return self._identity() == other._identity()

    def _identity(self) -> tuple[object, ...]:
        return self.reason, self.what, self.jobs, [amount.of for amount in self.amounts]

    def joined(self, later: Reason) -> Reason:
        """One reason for two instants: what was free as a range, and expectations as at the first one."""
        amounts = [one.joined(other) for one, other in zip(self.amounts, later.amounts, strict=True)]
        return replace(self, amounts=tuple(amounts))

    def __str__(self) -> str:
        return _SENTENCES[self.reason](self)

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        amounts = [
            {"of": a.of, "needed": a.needed, "free_least": a.free_least, "free_most": a.free_most, "each": a.each}
            for a in self.amounts
        ]
        return {
            "reason": self.reason,
            "what": self.what,
            "jobs": list(self.jobs),
            "amounts": amounts,
            "expected_start": self.expected_start,
            "expected_end": self.expected_end,
            "pause_s": self.pause_s,
            "text": str(self),
        }


def told_time(seconds: float) -> str:
    """A time of the log, to the last digit that counts.

    >>> told_time(1234567.0), told_time(0.25)
    ('1,234,567', '0.25')
    """
    return f"{seconds:,.6f}".rstrip("0").rstrip(".")


def reason_for(engine: Engine, policy: Any, job: int) -> Reason:
    """Why a job that was submitted does not run at the present instant, at which the policy has decided."""
    if engine.core.fate[job]["state"] != QUEUED:
        return _not_queued(engine, job)
    lacking = shortage_of(engine, job)
    code = policy.code if isinstance(policy, CompiledScheduler) else None
    if lacking is not None:
        planned = _planned_start(engine, job) if code == CONSERVATIVE else None
        holders = _ids(engine, lacking.holders)
        return Reason(lacking.reason, lacking.what, holders, lacking.amounts, planned)
    head = engine.waiting_jobs(0, 1)[0]
    if code == FCFS and head != job:
        return Reason("order", jobs=_ids(engine, [head]))
    if code == EASY and head != job:
        return _reservation(engine, job, head)
    if code == CONSERVATIVE:
        return _plan(engine, job)
    return Reason("policy")


def _not_queued(engine: Engine, job: int) -> Reason:
    """A job that is submitted and not in the queue: names that do not take part count as ended, as in the run."""
    text = engine.workload.column("depends_on")[int(engine.used[job])] or ""
    on = []
    for name in set(listed(pl.Series([text]), engine.workload.table["job_id"])[0]):
        with suppress(DecisionError):
            on.append(engine.index_of(name, name))
    still_open = [at for at in on if engine.core.fate[at]["state"] < REJECTED]
    if still_open:
        return Reason("dependency", jobs=_ids(engine, still_open))
    links = engine.state.links
    pause_s = float(links.links[job]["think_time"]) if links is not None else None
    return Reason("not eligible", jobs=_ids(engine, on), pause_s=pause_s)


def _reservation(engine: Engine, job: int, head: int) -> Reason:
    core, shadow = engine.core, engine.state.shadow
    assert shadow is not None
    needed, extra = int(core.jobs[job]["size"]), int(shadow[0]["extra"])
    return Reason(
        "reservation",
        jobs=_ids(engine, [head]),
        amounts=(Amount("cores", needed, extra, extra),),
        expected_start=_known(float(shadow[0]["time"])),
        expected_end=engine.now + float(core.fate[job]["estimate"]),
    )


def _plan(engine: Engine, job: int) -> Reason:
    fate = engine.core.fate[job]
    return Reason(
        "plan",
        jobs=_ids(engine, _holders(engine, job)),
        expected_start=_planned_start(engine, job),
        expected_end=engine.now + float(fate["estimate"]),
    )


def _planned_start(engine: Engine, job: int) -> float | None:
    """When a job is planned to start; None while machines are down that it needs."""
    assert engine.state.plan is not None
    return _known(float(engine.state.plan.held[job]["start"]))


def _known(time: float) -> float | None:
    """A time that will come, or None."""
    return time if time < NEVER else None


def _holders(engine: Engine, job: int) -> list[int]:
    """Jobs with plans that hold the cores that a job lacks when it first lacks any, were it to start now.

    Where cores do not tell, because machines decide, all plans count that begin before the job would end.
    """
    core, plan = engine.core, engine.state.plan
    assert plan is not None
    course, now = core.course[0], engine.now
    plans = plan.plans[: int(course["plans"])]
    plans = plans[plans["job"] != job]
    until = now + float(core.fate[job]["estimate"])
    begins, ends = plans["start"], plans["start"] + plans["estimate"]
    running = core.running[: int(course["running"])]
    for time in np.unique(begins[begins < until]).tolist():
        held = (begins <= time) & (ends > time)
        given_back = int(running["size"][running["time"] <= time].sum())
        if int(course["free"]) + given_back - int(plans["size"][held].sum()) < core.jobs[job]["size"]:
            return plans["job"][held].tolist()  # type: ignore[no-any-return]
    return plans["job"][begins < until].tolist()  # type: ignore[no-any-return]


def _ids(engine: Engine, jobs: Sequence[int]) -> tuple[str, ...]:
    return tuple(engine.id_of(job) for job in sorted(jobs, key=lambda job: int(engine.core.fate[job]["slot"])))


def _named(jobs: Sequence[str]) -> str:
    shown = ", ".join(jobs[:_NAMED])
    more = f" and {len(jobs) - _NAMED:,} more" if len(jobs) > _NAMED else ""
    return f"job{'s' * (len(jobs) > 1)} {shown}{more}"


def _told_shortage(reason: Reason) -> str:
    if reason.what == "neighbouring machines":
        text = "needs neighbouring machines, and not enough of those that are free are neighbours"
    elif reason.what == "all on one machine":
        amount = reason.amounts[0]
        text = f"needs things that are free, but not together: {amount}"
    else:
        where = f" in {reason.what}" if reason.what.startswith("partition") else ""
        text = f"needs {' and '.join(map(str, reason.amounts))}{where}"
    held = f"; held by {_named(reason.jobs)}" if reason.jobs else ""
    planned = f"; planned for {told_time(reason.expected_start)}" if reason.expected_start is not None else ""
    return text + held + planned


def _told_down(reason: Reason) -> str:
    return f"needs {' and '.join(map(str, reason.amounts))}; there would be room with the machines that are down"


def _told_reservation(reason: Reason) -> str:
    assert reason.expected_end is not None
    cores = reason.amounts[0]
    text = (
        f"could run until {told_time(reason.expected_end)} on {cores.needed_text}, but {_named(reason.jobs)} at the "
        f"head of the queue expects to start at {_told_start(reason)}"
    )
    if cores.needed <= cores.free_most:
        return f"{text}, on machines that it would take"
    return f"{text}, with {cores.free_text} to spare"


def _told_plan(reason: Reason) -> str:
    assert reason.expected_end is not None
    if not reason.jobs:
        return f"is planned for {_told_start(reason)}: there is room now, but plans move only when a job ends early"
    end = told_time(reason.expected_end)
    return f"is planned for {_told_start(reason)}: could run until {end}, into cores promised to {_named(reason.jobs)}"


def _told_start(reason: Reason) -> str:
    return "a time that nobody knows" if reason.expected_start is None else told_time(reason.expected_start)


def _told_pause(reason: Reason) -> str:
    return f"pauses for {format_duration(reason.pause_s or 0.0)} after the end of {_named(reason.jobs)}"


_SENTENCES: Mapping[str, Callable[[Reason], str]] = {
    "no room": _told_shortage,
    "licence": _told_shortage,
    "machines down": _told_down,
    "order": lambda reason: f"is behind {_named(reason.jobs)}, which has no room, and nobody may overtake",
    "reservation": _told_reservation,
    "plan": _told_plan,
    "dependency": lambda reason: f"waits for the end of {_named(reason.jobs)}",
    "not eligible": _told_pause,
    "policy": lambda reason: "has room, and the policy did not start it: no reason is known",
}
