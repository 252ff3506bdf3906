"""Input and output that EXECUTE_JOB adds to a job (`additional_io_job`): a second task, on machines of its own.

Its flops and bytes are added to the job's, and all of it moves at one pace. The machines that it names are used, and
not held: others may run jobs on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unspool.arrays import Array
from unspool.engine.kernel.state import longer
from unspool.engine.programs.program_build import add_task
from unspool.errors import DecisionError, shown
from unspool.faces.batsim.protocol.book import Entry
from unspool.faces.batsim.protocol.numbers import json_text
from unspool.faces.batsim.protocol.power import Power
from unspool.faces.batsim.protocol.registering import Registering
from unspool.faces.batsim.protocol.storing import Storing, labels_of
from unspool.model.profile import HomogeneousTask, Profile, Staging, StorageTask, Task
from unspool.model.profile import Sequence as Composed
from unspool.workloads.intervals import parse_intervals
from unspool.workloads.references import reached

if TYPE_CHECKING:
    from unspool.faces.batsim.protocol.driver import _Turn

__all__ = ["Adding", "Addition"]


@dataclass(frozen=True)
class Addition:
    """What a job does with what was added to it: a program, and the hosts of those who carry it out."""

    program: int
    seats: tuple[int, ...]


@dataclass(frozen=True)
class _Pair:
    """A job and what is added to it: where its executors sit, where those of the addition, where all of them do."""

    entry: Entry
    own: tuple[int, ...]
    other: tuple[int, ...]
    seats: tuple[int, ...]
    storages: Mapping[str, int]


class Adding:
    """Writes down tasks of jobs and of what is added to them as one."""

    def __init__(self, turn: _Turn, registering: Registering, storing: Storing, power: Power | None) -> None:
        self.turn, self.engine, self.book = turn, turn.engine, turn.book
        self.registering, self.storing, self.power = registering, storing, power
        self._known: dict[tuple[Any, ...], tuple[Profile, Profile, str]] = {}

    def read(self, entry: Entry, executors: Sequence[int], data: Mapping[str, Any]) -> Addition:
        """What is added to a job whose executors are on these machines."""
        given = data["additional_io_job"]
        if not isinstance(given, dict) or not isinstance(given.get("profile_name"), str):
            raise DecisionError(
                f"job {entry.full}: additional_io_job is {shown(json_text(given))}; expected an object with alloc and "
                "profile_name"
            )
        machines = self._machines(entry, given.get("alloc"))
        name = self._profile(entry, given)
        profiles = self.engine.workload.profiles
        labels = {label for part in reached(profiles, [entry.profile, name]) for label in labels_of(profiles[part])}
        storages = self.storing.hosts_of(entry, labels, data.get("storage_mapping"))
        own, other = (tuple(map(self.storing.host_of, each)) for each in (executors, machines))
        seats = own + tuple(dict.fromkeys(host for host in (*other, *storages.values()) if host not in own))
        written = self._added(_Pair(entry, own, other, seats, storages), entry.profile, name)
        return Addition(self.turn.admission.program_of(written, len(seats), self.storing.contention), seats)

    def give(self, entry: Entry, addition: Addition) -> None:
        """Let a job that has just been started do what was added to it as well."""
        fluid = self.engine.state.fluid
        assert fluid is not None
        first = int(fluid.rule[0]["seated"])
        fluid.rule[0]["seated"] = first + len(addition.seats)
        executors = longer(fluid.executors, first + len(addition.seats))
        executors[first : first + len(addition.seats)] = addition.seats
        fluid.seats[entry.at]["first"], fluid.seats[entry.at]["count"] = first, len(addition.seats)
        fluid.program_of[entry.at] = addition.program
        self.engine.state = self.engine.state._replace(fluid=fluid._replace(executors=executors))

    def _machines(self, entry: Entry, text: Any) -> tuple[int, ...]:
        machines = parse_intervals(text) if isinstance(text, str) else ()
        if not machines:
            raise DecisionError(
                f"job {entry.full}: alloc of additional_io_job is {shown(json_text(text))}; expected machines such as "
                "0-3 7"
            )
        self.storing.refuse_unknown(entry, machines[-1])
        for machine in machines if self.power is not None else ():
            is_storage = self.storing.is_storage(machine)
            if not is_storage and (why := self.power.refusal(machine)) is not None:  # type: ignore[union-attr]
                raise DecisionError(f"job {entry.full}: machine {machine} of additional_io_job {why}")
        return machines

    def _profile(self, entry: Entry, given: Mapping[str, Any]) -> str:
        """The name, in the run, of the profile that is added; it may come along."""
        workload, name = entry.full.partition("!")[0], given["profile_name"]
        if given.get("profile") is not None:
            self.registering.add_profile(workload, name, given["profile"])
        key = self.book.key(workload, name)
        if key not in self.engine.workload.profiles:
            raise DecisionError(
                f"job {entry.full}: additional_io_job names profile '{shown(name)}', which workload '{workload}' does "
                "not have; register it, or send it along as profile"
            )
        return key

    def _added(self, pair: _Pair, own: str, other: str) -> str:
        """The name of a profile that is two others, for executors that sit so; sequences go member by member."""
        profiles: dict[str, Profile] = self.engine.workload.profiles  # type: ignore[assignment]
        mine, more = profiles[own], profiles[other]
        key = own, other, len(pair.own), tuple(map(pair.seats.index, (*pair.other, *pair.storages.values())))
        known = self._known.get(key)
        if known is not None and known[0] is mine and known[1] is more:  # a name may mean another one by now
            return known[2]
        name = f"+{len(self._known)}!{own.rpartition('!')[2]}"  # progress is told of the last part
        profiles[name] = self._both(pair, own, other)
        self._known[key] = mine, more, name
        return name

    def _both(self, pair: _Pair, own: str, other: str) -> Profile:
        mine, more = self.engine.workload.profiles[own], self.engine.workload.profiles[other]
        if isinstance(mine, Composed) and isinstance(more, Composed):
            if len(mine.members) != len(more.members) or more.repeat not in (1, mine.repeat):
                raise DecisionError(
                    f"job {pair.entry.full}: additional_io_job is a sequence of {len(more.members)} × {more.repeat}, "
                    f"and the job is one of {len(mine.members)} × {mine.repeat}; expected as many"
                )
            members = tuple(self._added(pair, *each) for each in zip(mine.members, more.members, strict=True))
            return Composed(members, mine.repeat, code=mine.code)
        count = len(pair.seats)
        cpu, com = np.zeros(count), np.zeros((count, count))
        for name, hosts in ((own, pair.own), (other, pair.other)):
            self._add(pair, cpu, com, name, hosts)
        return Task(tuple(cpu.tolist()), tuple(com.ravel().tolist()), code=mine.code)

    def _add(self, pair: _Pair, cpu: Array, com: Array, name: str, hosts: tuple[int, ...]) -> None:
        """Add a task of executors on some hosts to the flops and bytes of all seats."""
        profile = self.engine.workload.profiles[name]
        flops, amounts = _load(pair.entry, name, profile, len(hosts))
        at = [pair.seats.index(host) for host in (*hosts, *(pair.storages[label] for label in labels_of(profile)))]
        if hosts is pair.own:
            at[: len(hosts)] = range(len(hosts))  # executors that share a machine have a seat each
        for seat, amount in zip(at, flops.tolist(), strict=True):
            if amount > 0.0 and self.storing.is_storage_host(pair.seats[seat]):
                raise DecisionError(
                    f"job {pair.entry.full}: profile '{shown(name)}' of additional_io_job computes on a storage, "
                    "which only stores"
                )
        np.add.at(cpu, at, flops)
        np.add.at(com, np.ix_(at, at), amounts)


def _load(entry: Entry, name: str, profile: Profile, size: int) -> tuple[Array, Array]:
    """Flops and bytes of a task of so many executors; the storages that it names stand behind them."""
    count = size + len(labels_of(profile))
    cpu, com = np.zeros(count), np.zeros((count, count))
    match profile:
        case Staging(moved):
            com[size, size + 1] = moved
        case Task(flops, amounts) if len(flops) not in (0, size) or len(amounts) not in (0, size**2):
            raise DecisionError(
                f"job {entry.full}: profile '{shown(name)}' is a task of {len(flops)} executors, and has {size}"
            )
        case HomogeneousTask() | StorageTask() | Task():
            add_task(cpu, com, name, profile, size)
        case _:
            raise DecisionError(
                f"job {entry.full}: additional_io_job can only be added to a task and be one, or both are sequences of "
                f"tasks; profile '{shown(name)}' is neither"
            )
    return cpu, com
