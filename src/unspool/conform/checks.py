"""A check: a recorded case that can be run, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from unspool.errors import InputError

__all__ = ["MOST_SHOWN", "Check", "Outcome", "decoded", "few", "files_named", "text_differences"]

MOST_SHOWN = 5  # of the differences of one case: the first say what is wrong, and a thousand say no more

T = TypeVar("T")


@dataclass(frozen=True)
class Outcome:
    """What differs, in sentences; or why the case was not run; or what is only reported, and counts for neither."""

    differences: tuple[str, ...] = ()
    skipped: str | None = None
    reported: str | None = None

    @property
    def verdict(self) -> str:
        """`agrees`, `differs`, `skipped` or `reported`."""
        if self.skipped is not None:
            return "skipped"
        if self.differences:
            return "differs"
        return "reported" if self.reported is not None else "agrees"


@dataclass(frozen=True)
class Check:
    """A case by its name; `run` makes its outcome, and may take a while."""

    name: str
    run: Callable[[], Outcome]


def decoded(path: Path, form: type[T]) -> T:
    """The JSON of a file in that form, or a complaint that says where it is not."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}; give a file that is there") from None
    try:
        return msgspec.json.decode(data, type=form)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}; docs/reference/conform.md shows the form of such a file") from None


def files_named(path: Path, pattern: str, what: str) -> list[Path]:
    """The file itself, or the files of a folder that match, in the order of their names; none is a complaint."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InputError(f"{path}: there is no such file or folder; give one that holds {what}")
    found = sorted(path.glob(pattern))
    if not found:
        raise InputError(f"{path}: no {pattern} is in this folder; give one that holds {what}")
    return found


def few(differences: Iterable[str]) -> tuple[str, ...]:
    """The first differences, and how many more there are.

    >>> few(f"line {at}" for at in range(9))
    ('line 0', 'line 1', 'line 2', 'line 3', 'line 4', 'and 4 more')
    """
    found = list(differences)
    if len(found) <= MOST_SHOWN:
        return tuple(found)
    return (*found[:MOST_SHOWN], f"and {len(found) - MOST_SHOWN} more")


def text_differences(found: str, recorded: str) -> tuple[str, ...]:
    """Where two texts differ, by lines; all of the text counts, its last end of line too.

    >>> text_differences("one\\ntwo\\n", "one\\nthree\\n")
    ("line 2: 'two', recorded 'three'",)
    """
    if found == recorded:
        return ()
    ours, theirs = found.split("\n"), recorded.split("\n")
    lines = [
        f"line {at}: {mine!r}, recorded {other!r}"
        for at, (mine, other) in enumerate(zip(ours, theirs, strict=False), 1)
        if mine != other
    ]
    if len(ours) != len(theirs):
        lines.append(f"{len(ours)} lines, recorded {len(theirs)}")
    return few(lines)
