"""Numbers as people read them on a page."""

from __future__ import annotations

from itertools import pairwise

from unspool.units import format_number

__all__ = ["amount", "change", "decimal", "duration", "energy", "hours", "money", "percent"]

_UNKNOWN = "unknown"
_PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


def money(usd: float | None) -> str:
    """Dollars: whole ones from ten thousand on, cents below, and three digits of what is below a dollar.

    >>> money(12345.6), money(1234.5), money(0.016), money(0.0), money(-2.5)
    ('$12,346', '$1,234.50', '$0.016', '$0', '-$2.50')
    """
    if usd is None:
        return _UNKNOWN
    sign, size = ("-", -usd) if usd < 0 else ("", usd)
    if size >= 10_000:
        return f"{sign}${size:,.0f}"
    if size >= 0.995:
        return f"{sign}${size:,.2f}"
    return f"{sign}${float(f'{size:.3g}'):.10f}".rstrip("0").rstrip(".")


def amount(value: float | None) -> str:
    """A count or an amount, with three digits where it is small.

    >>> amount(1234567), amount(12.345), amount(0.01234), amount(0.00001234), amount(None)
    ('1,234,567', '12.3', '0.0123', '0.0000123', 'unknown')
    """
    if value is None:
        return _UNKNOWN
    return f"{value:,}" if isinstance(value, int) else format_number(value, 3)


def energy(joules: float | None) -> str:
    """Joules, in kilowatt-hours from a tenth of one on.

    >>> energy(7.2e8), energy(36000.0), energy(None)
    ('200 kWh', '36,000 J', 'unknown')
    """
    if joules is None:
        return _UNKNOWN
    return f"{amount(joules / 3.6e6)} kWh" if joules >= 3.6e5 else f"{amount(joules)} J"


def hours(value: float | None) -> str:
    """A number of hours.

    >>> hours(1), hours(0.5), hours(2345.6)
    ('1 hour', '0.5 hours', '2,346 hours')
    """
    return _UNKNOWN if value is None else f"{amount(value)} hour{'' if value == 1 else 's'}"


def duration(seconds: float | None) -> str:
    """A time in its two largest units, or that it is unknown.

    >>> duration(0.0), duration(0.25), duration(42.4), duration(61), duration(7322), duration(183600), duration(None)
    ('0 s', '0.25 s', '42.4 s', '1 min 1 s', '2 h 2 min', '2 d 3 h', 'unknown')
    >>> duration(3599.9), duration(-90), duration(864000), duration(0.0004)
    ('1 h', '-1 min 30 s', '10 d', '0.0004 s')
    """
    if seconds is None:
        return _UNKNOWN
    sign, size = ("-", -seconds) if seconds < 0 else ("", float(seconds))
    if size < 59.95:
        return f"{sign}{float(f'{size:.3g}'):.10f}".rstrip("0").rstrip(".") + " s"
    (large_s, large), (small_s, small) = next(
        pair for pair in pairwise(_UNITS) if round(size / pair[1][0]) * pair[1][0] >= pair[0][0]
    )
    count, rest = divmod(round(size / small_s), round(large_s / small_s))
    return f"{sign}{count:,} {large}" + (f" {rest} {small}" if rest else "")


def decimal(value: float, unit: str) -> str:
    """Bytes, flops and what there is of them in a second, with the prefix that makes it short.

    >>> decimal(1.25e9, "B"), decimal(999.0, "B"), decimal(4.2e7, "B/s")
    ('1.25 GB', '999 B', '42 MB/s')
    """
    size, prefix = next((one for one in _PREFIXES if value >= 0.9995 * one[0]), (1.0, ""))
    return f"{value / size:.3g} {prefix}{unit}"


def percent(share: float | None) -> str:
    """A share in percent, to a tenth.

    >>> percent(0.1234), percent(1.0), percent(0.0001), percent(None)
    ('12.3%', '100%', 'below 0.1%', 'unknown')
    """
    if share is None:
        return _UNKNOWN
    return "below 0.1%" if 0.0 < share < 0.0005 else f"{100 * share:.1f}".removesuffix(".0") + "%"


def change(value: float, base: float) -> str:
    """How much more or less than a base, in percent.

    >>> change(50.0, 200.0), change(3.0, 3.0), change(1.0, 0.0), change(999.9, 1000.0)
    ('-75%', '=', 'more', '-0.01%')
    """
    if value == base:
        return "="
    if not base:
        return "more" if value > base else "less"
    share = 100.0 * (value / base - 1.0)
    return f"{share:+,.0f}%" if abs(share) >= 10.0 else f"{share:+.2g}%"
