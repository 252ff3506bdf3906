"""Ways through nested zones, found once for each pair of groups of hosts.

A way from one host to another is looked up in the innermost zone that holds both: directly, or between the two zones
in it that hold one each; then what leads from the first host to the gateway stands before, and what leads from the
other gateway to the second host after. The hosts of a star differ only in their own links, so that one of them without
these stands for all; a host that is a gateway is a group of its own, since its way to itself is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations, product

from unspool.model.network import Link
from unspool.platforms.simgrid.shortest import Predecessors, dijkstra, floyd
from unspool.platforms.simgrid.zones import Edge, Point, Zone, once

__all__ = ["LOOPBACK", "Wiring", "wire"]

LOOPBACK = Link("__loopback__", 1e10, 0.0, is_fat=True)
"""The way of a host to itself where a zone with routes of its own does not give one: one link for all of them."""

Links = tuple[int, ...]

_ALIKE = ("star", "still", "none")  # kinds of zones whose hosts differ in their own links only


@dataclass(frozen=True)
class Wiring:
    """The fields of a `Network` beside its hosts."""

    links: tuple[Link, ...]
    group: tuple[int, ...]
    leaving: tuple[Links, ...]
    arriving: tuple[Links, ...]
    itself: tuple[Links, ...]
    between: dict[tuple[int, int], Links]


def wire(points: Sequence[Point], zones: Iterable[Zone], links: Sequence[Link], *, free_among: int = 0) -> Wiring:
    """The groups of some hosts and the ways between them. A loopback link is added where one is needed.

    Between the first `free_among` hosts, what the file does not give of a way has no links; else there is no way.
    """
    gateways = {end for zone in zones for edge in zone.routes.values() for end in (edge.source, edge.target)}
    lone = gateways | _with_common_links(points)
    wiring = _wired(points, links, lone, missing_is_free=free_among > 0)
    cut_off = _cut_off(wiring, free_among)
    if not cut_off:
        return wiring
    return _wired(points, links, lone | {points[host] for host in cut_off}, missing_is_free=True)


def _cut_off(wiring: Wiring, free_among: int) -> list[int]:
    """Hosts whose own links would be on ways that have none, because their group has no way to another one."""
    groups = {*wiring.group[:free_among]}
    cut = {g for g in groups if any((g, k) not in wiring.between or (k, g) not in wiring.between for k in groups - {g})}
    own = (leaving or arriving for leaving, arriving in zip(wiring.leaving, wiring.arriving, strict=True))
    return [host for host, has_links in enumerate(own) if has_links and wiring.group[host] in cut]


def _wired(points: Sequence[Point], links: Sequence[Link], lone: set[Point], *, missing_is_free: bool) -> Wiring:
    number: dict[Point | Zone, int] = {}
    standing: list[Point] = []
    group, leaving, arriving = [], [], []
    for point in points:
        zone = point.zone
        is_alike = zone.kind in _ALIKE and point not in lone
        at = number.setdefault(zone if is_alike else point, len(standing))
        if at == len(standing):
            standing.append(Point("", zone, up=zone.backbone, down=zone.backbone) if is_alike else point)
        group.append(at)
        leaving.append(point.up[: len(point.up) - len(zone.backbone)] if is_alike else ())
        arriving.append(point.down[len(zone.backbone) :] if is_alike else ())
    itself, needs_loopback = _selves(points, len(links))
    return Wiring(
        (*links, LOOPBACK) if needs_loopback else tuple(links),
        tuple(group),
        tuple(leaving),
        tuple(arriving),
        tuple(itself),
        _between(standing, missing_is_free),
    )


def _with_common_links(points: Sequence[Point]) -> set[Point]:
    """Hosts of a star that have a link together with another one: a route between them has it only once."""
    owners: dict[int, Point] = {}
    common: set[Point] = set()
    for point in points:
        for link in {*point.up, *point.down}.difference(point.zone.backbone):
            if owners.setdefault(link, point) is not point:
                common |= {point, owners[link]}
    return common


def _selves(points: Sequence[Point], loopback: int) -> tuple[list[Links], bool]:
    """The way of each host to itself, and whether any takes the loopback link, which has the given number."""
    ways: list[Links] = []
    needed = False
    for point in points:
        given = point.zone.routes.get((point.name, point.name))
        if point.loop is not None:
            ways.append(point.loop)
        elif given is not None:
            ways.append(given.links)
        elif point.zone.kind in _ALIKE:
            ways.append(once(point.up + point.down))
        else:
            ways.append((loopback,))
            needed = True
    return ways, needed


def _between(standing: Sequence[Point], missing_is_free: bool) -> dict[tuple[int, int], Links]:
    """The links between groups, each given by the point that stands for it."""
    ways = _Ways(missing_is_free)
    groups: dict[Zone, list[int]] = {}
    for at, point in enumerate(standing):
        groups.setdefault(point.zone, []).append(at)
    found: dict[tuple[int, int], Links] = {}
    for zone, members in groups.items():
        for g, k in _pairs(zone, members, standing):
            edge = ways.edge(zone, standing[g], standing[k])
            if edge is not None:
                found[g, k] = edge.links
    for one, other in permutations(groups, 2):
        common, first, second = _fork(one, other)
        edge = ways.edge(common, first, second) if first is not common and second is not common else None
        if edge is None:
            continue
        before = [(g, way) for g in groups[one] if (way := ways.way(standing[g], edge.source)) is not None]
        after = [(k, way) for k in groups[other] if (way := ways.way(edge.target, standing[k])) is not None]
        for (g, start), (k, end) in product(before, after):
            found[g, k] = start + edge.links + end
    return found


def _pairs(zone: Zone, members: Sequence[int], standing: Sequence[Point]) -> Iterable[tuple[int, int]]:
    """Pairs of groups in a zone between which there may be a way; that a host is no pair with itself."""
    if zone.kind == "full":
        at = {standing[g].name: g for g in members}
        return ((at[s], at[t]) for s, t in zone.routes if s != t and s in at and t in at)
    return ((g, k) for g, k in product(members, members) if g != k or not standing[g].name)


def _fork(one: Zone, other: Zone) -> tuple[Zone, Zone, Zone]:
    """The innermost zone that holds both, and the ones directly in it that hold one each (or itself)."""
    depth = 0
    for first, second in zip(one.path, other.path, strict=False):
        if first is not second:
            break
        depth += 1
    common = one.path[depth - 1]
    return (
        common,
        one.path[depth] if depth < len(one.path) else common,
        other.path[depth] if depth < len(other.path) else common,
    )


class _Ways:
    """Ways between points, remembered."""

    def __init__(self, missing_is_free: bool) -> None:
        self._missing: Links | None = () if missing_is_free else None
        self._found: dict[tuple[Point, Point], Links | None] = {}
        self._shortest: dict[Zone, Predecessors] = {}
        self._chains: dict[tuple[Zone, str], dict[str, Edge | None]] = {}

    def way(self, source: Point, target: Point) -> Links | None:
        """The links from a point to another; none from one to itself; None where there is no way."""
        if source is target:
            return ()
        if (source, target) not in self._found:
            self._found[source, target] = self._resolved(source, target)
        return self._found[source, target]

    def edge(self, zone: Zone, source: Point | Zone, target: Point | Zone) -> Edge | None:
        """The way from one member of a zone to another, as the zone's kind has it."""
        if zone.kind in ("star", "still") and isinstance(source, Point) and isinstance(target, Point):
            return Edge(source, once(source.up + target.down), target)
        if zone.kind == "full":
            return zone.routes.get((source.name, target.name))
        if zone.kind in ("floyd", "dijkstra"):
            return self._chained(zone, source.name, target.name)
        return None

    def _resolved(self, source: Point, target: Point) -> Links | None:
        common, first, second = _fork(source.zone, target.zone)
        edge = self.edge(common, source if first is common else first, target if second is common else second)
        if edge is None:
            return self._missing
        before, after = self.way(source, edge.source), self.way(edge.target, target)
        return None if before is None or after is None else before + edge.links + after

    def _chained(self, zone: Zone, source: str, target: str) -> Edge | None:
        """Routes one after another, the fewest links in all; between two of them, from gateway to gateway."""
        if zone not in self._shortest:
            self._shortest[zone] = (floyd if zone.kind == "floyd" else dijkstra)(zone)
        chains = self._chains.setdefault((zone, source), {})
        steps = []
        at = target
        while at not in chains and at != source:
            last = self._shortest[zone].last(source, at)
            if last is None:
                return None
            steps.append((last, at))
            at = last
        for last, at in reversed(steps):
            chains[at] = self._joined(chains.get(last), zone.routes[last, at], is_first=last == source)
        return chains.get(target)

    def _joined(self, chain: Edge | None, edge: Edge, *, is_first: bool) -> Edge | None:
        if is_first:
            return edge
        turn = None if chain is None else self.way(chain.target, edge.source)
        if chain is None or turn is None:
            return None
        return Edge(chain.source, chain.links + turn + edge.links, edge.target)
