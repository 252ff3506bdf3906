"""How components are called: with the arguments that they take, and not at all where they do nothing."""

from __future__ import annotations

import dis
from collections.abc import Callable, Mapping, Sequence
from inspect import BoundArguments, Parameter, Signature, signature
from typing import Any

__all__ = ["binding", "call_of", "does_something", "hook", "takes", "wants_keyword"]

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_IDLE = {"RESUME", "NOP", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE", "COPY_FREE_VARS", "POP_TOP"}


def takes(function: Callable[..., Any], count: int) -> bool:
    """Whether a function may be called with so many positional arguments."""
    told = _signature(function)
    if told is None:
        return True
    try:
        told.bind(*range(count))
    except TypeError:
        return False
    return True


def wants_keyword(function: Callable[..., Any], name: str, *, any_will_do: bool = False) -> bool:
    """Whether a function has a parameter of this name; with `any_will_do`, also one that takes all keywords."""
    told = _signature(function)
    if told is None:
        return False
    if name in told.parameters:
        return True
    return any_will_do and any(each.kind is Parameter.VAR_KEYWORD for each in told.parameters.values())


def binding(
    function: Callable[..., Any], positional: Sequence[Any], keywords: Mapping[str, Any]
) -> BoundArguments | None:
    """The value of each parameter that is given; TypeError if the arguments do not fit, None if nobody can tell."""
    told = _signature(function)
    return None if told is None else told.bind(*positional, **keywords)


def call_of(function: Callable[..., Any]) -> str:
    """How a function or a class is called, without types.

    >>> call_of(takes), call_of(hook)
    ('takes(function, count)', 'hook(owner, name)')
    """
    told = _signature(function)
    plain = [] if told is None else [each.replace(annotation=Parameter.empty) for each in told.parameters.values()]
    return f"{getattr(function, '__name__', 'it')}{Signature(plain)}"


def does_something(function: Any) -> bool:
    """Whether calling it can have an effect: a body of `pass` has none, so nobody needs to call it.

    >>> does_something(lambda: None), does_something(lambda: print())
    (False, True)
    """
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return code is None or any(step.opname not in _IDLE for step in dis.get_instructions(code))


def hook(owner: Any, name: str) -> Callable[..., Any] | None:
    """A method of a component that may be missing or may do nothing; None in both cases."""
    found = getattr(owner, name, None)
    return found if callable(found) and does_something(found) else None


def _signature(function: Callable[..., Any]) -> Signature | None:
    try:
        return signature(function)
    except (TypeError, ValueError):  # built-in functions may not tell
        return None
