"""Random draws that depend on the seed, the purpose and who they are for, never on the order of events.

Two runs with one seed therefore meet the same chances, and their difference is the policy's.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.state import Array

__all__ = ["FAILURES", "ORDER", "RECLAIMS", "REPAIRS", "draw", "uniform"]

# A number never changes its meaning.
ORDER, FAILURES, REPAIRS, RECLAIMS = 1, 2, 3, 5  # 4 was reclaims by type of instance

_numba: Any = numba
_STEP = np.uint64(0x9E3779B97F4A7C15)


def uniform(seed: int, purpose: int, entities: Array, ordinals: Array | int = 0) -> Array:
    """A number in [0, 1) for each entity, and for the how-manieth draw of it where there are several.

    SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014).

    >>> uniform(1, ORDER, np.arange(2)).round(3).tolist() == uniform(1, ORDER, np.arange(5))[:2].round(3).tolist()
    True
    """
    mixed = np.full(np.shape(entities), seed % (1 << 64), np.uint64)
    for part in (np.asarray(purpose), np.asarray(entities), np.asarray(ordinals)):
        mixed = _mix(mixed ^ _mix(part.astype(np.uint64) + _STEP))
    return np.asarray((mixed >> np.uint64(11)).astype(np.float64) / float(1 << 53))


def _mix(value: Array) -> Array:
    with np.errstate(over="ignore"):
        value = value + _STEP
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(value ^ (value >> np.uint64(31)))


if _numba.config.DISABLE_JIT:

    def draw(seed: np.uint64, purpose: int, entity: int, ordinal: int) -> float:
        """The same number as `uniform` gives; NumPy would warn of each product of single numbers that is cut off."""
        return float(uniform(int(seed), purpose, np.asarray(entity), ordinal))

else:

    @compiled
    def draw(seed: np.uint64, purpose: int, entity: int, ordinal: int) -> float:
        """The same number as `uniform` gives, for one draw in compiled code."""
        mixed = seed
        mixed = _mix_one(mixed ^ _mix_one(np.uint64(purpose) + _STEP))
        mixed = _mix_one(mixed ^ _mix_one(np.uint64(entity) + _STEP))
        mixed = _mix_one(mixed ^ _mix_one(np.uint64(ordinal) + _STEP))
        return float(np.float64(mixed >> np.uint64(11)) / float(1 << 53))

    @compiled
    def _mix_one(value: np.uint64) -> np.uint64:
        value = value + _STEP
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return value ^ (value >> np.uint64(31))
