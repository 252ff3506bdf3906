"""The zones of a SimGrid platform inside each other, from its XML."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from unspool.errors import shown
from unspool.platforms.simgrid.grammar import ROUTINGS, SYNONYMS, check_element
from unspool.platforms.simgrid.layout import SHARING, Layout, host_entry
from unspool.platforms.simgrid.listed import add_route
from unspool.platforms.simgrid.stars import add_backbone, add_cabinet, add_cluster, attach, check_parent
from unspool.platforms.simgrid.zones import Point, Zone
from unspool.units import parse_latency, parse_rate
from unspool.workloads.elements import Element, read_elements

__all__ = ["read_layout"]


def read_layout(path: str | os.PathLike[str]) -> Layout:
    """The layout that a SimGrid platform file describes."""
    expected = "a platform of SimGrid, version 4 or 4.1"
    outermost = read_elements(path, expected)
    if outermost.tag != "platform":
        raise outermost.fault(f"expected <platform>: {expected}")
    check_element(outermost, "platform")
    version = outermost.text("version")
    if version.strip() not in ("4", "4.0", "4.1"):
        raise outermost.fault(
            f"version is '{shown(version)}'; expected 4 or 4.1 (simgrid_update_xml converts older files)"
        )
    layout = Layout()
    zones = [element for element in outermost.inside if element.tag != "config"]
    if len(zones) != 1:
        raise outermost.fault(f"holds {len(zones)} zones; expected one, with all others inside it")
    for config in (element for element in outermost.inside if element.tag == "config"):
        check_element(config, "config")
        settings = ", ".join(config.properties()) or "nothing"
        layout.notes.append(f"{os.fspath(path)}: <config> is for SimGrid and left out: {shown(settings, 200)}")
    _ZoneReader(layout).read(zones[0])
    return layout


class _ZoneReader:
    """Fills a layout; routes wait until all that they may name is known."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._routes: list[tuple[Zone, Element]] = []
        self._host_links: list[tuple[Zone, Element]] = []
        self._adders: Mapping[str, Callable[[Element, Zone], None]] = {
            "host": self._add_host,
            "router": self._add_router,
            "link": self._add_link,
            "zone": self._add_zone,
            "cluster": lambda element, zone: add_cluster(layout, element, zone),
            "cabinet": lambda element, zone: add_cabinet(layout, element, zone),
            "route": lambda element, zone: self._routes.append((zone, element)),
            "zoneRoute": lambda element, zone: self._routes.append((zone, element)),
            "host_link": lambda element, zone: self._host_links.append((zone, element)),
        }

    def read(self, element: Element) -> None:
        """All of the outermost zone."""
        if element.tag == "cluster":
            add_cluster(self._layout, element, None)
        else:
            self._add_zone(element, None)
        for zone, one in self._host_links:
            attach(self._layout, one, zone)
        self._check_stars()
        for zone, one in self._routes:
            add_route(self._layout, one, zone)

    def _add_zone(self, element: Element, parent: Zone | None) -> None:
        check_element(element, "zone")
        check_parent(element, parent)
        kind = element.choice("routing", ROUTINGS, "")
        zone = Zone(element.text("id"), kind, parent, element.properties())
        self._layout.add_zone(element, zone)
        # The hosts of a star need its backbone, which may stand below them.
        for one in element.inside:
            if one.tag == "backbone":
                add_backbone(self._layout, one, zone)
        for one in element.inside:
            add = self._adders.get(SYNONYMS.get(one.tag, one.tag))
            if add is not None:
                add(one, zone)

    def _add_host(self, element: Element, zone: Zone) -> None:
        check_element(element, "host")
        self._check_place(element, zone)
        entry = host_entry(element, element.properties())
        self._layout.add_point(element, Point(element.text("id"), zone, entry))

    def _add_router(self, element: Element, zone: Zone) -> None:
        check_element(element, "router")
        self._check_place(element, zone)
        self._layout.add_point(element, Point(element.text("id"), zone))

    def _check_stars(self) -> None:
        for point in self._layout.points.values():
            if point.zone.kind == "star" and point.host is not None and not point.up:
                raise point.host.element.fault(
                    "stands in a zone of routing Cluster and has no <host_link>; give it one"
                )

    def _check_place(self, element: Element, zone: Zone) -> None:
        """Where latencies follow from coordinates, only hosts at one place are read: all of theirs are 0."""
        if zone.kind != "still":
            return
        x_y_height = element.text("coordinates").split()
        try:
            x, y, height = (float(part) for part in x_y_height)
        except ValueError:
            raise element.fault(f"coordinates are '{shown(' '.join(x_y_height))}'; expected three numbers") from None
        place = f"{x:g} {y:g}"
        if height != 0.0 or zone.place not in ("", place):
            raise element.fault("latencies by coordinates are not read but for hosts at one place; give links instead")
        zone.place = place

    def _add_link(self, element: Element, _: Zone) -> None:
        check_element(element, "link")
        self._layout.add_link(
            element,
            element.text("id"),
            element.amount("bandwidth", parse_rate),
            element.amount("latency", parse_latency, 0.0),
            element.choice("sharing_policy", SHARING, "SHARED"),
        )
