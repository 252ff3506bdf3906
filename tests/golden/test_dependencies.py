"""Jobs that wait for other jobs, on paper. Rows are (submit, run, cores, walltime)."""

import pytest
from tests.build import POLICIES, everywhere, starts, workload

from unspool.policies.base import Kill, Reject, Start
from unspool.results.run import run


@everywhere
def test_dependent_waits_for_the_end_and_not_for_cores(cluster):
    jobs = workload([(0, 10, 1, 10), (1, 5, 1, 5)], depends_on=[None, "a"])
    assert starts(jobs, cluster(4), "fcfs") == [0, 10]


@pytest.mark.parametrize("policy", POLICIES)
def test_others_pass_a_job_that_is_not_eligible_yet(policy):
    # b, of all cores, is not in the queue before 10: c need not wait for it.
    jobs = workload([(0, 10, 1, 10), (1, 5, 2, 5), (2, 20, 1, 20)], depends_on=[None, "a", None])
    assert starts(jobs, "2", policy) == [0, 22, 2]


@pytest.mark.parametrize("policy", POLICIES)
def test_dependent_takes_the_place_in_the_queue_that_its_submission_gave_it(policy):
    # At 10 the queue is b (submitted at 1, eligible now) before c (submitted at 2).
    jobs = workload([(0, 10, 1, 10), (1, 5, 1, 5), (2, 20, 1, 20)], depends_on=[None, "a", None])
    expected = {"fcfs": [0, 10, 15], "easy": [0, 10, 15], "conservative": [0, 30, 10]}  # c has a plan for 10 since 2
    assert starts(jobs, "1", policy) == expected[policy]


def test_think_time_passes_after_the_end():
    jobs = workload([(0, 10, 1, 10), (1, 5, 1, 5)], depends_on=[None, "a"], think_time=[0, 7])
    assert starts(jobs, "4", "fcfs") == [0, 17]


@pytest.mark.parametrize(("submit", "start"), [(10, 17), (12, 17), (17, 17), (18, 18)])
def test_think_time_runs_from_the_end_also_of_a_job_submitted_later(submit, start):
    jobs = workload([(0, 10, 1, 10), (submit, 5, 1, 5)], depends_on=[None, "a"], think_time=[None, 7])
    assert starts(jobs, "4", "fcfs") == [0, start]


@pytest.mark.parametrize("submit", [10, 11, 500])
def test_job_submitted_when_its_dependency_has_ended_does_not_wait(submit):
    jobs = workload([(0, 10, 1, 10), (submit, 5, 1, 5)], depends_on=[None, "a"])
    assert starts(jobs, "4", "fcfs") == [0, submit]


def test_job_waits_for_the_last_of_several():
    jobs = workload(
        [(0, 10, 1, 10), (0, 30, 1, 30), (0, 20, 1, 20), (0, 1, 1, 1)], depends_on=[None, None, None, "a, c,b,a"]
    )
    assert starts(jobs, "4", "fcfs") == [0, 0, 0, 30]


@pytest.mark.parametrize("cell", ["a c b", "a,c,b", "a:c:b", "a, c:b", " b  a\tc ", "a,c,b,"])
def test_several_ids_stand_in_one_cell_between_blanks_commas_or_colons(cell):
    rows = [(0, 10, 1, 10), (0, 30, 1, 30), (0, 20, 1, 20), (0, 1, 1, 1)]
    result = run(workload(rows, depends_on=[None, None, None, cell]), "4", "fcfs")
    assert result.jobs["start_time"].to_list() == [0, 0, 0, 30]
    assert result.notes == ()


@pytest.mark.parametrize("name", ["b c", "b,c", "b:c", "b, c:d"])
def test_a_cell_that_is_a_known_id_is_one_id(name):
    jobs = workload(
        [(0, 10, 1, 10), (0, 30, 1, 30), (0, 20, 1, 20), (0, 1, 1, 1)],
        job_id=["b", "c", name, "z"],
        depends_on=[None, None, None, name],
    )
    result = run(jobs, "4", "fcfs")
    assert result.jobs["start_time"].to_list() == [0, 0, 0, 20]
    assert result.notes == ()


def test_a_known_id_with_a_colon_stays_one_among_others():
    rows = [(0, 10, 1, 10), (0, 30, 1, 30), (0, 20, 1, 20), (0, 1, 1, 1)]
    jobs = workload(rows, job_id=["b", "c", "b:c", "z"], depends_on=[None, None, None, "b:c,b"])
    assert starts(jobs, "4", "fcfs") == [0, 0, 0, 20]


def test_unknown_ids_of_several_in_a_cell_are_counted_and_the_others_wait():
    jobs = workload([(0, 10, 1, 10), (1, 5, 1, 5)], depends_on=[None, "a 8:9"])
    result = run(jobs, "4", "fcfs")
    assert result.jobs["start_time"].to_list() == [0, 10]
    assert result.notes == ("2 dependencies on jobs that do not take part: taken as ended",)


def test_chain_of_jobs_of_no_length_ends_at_one_instant():
    jobs = workload([(3, 0, 1, 1), (3, 0, 1, 1), (3, 0, 1, 1)], depends_on=["c", "a", None])
    assert starts(jobs, "1", "fcfs") == [3, 3, 3]


def test_job_may_depend_on_one_that_is_submitted_later():
    jobs = workload([(0, 1, 1, 1), (20, 5, 1, 5)], depends_on=["b", None])
    assert starts(jobs, "1", "fcfs") == [25, 20]


def test_unknown_ids_are_taken_as_ended_and_counted():
    jobs = workload([(0, 10, 1, 10), (1, 5, 1, 5)], depends_on=["nobody,nothing", "a,none"])
    result = run(jobs, "4", "fcfs")
    assert result.jobs["start_time"].to_list() == [0, 10]
    assert [note for note in result.notes if "dependencies" in note] == [
        "3 dependencies on jobs that do not take part: taken as ended"
    ]


def test_circle_is_rejected_with_the_reason_and_the_run_goes_on():
    # a waits for b, b for a, c for itself; d waits for nobody.
    jobs = workload([(0, 1, 1, 1), (1, 1, 1, 1), (2, 1, 1, 1), (3, 9, 1, 9)], depends_on=["b", "a", "c", None])
    result = run(jobs, "1", "fcfs")
    assert result.jobs.select("job_id", "start_time").rows() == [("d", 3)]
    assert result.rejected.rows() == [
        (line, job_id, "depends on jobs that wait for one another or for themselves")
        for line, job_id in ((1, "a"), (2, "b"), (3, "c"))
    ]
    assert result.counts["rejected_jobs"] == 3


def test_job_behind_a_circle_is_rejected_too():
    jobs = workload([(0, 1, 1, 1), (1, 1, 1, 1), (2, 1, 1, 1), (3, 9, 1, 9)], depends_on=["b", "a", "a,d", None])
    result = run(jobs, "1", "fcfs")
    assert result.jobs["job_id"].to_list() == ["d"]
    assert sorted(result.rejected["job_id"]) == ["a", "b", "c"]
    assert set(result.rejected["reason"]) == {"depends on jobs that wait for one another or for themselves"}


def test_dependents_of_a_job_too_large_for_the_platform_do_not_wait_for_it():
    jobs = workload([(0, 10, 9, 10), (1, 5, 1, 5)], depends_on=[None, "a"])
    result = run(jobs, "4", "fcfs")
    assert result.jobs.select("job_id", "start_time").rows() == [("b", 1)]
    assert result.notes == ("1 dependency on jobs that do not take part: taken as ended",)


def test_dependents_of_a_job_that_the_policy_rejects_do_not_wait_for_it():
    def reject_large(view):
        return [Reject(job, "too large") if job.cores > 1 else Start(job) for job in view.queue]

    jobs = workload([(2, 10, 2, 10), (1, 5, 1, 5), (0, 5, 1, 5)], depends_on=[None, "a", "a"])
    result = run(jobs, "4", reject_large)
    assert result.jobs.select("job_id", "start_time").rows() == [("c", 2), ("b", 2)]
    assert result.rejected.rows() == [(1, "a", "too large")]


def test_dependents_of_a_killed_job_start_after_the_kill():
    def kill_at_four(view):
        kills = [Kill(job, at=4) for job in view.arrived if job.id == "a"]
        return [*(Start(job) for job in view.queue), *kills]

    jobs = workload([(0, 10, 1, 10), (1, 5, 1, 5)], depends_on=[None, "a"])
    assert starts(jobs, "4", kill_at_four) == [0, 4]
