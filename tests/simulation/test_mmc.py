"""The engine against queueing theory: Poisson arrivals, exponential run times, first come first served."""

from statistics import fmean, stdev

import pytest
from tests.oracles import erlang

from unspool.model.platform import Platform
from unspool.results.run import run
from unspool.workloads.generators import poisson

REPLICATIONS = 16
STUDENT_T = 3.733  # 15 degrees of freedom, 99.8 % two-sided
WARM_UP = 2_000


@pytest.mark.parametrize(
    ("servers", "cores_of_a_job", "load"), [(1, 1, 0.7), (4, 1, 0.8), (10, 3, 0.8)], ids=["M/M/1", "M/M/4", "M/M/10"]
)
def test_mean_wait_meets_erlang_c(servers, cores_of_a_job, load):
    waits = []
    for seed in range(REPLICATIONS):
        log = poisson(60_000, rate_per_s=load * servers / 50, mean_run_time_s=50.0, cores=cores_of_a_job, seed=seed)
        result = run(log, Platform.pool(servers * cores_of_a_job), "fcfs")
        waits.append((result.jobs["start_time"] - result.jobs["submit_time"])[WARM_UP:].mean())
    half_width = STUDENT_T * stdev(waits) / REPLICATIONS**0.5
    expected = erlang.mean_wait(load * servers / 50, 50.0, servers)
    assert abs(fmean(waits) - expected) < half_width
    assert half_width < 0.1 * expected, "the interval is too wide to say anything"


def test_probability_of_waiting_meets_erlang_c():
    shares = []
    for seed in range(REPLICATIONS):
        result = run(poisson(60_000, rate_per_s=3.2, mean_run_time_s=1.0, seed=seed), Platform.pool(4), "fcfs")
        shares.append((result.jobs["start_time"] > result.jobs["submit_time"])[WARM_UP:].mean())
    half_width = STUDENT_T * stdev(shares) / REPLICATIONS**0.5
    assert abs(fmean(shares) - erlang.probability_of_waiting(3.2, 4)) < half_width
