"""The cloud's engine against its slow twin, and the laws that the twin itself keeps."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.cloud import replay
from tests.oracles.cloud_money import bill
from tests.oracles.cloud_saving import PLACEMENTS, replay_with
from tests.strategies_cloud import cloud_platforms, cloud_workloads

from unspool.analysis.costs import costs_of
from unspool.results.run import run

MACHINE_COLUMNS = ("machine", "type", "plan", "billing", "cores", "memory_bytes", "gpus", "usd_per_hour")
COLUMN_OF_PLAN = {
    "on-demand": "OnDemand",
    "spot": "Spot",
    "reserved": "Reserved",
    "on-premises": "OnPremises",
}
LIFE_COLUMNS = ("family", "vcpus", "start_time", "up_time", "stop_time", "cause", "started_for")


def in_order(attempts):
    """{job id: [(start, finish, how, machines)]}, each job's attempts in order."""
    found = {}
    for job_id, start, finish, how, machines in attempts:
        found.setdefault(job_id, []).append((start, finish, how, sorted(machines)))
    return found


def attempts_of(result):
    """Rows of a result as the twin has them."""
    machines = {}
    for attempt, first, last, _ in result.allocations.iter_rows():
        machines.setdefault(attempt, []).extend(range(first, last + 1))
    columns = result.attempts.select("attempt", "job_id", "start_time", "finish_time", "how").sort("attempt")
    return [(*row, machines[attempt]) for attempt, *row in columns.iter_rows()]


@settings(max_examples=300)
@given(workload=cloud_workloads(), platform=cloud_platforms(), seed=st.integers(0, 3))
def test_engine_and_twin_agree(workload, platform, seed):
    check_against(replay(workload, platform, seed), workload, platform, "cheapest-fit", seed)


@pytest.mark.parametrize("placement", PLACEMENTS)
@settings(max_examples=200)
@given(workload=cloud_workloads(), platform=cloud_platforms(), seed=st.integers(0, 3))
def test_engine_and_twin_agree_on_other_placements(placement, workload, platform, seed):
    check_against(replay_with(placement, workload, platform, seed), workload, platform, placement, seed)


def check_against(expected, workload, platform, placement, seed):
    """Every attempt and the life of every machine are those of the twin."""
    result = run(workload, platform, policy=placement, seed=seed)
    assert sorted(result.rejected["job_id"]) == sorted(job_id for job_id, _ in expected.rejected)
    assert in_order(attempts_of(result)) == in_order(expected.attempts)
    found = result.machines.sort("machine").to_dicts()
    assert len(found) == len(expected.machines)
    for row, machine in zip(found, expected.machines, strict=True):
        columns = MACHINE_COLUMNS + (LIFE_COLUMNS if machine.billing == "life" else ())
        assert {name: row[name] for name in columns} == {name: getattr(machine, name) for name in columns}


@settings(max_examples=100)
@given(workload=cloud_workloads(), platform=cloud_platforms(), seed=st.integers(0, 3))
def test_bill_and_that_of_the_twin_agree(workload, platform, seed):
    twin = replay(workload, platform, seed)
    if not twin.jobs:
        return
    first = min(workload.table["submit_time"].to_list()[at] for at in _ran(workload, twin))
    expected = bill(twin, workload, platform, start=first)
    costs = costs_of(run(workload, platform, policy="cheapest-fit", seed=seed), workload)
    machines = costs.bill.machines.sort("machine")
    for part in ("boot", "run", "idle"):
        paid = [parts[part] for parts in expected.parts]
        assert machines[f"{part}_cost_usd"].to_list() == pytest.approx(paid, abs=1e-9)
    assert dict(costs.bill.jobs.select("job_id", "cost_usd").rows()) == pytest.approx(expected.jobs, abs=1e-9)
    assert costs.bill.unallocated_usd == pytest.approx(expected.unallocated, abs=1e-9)
    assert costs.hourly["Relative Hour"].to_list() == list(expected.hours)
    for plan, name in (
        ("on-demand", "OnDemand"),
        ("spot", "Spot"),
        ("reserved", "Reserved"),
        ("on-premises", "OnPremises"),
    ):
        cost = "Total OnDemand Costs" if plan == "on-demand" else f"{name} Costs"
        assert costs.hourly[cost].to_list() == pytest.approx([h.cost[plan] for h in expected.hours.values()], abs=1e-9)
        hours = [h.core_hours[plan] for h in expected.hours.values()]
        assert costs.hourly[f"{name} Core Hours"].to_list() == pytest.approx(hours, abs=1e-9)


def _ran(workload, twin):
    """Positions of the jobs that ran."""
    ran = {job.job_id for job in twin.jobs}
    return [at for at, job_id in enumerate(workload.table["job_id"]) if job_id in ran]


def over_time(spans):
    """The largest sum of the amounts of (from, to, amount) that overlap."""
    steps = [(since, amount) for since, until, amount in spans if since < until]
    steps += [(until, -amount) for since, until, amount in spans if since < until]
    level = most = 0
    for _, step in sorted(steps):  # at equal times those that go, then those that come
        level += step
        most = max(most, level)
    return most


@settings(max_examples=120)
@given(workload=cloud_workloads(), platform=cloud_platforms(), seed=st.integers(0, 3))
def test_twin_runs_every_job_or_rejects_it(workload, platform, seed):
    twin = replay(workload, platform, seed)
    ran = {job.job_id for job in twin.jobs}
    assert ran.isdisjoint(job_id for job_id, _ in twin.rejected)
    assert len(ran) + len(twin.rejected) == len(workload)
    asked = {row["job_id"]: row for row in workload.table.to_dicts()}
    for job_id, attempts in in_order(twin.attempts).items():
        job = asked[job_id]
        assert [how for _, _, how, _ in attempts] == ["lost"] * (len(attempts) - 1) + ["completed"]
        assert all(len(machines) == len(set(machines)) == (job["machines"] or 1) for *_, machines in attempts)
        since = [job["submit_time"], *(finish for _, finish, _, _ in attempts)]
        assert all(start >= earlier for earlier, (start, *_) in zip(since, attempts, strict=False))
        kept = sum(
            (finish - start) // platform.cloud.checkpoint_s * platform.cloud.checkpoint_s
            for start, finish, _, _ in attempts[:-1]
            if platform.cloud.checkpoint_s is not None
        )
        start, finish, _, _ = attempts[-1]
        assert finish - start == pytest.approx(job["run_time"] - kept, abs=1e-6)


@settings(max_examples=120)
@given(workload=cloud_workloads(), platform=cloud_platforms(), seed=st.integers(0, 3))
def test_twin_keeps_to_what_there_is(workload, platform, seed):
    twin, cloud = replay(workload, platform, seed), platform.cloud
    for machine in twin.machines:
        here = [attempt for attempt in twin.attempts if machine.machine in attempt.machines]
        spans = [(attempt.start_time, attempt.finish_time, twin.needs[attempt.job_id]) for attempt in here]
        capacity = (machine.cores, machine.memory_bytes or math.inf, machine.gpus)
        for r in range(3):
            assert over_time([(since, until, need[r]) for since, until, need in spans]) <= capacity[r]
        if not cloud.shares:
            assert over_time([(since, until, 1) for since, until, _ in spans]) <= 1
        if machine.billing == "life":
            ends = {machine.start_time, *(attempt.finish_time for attempt in here)}
            assert max(ends) <= machine.stop_time
            assert all(attempt.start_time >= machine.start_time + cloud.boot_s for attempt in here if _began(attempt))
            if machine.cause == "idle":
                assert machine.stop_time == max(ends) + cloud.idle_s
    instances = [machine for machine in twin.machines if machine.billing == "life"]
    assert not (instances and math.isinf(cloud.burst_after_s))
    for limits, size in ((cloud.max_instances, lambda _: 1), (cloud.max_vcpus, lambda machine: machine.vcpus)):
        for family, most in ((None, limits.in_all), *limits.of_family.items()):
            counted = [machine for machine in instances if family in (None, machine.family)]
            spans = [(machine.start_time, machine.stop_time, size(machine)) for machine in counted]
            assert most is None or over_time(spans) <= most


def _began(attempt):
    return attempt.how == "completed" or attempt.start_time < attempt.finish_time


@settings(max_examples=120)
@given(workload=cloud_workloads(), platform=cloud_platforms(), seed=st.integers(0, 3))
def test_twin_bill_adds_up(workload, platform, seed):
    twin = replay(workload, platform, seed)
    money = bill(twin, workload, platform)
    for paid, parts in zip(money.paid, money.parts, strict=True):
        assert sum(parts.values()) == pytest.approx(paid, abs=1e-9)
    assert sum(money.jobs.values()) + money.unallocated == pytest.approx(money.total, rel=1e-6, abs=1e-12)
    hours = list(money.hours.values())
    assert list(money.hours) == list(range(len(hours)))
    assert sum(sum(hour.cost.values()) for hour in hours) == pytest.approx(money.total, rel=1e-9, abs=1e-12)
    assert sum(sum(hour.part.values()) for hour in hours) == pytest.approx(money.total, rel=1e-9, abs=1e-12)
    for hour in hours:
        assert sum(hour.family_cost.values()) == pytest.approx(hour.cost["on-demand"], abs=1e-12)
        assert sum(hour.family_core_hours.values()) == pytest.approx(hour.core_hours["on-demand"], abs=1e-12)
    for machine, paid in zip(twin.machines, money.paid, strict=True):
        if machine.billing == "always":
            assert paid == pytest.approx(len(hours) * machine.usd_per_hour)


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "filler"])
@settings(max_examples=40)
@given(workload=cloud_workloads(12), platform=cloud_platforms(), seed=st.integers(0, 3))
def test_any_scheduler_runs_every_job_that_can_run_on_machines_that_are_up(policy, workload, platform, seed):
    result = run(workload, platform, policy, seed=seed)
    turned_away = {job_id for job_id, _ in replay(workload, platform, seed).rejected}
    assert set(result.rejected["job_id"]) == turned_away
    assert set(result.jobs["job_id"]) == set(workload.table["job_id"]) - turned_away
    asked = {row["job_id"]: -(-row["cores"] // (row["machines"] or 1)) for row in workload.table.to_dicts()}
    for machine in result.machines.to_dicts():
        here = [row for row in attempts_of(result) if machine["machine"] in row[4]]
        assert over_time([(start, finish, asked[job]) for job, start, finish, _, _ in here]) <= machine["cores"]
        if machine["billing"] == "life":
            assert all(
                machine["up_time"] <= start and finish <= machine["stop_time"] for _, start, finish, _, _ in here
            )
