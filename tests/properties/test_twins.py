"""The engine against models that share no line with it: the slow twins in plain Python, and SimPy."""

from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.build import POLICIES, one_core_machines, placements, two_core_machines
from tests.oracles import machines, simpy_model, twin
from tests.strategies import (
    as_jobs,
    as_platform,
    as_workload,
    asked_of_twin,
    capacities,
    fleets,
    requests,
    rows,
    unit_of,
)

from unspool.model.network import Host, Network
from unspool.model.platform import Partition, Platform
from unspool.results.run import run
from unspool.workloads.generators import lublin

CORES = 8
COUNTED = [Platform.pool, one_core_machines, two_core_machines]


def schedule(result):
    return list(zip(result.jobs["start_time"], result.jobs["finish_time"], strict=True))


@settings(max_examples=120)
@given(log=rows(CORES))
@example(log=[(0, 100, 1, 10), (10, 5, 8, 5), (10, 0, 1, 50), (70, 60, 7, 60)])
@pytest.mark.parametrize("policy", POLICIES)
def test_engine_and_twin_agree_where_the_number_of_cores_decides(policy, log):
    expected = twin.simulate(log, CORES, policy)
    for cluster in COUNTED:
        assert schedule(run(as_workload(as_jobs(log)), cluster(CORES), policy)) == expected


@settings(max_examples=60)
@given(
    ends=st.lists(st.tuples(st.integers(1, CORES), st.integers(1, 60), st.integers(0, 40)), min_size=10, max_size=40)
)
def test_engine_and_twin_agree_on_who_moves_forward_in_a_long_queue(ends):
    # All arrive within seconds and most end before their walltime, so that many plans are looked at again and again.
    log = [(at // 4, max(walltime - early, 1), size, walltime) for at, (size, walltime, early) in enumerate(ends)]
    result = run(as_workload(as_jobs(log)), Platform.pool(CORES), "conservative")
    assert schedule(result) == twin.simulate(log, CORES, "conservative")


@settings(max_examples=60)
@given(log=rows(CORES), long=st.lists(st.sampled_from([1, 1_000, 40_000, 10**7]), min_size=1, max_size=4))
@pytest.mark.parametrize("policy", POLICIES)
def test_engine_and_twin_agree_on_jobs_that_run_far_beyond_their_estimates(policy, log, long):
    # From a thousand times the estimate on, the times that jobs are given grow with their run times.
    log = [(submit, run_s * long[at % len(long)], *rest) for at, (submit, run_s, *rest) in enumerate(log)]
    result = run(as_workload(as_jobs(log)), Platform.pool(CORES), policy)
    assert schedule(result) == twin.simulate(log, CORES, policy)


@settings(max_examples=60)
@given(log=rows(CORES))
@pytest.mark.parametrize("policy", POLICIES)
def test_engine_and_twin_agree_on_jobs_cut_at_their_walltime(policy, log):
    expected = twin.simulate(log, CORES, policy, kill_at_walltime=True)
    result = run(as_workload(as_jobs(log)), Platform.pool(CORES), policy, kill_at_walltime=True)
    assert schedule(result) == expected


@settings(max_examples=80)
@given(log=rows(CORES, most=30))
@pytest.mark.parametrize("policy", ["fcfs", "easy"])
def test_engine_and_simpy_agree(policy, log):
    assert schedule(run(as_workload(as_jobs(log)), Platform.pool(CORES), policy)) == simpy_model.simulate(
        log, CORES, policy
    )


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("cluster", COUNTED)
def test_engine_and_twin_agree_on_a_busy_log(cluster, policy):
    # Long queues: the index of waiting jobs has three levels, and hundreds of plans are moved at once.
    log = lublin(2_000, cores=64, load=1.2, seed=5)
    log = type(log)(log.table.with_columns(run_time=log.table["run_time"] * 1.3))  # some outlive their estimate
    jobs = list(log.table.select("submit_time", "run_time", "cores", "walltime").iter_rows())
    result = run(log, cluster(64), policy)
    assert schedule(result) == twin.simulate(jobs, 64, policy)


def is_countable(jobs, fleet, platform):
    """Whether any free cores will do: plans then hold a number of cores, and the twin on machines does not apply."""
    plain = all(unit_of(job, platform)[1] == (1, 0, 0) for job in jobs)
    one_core = all(cores == 1 for _, cores, _, _ in fleet)
    return plain and (one_core or not any(job.get("machines") for job in jobs))


@settings(max_examples=150)
@given(jobs=requests(), fleet=fleets())
@pytest.mark.parametrize("policy", POLICIES)
def test_engine_and_twin_on_machines_agree(policy, jobs, fleet):
    platform = as_platform(fleet)
    empty = capacities(platform)
    asked = [asked_of_twin(job, platform) for job in jobs]
    fits = [machines.first_fit([list(machine) for machine in empty], job) is not None for job in asked]
    result = run(as_workload(jobs), platform, policy)
    assert result.rejected["job_id"].to_list() == [str(at) for at, ok in enumerate(fits) if not ok]
    models_memory = any(memory for _, _, memory, _ in fleet)
    runs = [job if models_memory else {**job, "memory": None} for job, ok in zip(jobs, fits, strict=True) if ok]
    if policy == "conservative" and is_countable(runs, fleet, platform):
        return
    expected = machines.simulate([job for job, ok in zip(asked, fits, strict=True) if ok], empty, policy)
    placed = placements(result)
    found = [
        (*times, placed[name]) for *times, name in result.jobs.select("start_time", "finish_time", "job_id").rows()
    ]
    assert found == expected


def in_zones(platform, names):
    """The platform with its machines in zones, and the partition `zone`, whose jobs must be in one of them."""
    hosts = tuple(Host(f"h{at}", (1e9,), zone=name) for at, name in enumerate(names))
    none = tuple(() for _ in hosts)
    groups = tuple(group.machine.name for group in platform.groups)
    partitions = (Partition("any", groups, default=True), Partition("zone", groups, local=True))
    network = Network(hosts, (), tuple(range(len(hosts))), none, none, none, {})
    return replace(platform, partitions=partitions, network=network)


@settings(max_examples=150)
@given(jobs=requests(), fleet=fleets(), data=st.data())
@pytest.mark.parametrize("policy", [*POLICIES, "filler"])
def test_local_jobs_are_in_one_zone_and_start_when_the_twin_starts_them(policy, jobs, fleet, data):
    count = sum(group[0] for group in fleet)
    names = data.draw(st.lists(st.sampled_from("xyz"), min_size=count, max_size=count), "zones")
    locals_ = data.draw(st.lists(st.booleans(), min_size=len(jobs), max_size=len(jobs)), "local")
    zones = [[at for at, name in enumerate(names) if name == zone] for zone in dict.fromkeys(names)]
    platform = in_zones(as_platform(fleet), names)
    empty = capacities(platform)
    asked = [{**asked_of_twin(job, platform), "local": local} for job, local in zip(jobs, locals_, strict=True)]
    nobody = machines.Cluster([], empty, zones=zones)
    fits = [nobody.fit(nobody.free, job) is not None for job in asked]
    given = [{**job, "partition": "zone" if local else None} for job, local in zip(jobs, locals_, strict=True)]
    result = run(as_workload(given), platform, policy)
    assert result.rejected["job_id"].to_list() == [str(at) for at, ok in enumerate(fits) if not ok]
    if policy == "conservative" and not (any(locals_) and len(zones) > 1):
        return  # plans may hold a number of cores, and the twin on machines does not apply
    run_by_twin = [job for job, ok in zip(asked, fits, strict=True) if ok]
    placed = placements(result)
    found = [
        (*times, placed[name]) for *times, name in result.jobs.select("start_time", "finish_time", "job_id").rows()
    ]
    assert found == machines.simulate(run_by_twin, empty, policy, zones=zones)
    for (_, _, held), job in zip(found, run_by_twin, strict=True):
        assert not job["local"] or any(held.keys() <= set(zone) for zone in zones)
