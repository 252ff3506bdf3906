"""Jobs that outlive their estimates by up to 30,000 years: the number of steps does not grow with the time."""

import pytest
from tests.build import workload

from unspool.results.run import run


@pytest.mark.parametrize("platform", ["4", "2x2"])
@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "filler"])
def test_a_job_that_outlives_its_estimate_by_9e11_seconds_ends_when_it_ends(policy, platform):
    result = run(workload([(0, 9e11, 4, 60), (1, 10, 4, 10)]), platform, policy)
    assert result.jobs["start_time"].to_list() == [0.0, 9e11]
    assert result.jobs["finish_time"].to_list() == [9e11, 9e11 + 10]
