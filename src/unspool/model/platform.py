"""A platform: machines by type, partitions over them, licences, and how machines are chosen.

Machines are numbered from 0 in the order of the groups; a group's machines are consecutive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from types import MappingProxyType

from unspool.errors import InputError, UnknownName
from unspool.model.cloud import Cloud
from unspool.model.network import Network
from unspool.model.prices import Price

__all__ = ["SELECTIONS", "MachineGroup", "MachineType", "Partition", "Platform"]

SELECTIONS: tuple[str, ...] = ("first", "best", "worst", "contiguous", "spread", "pack", "nearby", "local")
"""The ways to choose machines, in the order of their codes in the engine (`engine/place/selection.py`)."""

_NOTHING: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True)
class MachineType:
    """What one machine has. Memory 0 means that memory is not modelled: any amount fits.

    `plan` says how it is paid beside a cloud, and `billing` whether always or only while a job runs on it.
    """

    name: str
    cores: int
    memory_bytes: int = 0
    gpus: int = 0
    consumables: Mapping[str, int] = field(default_factory=lambda: _NOTHING)
    prices: tuple[Price, ...] = ()
    plan: str = "on-premises"
    billing: str = "always"


@dataclass(frozen=True)
class MachineGroup:
    """A number of machines of one type."""

    machine: MachineType
    count: int


@dataclass(frozen=True)
class Partition:
    """A named part of the platform: the groups whose machines its jobs may use.

    If it is `local`, all machines of a job are in one part of the network (see `engine/place/domains.py`), whichever
    has room when the job starts.
    """

    name: str
    groups: tuple[str, ...]
    default: bool = False
    priority: float = 0.0
    local: bool = False


@dataclass(frozen=True)
class Platform:
    """Where jobs run. `is_pool` says that machines have no identity: only the number of cores counts.

    `qos` has the priority of each quality of service. With a `cloud`, machines beside those of the groups are brought
    up and down in the course of the run. With a `network`, machine m is its host m, and jobs whose profiles say so
    share processors and links.

    >>> Platform.pool(480).cores
    480
    """

    groups: tuple[MachineGroup, ...]
    partitions: tuple[Partition, ...] = ()
    licences: Mapping[str, int] = field(default_factory=lambda: _NOTHING)
    selection: str = "first"
    is_pool: bool = False
    name: str = "platform"
    qos: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    cloud: Cloud | None = None
    network: Network | None = None

    def __post_init__(self) -> None:
        names = [group.machine.name for group in self.groups]
        if not names and (self.cloud is None or not self.cloud.types):
            raise InputError(f"{self.name}: a platform needs at least one machine")
        if len(set(names)) != len(names):
            raise InputError(f"{self.name}: a machine type stands twice; give each group a type name of its own")
        for group in self.groups:
            if group.count < 1 or group.machine.cores < 1:
                raise InputError(
                    f"{self.name}: {group.count} machines of {group.machine.cores} cores; expected 1 or more of each"
                )
        if self.selection not in SELECTIONS:
            raise UnknownName("machine selection", self.selection, SELECTIONS)
        if self.selection == "contiguous" and self.cloud is not None:
            raise InputError(f"{self.name}: machines of a cloud have no neighbours; choose another selection")
        for partition in self.partitions:
            for group_name in partition.groups:
                if group_name not in names:
                    raise UnknownName(f"machine type in partition '{partition.name}'", group_name, names)
        if min((0.0, *self.qos.values(), *(partition.priority for partition in self.partitions))) < 0.0:
            raise InputError(f"{self.name}: a priority of a partition or quality of service is below 0")
        if sum(partition.default for partition in self.partitions) > 1:
            raise InputError(f"{self.name}: two partitions are the default; one can be")

    @classmethod
    def pool(cls, cores: int, name: str | None = None) -> Platform:
        """A number of cores without machines: what `-p 480` means."""
        return cls((MachineGroup(MachineType("pool", cores), 1),), is_pool=True, name=name or str(cores))

    def refuse_cloud(self, what: str) -> None:
        """Complain if machines are brought up and down here, for something that takes them to be there all the time."""
        if self.cloud is not None:
            raise InputError(f"{self.name}: {what} does not know machines that are brought up and down in a cloud")

    @property
    def cores(self) -> int:
        """Cores in all."""
        return sum(group.count * group.machine.cores for group in self.groups)

    @property
    def machine_count(self) -> int:
        """Machines in all."""
        return sum(group.count for group in self.groups)

    def first_ids(self) -> tuple[int, ...]:
        """The id of the first machine of each group, and one past the last machine at the end."""
        return tuple(accumulate((group.count for group in self.groups), initial=0))

    def ranges(self, partition: str | None) -> tuple[tuple[int, int], ...]:
        """First and last machine id of each run of machines that a job of this partition may use.

        No partition means the default one, or all machines where there is none.
        """
        chosen = next((p for p in self.partitions if p.default), None)
        if partition is not None and self.partitions:
            named = {p.name: p for p in self.partitions}
            if partition not in named:
                raise UnknownName("partition", partition, named)
            chosen = named[partition]
        first = self.first_ids()
        return tuple(
            (first[i], first[i + 1] - 1)
            for i, group in enumerate(self.groups)
            if chosen is None or group.machine.name in chosen.groups
        )
