"""The parts of a SimGrid platform by their names, and links by their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from unspool.errors import shown
from unspool.model.network import Link
from unspool.platforms.simgrid.zones import HostEntry, Point, Zone
from unspool.units import parse_speed
from unspool.workloads.elements import Element, unknown

__all__ = ["SHARING", "Layout", "host_entry", "link_named"]

SHARING: Mapping[str, str] = {"SHARED": "shared", "FATPIPE": "fat", "SPLITDUPLEX": "split", "FULLDUPLEX": "split"}
"""How a link is shared; FULLDUPLEX is an older name."""


@dataclass
class Layout:
    """What the file describes: links by number, and hosts, routers and zones by name."""

    links: list[Link] = field(default_factory=list)
    link_numbers: dict[str, int] = field(default_factory=dict)
    split: dict[str, tuple[int, int]] = field(default_factory=dict)
    points: dict[str, Point] = field(default_factory=dict)
    zones: dict[str, Zone] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add_link(
        self, element: Element, name: str, bandwidth: float, latency: float, sharing: str = "shared"
    ) -> tuple[int, int]:
        """A link, or one for each direction; their numbers up and down."""
        if not bandwidth > 0.0:
            raise element.fault(f"link '{shown(name)}' has bandwidth {bandwidth:g}; expected more than 0")
        names = (f"{name}_UP", f"{name}_DOWN") if sharing == "split" else (name,)
        for one in (name, *names):
            if one in self.link_numbers or one in self.split:
                raise element.fault(f"link '{shown(one)}' stands twice; give each link a name of its own")
        for one in names:
            self.link_numbers[one] = len(self.links)
            self.links.append(Link(one, bandwidth, latency, is_fat=sharing == "fat"))
        numbers = (len(self.links) - len(names), len(self.links) - 1)
        if sharing == "split":
            self.split[name] = numbers
        return numbers

    def add_point(self, element: Element, point: Point) -> None:
        """A host or router, under a name that is not taken."""
        self._check_name(element, point.name)
        self.points[point.name] = point
        point.zone.members[point.name] = point

    def add_zone(self, element: Element, zone: Zone) -> None:
        """A zone, under a name that is not taken."""
        self._check_name(element, zone.name)
        self.zones[zone.name] = zone
        if zone.parent is not None:
            zone.parent.members[zone.name] = zone

    def _check_name(self, element: Element, name: str) -> None:
        if name in self.points or name in self.zones:
            raise element.fault(f"'{shown(name)}' is the name of another host, router or zone; give it one of its own")


def link_named(layout: Layout, element: Element, name: str) -> int:
    """The number of a link that an element names."""
    if name in layout.split:
        raise element.fault(f"link '{shown(name)}' is SPLITDUPLEX; say which direction, UP or DOWN")
    if name not in layout.link_numbers:
        raise element.fault(unknown("link", name, [*layout.link_numbers, *layout.split]))
    return layout.link_numbers[name]


def host_entry(element: Element, properties: Mapping[str, str]) -> HostEntry:
    """The speeds, cores and properties of a host, or of those of a cluster."""
    speeds = tuple(element.amount("speed", lambda text: tuple(parse_speed(one) for one in text.split(","))))
    state = element.number("pstate", 0, 0)
    if state >= len(speeds):
        raise element.fault(f"pstate is {state}; expected 0 to {len(speeds) - 1}, as there are {len(speeds)} speeds")
    return HostEntry(speeds, state, element.number("core", 1, 1), properties, element)
