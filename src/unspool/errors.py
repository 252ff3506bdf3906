"""Everything unspool raises on purpose, drawn once.

UnspoolError
├── InputError          a file, record, option or name that cannot be used (exit 2)
│   ├── UnitError       a text such as `4GiB` or `2:00` that does not parse
│   └── UnknownName     a policy, format or option that nobody knows; names the nearest
└── RunError            a run that could not finish (exit 1)
    └── DecisionError   a policy decided something that the rules forbid
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["DecisionError", "InputError", "RunError", "UnitError", "UnknownName", "UnspoolError"]


class UnspoolError(Exception):
    """The root: catch this to catch whatever unspool raises on purpose."""


class InputError(UnspoolError):
    """Input that cannot be used; the text says what, where, what was expected and what to do."""


class UnitError(InputError):
    """A text with a unit that does not parse."""


class UnknownName(InputError):  # noqa: N818  (it is the name that is wrong)
    """A name that is not in a table; the text offers the nearest known ones.

    >>> str(UnknownName("policy", "esay", ["fcfs", "easy"]))
    "unknown policy 'esay'; did you mean 'easy'? Known: easy, fcfs"
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = get_close_matches(name, names, n=1, cutoff=0.5)
        hint = f"; did you mean '{near[0]}'?" if near else "."
        super().__init__(f"unknown {kind} '{name}'{hint} Known: {', '.join(names)}")


class RunError(UnspoolError):
    """A run that started and could not finish."""


class DecisionError(RunError):
    """A decision that the rules forbid at the instant at which it is applied; the text names it."""
