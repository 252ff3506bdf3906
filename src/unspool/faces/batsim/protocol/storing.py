"""Which host each label of a storage means for a job: as EXECUTE_JOB maps it, else as the run does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unspool.errors import DecisionError, shown
from unspool.faces.batsim.protocol.book import Entry
from unspool.model.network import Contention
from unspool.model.platform import Platform
from unspool.model.profile import Profile, Staging, StorageTask
from unspool.model.workload import Workload
from unspool.workloads.references import reached

if TYPE_CHECKING:
    from unspool.faces.batsim.protocol.driver import _Turn

__all__ = ["Storing", "labels_of", "with_any_storage"]


def labels_of(profile: Profile) -> tuple[str, ...]:
    """The storages that a profile itself names."""
    if isinstance(profile, StorageTask):
        return (profile.storage,)
    return (profile.source, profile.target) if isinstance(profile, Staging) else ()


def with_any_storage(contention: Contention, workload: Workload, platform: Platform) -> Contention:
    """Rules in which every label means some storage, until a job's start says which: the first that there is."""
    hosts = () if platform.network is None else platform.network.hosts
    storages = [host.name for host in hosts if host.role == "storage"]
    if not storages:
        return contention
    labels = {label for profile in workload.profiles.values() for label in labels_of(profile)}
    own = {label: label for label in labels if label in storages}
    return replace(contention, storage={**dict.fromkeys(labels, storages[0]), **own, **contention.storage})


class Storing:
    """Gives jobs that use storages programs of their own where a start maps them otherwise than the run."""

    def __init__(self, turn: _Turn, contention: Contention, given: Sequence[str]) -> None:
        self.turn, self.engine, self.contention = turn, turn.engine, contention
        self.given = frozenset(given)
        network = self.engine.platform.network
        hosts = () if network is None else network.hosts
        self.machines = self.engine.platform.machine_count
        self.storages = [host.name for host in hosts if host.role == "storage"]
        self._at = {host.name: at for at, host in enumerate(hosts)}
        self._storage_hosts = [at for at, host in enumerate(hosts) if host.role == "storage"]

    def is_storage(self, machine: int) -> bool:
        """Whether a number is that of a storage, which come behind the machines."""
        return 0 <= machine - self.machines < len(self.storages)

    def host_of(self, machine: int) -> int:
        """The place in the network of a machine, or of a storage."""
        return machine if machine < self.machines else self._storage_hosts[machine - self.machines]

    def is_storage_host(self, host: int) -> bool:
        """Whether a place in the network is that of a storage."""
        return host in self._storage_hosts

    def refuse_unfit(self, entry: Entry, machine: int) -> None:
        """Jobs run on machines, of which this may be the last that is named."""
        if machine >= self.machines:
            what = f"machine {machine} runs no jobs" if self.is_storage(machine) else f"there is no machine {machine}"
            raise DecisionError(f"job {entry.full}: {what}; those that do are 0 to {self.machines - 1}")

    def refuse_unknown(self, entry: Entry, machine: int) -> None:
        """Machines and storages are all that there is."""
        last = self.machines + len(self.storages) - 1
        if machine > last:
            raise DecisionError(f"job {entry.full}: there is no machine {machine}; the last is {last}")

    def hosts_of(self, entry: Entry, labels: set[str], mapping: Any) -> dict[str, int]:
        """Which place in the network each label means for a job."""
        hosts = self._mapped(entry, labels, mapping) if mapping is not None else self._unmapped(entry, labels)
        known = {**self.contention.storage, **hosts}
        names = {label: known.get(label, label) for label in sorted(labels)}
        return {label: self._at[name if name in self._at else self.storages[0]] for label, name in names.items()}

    def resolve(self, entry: Entry, mapping: Any) -> None:
        """Let a job use the storages that its start names."""
        fluid = self.engine.state.fluid
        if fluid is None or fluid.program_of[entry.at] < 0 or not self.storages:
            return
        profiles = self.engine.workload.profiles
        labels = {label for name in reached(profiles, [entry.profile]) for label in labels_of(profiles[name])}
        if not labels:
            return
        hosts = self._mapped(entry, labels, mapping) if mapping is not None else self._unmapped(entry, labels)
        contention = replace(self.contention, storage={**self.contention.storage, **hosts})
        if contention.storage != self.contention.storage:
            assert self.engine.place is not None
            size = int(self.engine.place.shapes[self.engine.core.jobs[entry.at]["shape"]]["units"])
            program = self.turn.admission.program_of(entry.profile, size, contention)
            assert self.engine.state.fluid is not None
            self.engine.state.fluid.program_of[entry.at] = program

    def _mapped(self, entry: Entry, labels: set[str], mapping: Any) -> dict[str, str]:
        if not isinstance(mapping, dict):
            raise DecisionError(f"job {entry.full}: storage_mapping is no object; expected {{label: machine}}")
        hosts: dict[str, str] = {}
        for label in sorted(labels):
            if label not in mapping:
                raise DecisionError(f"job {entry.full}: storage '{shown(label)}' is not in storage_mapping")
            machine = mapping[label]
            if not isinstance(machine, int) or not self.is_storage(machine):
                raise DecisionError(f"job {entry.full}: storage '{shown(label)}' is mapped to {machine}, no storage")
            hosts[label] = self.storages[machine - self.machines]
        return hosts

    def _unmapped(self, entry: Entry, labels: set[str]) -> dict[str, str]:
        """As options say, as the host is called, or the only one that there is."""
        for label in sorted(labels):
            if label not in self.given and label not in self.storages and len(self.storages) != 1:
                raise DecisionError(
                    f"job {entry.full}: storage '{shown(label)}' is mapped to no machine, and there are "
                    f"{len(self.storages)} storages; send storage_mapping, or say --storage-mapping {label}=HOST"
                )
        return {}
