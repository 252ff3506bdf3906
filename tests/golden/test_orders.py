"""Orders of the queue, on paper. Rows are (submit, run, cores, walltime); a first job holds all cores for a while."""

import pytest
from tests.build import everywhere, starts, workload
from tests.oracles.orders import Lots

from unspool.model.platform import Platform


@everywhere
@pytest.mark.parametrize(
    ("policy", "expected"),
    [("fcfs", [0, 10, 18, 21]), ("sjf", [0, 18, 10, 13]), ("ljf", [0, 10, 23, 18])],
)
def test_shortest_and_longest_first_go_by_walltime(cluster, policy, expected):
    jobs = workload([(0, 10, 4, 10), (1, 8, 4, 8), (2, 3, 4, 3), (3, 5, 4, 5)])
    assert starts(jobs, cluster(4), policy) == expected


@everywhere
@pytest.mark.parametrize(
    ("policy", "expected"),
    [("fcfs", [0, 10, 18, 21]), ("saf", [0, 10, 18, 10]), ("sjf", [0, 13, 10, 13])],
)
def test_smallest_area_goes_by_cores_times_walltime(cluster, policy, expected):
    # Areas of b, c and d: 8, 12 and 10. d fits beside b, c does not.
    jobs = workload([(0, 10, 4, 10), (1, 8, 1, 8), (2, 3, 4, 3), (3, 5, 2, 5)])
    assert starts(jobs, cluster(4), policy) == expected


@everywhere
def test_the_estimate_orders_and_not_the_run_time(cluster):
    # c asked for less than b and runs longer.
    jobs = workload([(0, 10, 1, 10), (1, 3, 1, 9), (2, 8, 1, 8)])
    assert starts(jobs, cluster(1), "sjf") == [0, 18, 10]


@everywhere
@pytest.mark.parametrize(("walltime", "start"), [(3, 10), (1, 2)])
def test_nobody_passes_a_head_that_does_not_fit(cluster, walltime, start):
    # b, of 2 s, waits for two cores. c is behind it with 3 s; with 1 s it is before it.
    jobs = workload([(0, 10, 3, 10), (1, 2, 2, 2), (2, 1, 1, walltime)])
    assert starts(jobs, cluster(4), "sjf") == [0, 10, start]


@everywhere
@pytest.mark.parametrize("policy", ["sjf", "ljf", "saf", "priority", "wfp3", "unicef", "multifactor"])
def test_equal_keys_go_by_line(cluster, policy):
    jobs = workload([(0, 10, 2, 10), (1, 5, 2, 5), (1, 5, 2, 5), (1, 5, 2, 5)])
    assert starts(jobs, cluster(2), policy) == [0, 10, 15, 20]


@everywhere
def test_highest_priority_of_the_log_is_first_and_none_is_zero(cluster):
    jobs = workload([(0, 10, 4, 10)] + [(1, 5, 4, 5)] * 4, priority=[None, 1.0, 2.5, None, -1.0])
    assert starts(jobs, cluster(4), "fcfs") == [0, 10, 15, 20, 25]
    assert starts(jobs, cluster(4), "priority") == [0, 15, 10, 20, 25]
    assert starts(workload([(0, 10, 4, 10), (1, 5, 4, 5)]), cluster(4), "priority") == [0, 10]


@pytest.mark.parametrize(("policy", "walltime"), [("f1", 1e9), ("f2", 90_000), ("f3", 100_000), ("f4", 60_000)])
def test_learnt_formulas_weigh_the_decade_of_arrival_against_the_job(policy, walltime):
    # Keys of b (submitted at 10 s, 100 cores), c (100 s, 1 core) and d (1000 s, 1 core), of 100 s each:
    # f1: 9 x 100 + 870 = 1770          2 + 870 x 2 = 1742              2 + 870 x 3 = 2612
    # f2: 300 x 100 + 25,600 = 55,600   10 + 25,600 x 2 = 51,210        10 + 25,600 x 3 = 76,810
    # f3: 1e7 + 6.86e6 = 16,860,000     100 + 6.86e6 x 2 = 13,720,100   100 + 6.86e6 x 3 = 20,580,100
    # f4: 6e5 + 5.3e5 = 1,130,000       100 + 5.3e5 x 2 = 1,060,100     100 + 5.3e5 x 3 = 1,590,100
    rows = [(0, 2000, 100, 2000), (10, 50, 100, walltime), (100, 50, 1, 100), (1000, 50, 1, 100)]
    assert starts(workload(rows), Platform.pool(100), "fcfs") == [0, 2000, 2050, 2050]
    assert starts(workload(rows), Platform.pool(100), policy) == [0, 2050, 2000, 2100]


@pytest.mark.parametrize("policy", ["f1", "f2", "f3", "f4"])
def test_learnt_formulas_count_from_the_first_submission_and_from_a_second_at_least(policy):
    # b and c arrive within the first second: log10 of both is 0, and c is the shorter one.
    rows = [(5000, 10, 2, 10), (5000.2, 7, 2, 9), (5000.9, 5, 2, 5)]
    assert starts(workload(rows), Platform.pool(2), policy) == [5000, 5015, 5010]


@everywhere
@pytest.mark.parametrize("policy", ["wfp3", "unicef"])
@pytest.mark.parametrize(("until", "expected"), [(52, [0, 52, 57]), (60, [0, 65, 60])])
def test_order_of_two_jobs_flips_with_time(cluster, policy, until, expected):
    # wait / walltime of b and c: 0.52 and 0.2 at 52 s, 0.6 and 1.0 at 60 s.
    jobs = workload([(0, until, 4, until), (0, 5, 4, 100), (50, 5, 4, 10)])
    assert starts(jobs, cluster(4), policy) == expected


@everywhere
def test_wfp3_prefers_the_larger_of_two_that_wait_alike(cluster):
    jobs = workload([(0, 10, 8, 10), (2, 5, 1, 4), (2, 5, 8, 4)])
    assert starts(jobs, cluster(8), "fcfs") == [0, 10, 15]
    assert starts(jobs, cluster(8), "wfp3") == [0, 15, 10]


@everywhere
@pytest.mark.parametrize(("cores", "expected"), [(7, [0, 10, 15]), (9, [0, 15, 10])])
def test_wfp3_takes_the_third_power_of_the_relative_wait(cluster, cores, expected):
    # At 10 s, b: (8 / 4)^3 x 1 = 8, c: (4 / 4)^3 x 7 = 7; with 9 cores c has 9.
    jobs = workload([(0, 10, cores, 10), (2, 5, 1, 4), (6, 5, cores, 4)])
    assert starts(jobs, cluster(cores), "wfp3") == expected


@everywhere
def test_unicef_prefers_the_narrower_of_two_that_wait_alike(cluster):
    # log2 of 4 is 2, of 2 is 1.
    jobs = workload([(0, 10, 4, 10), (0, 5, 4, 10), (0, 5, 2, 10)])
    assert starts(jobs, cluster(4), "fcfs") == [0, 10, 15]
    assert starts(jobs, cluster(4), "unicef") == [0, 15, 10]


@everywhere
def test_unicef_puts_jobs_of_one_core_before_all_others(cluster):
    # c, with an estimate of 100 s and no wait yet, passes b.
    jobs = workload([(0, 10, 3, 10), (1, 5, 4, 5), (2, 3, 1, 100)])
    assert starts(jobs, cluster(4), "fcfs") == [0, 10, 15]
    assert starts(jobs, cluster(4), "unicef") == [0, 10, 2]


def test_random_order_is_drawn_from_the_seed():
    jobs = workload([(0, 10, 1, 10)] * 7)
    pool = Platform.pool(1)
    once, again, other = (starts(jobs, pool, "random", seed=seed) for seed in (4, 4, 5))
    assert once == again
    assert once != other
    assert once != starts(jobs, pool, "fcfs")
    assert sorted(once) == sorted(other) == [0, 10, 20, 30, 40, 50, 60]
    lots = Lots(4)
    assert [once.index(start) for start in sorted(once)] == sorted(range(7), key=lambda job: lots[job])


@everywhere
def test_easy_reserves_for_the_head_of_its_order(cluster):
    # By walltime c is the head, for 10 s; d ends by then. b, which came first, is last.
    jobs = workload([(0, 10, 3, 10), (1, 20, 4, 20), (2, 5, 4, 5), (3, 6, 1, 6)])
    assert starts(jobs, cluster(4), "easy") == [0, 10, 30, 3]
    assert starts(jobs, cluster(4), "easy:order=sjf") == [0, 15, 10, 3]


@everywhere
def test_easy_moves_its_reservation_when_a_shorter_job_arrives(cluster):
    # Until 5 the head is b, of all four cores, and c would delay it. Then it is d, of two: c may have the extra ones.
    jobs = workload([(0, 10, 3, 10), (1, 9, 4, 9), (2, 20, 1, 20), (5, 5, 2, 5)])
    assert starts(jobs, cluster(4), "easy") == [0, 10, 19, 19]
    assert starts(jobs, cluster(4), "easy:order=sjf") == [0, 25, 5, 10]


@everywhere
def test_job_that_starts_before_the_head_moves_the_shadow_time(cluster):
    # b, of all cores, is to start at 10, and c would delay it. d, more urgent, starts at 3: now b waits until 18, and
    # e, which ends at 17, may pass.
    rows = [(0, 10, 3, 10), (1, 20, 5, 20), (2, 25, 1, 25), (3, 15, 1, 15), (4, 13, 1, 13)]
    jobs = workload(rows, priority=[0, 0, -1, 5, -1])
    assert starts(jobs, cluster(5), "easy:order=priority") == [0, 18, 38, 3, 4]


@everywhere
def test_refusal_for_one_head_says_nothing_of_the_next(cluster):
    # Until 5 c and d would delay b. Then e is the head, of five cores: d may have the sixth, c is still too wide.
    jobs = workload([(0, 10, 4, 10), (1, 9, 6, 9), (2, 20, 2, 20), (2, 20, 1, 20), (5, 5, 5, 5)])
    assert starts(jobs, cluster(6), "easy:order=sjf") == [0, 25, 34, 5, 10]


@everywhere
def test_conservative_moves_plans_forward_in_the_order_of_the_queue(cluster):
    # a ends 16 s early. By planned start b moves first, by walltime c does.
    jobs = workload([(0, 4, 2, 20), (1, 10, 2, 10), (2, 5, 2, 5)])
    assert starts(jobs, cluster(2), "conservative") == [0, 4, 14]
    assert starts(jobs, cluster(2), "conservative:order=sjf") == [0, 9, 4]


@everywhere
def test_conservative_plans_jobs_that_arrive_together_in_the_order_of_the_queue(cluster):
    jobs = workload([(0, 20, 2, 20), (1, 10, 2, 10), (1, 5, 2, 5)])
    assert starts(jobs, cluster(2), "conservative") == [0, 20, 30]
    assert starts(jobs, cluster(2), "conservative:order=sjf") == [0, 25, 20]


@everywhere
def test_conservative_keeps_its_promise_to_a_job_that_another_precedes_later(cluster):
    jobs = workload([(0, 20, 2, 20), (1, 10, 2, 10), (2, 5, 2, 5)])
    assert starts(jobs, cluster(2), "conservative:order=sjf") == [0, 20, 30]
