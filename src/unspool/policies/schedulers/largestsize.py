"""Instances of the largest size of a family, for jobs that share them; else as `cheapest-fit`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unspool.engine.cloud.instances import LARGEST, ON_DEMAND, is_allowed, kind_fits
from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.state import Elastic, Place
from unspool.policies.base import BindingScheduler

__all__ = ["LargestSize", "largest_kind"]


@dataclass(frozen=True)
class LargestSize(BindingScheduler):
    """As cheapest-fit, but what is started is the largest size of the family that it would take."""

    title: ClassVar[str] = "largest-size"
    placement: ClassVar[int] = LARGEST


@compiled
def largest_kind(place: Place, elastic: Elastic, shape: int, plan: int, count: int, kind: int) -> int:
    """Of the family of a type, the one with most cores, then memory, that fits, is sold so and allowed so often.

    Of two of one size it is the less expensive, then the one whose name comes first. -1 for -1.
    """
    if kind < 0:
        return kind
    room, kinds, by_price = elastic.room, elastic.kinds, elastic.by_price
    found = kind
    for at in range(by_price.shape[1]):
        other = by_price[plan - ON_DEMAND, at]
        if other < 0:
            break
        if kinds[other]["quota"] != kinds[kind]["quota"]:
            continue
        is_larger = room[other, 0] > room[found, 0] or (
            room[other, 0] == room[found, 0] and room[other, 1] > room[found, 1]
        )
        if is_larger and kind_fits(place, elastic, shape, other) and is_allowed(elastic, other, count):
            found = other
    return found
