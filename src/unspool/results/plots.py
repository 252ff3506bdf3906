"""Figures of a result by name, drawn by what the table "figures" of `unspool.plugins` names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from unspool.plugins import available, load_built_in, load_of_package

if TYPE_CHECKING:
    from unspool.results.result import Result

__all__ = ["SKETCH", "STATIC", "Plots"]

SKETCH = "unspool.report.sketch:sketch"
"""Where the small picture is made that notebooks show below a result's table."""

STATIC = "unspool.report.static:drawn"
"""What draws a figure of Plotly with matplotlib."""


@dataclass(frozen=True)
class Plots:
    """The figures of a result: each name is a function that gives a figure of Plotly, with the result filled in.

    Drawing lives above results and is loaded by name when it is asked for; packages add figures under the entry point
    `unspool.figures`: functions of a result. Under `static` are the same names, each with a figure of matplotlib.
    """

    _result: Result
    _is_static: bool = False

    @property
    def static(self) -> Plots:
        """The same figures drawn by matplotlib, for papers and slides: `result.plot.static.gantt().savefig(path)`."""
        return Plots(self._result, True)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        names = available("figures")
        if name not in names:
            raise AttributeError(f"no figure is called '{name}'; there are {', '.join(sorted(names))}")
        figure = partial(load_of_package(names[name]), self._result)
        return partial(_static, figure) if self._is_static else figure

    def __dir__(self) -> list[str]:
        return sorted(available("figures"))


def _static(figure: Callable[..., Any], *others: Any, **options: Any) -> Any:
    return load_built_in(STATIC)(figure(*others, **options))
