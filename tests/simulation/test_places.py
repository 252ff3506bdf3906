"""Places of exercises and of their pairs with runtimes: a dict says the same."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unspool.simulation.places import Places

number = st.integers(1, 5) | st.integers(1, 2**31 - 1)
pieces = st.lists(st.lists(st.tuples(number, number), max_size=40), max_size=8)


@given(pieces)
def test_every_exercise_and_every_pair_keeps_the_place_it_got(pieces):
    places, expected = Places(), {}
    for rows in pieces:
        exercise, runtime = (np.array([row[at] for row in rows], np.int64) for at in (0, 1))
        own, pair = places.of(exercise, runtime)
        for row in rows:
            expected.setdefault(row[0], len(expected))
            expected.setdefault(row, len(expected))
        assert own.tolist() == [expected[row[0]] for row in rows]
        assert pair.tolist() == [expected[row] for row in rows]
    assert places.count == len(expected)


def test_many_more_than_there_was_room_for_at_first():
    places = Places()
    numbers = np.arange(1, 20_001)
    first = places.of(numbers, numbers)
    assert places.count == 40_000
    assert np.array_equal(places.of(numbers, numbers), first)
