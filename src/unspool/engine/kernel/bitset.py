"""A set of whole numbers 0..n-1 that finds its next member in a few steps.

Level 0 has one bit a member, each level above one bit for each word below that is not empty. Words hold 32 bits in
an int64, so that the same arithmetic is exact compiled and uncompiled. All levels stand in one array, level 0 first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from unspool.engine.kernel.compiled import compiled

from numba import types  # isort: skip
from numba.extending import intrinsic, overload  # isort: skip  (`compiled` sets where Numba keeps its cache)

__all__ = [
    "WORD", "add", "add_range", "discard", "discard_range", "empty_bitset", "first_bits", "lowest", "next_member",
    "run_end", "word_count",
]  # fmt: skip

Array = np.ndarray[Any, Any]

WORD = 32
_SHIFT = 5
_MASK = 31
_FULL = 0xFFFFFFFF


def word_count(members: int) -> int:
    """Words of all levels for so many members."""
    total, words = 0, members
    while True:
        words = max((words + _MASK) >> _SHIFT, 1)
        total += words
        if words == 1:
            return total


def empty_bitset(members: int) -> Array:
    """A set with room for 0..members-1 and none of them in it."""
    return np.zeros(word_count(members), np.int64)


def lowest(word: int) -> int:
    """Position of the lowest bit of a word that is not 0."""
    return int(word & -word).bit_length() - 1


def _counted_zeros(_: Any, word: Any) -> Any:
    """The machine's own instruction for it, for which Python has no name."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


_trailing_zeros: Any = intrinsic(_counted_zeros)


@overload(lowest, inline="always")
def _compiled_lowest(word: Any) -> Any:
    def compiled_lowest(word: Any) -> Any:
        return _trailing_zeros(word)

    return compiled_lowest


@compiled
def first_bits(count: int) -> int:
    """A word with its first `count` bits set (all of them for more)."""
    return _FULL >> (WORD - min(count, WORD))


@compiled
def add(bits: Array, members: int, member: int) -> None:
    """Put a member in."""
    base = 0
    words = members
    while True:
        words = (words + _MASK) >> _SHIFT
        at = base + (member >> _SHIFT)
        before = bits[at]
        bits[at] = before | (1 << (member & _MASK))
        if before != 0 or words <= 1:
            return
        base += words
        member >>= _SHIFT


@compiled
def discard(bits: Array, members: int, member: int) -> None:
    """Take a member out."""
    base = 0
    words = members
    while True:
        words = (words + _MASK) >> _SHIFT
        at = base + (member >> _SHIFT)
        bits[at] &= ~(1 << (member & _MASK))
        if bits[at] != 0 or words <= 1:
            return
        base += words
        member >>= _SHIFT


@compiled
def next_member(bits: Array, members: int, start: int) -> int:
    """The least member that is `start` or more, or -1."""
    base = 0
    words = (members + _MASK) >> _SHIFT
    at = start
    level = 0
    while True:
        word_index = at >> _SHIFT
        if word_index < words:
            word = bits[base + word_index] & (_FULL << (at & _MASK)) & _FULL
            if word != 0:
                found = (word_index << _SHIFT) + lowest(word)
                while level > 0:
                    level -= 1
                    words = members
                    base = 0
                    for _ in range(level):
                        words = (words + _MASK) >> _SHIFT
                        base += words
                    found = (found << _SHIFT) + lowest(bits[base + found])
                return found
        if words <= 1:
            return -1
        base += words
        words = (words + _MASK) >> _SHIFT
        at = word_index + 1
        level += 1


@compiled
def run_end(bits: Array, members: int, start: int) -> int:
    """The last member of the run of neighbours that begins with the member `start`."""
    word_index = start >> _SHIFT
    words = (members + _MASK) >> _SHIFT
    holes = ~bits[word_index] & (_FULL << (start & _MASK)) & _FULL
    while holes == 0:
        word_index += 1
        if word_index == words:
            return members - 1
        holes = ~bits[word_index] & _FULL
    return min((word_index << _SHIFT) + lowest(holes), members) - 1


@compiled
def add_range(bits: Array, members: int, first: int, last: int) -> None:
    """Put in all of first..last."""
    for word_index in range(first >> _SHIFT, (last >> _SHIFT) + 1):
        mask = _range_mask(word_index, first, last)
        before = bits[word_index]
        if before == 0:
            add(bits, members, (word_index << _SHIFT) + lowest(mask))
        bits[word_index] |= mask


@compiled
def discard_range(bits: Array, members: int, first: int, last: int) -> None:
    """Take out all of first..last."""
    for word_index in range(first >> _SHIFT, (last >> _SHIFT) + 1):
        mask = _range_mask(word_index, first, last)
        left = bits[word_index] & ~mask
        if left == 0:
            bits[word_index] &= mask & -mask
            discard(bits, members, (word_index << _SHIFT) + lowest(mask))
        else:
            bits[word_index] = left


@compiled
def _range_mask(word_index: int, first: int, last: int) -> int:
    """The bits of a word that lie in first..last."""
    mask = _FULL
    if word_index == first >> _SHIFT:
        mask &= _FULL << (first & _MASK)
    if word_index == last >> _SHIFT:
        mask &= _FULL >> (_MASK - (last & _MASK))
    return mask & _FULL
