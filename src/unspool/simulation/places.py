"""Places in a table of sums for exercises, and for their pairs with runtimes, as they turn up."""

from __future__ import annotations

import numpy as np

from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.state import Array

__all__ = ["Places"]

# Odd, and their bits are evenly spread: keys that are alike end up far from each other. Products with numbers up to
# 2^31 stay below 2^62, so that they are the same where overflows are an error.
_MIX_EXERCISE, _MIX_RUNTIME = 0x1E3779B9, 0x2545F491
_KEY, _PLACE, _EXERCISE = 0, 1, 2


class Places:
    """Exercises and pairs, of numbers from 1 that may be as large as 2^31, as 0, 1, 2 … in the order of appearance.

    >>> places = Places()
    >>> places.of(np.array([7, 3, 7]), np.array([1, 1, 2]))
    (array([0, 2, 0]), array([1, 3, 4]))
    >>> places.of(np.array([3]), np.array([1])), places.count
    ((array([2]), array([3])), 5)
    """

    def __init__(self) -> None:
        self.count = 0
        # Each key in the first free slot from its own on, with its place; of a pair, that of its exercise as well.
        self._slots = np.zeros((1 << 8, 3), np.int64)

    def of(self, exercise: Array, runtime: Array) -> tuple[Array, Array]:
        """The place of the exercise in each row, and that of the pair."""
        needed = 2 * (self.count + 2 * len(exercise))  # half of the slots stay free, so that none is far from its own
        if needed > len(self._slots):
            used = self._slots[self._slots[:, _KEY] > 0]
            self._slots = np.zeros((1 << needed.bit_length(), 3), np.int64)
            _put(self._slots, used)
        places = np.empty((2, len(exercise)), np.int64)
        self.count = _place(self._slots, exercise, runtime, places, self.count)
        return places[0], places[1]


@compiled
def _place(slots: Array, exercise: Array, runtime: Array, places: Array, count: int) -> int:
    """Write the places of each row; returns how many there are then."""
    for at in range(len(exercise)):
        alone = exercise[at] << 32  # no runtime is 0
        key = alone | runtime[at]
        slot = _slot_of(slots, key)
        if slots[slot, _KEY] == 0:
            own = _slot_of(slots, alone)
            if slots[own, _KEY] == 0:
                slots[own, _KEY], slots[own, _PLACE] = alone, count
                count += 1
            slot = _slot_of(slots, key)  # the exercise may have taken the one that was free
            slots[slot, _KEY], slots[slot, _PLACE], slots[slot, _EXERCISE] = key, count, slots[own, _PLACE]
            count += 1
        places[0, at], places[1, at] = slots[slot, _EXERCISE], slots[slot, _PLACE]
    return count


@compiled
def _put(slots: Array, used: Array) -> None:
    """Put keys where they belong among more slots."""
    for at in range(len(used)):
        slot = _slot_of(slots, used[at, _KEY])
        for part in range(3):
            slots[slot, part] = used[at, part]


@compiled
def _slot_of(slots: Array, key: int) -> int:
    """The slot that a key has, or would get."""
    mask = len(slots) - 1
    slot = (((key >> 32) * _MIX_EXERCISE + (key & 0xFFFFFFFF) * _MIX_RUNTIME) >> 16) & mask
    while slots[slot, _KEY] != 0 and slots[slot, _KEY] != key:
        slot = (slot + 1) & mask
    return slot
