"""Several numbers at once: compiled, each function gives the bits that it gives as it stands in Python."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.engine.kernel import simd
from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.simd import LANES, load, rows_of_lanes, store

number = st.sampled_from((0.0, -0.0, 1.0, -1.0, 1e-5, math.inf, -math.inf)) | st.floats(-1e12, 1e12)
four = st.tuples(number, number, number, number)


def of_lanes(function):
    """A compiled function of two rows of an array that writes what it makes into the third."""

    @compiled
    def run(rows):
        store(rows, 2, function(load(rows, 0), load(rows, 1)))

    return run


def of_both(function):
    """A compiled function of a row and a number."""

    @compiled
    def run(rows, number):
        return function(load(rows, 0), number)

    return run


@compiled
def spread(rows, number):
    store(rows, 2, simd.same(number))


@compiled
def ones(rows):
    store(rows, 2, simd.are_above_0(load(rows, 0)))


@compiled
def times(rows, number):
    store(rows, 2, simd.times(load(rows, 0), number))


@compiled
def bits(rows):
    return simd.as_bits(load(rows, 0)), simd.any_above_0(load(rows, 0))


@compiled
def any_below(rows, limit):
    return simd.any_below(load(rows, 0), limit, load(rows, 1))


@compiled
def count_below(numbers, first, limit):
    return simd.count_below(numbers, first, limit)


OF_TWO = {name: of_lanes(getattr(simd, name)) for name in ("least", "most", "plus", "minus", "over", "where_above_0")}
least_lane = of_both(simd.least_lane)


def same_bits(one, other):
    return np.array(one).tobytes() == np.array(other).tobytes() or np.array_equal(one, other, equal_nan=True)


@pytest.mark.parametrize("name", OF_TWO)
@given(one=four, other=four)
def test_a_function_of_two_is_compiled_to_the_same_bits(name, one, other):
    rows = np.array([one, other, (7.0,) * LANES])
    OF_TWO[name](rows)
    assert same_bits(rows[2], getattr(simd, name)(one, other))


@given(one=four, other=four, by=number)
def test_functions_with_a_number_are_compiled_to_the_same_bits(one, other, by):
    rows = np.array([one, other, (7.0,) * LANES])
    assert least_lane(rows, by) == simd.least_lane(one, by)
    assert any_below(rows, by) == simd.any_below(one, by, other)
    assert bits(rows) == (simd.as_bits(one), simd.any_above_0(one))
    spread(rows, by)
    assert rows[2].tolist() == [by] * LANES
    ones(rows)
    assert same_bits(rows[2], simd.are_above_0(one))
    times(rows, by)
    assert same_bits(rows[2], simd.times(one, by))
    assert same_bits(rows[:2], [one, other])


@given(numbers=st.lists(number, min_size=simd.BLOCK, max_size=3 * simd.BLOCK), limit=number, data=st.data())
def test_numbers_below_a_limit_are_counted_from_a_place_on(numbers, limit, data):
    first = data.draw(st.integers(0, len(numbers) - simd.BLOCK))
    expected = sum(number < limit for number in numbers[first : first + simd.BLOCK])
    assert count_below(np.array(numbers), first, limit) == expected
    assert simd.count_below(np.array(numbers), first, limit) == expected


def test_what_is_not_above_0_divides_nothing():
    assert simd.over((1.0, 0.0, -1.0, 6.0), (0.0, 0.0, -0.0, 2.0)) == (math.inf, math.inf, math.inf, 3.0)
    assert simd.over((1.0, 1.0, 1.0, 1.0), (-1.0, math.inf, 4.0, 1.0)) == (math.inf, 0.0, 0.25, 1.0)


def test_bits_count_from_the_first_lane():
    assert simd.as_bits((1.0, 0.0, 0.5, -1.0)) == 0b0101
    assert simd.any_below((1.0, 0.0, 2.0, 3.0), 1.5, (0.0, 0.0, 9.0, 9.0)) is False
    assert simd.any_below((1.0, 0.0, 2.0, 3.0), 2.5, (0.0, 0.0, 9.0, 9.0)) is True


@pytest.mark.parametrize("count", [1, 3, 64, 1001])
def test_rows_cross_no_cache_line(count):
    rows = rows_of_lanes(count)
    assert rows.shape == (count, LANES)
    assert not rows.any()
    assert rows.flags.c_contiguous
    assert rows.ctypes.data % 64 == 0


def test_rows_are_found_by_any_kind_of_whole_number():
    rows = np.arange(40.0).reshape(10, LANES)

    @compiled
    def move(rows, source, target):
        store(rows, target, load(rows, source))

    for kind in (np.uint32, np.int64, np.uint64, int):
        move(rows, kind(9), kind(3))
        assert rows[3].tolist() == [36.0, 37.0, 38.0, 39.0]
        rows[3] = 0.0
