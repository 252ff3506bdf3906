"""Zones as a SimGrid platform nests them: hosts and routers in them, and the routes that the file gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from unspool.workloads.elements import Element

__all__ = ["Edge", "HostEntry", "Point", "Zone", "once"]


@dataclass(frozen=True, eq=False)
class HostEntry:
    """What the file says of a host, before roles are given out."""

    speeds: tuple[float, ...]
    state: int
    cores: int
    properties: Mapping[str, str]
    element: Element


@dataclass(eq=False)
class Point:
    """A host, or a router where `host` is None. In a star, `up` and `down` are its links, the backbone among them."""

    name: str
    zone: Zone
    host: HostEntry | None = None
    up: tuple[int, ...] = ()
    down: tuple[int, ...] = ()
    loop: tuple[int, ...] | None = None


@dataclass(eq=False)
class Edge:
    """A way that the file gives: the point that it leaves from, its links, and the point that it leads to."""

    source: Point
    links: tuple[int, ...]
    target: Point


@dataclass(eq=False)
class Zone:
    """A zone: what is in it, in the order of the file, and its routes by the names of their ends.

    `path` leads from the outermost zone to this one; `kind` is `full`, `floyd`, `dijkstra`, `star`, `none`, or
    `still`: all at one place, with no links between them.
    """

    name: str
    kind: str
    parent: Zone | None
    properties: Mapping[str, str]
    members: dict[str, Point | Zone] = field(default_factory=dict)
    routes: dict[tuple[str, str], Edge] = field(default_factory=dict)
    backbone: tuple[int, ...] = ()
    place: str = ""
    path: tuple[Zone, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.path = (self,) if self.parent is None else (*self.parent.path, self)

    def holds(self, point: Point) -> bool:
        """Whether a point is in this zone or in one inside it."""
        return self in point.zone.path


def once(links: Iterable[int]) -> tuple[int, ...]:
    """Links in their order, each only where it comes first: so a route through a star is made."""
    return tuple(dict.fromkeys(links))
