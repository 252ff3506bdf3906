"""Lists of regular expressions for queues and projects (spec B1.6)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from unspool.errors import InputError, shown

__all__ = ["matches", "refuse_patterns"]


def matches(rules: Sequence[str], name: str) -> bool:
    """Whether a queue or project counts: the first rule that matches from the start decides, `-` excludes.

    >>> [matches(["-test.*", "t", "batch"], name) for name in ("test1", "tiny", "batch", "other")]
    [False, True, True, False]
    """
    for rule in rules:
        if re.match(rule.removeprefix("-"), name):
            return not rule.startswith("-")
    return False


def refuse_patterns(patterns: Iterable[str], place: str) -> None:
    """Complain of the first text that is no regular expression."""
    for pattern in patterns:
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise InputError(f"{place}: '{shown(pattern)}' is no regular expression: {error}") from error
