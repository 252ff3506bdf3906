"""Platforms of SimGrid and Batsim: hosts with roles, links and routes, from XML."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from unspool.errors import InputError, UnknownName, shown
from unspool.model.network import MISSING_ROUTES, ROLES, Host, Network
from unspool.model.platform import MachineGroup, MachineType, Platform
from unspool.platforms.simgrid.layout import Layout
from unspool.platforms.simgrid.nesting import read_layout
from unspool.platforms.simgrid.routes import wire
from unspool.platforms.simgrid.zones import Point, Zone
from unspool.workloads.elements import Element, unknown

__all__ = ["MASTER", "natural_key", "read_simgrid"]

MASTER = "master_host"
"""The host that is the master where nothing else says so."""

_ROLES: Mapping[str, str] = {
    "": "compute",
    "compute_node": "compute",
    "compute": "compute",
    "storage": "storage",
    "master": "master",
}
_TEXT_AND_DIGITS = re.compile(r"([0-9]+)")


def natural_key(name: str) -> tuple[tuple[str | int, ...], str]:
    """Orders names by the numbers in them; those that differ in leading zeros only, as texts.

    >>> sorted(["a10", "a9", "b1", "a"], key=natural_key)
    ['a', 'a9', 'a10', 'b1']
    """
    parts = _TEXT_AND_DIGITS.split(name)
    return tuple(int(part) if at % 2 else part for at, part in enumerate(parts)), name


_ORDERS: Mapping[str, Callable[[str], Any]] = {"natural": natural_key, "text": str}


def read_simgrid(
    path: str | os.PathLike[str],
    *,
    master: str = MASTER,
    roles: Mapping[str, str] | None = None,
    host_order: str = "natural",
    limit: int | None = None,
    needs_master: bool = False,
    missing_routes: str = "refuse",
    note: Callable[[str], None] | None = None,
) -> Platform:
    """A platform from XML of SimGrid 4: every host that jobs run on is a machine of one slot.

    The role of a host is what `roles` has for its name, else that of the master if `master` names it, else its property
    `role`, else that of the master if it is called `master_host` and no other was named, else that jobs run on it.
    Machines are numbered by the `natural` or the `text` order of the names of hosts; with a `limit` only so many of the
    first are there, and the others are left out of the network too. `note` is told what was left out of the file.

    A job that sends between two hosts without a route is refused when it does; with `missing_routes="free"` what the
    file does not give has no links, as in SimGrid, and its bytes take no time.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "star.xml")
    ...     _ = file.write_text('''<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-3"
    ...         speed="1Gf" bw="125MBps" lat="50us" bb_bw="2.25GBps" bb_lat="500us"/></platform>''')
    ...     network = read_simgrid(file).network
    >>> [network.links[link].name for link in network.route(0, 3)]
    ['c_link_0_UP', 'c_backbone', 'c_link_3_DOWN']
    """
    if host_order not in _ORDERS:
        raise UnknownName("order of hosts", host_order, _ORDERS)
    if missing_routes not in MISSING_ROUTES:
        raise UnknownName("way to treat missing routes", missing_routes, MISSING_ROUTES)
    is_free = missing_routes == "free"
    layout = read_layout(path)
    if note is not None:
        for text in layout.notes:
            note(text)
    file = os.fspath(path)
    by_role = _by_role(layout, file, master, roles or {})
    if len(by_role["master"]) > 1 or (needs_master and not by_role["master"]):
        raise InputError(f"{file}: {_master_fault([point.name for point in by_role['master']], master)}")
    for points in by_role.values():
        points.sort(key=lambda point: _ORDERS[host_order](point.name))
    by_role["compute"] = _limited(by_role["compute"], limit, file)
    chosen = [(point, role) for role in ROLES for point in by_role[role]]
    hosts = _hosts(chosen)
    in_jobs = sum(role != "master" for _, role in chosen)
    points = [point for point, _ in chosen]
    wiring = wire(points, layout.zones.values(), layout.links, free_among=in_jobs if is_free else 0)
    network = Network(hosts, **vars(wiring), missing_is_free=is_free)
    return Platform(_groups(hosts[: len(by_role["compute"])]), name=Path(path).stem, network=network)


def _by_role(layout: Layout, file: str, master: str, roles: Mapping[str, str]) -> dict[str, list[Point]]:
    hosts = {name: point for name, point in layout.points.items() if point.host is not None}
    named = {**roles} if master == MASTER else {master: "master", **roles}
    for name in named:
        if name not in hosts:
            raise InputError(f"{file}: {unknown('host', name, list(hosts))}")
    found: dict[str, list[Point]] = {role: [] for role in ROLES}
    for name, point in hosts.items():
        assert point.host is not None
        given = named.get(name, point.host.properties.get("role", "master" if name == MASTER == master else ""))
        role = _ROLES.get(given.strip())
        if role is None:
            text = f"role of host '{shown(name)}': {UnknownName('role', given, filter(None, _ROLES))}"
            raise point.host.element.fault(text)
        if role == "compute":
            _check_speeds(point.host.speeds, point.host.properties, name, point.host.element)
        found[role].append(point)
    return found


def _master_fault(names: Sequence[str], master: str) -> str:
    if names:
        listed = ", ".join(f"'{shown(name)}'" for name in names[:5])
        return f"{len(names)} hosts are masters ({listed}); expected one"
    return f"no host is the master; name one '{shown(master)}', give one the property role=master, or name one with -m"


def _limited(points: list[Point], limit: int | None, file: str) -> list[Point]:
    if not points:
        raise InputError(f"{file}: no host is there for jobs; expected one at least that is no master and no storage")
    if limit is not None and not 1 <= limit <= len(points):
        raise InputError(
            f"{file}: the first {limit} hosts are asked for (--mmax, or nb_res by --mmax-workload); "
            f"expected 1 to {len(points)}"
        )
    return points if limit is None else points[:limit]


def _check_speeds(speeds: Sequence[float], properties: Mapping[str, str], name: str, element: Element) -> None:
    """A host must be able to compute, but for its sleeping state and those of falling asleep and waking up."""
    asleep: set[int] = set()
    for triple in filter(str.strip, properties.get("sleep_pstates", "").split(",")):
        states = [state.strip() for state in triple.split(":")]
        if len(states) != 3 or not all(state.isdecimal() and int(state) < len(speeds) for state in states):
            raise element.fault(
                f"sleep_pstates has '{shown(triple.strip())}'; expected sleep:off:on, states up to {len(speeds) - 1}"
            )
        asleep.update(int(state) for state in states)
    for state, speed in enumerate(speeds):
        if not speed > 0.0 and state not in asleep:
            raise element.fault(
                f"host '{shown(name)}' has speed 0 in pstate {state}; expected more, or the property role=storage"
            )


def _hosts(chosen: Iterable[tuple[Point, str]]) -> tuple[Host, ...]:
    inherited: dict[Zone, dict[str, str]] = {}
    hosts = []
    for point, role in chosen:
        entry, zone = point.host, point.zone
        assert entry is not None
        if zone not in inherited:
            inherited[zone] = {key: value for outer in zone.path for key, value in outer.properties.items()}
        hosts.append(
            Host(
                point.name,
                entry.speeds,
                entry.state,
                entry.cores,
                role,
                zone.name,
                entry.properties,
                inherited[zone],
            )
        )
    return tuple(hosts)


def _groups(hosts: Sequence[Host]) -> tuple[MachineGroup, ...]:
    """Neighbours that are alike, called by the first and the last of them."""
    taken: Counter[str] = Counter()
    groups = []
    for _, alike in groupby(hosts, key=lambda host: (host.speeds, host.state, host.cores, host.zone)):
        run = list(alike)
        name = run[0].name if len(run) == 1 else f"{run[0].name}..{run[-1].name}"
        taken[name] += 1
        groups.append(MachineGroup(MachineType(name if taken[name] == 1 else f"{name}#{taken[name]}", 1), len(run)))
    return tuple(groups)
