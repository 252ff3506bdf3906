"""Whose mistake it is: the file and the line of a user's component, for messages."""

from __future__ import annotations

import math
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from unspool.errors import DecisionError, InputError, InputErrors, RunError, UnspoolError, shown

__all__ = ["Misjudged", "asked", "blamed", "check_seconds", "definition", "line_of", "wrong_worker"]

_OURS = Path(__file__).resolve().parents[2]


class Misjudged(DecisionError):  # noqa: N818  (as DecisionError's other cause)
    """A component returned what nobody can use; the text begins with the file and the line of its method."""


def blamed(error: BaseException, folder: Path, parts: Iterable[Any], at: float) -> UnspoolError | None:
    """The error with the line of the user's file in which it arose; None if it is ours, or names a line already.

    Users' files are those of the components and those below the folder or the current one, packages aside. `at` is the
    time of the simulation.
    """
    if isinstance(error, Misjudged):
        return None
    files = {type(part).__name__: file for part in parts if (file := _file_of(part)) is not None}
    place = line_of(error, folder, files.values())
    if place is None and error.__cause__ is not None:
        place = line_of(error.__cause__, folder, files.values())
    if place is None:
        return None if isinstance(error, UnspoolError) or not files else _suspected(error, files, at)
    is_ours = isinstance(error, UnspoolError) and not isinstance(error, InputErrors)
    what = str(error) if is_ours else shown(f"{type(error).__name__}: {error}", 300)
    kind = InputError if isinstance(error, InputError) else RunError
    return kind(f"{place}: {what} (at {at} s of the simulation)")


def _suspected(error: BaseException, files: Mapping[str, str], at: float) -> RunError:
    """What is said where our own code met something that it cannot use, and users' components took part."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    theirs = ", ".join(f"{name} ({file})" for name, file in files.items())
    what = shown(f"{type(error).__name__}: {error}", 200)
    return RunError(
        f"{what} ({Path(frame.filename).name}, line {frame.lineno}, at {at} s of the simulation); "
        f"look for a value or a change that cannot be used in {theirs}"
    )


def asked(function: Callable[..., Any], *arguments: Any, failing: str = "", **keywords: Any) -> Any:
    """What a component says when the run is over; `failing` begins the message where it raises instead."""
    try:
        return function(*arguments, **keywords)
    except UnspoolError:
        raise
    # A component of a user's may raise anything.
    except (Exception, SystemExit) as error:
        code = getattr(getattr(function, "__func__", function), "__code__", None)
        place = line_of(error, files=() if code is None else (code.co_filename,))
        what = shown(f"{failing}{type(error).__name__}: {error}", 300)
        raise RunError(what if place is None else f"{place}: {what}") from error


def line_of(error: BaseException, folder: Path | None = None, files: Iterable[str] = ()) -> str | None:
    """The last line of a user's own file in which an error arose; None if there is none."""
    places, named = (*(() if folder is None else (folder.resolve(),)), Path.cwd()), set(files)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename.startswith("<"):  # made by exec, or Python's own import
            continue
        if (frame.filename in named and not _is_ours(Path(frame.filename))) or _is_users(Path(frame.filename), places):
            return f"{frame.filename}, line {frame.lineno}"
    return None


def definition(function: Any) -> str:
    """What a method is called and, of a user's, its file and its line, as a message begins with it."""
    inner = getattr(function, "__func__", function)
    name = getattr(inner, "__qualname__", type(function).__name__)
    code = getattr(inner, "__code__", None)
    if code is None or _is_ours(Path(code.co_filename)):
        return str(name)
    return f"{code.co_filename}, line {code.co_firstlineno}: {name}"


def check_seconds(value: Any, function: Callable[..., Any], job: Any) -> None:
    """Complain of a prediction that is no number, of whichever kind."""
    if isinstance(value, int | float) and value == value:
        return
    try:
        is_number = hasattr(value, "__float__") and not math.isnan(float(value))
    except (TypeError, ValueError):  # an array of several, say
        is_number = False
    if not is_number:
        _misjudged(function, value, job, "seconds, as a number")


def wrong_worker(function: Callable[..., Any], value: Any, job: Any, workers: int) -> NoReturn:
    """Complain of a selector that names a worker that there is not."""
    _misjudged(function, value, job, f"the number of a worker, 0 to {workers - 1}")


def _misjudged(function: Callable[..., Any], value: Any, job: Any, expected: str) -> NoReturn:
    told = shown(repr(value))
    raise Misjudged(f"{definition(function)} returned {told} for job {job.row + 1}; expected {expected}")


def _file_of(part: Any) -> str | None:
    """The file of a component's class; None for those of unspool."""
    module = type(getattr(part, "inner", part)).__module__
    return None if module.split(".")[0] == "unspool" else getattr(sys.modules.get(module), "__file__", None)


def _is_ours(file: Path) -> bool:
    return file.resolve().is_relative_to(_OURS)


def _is_users(file: Path, places: tuple[Path, ...]) -> bool:
    real = file.resolve()
    if _is_ours(real) or "site-packages" in real.parts:
        return False
    return any(real.is_relative_to(place) for place in places)
