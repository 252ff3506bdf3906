"""Routes chained to the shortest ways through a zone, where the file gives only those between neighbours.

The length of a way is its number of links. Among equals, Floyd keeps the one that it found first, going through the
members in the order of the file; Dijkstra the one over the nearest member, then over the one that routes name first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np

from unspool.platforms.simgrid.zones import Zone

__all__ = ["Predecessors", "dijkstra", "floyd"]

_NOWHERE = -1


@dataclass
class Predecessors:
    """Of each member on the shortest way from another: the one before it."""

    names: Mapping[str, int]
    before: Callable[[int], list[int]]
    _known: dict[int, list[int]] = field(default_factory=dict)
    _order: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self._order = list(self.names)

    def last(self, source: str, target: str) -> str | None:
        """The member before the target on the way from the source; None where there is no way."""
        if source not in self.names or target not in self.names or source == target:
            return None
        start = self.names[source]
        if start not in self._known:
            self._known[start] = self.before(start)
        at = self._known[start][self.names[target]]
        return None if at == _NOWHERE else self._order[at]


def floyd(zone: Zone) -> Predecessors:
    """All shortest ways at once."""
    names = {name: at for at, name in enumerate(zone.members)}
    count = len(names)
    cost = np.full((count, count), np.inf)
    before = np.full((count, count), _NOWHERE, dtype=np.int64)
    for (source, target), edge in zone.routes.items():
        if source != target:
            cost[names[source], names[target]] = len(edge.links)
            before[names[source], names[target]] = names[source]
    np.fill_diagonal(cost, 0.0)
    for middle in range(count):
        over = cost[:, middle, None] + cost[middle]
        is_shorter = over < cost
        cost = np.where(is_shorter, over, cost)
        before = np.where(is_shorter, before[middle], before)
    return Predecessors(names, lambda source: [int(at) for at in before[source]])


def dijkstra(zone: Zone) -> Predecessors:
    """The shortest ways from one member at a time, when one is asked for."""
    names: dict[str, int] = {}
    for ends in zone.routes:
        for name in ends:
            names.setdefault(name, len(names))
    onwards: list[list[tuple[int, int]]] = [[] for _ in names]
    for (source, target), edge in zone.routes.items():
        if source != target:
            onwards[names[source]].append((names[target], len(edge.links)))

    def before(source: int) -> list[int]:
        cost = [float("inf")] * len(names)
        cost[source] = 0.0
        last = [_NOWHERE] * len(names)
        queue = [(0.0, source)]
        while queue:
            reached, at = heappop(queue)
            if reached > cost[at]:
                continue
            for onto, length in onwards[at]:
                if reached + length < cost[onto]:
                    cost[onto], last[onto] = reached + length, at
                    heappush(queue, (cost[onto], onto))
        return last

    return Predecessors(names, before)
