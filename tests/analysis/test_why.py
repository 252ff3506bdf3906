"""What a job waited for: each reason on paper, and on random workloads against what the tables of the result say."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.build import workload
from tests.strategies import as_jobs, as_workload, platforms, requests, rows

from unspool.analysis.reasons import REASONS, reason_for
from unspool.analysis.room import shortage_of
from unspool.analysis.why import why
from unspool.errors import InputError
from unspool.model.outages import Outage, Outages
from unspool.model.platform import MachineGroup, MachineType, Partition, Platform
from unspool.policies.base import Start, WakeAt
from unspool.results.run import run
from unspool.simulation.engine import Engine

GIB = 1 << 30
BUSY = [(0, 10, 3, 10), (1, 10, 4, 10)]  # on 4 cores: a leaves one free, b needs all
POLICIES = ("fcfs", "easy", "conservative", "filler", "sjf", "easy:order=wfp3", "conservative:order=saf", "multifactor")


def explained(jobs, platform, policy, job):
    return why(run(jobs, platform, policy), job, workload=jobs)


def told(jobs, platform, policy, job):
    found = explained(jobs, platform, policy, job)
    return [(one.begin, one.end, one.reason.key, *one.reason.jobs) for one in found.intervals]


def cluster(*machines, **options):
    """Machines of a type each, as (cores, GiB, GPUs) or a part of it."""
    groups = [
        MachineGroup(MachineType(f"m{at}", cores, memory * GIB, gpus), 1)
        for at, (cores, memory, gpus) in enumerate((*one, 0, 0)[:3] for one in machines)
    ]
    return Platform(tuple(groups), **options)


def test_the_head_waits_for_cores_and_those_behind_it_for_the_head():
    jobs = workload([*BUSY, (2, 5, 1, 5)])
    assert told(jobs, 4, "fcfs", "b") == [(1, 10, "no room: cores")]
    assert told(jobs, 4, "fcfs", "c") == [(2, 10, "order", "b"), (10, 20, "no room: cores")]
    found = explained(jobs, 4, "fcfs", "c")
    assert [str(one.reason) for one in found.intervals] == [
        "is behind job b, which has no room, and nobody may overtake",
        "needs 1 core, 0 free",
    ]
    assert (found.wait_s, found.totals) == (18, {"no room: cores": 10, "order": 8})
    assert [one.ahead for one in found.intervals] == [1, 0]
    assert str(found).splitlines()[0] == "job c under fcfs waited 18 s"


def test_a_queue_in_another_order_names_its_own_head():
    jobs = workload([(0, 10, 4, 10), (1, 4, 1, 4), (1, 10, 1, 20), (2, 5, 4, 5)])
    assert told(jobs, 4, "sjf", "c") == [(1, 10, "no room: cores"), (10, 14, "order", "d"), (14, 19, "no room: cores")]


def test_easy_holds_back_what_would_delay_the_head():
    jobs = workload([*BUSY, (2, 20, 1, 30)])
    assert told(jobs, 4, "easy", "c") == [(2, 10, "reservation", "b"), (10, 20, "no room: cores")]
    reason = explained(jobs, 4, "easy", "c").intervals[0].reason
    assert (reason.expected_start, reason.expected_end) == (10, 32)
    assert str(reason) == (
        "could run until 32 on 1 core, but job b at the head of the queue expects to start at 10, with 0 to spare"
    )


def test_on_machines_a_reservation_is_of_machines():
    # a and b take a core of a machine each; c waits for all of a's, where d would be put though b's has a core too.
    jobs = workload([(0, 10, 1, 10), (0, 30, 1, 30), (1, 10, 2, 10), (2, 20, 1, 30)], machines=[1, 1, 1, 1])
    platform = cluster((2,), (2,), selection="worst")
    assert told(jobs, platform, "easy", "d") == [(2, 10, "reservation", "c")]
    assert str(explained(jobs, platform, "easy", "d").intervals[0].reason) == (
        "could run until 32 on 1 core, but job c at the head of the queue expects to start at 10, "
        "on machines that it would take"
    )


def test_conservative_plans_round_what_is_promised():
    jobs = workload([(0, 10, 2, 10), (0, 10, 4, 10), (1, 15, 2, 15)])
    assert told(jobs, 4, "conservative", "c") == [(1, 10, "plan", "b"), (10, 20, "no room: cores")]
    first, second = (one.reason for one in explained(jobs, 4, "conservative", "c").intervals)
    assert str(first) == "is planned for 20: could run until 16, into cores promised to job b"
    assert str(second) == "needs 2 cores, 0 free; planned for 20"


def test_conservative_names_all_whose_plans_hold_the_cores():
    jobs = workload([(0, 10, 3, 10), (1, 10, 2, 10), (1, 10, 2, 10), (2, 20, 1, 20)])
    assert told(jobs, 4, "conservative", "d") == [(2, 10, "plan", "b", "c"), (10, 20, "no room: cores")]


def test_dependencies_then_the_pause_after_them():
    jobs = workload(
        [(0, 10, 1, 10), (0, 14, 1, 14), (2, 5, 1, 5)], depends_on=[None, None, "a, b"], think_time=[None, None, 3]
    )
    assert told(jobs, 4, "easy", "c") == [
        (2, 10, "dependency", "a", "b"), (10, 14, "dependency", "b"), (14, 17, "not eligible", "a", "b"),
    ]  # fmt: skip
    assert [str(one.reason) for one in explained(jobs, 4, "easy", "c").intervals] == [
        "waits for the end of jobs a, b", "waits for the end of job b", "pauses for 3 s after the end of jobs a, b",
    ]  # fmt: skip


def test_an_eligible_job_then_waits_for_room():
    jobs = workload([(0, 10, 1, 10), (9, 10, 3, 10), (2, 5, 2, 5)], depends_on=[None, None, "a"])
    assert told(jobs, 4, "easy", "c") == [(2, 10, "dependency", "a"), (10, 19, "no room: cores")]


def test_a_licence_and_who_holds_it():
    jobs = workload([(0, 10, 1, 10), (0, 6, 1, 6), (1, 5, 1, 5)], licences=["solver", "solver:1", "solver:2"])
    platform = cluster((4,), licences={"solver": 2})
    assert told(jobs, platform, "easy", "c") == [(1, 6, "licence: solver", "a", "b"), (6, 10, "licence: solver", "a")]
    assert str(explained(jobs, platform, "easy", "c").intervals[1].reason) == (
        "needs 2 of licence solver, 1 free; held by job a"
    )


def test_memory():
    jobs = workload([(0, 10, 1, 10), (1, 5, 2, 5)], memory_bytes=[6 * GIB, 4 * GIB])
    found = explained(jobs, cluster((4, 8)), "easy", "b")
    assert [(one.begin, one.end, one.reason.key) for one in found.intervals] == [(1, 10, "no room: memory")]
    assert str(found.intervals[0].reason) == "needs 4 GiB of memory, 2 GiB free"


def test_gpus_and_cores_at_once():
    jobs = workload([(0, 10, 3, 10), (1, 5, 2, 5)], gpus=[1, 2])
    found = explained(jobs, cluster((4, 0, 2)), "easy", "b")
    assert [one.reason.key for one in found.intervals] == ["no room: cores and GPUs"]
    assert str(found.intervals[0].reason) == "needs 2 cores, 1 free and 2 GPUs, 1 free"


def test_whole_machines():
    jobs = workload([(0, 10, 2, 10), (1, 5, 2, 5)], machines=[2, 1])
    found = explained(jobs, cluster((2,), (2,)), "easy", "b")
    assert str(found.intervals[0].reason) == "needs 1 machine with 2 cores free, there are 0"


def test_a_partition():
    parts = (Partition("left", ("m0",)), Partition("right", ("m1",)))
    jobs = workload([(0, 10, 2, 10), (1, 5, 1, 5)], partition=["left", "left"])
    found = explained(jobs, cluster((2,), (2,), partitions=parts), "easy", "b")
    assert [one.reason.key for one in found.intervals] == ["no room: partition left"]
    assert str(found.intervals[0].reason) == "needs 1 core, 0 free in partition left"


def test_cores_here_and_memory_there_are_no_room():
    jobs = workload(
        [(0, 10, 1, 10), (0, 10, 2, 10), (1, 5, 1, 5)], machines=[1, 1, None], memory_bytes=[4 * GIB, None, 2 * GIB]
    )
    found = explained(jobs, cluster((2, 4), (2, 4)), "easy", "c")
    assert [one.reason.key for one in found.intervals] == ["no room: all on one machine"]
    assert str(found.intervals[0].reason) == "needs things that are free, but not together: 1 share, 0 free"


def test_neighbouring_machines():
    jobs = workload([(0, 20, 1, 20), (0, 5, 1, 5), (0, 20, 1, 20), (6, 5, 2, 5)])
    platform = Platform((MachineGroup(MachineType("small", 1), 4),), selection="contiguous")
    assert told(jobs, platform, "easy", "d") == [(6, 20, "no room: neighbouring machines")]


def patient(view):
    """Starts a job five seconds after its submission."""
    for job in view.queue:
        if view.now >= job.submit_time + 5:
            yield Start(job)
        else:
            yield WakeAt(job.submit_time + 5)


def test_of_a_policy_in_python_no_reason_is_known():
    jobs = workload([(0, 10, 2, 10), (2, 5, 1, 5)])
    found = why(run(jobs, 4, patient), "b", workload=jobs, policy=patient)
    assert [(one.begin, one.end, one.reason.key) for one in found.intervals] == [(2, 7, "policy")]
    assert found.instants == 2, "at 2, and at 5 when a starts"


def test_a_policy_with_memory_can_be_asked_about_twice():
    class Second:
        """Starts a job when it is seen for the second time, a second later."""

        def __init__(self):
            self.seen = set()

        def decide(self, view):
            for job in view.queue:
                yield Start(job) if job.id in self.seen else WakeAt(view.now + 1)
                self.seen.add(job.id)

    jobs = workload([(0, 10, 1, 10)])
    policy, result = Second(), run(jobs, 4, Second())
    for _ in range(2):
        found = why(result, "a", workload=jobs, policy=policy)
        assert [(one.begin, one.end, one.reason.key) for one in found.intervals] == [(0, 1, "policy")]
    with pytest.raises(InputError, match=r"policy 'Second' of this result cannot be made again: .* as an object"):
        why(result, "a", workload=jobs)


def test_cores_that_are_down_are_told_apart_from_cores_that_are_held():
    jobs = workload([(0, 10, 1, 10), (0, 10, 3, 10), (0, 10, 4, 10)])
    engine = Engine(jobs, Platform.pool(4))
    for job in engine.advance().queue[:1]:
        engine.apply([Start(job)])
    engine.core.course[0]["free"] -= 2
    assert shortage_of(engine, 1).reason == "machines down"
    assert shortage_of(engine, 2).reason == "no room"
    text = str(reason_for(engine, patient, 1))
    assert text == "needs 3 cores, 1 free; there would be room with the machines that are down"


def test_equal_reasons_are_one_interval_with_a_range():
    jobs = workload([(0, 10, 2, 10), (0, 4, 1, 4), (0, 20, 1, 20), (1, 5, 4, 5), (6, 2, 1, 2)])
    found = explained(jobs, 4, "easy", "d")
    assert [(one.begin, one.end) for one in found.intervals] == [(1, 20)]
    assert str(found.intervals[0].reason) == "needs 4 cores, 0 to 3 free"
    assert (found.instants, found.overtaken_by) == (5, 1), "at 1, 4, 6, 8 and 10; e starts at 6"


def test_a_job_that_does_not_wait_has_no_intervals():
    jobs = workload(BUSY)
    found = explained(jobs, 4, "easy", "a")
    assert (found.intervals, found.totals, found.wait_s) == ((), {}, 0)


def test_jobs_that_did_not_run_are_told():
    jobs = workload([*BUSY, (2, 5, 9, 5)])
    result = run(jobs, 4, "easy")
    with pytest.raises(InputError, match="job 'c' did not run: asks for 9 cores; the platform has 4"):
        why(result, "c", workload=jobs)
    with pytest.raises(InputError, match="there is no job 'z' in this result; its jobs are a, b"):
        why(result, "z", workload=jobs)


def test_another_policy_than_that_of_the_result_is_noticed():
    jobs = workload([*BUSY, (2, 5, 1, 5), (3, 5, 1, 5)])
    easy = run(jobs, 4, "easy")
    with pytest.raises(
        InputError, match=r"does not decide again as in this result: it starts job b at 10 s, the result"
    ):
        why(easy, "d", workload=jobs, policy=lambda view: [Start(job) for job in view.queue[:1] if view.fits(job)])


def free_cores(result, time):
    """Cores that are free at a time after all starts, by the table of attempts."""
    held = result.attempts.filter((result.attempts["start_time"] <= time) & (result.attempts["finish_time"] > time))
    return result.platform.cores - held["cores"].sum()


def check_tiling(result, found):
    times = [time for one in found.intervals for time in (one.begin, one.end)]
    assert times[1:-1:2] == times[2::2], "no gap and no overlap"
    assert ([found.submit_time, found.start_time] if found.wait_s else []) == [*times[:1], *times[-1:]]
    assert all(one.length_s > 0 for one in found.intervals)
    assert sum(found.totals.values()) == found.wait_s
    assert all(not one.is_like(two) for one, two in pairwise([one.reason for one in found.intervals]))
    assert {one.reason.reason for one in found.intervals} <= REASONS.keys()
    assert all(str(one.reason) for one in found.intervals)


def test_a_plan_that_nobody_is_in_the_way_of_moves_only_when_a_job_ends_early():
    # Job 1 overruns and ends at 11, early as it was corrected to 61. In the order of areas job 2 is looked at before
    # job 0, whose plan of 61 to 70 is in its way then; job 0 moves to 11, and ends at 20, when it was expected to.
    jobs = as_workload(as_jobs([(0, 9, 6, 9), (0, 11, 1, 1), (10, 0, 1, 52)]))
    found = why(run(jobs, 6, "conservative:order=saf"), "2", workload=jobs)
    assert (found.intervals[-1].begin, found.intervals[-1].end) == (20.0, 70.0)
    assert str(found.intervals[-1].reason) == (
        "is planned for 70: there is room now, but plans move only when a job ends early"
    )


@settings(max_examples=25)
@given(log=rows(6, most=12), policy=st.sampled_from(POLICIES))
def test_reasons_on_a_pool_agree_with_the_tables(log, policy):
    jobs = as_workload(as_jobs(log))
    result = run(jobs, 6, policy)
    instants = sorted({*result.attempts["start_time"], *result.attempts["finish_time"], *result.jobs["submit_time"]})
    waits = result.jobs.filter(result.jobs["wait_time"] > 0)["job_id"].to_list()
    for job in waits[:4]:
        found = why(result, job, workload=jobs)
        check_tiling(result, found)
        for one in found.intervals:
            free = [free_cores(result, time) for time in instants if one.begin <= time < one.end]
            if one.reason.reason == "no room":
                (amount,) = one.reason.amounts
                assert (min(free), max(free)) == (amount.free_least, amount.free_most)
                assert max(free) < amount.needed == found.cores
            else:
                assert min(free) >= found.cores, "there is room, and another reason"
            check_reason(one, policy)


def check_reason(one, policy):
    """A reason that only another policy could have, or that does not hold back a job by its own numbers."""
    reason = one.reason
    if reason.reason == "reservation":
        assert policy.startswith("easy")
        assert reason.expected_end > reason.expected_start
        assert reason.amounts[0].needed > reason.amounts[0].free_most
    elif reason.reason == "plan":
        assert policy.startswith("conservative")
        assert reason.expected_start > one.begin
        assert reason.jobs or "plans move only when a job ends early" in str(reason)
    elif reason.reason == "order":
        assert policy in ("fcfs", "sjf", "multifactor")
    else:
        assert reason.reason == "no room"


def check_some(jobs, platform, policy):
    """Intervals of up to four jobs that waited; none is without a reason."""
    result = run(jobs, platform, policy)
    found = []
    for job in result.jobs.filter(result.jobs["wait_time"] > 0)["job_id"].to_list()[:4]:
        found.append(why(result, job, workload=jobs))
        check_tiling(result, found[-1])
        assert "policy" not in found[-1].totals
    return result, found


@settings(max_examples=25)
@given(
    jobs=requests(licences=True, partitions=True, most=10),
    platform=platforms(),
    policy=st.sampled_from(["fcfs", "easy", "conservative", "filler", "sjf"]),
)
def test_intervals_tile_the_wait_on_machines(jobs, platform, policy):
    check_some(as_workload(jobs), platform, policy)


@settings(max_examples=25)
@given(
    log=rows(6, most=10),
    after=st.lists(st.integers(0, 9), min_size=10, max_size=10),
    think=st.integers(0, 30),
    policy=st.sampled_from(["fcfs", "easy", "conservative"]),
)
def test_dependencies_and_pauses_are_as_the_tables_have_them(log, after, think, policy):
    jobs = [
        {**job, "depends_on": str(on), "think": float(think)} if on < at else job
        for at, (job, on) in enumerate(zip(as_jobs(log), after, strict=False))
    ]
    result, found = check_some(as_workload(jobs), 6, policy)
    finish = dict(zip(*result.jobs.select("job_id", "finish_time"), strict=True))
    for one in found:
        on = jobs[int(one.job)].get("depends_on")
        ended = finish[on] if on is not None else one.submit_time
        eligible = ended + think if on is not None else one.submit_time
        assert one.totals.get("dependency", 0) == max(ended - one.submit_time, 0)
        assert one.totals.get("not eligible", 0) == max(eligible - max(ended, one.submit_time), 0)


def test_a_machine_that_is_down_is_told():
    jobs = workload([(0, 30, 1, 30), (1, 5, 2, 5)])
    platform = Platform((MachineGroup(MachineType("small", 1), 3),))
    outages = Outages((Outage(2, 0.5, 9.0),))
    result = run(jobs, platform, "easy", outages=outages)
    assert result.attempts["start_time"].to_list() == [0.0, 9.0]
    found = why(result, "b", workload=jobs)
    assert [(one.begin, one.end, one.reason.key) for one in found.intervals] == [(1.0, 9.0, "machines down")]
