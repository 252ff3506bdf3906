"""Where jobs are drawn: which rows of a pool, or which part of a machine, each of them gets."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from heapq import heappop, heappush

__all__ = ["lanes"]

_WITHOUT_END = 2**62

Pieces = list[tuple[int, int]]


def lanes(jobs: Iterable[tuple[float, float, int]], limit: int) -> list[Pieces]:
    """First and last lane of each piece that a job of (start, end, number of lanes) gets; jobs come by start.

    The lowest free neighbours that are enough, or else the lowest that are free, in pieces; above the limit only where
    there are too few below it. A lane whose job ends at an instant is free for one that starts then.

    >>> lanes([(0, 2, 1), (0, 1, 1), (0, 2, 1), (1, 3, 1), (1, 3, 2)], 5)
    [[(0, 0)], [(1, 1)], [(2, 2)], [(1, 1)], [(3, 4)]]
    >>> lanes([(0, 1, 1), (0, 2, 1), (0, 1, 1), (1, 2, 2), (1, 2, 1)], 3)
    [[(0, 0)], [(1, 1)], [(2, 2)], [(0, 0), (2, 2)], [(3, 3)]]
    """
    free = [(0, limit - 1), (limit, _WITHOUT_END)]
    running: list[tuple[float, int, Pieces]] = []
    given = []
    for at, (start, end, count) in enumerate(jobs):
        while running and running[0][0] <= start:
            for piece in heappop(running)[2]:
                insort(free, piece)
        free = _joined(free, limit)
        pieces = _taken(free, count)
        heappush(running, (end, at, pieces))
        given.append(pieces)
    return given


def _joined(free: Pieces, limit: int) -> Pieces:
    joined = [free[0]]
    for first, last in free[1:]:
        if first == joined[-1][1] + 1 and first != limit:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return joined


def _taken(free: Pieces, count: int) -> Pieces:
    """Take so many lanes out of what is free, of which the last piece has no end."""
    enough = next((at for at, (first, last) in enumerate(free[:-1]) if last - first + 1 >= count), 0)
    pieces: Pieces = []
    while count > 0:
        first, last = free.pop(enough)
        size = min(count, last - first + 1)
        pieces.append((first, first + size - 1))
        if first + size <= last:
            free.insert(enough, (first + size, last))
        count -= size
    return pieces
