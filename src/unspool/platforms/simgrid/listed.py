"""The routes that a SimGrid platform lists, between hosts of a zone and between zones."""

from __future__ import annotations

from collections.abc import Mapping

from unspool.errors import shown
from unspool.platforms.simgrid.grammar import SYNONYMS, check_element
from unspool.platforms.simgrid.layout import Layout, link_named
from unspool.platforms.simgrid.zones import Edge, Point, Zone
from unspool.workloads.elements import Element, unknown

__all__ = ["add_route"]

_BOTH_WAYS: Mapping[str, bool] = {"YES": True, "TRUE": True, "1": True, "NO": False, "FALSE": False, "0": False}


def add_route(layout: Layout, element: Element, zone: Zone) -> None:
    """A route between hosts or zones, there and, unless it says otherwise, back."""
    is_zone_route = SYNONYMS.get(element.tag, element.tag) == "zoneRoute"
    check_element(element, "zoneRoute" if is_zone_route else "route")
    if zone.kind in ("star", "still", "none"):
        raise element.fault(f"zone '{shown(zone.name)}' has no routes of its own, by its routing; leave this out")
    find = _gateway if is_zone_route else _end
    source, source_name = find(layout, element, zone, "src")
    target, target_name = find(layout, element, zone, "dst")
    if is_zone_route and source_name == target_name:
        raise element.fault(f"leads from zone '{shown(source_name)}' to itself; expected another zone")
    there, back = _ways(layout, element)
    _keep(element, zone, (source_name, target_name), Edge(source, there, target))
    if element.choice("symmetrical", _BOTH_WAYS, "YES") and source_name != target_name:
        _keep(element, zone, (target_name, source_name), Edge(target, back, source))


def _keep(element: Element, zone: Zone, ends: tuple[str, str], edge: Edge) -> None:
    if ends in zone.routes:
        raise element.fault(
            f"the route from '{shown(ends[0])}' to '{shown(ends[1])}' stands twice; "
            "a route is both ways unless symmetrical is NO"
        )
    zone.routes[ends] = edge


def _end(_: Layout, element: Element, zone: Zone, which: str) -> tuple[Point, str]:
    name = element.text(which)
    point = zone.members.get(name)
    if not isinstance(point, Point):
        known = [one for one, member in zone.members.items() if isinstance(member, Point)]
        kind = f"host or router in zone '{shown(zone.name)}'"
        raise element.fault(f"{which}: {unknown(kind, name, known)}")
    return point, name


def _gateway(layout: Layout, element: Element, zone: Zone, which: str) -> tuple[Point, str]:
    name, gateway = element.text(which), element.text(f"gw_{which}")
    inner = zone.members.get(name)
    if not isinstance(inner, Zone):
        known = [one for one, member in zone.members.items() if isinstance(member, Zone)]
        kind = f"zone inside '{shown(zone.name)}'"
        raise element.fault(f"{which}: {unknown(kind, name, known)}")
    point = layout.points.get(gateway)
    if point is None or not inner.holds(point):
        raise element.fault(f"gw_{which} is '{shown(gateway)}'; expected a host or router in zone '{shown(name)}'")
    return point, name


def _ways(layout: Layout, element: Element) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The links of a route there and back; the other direction of a link with two of them is taken back."""
    there, back = [], []
    for one in element.inside:
        check_element(one, "link_ctn")
        direction = one.choice("direction", {"UP": "up", "DOWN": "down", "NONE": "none"}, "NONE")
        name = one.text("id")
        if name in layout.split and direction != "none":
            up, down = layout.split[name]
            there.append(up if direction == "up" else down)
            back.append(down if direction == "up" else up)
        else:
            there.append(link_named(layout, one, name))
            back.append(there[-1])
    if not there:
        raise element.fault("has no links; expected at least one <link_ctn>")
    return tuple(there), tuple(back[::-1])
