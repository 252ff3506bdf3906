"""Numbers as people read them on a page."""

from __future__ import annotations

from unspool.units import format_duration

__all__ = ["amount", "duration", "hours", "money", "percent"]

_UNKNOWN = "unknown"


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

    >>> amount(1234567), amount(12.345), amount(0.01234), amount(None)
    ('1,234,567', '12.3', '0.0123', 'unknown')
    """
    if value is None:
        return _UNKNOWN
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 100 or value == 0 else f"{value:.3g}"


def hours(value: float | None) -> str:
    """A number of hours.

    >>> hours(1), hours(0.5), hours(2345.6)
    ('1 hour', '0.5 hours', '2,346 hours')
    """
    return _UNKNOWN if value is None else f"{amount(value)} hour{'' if value == 1 else 's'}"


def duration(seconds: float | None) -> str:
    """A time, or that it is unknown."""
    if seconds is None:
        return _UNKNOWN
    return format_duration(round(seconds, 1 if abs(seconds) < 60 else 0))


def percent(share: float | None) -> str:
    """A share in percent, to a tenth.

    >>> percent(0.1234), percent(1.0), percent(0.0001), percent(None)
    ('12.3%', '100%', 'below 0.1%', 'unknown')
    """
    if share is None:
        return _UNKNOWN
    return "below 0.1%" if 0.0 < share < 0.0005 else f"{100 * share:.1f}".removesuffix(".0") + "%"
