"""Draws: one at a time in compiled code, and many at once, are the same numbers."""

import numpy as np
import pytest

from unspool.engine.kernel.draws import FAILURES, RECLAIMS, draw, uniform


@pytest.mark.parametrize("seed", [0, 1, 2**63, 2**64 - 1])
def test_single_draws_are_those_of_the_columns(seed):
    entities = np.arange(50)
    for ordinal in (0, 7):
        one_by_one = [draw(np.uint64(seed), RECLAIMS, int(entity), ordinal) for entity in entities]
        assert one_by_one == uniform(seed, RECLAIMS, entities, ordinal).tolist()


def test_purposes_have_draws_of_their_own():
    assert draw(np.uint64(1), RECLAIMS, 3, 0) != draw(np.uint64(1), FAILURES, 3, 0)
