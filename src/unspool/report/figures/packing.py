"""Where jobs are drawn: which rows of a pool, or which part of a machine, each of them gets."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from heapq import heappop, heappush

__all__ = ["lanes"]

_WITHOUT_END = 2**62


def lanes(jobs: Iterable[tuple[float, float, int]]) -> list[list[tuple[int, int]]]:
    """First and last lane of each piece that a job of (start, end, number of lanes) gets; jobs come by start.

    The lowest free neighbours that are enough, or else the lowest that are free, in pieces. A lane whose job ends at an
    instant is free for one that starts then.

    >>> lanes([(0, 2, 1), (0, 1, 1), (0, 2, 1), (1, 3, 1), (1, 3, 2)])
    [[(0, 0)], [(1, 1)], [(2, 2)], [(1, 1)], [(3, 4)]]
    """
    free = [(0, _WITHOUT_END)]
    running: list[tuple[float, int, list[tuple[int, int]]]] = []
    given = []
    for at, (start, end, count) in enumerate(jobs):
        while running and running[0][0] <= start:
            for piece in heappop(running)[2]:
                insort(free, piece)
        free = _joined(free)
        pieces = _taken(free, count)
        heappush(running, (end, at, pieces))
        given.append(pieces)
    return given


def _joined(free: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined = [free[0]]
    for first, last in free[1:]:
        if first == joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return joined


def _taken(free: list[tuple[int, int]], count: int) -> list[tuple[int, int]]:
    """Take so many lanes out of what is free."""
    bounded = sum(last - first + 1 for first, last in free[:-1])
    enough = next((at for at, (first, last) in enumerate(free[:-1]) if last - first + 1 >= count), None)
    if enough is None and bounded < count:
        enough = len(free) - 1  # above all that is held, rather than in pieces
    pieces: list[tuple[int, int]] = []
    at = enough or 0
    while count > 0:
        first, last = free.pop(at)
        size = min(count, last - first + 1)
        pieces.append((first, first + size - 1))
        if first + size <= last:
            free.insert(at, (first + size, last))
        count -= size
    return pieces
