"""The busy clock: it runs fast in busy hours and stands still in hours without arrivals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unspool.workloads.clock import HOURS_OF_WEEK, hours_of_week
from unspool.workloads.generators.streams import Floats

__all__ = ["BusyClock", "week_of"]

_SLOT_S = 900.0  # a quarter of an hour: in every time zone full hours begin with one


class BusyClock:
    """Reads times of a log on the clock that runs with the intensity of the hour of the week, and back.

    >>> clock = BusyClock(7200.0, 0.0, None, [2.0] * 73 + [1.0] * 95)
    >>> clock.busy_s, clock.wall(np.array([0.5])).tolist(), clock.busy(np.array([5400.0])).tolist()
    (3.0, [900.0], [2.5])
    """

    def __init__(self, span_s: float, origin_unix_s: float, time_zone: str | None, week: Sequence[float]) -> None:
        starts = _slots(span_s, origin_unix_s)
        weights = np.asarray(week)[hours_of_week(starts, origin_unix_s, time_zone)]
        self._wall = np.append(starts, span_s)
        self._busy = np.concatenate(([0.0], np.cumsum(weights * np.diff(self._wall) / 3_600.0)))
        self.busy_s = float(self._busy[-1])
        """How far this clock runs from the beginning to the end of the log."""

    def busy(self, wall: Floats) -> Floats:
        """Times of the log on the busy clock."""
        return np.asarray(np.interp(wall, self._wall, self._busy))

    def wall(self, busy: Floats) -> Floats:
        """Times of the busy clock in the log's seconds."""
        return np.asarray(np.interp(busy, self._busy, self._wall))


def week_of(times: Floats, span_s: float, origin_unix_s: float, time_zone: str | None) -> tuple[float, ...]:
    """How many of the times fall into an hour, for each hour of the week.

    An hour of the week that the log did not live to see has the mean of its hour over the days seen, else of all.
    """
    found = np.bincount(hours_of_week(times, origin_unix_s, time_zone), minlength=HOURS_OF_WEEK)
    starts = _slots(span_s, origin_unix_s)
    lengths = np.diff(np.append(starts, span_s)) / 3_600.0
    lived = np.bincount(hours_of_week(starts, origin_unix_s, time_zone), lengths, HOURS_OF_WEEK)
    by_day_found, by_day_lived = found.reshape(7, 24).sum(axis=0), lived.reshape(7, 24).sum(axis=0)
    mean = len(times) * 3_600.0 / span_s
    by_day = np.where(by_day_lived > 0, by_day_found / np.maximum(by_day_lived, 1e-9), mean)
    week = np.where(lived > 0, found / np.maximum(lived, 1e-9), np.tile(by_day, 7))
    return tuple(week.tolist())


def _slots(span_s: float, origin_unix_s: float) -> Floats:
    """Where quarters of an hour begin, the first of them cut off by the log's beginning."""
    first = -origin_unix_s % _SLOT_S
    starts = np.arange(first, span_s, _SLOT_S)
    return starts if len(starts) and starts[0] == 0 else np.concatenate(([0.0], starts))
