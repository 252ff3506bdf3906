"""Rounds of sharing end on drawn cases, and no resource does more than it can: a few of `drawn_sharing`."""

import pytest
from tests.properties.drawn_sharing import ENDED, ENDLESS, VARIANTS, draw_case, follow, outcome

from unspool.simulation.tasks import finish_times

CASES = 300


@pytest.mark.parametrize("variant", VARIANTS)
def test_drawn_cases_end_or_say_that_their_rounds_never_do(variant):
    found = [outcome(seed, variant) for seed in range(CASES)]
    assert set(found) <= {ENDED, ENDLESS}
    assert found.count(ENDED) > 0.9 * CASES
    assert (ENDLESS in found) == (variant == "simgrid")


@pytest.mark.parametrize("variant", VARIANTS)
def test_cases_that_are_followed_end_as_they_do_by_themselves(variant):
    for seed in range(20):
        if outcome(seed, variant) == ENDED:
            network, tasks = draw_case(seed)
            assert follow(network, tasks, variant) == finish_times(network, tasks, sharing=variant)
