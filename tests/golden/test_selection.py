"""Which machines a job gets, on paper."""

import pytest
from tests.build import placements, workload

from unspool.model.platform import MachineGroup, MachineType, Partition, Platform
from unspool.results.run import run

GIB = 1 << 30
WEIGHED = ("best", "worst", "spread", "pack")


def four_two_three(selection):
    """Machine 0 has 4 cores, machine 1 has 2, machine 2 has 3."""
    types = (MachineType("four", 4), MachineType("two", 2), MachineType("three", 3))
    return Platform(tuple(MachineGroup(machine, 1) for machine in types), selection=selection)


@pytest.mark.parametrize(
    ("selection", "three_cores", "five_cores"),
    [
        ("first", {0: 3}, {0: 4, 1: 1}),
        ("best", {1: 2, 2: 1}, {1: 2, 2: 3}),
        ("worst", {0: 3}, {0: 4, 2: 1}),
        ("contiguous", {0: 3}, {0: 4, 1: 1}),
        ("spread", {0: 1, 1: 1, 2: 1}, {0: 2, 1: 1, 2: 2}),
        ("pack", {0: 3}, {0: 4, 2: 1}),
    ],
)
def test_total_of_cores_goes_where_the_selection_says(selection, three_cores, five_cores):
    for cores, expected in ((3, three_cores), (5, five_cores)):
        result = run(workload([(0, 1, cores, 1)]), four_two_three(selection), "fcfs")
        assert placements(result) == {"a": expected}


@pytest.mark.parametrize(
    ("selection", "machines"),
    [
        ("first", {0: 1, 1: 1}),
        ("best", {1: 1, 2: 1}),
        ("worst", {0: 1, 2: 1}),
        ("contiguous", {0: 1, 1: 1}),
        ("spread", {0: 1, 2: 1}),
        ("pack", {0: 1, 1: 1}),  # one unit fits on each: by id
    ],
)
def test_machines_asked_for_are_chosen_where_the_selection_says(selection, machines):
    jobs = workload([(0, 1, 4, 1)], machines=[2])
    assert placements(run(jobs, four_two_three(selection), "fcfs")) == {"a": machines}


@pytest.mark.parametrize("selection", ["first", *WEIGHED])
def test_machine_with_too_few_free_cores_is_passed_over(selection):
    # Only machine 0 has 4 cores.
    jobs = workload([(0, 1, 4, 1)], machines=[1])
    assert placements(run(jobs, four_two_three(selection), "fcfs")) == {"a": {0: 1}}


@pytest.mark.parametrize("selection", ["first", "contiguous", *WEIGHED])
def test_ties_go_by_id(selection):
    platform = Platform((MachineGroup(MachineType("m", 2), 3),), selection=selection)
    jobs = workload([(0, 1, 1, 1)])
    assert placements(run(jobs, platform, "fcfs")) == {"a": {0: 1}}


def test_best_fit_fills_the_fullest_machine_first():
    # a, on machine 1 (2 cores), leaves one core there: b has it and goes on to machine 2.
    jobs = workload([(0, 9, 1, 9), (0, 9, 3, 9), (0, 9, 2, 9)])
    result = run(jobs, four_two_three("best"), "fcfs")
    assert placements(result) == {"a": {1: 1}, "b": {1: 1, 2: 2}, "c": {0: 1, 2: 1}}


def test_worst_fit_goes_where_most_cores_are_free_now():
    # Free cores 4, 2, 3; then 2, 2, 3; then 2, 2, 1.
    jobs = workload([(0, 9, 2, 9), (0, 9, 2, 9), (0, 9, 1, 9)])
    result = run(jobs, four_two_three("worst"), "fcfs")
    assert placements(result) == {"a": {0: 2}, "b": {2: 2}, "c": {0: 1}}


def test_spread_deals_in_rounds_and_leaves_out_who_is_full():
    # 8 cores in rounds over machines 0, 2, 1: 3 + 3 + 2 (machine 2 and machine 1 are then full).
    jobs = workload([(0, 9, 8, 9)])
    assert placements(run(jobs, four_two_three("spread"), "fcfs")) == {"a": {0: 3, 1: 2, 2: 3}}


def test_pack_counts_units_and_not_cores():
    # A unit is 1 core with 2 GiB: four fit on machine 1, two on machine 0, which has more cores.
    types = (MachineType("cores", 8, 4 * GIB), MachineType("memory", 4, 16 * GIB))
    platform = Platform(tuple(MachineGroup(machine, 1) for machine in types), selection="pack")
    jobs = workload([(0, 9, 3, 9)], memory_bytes=[6 * GIB])
    assert placements(run(jobs, platform, "fcfs")) == {"a": {1: 3}}


def test_weigher_looks_at_free_cores_where_memory_is_the_filter():
    # Machine 0 has fewest cores but no room for 8 GiB; of the others machine 2 has fewer.
    types = (MachineType("a", 1, 4 * GIB), MachineType("b", 8, 8 * GIB), MachineType("c", 4, 8 * GIB))
    platform = Platform(tuple(MachineGroup(machine, 1) for machine in types), selection="best")
    jobs = workload([(0, 9, 1, 9)], memory_bytes=[8 * GIB])
    assert placements(run(jobs, platform, "fcfs")) == {"a": {2: 1}}


@pytest.mark.parametrize("selection", ["first", "contiguous", *WEIGHED])
def test_partition_is_a_filter_for_every_selection(selection):
    types = (MachineType("x", 4), MachineType("y", 2), MachineType("z", 4))
    platform = Platform(
        tuple(MachineGroup(machine, 1) for machine in types), (Partition("only", ("y",)),), selection=selection
    )
    jobs = workload([(0, 9, 2, 9)], partition=["only"])
    assert placements(run(jobs, platform, "fcfs")) == {"a": {1: 2}}


@pytest.mark.parametrize(
    ("selection", "start", "machines"), [("first", 10, {0: 1, 2: 1}), ("contiguous", 20, {0: 1, 1: 1})]
)
def test_contiguous_waits_for_neighbours(selection, start, machines):
    # From 10 on machines 0 and 2 are free, from 20 on all.
    platform = Platform((MachineGroup(MachineType("m", 1), 4),), selection=selection)
    jobs = workload([(0, 10, 1, 10), (0, 20, 1, 20), (0, 10, 1, 10), (0, 20, 1, 20), (5, 1, 2, 1)])
    result = run(jobs, platform, "fcfs")
    assert result.jobs["start_time"].to_list() == [0, 0, 0, 0, start]
    assert placements(result)["e"] == machines


def test_contiguous_takes_the_first_row_that_is_long_enough():
    # 0 is free alone, 1 is taken, 2 to 5 are free: 2, 3 and 4.
    platform = Platform((MachineGroup(MachineType("m", 1), 6),), selection="contiguous")
    jobs = workload([(0, 1, 1, 1), (0, 9, 1, 9), (2, 9, 3, 9)])
    assert placements(run(jobs, platform, "fcfs"))["c"] == {2: 1, 3: 1, 4: 1}


def test_partition_is_a_filter_also_where_every_machine_has_one_core():
    groups = tuple(MachineGroup(MachineType(name, 1), 1) for name in ("one", "other"))
    platform = Platform(groups, partitions=(Partition("p", ("other",)),))
    result = run(workload([(0, 9, 1, 9)], partition=["p"]), platform, "easy")
    assert placements(result) == {"a": {1: 1}}


def test_contiguous_does_not_reach_across_machines_of_another_partition():
    groups = tuple(MachineGroup(MachineType(name, 2), 1) for name in "xyz")
    platform = Platform(groups, (Partition("p", ("x", "z")),), selection="contiguous")
    jobs = workload([(0, 9, 3, 9), (0, 9, 2, 9)], partition=["p", "p"])
    result = run(jobs, platform, "fcfs")
    assert result.rejected["job_id"].to_list() == ["a"]
    assert placements(result) == {"b": {0: 2}}


def test_neighbours_with_as_many_units_stand_in_one_row():
    result = run(workload([(0, 9, 6, 9), (0, 9, 3, 9)]), "5x2", "fcfs")
    assert result.allocations.rows() == [(0, 0, 2, 2), (1, 3, 3, 2), (1, 4, 4, 1)]


@pytest.mark.parametrize("selection", WEIGHED)
def test_easy_promises_the_head_machines_whatever_the_selection(selection):
    # b wants two whole machines of 2 cores and has them at 10; c would hold a core until 22, d would not.
    platform = Platform((MachineGroup(MachineType("m", 2), 2),), selection=selection)
    jobs = workload([(0, 10, 2, 10), (1, 10, 4, 10), (2, 20, 1, 20), (2, 5, 1, 5)], machines=[1, 2, None, None])
    assert run(jobs, platform, "easy").jobs["start_time"].to_list() == [0, 10, 20, 2]


@pytest.mark.parametrize("selection", WEIGHED)
def test_conservative_plans_machines_whatever_the_selection(selection):
    platform = Platform((MachineGroup(MachineType("m", 2), 2),), selection=selection)
    jobs = workload([(0, 10, 2, 10), (0, 20, 2, 20), (0, 10, 4, 10), (0, 5, 2, 5)], machines=[1, 1, 2, 1])
    assert run(jobs, platform, "conservative").jobs["start_time"].to_list() == [0, 0, 20, 10]
