"""Clusters, written as a short text (`480`, `128x16:64GiB:2gpu`) or as a YAML, TOML or JSON file."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from unspool.errors import InputError, shown
from unspool.model.network import Network
from unspool.model.platform import MachineGroup, MachineType, Partition, Platform
from unspool.model.prices import Price
from unspool.platforms.clouds import CloudKeys, cloud_of, describe_cloud
from unspool.platforms.documents import converted, read_document
from unspool.platforms.networks import (
    HostsOf,
    StarKeys,
    StorageKeys,
    WiredKeys,
    describe_network,
    network_of,
    speeds_of,
    star_of,
)
from unspool.platforms.power import PowerKeys, powered
from unspool.units import format_bytes, parse_bytes

__all__ = ["describe", "is_spec", "parse_cluster", "read_cluster"]

_ANY_SPEED = "1Gf"  # of machines that have watts, and whose jobs take their time

_FORMS = "expected a number of cores (480), machines x cores (128x16:64GiB:2gpu), or a .yaml, .toml, .json or .xml file"
_MOST_MACHINES = 10_000_000
_MOST_CORES = 10**12

_SPEC = re.compile(r"[+-]?[0-9]+(x.*)?", re.DOTALL)
_GROUP = re.compile(r"([0-9]{1,15})x(-?[0-9]{1,15})((?::[^:]+)*)")
_GPUS = re.compile(r"([0-9]{1,9})\s*gpus?", re.IGNORECASE)

_Amount = Annotated[int, msgspec.Meta(ge=0, le=10**15)]
_Count = Annotated[int, msgspec.Meta(ge=1, le=10**15)]
_Dollars = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class _Machines(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """An entry of `machines` in a file."""

    cores: _Count
    type: str = ""
    count: _Count = 1
    memory: int | float | str = 0
    gpus: _Amount = 0
    consumables: dict[str, _Amount] = {}
    usd_per_hour: _Dollars | None = None
    prices: dict[str, _Dollars] = {}
    plan: Literal["on-premises", "reserved"] = "on-premises"
    billing: Literal["always", "used"] = "always"
    speed: int | float | str | list[int | float | str] | None = None
    power: PowerKeys | None = None


class _Partition(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """An entry of `partitions` in a file."""

    name: str
    machines: list[str]
    default: bool = False
    priority: float = 0.0
    local: bool = False


class _Cluster(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What a file may say."""

    name: str | None = None
    pool: int | None = None
    machines: list[_Machines] = []
    partitions: list[_Partition] = []
    licences: dict[str, _Amount] = {}
    selection: str = "first"
    qos: dict[str, float] = {}
    cloud: CloudKeys | None = None
    network: StarKeys | None = None
    storage: list[StorageKeys] = []
    wired: WiredKeys | None = None


def is_spec(text: str) -> bool:
    """Whether a text means to describe a platform itself, rightly or wrongly, rather than name a file.

    >>> is_spec("480"), is_spec("128x16:64GiB"), is_spec("cluster.yaml")
    (True, True, False)
    """
    return _SPEC.fullmatch(text.strip()) is not None


def parse_cluster(spec: str) -> Platform:
    """A platform from a short text: `480` is a pool of cores, groups of machines are joined by `+`.

    After `machines x cores` come memory and GPUs of each machine, in any order.

    >>> machine = parse_cluster("64x16:64GiB+4x32:256GiB:4gpu").groups[1].machine
    >>> machine.name, machine.cores, machine.memory_bytes, machine.gpus
    ('32c-256GiB-4gpu', 32, 274877906944, 4)
    """
    text = spec.strip()
    if "x" not in text:
        cores = int(text) if len(text) <= 15 else _MOST_CORES + 1
        return _pool(cores, text, f"platform '{shown(spec)}'")
    machines = [_group(part.strip(), spec) for part in text.split("+")]
    return _platform(_Cluster(name=text, machines=machines), f"platform '{shown(spec)}'")


def read_cluster(path: str | os.PathLike[str]) -> Platform:
    """A platform from a file with the keys `name`, `pool` or `machines`, `partitions`, `licences`, `selection`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "small.yaml")
    ...     _ = file.write_text("machines: [{type: fat, count: 2, cores: 64, memory: 1TiB}]")
    ...     read_cluster(file).cores
    128
    """
    cluster = converted(read_document(path, "platform", _FORMS), _Cluster, str(path))
    cluster.name = cluster.name or Path(path).stem
    return _platform(cluster, str(path))


def describe(platform: Platform) -> dict[str, Any]:
    """A platform in the keys of a file, from which `read_cluster` makes the same platform.

    >>> describe(Platform.pool(480))
    {'name': '480', 'pool': 480}
    """
    cluster = _Cluster(
        name=platform.name,
        pool=platform.cores if platform.is_pool else None,
        machines=[] if platform.is_pool else [_entry(group) for group in platform.groups],
        partitions=[_Partition(p.name, list(p.groups), p.default, p.priority, p.local) for p in platform.partitions],
        licences=dict(platform.licences),
        selection=platform.selection,
        qos=dict(platform.qos),
        cloud=None if platform.cloud is None else describe_cloud(platform.cloud),
        wired=None if platform.network is None else describe_network(platform.network),
    )
    described: dict[str, Any] = msgspec.to_builtins(cluster)
    return described


def _entry(group: MachineGroup) -> _Machines:
    machine = group.machine
    return _Machines(
        type=machine.name,
        count=group.count,
        cores=machine.cores,
        memory=machine.memory_bytes,
        gpus=machine.gpus,
        consumables=dict(machine.consumables),
        prices={price.plan: price.usd_per_hour for price in machine.prices},
        plan="reserved" if machine.plan == "reserved" else "on-premises",
        billing="used" if machine.billing == "used" else "always",
    )


def _group(part: str, spec: str) -> _Machines:
    """The machines that one group of a short text describes."""
    match = _GROUP.fullmatch(part)
    if match is None:
        raise InputError(f"platform '{shown(spec)}': '{shown(part)}' is no group of machines; {_FORMS}")
    entry = _Machines(cores=int(match[2]), count=int(match[1]))
    seen: Counter[str] = Counter()
    for suffix in match[3].split(":")[1:]:
        gpus = _GPUS.fullmatch(suffix.strip())
        seen["GPUs" if gpus else "memory"] += 1
        if gpus:
            entry.gpus = int(gpus[1])
        else:
            entry.memory = suffix
    for what, times in seen.items():
        if times > 1:
            raise InputError(f"platform '{shown(spec)}': '{shown(part)}' gives {what} twice; give it once")
    return entry


def _platform(cluster: _Cluster, where: str) -> Platform:
    """The platform that a text or file describes; whatever is wrong with it names the place."""
    if cluster.cloud is not None and cluster.pool is not None:
        raise InputError(f"{where}: a pool has no machines that a cloud could add to; list machines instead")
    if (cluster.pool is None) == (not cluster.machines) and cluster.cloud is None:
        raise InputError(f"{where}: expected either pool (a number of cores) or machines (a list)")
    if cluster.pool is not None:
        for key in ("partitions", "network", "storage", "wired"):
            if getattr(cluster, key):
                raise InputError(f"{where}: a pool has no {key}; list machines instead")
        pool = _pool(cluster.pool, cluster.name or "", where)
        return _checked(
            lambda: replace(pool, licences=cluster.licences, selection=cluster.selection, qos=cluster.qos),
            cluster,
            where,
        )
    count = sum(entry.count for entry in cluster.machines)
    cores = sum(entry.count * entry.cores for entry in cluster.machines)
    if count > _MOST_MACHINES or cores > _MOST_CORES:
        raise InputError(f"{where}: {count} machines, {cores} cores; expected {_MOST_MACHINES} machines at most")
    if all(entry.power is not None and entry.speed is None for entry in cluster.machines) and cluster.wired is None:
        for entry in cluster.machines:
            entry.speed = _ANY_SPEED
    _check_network(cluster, where)
    names = Counter(partition.name for partition in cluster.partitions)
    for name, times in names.items():
        if times > 1:
            raise InputError(f"{where}: partition '{shown(name)}' stands twice; give each a name of its own")
    return _checked(lambda: _with_machines(cluster), cluster, where)


def _with_machines(cluster: _Cluster) -> Platform:
    groups = _groups(cluster.machines)
    return Platform(
        groups,
        tuple(Partition(p.name, tuple(p.machines), p.default, p.priority, p.local) for p in cluster.partitions),
        cluster.licences,
        cluster.selection,
        name=cluster.name or "",
        qos=cluster.qos,
        cloud=None if cluster.cloud is None else cloud_of(cluster.cloud),
        network=_network(cluster, groups),
    )


def _check_network(cluster: _Cluster, where: str) -> None:
    """Complain of keys of a network that do not go together."""
    without = [at for at, entry in enumerate(cluster.machines) if entry.speed is None]
    is_star = cluster.network is not None or bool(cluster.storage)
    if cluster.storage and cluster.network is None:
        raise InputError(f"{where}: storage is reached over a network; give the key network too")
    if without and (is_star or len(without) < len(cluster.machines)):
        raise InputError(f"{where}: machines[{without[0]}] has no speed; give one to all machines, such as 1Gf")
    has_speeds = len(without) < len(cluster.machines)
    if cluster.wired is not None and (is_star or has_speeds):
        raise InputError(f"{where}: wired says all of a network; leave out network, storage and speed")
    if cluster.cloud is not None and (is_star or has_speeds or cluster.wired is not None):
        raise InputError(f"{where}: machines of a cloud have no place in a network; leave out either of them")


def _network(cluster: _Cluster, groups: tuple[MachineGroup, ...]) -> Network | None:
    """The network of a file; None where it speaks of none."""
    if cluster.wired is not None:
        network = network_of(cluster.wired)
        machines = sum(group.count for group in groups)
        if network.compute_count != machines:
            raise InputError(f"wired: {network.compute_count} hosts for jobs and {machines} machines; expected as many")
        return network
    entries = [
        HostsOf(group.machine.name, group.count, entry.cores, *powered(speeds_of(entry.speed), entry.power))
        for group, entry in zip(groups, cluster.machines, strict=True)
        if entry.speed is not None
    ]
    return star_of(entries, cluster.network, cluster.storage) if entries else None


def _pool(cores: int, name: str, where: str) -> Platform:
    if not 1 <= cores <= _MOST_CORES:
        raise InputError(f"{where}: a pool of this many cores; expected 1 to {_MOST_CORES}")
    return Platform.pool(cores, name)


def _checked(make: Callable[[], Platform], cluster: _Cluster, where: str) -> Platform:
    try:
        return make()
    except InputError as error:
        raise InputError(f"{where}: {str(error).removeprefix(f'{cluster.name}: ')}") from error


def _groups(entries: list[_Machines]) -> tuple[MachineGroup, ...]:
    """The groups; a machine type without a name is called by what it has, and numbered if that is taken."""
    groups = []
    taken = Counter(entry.type for entry in entries)
    for entry in entries:
        memory = parse_bytes(entry.memory)
        name = entry.type
        if not name:
            has = (f"{entry.cores}c", format_bytes(memory).replace(" ", "") if memory else "", _gpu_text(entry.gpus))
            plain = "-".join(filter(None, has))
            taken[plain] += 1
            name = plain if taken[plain] == 1 else f"{plain}#{taken[plain]}"
        prices = [] if entry.usd_per_hour is None else [Price(entry.usd_per_hour)]
        prices += [Price(usd_per_hour, plan) for plan, usd_per_hour in entry.prices.items()]
        machine = MachineType(
            name, entry.cores, memory, entry.gpus, entry.consumables, tuple(prices), entry.plan, entry.billing
        )
        groups.append(MachineGroup(machine, entry.count))
    return tuple(groups)


def _gpu_text(gpus: int) -> str:
    return f"{gpus}gpu" if gpus else ""
