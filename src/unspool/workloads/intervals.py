"""Sets of machines as Batsim writes them: closed intervals of ids between blanks, as in `0-3 7 9-10`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from unspool.errors import InputError, shown
from unspool.limits import refuse_beyond

__all__ = ["format_intervals", "parse_intervals"]

_PART = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


def parse_intervals(text: str) -> tuple[int, ...]:
    """The ids of a set, ascending and each once, in whatever order and overlap the intervals stand.

    >>> parse_intervals("5 2-2 7 1-3")
    (1, 2, 3, 5, 7)
    """
    ids: set[int] = set()
    for part in text.split():
        match = _PART.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if last < first:
            raise InputError(f"'{shown(part)}' in '{shown(text)}' is no interval; expected ids such as 0-3 7 9-10")
        refuse_beyond(last - first + 1, "set_ids", f"'{shown(part)}' in '{shown(text)}'")
        ids.update(range(first, last + 1))
    return tuple(sorted(ids))


def format_intervals(ids: Iterable[int]) -> str:
    """The canonical text of a set: disjoint intervals as long as can be, ascending.

    >>> format_intervals([7, 0, 1, 2, 3, 10, 9])
    '0-3 7 9-10'
    """
    parts: list[list[int]] = []
    for number in sorted(set(ids)):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return " ".join(f"{first}-{last}" if last > first else str(first) for first, last in parts)
