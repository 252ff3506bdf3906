"""The figures: one module a family, one function a figure, from a result or tables to a figure of Plotly.

What is drawn is summed up first, so that a figure has at most `MOST_MARKS` marks however many jobs there are. Heading,
caption, label for screen readers and key are in `layout.meta` (see `style.finished`), where pages find them.

Figures of a `Result` stand in the table "figures" of `unspool.plugins`; `result.plot.NAME()` calls them.
"""

from __future__ import annotations

from unspool.report.figures.costs import cost_over_time, waits_compared
from unspool.report.figures.style import MOST_MARKS, PALETTE

__all__ = ["MOST_MARKS", "PALETTE", "cost_over_time", "waits_compared"]
