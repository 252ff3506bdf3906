"""Jobs that are killed or lost leave what jobs that end leave, on paper."""

import polars as pl
import pytest
from tests.build import workload

from unspool.analysis.costs import costs_of
from unspool.errors import InputError
from unspool.model.cloud import Cloud, InstanceType, Limits
from unspool.model.platform import MachineGroup, MachineType, Platform
from unspool.model.prices import Price
from unspool.model.workload import Workload
from unspool.plugins import build
from unspool.policies.base import Kill, Start
from unspool.policies.schedulers.easy import Easy
from unspool.results.run import run
from unspool.simulation.engine import Engine

GIB = 1 << 30
SMALL = InstanceType("c5.large", "c5", 1, 2, 4 * GIB, on_demand_usd_per_hour=0.09)


def test_an_instance_is_given_back_after_its_job_was_killed():
    log = Workload.of(pl.DataFrame({"job_id": ["a"], "submit_time": [0], "run_time": [90_000], "cores": [1]}))
    cluster = Platform((), cloud=Cloud((SMALL,), boot_s=100.0, idle_s=300.0))

    def policy(view):
        return [decision for job in view.queue if view.fits(job) for decision in (Start(job), Kill(job, at=1000.0))]

    result = run(log, cluster, policy)
    assert result.attempts["how"].to_list() == ["killed"]
    assert result.machines.select("start_time", "up_time", "stop_time").rows() == [(0.0, 100.0, 1300.0)]
    costs = costs_of(result, log)
    assert costs.bill.machines.select("boot_cost_usd", "run_cost_usd", "idle_cost_usd").row(0) == pytest.approx(
        (0.09 * 100 / 3600, 0.09 * 900 / 3600, 0.09 * 300 / 3600)
    )


@pytest.mark.parametrize("idle_s", [0.0, 90.0])
def test_an_instance_that_is_kept_for_a_job_stops_when_that_job_starts_elsewhere(idle_s):
    """Both boot at once; a takes the one licence, b waits for it and goes where a was, since that comes first."""
    table = {"job_id": ["a", "b"], "submit_time": [0, 0], "run_time": [100, 1], "cores": [1, 1]}
    log = Workload.of(pl.DataFrame({**table, "licences": ["solver:1", "solver:1"]}))
    result = run(log, Platform((), licences={"solver": 1}, cloud=Cloud((SMALL,), boot_s=0.0, idle_s=idle_s)), "fcfs")
    assert result.attempts["start_time"].to_list() == [0.0, 100.0]
    assert result.machines["stop_time"].to_list() == [101.0 + idle_s, 100.0]


def test_an_instance_that_was_kept_stops_when_its_job_has_ended():
    """b waits for a licence on the machine that it holds back; a's machine is too small for it."""
    large = InstanceType("c5.xlarge", "c5", 2, 4, 8 * GIB, on_demand_usd_per_hour=0.18)
    table = {"job_id": ["a", "b"], "submit_time": [0, 0], "run_time": [100, 1], "cores": [1, 2]}
    log = Workload.of(pl.DataFrame({**table, "licences": ["solver:1", "solver:1"]}))
    cloud = Cloud((SMALL, large), boot_s=0.0, idle_s=0.0)
    result = run(log, Platform((), licences={"solver": 1}, cloud=cloud), "fcfs")
    assert result.machines.select("start_time", "stop_time").rows() == [(0.0, 100.0), (0.0, 101.0)]


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "filler"])
def test_no_instance_is_started_for_a_job_that_waits_for_a_licence(policy):
    table = {"job_id": ["a", "b"], "submit_time": [0, 10], "run_time": [100, 1], "cores": [1, 1], "walltime": [100, 1]}
    log = Workload.of(pl.DataFrame({**table, "licences": ["solver:1", "solver:1"]}))
    cloud = Cloud((SMALL,), boot_s=7.0, idle_s=0.0)
    result = run(log, Platform((), licences={"solver": 1}, cloud=cloud), policy)
    assert result.machines.select("start_time", "stop_time").rows() == [(0.0, 108.0)]
    assert result.attempts["start_time"].to_list() == [7.0, 107.0]


def test_a_killed_job_is_not_charged_to_its_user_for_ever():
    log = workload([(0, 1000, 4, 1000), (0, 1000, 4, 1000), (10, 5, 8, 5), (10, 5, 8, 5)], user=["u", "v", "u", "v"])
    engine = Engine(log, Platform.pool(8))
    multifactor = build("schedulers", "multifactor:age=0,fair_share=1000")
    while engine.advance():
        engine.decide(multifactor)
        engine.apply([Kill("a", at=20.0), Kill("b", at=30.0)] if engine.now == 0.0 else ())
    # v has used 4 cores for 30 s, u for 20 s only: u's next job goes first.
    assert [(float(row["start"]), int(row["job"])) for row in engine.attempts] == [(0, 0), (0, 1), (30, 2), (35, 3)]
    assert engine.state.order is not None
    assert engine.state.order.usage["cores"].tolist() == [0, 0, 0]


class Remembers:
    """A predictor that writes down what it is taught."""

    def __init__(self):
        self.taught = []

    def predict_one(self, job):
        return 50.0 + len(self.taught)

    def learn_one(self, job, run_time_s):
        self.taught.append((job.id, run_time_s))


def test_predictors_learn_nothing_from_a_job_that_was_killed():
    log = workload([(0, 1000, 1, 1000), (0, 7, 1, 1000), (60, 1, 1, 1000)])
    engine = Engine(log, Platform.pool(2))
    easy = Easy(predictor=Remembers())
    while engine.advance():
        engine.decide(easy)
        engine.apply([Kill("a", at=20.0)] if engine.now == 0.0 else ())
    assert engine._predictor._predictor.taught == [("b", 7.0)]


RACK = MachineGroup(MachineType("rack", 1, 4 * GIB, 0, {}, (Price(1.0, "on-premises"),), plan="on-premises"), 1)


def in_small_cloud(rows, policy, **rules):
    """Jobs of (submit, run time, hosts) beside a rack of one core, with one instance at the most."""
    submit, run_time, machines = zip(*rows, strict=True)
    table = {"job_id": list("abcdef"[: len(rows)]), "submit_time": submit, "run_time": run_time, "cores": machines}
    log = Workload.of(pl.DataFrame({**table, "machines": machines}))
    rules = {"boot_s": 0.0, "idle_s": 0.0, "max_instances": Limits(1), **rules}
    return run(log, Platform((RACK,), cloud=Cloud((SMALL,), **rules)), policy)


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "filler"])
def test_an_instance_waits_with_its_job_for_the_machines_that_limits_leave_it(policy):
    # `a` has the rack until 100. `b` needs it and an instance: the only one is started at once, and kept.
    result = in_small_cloud([(0, 100, 1), (10, 50, 2), (10, 20, 2)], policy)
    assert result.jobs["start_time"].to_list() == [0.0, 100.0, 150.0]
    lives = result.machines.filter(pl.col("billing") == "life").select("start_time", "stop_time", "started_for")
    assert lives.rows()[0] == (10.0, 170.0, "b")


def test_an_instance_makes_way_for_a_job_before_the_one_it_was_started_for():
    # At 0 the instance is started for `b`, which waits for the rack; `c`, which is urgent, comes and needs it first.
    table = {
        "job_id": ["a", "b", "c"], "submit_time": [0, 0, 30], "run_time": [100, 50, 40], "cores": [1, 2, 1],
        "machines": [1, 2, 1], "memory_bytes": [0, 0, 16 * GIB], "priority": [0.0, 0.0, 9.0],
    }  # fmt: skip
    large = InstanceType("m5.large", "m5", 1, 2, 16 * GIB, on_demand_usd_per_hour=0.2)
    rules = Cloud((SMALL, large), boot_s=0.0, idle_s=0.0, max_instances=Limits(1))
    result = run(Workload.of(pl.DataFrame(table)), Platform((RACK,), cloud=rules), "easy:order=priority")
    assert dict(result.jobs.select("job_id", "start_time").rows()) == {"a": 0.0, "b": 100.0, "c": 30.0}
    lives = result.machines.filter(pl.col("billing") == "life").select("type", "start_time", "stop_time")
    # What `c` leaves was not started for `b`, so it stops, and the one instance is `b`'s again.
    assert lives.rows() == [("c5.large", 0.0, 30.0), ("m5.large", 30.0, 70.0), ("c5.large", 70.0, 150.0)]


def test_an_instance_that_was_kept_makes_room_once_its_job_has_run():
    # The only instance is kept for `a` until the rack is free, at 171. `c` needs a large one, which limits allow then.
    table = {
        "job_id": ["a", "b", "c"], "submit_time": [0, 0, 60], "run_time": [13, 171, 13], "cores": [2, 1, 1],
        "machines": [2, None, None], "memory_bytes": [4 * GIB, 0, 16 * GIB],
    }  # fmt: skip
    small = InstanceType("c5.large", "c5", 1, 2, 4 * GIB, on_demand_usd_per_hour=0.09)
    large = InstanceType("m5.large", "m5", 1, 2, 16 * GIB, on_demand_usd_per_hour=0.2)
    rules = Cloud((small, large), boot_s=30.0, idle_s=0.0, frequency_s=30.0, max_instances=Limits(1))
    result = run(Workload.of(pl.DataFrame(table)), Platform((RACK,), cloud=rules), "easy")
    assert sorted(result.jobs.select("job_id", "start_time").rows()) == [("a", 171.0), ("b", 0.0), ("c", 240.0)]


@pytest.mark.parametrize("selection", ["first", "best", "worst", "spread", "pack", "nearby", "local"])
def test_instances_larger_than_every_machine_are_chosen_in_any_order(selection):
    large = InstanceType("c5.4xlarge", "c5", 8, 16, 32 * GIB, on_demand_usd_per_hour=0.72)
    table = {"job_id": ["a", "b"], "submit_time": [0, 0], "run_time": [100, 100], "cores": [8, 1]}
    for groups, machines in (((), [0, 1]), ((RACK,), [1, 0])):  # b goes to the rack, where there is one
        platform = Platform(groups, selection=selection, cloud=Cloud((large,), boot_s=0.0, idle_s=0.0))
        result = run(Workload.of(pl.DataFrame(table)), platform, "fcfs")
        assert result.attempts["start_time"].to_list() == [0.0, 0.0]
        assert result.allocations.sort("attempt")["first_machine"].to_list() == machines


def test_instances_have_no_neighbours():
    with pytest.raises(InputError, match="no neighbours"):
        Platform((), selection="contiguous", cloud=Cloud((SMALL,)))


def test_size_in_a_cloud_alone_is_a_share_of_what_limits_allow():
    """All come together: the larger go first, and with a weight below 0 the smaller one does."""
    table = {"job_id": ["a", "b", "c"], "submit_time": [0, 0, 0], "run_time": [100, 10, 10], "cores": [2, 1, 2]}
    log = Workload.of(pl.DataFrame({**table, "machines": [2, 1, 2]}))
    cloud = Cloud((SMALL,), boot_s=0.0, idle_s=0.0, max_instances=Limits(2))
    order = "multifactor:age=0,fair_share=0,partition=0,qos=0,size"
    for size, starts in ((1000, [0.0, 110.0, 100.0]), (-1000, [10.0, 0.0, 110.0])):
        result = run(log, Platform((), cloud=cloud), f"{order}={size}")
        assert dict(result.jobs.select("job_id", "start_time").rows()) == dict(zip("abc", starts, strict=True))
