"""Which elements and attributes of SimGrid's platforms are read, and where they may stand."""

from __future__ import annotations

from collections.abc import Mapping

from unspool.errors import UnknownName
from unspool.workloads.elements import Element

__all__ = ["ATTRIBUTES", "ROUTINGS", "SYNONYMS", "check_element"]

SYNONYMS: Mapping[str, str] = {"AS": "zone", "ASroute": "zoneRoute"}
"""Names of elements before version 4.1."""

ROUTINGS: Mapping[str, str] = {
    "Full": "full",
    "Floyd": "floyd",
    "Dijkstra": "dijkstra",
    "DijkstraCache": "dijkstra",
    "Cluster": "star",
    "None": "none",
    "Vivaldi": "still",
}
"""The kind of zone of each routing."""

ATTRIBUTES: Mapping[str, str] = {
    "platform": "version",
    "config": "id",
    "prop": "id value",
    "zone": "id routing",
    "host": "id speed pstate core coordinates",
    "router": "id coordinates",
    "link": "id bandwidth latency sharing_policy",
    "cluster": "id prefix suffix radical speed core bw lat sharing_policy bb_bw bb_lat bb_sharing_policy"
    " loopback_bw loopback_lat limiter_link router_id topology topo_parameters",
    "cabinet": "id prefix suffix radical speed bw lat",
    "backbone": "id bandwidth latency",
    "host_link": "id up down",
    "route": "src dst symmetrical",
    "zoneRoute": "src dst gw_src gw_dst symmetrical",
    "link_ctn": "id direction",
}
"""The attributes of each element."""

_INSIDE: Mapping[str, str] = {
    "platform": "config zone cluster",
    "config": "prop",
    "zone": "prop zone cluster host router link route zoneRoute cabinet backbone host_link",
    "host": "prop",
    "link": "prop",
    "cluster": "prop",
    "route": "link_ctn",
    "zoneRoute": "link_ctn",
}
_FILES = ("availability_file", "speed_file", "state_file", "bandwidth_file", "latency_file")


def check_element(element: Element, tag: str) -> None:
    """Complain of attributes that are not known here, and of elements inside that are not read."""
    known = ATTRIBUTES[tag].split()
    for name, value in element.attributes.items():
        if name in _FILES and value:
            raise element.fault(f"{name}: speeds that change by a file are not read; leave the attribute out")
        if name not in known and value:
            raise element.fault(f"{UnknownName('attribute', name, known)}")
    inside = _INSIDE.get(tag, "").split()
    for one in element.inside:
        if SYNONYMS.get(one.tag, one.tag) not in inside:
            held = f"it may hold {', '.join(inside)}" if inside else "it holds no elements"
            raise one.fault(f"is not read inside <{element.tag}>; {held}")
