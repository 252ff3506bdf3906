"""Prices as data: what an hour of a machine costs under a plan."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Price"]


@dataclass(frozen=True)
class Price:
    """What one machine of a type costs for an hour under a plan, in US dollars."""

    usd_per_hour: float
    plan: str = "on-demand"
