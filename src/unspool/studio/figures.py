"""Figures of several runs side by side, each with its difference from the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unspool.units import format_duration

__all__ = ["Row", "side_by_side"]

_LEFT_OUT = {"seed", "replicas"}
_LAST = ("jobs", "rejected", "outages", "lost")  # counts stand behind what was asked for


@dataclass(frozen=True)
class Row:
    """A figure under each result, as people read it, with how much it differs from the first."""

    name: str
    cells: tuple[tuple[str, str], ...]


def side_by_side(summaries: Sequence[dict[str, Any]]) -> list[Row]:
    """The numbers that all of these have in common, but those that are 0 everywhere.

    >>> side_by_side([{"mean_wait_s": 120.0, "jobs": 3, "x": 1}, {"mean_wait_s": 60.0, "jobs": 3}])[0]
    Row(name='mean wait', cells=(('2:00', ''), ('1:00', '-50.0%')))
    """
    if not summaries:
        return []
    names = [
        name for name in summaries[0] if name not in _LEFT_OUT and all(_is_number(each.get(name)) for each in summaries)
    ]
    names = [name for name in names if any(each[name] for each in summaries)]
    names.sort(key=lambda name: name.startswith(_LAST))
    return [
        Row(
            _titled(name),
            tuple((_shown(name, each[name]), _change(summaries[0][name], each[name])) for each in summaries),
        )
        for name in names
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _titled(name: str) -> str:
    for ending in ("_s", "_usd"):
        name = name.removesuffix(ending)
    return name.replace("_", " ")


def _shown(name: str, value: float) -> str:
    if name.endswith("_s"):
        return format_duration(round(value))
    if name.endswith("_usd"):
        return f"${value:,.2f}"
    if name == "utilisation":
        return f"{value:.1%}"
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 1000 else f"{value:.4g}"


def _change(first: float, value: float) -> str:
    if value == first:
        return ""
    return f"{(value - first) / abs(first):+.1%}" if first else "new"
