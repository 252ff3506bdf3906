"""Texts with units, parsed at the edge and nowhere else: durations, bytes, frequencies, rates, speeds, latencies.

Inside unspool there are only seconds, bytes, hertz, bytes per second and flop per second. Negative, infinite and
undefined amounts are refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from unspool.errors import UnitError

__all__ = [
    "counted",
    "format_bytes",
    "format_duration",
    "format_moment",
    "format_number",
    "name_duration",
    "parse_bytes",
    "parse_duration",
    "parse_frequency",
    "parse_latency",
    "parse_part",
    "parse_rate",
    "parse_speed",
]

_LARGEST_BYTES = 2**63 - 1
_LEAST_SHOWN, _MOST_DECIMALS = 1e-12, 20
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NAMED = (("day", 86400.0), ("hour", 3600.0), ("minute", 60.0))

_SECONDS: Mapping[str, float] = {
    name: seconds
    for names, seconds in (
        ("ms millisecond milliseconds", 0.001),
        ("s sec secs second seconds", 1.0),
        ("m min mins minute minutes", 60.0),
        ("h hr hrs hour hours", 3600.0),
        ("d day days", 86400.0),
        ("w week weeks", 604800.0),
    )
    for name in names.split()
}
_BYTES: Mapping[str, float] = {
    "b": 1,
    **{f"{prefix}b": 1000**power for power, prefix in enumerate("kmgtp", 1)},
    **{f"{prefix}ib": 1024**power for power, prefix in enumerate("kmgtp", 1)},
}
_HERTZ: Mapping[str, float] = {"hz": 1.0, "khz": 1e3, "mhz": 1e6, "ghz": 1e9, "thz": 1e12}
_DECIMAL: Mapping[str, float] = {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_BINARY: Mapping[str, float] = {f"{prefix}i": 1024**power for power, prefix in enumerate("KMGTPE", 1)}
_PREFIXES: Mapping[str, float] = {**_DECIMAL, **_BINARY}
_RATES: Mapping[str, float] = {
    f"{prefix}{unit}{per}": factor / bits
    for prefix, factor in _PREFIXES.items()
    for unit, bits in (("B", 1), ("b", 8), ("bit", 8))
    for per in ("ps", "/s")
}
_SPEEDS: Mapping[str, float] = {
    f"{prefix}{unit}": factor for prefix, factor in _PREFIXES.items() for unit in ("f", "flops", "flop/s")
}
_LATENCIES: Mapping[str, float] = {
    "ps": 1e-12,
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "w": 604800.0,
}

_NUMBER = r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?"
_AMOUNT = re.compile(rf"({_NUMBER})\s*([A-Za-z/]*)")
_CLOCK = re.compile(r"(?:(?:([0-9]+)(?:-|\s*d\s+))?([0-9]+):)?([0-9]+):([0-9]+(?:\.[0-9]+)?)")


def parse_duration(text: str | float) -> float:
    """Seconds of a duration: a number, `[[D-]H:]M:S`, or amounts with units.

    With colons the last part is always seconds: `2:00` is two minutes. Only the first part may exceed what its unit
    holds (`90:00` is an hour and a half).

    >>> parse_duration("2:00"), parse_duration("1:30:00"), parse_duration("1-12:00:00")
    (120.0, 5400.0, 129600.0)
    >>> parse_duration("5 min"), parse_duration("1.5h"), parse_duration("1h 30m"), parse_duration("90")
    (300.0, 5400.0, 5400.0, 90.0)
    """
    expected = "a duration such as 90, 5 min, 1.5h, 2:00 (minutes and seconds) or 1-12:00:00"
    if not isinstance(text, str):
        return _checked(text, text, expected)
    stripped = text.strip()
    clock = _CLOCK.fullmatch(stripped)
    if clock:
        return _checked(_clock_seconds(clock), text, expected)
    total, position = 0.0, 0
    parts = list(_AMOUNT.finditer(stripped))
    for part in parts:
        number, unit = part.groups()
        is_bare = not unit and len(parts) == 1
        factor = 1.0 if is_bare else _SECONDS.get(unit.lower())
        if factor is None or stripped[position : part.start()].strip():
            raise _refusal(text, expected)
        total += float(number) * factor
        position = part.end()
    if not parts or position != len(stripped):
        raise _refusal(text, expected)
    return _checked(total, text, expected)


def parse_part(text: str | float, whole_s: float) -> float:
    """Seconds of a part of a span of so many seconds: a duration, or a percentage of the span.

    >>> parse_part("7d", 1e6), parse_part("10%", 1e6)
    (604800.0, 100000.0)
    """
    stripped = text.strip() if isinstance(text, str) else ""
    if not stripped.endswith("%"):
        return parse_duration(text)
    expected = "a percentage from 0% to 100%, such as 10%"
    share = _scaled(stripped[:-1], {}, 1.0, expected, case_counts=True)
    if share > 100.0:
        raise _refusal(text, expected)
    return whole_s * share / 100.0


def parse_bytes(text: str | float) -> int:
    """Bytes of a size: `kB, MB, GB, TB, PB` are decimal, `KiB … PiB` binary, a bare number is bytes.

    `64G` is refused, since people mean either. Fractions of a byte are rounded.

    >>> parse_bytes("4GiB"), parse_bytes("64 GB"), parse_bytes("512"), parse_bytes("1.5TiB")
    (4294967296, 64000000000, 512, 1649267441664)
    """
    expected = "a size such as 512, 64GB (decimal) or 4GiB (binary)"
    value = _scaled(text, _BYTES, 1.0, expected, case_counts=False)
    if value > _LARGEST_BYTES:
        raise _refusal(text, f"{expected} below 8 EiB")
    if isinstance(text, int):
        return text
    match = _AMOUNT.fullmatch(text.strip()) if isinstance(text, str) else None
    if match and match[1].isdigit():
        return int(match[1]) * int(_BYTES.get(match[2].lower(), 1))
    return round(value)


def parse_frequency(text: str | float) -> float:
    """Hertz of a frequency; a bare number is hertz.

    >>> parse_frequency("2.5GHz"), parse_frequency(1e9)
    (2500000000.0, 1000000000.0)
    """
    return _scaled(text, _HERTZ, 1.0, "a frequency such as 2.5GHz or 800 MHz", case_counts=False)


def parse_rate(text: str | float) -> float:
    """Bytes per second of a rate: `B` is bytes and `b` is bits; a bare number is bytes per second.

    >>> parse_rate("10MBps"), parse_rate("10 MB/s"), parse_rate("1Gbps"), parse_rate("1KiB/s")
    (10000000.0, 10000000.0, 125000000.0, 1024.0)
    """
    return _scaled(text, _RATES, 1.0, "a rate such as 10MBps, 10MB/s (bytes) or 1Gbps (bits)", case_counts=True)


def parse_speed(text: str | float) -> float:
    """Flop per second of a speed; a bare number is flop per second.

    >>> parse_speed("1Gf"), parse_speed("76.296Mf"), parse_speed("0.5f"), parse_speed("1e-9Mf"), parse_speed(42)
    (1000000000.0, 76296000.0, 0.5, 0.001, 42.0)
    """
    return _scaled(text, _SPEEDS, 1.0, "a speed such as 1Gf, 100Mf or 5e8 (flop per second)", case_counts=True)


def parse_latency(text: str | float) -> float:
    """Seconds that a message is on its way; a bare number is seconds.

    >>> parse_latency("250us"), parse_latency("1.5ms"), parse_latency("0"), parse_latency("2s")
    (0.00025, 0.0015, 0.0, 2.0)
    """
    return _scaled(text, _LATENCIES, 1.0, "a latency such as 50us, 1.5ms or 0.001 (seconds)", case_counts=True)


def format_duration(seconds: float) -> str:
    """A duration to read: whole seconds from a minute on, at most two decimals below it.

    >>> format_duration(129600), format_duration(5400), format_duration(125), format_duration(0.25)
    ('1d 12:00:00', '1:30:00', '2:05', '0.25 s')
    """
    if not math.isfinite(seconds):
        return str(seconds)
    sign, size = ("-", -seconds) if seconds < 0 else ("", seconds)
    if size < 59.995:
        text = f"{size:.2f}".rstrip("0").rstrip(".")
        return "0 s" if text == "0" else f"{sign}{text} s"
    minutes, second = divmod(round(size), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return f"{sign}{days}d {hour:02}:{minute:02}:{second:02}"
    return f"{sign}{hour}:{minute:02}:{second:02}" if hour else f"{sign}{minute}:{second:02}"


def format_moment(unix_s: float) -> str:
    """A moment in UTC, to the minute. `strftime` would name the month in the language of the locale.

    >>> format_moment(1772416800.0)
    '02 Mar 2026 02:00'
    """
    at = datetime.fromtimestamp(unix_s, UTC)
    return f"{at.day:02} {_MONTHS[at.month - 1]} {at.year} {at:%H:%M}"


def format_number(value: float, digits: int = 6) -> str:
    """A number to read: never an exponent, thousands set apart, and so many digits unless its whole part has more.

    What is smaller than 1e-12 is 0.

    >>> format_number(1e6), format_number(21730.44, 4), format_number(0.37), format_number(1.5e-5, 3)
    ('1,000,000', '21,730', '0.37', '0.000015')
    """
    if not math.isfinite(value):
        return str(value)
    if abs(value) < _LEAST_SHOWN:
        return "0"
    decimals = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
    text = f"{value:,.{min(decimals, _MOST_DECIMALS)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def name_duration(seconds: float) -> str:
    """A duration with the name of the largest unit, up to days, of which it is a whole number.

    >>> name_duration(86400), name_duration(300), name_duration(90)
    ('1 day', '5 minutes', '90 seconds')
    """
    unit, unit_s = next((one for one in _NAMED if seconds >= one[1] and seconds % one[1] == 0.0), ("second", 1.0))
    count = seconds / unit_s
    return f"{format_number(count)} {unit}{'' if count == 1 else 's'}"


def counted(number: int, what: str = "job", several: str | None = None) -> str:
    """A number of things; `several` is what they are called where that is not `what` with an s.

    >>> counted(1), counted(2500, "record"), counted(2, "record or job", "records or jobs")
    ('1 job', '2,500 records', '2 records or jobs')
    """
    return f"{number:,} {what if number == 1 else several or f'{what}s'}"


def format_bytes(size: float) -> str:
    """A size to read, in binary units with at most two decimals.

    >>> format_bytes(512), format_bytes(4294967296), format_bytes(1649267441664)
    ('512 B', '4 GiB', '1.5 TiB')
    """
    power = 0
    while power < 5 and abs(size) >= 1023.995:
        size, power = size / 1024, power + 1
    number = f"{size:.2f}".rstrip("0").rstrip(".")
    return f"{number} {('B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB')[power]}"


def _clock_seconds(clock: re.Match[str]) -> float:
    """Seconds of a matched `[[D-]H:]M:S`, or NaN where an inner part overflows."""
    days, hours, minutes, seconds = (float(part) if part else 0.0 for part in clock.groups())
    overflows = seconds >= 60 or (clock[2] and minutes >= 60) or (clock[1] and hours >= 24)
    return math.nan if overflows else days * 86400 + hours * 3600 + minutes * 60 + seconds


def _scaled(text: str | float, units: Mapping[str, float], bare: float, expected: str, *, case_counts: bool) -> float:
    if not isinstance(text, str):
        return _checked(text, text, expected)
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise _refusal(text, expected)
    unit = match[2] if case_counts else match[2].lower()
    factor = units.get(unit) if unit else bare
    if factor is None:
        raise _refusal(text, expected)
    return _checked(float(match[1]) * factor, text, expected)


def _checked(value: float, given: object, expected: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _refusal(given, expected)
    try:
        number = float(value)
    except OverflowError:
        raise _refusal(given, expected) from None
    if not math.isfinite(number) or number < 0:
        raise _refusal(given, expected)
    return number


def _refusal(given: object, expected: str) -> UnitError:
    shown = str(given)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}…"
    return UnitError(f"'{shown}' is not {expected}")
