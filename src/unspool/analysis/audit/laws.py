"""The laws that a finished schedule is held against, and what is found of each.

`LAWS` is the one table of them. Those of every schedule come first; the others belong to one policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from unspool.units import format_duration

__all__ = ["LAWS", "POLICY_LAWS", "Report", "Tally", "Verdict"]

LAWS: Mapping[str, str] = MappingProxyType(
    {
        "once": "every job of the log runs once, and nothing else runs",
        "submission": "no job starts before it is submitted, or before the jobs that it depends on have ended",
        "run time": "a job ends at its start + its run time, or + its walltime if that is shorter",
        "capacity": "no start takes more cores than are free",
        "machines": "no start takes more of a machine than is free there, or other machines than the job may use",
        "order": "no job starts while a job before it in the queue waits",
        "greedy": "at no decision instant does a job wait that the rule lets start",
        "promise": "a blocked head never starts later than the shadow time first computed for it",
        "backfill": "what overtakes a blocked head ends by its shadow time, or takes extra cores only",
        "first plan": "no job starts later than the plan made for it on arrival",
        "plan": "a job starts when the plan in force says",
    }
)
"""Each law in one sentence, in the order in which they are reported."""

POLICY_LAWS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "none": (),
        "fcfs": ("order", "greedy"),
        "easy": ("promise", "greedy", "backfill"),
        "conservative": ("first plan", "plan"),
    }
)
"""The laws of a policy beside those of every schedule."""


class Tally:
    """Counts one law while a schedule is followed, and keeps the worst case."""

    def __init__(self) -> None:
        self.checked = 0
        self.violations = 0
        self.worst = 0.0
        self.example = ""

    def note(self, amount: float, example: str) -> None:
        """One violation, and by how much."""
        self.violations += 1
        if not self.example or amount > self.worst:
            self.worst = amount
            self.example = example


@dataclass(frozen=True)
class Verdict:
    """What was found of one law. `reasons` say why it does not bind here; then it is information."""

    law: str
    says: str
    checked: int
    of: str
    violations: int
    worst: float
    unit: str
    example: str
    reasons: tuple[str, ...] = ()

    @property
    def binds(self) -> bool:
        """Whether a violation counts."""
        return not self.reasons

    @property
    def is_broken(self) -> bool:
        """Whether it binds and is violated."""
        return self.binds and self.violations > 0

    @property
    def worst_text(self) -> str:
        """The worst case with its unit, or nothing."""
        if not self.violations or not self.unit:
            return ""
        return format_duration(self.worst) if self.unit == "s" else f"{self.worst:,.0f} {self.unit}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "law": self.law,
            "says": self.says,
            "binds": self.binds,
            "reasons": list(self.reasons),
            "checked": self.checked,
            "of": self.of,
            "violations": self.violations,
            "worst": self.worst if self.violations else None,
            "unit": self.unit,
            "example": self.example,
        }


@dataclass(frozen=True)
class Report:
    """What was found of every law that was looked at.

    `ok` says that no law that binds is violated; `violations` are the verdicts on those that are.
    """

    subject: str
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no law that binds is violated."""
        return not self.violations

    @property
    def violations(self) -> tuple[Verdict, ...]:
        """The verdicts on laws that bind and are violated."""
        return tuple(verdict for verdict in self.verdicts if verdict.is_broken)

    def __getitem__(self, law: str) -> Verdict:
        """The verdict on a law, by its name."""
        return next(verdict for verdict in self.verdicts if verdict.law == law)

    def __str__(self) -> str:
        lines = [f"{self.subject}: {'ok' if self.ok else 'VIOLATED'}"]
        for verdict in self.verdicts:
            kind = "" if verdict.binds else f" (information: {'; '.join(verdict.reasons)})"
            lines.append(f"  {verdict.law}: {verdict.violations:,} of {verdict.checked:,} {verdict.of}{kind}")
            if verdict.example:
                lines.append(f"    {verdict.example}")
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "subject": self.subject,
            "ok": self.ok,
            "laws": [verdict.as_dict() for verdict in self.verdicts],
            "notes": list(self.notes),
        }
