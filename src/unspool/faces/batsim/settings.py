"""Values of Batsim's options that are texts with parts, and what of Batsim's options has no meaning here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unspool.errors import InputError, UnknownName, shown
from unspool.model.network import SHARINGS, SMPI_NETWORKS, TCP_GAMMA

__all__ = [
    "ALLOCATIONS", "HOST_ORDERS", "SHARINGS", "SMPI_NETWORKS", "VERBOSITIES", "WALLTIME_RULES", "SimGrid", "at_least_0",
    "one_of", "parse_counts", "parse_roles", "parse_simgrid", "parse_storages",
]  # fmt: skip

ROLES: tuple[str, ...] = ("master", "storage", "compute_node")
VERBOSITIES: tuple[str, ...] = ("quiet", "network-only", "information", "debug")
WALLTIME_RULES: tuple[str, ...] = ("v4", "plain")
ALLOCATIONS: tuple[str, ...] = ("machines", "cores")
HOST_ORDERS: tuple[str, ...] = ("natural", "text")

_GAMMA = "network/TCP-gamma"
# Settings of SimGrid that Batsim's model is run with anyway, and their values.
_GIVEN: Mapping[str, tuple[str, ...]] = {
    "host/model": ("ptask_L07",),
    "host/solver": ("fairbottleneck", "default"),
    "cpu/solver": ("default",),
    "network/model": ("ptask_L07",),
    "network/crosstraffic": ("1", "yes", "true", "on"),
    "cpu/model": ("ptask_L07",),
    "plugin": ("",),
}


@dataclass(frozen=True)
class SimGrid:
    """What of SimGrid's settings is passed on: the largest window of a flow, in bytes."""

    gamma: float = TCP_GAMMA


def at_least_0(option: str, seconds: float) -> float:
    """The value of an option that is a time."""
    if not 0.0 <= seconds < math.inf:
        raise InputError(f"{option} is {seconds:g}; expected seconds, 0 or more")
    return seconds


def one_of(option: str, value: str, known: Sequence[str]) -> str:
    """The value of an option that has a few."""
    if value not in known:
        raise InputError(f"{option}: {UnknownName('value', value, known)}")
    return value


def parse_roles(texts: Sequence[str]) -> dict[str, str]:
    """The role of each host, of texts such as `h1,h2:storage`; of two for one host the last counts.

    >>> parse_roles(["h1,h2:storage", "h0:master"])
    {'h1': 'storage', 'h2': 'storage', 'h0': 'master'}
    """
    roles: dict[str, str] = {}
    for text in texts:
        hosts, colon, role = text.partition(":")
        if not colon or ":" in role or not all(name.strip() for name in hosts.split(",")):
            raise InputError(f"-r '{shown(text)}': expected hosts, one colon and their role, as in h1,h2:storage")
        if role not in ROLES:
            raise InputError(f"-r '{shown(text)}': {UnknownName('role', role, ROLES)}")
        roles |= {name.strip(): role for name in hosts.split(",")}
    return roles


def parse_counts(text: str) -> dict[str, int]:
    """How many there are of each, of a text such as `matlab:4,cad:1`.

    >>> parse_counts("matlab:4,cad:1")
    {'matlab': 4, 'cad': 1}
    """
    counts: dict[str, int] = {}
    for part in text.split(","):
        name, _, count = part.strip().rpartition(":")
        if not name or not count.isdecimal() or name in counts:
            raise InputError(
                f"--licences '{shown(text)}': expected each name once, with a number, as in matlab:4,cad:1"
            )
        counts[name] = int(count)
    return counts


def parse_storages(text: str) -> dict[str, str]:
    """The host of each label, of a text such as `pfs=nas1,scratch=nas2`.

    >>> parse_storages("pfs=nas1,scratch=nas2")
    {'pfs': 'nas1', 'scratch': 'nas2'}
    """
    hosts: dict[str, str] = {}
    for part in text.split(","):
        label, _, host = (piece.strip() for piece in part.partition("="))
        if not label or not host or label in hosts:
            raise InputError(
                f"--storage-mapping '{shown(text)}': expected each label once, with a host, as in pfs=nas1"
            )
        hosts[label] = host
    return hosts


def parse_simgrid(texts: Sequence[str]) -> SimGrid:
    """What `--sg-cfg name:value` changes; a setting that is as it is anyway is taken, any other is refused.

    >>> parse_simgrid(["network/TCP-gamma:1e6", "host/model:ptask_L07"]).gamma
    1000000.0
    """
    gamma = TCP_GAMMA
    for text in texts:
        name, _, value = (part.strip() for part in text.partition(":"))
        if name == _GAMMA:
            try:
                gamma = float(value)
            except ValueError:
                gamma = -1.0
            if not 0.0 < gamma < float("inf"):
                raise InputError(f"--sg-cfg '{shown(text)}': expected a number of bytes above 0")
        elif name not in _GIVEN or value not in _GIVEN[name]:
            raise InputError(
                f"--sg-cfg '{shown(text)}': SimGrid is not used here, and of its settings only {_GAMMA} can be "
                "changed; leave this one out"
            )
    return SimGrid(gamma)
