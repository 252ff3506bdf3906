"""What a run costs: functions of its tables, computed after it."""

from __future__ import annotations

from unspool.metrics.cost.bill import Bill, bill
from unspool.metrics.cost.groups import GROUPED, UNALLOCATED, cost_by, cost_by_provider, cost_by_type
from unspool.metrics.cost.hosts import hosts_of
from unspool.metrics.cost.hourly import hourly
from unspool.metrics.cost.summary import bands, figures, losses, peak_live
from unspool.metrics.cost.waits import wait_bins, wait_figures
from unspool.metrics.cost.window import Window, window_of

__all__ = [
    "GROUPED", "UNALLOCATED", "Bill", "Window", "bands", "bill", "cost_by", "cost_by_provider", "cost_by_type",
    "figures", "hosts_of", "hourly", "losses", "peak_live", "wait_bins", "wait_figures", "window_of",
]  # fmt: skip
