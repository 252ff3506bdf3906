"""Filler: whatever fits starts, on paper. Rows are (submit, run, cores, walltime)."""

from tests.build import everywhere, starts, workload

from unspool.model.platform import MachineGroup, MachineType, Platform


@everywhere
def test_job_that_fits_passes_the_head_and_delays_it(cluster):
    # EASY keeps c behind b, which it would delay.
    jobs = workload([(0, 10, 3, 10), (1, 5, 4, 5), (2, 30, 1, 30)])
    assert starts(jobs, cluster(4), "fcfs") == [0, 10, 15]
    assert starts(jobs, cluster(4), "easy") == [0, 10, 15]
    assert starts(jobs, cluster(4), "filler") == [0, 32, 2]


@everywhere
def test_a_large_job_waits_until_the_small_ones_are_through(cluster):
    # b wants both cores. One or the other is busy until the last small job has ended.
    jobs = workload([(0, 10, 1, 10), (1, 5, 2, 5), (2, 10, 1, 10), (9, 10, 1, 10), (11, 10, 1, 10)])
    assert starts(jobs, cluster(2), "filler") == [0, 22, 2, 10, 12]


@everywhere
def test_jobs_that_fit_start_in_the_order_of_the_queue(cluster):
    jobs = workload([(0, 10, 2, 10), (1, 5, 2, 5), (2, 3, 1, 3), (3, 4, 2, 4)])
    assert starts(jobs, cluster(2), "filler") == [0, 10, 15, 18]
    assert starts(jobs, cluster(2), "filler:order=sjf") == [0, 17, 10, 13]


def test_a_job_for_which_no_machine_has_room_is_passed_over():
    # b needs two cores on one machine, and one is free on each until 10.
    jobs = workload([(0, 10, 2, 10), (1, 5, 2, 5), (2, 4, 1, 4), (3, 4, 1, 4)], machines=[2, 1, None, None])
    platform = Platform((MachineGroup(MachineType("double", 2), 2),))
    assert starts(jobs, platform, "fcfs") == [0, 10, 10, 10]
    assert starts(jobs, platform, "filler") == [0, 10, 2, 3]
