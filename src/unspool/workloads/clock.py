"""The calendar of a log: which hour of which day a submission falls into, and dates given as text.

A log whose origin is not known (`origin_unix_s` is 0) is taken to begin on Thursday, 1970-01-01, at midnight UTC: its
hours and days are then those of its own clock, and only their names are arbitrary.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time

import numpy as np
import numpy.typing as npt
import polars as pl

from unspool.errors import InputError, UnitError, shown
from unspool.model.workload import Workload
from unspool.units import parse_duration

__all__ = ["HOURS_OF_WEEK", "HOUR_S", "hours_of_week", "known_zone", "seconds_of_date", "unix_of_date", "window_edges"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

HOUR_S = 3_600.0
HOURS_OF_WEEK = 168


def known_zone(name: str | None) -> str:
    """The zone by which hours are told: the log's if its name is one of the tz database, else UTC.

    >>> known_zone("Europe/Berlin"), known_zone("somewhere"), known_zone(None)
    ('Europe/Berlin', 'UTC', 'UTC')
    """
    if not name:
        return "UTC"
    try:
        pl.Series([0], dtype=pl.Datetime("us", "UTC")).dt.convert_time_zone(name)
    except pl.exceptions.PolarsError:
        return "UTC"
    return name


def hours_of_week(seconds: Floats, origin_unix_s: float, time_zone: str | None) -> Ints:
    """The hour of the week, 0 to 167 from Monday midnight by the log's clock, of times since the origin.

    >>> hours_of_week(np.array([0.0, 3600.0]), 1704067200.0, "Europe/Berlin").tolist()
    [1, 2]
    """
    unix_us = pl.Series(np.round((origin_unix_s + seconds) * 1e6).astype(np.int64))
    local = unix_us.cast(pl.Datetime("us", "UTC")).dt.convert_time_zone(known_zone(time_zone))
    hours = (local.dt.weekday().cast(pl.Int64) - 1) * 24 + local.dt.hour()
    return hours.to_numpy().astype(np.int64)


def seconds_of_date(text: str | date, workload: Workload) -> float:
    """Seconds since the origin of a log of a date, with a time or without, in the log's zone unless it has its own.

    >>> jobs = pl.DataFrame({"job_id": ["a"], "submit_time": [0], "run_time": [1], "cores": [1]})
    >>> seconds_of_date("2024-01-02", Workload.of(jobs, origin_unix_s=1704067200.0, time_zone="UTC"))
    86400.0
    """
    if not workload.origin_unix_s:
        raise InputError(
            f"{workload.name}: its origin is not known, so '{text}' cannot be placed; give seconds instead"
        )
    moment = _moment(text)
    if moment.tzinfo is None:
        local = pl.Series([moment]).dt.replace_time_zone(
            known_zone(workload.time_zone), ambiguous="earliest", non_existent="null"
        )
        if local[0] is None:
            raise InputError(f"'{text}': no such time in {workload.time_zone}, where the clocks were put forward then")
        moment = local[0]
    return moment.timestamp() - workload.origin_unix_s


def _moment(text: str | date) -> datetime:
    if isinstance(text, datetime):
        return text
    if isinstance(text, date):
        return datetime.combine(text, time())
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        expected = "a date such as 2022-03-01 or 2022-03-01T12:00"
        raise InputError(f"'{shown(text)}' is not {expected}") from None


def unix_of_date(text: str) -> float:
    """Unix seconds of a date; UTC unless it says its zone.

    >>> unix_of_date("2024-01-01")
    1704067200.0
    """
    moment = _moment(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def window_edges(text: str, called: str = "window") -> tuple[float | str | None, float | str | None]:
    """Start and end of `FROM..TO`: seconds where it is a duration, else left to be read as a date.

    >>> window_edges("1d..2d"), window_edges("2022-03-01..")
    ((86400.0, 172800.0), ('2022-03-01', None))
    """
    start, dots, end = text.partition("..")
    if not dots or not (start.strip() or end.strip()):
        raise InputError(f"{called} {shown(text)}: expected FROM..TO, as in 2022-03-01..2022-04-01 or 1d..2d")
    return _edge(start), _edge(end)


def _edge(text: str) -> float | str | None:
    if not text.strip():
        return None
    try:
        return parse_duration(text)
    except UnitError:
        return text.strip()
