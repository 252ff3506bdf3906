"""The bitset against Python's own set."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool.engine.kernel.bitset import (
    add,
    add_range,
    discard,
    discard_range,
    empty_bitset,
    lowest,
    next_member,
    run_end,
)

# One word, one word more than a level holds, and the same for the level above.
SIZES = (1, 31, 32, 33, 1024, 1025, 2100)


def members_of(bits, size):
    found = []
    member = next_member(bits, size, 0)
    while member >= 0:
        found.append(member)
        member = next_member(bits, size, member + 1)
    return found


@pytest.mark.parametrize("bit", range(32))
def test_lowest_bit_is_found_whatever_stands_above_it(bit):
    assert lowest(1 << bit) == bit
    assert lowest((0xFFFFFFFF << bit) & 0xFFFFFFFF) == bit


def test_empty_set_has_no_members():
    for size in SIZES:
        assert next_member(empty_bitset(size), size, 0) == -1


def test_question_past_the_last_member_finds_none():
    for size in SIZES:
        bits = empty_bitset(size)
        add_range(bits, size, 0, size - 1)
        assert next_member(bits, size, size - 1) == size - 1
        assert next_member(bits, size, size) == -1


@settings(max_examples=80)
@given(data=st.data(), size=st.sampled_from(SIZES))
def test_bitset_is_a_set(data, size):
    member = st.integers(0, size - 1)
    bits, expected = empty_bitset(size), set()
    for action, one, other in data.draw(st.lists(st.tuples(st.integers(0, 3), member, member), max_size=25)):
        first, last = sorted((one, other))
        if action == 0:
            add(bits, size, one)
            expected.add(one)
        elif action == 1:
            discard(bits, size, one)
            expected.discard(one)
        elif action == 2:
            add_range(bits, size, first, last)
            expected |= set(range(first, last + 1))
        else:
            discard_range(bits, size, first, last)
            expected -= set(range(first, last + 1))
        assert next_member(bits, size, one) == min((m for m in expected if m >= one), default=-1)
        if one in expected:
            assert run_end(bits, size, one) == next(m for m in range(one, size + 1) if m + 1 not in expected)
    assert members_of(bits, size) == sorted(expected)
