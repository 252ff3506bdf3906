"""The same figures without a browser: a figure of Plotly drawn by matplotlib, as SVG or PNG.

Each figure is defined once, for Plotly; what is read here is its description (traces and layout). Pictures are drawn
without `pyplot`, so that nothing is kept between calls.
"""

from __future__ import annotations

from unspool.report.static.drawing import FORMATS, drawn, write_figures

__all__ = ["FORMATS", "drawn", "write_figures"]
