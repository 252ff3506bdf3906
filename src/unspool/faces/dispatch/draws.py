"""Random draws for one job at a time: they depend on the seed, the purpose and the job, never on the order."""

from __future__ import annotations

import math

__all__ = ["BANDIT", "CHOICE", "EXPLORING", "NOISE", "TIES", "normal", "uniform"]

# A number never changes its meaning; those up to 99 are the engine's.
CHOICE, TIES, NOISE, BANDIT, EXPLORING = 101, 102, 103, 104, 105

_STEP = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


def uniform(seed: int, purpose: int, entity: int, ordinal: int = 0) -> float:
    """A number in [0, 1): the same that `unspool.engine.kernel.draws.uniform` gives.

    >>> uniform(1, CHOICE, 5) == uniform(1, CHOICE, 5) != uniform(1, CHOICE, 6)
    True
    """
    mixed = seed & _MASK
    for part in (purpose, entity, ordinal):
        mixed = _mix(mixed ^ _mix((part + _STEP) & _MASK))
    return (mixed >> 11) / (1 << 53)


def normal(seed: int, purpose: int, entity: int, ordinal: int = 0) -> float:
    """A draw from the standard normal distribution (Box and Muller, 1958)."""
    first, second = (uniform(seed, purpose, entity, 2 * ordinal + at) for at in (0, 1))
    return math.sqrt(-2.0 * math.log(1.0 - first)) * math.cos(2.0 * math.pi * second)


def _mix(value: int) -> int:
    value = (value + _STEP) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)
