"""Clusters of a SimGrid platform: hosts around a middle, each with links of its own."""

from __future__ import annotations

from collections.abc import Iterator

from unspool.errors import shown
from unspool.platforms.simgrid.grammar import check_element
from unspool.platforms.simgrid.layout import SHARING, Layout, host_entry, link_named
from unspool.platforms.simgrid.zones import Point, Zone, once
from unspool.units import parse_latency, parse_rate
from unspool.workloads.elements import Element, unknown

__all__ = ["add_backbone", "add_cabinet", "add_cluster", "attach", "check_parent"]

_MOST_HOSTS = 10_000_000


def add_cluster(layout: Layout, element: Element, parent: Zone | None) -> None:
    """A star: each host with links of its own, a backbone that all share, and a router that others go through."""
    check_element(element, "cluster")
    if element.text("topology", "FLAT").upper() != "FLAT":
        raise element.fault(f"topology '{shown(element.text('topology'))}' is not read; expected FLAT, a star")
    check_parent(element, parent)
    name, properties = element.text("id"), element.properties()
    zone = Zone(name, "star", parent, properties)
    layout.add_zone(element, zone)
    bandwidth = element.amount("bb_bw", parse_rate, 0.0)
    latency = element.amount("bb_lat", parse_latency, 0.0)
    if bandwidth > 0.0 or latency > 0.0:
        sharing = element.choice("bb_sharing_policy", {"SHARED": "shared", "FATPIPE": "fat"}, "SHARED")
        zone.backbone = layout.add_link(element, f"{name}_backbone", bandwidth, latency, sharing)[:1]
    entry = host_entry(element, properties)
    prefix, suffix = element.text("prefix", ""), element.text("suffix", "")
    link_of = _ClusterLinks(element, layout, f"{name}_link_")
    for number in _radical(element):
        point = Point(f"{prefix}{number}{suffix}", zone, entry)
        own_up, own_down, point.loop = link_of(number)
        point.up, point.down = own_up + zone.backbone, zone.backbone + own_down
        layout.add_point(element, point)
    router = element.text("router_id", "") or f"{prefix}{name}_router{suffix}"
    layout.add_point(element, Point(router, zone))


def add_cabinet(layout: Layout, element: Element, zone: Zone) -> None:
    """Hosts of a star, each with a link up and one down."""
    check_element(element, "cabinet")
    _check_star(element, zone)
    entry = host_entry(element, {})
    prefix, suffix = element.text("prefix", ""), element.text("suffix", "")
    bandwidth, latency = element.amount("bw", parse_rate), element.amount("lat", parse_latency)
    for number in _radical(element):
        name = f"{prefix}{number}{suffix}"
        up, down = layout.add_link(element, f"link_{name}", bandwidth, latency, "split")
        layout.add_point(element, Point(name, zone, entry, (up, *zone.backbone), (*zone.backbone, down)))


def add_backbone(layout: Layout, element: Element, zone: Zone) -> None:
    """The link in the middle of a star."""
    check_element(element, "backbone")
    _check_star(element, zone)
    if zone.backbone:
        raise element.fault(f"zone '{shown(zone.name)}' has another backbone; a star has one")
    bandwidth, latency = element.amount("bandwidth", parse_rate), element.amount("latency", parse_latency, 0.0)
    zone.backbone = layout.add_link(element, element.text("id"), bandwidth, latency)[:1]


def attach(layout: Layout, element: Element, zone: Zone) -> None:
    """Gives a host of a star its links up and down, which stand in the file by themselves."""
    check_element(element, "host_link")
    _check_star(element, zone)
    point = zone.members.get(element.text("id"))
    if not isinstance(point, Point) or point.host is None:
        hosts = [name for name, one in zone.members.items() if isinstance(one, Point) and one.host is not None]
        raise element.fault(unknown("host", element.text("id"), hosts))
    up, down = (link_named(layout, element, element.text(name)) for name in ("up", "down"))
    point.up, point.down = once((up, *zone.backbone)), once((*zone.backbone, down))


def check_parent(element: Element, parent: Zone | None) -> None:
    """Complain of a zone or cluster inside a zone that takes hosts only."""
    if parent is not None and parent.kind in ("star", "still"):
        raise element.fault(f"stands in zone '{shown(parent.name)}', whose routing takes hosts and no zones")


def _check_star(element: Element, zone: Zone) -> None:
    if zone.kind != "star":
        raise element.fault(f"stands in zone '{shown(zone.name)}'; expected a zone of routing Cluster")


class _ClusterLinks:
    """Makes the own links of each host of a cluster: a limiter where there is one, up, down and a loopback."""

    def __init__(self, element: Element, layout: Layout, prefix: str) -> None:
        self._element, self._layout, self._prefix = element, layout, prefix
        self._own = (element.amount("bw", parse_rate), element.amount("lat", parse_latency))
        self._sharing = element.choice("sharing_policy", SHARING, "SPLITDUPLEX")
        self._loop = (
            element.amount("loopback_bw", parse_rate, 0.0),
            element.amount("loopback_lat", parse_latency, 0.0),
        )
        self._limit = element.amount("limiter_link", parse_rate, 0.0)

    def __call__(self, number: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...] | None]:
        """Links up, down, and to itself (or None) of the host with this number."""
        name = f"{self._prefix}{number}"
        loop = self._make(f"{name}_loopback", *self._loop, "fat")[:1] if max(self._loop) > 0.0 else None
        limiter = self._make(f"{name}_limiter", self._limit, 0.0, "shared")[:1] if self._limit > 0.0 else ()
        up, down = self._make(name, *self._own, self._sharing)
        return (*limiter, up), (down, *limiter), loop

    def _make(self, name: str, bandwidth: float, latency: float, sharing: str) -> tuple[int, int]:
        return self._layout.add_link(self._element, name, bandwidth, latency, sharing)


def _radical(element: Element) -> Iterator[int]:
    """The numbers of a text such as `0-3,7`."""
    text = element.text("radical")
    spans = []
    for part in text.split(","):
        low, dash, high = (piece.strip() for piece in part.partition("-"))
        ends = (low, high if dash else low)
        if not all(end.isascii() and end.isdigit() and len(end) < 10 for end in ends) or int(ends[0]) > int(ends[1]):
            raise element.fault(f"radical is '{shown(text)}'; expected numbers and ranges, as in 0-511 or 0-3,7")
        spans.append(range(int(ends[0]), int(ends[1]) + 1))
    if sum(map(len, spans)) > _MOST_HOSTS:
        raise element.fault(
            f"radical '{shown(text)}' makes {sum(map(len, spans))} hosts; expected {_MOST_HOSTS} at most"
        )
    return (number for span in spans for number in span)
