"""Schedulers that only order the queue: jobs start from its head while they fit, and nobody overtakes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unspool.policies import orders
from unspool.policies.base import FCFS, CompiledScheduler

__all__ = [
    "F1", "F2", "F3", "F4", "Ljf", "Multifactor", "Ordered", "Priority", "Random", "Saf", "Sjf", "Unicef", "Wfp3",
]  # fmt: skip


@dataclass(frozen=True)
class Ordered(CompiledScheduler):
    """Jobs start from the head of the queue while they fit; the class is its own order."""

    code: ClassVar[int] = FCFS

    @property
    def queue_order(self) -> orders.QueueOrder:
        """How the queue is ordered."""
        return self  # type: ignore[return-value]


@dataclass(frozen=True)
class Sjf(orders.Shortest, Ordered):
    """Shortest job first, by estimate; nobody overtakes."""


@dataclass(frozen=True)
class Ljf(orders.Longest, Ordered):
    """Longest job first, by estimate; nobody overtakes."""


@dataclass(frozen=True)
class Saf(orders.Area, Ordered):
    """Smallest area (estimate x cores) first; nobody overtakes."""


@dataclass(frozen=True)
class F1(orders.F1, Ordered):
    """Lowest log10(estimate) x cores + 870 log10(submit) first; nobody overtakes."""


@dataclass(frozen=True)
class F2(orders.F2, Ordered):
    """Lowest sqrt(estimate) x cores + 25,600 log10(submit) first; nobody overtakes."""


@dataclass(frozen=True)
class F3(orders.F3, Ordered):
    """Lowest estimate x cores + 6,860,000 log10(submit) first; nobody overtakes."""


@dataclass(frozen=True)
class F4(orders.F4, Ordered):
    """Lowest estimate x sqrt(cores) + 530,000 log10(submit) first; nobody overtakes."""


@dataclass(frozen=True)
class Wfp3(orders.Wfp3, Ordered):
    """Highest (wait / estimate)^3 x cores first; nobody overtakes."""


@dataclass(frozen=True)
class Unicef(orders.Unicef, Ordered):
    """Highest wait / (log2(cores) x estimate) first, jobs of one core before all; nobody overtakes."""


@dataclass(frozen=True)
class Multifactor(orders.Multifactor, Ordered):
    """Highest priority first as Slurm weighs age, fair share, size, partition and QOS; nobody overtakes."""


@dataclass(frozen=True)
class Priority(orders.Priority, Ordered):
    """Highest value of the log's column `priority` first; nobody overtakes."""


@dataclass(frozen=True)
class Random(orders.Random, Ordered):
    """In an order drawn from the seed; nobody overtakes."""
