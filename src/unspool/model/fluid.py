"""Tasks that share hosts and links, and hosts that change their speed meanwhile. Data only.

They are what the sharing of resources is told where there are no jobs: a task with a start, and not a profile.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FluidTask", "SpeedChange"]


@dataclass(frozen=True)
class FluidTask:
    """Flops for each of its hosts and bytes for each pair of them, by rows; none of either is an empty tuple.

    Hosts are positions in the network's `hosts`; one that is named twice does both parts.
    """

    name: str
    start: float
    hosts: tuple[int, ...]
    cpu: tuple[float, ...]
    com: tuple[float, ...]


@dataclass(frozen=True)
class SpeedChange:
    """From this time on one core of the host has this speed, in flop/s."""

    time: float
    host: int
    speed: float
