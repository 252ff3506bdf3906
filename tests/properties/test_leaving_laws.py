"""A job that is killed, or lost for good, leaves the world that it would have left by ending then.

Each law runs a log twice: once the run time of one job is cut so that it ends at a time, once it is killed then, or its
machine goes down. All else must be equal: who runs where and when, who is turned away, the lives of machines and what
they cost, joules. What may differ, stands in `engine/leave.py`: the state of the job itself, and what predictors learn.
"""

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.fluid_build import cluster, fluid_jobs
from tests.power_build import powered
from tests.strategies import as_workload, owned, owners, platforms, requests, rows
from tests.strategies_cloud import cloud_platforms, cloud_workloads

from unspool.analysis.costs import costs_of
from unspool.model.cloud import SpotRule
from unspool.model.outages import OnLoss, Outage, Outages
from unspool.model.platform import Platform
from unspool.model.profile import Delay, HomogeneousTask, Sequence
from unspool.model.workload import Workload
from unspool.plugins import build
from unspool.policies.base import Annotate, Kill
from unspool.results.run import run

CORES = 8
POLICIES = (
    "fcfs", "easy", "conservative", "filler", "easy:order=wfp3", "conservative:order=saf", "multifactor",
    "conservative:order=multifactor",
)  # fmt: skip
TABLES = ("attempts", "allocations", "rejected", "machines")


class After:
    """Another policy, and a decision for later, which both runs of a law have: it may make a policy plan anew."""

    name = "after"

    def __init__(self, policy, decision):
        self._policy, self._decision = build("schedulers", policy), decision
        self.needs_energy = getattr(self._policy, "needs_energy", False)

    def drive(self, engine, progress):
        engine.run(self._policy, until=0.0)
        engine.apply([self._decision])
        engine.run(self._policy)


def untouched(policy, job):
    """The policy, and a note on a job."""
    return After(policy, Annotate(job, "ends by itself"))


def killing(policy, job, time):
    """The policy, and a job is killed at a time."""
    return After(policy, Kill(job, at=time))


def without_how(result, job):
    """What happened to all, but not how this job ended."""
    tables = {name: getattr(result, name) for name in TABLES if getattr(result, name) is not None}
    state = pl.when(pl.col("job_id") == job).then(None).otherwise(pl.col("how"))
    tables["attempts"] = tables["attempts"].with_columns(how=state).sort("attempt")
    return {name: table.rows() for name, table in tables.items()}


def cut(workload, job, run_time, column="run_time"):
    """The same log, in which one job runs for so long."""
    is_it = pl.col("job_id") == job
    changed = pl.when(is_it).then(pl.lit(run_time)).otherwise(pl.col(column)).cast(workload.table.schema[column])
    return Workload.of(
        workload.table.with_columns(changed.alias(column)), origin_unix_s=workload.origin_unix_s,
        profiles=workload.profiles,
    )  # fmt: skip


def ends_and_is_killed(data, workload, platform, policy, **options):
    """Two results, the job and when: it ended then, and was killed then; which job and when is drawn."""
    able = run(workload, platform, policy, **options).jobs["job_id"].implode()
    ids = workload.table.filter(pl.col("run_time") >= 2.0, pl.col("job_id").is_in(able))["job_id"].to_list()
    assume(ids)
    job = data.draw(st.sampled_from(ids))
    whole = workload.table.filter(pl.col("job_id") == job)["run_time"].item()
    after = data.draw(st.integers(1, int(whole) - 1)) + data.draw(st.sampled_from([0.0, 0.5]))
    ended = cut(workload, job, after)
    by_itself = run(ended, platform, untouched(policy, job), **options)
    mine = by_itself.attempts.filter(pl.col("job_id") == job)
    assume(mine["how"].to_list() == ["completed"])
    time = mine["finish_time"].item()
    return by_itself, run(workload, platform, killing(policy, job, time), **options), job, ended


def with_walltimes(jobs):
    """Estimates that a cut run time does not change."""
    return [{**job, "walltime": job.get("walltime") or 100} for job in jobs]


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=60)
@given(log=rows(CORES), whose=owners(), data=st.data())
def test_killed_is_ended_on_a_pool(policy, log, whose, data):
    jobs = owned([dict(zip(("submit", "run", "cores", "walltime"), row, strict=True)) for row in log], whose)
    for at, job in enumerate(jobs[1:], 1):
        if data.draw(st.integers(0, 4)) == 0:
            job.update(depends_on=str(data.draw(st.integers(0, at - 1))), think=float(data.draw(st.integers(0, 20))))
    ended, killed, job, _ = ends_and_is_killed(data, as_workload(jobs), Platform.pool(CORES), policy)
    assert without_how(killed, job) == without_how(ended, job)


@pytest.mark.parametrize("policy", POLICIES[:6])
@settings(max_examples=60)
@given(jobs=requests(licences=True, partitions=True), platform=platforms(), data=st.data())
def test_killed_is_ended_on_machines_with_licences(policy, jobs, platform, data):
    log = as_workload(with_walltimes(jobs))
    ended, killed, job, _ = ends_and_is_killed(data, log, platform, policy)
    assert without_how(killed, job) == without_how(ended, job)


@pytest.mark.parametrize("policy", ["cheapest-fit", "largest-size", "fcfs", "easy", "conservative", "filler"])
@settings(max_examples=40)
@given(workload=cloud_workloads(12), platform=cloud_platforms(), seed=st.integers(0, 3), data=st.data())
def test_killed_is_ended_in_a_cloud_and_costs_the_same(policy, workload, platform, seed, data):
    spot = data.draw(st.sampled_from([(), (SpotRule(),)]))  # else a cut run time may make another job a spot job
    rules = {name: getattr(platform.cloud, name) for name in platform.cloud.__dataclass_fields__}
    platform = Platform(platform.groups, cloud=type(platform.cloud)(**{**rules, "spot_rules": spot}))
    workload = Workload.of(workload.table.with_columns(walltime=400.0), origin_unix_s=workload.origin_unix_s)
    ended, killed, job, log = ends_and_is_killed(data, workload, platform, policy, seed=seed)
    assert without_how(killed, job) == without_how(ended, job)
    by_job = [
        dict(costs_of(result, jobs).bill.jobs.select("job_id", "cost_usd").rows())
        for result, jobs in ((ended, log), (killed, workload))
    ]
    assert by_job[0] == pytest.approx(by_job[1], rel=1e-12)


PROFILES = {
    "long": Delay(60.0),
    "short": Delay(7.0),
    "work": HomogeneousTask(9e9, 0.0),
    "talk": HomogeneousTask(3e9, 2e8),
    "steps": Sequence(("work", "short"), repeat=2),
}


@st.composite
def with_profiles(draw):
    """Jobs (submit, machines, walltime, profile); the first one is a delay that is long."""
    row = st.tuples(
        st.integers(0, 8).map(lambda times: 5 * times),
        st.integers(1, 3),
        st.just(500.0),
        st.sampled_from(sorted(PROFILES)),
    )
    log = sorted(draw(st.lists(row, min_size=1, max_size=12)), key=lambda job: job[0])
    return [(0, draw(st.integers(1, 3)), 500.0, "long"), *log]


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "easy:sleep_after=20"])
@settings(max_examples=40)
@given(log=with_profiles(), after=st.integers(1, 118).map(lambda halves: halves / 2), has_energy=st.booleans())
def test_killed_is_ended_where_jobs_share_a_network_and_draw_power(policy, log, after, has_energy):
    needs_energy = "sleep" in policy
    platform = powered(4) if has_energy or needs_energy else cluster(4, backbone=1.5e8)
    options = {"energy": has_energy or needs_energy, "kill_at_walltime": True}
    shorter = fluid_jobs([(*log[0][:3], "cut"), *log[1:]], {**PROFILES, "cut": Delay(after)})
    ended = run(shorter, platform, untouched(policy, "a"), **options)
    start = ended.attempts.filter(pl.col("job_id") == "a")["start_time"].item()
    killed = run(fluid_jobs(log, PROFILES), platform, killing(policy, "a", start + after), **options)
    assert without_how(killed, "a") == without_how(ended, "a")


NOT_YET = Outages((Outage(0, 1e9, 1e9 + 1),))
"""Long after every job: so that runs with and without an outage are one kind of run, which is compiled once."""


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=60)
@given(log=rows(1), whose=owners(), data=st.data())
def test_given_up_with_its_machine_is_ended_when_the_machine_goes_down(policy, log, whose, data):
    jobs = owned([dict(zip(("submit", "run", "cores", "walltime"), row, strict=True)) for row in log], whose)
    workload, platform = as_workload(jobs), "3x1"
    ids = workload.table.filter(pl.col("run_time") >= 2.0)["job_id"].to_list()
    assume(ids)
    job = data.draw(st.sampled_from(ids))
    whole = workload.table.filter(pl.col("job_id") == job)["run_time"].item()
    after = data.draw(st.integers(1, int(whole) - 1))
    shorter = cut(workload, job, after)
    first = run(shorter, platform, policy, outages=NOT_YET)
    attempt = first.attempts.filter(pl.col("job_id") == job)
    time = attempt["finish_time"].item()
    machine = first.allocations.filter(pl.col("attempt") == attempt["attempt"].item())["first_machine"].item()
    down = Outages((Outage(machine, time, time + data.draw(st.integers(1, 80))),))
    ended = run(shorter, platform, policy, outages=down, on_loss=OnLoss("kill"))
    lost = run(workload, platform, policy, outages=down, on_loss=OnLoss("kill"))
    assert without_how(lost, job) == without_how(ended, job)


@pytest.mark.parametrize("policy", ["fcfs", "easy", "filler", "easy:order=wfp3", "multifactor"])
@settings(max_examples=60)
@given(log=rows(1), whose=owners(), data=st.data())
def test_lost_and_requeued_is_ended_then_and_submitted_once_more(policy, log, whose, data):
    """Conservative backfilling plans jobs that were lost before all others, and is left out for that."""
    jobs = owned([dict(zip(("submit", "run", "cores", "walltime"), row, strict=True)) for row in log], whose)
    at = data.draw(st.integers(0, len(jobs) - 1))
    assume(jobs[at]["run"] >= 2)
    after = data.draw(st.integers(1, jobs[at]["run"] - 1))
    # The job in two parts: one that ends by itself, and one that waits for it and has all to do.
    parts = [{**jobs[at], "run": after}, {**jobs[at], "depends_on": "first"}]
    once_more = as_workload([*jobs[:at], *parts, *jobs[at + 1 :]])
    names = [*(str(one) for one in range(at)), "first", "again", *(str(one) for one in range(at + 1, len(jobs)))]
    once_more = Workload.of(once_more.table.with_columns(job_id=pl.Series(names)))
    alone = run(once_more, "3x1", policy, outages=NOT_YET)
    first = alone.attempts.filter(pl.col("job_id") == "first")
    assume(first["how"].to_list() == ["completed"])
    time = first["finish_time"].item()
    machine = alone.allocations.filter(pl.col("attempt") == first["attempt"].item())["first_machine"].item()
    down = Outages((Outage(machine, time, time + data.draw(st.integers(1, 80))),))
    ended = run(once_more, "3x1", policy, outages=down)
    lost = run(as_workload(jobs), "3x1", policy, outages=down, on_loss=OnLoss("requeue"))
    same_name = pl.col("job_id").replace({"first": str(at), "again": str(at)})
    assert where_and_when(lost.attempts, lost) == where_and_when(ended.attempts.with_columns(same_name), ended)


def where_and_when(attempts, result):
    """Which job ran from when to when, on which machines."""
    held = attempts.join(result.allocations, on="attempt")
    return sorted(held.select("job_id", "start_time", "finish_time", "first_machine", "last_machine").rows())


def licensed(workload, data):
    """The same jobs, of which some hold a licence and some wait for others."""
    ids = workload.table["job_id"].to_list()
    held = [data.draw(st.sampled_from([None, None, "solver:1"])) for _ in ids]
    waits = [data.draw(st.sampled_from([None, None, *ids[:at]])) for at in range(len(ids))]
    table = workload.table.with_columns(
        walltime=400.0, licences=pl.Series(held, dtype=pl.String), depends_on=pl.Series(waits, dtype=pl.String)
    )
    return Workload.of(table, origin_unix_s=workload.origin_unix_s)


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "filler"])
@settings(max_examples=40)
@given(workload=cloud_workloads(10), platform=cloud_platforms(), seed=st.integers(0, 3), data=st.data())
def test_killed_is_ended_in_a_cloud_with_licences_and_dependencies(policy, workload, platform, seed, data):
    rules = {name: getattr(platform.cloud, name) for name in platform.cloud.__dataclass_fields__}
    cloud = type(platform.cloud)(**{**rules, "spot_rules": ()})
    platform = Platform(platform.groups, cloud=cloud, licences={"solver": 1})
    ended, killed, job, _ = ends_and_is_killed(data, licensed(workload, data), platform, policy, seed=seed)
    assert without_how(killed, job) == without_how(ended, job)


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
@settings(max_examples=40)
@given(log=with_profiles(), after=st.integers(1, 60), has_energy=st.booleans())
def test_a_job_that_is_killed_as_it_computes_is_one_that_had_less_to_compute(policy, log, after, has_energy):
    platform = powered(4) if has_energy else cluster(4, backbone=1.5e8)
    profiles = {**PROFILES, "long": HomogeneousTask(64e9, 0.0), "cut": HomogeneousTask(after * 1e9, 0.0)}
    ended = run(fluid_jobs([(*log[0][:3], "cut"), *log[1:]], profiles), platform, untouched(policy, "a"),
                energy=has_energy)  # fmt: skip
    end = ended.attempts.filter(pl.col("job_id") == "a")["finish_time"].item()  # `after` it began, but for rounding
    killed = run(fluid_jobs(log, profiles), platform, killing(policy, "a", end), energy=has_energy)
    assert without_how(killed, "a") == without_how(ended, "a")
