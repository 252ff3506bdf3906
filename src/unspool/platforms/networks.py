"""The network of a platform in our own files: a star around the machines, or host by host as a result keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Annotated, Literal

import msgspec

from unspool.errors import InputError, UnitError, shown
from unspool.model.network import Host, Link, Network
from unspool.units import parse_latency, parse_rate, parse_speed

__all__ = [
    "HostsOf", "StarKeys", "StorageKeys", "SwitchKeys", "WiredKeys", "describe_network", "network_of", "speeds_of",
    "star_of",
]  # fmt: skip

Amount = int | float | str
_Sharing = Literal["split", "shared", "fat"]
_MOST_UPLINKS = 2000  # of all switches: routes are kept for each pair


class _MiddleKeys(msgspec.Struct, forbid_unknown_fields=True):
    """The key `backbone` of `network`."""

    bandwidth: Amount
    latency: Amount = 0
    sharing: Literal["shared", "fat"] = "shared"


class _LoopKeys(msgspec.Struct, forbid_unknown_fields=True):
    """The key `loopback` of `network`."""

    bandwidth: Amount
    latency: Amount = 0


class SwitchKeys(msgspec.Struct, forbid_unknown_fields=True):
    """The key `switches` of `network`: so many machines on each, and the links of each to the middle."""

    machines: Annotated[int, msgspec.Meta(ge=1)]
    bandwidth: Amount
    latency: Amount = 0
    uplinks: Annotated[int, msgspec.Meta(ge=1)] = 1


class StarKeys(msgspec.Struct, forbid_unknown_fields=True):
    """The key `network` of a file: links of each machine, switches, and what lies between them."""

    bandwidth: Amount
    latency: Amount = 0
    sharing: _Sharing = "split"
    backbone: _MiddleKeys | None = None
    loopback: _LoopKeys | None = None
    switches: SwitchKeys | None = None


class StorageKeys(msgspec.Struct, forbid_unknown_fields=True):
    """An entry of `storage`: a host of its own in the star; what it leaves out is as for machines."""

    name: str
    bandwidth: Amount | None = None
    latency: Amount | None = None


class HostsOf(msgspec.Struct):
    """So many machines of a type, with the speeds of a core and how many cores."""

    type: str
    count: int
    cores: int
    speeds: tuple[float, ...]
    properties: dict[str, str] = {}


class _KindKeys(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What hosts have in common."""

    speeds: tuple[float, ...]
    state: int = 0
    cores: int = 1
    role: Literal["compute", "storage", "master"] = "compute"
    zone: str = ""
    properties: dict[str, str] = {}
    zone_properties: dict[str, str] = {}


_Numbers = tuple[int, ...]


class WiredKeys(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The key `wired` of a file: every host and link, as `platform.json` of a result has them."""

    kinds: list[_KindKeys]
    links: list[tuple[str, float, float, bool]]
    hosts: list[tuple[str, int, int, _Numbers, _Numbers, _Numbers]]
    between: list[tuple[int, int, _Numbers]]
    missing_is_free: bool = False


def speeds_of(given: Amount | Sequence[Amount]) -> tuple[float, ...]:
    """The speeds of a machine, one for each of its states; each more than 0."""
    texts = [given] if isinstance(given, int | float | str) else given
    speeds = tuple(parse_speed(text) for text in texts)
    if not speeds or min(speeds) <= 0.0:
        raise UnitError("a speed of 0; expected more, such as 1Gf")
    return speeds


def star_of(machines: Sequence[HostsOf], star: StarKeys | None, storage: Sequence[StorageKeys]) -> Network:
    """The network of machines and storage around one middle; without `star`, messages take no time."""
    hosts = [
        Host(f"{entry.type}-{number}", entry.speeds, cores=entry.cores, properties=entry.properties)
        for entry in machines
        for number in range(entry.count)
    ]
    if star is not None and star.switches is not None:
        each = star.switches.machines
        hosts = [replace(host, zone=f"switch-{at // each}") for at, host in enumerate(hosts)]
    hosts += [Host(entry.name, (0.0,), role="storage") for entry in storage]
    count = len(hosts)
    if star is None:
        nothing: tuple[tuple[int, ...], ...] = ((),) * count
        return Network(tuple(hosts), (), (0,) * count, nothing, nothing, nothing, {(0, 0): ()})
    links: list[Link] = []
    middle: tuple[int, ...] = ()
    if star.backbone is not None:
        links.append(_link("backbone", star.backbone.bandwidth, star.backbone.latency, star.backbone.sharing == "fat"))
        middle = (0,)
    special = {entry.name: entry for entry in storage}
    leaving, arriving, itself = [], [], []
    for host in hosts:
        entry = special.get(host.name) if host.role == "storage" else None
        bandwidth = star.bandwidth if entry is None or entry.bandwidth is None else entry.bandwidth
        latency = star.latency if entry is None or entry.latency is None else entry.latency
        up = len(links)
        names = (f"{host.name}_UP", f"{host.name}_DOWN") if star.sharing == "split" else (f"{host.name}_link",)
        links += [_link(name, bandwidth, latency, star.sharing == "fat") for name in names]
        down = len(links) - 1
        leaving.append((up,))
        arriving.append((down,))
        inside = middle if star.switches is None else ()
        itself.append(tuple(dict.fromkeys((up, *inside, down))))
        if star.loopback is not None:
            itself[-1] = (len(links),)
            links.append(_link(f"{host.name}_loopback", star.loopback.bandwidth, star.loopback.latency, is_fat=True))
    group, between = (0,) * count, {(0, 0): middle}
    if star.switches is not None:
        group, between = _switched(star.switches, count - len(storage), len(storage), middle, links)
    return Network(tuple(hosts), tuple(links), group, tuple(leaving), tuple(arriving), tuple(itself), between)


def _switched(
    switches: SwitchKeys, machines: int, storage: int, middle: tuple[int, ...], links: list[Link]
) -> tuple[tuple[int, ...], dict[tuple[int, int], tuple[int, ...]]]:
    """The group of each host, and the links between groups, over switches whose links are added to the others.

    Each of the uplinks leads to a switch in the middle that all others reach too: a fat tree of two levels. What goes
    to host h goes through the one with the number h modulo their number, so that routes are always the same.
    """
    count, ways = -(-machines // switches.machines), switches.uplinks
    if count * ways > _MOST_UPLINKS:
        raise InputError(
            f"network: {count} switches with {ways} uplinks each; expected no more than {_MOST_UPLINKS} uplinks in all"
        )
    up: list[list[int]] = []
    down: list[list[int]] = []
    for switch in range(count):
        for numbers, end in ((up, "UP"), (down, "DOWN")):
            numbers.append(list(range(len(links), len(links) + ways)))
            links += [
                _link(f"switch-{switch}_{way}_{end}", switches.bandwidth, switches.latency, is_fat=False)
                for way in range(ways)
            ]
    group = [at // switches.machines * ways + at % ways for at in range(machines)]
    group += [count * ways + at % ways for at in range(storage)]  # beside the switches, in the middle
    between: dict[tuple[int, int], tuple[int, ...]] = {}
    for source, target in product(sorted(set(group)), repeat=2):
        (of, _), (to, way) = divmod(source, ways), divmod(target, ways)
        if of == to < count:
            between[source, target] = ()
        else:
            leaving = (up[of][way],) if of < count else ()
            between[source, target] = (*leaving, *middle, *((down[to][way],) if to < count else ()))
    return tuple(group), between


def _link(name: str, bandwidth: Amount, latency: Amount, is_fat: bool) -> Link:
    rate = parse_rate(bandwidth)
    if not rate > 0.0:
        raise UnitError(f"link '{shown(name)}' has bandwidth 0; expected more, such as 1GBps")
    return Link(name, rate, parse_latency(latency), is_fat)


def describe_network(network: Network) -> WiredKeys:
    """A network, host by host, from which `network_of` makes the same one."""
    kinds: list[_KindKeys] = []
    numbers: dict[tuple[object, ...], int] = {}
    hosts = []
    for at, host in enumerate(network.hosts):
        key = (host.speeds, host.state, host.cores, host.role, host.zone, *map(_items, _both(host)))
        kind = numbers.setdefault(key, len(kinds))
        if kind == len(kinds):
            kinds.append(_kind(host))
        lists = (network.leaving[at], network.arriving[at], network.itself[at])
        hosts.append((host.name, kind, network.group[at], *lists))
    return WiredKeys(
        kinds,
        [(link.name, link.bandwidth, link.latency, link.is_fat) for link in network.links],
        hosts,
        [(source, target, links) for (source, target), links in network.between.items()],
        network.missing_is_free,
    )


def _both(host: Host) -> tuple[Mapping[str, str], Mapping[str, str]]:
    return host.properties, host.zone_properties


def _items(properties: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(properties.items())


def _kind(host: Host) -> _KindKeys:
    role: Literal["compute", "storage", "master"] = "compute"
    role = "storage" if host.role == "storage" else "master" if host.role == "master" else role
    properties, zone_properties = _both(host)
    return _KindKeys(host.speeds, host.state, host.cores, role, host.zone, dict(properties), dict(zone_properties))


def network_of(wired: WiredKeys) -> Network:
    """The network that `wired` lists; numbers that lead nowhere are refused."""
    count = len(wired.links)
    for name, kind, group, *lists in wired.hosts:
        if not 0 <= kind < len(wired.kinds) or group < 0 or not _are_links(lists, count):
            raise InputError(f"wired: host '{shown(name)}' names a kind, group or link that is not there")
        if not wired.kinds[kind].speeds or not 0 <= wired.kinds[kind].state < len(wired.kinds[kind].speeds):
            raise InputError(f"wired: kinds[{kind}] is in a state that has no speed")
    if not _are_links([links for _, _, links in wired.between], count):
        raise InputError("wired: between names a link that is not there")
    kinds = [
        (kind.speeds, kind.state, kind.cores, kind.role, kind.zone, kind.properties, kind.zone_properties)
        for kind in wired.kinds
    ]
    return Network(
        tuple(Host(name, *kinds[kind]) for name, kind, *_ in wired.hosts),
        tuple(Link(*link) for link in wired.links),
        tuple(group for _, _, group, *_ in wired.hosts),
        tuple(leaving for *_, leaving, _, _ in wired.hosts),
        tuple(arriving for *_, arriving, _ in wired.hosts),
        tuple(itself for *_, itself in wired.hosts),
        {(source, target): links for source, target, links in wired.between},
        wired.missing_is_free,
    )


def _are_links(lists: Sequence[Sequence[int]], count: int) -> bool:
    return all(0 <= link < count for links in lists for link in links)
