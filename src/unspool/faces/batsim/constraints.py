"""Which machines a job may use, from its free fields, for policies that are built in.

`machines` lists them, `properties` (or `machine_property`) says what hosts must have, and `must_be_local` that all of
them be in one zone, whichever has room when the job starts. Jobs that may use the same machines share a partition.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import polars as pl

from unspool.errors import InputError, shown
from unspool.model.network import Host
from unspool.model.platform import MachineGroup, Partition, Platform
from unspool.model.workload import Workload
from unspool.results.result import Result
from unspool.workloads.intervals import format_intervals, parse_intervals

__all__ = ["FIELDS", "Constrained", "constrained", "with_reasons"]

FIELDS: tuple[str, ...] = ("machines", "properties", "machine_property", "must_be_local")
"""The fields of a job that say which machines it may use."""

_ASKS = r'"(?:' + "|".join(FIELDS) + r')"\s*:'
_PROBLEMS = 5  # that an error tells

Machines = frozenset[int]


class _Chosen(NamedTuple):
    """The machines that a job may use, its priority as its own partition has it, and whether they are in one zone."""

    machines: Machines
    priority: float
    local: bool


@dataclass(frozen=True)
class Constrained:
    """Jobs with the partition that each must run on, the platform with those, and why some jobs can never run."""

    workload: Workload
    platform: Platform
    reasons: Mapping[str, str] = field(default_factory=dict)


def constrained(workload: Workload, platform: Platform) -> Constrained:
    """Give every job that may not use all machines, or not any together, a partition of those that it may use."""
    details = workload.column("details")
    asking = details.str.contains(_ASKS).fill_null(False).arg_true()
    if not len(asking):
        return Constrained(workload, platform)
    chosen = _Choice(workload, platform)
    for at, text in zip(asking.to_list(), details.gather(asking).to_list(), strict=True):
        chosen.take(at, json.loads(text))
    if chosen.problems:
        more = len(chosen.problems) - _PROBLEMS
        told = [*chosen.problems[:_PROBLEMS], *([f"and {more} more"] if more > 0 else [])]
        raise InputError(f"{workload.name}: {'; '.join(told)}")
    return chosen.made()


def with_reasons(result: Result, reasons: Mapping[str, str]) -> Result:
    """A result in which jobs that could never run say why in the words of their own fields."""
    if not reasons:
        return result
    told = pl.DataFrame({"job_id": list(reasons), "told": list(reasons.values())})
    rejected = result.rejected.join(told, on="job_id", how="left", maintain_order="left")
    rejected = rejected.with_columns(reason=pl.coalesce("told", "reason")).drop("told")
    return replace(result, rejected=rejected)


class _Choice:
    """The machines of each job that says something of them, while jobs are gone through in order."""

    def __init__(self, workload: Workload, platform: Platform) -> None:
        self.workload, self.platform = workload, platform
        self.problems: list[str] = []
        self._reasons: dict[str, str] = {}
        self._chosen: dict[int, _Chosen] = {}
        self._known: dict[str, tuple[Machines, str]] = {}
        hosts = () if platform.network is None else platform.network.hosts[: platform.machine_count]
        self._hosts: tuple[Host, ...] = hosts
        self._by_name = {host.name: at for at, host in enumerate(hosts)}
        self._ids = workload.table["job_id"]
        self._sizes = pl.select(pl.coalesce(workload.column("machines"), workload.table["cores"])).to_series()
        self._partitions = workload.column("partition")
        self._properties: list[dict[str, str]] = [{**host.zone_properties, **host.properties} for host in hosts]

    @cached_property
    def _zones(self) -> dict[str, Machines]:
        """The machines of each innermost zone, in the order in which they come."""
        zones: dict[str, set[int]] = {}
        for at, host in enumerate(self._hosts):
            zones.setdefault(host.zone, set()).add(at)
        return {name: frozenset(members) for name, members in zones.items()} or {"": self._everywhere(None)}

    def _everywhere(self, partition: str | None) -> Machines:
        return frozenset(m for first, last in self.platform.ranges(partition) for m in range(first, last + 1))

    def take(self, at: int, fields: Mapping[str, Any]) -> None:
        """The next job."""
        asked = {name: fields[name] for name in FIELDS if fields.get(name) is not None}
        if not asked:
            return
        job_id, size, partition = self._ids[at], int(self._sizes[at]), self._partitions[at]
        try:
            machines, what = self._eligible(asked, partition)
            is_local = _flag(asked.get("must_be_local", False))
        except InputError as error:
            self.problems.append(f"job '{shown(job_id)}': {error}")
            return
        most, found = len(machines), f"{len(machines)} such"
        if is_local:
            most = max(len(zone & machines) for zone in self._zones.values())
            found, what = f"at most {most} in a zone", f"{what} in one zone"
        if most < size or not machines:
            self._reasons[job_id] = f"asks for {size} machines{what}; the platform has {found}"
            machines = frozenset()
        named = {p.name: p.priority for p in self.platform.partitions}
        self._chosen[at] = _Chosen(machines, named.get(partition, 0.0), is_local and len(self._zones) > 1)

    def _eligible(self, asked: Mapping[str, Any], partition: str | None) -> tuple[Machines, str]:
        """The machines that have what is asked for, zones apart, and how that reads."""
        key = json.dumps([asked, partition], sort_keys=True, default=str)
        if key not in self._known:
            machines, what = self._everywhere(partition), ""
            if "machines" in asked:
                listed = self._listed(asked["machines"])
                machines, what = machines & listed, f" of {format_intervals(listed) or 'none'}"
            for name in ("properties", "machine_property"):
                for key_, value in _pairs(asked.get(name), name).items():
                    machines &= {at for at, has in enumerate(self._properties) if has.get(key_) == value}
                    what += f" with {shown(key_)}={shown(value)}"
            self._known[key] = machines, what
        return self._known[key]

    def _listed(self, given: Any) -> Machines:
        """Machines by id or by name of host."""
        if isinstance(given, str) and given not in self._by_name:
            return frozenset(parse_intervals(given))
        entries = given if isinstance(given, list) else [given]
        found = set()
        for entry in entries:
            if isinstance(entry, str) and entry in self._by_name:
                found.add(self._by_name[entry])
            elif isinstance(entry, int) and not isinstance(entry, bool) and entry >= 0:
                found.add(entry)
            else:
                raise InputError(
                    f"machines has {shown(json.dumps(entry))}, which is no machine here: expected a set such as "
                    "'0-3 7', or a list of ids or of names of hosts"
                )
        return frozenset(found)

    def made(self) -> Constrained:
        """Partitions for the sets of machines, groups cut so that each is whole in them, and the jobs' partitions."""
        names = {chosen: _partition_name(chosen) for chosen in dict.fromkeys(self._chosen.values())}
        column = pl.Series("partition", self._partitions, dtype=pl.String)
        column = column.scatter(list(self._chosen), [names[chosen] for chosen in self._chosen.values()])
        table = self.workload.table.with_columns(column)
        return Constrained(replace(self.workload, table=table), _parted(self.platform, names), self._reasons)


def _partition_name(chosen: _Chosen) -> str:
    name = f"machines {format_intervals(chosen.machines)}" if chosen.machines else "no machines"
    name += " in one zone" if chosen.local else ""
    return f"{name}, priority {chosen.priority:g}" if chosen.priority else name


def _parted(platform: Platform, names: Mapping[_Chosen, str]) -> Platform:
    """The platform with a partition for each set of machines, and its groups cut at their edges."""
    owners: list[list[int]] = [[] for _ in range(platform.machine_count)]
    for number, chosen in enumerate(names):
        for machine in chosen.machines:
            owners[machine].append(number)
    groups: list[MachineGroup] = []
    pieces: dict[str, list[str]] = {}
    members: list[list[str]] = [[] for _ in names]
    for group, first in zip(platform.groups, platform.first_ids(), strict=False):
        runs = [(key, len(list(run))) for key, run in groupby(range(first, first + group.count), lambda m: owners[m])]
        at = first
        for key, count in runs:
            name = (
                group.machine.name
                if len(runs) == 1
                else f"{group.machine.name} {format_intervals((at, at + count - 1))}"
            )
            at += count
            groups.append(MachineGroup(replace(group.machine, name=name), count))
            pieces.setdefault(group.machine.name, []).append(name)
            for number in key:
                members[number].append(name)
    old = [replace(p, groups=tuple(part for name in p.groups for part in pieces[name])) for p in platform.partitions]
    new = [
        Partition(name, tuple(part), priority=chosen.priority, local=chosen.local)
        for (chosen, name), part in zip(names.items(), members, strict=True)
    ]
    return replace(platform, groups=tuple(groups), partitions=(*old, *new))


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"must_be_local is {shown(json.dumps(value))}; expected true or false")
    return value


def _pairs(given: Any, name: str) -> dict[str, str]:
    """Names and values of properties: an object, or a text such as `gpu=yes`."""
    if given is None:
        return {}
    if isinstance(given, str) and "=" in given:
        key, _, value = given.partition("=")
        return {key.strip(): value.strip()}
    if not isinstance(given, dict) or not all(isinstance(v, str | int | float) for v in given.values()):
        raise InputError(f"{name} is {shown(json.dumps(given))}; expected an object of names and values")
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in given.items()}
