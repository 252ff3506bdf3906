"""JSON without blanks. Numbers keep all their digits, so that whoever reads a time and sends it back means the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring
from typing import Any

from unspool.errors import shown

__all__ = ["json_text", "number_text", "quoted", "told"]

_WORDS = {True: "true", False: "false", None: "null"}

quoted = encode_basestring
"""A text in quotes, its special characters escaped; others than ASCII stay as they are."""


def number_text(number: float) -> str:
    """A time or another number that need not be whole: the fewest digits that are read back as the same number.

    >>> number_text(10), number_text(0.1 + 0.2), number_text(5 + 5.000001)
    ('10.0', '0.30000000000000004', '10.000001000000001')
    """
    return repr(float(number))


def json_text(value: Any) -> str:
    """Any value as JSON.

    >>> json_text({"delay": 20.2, "res": 4, "seq": ["a", None, True]})
    '{"delay":20.2,"res":4,"seq":["a",null,true]}'
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
