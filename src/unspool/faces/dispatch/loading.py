"""Components by name: ours, Simdex's and users'; made, and held against their interface."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from inspect import BoundArguments
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

from unspool.errors import InputError, UnknownName, UnspoolError, shown
from unspool.faces.dispatch.blame import line_of
from unspool.faces.dispatch.calls import binding, call_of, takes, wants_keyword
from unspool.faces.dispatch.modules import StandIn
from unspool.faces.dispatch.names import SIMDEX, known_names, target_of
from unspool.plugins import FILES, load_built_in
from unspool.trust import Foreign, located

__all__ = ["check_interface", "find_class", "foreign_of", "made", "told"]

_WRITTEN = "save"  # the argument that names a file which a component writes
_OTHERWISE = "or one of your own as module.Class, in a file beside the experiment"

_PLAIN = {float: "a number", int: "a whole number", bool: "true or false", str: "a text"}

# For each kind: a method, with how many arguments it is called in the original and in the fork, and how that reads.
_INTERFACE: Mapping[str, Sequence[tuple[str, tuple[int, ...], str]]] = {
    "dispatcher": [("dispatch", (3, 2), "dispatch(job, workers, simulation) or dispatch(job, workers)")],
    "sa_strategy": [("do_adapt", (4,), "do_adapt(ts, dispatcher, workers, job=None)")],
    "duration_predictor": [("predict_duration", (1,), "predict_duration(job), or predict_one(job)")],
    "worker_selector": [("select_worker", (2,), "select_worker(simulation, job)")],
    "metrics": [("job_finished", (1,), "job_finished(job)"), ("print", (0,), "print()")],
}


def find_class(kind: str, name: str, folder: Path, where: str) -> tuple[Any, bool]:
    """The class of a name and whether it is the user's: ours and Simdex's first, then files beside the experiment."""
    target = target_of(kind, name)
    if target is not None:
        return load_built_in(target), False
    module, attribute = _of_users(kind, name, where)
    return _imported(module, attribute, kind, name, folder, where), True


def _of_users(kind: str, name: str, where: str) -> tuple[str, str]:
    """The module and the class of a name that is not ours."""
    owner = SIMDEX.get(name)
    if owner is not None:
        raise InputError(f"{where}: {name} belongs under the key {owner[0]}, not under {kind}")
    module, _, attribute = name.partition(":") if ":" in name else name.rpartition(".")
    if not module or not attribute:
        raise _unknown(kind, name, where)
    return module, attribute


def _unknown(kind: str, name: str, where: str, more: str = "") -> InputError:
    return InputError(f"{where}: {UnknownName(kind.removesuffix('s'), name, known_names(kind), _OTHERWISE)}{more}")


def foreign_of(kind: str, name: str, arguments: Any, folder: Path, where: str) -> list[Foreign]:
    """What a component would load beside our code, and what it would write, found without importing it."""
    positional = arguments if isinstance(arguments, list) else []
    given = arguments if isinstance(arguments, dict) else {}
    target = target_of(kind, name)
    if target is None:
        module, _ = _of_users(kind, name, where)
        path = located(module, str(folder), os.getcwd())
        if path is None:
            raise _unknown(kind, name, where, f"; looked for {module} in {folder}")
        return [Foreign("module", module, path), *_files(given)]
    try:
        bound = binding(load_built_in(target), positional, given)
    except TypeError:
        return []  # it is refused before it is made
    return _files(given if bound is None else bound.arguments)


def _files(arguments: Mapping[str, Any]) -> list[Foreign]:
    """Files that arguments name: of something trained, to be read or written."""
    named = [(key, str(arguments[key])) for key in (*FILES, _WRITTEN) if arguments.get(key) is not None]
    return [Foreign("file" if key == _WRITTEN else "model", name, os.path.abspath(name)) for key, name in named]


def _imported(module: str, attribute: str, kind: str, name: str, folder: Path, where: str) -> Any:
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and module.split(".")[0] == error.name.split(".")[0]:
            raise _unknown(kind, name, where, f"; looked for {module} in {folder}") from error
        raise InputError(f"{where}: {module} cannot be imported: {error}{_at(error, folder)}") from error
    # A module may raise anything while it is imported.
    except (Exception, SystemExit) as error:
        raise InputError(f"{where}: {module} cannot be imported: {told(error, folder)}") from error
    for part in attribute.split("."):
        if isinstance(found, StandIn) and not hasattr(found, part):
            raise _unknown(kind, name, where)
        if not hasattr(found, part):
            names = [each for each, value in vars(found).items() if isinstance(value, type)]
            file = getattr(found, "__file__", module)
            raise InputError(f"{where}: {file}: {UnknownName('class', part, names)}")
        found = getattr(found, part)
    if not isinstance(found, type):
        raise InputError(f"{where}: {name} is no class")
    return found


def made(found: Any, arguments: Any, configuration: Mapping[str, Any], where: str, folder: Path, *, fork: bool) -> Any:
    """An object of a class; the fork gives every constructor the whole configuration, where it takes that."""
    positional = arguments if isinstance(arguments, list) else []
    keywords = dict(arguments) if isinstance(arguments, dict) else {}
    if wants_keyword(found, "configuration", any_will_do=fork) and found.__module__.split(".")[0] != "unspool":
        keywords.setdefault("configuration", configuration)
    bound = _fitting(found, positional, keywords, where)
    try:
        return found(*positional, **keywords) if bound is None else found(*bound.args, **bound.kwargs)
    except UnspoolError as error:
        raise InputError(f"{where}: {error}") from error
    # A class of somebody else's may raise anything while it is made.
    except Exception as error:
        raise InputError(f"{where}: {found.__name__} cannot be made: {told(error, folder)}") from error


def _fitting(found: Any, positional: Sequence[Any], keywords: Mapping[str, Any], where: str) -> BoundArguments | None:
    """The arguments as a class takes them; those it does not take or lacks are refused, and plain ones of no use."""
    try:
        bound = binding(found, positional, keywords)
    except TypeError as error:
        name = found.__name__
        raise InputError(f"{where}: {name} cannot be made: TypeError: {error}; expected {call_of(found)}") from error
    if bound is None or found.__module__.split(".")[0] != "unspool":
        return bound
    hints = get_type_hints(found.__init__)
    for name, value in bound.arguments.items():
        kinds = [kind for kind in get_args(hints.get(name)) or (hints.get(name),) if kind is not NoneType]
        if len(kinds) != 1 or kinds[0] not in _PLAIN or (value is None and get_args(hints[name])):
            continue
        if not _is(kinds[0], value):
            expected = _PLAIN[kinds[0]]
            raise InputError(f"{where}: {found.__name__}: {name} is {shown(repr(value))}; expected {expected}")
        bound.arguments[name] = int(value) if kinds[0] is int else value  # 3.0 is a whole number too
    return bound


def _is(kind: type, value: Any) -> bool:
    """Whether a value will do as one of a plain kind; 3.0 is whole, 1 is true, and NaN is no number."""
    if kind is bool or kind is str:
        return isinstance(value, int if kind is bool else str)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return False
    return kind is float or float(value).is_integer()


def check_interface(part: Any, kind: str, where: str) -> None:
    """Refuse a component without the methods that the drive calls."""
    name = type(part).__name__
    for method, counts, told in _INTERFACE[kind]:
        found = getattr(part, method, None)
        if not callable(found):
            raise InputError(f"{where}: {name} has no {method}; expected {told}")
        if not any(takes(found, count) for count in counts):
            raise InputError(f"{where}: {name}.{method} takes other arguments; expected {told}")


def told(error: BaseException, folder: Path) -> str:
    """What was raised and, where a user's file beside the experiment did, its line."""
    if isinstance(error, SyntaxError) and error.filename:
        return shown(f"{type(error).__name__}: {error.msg}", 300) + f" ({error.filename}, line {error.lineno})"
    return shown(f"{type(error).__name__}: {error}", 300) + _at(error, folder)


def _at(error: BaseException, folder: Path) -> str:
    place = line_of(error, folder)
    return "" if place is None else f" ({place})"
