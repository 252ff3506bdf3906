"""What a run costs: functions of its tables, computed after it."""

from __future__ import annotations

from unspool.metrics.cost.bill import Bill, bill
from unspool.metrics.cost.hourly import hourly
from unspool.metrics.cost.window import Window, window_of

__all__ = ["Bill", "Window", "bill", "hourly", "window_of"]
