"""JSON as Batsim writes it: numbers that are not whole numbers have six decimals, and there are no blanks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring
from typing import Any

from unspool.errors import shown

__all__ = ["json_text", "number_text", "quoted", "rounded", "told"]

_WORDS = {True: "true", False: "false", None: "null"}

quoted = encode_basestring
"""A text in quotes, its special characters escaped; others than ASCII stay as they are."""


def number_text(number: float) -> str:
    """A time or another number that need not be whole.

    >>> number_text(10), number_text(0.1 + 0.2)
    ('10.000000', '0.300000')
    """
    return f"{number:.6f}"


def rounded(number: float) -> float:
    """What somebody reads who is told a number."""
    return float(f"{number:.6f}")


def json_text(value: Any) -> str:
    """Any value as JSON.

    >>> json_text({"delay": 20.2, "res": 4, "seq": ["a", None, True]})
    '{"delay":20.200000,"res":4,"seq":["a",null,true]}'
    """
    if isinstance(value, str):
        return quoted(value)
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number_text(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{quoted(str(name))}:{json_text(each)}" for name, each in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ",".join(map(json_text, value)) + "]"
    raise TypeError(f"{value!r} cannot be told as JSON")


def told(data: Mapping[str, Any], name: str) -> str:
    """A field of an event as a complaint shows it.

    >>> told({"alloc": 3}, "alloc"), told({}, "alloc")
    ('3', 'missing')
    """
    return shown(json_text(data[name])) if name in data else "missing"
