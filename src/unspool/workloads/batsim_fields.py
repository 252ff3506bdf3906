"""The fields of a JSON object of a Batsim file, taken one by one; what is wrong with one is told, not raised."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard, TypeVar

import msgspec

from unspool.errors import shown

__all__ = ["MOST_TIME", "Fields", "is_number", "is_whole", "told"]

MOST_TIME = 1e18
"""Batsim's own tests submit jobs at 1e17 s, far beyond the times that a log of a real machine may have."""

_MOST_AMOUNT = 1e300  # leaves room for the sums of a task

T = TypeVar("T")

Complain = Callable[[str | None, str], None]
"""Takes the field, or None for the whole object, and what is wrong with it."""


def told(value: Any) -> str:
    """A value of a file for a message."""
    if isinstance(value, float) and not math.isfinite(value):  # 1e400, which JSON has no other way to write
        return "too large for a number"
    try:
        return shown(msgspec.json.encode(value).decode(), 40)
    except (ValueError, TypeError, RecursionError):
        return shown(str(value), 40)


def is_number(value: Any) -> TypeGuard[int | float]:
    """Whether it is a JSON number that is finite; true and false are none."""
    return type(value) is int or (type(value) is float and math.isfinite(value))


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether it is a JSON integer; 4.0 is none."""
    return type(value) is int


class Fields:
    """The fields of one object; those that were not asked for are `rest`. After a complaint it is no longer `good`."""

    def __init__(self, given: Mapping[str, Any], complain: Complain) -> None:
        self.rest = dict(given)
        self.good = True
        self._complain = complain

    def complain(self, field: str | None, text: str) -> None:
        """Say what is wrong with a field."""
        self.good = False
        self._complain(field, text)

    def has(self, field: str) -> bool:
        """Whether the field is there and was not asked for yet."""
        return field in self.rest

    def number(self, field: str, expected: str, *, above: float = -math.inf, default: float | None = None) -> float:
        """A number of 0 or more, or of more than `above`."""
        if field not in self.rest and default is not None:
            return default
        value = self._needed(field, expected)
        is_large = is_number(value) and (value > above if above > -math.inf else value >= 0)
        if not is_large:
            return self._refused(field, value, expected, math.nan)
        if value > _MOST_AMOUNT:
            return self._refused(field, value, f"{expected}, and not above {_MOST_AMOUNT:g}", math.nan)
        return float(value)

    def whole(self, field: str, expected: str, *, least: int, most: int, default: int) -> int:
        """A JSON integer between two."""
        if field not in self.rest:
            return default
        value = self._needed(field, expected)
        if not is_whole(value) or not least <= value <= most:
            return self._refused(field, value, expected, default)
        return int(value)

    def text(self, field: str, expected: str, default: str | None = None) -> str:
        """A text."""
        if field not in self.rest and default is not None:
            return default
        value = self._needed(field, expected)
        return value if isinstance(value, str) else self._refused(field, value, expected, "")

    def mapping(self, field: str, expected: str) -> Mapping[str, Any]:
        """An object."""
        value = self._needed(field, expected)
        return value if isinstance(value, dict) else self._refused(field, value, expected, {})

    def numbers(self, field: str, expected: str) -> tuple[float, ...]:
        """An array of at least one number, none below 0."""
        value = self._needed(field, expected)
        if not isinstance(value, list) or not value:
            return self._refused(field, value, expected, ())
        bad = next((each for each in value if not is_number(each) or not 0 <= each <= _MOST_AMOUNT), None)
        if bad is not None or None in value:
            return self._refused(field, bad, expected, ())
        return tuple(map(float, value))

    def names(self, field: str, expected: str) -> tuple[str, ...]:
        """An array of at least one text."""
        value = self._needed(field, expected)
        if not isinstance(value, list) or not value or not all(isinstance(each, str) for each in value):
            return self._refused(field, value, expected, ())
        return tuple(value)

    def _needed(self, field: str, expected: str) -> Any:
        if field not in self.rest:
            self.complain(field, f"no {field}; expected {expected}")
            return _MISSING
        return self.rest.pop(field)

    def _refused(self, field: str, value: Any, expected: str, instead: T) -> T:
        if value is not _MISSING:
            self.complain(field, f"{field} is {told(value)}; expected {expected}")
        return instead


_MISSING = object()
