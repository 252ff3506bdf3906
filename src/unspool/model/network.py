"""Hosts, the links between them, and the routes over links. Data only.

A large cluster has many hosts and few kinds of routes: a route from one host to another is what leads out of the
first, what lies between the groups that both are in, and what leads to the second. The hosts of a star are one group,
so that a star of n hosts needs n short lists and not n² routes; a host with routes of its own is a group by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from unspool.errors import InputError, UnknownName

__all__ = ["MISSING_ROUTES", "ROLES", "SHARINGS", "SMPI_NETWORKS", "TCP_GAMMA", "Contention", "Host", "Link", "Network"]

ROLES: tuple[str, ...] = ("compute", "storage", "master")

SHARINGS: tuple[str, ...] = ("simgrid", "clean")
"""How tasks share: to SimGrid's digits, or without the two side effects of its rounds."""

SMPI_NETWORKS: tuple[str, ...] = ("batsim", "smpirun")
"""How messages of SMPI traces share: as tasks do, which is what Batsim does, or by the rules that smpirun sets."""

MISSING_ROUTES: tuple[str, ...] = ("refuse", "free")
"""What becomes of a job that sends between two hosts without a route: an error, or nothing holds its bytes up."""

TCP_GAMMA = 4194304.0
"""Bytes that a flow may have on the way, as SimGrid has it."""

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Host:
    """A host: the speed of one of its cores, in flop/s, in each of its states, and what the file says of it."""

    name: str
    speeds: tuple[float, ...]
    state: int = 0
    cores: int = 1
    role: str = "compute"
    zone: str = ""
    properties: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    zone_properties: Mapping[str, str] = field(default_factory=lambda: _NOTHING)

    @property
    def speed(self) -> float:
        """Of one core, in the state that it begins in."""
        return self.speeds[self.state]


@dataclass(frozen=True)
class Link:
    """A link; what is fat gives each user all of its bandwidth, and others share theirs."""

    name: str
    bandwidth: float
    latency: float = 0.0
    is_fat: bool = False


@dataclass(frozen=True)
class Network:
    """Hosts with their links: those that jobs run on first, then storage, then others (masters).

    `group[h]` is the group of host h; `leaving[h]` and `arriving[h]` are the links out of it and to it, in the order of
    the route; `itself[h]` is its whole route to itself; `between[g, k]` are the links from group g to group k, and
    where it is absent no route exists, or, if `missing_is_free`, nothing lies in between that would hold anybody up.
    Links are positions in `links`.
    """

    hosts: tuple[Host, ...]
    links: tuple[Link, ...]
    group: tuple[int, ...]
    leaving: tuple[tuple[int, ...], ...]
    arriving: tuple[tuple[int, ...], ...]
    itself: tuple[tuple[int, ...], ...]
    between: Mapping[tuple[int, int], tuple[int, ...]]
    missing_is_free: bool = False

    def __post_init__(self) -> None:
        names = [host.name for host in self.hosts]
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"network: host '{twice}' stands twice; every host needs a name of its own")
        roles = [ROLES.index(host.role) for host in self.hosts]
        if roles != sorted(roles):
            raise InputError("network: hosts that jobs run on come first, then storage, then others")

    @property
    def compute_count(self) -> int:
        """How many hosts jobs run on: they are the machines of a platform, in this order."""
        return sum(host.role == "compute" for host in self.hosts)

    def route(self, source: int, target: int) -> tuple[int, ...] | None:
        """The links from a host to another, in order; None where there is no way."""
        if source == target:
            return self.itself[source]
        middle = self.between.get((self.group[source], self.group[target]), () if self.missing_is_free else None)
        return None if middle is None else self.leaving[source] + middle + self.arriving[target]


@dataclass(frozen=True)
class Contention:
    """The rules by which jobs share a network.

    `tcp_gamma` is how many bytes a flow may have on the way. `storage` says which host the label of a storage means.
    With `strict`, a delay that would end exactly with the walltime is cut by it, as in Batsim. With `records_use`, how
    much of each host and link is used over time is written down (`Result.network_use`). `smpi_network` says how the
    messages of SMPI traces share.
    """

    sharing: str = "simgrid"
    tcp_gamma: float = TCP_GAMMA
    storage: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    strict: bool = False
    records_use: bool = False
    smpi_network: str = "batsim"

    def __post_init__(self) -> None:
        if self.sharing not in SHARINGS:
            raise UnknownName("sharing", self.sharing, SHARINGS)
        if self.smpi_network not in SMPI_NETWORKS:
            raise UnknownName("SMPI network", self.smpi_network, SMPI_NETWORKS)
        if not self.tcp_gamma > 0.0:
            raise InputError(f"contention: a TCP gamma of {self.tcp_gamma}; expected more than 0 bytes")

    def tell(self) -> dict[str, Any]:
        """All of it as plain values, for files."""
        return {**vars(self), "storage": dict(self.storage)}

    @classmethod
    def told(cls, values: Mapping[str, Any]) -> Contention:
        """From such values; what is missing is as it is by default.

        >>> Contention.told(Contention("clean").tell()) == Contention("clean")
        True
        """
        return cls(**values)
