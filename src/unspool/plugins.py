"""Names of policies and other parts: a table of our own, then entry points, then `module:Name`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from unspool.errors import InputError, UnknownName

__all__ = ["BUILT_IN", "available", "build"]

BUILT_IN: Mapping[str, Mapping[str, str]] = {
    "schedulers": {
        "fcfs": "unspool.policies.schedulers.fcfs:Fcfs",
        "easy": "unspool.policies.schedulers.easy:Easy",
        "conservative": "unspool.policies.schedulers.conservative:Conservative",
    },
}
"""For each kind of part its names and where they live; a new one is one line here."""


def available(kind: str) -> dict[str, str]:
    """Every name of a kind and where it comes from, ours first."""
    if kind not in BUILT_IN:
        raise UnknownName("kind of plugin", kind, BUILT_IN)
    found = {point.name: point.value for point in entry_points(group=f"unspool.{kind}")}
    return {**found, **BUILT_IN[kind]}


def build(kind: str, text: str) -> Any:
    """Make a part from its name, with parameters where given: `easy`, `name:key=value,key=value`, `module:Name`.

    A class is called with the parameters; a function, which takes none, is returned as it is.
    """
    name, _, rest = text.partition(":")
    names = available(kind)
    if name in names:
        target = names[name]
    elif rest and "=" not in rest.split(":")[0]:
        attribute, _, rest = rest.partition(":")
        target = f"{name}:{attribute}"
    else:
        raise UnknownName(kind.removesuffix("s"), name, names)
    found = _load(target, text)
    parameters = _parameters(rest, text)
    if not isinstance(found, type):
        if parameters:
            raise InputError(f"'{text}': {target} is a function and takes no parameters")
        return found
    try:
        return found(**parameters)
    except TypeError as error:
        raise InputError(f"'{text}': {error}") from error


def _load(target: str, text: str) -> Any:
    module, _, attribute = target.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"'{text}': cannot load {attribute} from {module}: {error}") from error


def _parameters(text: str, whole: str) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        key, equals, value = part.partition("=")
        if not equals or not key.isidentifier():
            raise InputError(f"'{whole}': '{part}' does not read as key=value")
        parameters[key] = _value(value)
    return parameters


def _value(text: str) -> bool | int | float | str:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
