"""What stands behind a key of a grid: one value, a list, a range, a logarithmic range, windows, or a distribution."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np

from unspool.errors import InputError, UnitError, UnknownName, shown
from unspool.units import parse_duration

__all__ = ["Distribution", "Range", "Values", "values_of"]

_MOST_VALUES = 1_000_000
_FARTHEST = 1e15  # of a range: whole numbers are exact up to there
_EXPECTED = (
    "expected a value, a list, {from, to, steps} or {from, to, step}, with scale = 'log' or without, "
    "{every, count} for windows, or a distribution such as {normal = [1.0, 0.1]}"
)
_LOG, _LINEAR = "log", "linear"
_LARGEST = sys.float_info.max
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


@dataclass(frozen=True)
class Range:
    """Numbers from one to another: so many, evenly or by a factor, whole ones if `is_whole`."""

    low: float
    high: float
    steps: int
    is_log: bool = False
    is_whole: bool = False

    def values(self) -> list[Any]:
        """The numbers; both ends are exact.

        >>> Range(1, 100, 3, is_log=True).values(), Range(0, 10, 3, is_whole=True).values()
        ([1.0, 10.0, 100.0], [0, 5, 10])
        """
        found = []
        for at in range(self.steps):
            share = at / (self.steps - 1) if self.steps > 1 else 0.0
            if at in (0, self.steps - 1):
                value = float(self.low if at == 0 else self.high)
            elif self.is_log:
                value = float(f"{math.exp(math.log(self.low) + share * math.log(self.high / self.low)):.12g}")
            else:
                value = float(f"{self.low + share * (self.high - self.low):.12g}")
            found.append(round(value) if self.is_whole else value)
        return list(dict.fromkeys(found))


Draw = Callable[[np.random.Generator, Sequence[float]], float]

_DRAWS: Mapping[str, tuple[int, str, Draw]] = {
    "uniform": (2, "[low, high]", lambda draw, of: draw.uniform(of[0], of[1])),
    "normal": (2, "[mean, standard deviation]", lambda draw, of: draw.normal(of[0], of[1])),
    "lognormal": (2, "[median, sigma of the logarithm]", lambda draw, of: of[0] * math.exp(draw.normal(0.0, of[1]))),
    "triangular": (3, "[low, mode, high]", lambda draw, of: draw.triangular(of[0], of[1], of[2])),
    "exponential": (1, "[mean]", lambda draw, of: draw.exponential(of[0])),
}


@dataclass(frozen=True)
class Distribution:
    """A value drawn for each seed, the same for every point of the grid: common random numbers."""

    key: str
    name: str
    numbers: tuple[Any, ...]
    is_whole: bool = False

    def value(self, seed: int) -> Any:
        """The value for a seed: a function of that and of the key's name, and of nothing else.

        >>> Distribution("scale_load", "uniform", (0.9, 1.1)).value(7)
        0.9758843547842789
        """
        draw = np.random.default_rng([seed, crc32(self.key.encode())])
        if self.name == "choice":
            return self.numbers[int(draw.integers(len(self.numbers)))]
        value = float(_DRAWS[self.name][2](draw, self.numbers))
        return round(value) if self.is_whole else value


@dataclass(frozen=True)
class Values:
    """The values of one key: those of the grid, and the range that they came from, where they did."""

    key: str
    values: tuple[Any, ...]
    span: Range | None = None


def values_of(key: str, given: Any) -> Values | Distribution:
    """What a key may be.

    >>> values_of("platform", {"from": 100, "to": 300, "step": 100}).values
    (100, 200, 300)
    >>> values_of("window", {"every": "7d", "count": 2}).values
    ('0d..7d', '7d..14d')
    """
    if isinstance(given, list):
        if not given:
            raise InputError(f"key {key}: the list is empty; give one value or more")
        doubled = len(given) - len({json.dumps(value, sort_keys=True, default=str) for value in given})
        if doubled:
            raise InputError(f"key {key}: a value stands twice in its list; each is run once")
        _refuse_no_numbers(key, given)
        return Values(key, tuple(given))
    if not isinstance(given, dict) or not ({"from", "every"} & given.keys() or _named(given)):
        _refuse_no_numbers(key, [given])
        return Values(key, (given,))
    if name := _named(given):
        return _distribution(key, name, given)
    if "every" in given:
        return Values(key, tuple(_windows(key, given)))
    span = _range(key, given)
    return Values(key, tuple(span.values()), span)


def _named(given: Mapping[str, Any]) -> str | None:
    return next((name for name in given if name in _DRAWS or name == "choice"), None)


def _refuse_no_numbers(key: str, values: Sequence[Any]) -> None:
    for value in values:
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"key {key}: is {value}; expected a number that is one")


def _refuse_others(key: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise InputError(f"key {key}: {UnknownName('part of its values', name, known)}")


def _distribution(key: str, name: str, given: Mapping[str, Any]) -> Distribution:
    _refuse_others(key, given, [name, "whole"])
    numbers, is_whole = given[name], given.get("whole", False)
    if not isinstance(is_whole, bool):
        raise InputError(f"key {key}: whole is {shown(str(is_whole))}; expected true or false")
    if name == "choice":
        if not isinstance(numbers, list) or not numbers:
            raise InputError(f"key {key}: choice expects a list of values to draw from")
        _refuse_no_numbers(key, numbers)
        return Distribution(key, name, tuple(numbers))
    count, expected, _ = _DRAWS[name]
    numbers = numbers if isinstance(numbers, list) else [numbers]
    if len(numbers) != count or not all(_is_number(value) for value in numbers):
        raise InputError(f"key {key}: {name} is {shown(str(numbers))}; expected {expected}, as numbers")
    found = Distribution(key, name, tuple(map(float, numbers)), is_whole)
    try:
        found.value(0)
    except (ValueError, OverflowError) as error:
        raise InputError(f"key {key}: {name} of {shown(str(numbers))}: {error}; expected {expected}") from error
    return found


def _range(key: str, given: Mapping[str, Any]) -> Range:
    _refuse_others(key, given, ["from", "to", "steps", "step", "scale", "whole"])
    low, high, steps, step = (given.get(name) for name in ("from", "to", "steps", "step"))
    scale = given.get("scale", _LINEAR)
    if not (_is_number(low) and _is_number(high)) or (steps is None) == (step is None):
        raise InputError(f"key {key}: {shown(str(dict(given)))} is no range; {_EXPECTED}")
    if scale not in (_LINEAR, _LOG):
        raise InputError(f"key {key}: {UnknownName('scale', str(scale), (_LINEAR, _LOG))}")
    assert isinstance(low, int | float)
    assert isinstance(high, int | float)
    if high < low or (scale == _LOG and low <= 0):
        least = "above 0 and up to where it ends" if scale == _LOG else "below its end"
        raise InputError(f"key {key}: the range begins at {low} and ends at {high}; expected a beginning {least}")
    if max(abs(low), abs(high)) > _FARTHEST:
        raise InputError(f"key {key}: the range goes from {low} to {high}; expected numbers up to {_FARTHEST:g}")
    if step is not None:
        if not _is_number(step) or step <= 0 or scale == _LOG:
            raise InputError(f"key {key}: step is {shown(str(step))}; expected a number above 0, or steps with log")
        count = math.floor(min((high - low) / step, _FARTHEST) * (1 + 1e-12) + 1e-9) + 1
        end = low + (count - 1) * step
        high, steps = end if isinstance(end, int) else float(f"{end:.12g}"), count
    if not isinstance(steps, int) or isinstance(steps, bool) or not 1 <= steps <= _MOST_VALUES:
        raise InputError(f"key {key}: steps is {shown(str(steps))}; expected a whole number from 1 to {_MOST_VALUES:,}")
    span = Range(low, high, steps, scale == _LOG)
    are_whole = all(isinstance(number, int) for number in (low, high)) and all(map(float.is_integer, span.values()))
    is_whole = given.get("whole", are_whole)
    if not isinstance(is_whole, bool):
        raise InputError(f"key {key}: whole is {shown(str(is_whole))}; expected true or false")
    return replace(span, is_whole=is_whole)


def _windows(key: str, given: Mapping[str, Any]) -> list[str]:
    _refuse_others(key, given, ["every", "count", "from"])
    if key != "window":
        raise InputError(f"key {key}: {{every, count}} makes windows of a log, for the key window only; {_EXPECTED}")
    count = given.get("count")
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= _MOST_VALUES:
        raise InputError(f"key {key}: count is {shown(str(count))}; expected how many windows, as in count = 8")
    try:
        start, every = parse_duration(given.get("from", 0)), parse_duration(given["every"])
    except (UnitError, TypeError) as error:
        raise InputError(f"key {key}: {error}") from error
    if every <= 0:
        raise InputError(f"key {key}: every is {given['every']}; expected a duration above 0, as in 7d")
    edges = [_edge(start + at * every) for at in range(count + 1)]
    return [f"{low}..{high}" for low, high in pairwise(edges)]


def _edge(seconds: float) -> str:
    """A time in the largest unit of which it is a whole number."""
    unit_s, unit = next(each for each in _UNITS if not seconds % each[0] or each[0] == 1)
    return f"{seconds / unit_s:.15g}{unit}"


def _is_number(value: Any) -> bool:
    # Not `math.isfinite`, which cannot take whole numbers of hundreds of digits.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST
