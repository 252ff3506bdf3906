"""Laws that hold for every workload, platform and policy, recomputed from the tables of the result alone."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.build import POLICIES, machine_beside_a_closed_one, placements
from tests.oracles import machines, twin
from tests.strategies import (
    as_jobs,
    as_platform,
    as_workload,
    asked_of_twin,
    capacities,
    fleets,
    licences_of,
    platforms,
    requests,
    rows,
    unit_of,
)

from unspool.model.platform import Platform
from unspool.plugins import build
from unspool.results.run import run

CORES = 8
EVERYTHING = {"licences": True, "partitions": True}
TIMES = ("job_id", "start_time", "finish_time")

each_policy = pytest.mark.parametrize("policy", POLICIES)


def held(result):
    """(start, finish, job number) of every attempt, in the order of starts."""
    return [(start, finish, int(name)) for name, start, finish in result.attempts.select(TIMES).rows()]


def instants(result):
    """Every time at which something starts; what is held changes upwards at no other."""
    return sorted(set(result.attempts["start_time"]))


def in_use(attempts, time):
    """Numbers of the jobs that hold something at a time; a job holds nothing at the time of its end."""
    return [job for start, finish, job in attempts if start <= time < finish]


@each_policy
@settings(max_examples=60)
@given(log=rows(CORES))
def test_pool_never_gives_out_more_cores_than_it_has(policy, log):
    result = run(as_workload(as_jobs(log)), Platform.pool(CORES), policy)
    for time in instants(result):
        assert sum(log[job][2] for job in in_use(held(result), time)) <= CORES


@each_policy
@settings(max_examples=100)
@given(jobs=requests(**EVERYTHING), platform=platforms())
def test_no_machine_gives_out_more_than_it_has(policy, jobs, platform):
    result = run(as_workload(jobs), platform, policy)
    placed = placements(result)
    has = capacities(platform)
    models_memory = any(group.machine.memory_bytes for group in platform.groups)
    attempts = held(result)
    for time in instants(result):
        used = [[0, 0, 0] for _ in has]
        licences = dict.fromkeys(platform.licences, 0)
        for job in in_use(attempts, time):
            need = unit_of(jobs[job], platform)[1]
            for machine, units in placed[str(job)].items():
                for resource, amount in enumerate(need):
                    used[machine][resource] += units * amount
            for name, amount in licences_of(jobs[job]).items():
                licences[name] += amount
        for machine, amounts in enumerate(used):
            assert amounts[0] <= has[machine][0], f"cores of machine {machine} at {time}"
            assert amounts[1] <= has[machine][1] or not models_memory, f"memory of machine {machine} at {time}"
            assert amounts[2] <= has[machine][2], f"GPUs of machine {machine} at {time}"
        assert all(amount <= platform.licences[name] for name, amount in licences.items())


@each_policy
@settings(max_examples=60)
@given(jobs=requests(**EVERYTHING), platform=platforms())
def test_job_gets_as_many_units_as_it_asks_for_where_it_may_run(policy, jobs, platform):
    result = run(as_workload(jobs), platform, policy)
    default = next((p.name for p in platform.partitions if p.default), None)
    for name, placement in placements(result).items():
        units, _, distinct = unit_of(jobs[int(name)], platform)
        assert sum(placement.values()) == units
        assert not distinct or set(placement.values()) == {1}
        ranges = platform.ranges(jobs[int(name)].get("partition") or default)
        assert all(any(first <= machine <= last for first, last in ranges) for machine in placement)
        if platform.selection == "contiguous":
            assert max(placement) - min(placement) == len(placement) - 1


@each_policy
@settings(max_examples=60)
@given(jobs=requests(**EVERYTHING), platform=platforms())
def test_every_job_is_rejected_or_runs_once_for_its_run_time_and_not_before_it_is_submitted(policy, jobs, platform):
    result = run(as_workload(jobs), platform, policy)
    ran = [job for _, _, job in held(result)]
    rejected = [int(name) for name in result.rejected["job_id"]]
    assert sorted(ran + rejected) == list(range(len(jobs)))
    for start, finish, job in held(result):
        assert start >= jobs[job]["submit"]
        assert finish == start + jobs[job]["run"]
    assert result.rejected["reason"].str.len_chars().min() != 0


@settings(max_examples=60)
@given(jobs=requests(**EVERYTHING), platform=platforms())
def test_fcfs_starts_in_queue_order(jobs, platform):
    result = run(as_workload(jobs), platform, "fcfs")
    started = result.jobs["start_time"].to_list()  # in the order of submission, ties by line
    assert started == sorted(started)
    assert result.attempts["job_id"].to_list() == result.jobs["job_id"].to_list()


@each_policy
@settings(max_examples=30)
@given(jobs=requests(**EVERYTHING), platform=platforms(), data=st.data())
def test_renaming_jobs_changes_nothing_but_their_names(policy, jobs, platform, data):
    names = data.draw(st.permutations([f"job-{at}" for at in range(len(jobs))]))
    plain, renamed = (run(as_workload(jobs, ids), platform, policy) for ids in (None, names))
    back = pl.col("job_id").replace_strict(names, [str(at) for at in range(len(jobs))])
    assert renamed.jobs.with_columns(back).equals(plain.jobs)
    assert renamed.attempts.with_columns(back).equals(plain.attempts)
    assert renamed.allocations.equals(plain.allocations)
    assert renamed.rejected.with_columns(back).equals(plain.rejected)


@each_policy
@settings(max_examples=30)
@given(jobs=requests(**EVERYTHING), platform=platforms(), seed=st.integers(0, 2**32))
def test_same_seed_gives_the_same_journal(policy, jobs, platform, seed):
    one, two = (run(as_workload(jobs), platform, policy, seed=seed) for _ in range(2))
    for table in ("jobs", "attempts", "allocations", "machines", "rejected"):
        assert getattr(one, table).equals(getattr(two, table))


@each_policy
@settings(max_examples=50)
@given(jobs=requests(**EVERYTHING), platform=platforms(), data=st.data())
def test_nothing_that_happens_later_changes_what_happened_before(policy, jobs, platform, data):
    """No policy sees the future: another run time shows when the shorter one is over, a new job when it arrives."""
    before = held(run(as_workload(jobs), platform, policy))
    if not before:
        return
    start, finish, chosen = data.draw(st.sampled_from(before))
    other = data.draw(st.integers(0, 60))
    changed = [{**job, "run": other} if at == chosen else job for at, job in enumerate(jobs)]
    shows = min(finish, start + other)
    arrival = data.draw(st.integers(int(jobs[-1]["submit"]), 300))
    longer = [*jobs, {"submit": arrival, "run": 5, "walltime": 5, "cores": 1}]
    for time, log in ((shows, changed), (arrival, longer)):
        after = held(run(as_workload(log), platform, policy))
        assert [(s, job) for s, _, job in after if s < time] == [(s, job) for s, _, job in before if s < time]


@each_policy
@settings(max_examples=30)
@given(jobs=requests(), fleet=fleets())
def test_built_in_called_from_python_gives_the_same_journal(policy, jobs, fleet):
    platform = as_platform(fleet)
    inside = run(as_workload(jobs), platform, policy)
    scheduler = build("schedulers", policy)
    outside = run(as_workload(jobs), platform, lambda view: scheduler.decide(view))
    for table in ("jobs", "attempts", "allocations", "rejected"):
        assert getattr(inside, table).equals(getattr(outside, table))


# Promises: where estimates are upper bounds, nobody starts later than was first said.


def fits(has, used, job, platform, licences_left):
    """Whether a job has room beside what is used, whatever the order in which machines are tried."""
    units, need, distinct = unit_of(job, platform)
    if any(amount > licences_left[name] for name, amount in licences_of(job).items()):
        return False
    ranges = platform.ranges(job.get("partition"))
    row = most = 0
    for machine, (total, taken) in enumerate(zip(has, used, strict=True)):
        room = [(t - u) // n for t, u, n in zip(total, taken, need, strict=True) if n > 0]
        here = min(room) if any(first <= machine <= last for first, last in ranges) else 0
        here = min(here, 1) if distinct else here
        row = row + here if here > 0 or platform.selection != "contiguous" else 0
        most = max(most, row)
    return most >= units


def promise(jobs, platform, attempts, placed, time, head):
    """The earliest expected end at which the head fits, if what runs at `time` ends when it is expected to."""
    has = capacities(platform)
    if not any(group.machine.memory_bytes for group in platform.groups):
        has = [(cores, float("inf"), gpus) for cores, _, gpus in has]
    running = [(start + jobs[job]["walltime"], job) for start, finish, job in attempts if start <= time < finish]
    for expected_end in sorted({end for end, _ in running}):
        used = [[0, 0, 0] for _ in has]
        left = dict(platform.licences)
        for end, job in running:
            if end > expected_end:
                for machine, units in placed[str(job)].items():
                    used[machine] = [
                        u + units * n for u, n in zip(used[machine], unit_of(jobs[job], platform)[1], strict=True)
                    ]
                for name, amount in licences_of(jobs[job]).items():
                    left[name] -= amount
        if fits(has, used, jobs[head], platform, left):
            return expected_end
    raise AssertionError(f"job {head} waits, and would not fit on the empty platform")


@settings(max_examples=100)
@given(jobs=requests(overruns=False, **EVERYTHING), platform=platforms())
def test_easy_never_starts_a_head_later_than_its_first_promise(jobs, platform):
    result = run(as_workload(jobs), platform, "easy")
    attempts, placed = held(result), placements(result)
    started = {job: start for start, _, job in attempts}
    for time in sorted({job["submit"] for job in jobs} | {finish for _, finish, _ in attempts}):
        waiting = [job for job in sorted(started) if jobs[job]["submit"] <= time < started[job]]
        if waiting:
            assert started[waiting[0]] <= promise(jobs, platform, attempts, placed, time, waiting[0])


@settings(max_examples=80)
@given(log=rows(CORES, overruns=False))
def test_easy_never_starts_a_head_later_than_its_first_promise_on_a_pool(log):
    jobs = as_jobs(log)
    result = run(as_workload(jobs), Platform.pool(CORES), "easy")
    attempts = held(result)
    started = {job: start for start, _, job in attempts}
    one_machine = as_platform([(1, CORES, 0, 0)])
    placed = {str(job): {0: jobs[job]["cores"]} for job in started}
    for time in sorted({job["submit"] for job in jobs} | {finish for _, finish, _ in attempts}):
        waiting = [job for job in sorted(started) if jobs[job]["submit"] <= time < started[job]]
        if waiting:
            assert started[waiting[0]] <= promise(jobs, one_machine, attempts, placed, time, waiting[0])


class _PoolPlans(twin.Conservative):
    """Remembers the first plan of each job."""

    def __init__(self, jobs, cores):
        super().__init__(jobs, cores)
        self.first = {}

    def place(self, job):
        start = super().place(job)
        self.first.setdefault(job, start)
        return start


class _MachinePlans(machines.Conservative):
    def __init__(self, jobs, fleet):
        super().__init__(jobs, fleet)
        self.first = {}

    def place(self, number, now):
        super().place(number, now)
        self.first.setdefault(number, self.plans[number][0])


@settings(max_examples=80)
@given(log=rows(CORES, overruns=False))
def test_conservative_never_starts_a_job_later_than_its_first_plan(log):
    plans = _PoolPlans(log, CORES)
    plans.run()
    for cluster in (Platform.pool, machine_beside_a_closed_one):
        result = run(as_workload(as_jobs(log)), cluster(CORES), "conservative")
        assert all(start <= plans.first[job] for start, _, job in held(result))


@settings(max_examples=80)
@given(jobs=requests(overruns=False), fleet=fleets())
def test_conservative_never_starts_a_job_later_than_its_first_plan_on_machines(jobs, fleet):
    # A GPU for everybody on machines that have some: then machines decide, and plans hold them.
    fleet = [(count, cores, memory, gpus + 1) for count, cores, memory, gpus in fleet]
    jobs = [{**job, "gpus": job.get("gpus") or 1} for job in jobs]
    platform = as_platform(fleet)
    result = run(as_workload(jobs), platform, "conservative")
    asked = {job: asked_of_twin(jobs[job], platform) for job in sorted(job for _, _, job in held(result))}
    plans = _MachinePlans(list(asked.values()), capacities(platform))
    plans.run()
    first = dict(zip(asked, (plans.first[at] for at in range(len(asked))), strict=True))
    assert all(start <= first[job] for start, _, job in held(result))


# Dependencies.


@each_policy
@settings(max_examples=40)
@given(log=rows(CORES, most=12), data=st.data())
def test_dependents_start_after_their_dependencies_have_ended_and_they_have_thought(policy, log, data):
    jobs = as_jobs(log)
    for number, job in enumerate(jobs):
        on = data.draw(st.lists(st.integers(0, len(jobs) - 1).filter(lambda at, own=number: at != own), max_size=2))
        job["depends_on"] = ",".join(map(str, on)) or None
        job["think"] = data.draw(st.sampled_from([None, 0, 5, 300]))
    result = run(as_workload(jobs), Platform.pool(CORES), policy)
    times = {job: (start, finish) for start, finish, job in held(result)}
    rejected = {int(name) for name in result.rejected["job_id"]}
    assert sorted([*times, *rejected]) == list(range(len(jobs)))
    for number, job in enumerate(jobs):
        on = [int(at) for at in (job["depends_on"] or "").split(",") if at]
        if number in rejected:
            assert any(at in rejected for at in on), "rejected, but nothing that it waits for is stuck"
        elif on:
            assert times[number][0] >= max(times[at][1] for at in on) + (job["think"] or 0)
