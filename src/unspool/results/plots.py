"""Figures of a result by name, drawn by what the table "figures" of `unspool.plugins` names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from unspool.plugins import available, load

if TYPE_CHECKING:
    from unspool.results.result import Result

__all__ = ["SKETCH", "Plots"]

SKETCH = "unspool.report.sketch:sketch"
"""Where the small picture is made that notebooks show below a result's table."""


@dataclass(frozen=True)
class Plots:
    """The figures of a result: each name is a function that gives a figure of Plotly, with the result filled in.

    Drawing lives above results and is loaded by name when it is asked for; packages add figures under the entry point
    `unspool.figures`: functions of a result.
    """

    _result: Result

    def __getattr__(self, name: str) -> Callable[..., Any]:
        names = available("figures")
        if name not in names:
            raise AttributeError(f"no figure is called '{name}'; there are {', '.join(sorted(names))}")
        return partial(load(names[name]), self._result)

    def __dir__(self) -> list[str]:
        return sorted(available("figures"))
