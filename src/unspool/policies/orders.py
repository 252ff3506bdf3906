"""Orders of the queue, by name: what a scheduler without a reservation starts by, and what backfilling goes through."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from unspool.engine.jobs import order as kinds
from unspool.engine.kernel.draws import ORDER, uniform
from unspool.engine.kernel.state import Array
from unspool.errors import InputError
from unspool.model.platform import Platform
from unspool.model.workload import Workload

__all__ = [
    "F1", "F2", "F3", "F4", "Area", "Fcfs", "Longest", "Multifactor", "Priority", "QueueOrder", "Random", "Shortest",
    "Unicef", "Wfp3",
]  # fmt: skip


@dataclass(frozen=True)
class QueueOrder:
    """Which waiting job comes first: the one with the lowest key, and of equal ones the first in the log."""

    kind: ClassVar[int] = kinds.GIVEN
    changes_with_time: ClassVar[bool] = False
    uses_estimate: ClassVar[bool] = False

    def fixed_part(self, workload: Workload, used: Array, platform: Platform, seed: int) -> Array:
        """The part of each job's key that the loop does not compute."""
        return np.zeros(len(used))


@dataclass(frozen=True)
class Fcfs(QueueOrder):
    """By arrival."""


@dataclass(frozen=True)
class Priority(QueueOrder):
    """By the column `priority` of the log, the highest first; none is 0."""

    def fixed_part(self, workload: Workload, used: Array, platform: Platform, seed: int) -> Array:
        """Less than 0 by the priority."""
        return -workload.column("priority").fill_null(0.0).to_numpy()[used]


@dataclass(frozen=True)
class Random(QueueOrder):
    """By lot, drawn from the seed of the run."""

    def fixed_part(self, workload: Workload, used: Array, platform: Platform, seed: int) -> Array:
        """One draw a job, by its place in the log."""
        return uniform(seed, ORDER, used)


@dataclass(frozen=True)
class Shortest(QueueOrder):
    """By estimate, the shortest first."""

    kind: ClassVar[int] = kinds.SHORTEST
    uses_estimate: ClassVar[bool] = True


@dataclass(frozen=True)
class Longest(QueueOrder):
    """By estimate, the longest first."""

    kind: ClassVar[int] = kinds.LONGEST
    uses_estimate: ClassVar[bool] = True


@dataclass(frozen=True)
class Area(QueueOrder):
    """By estimate x cores, the smallest first."""

    kind: ClassVar[int] = kinds.AREA
    uses_estimate: ClassVar[bool] = True


@dataclass(frozen=True)
class F1(QueueOrder):
    """By log10(estimate) x cores + 870 log10(submit)."""

    kind: ClassVar[int] = kinds.F1
    uses_estimate: ClassVar[bool] = True


@dataclass(frozen=True)
class F2(QueueOrder):
    """By sqrt(estimate) x cores + 25,600 log10(submit)."""

    kind: ClassVar[int] = kinds.F2
    uses_estimate: ClassVar[bool] = True


@dataclass(frozen=True)
class F3(QueueOrder):
    """By estimate x cores + 6,860,000 log10(submit)."""

    kind: ClassVar[int] = kinds.F3
    uses_estimate: ClassVar[bool] = True


@dataclass(frozen=True)
class F4(QueueOrder):
    """By estimate x sqrt(cores) + 530,000 log10(submit)."""

    kind: ClassVar[int] = kinds.F4
    uses_estimate: ClassVar[bool] = True


@dataclass(frozen=True)
class Wfp3(QueueOrder):
    """By (wait / estimate)^3 x cores, the highest first."""

    kind: ClassVar[int] = kinds.WFP3
    changes_with_time: ClassVar[bool] = True
    uses_estimate: ClassVar[bool] = True


@dataclass(frozen=True)
class Unicef(QueueOrder):
    """By wait / (log2(cores) x estimate), the highest first; jobs of one core before all others."""

    kind: ClassVar[int] = kinds.UNICEF
    changes_with_time: ClassVar[bool] = True
    uses_estimate: ClassVar[bool] = True


@dataclass(frozen=True)
class Multifactor(QueueOrder):
    """By priority as Slurm weighs it: age, fair share with half-life, job size, partition, quality of service.

    Each factor is from 0 to 1. Fair share is the classic 2^(-used / share), with equal shares for all users.
    """

    kind: ClassVar[int] = kinds.MULTIFACTOR
    changes_with_time: ClassVar[bool] = True

    age: float = 1000.0
    fair_share: float = 10000.0
    size: float = 1000.0
    partition: float = 1000.0
    qos: float = 1000.0
    longest_age_s: float = 7 * 86400.0
    half_life_s: float = 7 * 86400.0

    def __post_init__(self) -> None:
        for name in ("age", "fair_share", "size", "partition", "qos", "longest_age_s", "half_life_s"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not math.isfinite(value):
                raise InputError(f"multifactor: {name} is {value!r}; expected a number")
            if name.endswith("_s") and value <= 0.0:
                raise InputError(f"multifactor: {name} is {value}; expected more than 0 seconds")
        following = getattr(super(), "__post_init__", None)  # a scheduler that is its own order has one
        if following is not None:
            following()

    def fixed_part(self, workload: Workload, used: Array, platform: Platform, seed: int) -> Array:
        """Less than 0 by the weighted size, partition and quality of service."""
        cores = workload.table["cores"].to_numpy()[used] / _cores_in_all(platform)
        by_partition = {partition.name: partition.priority for partition in platform.partitions}
        default = next((partition.name for partition in platform.partitions if partition.default), None)
        partitions = workload.column("partition").fill_null(default or "").gather(pl.Series(used))
        of_partition = _factor(partitions, by_partition)
        of_qos = _factor(workload.column("qos").fill_null("").gather(pl.Series(used)), platform.qos)
        return -(self.size * cores + self.partition * of_partition + self.qos * of_qos)


def _cores_in_all(platform: Platform) -> float:
    """What the size of a job is a share of: in a cloud alone, what its limits allow; without limits no job is large."""
    if platform.cores > 0 or platform.cloud is None:
        return platform.cores
    cloud = platform.cloud
    instances, vcpus = cloud.max_instances.in_all, cloud.max_vcpus.in_all
    most = max((kind.cores for kind in cloud.types), default=1)
    return max(1.0, min(math.inf if instances is None else instances * most, math.inf if vcpus is None else vcpus))


def _factor(names: pl.Series, priority: Mapping[str, float]) -> Array:
    """The priority of each name, as a share of the highest; 0 for names without one."""
    highest = max(priority.values(), default=0.0)
    if highest <= 0.0:
        return np.zeros(len(names))
    shares = {name: value / highest for name, value in priority.items()}
    return names.replace_strict(shares, default=0.0, return_dtype=pl.Float64).to_numpy()
