"""First come, first served, on paper. Rows are (submit, run, cores, walltime)."""

from dataclasses import replace

import pytest
from tests.build import everywhere, placements, starts, workload

from unspool.model.platform import MachineGroup, MachineType, Partition, Platform
from unspool.results.run import run

GIB = 1 << 30


@everywhere
def test_nobody_overtakes_a_head_that_does_not_fit(cluster):
    # 4 |      b b b . .
    # 3 |      b b b . .
    # 2 | a a  b b b . .
    # 1 | a a  c c . . .      c fits at 2, but b came first
    #     0    10
    jobs = workload([(0, 10, 2, 10), (1, 5, 3, 5), (2, 3, 1, 3)])
    assert starts(jobs, cluster(4), "fcfs") == [0, 10, 10]


@everywhere
def test_jobs_start_together_while_they_fit(cluster):
    jobs = workload([(0, 10, 1, 10), (0, 10, 2, 10), (0, 10, 1, 10), (0, 10, 1, 10)])
    assert starts(jobs, cluster(4), "fcfs") == [0, 0, 0, 10]


@everywhere
def test_queue_ties_go_by_line(cluster):
    jobs = workload([(0, 10, 2, 10), (5, 7, 2, 10), (5, 3, 1, 10), (5, 1, 2, 10)])
    assert starts(jobs, cluster(2), "fcfs") == [0, 10, 17, 20]


@everywhere
def test_an_unsorted_log_is_sorted_by_submission_and_then_by_line(cluster):
    jobs = workload([(5, 10, 1, 10), (0, 20, 1, 20), (5, 30, 1, 30)])
    result = run(jobs, cluster(1), "fcfs")
    assert result.jobs.select("job_id", "start_time").rows() == [("b", 0), ("a", 20), ("c", 30)]
    assert result.notes[0].startswith("1 of 3 jobs stood before a job submitted earlier")


@everywhere
def test_job_ends_before_arrivals_at_the_same_instant(cluster):
    jobs = workload([(0, 10, 2, 10), (10, 5, 2, 5), (10, 5, 2, 5)])
    assert starts(jobs, cluster(2), "fcfs") == [0, 10, 15]


@everywhere
def test_job_of_no_length_repeats_the_round_at_its_instant(cluster):
    jobs = workload([(7, 0, 1, 5), (7, 0, 1, 5), (7, 3, 1, 3)])
    result = run(jobs, cluster(1), "fcfs")
    assert result.jobs["start_time"].to_list() == [7, 7, 7]
    assert result.jobs["finish_time"].to_list() == [7, 7, 10]


@everywhere
def test_time_passes_while_nobody_is_there(cluster):
    jobs = workload([(3, 5, 1, 5), (1000, 5, 1, 5), (1e6, 5, 1, 5)])
    assert starts(jobs, cluster(1), "fcfs") == [3, 1000, 1e6]


@everywhere
def test_logged_job_runs_beyond_its_walltime(cluster):
    jobs = workload([(0, 100, 1, 10), (1, 5, 1, 5)])
    result = run(jobs, cluster(1), "fcfs")
    assert result.jobs["start_time"].to_list() == [0, 100]
    assert result.jobs["state"].to_list() == ["completed", "completed"]


@everywhere
def test_walltime_kill_cuts_what_runs_longer_and_nothing_else(cluster):
    jobs = workload([(0, 100, 1, 10), (1, 5, 1, 5), (1, 7, 1, None)])
    result = run(jobs, cluster(1), "fcfs", kill_at_walltime=True)
    assert result.jobs["start_time"].to_list() == [0, 10, 15]
    assert result.jobs["finish_time"].to_list() == [10, 15, 22]
    assert result.jobs["state"].to_list() == ["walltime", "completed", "completed"]


@everywhere
def test_fractions_of_seconds_are_kept(cluster):
    jobs = workload([(0.25, 0.5, 1, 1), (0.25, 0.125, 1, 1), (0.3, 1, 1, 1)])
    assert starts(jobs, cluster(1), "fcfs") == [0.25, 0.75, 0.875]


@everywhere
def test_an_empty_log_gives_an_empty_result(cluster):
    result = run(workload([]), cluster(4), "fcfs")
    assert (len(result.jobs), len(result.attempts), len(result.allocations), len(result.rejected)) == (0, 0, 0, 0)


# What only machines have.


def test_memory_binds_as_cores_do():
    # One machine of 8 GiB: a takes 6, b asks for 3, c for all 8.
    jobs = workload([(0, 10, 1, 10), (0, 10, 1, 10), (1, 5, 1, 5)], memory_bytes=[6 * GIB, 3 * GIB, 8 * GIB])
    assert starts(jobs, "1x4:8GiB", "fcfs") == [0, 10, 20]


def test_memory_of_a_job_that_is_split_goes_with_its_cores():
    # 4 cores with 8 GiB in all are 2 GiB a core: each machine of 4 GiB has room for two of them.
    jobs = workload([(0, 10, 4, 10), (0, 5, 1, 5)], memory_bytes=[8 * GIB, 1])
    result = run(jobs, "2x4:4GiB", "fcfs")
    assert result.jobs["start_time"].to_list() == [0, 10]
    assert placements(result) == {"a": {0: 2, 1: 2}, "b": {0: 1}}


def test_job_may_have_all_the_memory_of_a_machine_whatever_its_cores():
    # 1 GiB for 3 cores is no whole number of bytes a core.
    assert starts(workload([(0, 10, 3, 10)], memory_bytes=[GIB]), "1x4:1GiB", "fcfs") == [0]


def test_two_jobs_with_half_of_the_memory_each_fit_on_a_machine():
    jobs = workload([(0, 10, 3, 10), (0, 10, 3, 10)], memory_bytes=[4 * GIB, 4 * GIB])
    assert starts(jobs, "1x6:8GiB", "fcfs") == [0, 0]


def test_job_without_memory_shares_a_machine_whose_memory_is_used_up():
    jobs = workload([(0, 10, 1, 10), (0, 10, 1, 10)], memory_bytes=[8 * GIB, None])
    assert starts(jobs, "1x4:8GiB", "fcfs") == [0, 0]


def test_machines_that_do_not_model_memory_have_room_for_any():
    jobs = workload([(0, 10, 1, 10), (0, 10, 1, 10)], memory_bytes=[1 << 50, 1 << 50])
    assert starts(jobs, "1x4", "fcfs") == [0, 0]


def test_gpus_bind_as_cores_do():
    jobs = workload([(0, 10, 2, 10), (0, 5, 1, 5), (1, 5, 1, 5)], gpus=[2, 1, 0])
    assert starts(jobs, "1x4:2gpu", "fcfs") == [0, 10, 10]


def test_gpus_of_a_job_go_to_several_machines_with_their_cores():
    # 3 GPUs with 6 cores are 2 cores a GPU.
    jobs = workload([(0, 10, 6, 10), (0, 10, 2, 10)], gpus=[3, 1])
    result = run(jobs, "2x4:2gpu", "fcfs")
    assert result.jobs["start_time"].to_list() == [0, 0]
    assert placements(result) == {"a": {0: 2, 1: 1}, "b": {1: 1}}


def test_gpus_and_cores_that_do_not_divide_make_equal_parts_for_which_there_are_machines():
    # a: twice 52 cores and 3 GPUs. b: 4 cores and 3 GPUs as they are.
    jobs = workload([(0, 10, 104, 10), (0, 10, 4, 10)], gpus=[6, 3])
    result = run(jobs, "2x54:4gpu", "fcfs")
    assert result.jobs.select("start_time", "cores").rows() == [(0, 104), (10, 4)]
    assert placements(result) == {"a": {0: 1, 1: 1}, "b": {0: 1}}


def test_gpus_and_cores_of_which_no_machine_holds_an_equal_part_are_a_unit_a_gpu():
    # 7 cores and 8 GPUs have no equal parts but the whole; so each GPU gets a core.
    result = run(workload([(0, 10, 7, 10)], gpus=[8]), "2x8:4gpu", "fcfs")
    assert result.jobs["cores"].to_list() == [8]
    assert placements(result) == {"a": {0: 4, 1: 4}}


def test_equal_parts_are_looked_for_on_machines_of_the_partition():
    groups = (MachineGroup(MachineType("thin", 4, gpus=2), 3), MachineGroup(MachineType("fat", 8, gpus=4), 1))
    platform = Platform(groups, (Partition("thin", ("thin",)), Partition("fat", ("fat",))))
    jobs = workload([(0, 10, 5, 10), (0, 10, 5, 10)], gpus=[3, 3], partition=["thin", "fat"])
    result = run(jobs, platform, "fcfs")
    assert result.jobs["cores"].to_list() == [6, 5]
    assert placements(result) == {"a": {0: 2, 1: 1}, "b": {3: 1}}


def test_job_that_asks_for_two_machines_gets_two():
    # a leaves 1 core on machine 0; b wants 2 cores on each of two machines.
    jobs = workload([(0, 10, 1, 10), (0, 10, 4, 10)], machines=[None, 2])
    assert starts(jobs, "2x2", "fcfs") == [0, 10]
    result = run(jobs, "3x2", "fcfs")
    assert result.jobs["start_time"].to_list() == [0, 0]
    assert placements(result) == {"a": {0: 1}, "b": {1: 1, 2: 1}}


def test_total_of_cores_is_split_over_what_is_free():
    jobs = workload([(0, 10, 1, 10), (0, 10, 3, 10)])
    result = run(jobs, "2x2", "fcfs")
    assert result.jobs["start_time"].to_list() == [0, 0]
    assert placements(result) == {"a": {0: 1}, "b": {0: 1, 1: 2}}


@pytest.mark.parametrize("platform", [Platform.pool(4), Platform((MachineGroup(MachineType("m", 2), 2),))])
def test_licences_of_the_platform_are_shared_by_all_machines(platform):
    platform = replace(platform, licences={"solver": 3})
    jobs = workload([(0, 10, 1, 10), (0, 20, 1, 20), (0, 5, 1, 5)], licences=["solver:1", "solver:2", "solver"])
    assert starts(jobs, platform, "fcfs") == [0, 0, 10]


def test_consumables_belong_to_a_machine():
    # Each machine has 2 disks: a takes both of machine 0, b both of machine 1, c waits though cores are free.
    platform = Platform((MachineGroup(MachineType("m", 4, consumables={"disk": 2}), 2),))
    jobs = workload([(0, 10, 1, 10), (0, 20, 1, 20), (0, 5, 1, 5)], licences=["disk:2", "disk:2", "disk:1"])
    result = run(jobs, platform, "fcfs")
    assert result.jobs["start_time"].to_list() == [0, 0, 10]
    assert placements(result) == {"a": {0: 1}, "b": {1: 1}, "c": {0: 1}}


def test_partition_says_which_machines_a_job_may_use():
    groups = (MachineGroup(MachineType("thin", 2), 2), MachineGroup(MachineType("fat", 4), 1))
    platform = Platform(groups, (Partition("thin", ("thin",), default=True), Partition("all", ("thin", "fat"))))
    # b does not fit on thin machines while a runs there, and c, behind it, waits though `fat` is free.
    jobs = workload([(0, 10, 2, 10), (0, 10, 3, 10), (0, 10, 5, 10)], partition=["thin", None, "all"])
    result = run(jobs, platform, "fcfs")
    assert result.jobs["start_time"].to_list() == [0, 10, 10]
    assert placements(result) == {"a": {0: 2}, "b": {0: 2, 1: 1}, "c": {1: 1, 2: 4}}
