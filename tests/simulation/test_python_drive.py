"""Policies in plain Python drive the same engine and get the same journal as the compiled ones."""

import pytest
from hypothesis import given, settings
from tests.build import one_core_machines, placements
from tests.oracles.policies import PLAIN, Conservative, Easy, Fcfs
from tests.strategies import as_jobs, as_platform, as_workload, fleets, requests, rows

from unspool.model.platform import Platform
from unspool.plugins import BUILT_IN
from unspool.results.run import run

CORES = 8


def assert_same_journal(jobs, platform, name, plain):
    """The built-in policy of a name and a policy in Python start and place the same jobs in the same order."""
    compiled, python = (run(as_workload(jobs), platform, policy) for policy in (name, plain))
    assert python.attempts.equals(compiled.attempts)
    assert python.jobs.equals(compiled.jobs)
    assert python.rejected.equals(compiled.rejected)
    assert placements(python) == placements(compiled)


def test_every_built_in_has_a_twin_in_plain_python():
    placements = {"cheapest-fit", "largest-size", "least-added-cost"}  # driven by no view
    assert {*PLAIN, *placements, "rl"} == set(BUILT_IN["schedulers"])  # rl needs a model, and is Python itself


@settings(max_examples=40)
@given(log=rows(CORES))
@pytest.mark.parametrize("cluster", [Platform.pool, one_core_machines])
def test_fcfs_in_python_is_fcfs_where_the_number_of_cores_decides(cluster, log):
    assert_same_journal(as_jobs(log), cluster(CORES), "fcfs", Fcfs())


@settings(max_examples=40)
@given(log=rows(CORES))
@pytest.mark.parametrize("cluster", [Platform.pool, one_core_machines])
def test_easy_in_python_is_easy_where_the_number_of_cores_decides(cluster, log):
    assert_same_journal(as_jobs(log), cluster(CORES), "easy", Easy())


@settings(max_examples=40)
@given(log=rows(CORES))
@pytest.mark.parametrize("cluster", [Platform.pool, one_core_machines])
def test_conservative_in_python_is_conservative_where_the_number_of_cores_decides(cluster, log):
    assert_same_journal(as_jobs(log), cluster(CORES), "conservative", Conservative())


@settings(max_examples=40)
@given(jobs=requests(), fleet=fleets())
def test_fcfs_in_python_is_fcfs_on_machines(jobs, fleet):
    platform = as_platform(fleet)
    assert_same_journal(jobs, platform, "fcfs", Fcfs(platform.machine_count))


@settings(max_examples=60)
@given(jobs=requests(), fleet=fleets())
def test_easy_in_python_is_easy_on_machines(jobs, fleet):
    platform = as_platform(fleet)
    assert_same_journal(jobs, platform, "easy", Easy(platform.machine_count))


@settings(max_examples=60)
@given(jobs=requests(), fleet=fleets())
def test_conservative_in_python_is_conservative_on_machines(jobs, fleet):
    # A GPU for everybody: then machines decide, and not the number of cores.
    platform = as_platform([(count, cores, memory, gpus + 1) for count, cores, memory, gpus in fleet])
    jobs = [{**job, "gpus": job.get("gpus") or 1} for job in jobs]
    assert_same_journal(jobs, platform, "conservative", Conservative(platform.machine_count))
