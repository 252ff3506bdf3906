"""Pages about results: one file each that works offline."""

from __future__ import annotations

from unspool.report.compare import compare_report, write_compare_report
from unspool.report.cost import cost_report, write_cost_report
from unspool.report.dispatch import dispatch_report, write_dispatch_report
from unspool.report.run import run_report, write_run_report

__all__ = [
    "compare_report", "cost_report", "dispatch_report", "run_report", "write_compare_report", "write_cost_report",
    "write_dispatch_report", "write_run_report",
]  # fmt: skip
