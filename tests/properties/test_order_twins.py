"""Orders and predictors: the compiled ones, the slow twins in plain Python and policies driven from Python agree."""

import polars as pl
import pytest
from hypothesis import given, settings
from tests.build import one_core_machines
from tests.oracles import machines, orders, policies, twin
from tests.strategies import (
    as_jobs,
    as_platform,
    as_workload,
    asked_of_twin,
    fleets,
    owned,
    owners,
    requests,
    rows,
    unit_of,
)

from unspool.model.platform import Platform
from unspool.plugins import BUILT_IN
from unspool.policies.predictors.exact import Exact
from unspool.policies.predictors.lasttwo import LastTwo
from unspool.policies.schedulers.conservative import Conservative
from unspool.policies.schedulers.easy import Easy
from unspool.results.run import run
from unspool.workloads.generators import lublin

CORES = 8
SEED = 3
HURRIED = {"longest_age_s": 90, "half_life_s": 40}  # so that ages and usage change within the logs of these tests
BY_ORDER = [name for name in orders.NAMES if name != "fcfs"]

each_order = pytest.mark.parametrize("order", orders.NAMES)
each_way = pytest.mark.parametrize("way", ["filler", "easy", "conservative"])


def named(order):
    """The parameters of an order as text."""
    return ",".join(f"{key}={value}" for key, value in HURRIED.items()) if order == "multifactor" else ""


def scheduler(order):
    """The scheduler that is only this order."""
    return f"{order}:{named(order)}"


def backfilling(way, order):
    """Filler, EASY or conservative in an order."""
    return f"{way}:order={order}({named(order)})"


def facts(order, jobs, cores):
    """What the oracles want to know of jobs, given as dicts, to make an order."""
    return {
        "first_submit": min(job["submit"] for job in jobs),
        "cores": cores,
        "users": [job.get("user") for job in jobs],
        "priority": [job.get("priority") for job in jobs],
        "seed": SEED,
        **(HURRIED if order == "multifactor" else {}),
    }


def in_plain_python(order, jobs, cores):
    """The same order for the twins."""
    return orders.make(order, **facts(order, jobs, cores))


def schedule(result):
    return list(zip(result.jobs["start_time"], result.jobs["finish_time"], strict=True))


def on_pool(log, whose, policy):
    return schedule(run(as_workload(owned(as_jobs(log), whose)), Platform.pool(CORES), policy, seed=SEED))


def test_every_order_has_one_in_plain_python():
    assert set(orders.NAMES) == set(BUILT_IN["orders"])
    others = {"easy", "conservative", "filler", "cheapest-fit", "largest-size", "least-added-cost", "rl"}
    assert {*orders.NAMES, *others} == set(BUILT_IN["schedulers"])


@settings(max_examples=40)
@given(log=rows(CORES), whose=owners())
@pytest.mark.parametrize("order", BY_ORDER)
def test_order_alone_and_its_twin_agree(order, log, whose):
    expected = twin.simulate(log, CORES, "fcfs", order=in_plain_python(order, owned(as_jobs(log), whose), CORES))
    assert on_pool(log, whose, scheduler(order)) == expected


@settings(max_examples=30)
@given(log=rows(CORES), whose=owners())
@each_order
@each_way
def test_any_way_to_overtake_in_any_order_and_its_twin_agree(way, order, log, whose):
    expected = twin.simulate(log, CORES, way, order=in_plain_python(order, owned(as_jobs(log), whose), CORES))
    assert on_pool(log, whose, backfilling(way, order)) == expected


@settings(max_examples=25)
@given(jobs=requests(), whose=owners(20), fleet=fleets())
@each_way
@pytest.mark.parametrize("order", ["sjf", "f4", "priority", "wfp3", "multifactor"])
def test_orders_and_their_twins_agree_on_machines(order, way, jobs, whose, fleet):
    # A GPU for everybody: then machines decide, and not the number of cores.
    platform = as_platform([(count, cores, memory, gpus + 1) for count, cores, memory, gpus in fleet])
    jobs = [{**job, "gpus": job.get("gpus") or 1, "memory": None} for job in owned(jobs, whose)]
    each = [unit_of(job, platform) for job in jobs]
    jobs = [{**job, "cores": units * need[0]} for job, (units, need, _) in zip(jobs, each, strict=True)]
    empty = [[group.machine.cores, 0, group.machine.gpus] for group in platform.groups for _ in range(group.count)]
    jobs = [job for job in jobs if machines.first_fit(empty, asked_of_twin(job, platform)) is not None]
    if not jobs:
        return
    result = run(as_workload(jobs), platform, backfilling(way, order), seed=SEED)
    asked = [asked_of_twin(job, platform) for job in jobs]
    expected = machines.simulate(asked, empty, way, in_plain_python(order, jobs, platform.cores))
    assert schedule(result) == [(start, finish) for start, finish, _ in expected]


@settings(max_examples=15)
@given(log=rows(CORES), whose=owners())
@pytest.mark.parametrize("order", BY_ORDER)
@pytest.mark.parametrize("cluster", [Platform.pool, one_core_machines])
def test_order_driven_from_python_gives_the_same_journal(cluster, order, log, whose):
    jobs = owned(as_jobs(log), whose)
    assert_same_journal(jobs, cluster(CORES), scheduler(order), policies.PLAIN[order](**facts(order, jobs, CORES)))


@settings(max_examples=15)
@given(log=rows(CORES), whose=owners())
@pytest.mark.parametrize("order", ["saf", "wfp3", "multifactor"])
@pytest.mark.parametrize(
    ("way", "plain"),
    [("filler", policies.Filler), ("easy", policies.Easy), ("conservative", policies.Conservative)],
)
def test_overtaking_in_an_order_driven_from_python_gives_the_same_journal(way, plain, order, log, whose):
    jobs = owned(as_jobs(log), whose)
    policy = plain(0, in_plain_python(order, jobs, CORES))
    assert_same_journal(jobs, Platform.pool(CORES), backfilling(way, order), policy)


@settings(max_examples=20)
@given(log=rows(CORES))
@pytest.mark.parametrize("cluster", [Platform.pool, one_core_machines])
def test_filler_driven_from_python_gives_the_same_journal(cluster, log):
    assert_same_journal(as_jobs(log), cluster(CORES), "filler", policies.Filler())


def assert_same_journal(jobs, platform, built_in, plain):
    compiled, python = (run(as_workload(jobs), platform, policy, seed=SEED) for policy in (built_in, plain))
    assert python.attempts.equals(compiled.attempts)
    assert python.jobs.equals(compiled.jobs)


class LastTwoInPython(LastTwo):
    kind = 0


class ExactInPython(Exact):
    kind = 0


@settings(max_examples=40)
@given(log=rows(CORES), whose=owners())
@pytest.mark.parametrize("order", ["fcfs", "sjf", "wfp3"])
@each_way
@pytest.mark.parametrize("predictor", ["last-two", "exact"])
def test_predictors_and_their_twins_agree(predictor, way, order, log, whose):
    users = [user for user, _ in whose]
    guesses = orders.LastTwo(users) if predictor == "last-two" else orders.Exact([job[1] for job in log])
    jobs = owned(as_jobs(log), whose)
    expected = twin.simulate(log, CORES, way, order=in_plain_python(order, jobs, CORES), predictor=guesses)
    assert on_pool(log, whose, f"{way}:order={order},predictor={predictor}") == expected


@settings(max_examples=25)
@given(log=rows(CORES), whose=owners())
@pytest.mark.parametrize("kind", [Easy, Conservative])
@pytest.mark.parametrize(("predictor", "python"), [("last-two", LastTwoInPython), ("exact", ExactInPython)])
def test_predictor_driven_from_python_gives_the_same_schedule(kind, predictor, python, log, whose):
    # Walltimes of a fraction of a second too: no prediction is below a second, whoever makes it.
    log = [(submit, run_time, size, walltime / 16) for submit, run_time, size, walltime in log]
    assert on_pool(log, whose, kind(predictor=python())) == on_pool(log, whose, kind(predictor=predictor))


@pytest.mark.parametrize("policy", ["fcfs", "filler", "easy", "conservative"])
@pytest.mark.parametrize("order", ["sjf", "f2", "wfp3", "unicef", "multifactor"])
def test_orders_and_their_twins_agree_on_a_busy_log(policy, order):
    # Long queues: hundreds of jobs change places at once.
    log = lublin(700, cores=64, load=1.2, seed=5)
    users = [f"user{at * at % 7}" for at in range(len(log))]
    log = type(log)(log.table.with_columns(pl.Series("user", users), run_time=log.table["run_time"] * 1.3))
    jobs = list(log.table.select("submit_time", "run_time", "cores", "walltime").iter_rows())
    ranking = orders.make(order, first_submit=jobs[0][0], cores=64, users=users)
    policy_name = order if policy == "fcfs" else f"{policy}:order={order}"
    assert schedule(run(log, Platform.pool(64), policy_name)) == twin.simulate(jobs, 64, policy, order=ranking)
