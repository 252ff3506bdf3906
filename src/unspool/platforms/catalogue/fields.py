"""Values of a catalogue, checked; what is wrong with one names its place."""

from __future__ import annotations

import math
import re
from datetime import date
from fractions import Fraction
from typing import Any

from unspool.errors import InputError, shown

__all__ = ["Fields", "is_term", "spot_prices"]

_TERM = re.compile(r"(RI|EC2 SP|Compute SP) \d+yr .+")
_MOST = 10**12


def is_term(name: str) -> bool:
    """Whether a name is that of a term, such as `RI 1yr standard No Upfront` or `EC2 SP 3yr All Upfront`.

    >>> is_term("Compute SP 3yr No Upfront"), is_term("cores")
    (True, False)
    """
    return _TERM.fullmatch(name) is not None


def spot_prices(zones: list[float]) -> dict[str, float]:
    """Maximum, median and minimum over zones; the median of an even number is the mean of the middle two.

    >>> spot_prices([0.5, 0.2, 0.25, 1.0])
    {'max': 1.0, 'median': 0.375, 'min': 0.2}
    """
    if not zones:
        return {}
    ordered = sorted(zones)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return {"max": ordered[-1], "median": low if low == high else (low + high) / 2, "min": ordered[0]}


class Fields:
    """The fields of one type, as texts or numbers, and the place for complaints. An empty field is None."""

    def __init__(self, values: dict[str, Any], where: str) -> None:
        self._values = values
        self.where = where

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def names(self) -> tuple[str, ...]:
        """The names of all fields, empty ones too."""
        return tuple(self._values)

    def get(self, name: str) -> Any:
        """The value; None if there is none, or an empty one."""
        value = self._values.get(name)
        value = value.strip() if isinstance(value, str) else value
        return None if value == "" else value

    def text(self, name: str) -> str:
        """A text; empty if there is none."""
        value = self.get(name)
        if value is not None and not isinstance(value, str):
            raise self.refusal(name, value, "a text")
        return value or ""

    def count(self, name: str, least: int = 1) -> int:
        """A whole number that must be there."""
        expected = f"a whole number, {least} or more"
        number = self._number(name, expected)
        if number is None or number != int(number) or not least <= number <= _MOST:
            raise self.refusal(name, self.get(name), expected)
        return int(number)

    def amount(self, name: str, expected: str) -> float | None:
        """A number, 0 or more, or None."""
        number = self._number(name, expected)
        if number is not None and not 0.0 <= number <= _MOST:
            raise self.refusal(name, self.get(name), expected)
        return number

    def price(self, name: str) -> float | None:
        """Dollars an hour, or None."""
        return self.amount(name, "dollars an hour, 0 or more, or nothing")

    def memory(self, name: str, unit_bytes: int) -> int:
        """Bytes of an amount in a unit, exactly."""
        number = self._number(name, expected := "an amount of memory above 0")
        size = Fraction(0) if number is None else Fraction(str(self.get(name))) * unit_bytes
        if not 1 <= size <= 1 << 62:
            raise self.refusal(name, self.get(name), expected)
        return round(size)

    def date(self, name: str) -> str | None:
        """A date as text, or None."""
        value = self.get(name)
        if value is None:
            return None
        try:
            return date.fromisoformat(value).isoformat()
        except (TypeError, ValueError):
            raise self.refusal(name, value, "a date such as 2026-08-22") from None

    def refusal(self, name: str, value: Any, expected: str) -> InputError:
        """The complaint about a value."""
        said = f"{name} is missing" if value is None else f"{name} is '{shown(str(value))}'"
        return InputError(f"{self.where}: {said}; expected {expected}")

    def _number(self, name: str, expected: str) -> float | None:
        value = self.get(name)
        if value is None:
            return None
        try:
            number = float("nan" if isinstance(value, bool) else value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number) or (isinstance(value, str) and "_" in value):
            raise self.refusal(name, value, expected)
        return number
