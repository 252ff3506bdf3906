"""A small picture of a run in SVG, for where no script runs: busy cores over time, and jobs that wait below."""

from __future__ import annotations

import numpy as np

from unspool.report.figures.bins import busy_over, most_waiting, waiting_over
from unspool.report.figures.style import PALETTE, Floats
from unspool.results.result import Result
from unspool.results.series import span_of

__all__ = ["sketch"]

_WIDTH, _HEIGHT, _STEPS = 600, 56, 300


def sketch(result: Result) -> str:
    """Two strips, one above the other, with what is the most in each; the empty text where no job took any time."""
    begin, end = span_of([result])
    if end <= begin:
        return ""
    edges = np.linspace(begin, end, _STEPS + 1)
    cores = result.platform.cores if result.platform.cloud is None else 0
    busy, waiting = busy_over(result, edges), waiting_over(result, edges)
    told = f"jobs that wait, {most_waiting(result):,.0f} at most"
    parts = [
        _strip(busy, max(float(cores), float(busy.max())), 0, PALETTE[0], f"busy cores, {busy.max():,.0f} at most"),
        _strip(waiting, max(float(waiting.max()), 1.0), 1, PALETTE[3], told),
    ]
    height = 2 * (_HEIGHT + 18)
    return (
        f'<svg role="img" aria-label="Busy cores and waiting jobs over time" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" style="max-width: 100%">{"".join(parts)}</svg>'
    )


def _strip(values: Floats, most: float, at: int, colour: str, text: str) -> str:
    top = at * (_HEIGHT + 18) + 14
    x = np.repeat(np.linspace(0.0, _WIDTH, len(values) + 1), 2)[1:-1]
    y = top + _HEIGHT * (1.0 - np.repeat(values, 2) / most)
    points = " ".join(f"{one:.1f},{other:.1f}" for one, other in zip(x, y, strict=True))
    area = f"0,{top + _HEIGHT} {points} {_WIDTH},{top + _HEIGHT}"
    return (
        f'<text x="0" y="{top - 3}" font-size="11" fill="currentColor">{text}</text>'
        f'<polygon points="{area}" fill="{colour}" fill-opacity="0.55"/>'
        f'<path d="M0 {top}H{_WIDTH}M0 {top + _HEIGHT}H{_WIDTH}" stroke="currentColor" stroke-opacity="0.25"/>'
    )
