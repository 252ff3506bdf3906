"""Everything unspool raises on purpose, drawn once.

UnspoolError
├── InputError          a file, record, option or name that cannot be used (exit 2)
│   ├── InputErrors     several things that are wrong with one file, shown together
│   ├── UnitError       a text such as `4GiB` or `2:00` that does not parse
│   └── UnknownName     a policy, format or option that nobody knows; names the nearest
└── RunError            a run that could not finish (exit 1)
    └── DecisionError   a policy decided something that the rules forbid
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

__all__ = [
    "DecisionError", "InputError", "InputErrors", "RunError", "UnitError", "UnknownName", "UnspoolError", "shown",
]  # fmt: skip

_MOST_PROBLEMS = 50  # that are shown of one file


def shown(text: str, length: int = 60) -> str:
    """A piece of somebody's input for a message: on one line, cut to what fits one.

    >>> shown("two\\nlines"), shown("abcdefgh", 5)
    ('two?lines', 'abcd…')
    """
    printable = "".join(char if char.isprintable() else "?" for char in text[: length + 1])
    return printable if len(printable) <= length else f"{printable[: length - 1]}…"


class UnspoolError(Exception):
    """The root: catch this to catch whatever unspool raises on purpose."""


class InputError(UnspoolError):
    """Input that cannot be used; the text says what, where, what was expected and what to do."""


class InputErrors(InputError):  # noqa: N818  (it is more than one)
    """Several things that are wrong with one file, one a line below a heading; of very many the first.

    >>> print(InputErrors("w.json: 2 problems", ["line 3, job 7: no res", "line 4, job 8: no res"]))
    w.json: 2 problems
      line 3, job 7: no res
      line 4, job 8: no res
    """

    def __init__(self, heading: str, problems: Sequence[str]) -> None:
        self.heading, self.problems = heading, tuple(problems)
        super().__init__("\n".join(self.lines()))

    def lines(self) -> list[str]:
        """The heading and, set in, the problems."""
        more = len(self.problems) - _MOST_PROBLEMS
        told = [f"  {shown(problem, 500)}" for problem in self.problems[:_MOST_PROBLEMS]]
        return [self.heading, *told, *([f"  and {more:,} more"] if more > 0 else [])]


class UnitError(InputError):
    """A text with a unit that does not parse."""


class UnknownName(InputError):  # noqa: N818  (it is the name that is wrong)
    """A name that is not in a table; the text offers the nearest known ones.

    >>> str(UnknownName("policy", "esay", ["fcfs", "easy"]))
    "unknown policy 'esay'; did you mean 'easy'? Known: easy, fcfs"
    >>> str(UnknownName("policy", "EASY", ["fcfs", "easy"]))
    "unknown policy 'EASY'; did you mean 'easy'? Known: easy, fcfs"
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], otherwise: str = "") -> None:
        names = sorted(known)
        same = [each for each in names if each.casefold() == name.casefold()]
        near = same or get_close_matches(name, names, n=1, cutoff=0.5)
        hint = f"; did you mean '{near[0]}'?" if near else "."
        offered = ", ".join([*names, otherwise] if otherwise else names)
        super().__init__(f"unknown {kind} '{shown(name)}'{hint} Known: {offered}")


class RunError(UnspoolError):
    """A run that started and could not finish."""


class DecisionError(RunError):
    """A decision that the rules forbid at the instant at which it is applied; the text names it."""
