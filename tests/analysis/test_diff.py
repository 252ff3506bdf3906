"""The first decision in which two runs differ, on paper; and on random workloads against the tables."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.build import workload
from tests.strategies import as_jobs, as_workload, rows

from unspool.analysis.diff import diff
from unspool.errors import InputError
from unspool.model.platform import MachineGroup, MachineType, Platform
from unspool.policies.base import Reject, Start
from unspool.results.run import run

BACKFILLED = [(0, 10, 3, 10), (1, 10, 4, 10), (2, 5, 1, 5), (3, 20, 1, 30)]  # on 4 cores c may overtake, d may not


def compared(jobs, platform, first, second, **options):
    return diff(run(jobs, platform, first), run(jobs, platform, second), workload=jobs, **options)


def test_the_first_backfilled_job_is_named_with_why_fcfs_did_not_start_it():
    found = compared(workload(BACKFILLED), 4, "fcfs", "easy")
    assert (found.same, found.change, found.time, found.queue, found.free_cores) == (False, "start", 2, 2, (1, 1))
    assert found.first.only == ()
    (c,) = found.second.only
    assert (c.job, c.cores, c.walltime, c.here.start_time, c.other.start_time) == ("c", 1, 5, 2, 20)
    assert c.reason == "is behind job b, which has no room, and nobody may overtake"
    assert str(found) == "first difference at 2 s (start): easy: job c"
    assert found.counts == {"attempts": 4, "start": 1, "end": 0}


def test_both_sides_are_told_where_each_starts_another_job():
    jobs = workload([(0, 10, 4, 10), (1, 8, 3, 20), (2, 5, 2, 5)])
    found = compared(jobs, 4, "fcfs", "sjf")
    assert (found.time, found.queue, found.started_by_both) == (10, 2, 0)
    assert [(one.job, one.reason) for one in found.first.only] == [("b", "needs 3 cores, 2 free")]
    assert [(one.job, one.reason) for one in found.second.only] == [("c", "needs 2 cores, 1 free")]


def test_what_both_start_at_that_instant_is_counted():
    jobs = workload([(0, 10, 4, 10), (1, 10, 3, 10), (2, 10, 4, 10), (3, 5, 1, 5)])
    found = compared(jobs, 4, "fcfs", "easy")
    assert (found.time, found.started_by_both, [one.job for one in found.second.only]) == (10, 1, ["d"])


def test_equal_runs_are_the_same():
    jobs = workload(BACKFILLED[:2])
    found = compared(jobs, 4, "fcfs", "easy")
    assert (found.same, found.change, found.time, str(found)) == (True, None, None, "the same")
    assert found.counts == {"attempts": 2, "start": 0, "end": 0}


def test_an_end_that_differs_is_before_what_follows_from_it():
    jobs = workload([(0, 10, 4, 6), (1, 5, 4, 5)])
    found = diff(run(jobs, 4, "easy"), run(jobs, 4, "easy", kill_at_walltime=True), workload=jobs)
    assert (found.change, found.time) == ("end", 6)
    assert found.first.only == ()
    (a,) = found.second.only
    assert (a.job, a.here.how, a.here.finish_time, a.other.how, a.other.finish_time) == (
        "a", "walltime", 6, "completed", 10,
    )  # fmt: skip
    assert found.notes == ("kill_at_walltime is False in the first, True in the second",)


def test_other_machines_are_told_where_starts_are_equal():
    jobs = workload([(0, 10, 1, 10), (1, 5, 1, 5)])
    both = [
        run(jobs, Platform((MachineGroup(MachineType("m", 2), 2),), selection=name), "easy")
        for name in ("first", "worst")
    ]
    found = diff(*both, workload=jobs)
    assert (found.change, found.time) == ("machines", 1)
    assert [(one.job, one.here.machines, one.other.machines) for one in found.first.only] == [
        ("b", "0-0 x 1", "1-1 x 1")
    ]
    assert found.notes == ("selection is first in the first, worst in the second",)
    assert found.counts["machines"] == 1


def turns_away(view):
    return [Reject(job, "too wide") if job.cores > 3 else Start(job) for job in view.queue if view.fits(job)]


def test_jobs_that_one_run_rejects_are_told():
    jobs = workload([(0, 10, 2, 10), (20, 5, 4, 5)])
    found = compared(jobs, 4, "easy", turns_away)
    assert (found.rejected, found.change, found.time) == (((), ("b",)), "start", 20)
    (b,) = found.first.only
    assert (b.job, b.other, b.reason) == ("b", None, None)
    assert "policy 'turns_away' of this result cannot be made again" in found.notes[0]


def test_a_job_too_large_for_one_platform_is_a_reason():
    jobs = workload([(0, 10, 2, 10), (20, 5, 4, 5)])
    found = diff(run(jobs, 4, "easy"), run(jobs, 3, "easy"), workload=jobs)
    assert found.first.only[0].reason == "was rejected: asks for 4 cores; the platform has 3"
    assert found.notes == ("the platform is 4 in the first, 3 in the second",)


def test_results_of_other_logs_are_refused():
    one, other = workload(BACKFILLED), workload(BACKFILLED[:3])
    with pytest.raises(InputError, match="the two results are not of one log"):
        diff(run(one, 4, "easy"), run(other, 4, "easy"))


def test_without_the_log_the_difference_is_found_and_only_the_reason_is_missing():
    jobs = workload(BACKFILLED)
    found = diff(run(jobs, 4, "fcfs"), run(jobs, 4, "easy"))
    assert [(one.job, one.reason) for one in found.second.only] == [("c", None)]
    (note,) = found.notes
    assert note.startswith("why 'fcfs' did not start them is not known: the log of this result cannot be read again")


@settings(max_examples=25)
@given(log=rows(6, most=12), names=st.sampled_from([("fcfs", "easy"), ("easy", "conservative"), ("sjf", "filler")]))
def test_all_is_equal_before_the_first_difference_and_not_at_it(log, names):
    jobs = as_workload(as_jobs(log))
    results = [run(jobs, 6, name) for name in names]
    found = diff(*results, workload=jobs)
    starts = [set(zip(*result.attempts.select("job_id", "start_time"), strict=True)) for result in results]
    if found.same:
        assert starts[0] == starts[1]
        return
    early = [{(job, start) for job, start in side if start < found.time} for side in starts]
    now = [{job for job, start in side if start == found.time} for side in starts]
    assert early[0] == early[1]
    assert [{one.job for one in side.only} for side in (found.first, found.second)] == [
        now[0] - now[1], now[1] - now[0],
    ]  # fmt: skip
    assert found.started_by_both == len(now[0] & now[1])
    assert now[0] != now[1]
    assert all(one.reason for side in (found.first, found.second) for one in side.only[:5])
