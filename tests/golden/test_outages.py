"""Machines that are lost and come back, on paper."""

import pytest
from tests.build import workload

from unspool.errors import InputError
from unspool.model.outages import Failures, OnLoss, Outage, Outages
from unspool.model.platform import MachineGroup, MachineType, Platform
from unspool.results.run import run

TWO = Platform((MachineGroup(MachineType("small", 1), 2),))
TWO_OF_TWO = Platform((MachineGroup(MachineType("double", 2, 8), 2),))


def attempts(result):
    return result.attempts.select("job_id", "start_time", "finish_time", "how").rows()


def down(*rows):
    return Outages(tuple(Outage(*row) for row in rows))


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "filler", "sjf", "wfp3"])
def test_a_job_on_a_lost_machine_is_requeued_and_starts_again(policy):
    jobs = workload([(0, 10, 1, 10), (0, 10, 1, 10)])
    result = run(jobs, TWO, policy, outages=down((0, 4, 6)))
    assert attempts(result) == [("a", 0, 4, "lost"), ("b", 0, 10, "completed"), ("a", 6, 16, "completed")]
    assert result.jobs["attempts"].to_list() == [2, 1]
    assert result.summary["lost_attempts"] == 1
    assert result.summary["lost_attempt_core_hours"] == pytest.approx(4 / 3600)
    assert result.outages.rows() == [(0, 4.0, 6.0, "failure")]


def test_a_job_on_a_lost_machine_can_be_killed_and_its_dependents_go_on():
    jobs = workload([(0, 10, 1, 10), (0, 3, 1, 3)], depends_on=[None, "a"])
    result = run(jobs, TWO, "fcfs", outages=down((0, 4, 6)), on_loss="kill")
    assert attempts(result) == [("a", 0, 4, "lost"), ("b", 4, 7, "completed")]
    assert result.summary["lost_jobs"] == 1


def test_a_job_goes_on_from_its_last_checkpoint():
    # Checkpoints after 3 and 6 s of work; lost after 7 s, 4 of the 10 are left.
    result = run(workload([(0, 10, 1, 10)]), TWO, "fcfs", outages=down((0, 7, 99), (1, 9, 12)), on_loss="resume:3s")
    # On machine 1 from 7; lost again at 9, after 2 s, before the next checkpoint: 4 s are left again.
    assert attempts(result) == [("a", 0, 7, "lost"), ("a", 7, 9, "lost"), ("a", 12, 16, "completed")]


def test_a_requeued_job_has_its_old_place_in_the_queue():
    jobs = workload([(0, 10, 2, 10), (1, 10, 1, 10), (2, 10, 1, 10)])
    result = run(jobs, TWO, "fcfs", outages=down((0, 5, 5.5)))
    assert attempts(result)[1:] == [
        ("a", 5.5, 15.5, "completed"),
        ("b", 15.5, 25.5, "completed"),
        ("c", 15.5, 25.5, "completed"),
    ]


def test_overlapping_outages_of_a_machine_are_one():
    result = run(workload([(0, 10, 2, 10)]), TWO, "easy", outages=down((0, 1, 5), (0, 3, 8), (0, 8, 9)))
    assert attempts(result) == [("a", 0, 1, "lost"), ("a", 9, 19, "completed")]


def test_a_job_that_ends_as_its_machine_is_lost_has_ended():
    result = run(workload([(0, 4, 1, 4)]), TWO, "easy", outages=down((0, 4, 9)))
    assert attempts(result) == [("a", 0, 4, "completed")]


@pytest.mark.parametrize("policy", ["easy", "conservative"])
@pytest.mark.parametrize("platform", [TWO, TWO_OF_TWO], ids=["cores decide", "machines decide"])
def test_small_jobs_go_on_while_a_large_one_waits_for_a_machine(policy, platform):
    both = platform.cores
    columns = {} if platform is TWO else {"memory_bytes": [0, 4, 4]}
    jobs = workload([(0, 5, both, 5), (6, 5, 1, 5), (7, 5, 1, 5)], **columns)
    result = run(jobs, platform, policy, outages=down((0, 2, 20)))
    # The first job fits only when machine 0 is back; nobody knows when that will be.
    assert attempts(result)[0] == ("a", 0, 2, "lost")
    assert sorted(attempts(result)[1:]) == [("a", 20, 25, "completed"), *sorted(attempts(result)[1:])[1:]]
    starts = {job: start for job, start, _, _ in attempts(result)}
    assert starts["b"] == 6
    assert starts["c"] == (11 if platform is TWO else 7)


def test_a_job_that_is_too_long_between_failures_is_given_up():
    rows = [(0, 10.0 * at + 5, 10.0 * at + 6) for at in range(9)] + [(1, 0.0, 200.0)]
    result = run(workload([(0, 50, 1, 50)]), TWO, "fcfs", outages=down(*rows), on_loss=OnLoss(most_attempts=3))
    assert result.jobs["state"].to_list() == ["lost"]
    assert result.jobs["attempts"].to_list() == [3]


def test_drawn_failures_depend_on_the_seed_only():
    jobs = workload([(10 * at, 400, 1, 500) for at in range(60)])
    by_policy = [run(jobs, TWO, policy, outages="mtbf=30min,repair=2min", seed=7) for policy in ("fcfs", "easy")]
    other = run(jobs, TWO, "fcfs", outages="mtbf=30min,repair=2min", seed=8)
    assert by_policy[0].outages.equals(by_policy[1].outages)
    assert not by_policy[0].outages.equals(other.outages)
    assert by_policy[0].summary["lost_attempts"] > 0
    assert set(by_policy[0].jobs["state"]) == {"completed"}


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: run(workload([(0, 1, 1, 1)]), 2, "fcfs", outages="mtbf=1h,repair=1h"), "a pool has no machines"),
        (lambda: Failures.parse("mtbf=1h"), "repair is missing"),
        (lambda: Failures.parse("mtbf=1h,repair=0"), "mean_repair_s is 0"),
        (lambda: Failures.parse("mtfb=1h,repair=1h"), "did you mean 'mtbf'"),
        (lambda: OnLoss.parse("resume"), "resume needs the time between checkpoints"),
        (lambda: OnLoss.parse("kil"), "did you mean 'kill'"),
        (lambda: OnLoss.parse("kill:1h"), "only resume takes a time"),
    ],
)
def test_wrong_input_is_told(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()


def test_under_conservative_a_lost_job_is_planned_before_those_that_had_not_started():
    # b is planned for 10; a, lost at 4, is planned first when machine 0 is back at 6.
    jobs = workload([(0, 10, 2, 10), (1, 10, 2, 10)])
    result = run(jobs, TWO, "conservative", outages=down((0, 4, 6)))
    assert attempts(result) == [("a", 0, 4, "lost"), ("a", 6, 16, "completed"), ("b", 16, 26, "completed")]
