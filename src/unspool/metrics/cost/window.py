"""The hours that are paid: whole UTC hours, from the first that counts to the last in which anything is live."""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl

from unspool.errors import InputError
from unspool.metrics.cost.allocation import HOUR_S

__all__ = ["MOST_HOURS", "Window", "window_of"]

MOST_HOURS = 1_000_000
"""The longest table of hours, 114 years: a longer one comes of a stray date or a mistyped duration."""

_YEAR_1_HOUR, _YEAR_9999_HOUR = -17_259_888, 70_389_504


@dataclass(frozen=True)
class Window:
    """Whole UTC hours: hour 0 begins at `begin_s`, in seconds since the origin of the log."""

    begin_s: float
    hours: int
    origin_unix_s: float = 0.0

    @property
    def end_s(self) -> float:
        """One past the last instant."""
        return self.begin_s + HOUR_S * self.hours

    @property
    def begin_unix_s(self) -> float:
        """When hour 0 begins, in seconds since 1970."""
        return self.begin_s + self.origin_unix_s


def window_of(
    machines: pl.DataFrame,
    jobs: pl.DataFrame,
    origin_unix_s: float = 0.0,
    *,
    starttime: float | None = None,
    endtime: float | None = None,
) -> Window:
    """From the UTC hour of `starttime`, or of the first eligible job, to the hour of the last stop or finish.

    `starttime` and `endtime` are in seconds since 1970; hours after that of `endtime` are left out. What ends exactly
    on the hour ends in the hour before.

    >>> machines = pl.DataFrame({"stop_time": [8000.0]})
    >>> jobs = pl.DataFrame({"submit_time": [100.0], "finish_time": [7000.0]})
    >>> window_of(machines, jobs), window_of(machines, jobs, 1800.0).begin_s
    (Window(begin_s=0.0, hours=3, origin_unix_s=0.0), -1800.0)
    """
    if not len(jobs):
        return Window(0.0, 0, origin_unix_s)
    first_s = _float(jobs["submit_time"].min()) + origin_unix_s if starttime is None else starttime
    ends = [_float(times.max()) for times in (machines["stop_time"], jobs["finish_time"]) if times.max() is not None]
    first_hour = math.floor(first_s / HOUR_S)
    past_hour = math.ceil((max(ends) + origin_unix_s) / HOUR_S)
    if starttime is None:
        past_hour = max(past_hour, first_hour + 1)
    if endtime is not None:
        past_hour = min(past_hour, math.floor(endtime / HOUR_S) + 1)
    hours = max(past_hour - first_hour, 0)
    if hours > MOST_HOURS:
        raise InputError(
            f"the bill has {hours:,} hours, from the first job or --starttime to the last stop; expected at most "
            f"{MOST_HOURS:,}. Look for stray dates in the log and long durations in the configuration, or give "
            "--starttime and --endtime"
        )
    if not _YEAR_1_HOUR <= first_hour <= first_hour + hours <= _YEAR_9999_HOUR:
        raise InputError(
            f"the bill begins {first_hour * HOUR_S:,.0f} seconds after 1970, outside the years 1 to 9999; "
            "expected dates of a calendar, so look for stray ones in the log"
        )
    return Window(first_hour * HOUR_S - origin_unix_s, hours, origin_unix_s)


def _float(value: object) -> float:
    return float(value)  # type: ignore[arg-type]
