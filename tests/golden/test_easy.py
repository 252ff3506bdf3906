"""EASY backfilling, on paper. Rows are (submit, run, cores, walltime)."""

from dataclasses import replace

import pytest
from tests.build import everywhere, one_core_machines, placements, starts, workload

from unspool.model.platform import MachineGroup, MachineType, Partition, Platform
from unspool.results.run import run

GIB = 1 << 30


@everywhere
def test_short_job_passes_the_head(cluster):
    # 4 | . .  b b
    # 3 | . c  b b
    # 2 | a a  b b
    # 1 | a a  . .
    #     0    10
    jobs = workload([(0, 10, 2, 10), (1, 5, 3, 5), (2, 3, 1, 3)])
    assert starts(jobs, cluster(4), "easy") == [0, 10, 2]


@everywhere
def test_backfilled_job_never_delays_the_head(cluster):
    # c fits at 2, but would hold two of the cores that b is to have at 10.
    jobs = workload([(0, 10, 2, 10), (1, 5, 3, 5), (2, 20, 2, 20)])
    assert starts(jobs, cluster(4), "easy") == [0, 10, 15]


@everywhere
def test_job_that_ends_exactly_at_the_shadow_time_may_backfill(cluster):
    jobs = workload([(0, 10, 3, 10), (1, 5, 4, 5), (2, 8, 1, 8)])
    assert starts(jobs, cluster(4), "easy") == [0, 10, 2]


@everywhere
def test_job_that_ends_after_the_shadow_time_may_not(cluster):
    jobs = workload([(0, 10, 3, 10), (1, 5, 4, 5), (2, 8, 1, 8.5)])
    assert starts(jobs, cluster(4), "easy") == [0, 10, 15]


@everywhere
def test_all_jobs_that_end_at_the_shadow_time_count(cluster):
    # a's end is enough for c; b ends then too, so that two cores are extra, of which d takes one.
    jobs = workload([(0, 10, 2, 10), (0, 10, 2, 10), (1, 5, 3, 5), (2, 20, 1, 20), (3, 20, 1, 20)])
    assert starts(jobs, cluster(5), "easy") == [0, 0, 10, 2, 10]


@everywhere
def test_extra_cores_are_used_up(cluster):
    # One core is extra: c has it, d may not have it again.
    jobs = workload([(0, 10, 2, 10), (1, 10, 3, 10), (2, 30, 1, 30), (2, 30, 1, 30)])
    assert starts(jobs, cluster(4), "easy") == [0, 10, 2, 20]


@everywhere
def test_job_that_ends_by_the_shadow_time_uses_no_extra(cluster):
    jobs = workload([(0, 10, 2, 10), (1, 10, 3, 10), (2, 5, 1, 5), (3, 30, 1, 30)])
    assert starts(jobs, cluster(4), "easy") == [0, 10, 2, 3]


@everywhere
def test_refused_job_does_not_stop_the_ones_behind_it(cluster):
    # c is too long, d too large; e is neither.
    jobs = workload([(0, 10, 2, 10), (1, 5, 4, 5), (2, 20, 1, 20), (2, 2, 3, 2), (2, 2, 2, 2)])
    assert starts(jobs, cluster(4), "easy") == [0, 10, 15, 15, 2]


@everywhere
def test_backfilled_job_may_delay_the_second_in_the_queue(cluster):
    # 3 | . .  . .    c c      d is extra beside b and passes; c, second in the queue, starts at 28 instead of 20
    # 2 | a a  b b  d d c
    # 1 | a a  b b  d d c
    jobs = workload([(0, 10, 2, 10), (1, 10, 2, 10), (2, 10, 3, 10), (3, 25, 1, 25)])
    assert starts(jobs, cluster(3), "easy") == [0, 10, 28, 3]


@everywhere
def test_head_starts_as_soon_as_it_fits_where_a_job_ends_early(cluster):
    jobs = workload([(0, 4, 2, 10), (1, 5, 2, 5), (2, 3, 1, 3)])
    assert starts(jobs, cluster(2), "easy") == [0, 4, 9]


@everywhere
def test_early_end_brings_the_shadow_time_forward(cluster):
    # From 1 on c waits for a, until 20. When a ends at 3 it waits for b only, until 6: d, until 9, may not pass.
    jobs = workload([(0, 3, 1, 20), (0, 6, 1, 6), (1, 5, 3, 5), (3, 4, 1, 6)])
    assert starts(jobs, cluster(3), "easy") == [0, 0, 6, 11]


@everywhere
def test_overdue_job_is_taken_to_end_after_a_minute_at_least(cluster):
    # a, expected until 10, is overdue at 12 and taken to run until 72: c may have (12, 32) and d (32, 72).
    jobs = workload([(0, 100, 1, 10), (0, 5, 2, 5), (5, 20, 1, 20), (12, 30, 1, 40)])
    assert starts(jobs, cluster(2), "easy") == [0, 100, 12, 32]


@everywhere
@pytest.mark.parametrize(("walltime", "start"), [(100, 110), (101, 505)])
def test_overdue_job_is_taken_to_run_for_its_estimate_again(cluster, walltime, start):
    # a, expected until 100, is overdue at 110 and taken to run until 210.
    jobs = workload([(0, 500, 1, 100), (0, 5, 2, 5), (110, 50, 1, walltime)])
    assert starts(jobs, cluster(2), "easy") == [0, 500, start]


@everywhere
def test_overdue_job_is_renewed_again_when_that_passes(cluster):
    # a is taken to end at 10, from 12 on at 72, from 80 on at 140: d may run until 140 and c, until 141, may not.
    jobs = workload([(0, 200, 1, 10), (0, 5, 2, 5), (12, 61, 1, 61), (80, 60, 1, 60)])
    assert starts(jobs, cluster(2), "easy") == [0, 200, 205, 80]


@everywhere
@pytest.mark.parametrize(("walltime", "start"), [(None, 65), (50, 2)])
def test_job_without_walltime_is_taken_to_run_for_the_largest_one_known(cluster, walltime, start):
    # b waits for a until 100; c would end at 102, or at 52.
    jobs = workload([(0, 60, 2, 100), (1, 5, 3, 5), (2, 50, 1, walltime)])
    result = run(jobs, cluster(3), "easy")
    assert result.jobs["start_time"].to_list() == [0, 60, start]
    assert result.counts["jobs_without_estimate"] == (walltime is None)


@everywhere
@pytest.mark.parametrize(("submit", "start"), [(0, 0), (1, 4010)])
def test_where_no_walltime_is_known_all_run_for_the_longest_run_time_in_whole_hours(cluster, submit, start):
    # 4000 s are two hours: a until 7200, then b; c would end at 7200, or a second too late.
    jobs = workload([(0, 4000, 2, None), (0, 10, 3, None), (submit, 50, 1, None)])
    result = run(jobs, cluster(3), "easy")
    assert result.jobs["start_time"].to_list() == [0, 4000, start]
    assert result.counts["jobs_without_estimate"] == 3


@everywhere
def test_queue_ties_go_by_line(cluster):
    # Both fit the one free core before the shadow time; the first line wins.
    jobs = workload([(0, 10, 1, 10), (0, 10, 2, 10), (0, 3, 1, 3), (0, 3, 1, 3)])
    assert starts(jobs, cluster(2), "easy") == [0, 10, 0, 3]


@everywhere
def test_job_ends_before_arrivals_at_the_same_instant(cluster):
    # c arrives when b fits: b is not to be overtaken.
    jobs = workload([(0, 10, 2, 10), (1, 5, 2, 5), (10, 5, 1, 5)])
    assert starts(jobs, cluster(2), "easy") == [0, 10, 15]


@everywhere
def test_job_of_no_length_repeats_the_round_at_its_instant(cluster):
    # c, d and e backfill one after the other at instant 1, on the same core.
    jobs = workload([(0, 10, 1, 10), (1, 5, 2, 5), (1, 0, 1, 5), (1, 0, 1, 5), (1, 3, 1, 3)])
    assert starts(jobs, cluster(2), "easy") == [0, 10, 1, 1, 1]


@everywhere
def test_walltime_kill_makes_the_promise_come_true(cluster):
    jobs = workload([(0, 100, 2, 10), (1, 50, 3, 5), (2, 30, 1, 8)])
    assert starts(jobs, cluster(3), "easy", kill_at_walltime=True) == [0, 10, 2]


# What only machines have.


def test_job_is_refused_where_it_would_hold_the_heads_machine():
    # b wants two whole machines, which are free at 10. c would still hold a core of machine 1 then, d would not.
    jobs = workload([(0, 10, 2, 10), (1, 10, 4, 10), (2, 20, 1, 20), (2, 5, 1, 5)], machines=[None, 2, None, None])
    assert starts(jobs, "2x2", "easy") == [0, 10, 20, 2]


def test_refused_job_is_looked_at_again_when_a_start_sends_it_elsewhere():
    # Machine 0 has 4 cores and is promised to b from 10 on; c would land there and is refused. d takes the last core
    # there until 7: at the next look, when e arrives, c lands on machine 1 and is in nobody's way.
    platform = Platform((MachineGroup(MachineType("large", 4), 1), MachineGroup(MachineType("small", 2), 1)))
    rows = [(0, 10, 3, 10), (1, 10, 4, 10), (2, 20, 1, 20), (2, 5, 1, 5), (3, 1, 4, 1)]
    result = run(workload(rows, machines=[1, 1, None, None, 1]), platform, "easy")
    assert result.jobs["start_time"].to_list() == [0, 10, 3, 2, 20]
    assert placements(result) == {"a": {0: 1}, "d": {0: 1}, "c": {1: 1}, "b": {0: 1}, "e": {0: 1}}


@pytest.mark.parametrize(("head_gib", "start"), [(4, 2), (7, 20)])
def test_extra_is_counted_in_memory_too(head_gib, start):
    # Of 8 GiB a holds 6 until 10. c, with 2 GiB until 32, leaves 6 for b.
    jobs = workload([(0, 10, 1, 10), (1, 10, 1, 10), (2, 30, 1, 30)], memory_bytes=[6 * GIB, head_gib * GIB, 2 * GIB])
    assert starts(jobs, "1x4:8GiB", "easy") == [0, 10, start]


def test_job_without_gpus_passes_a_head_that_waits_for_them():
    jobs = workload([(0, 10, 2, 10), (1, 10, 1, 10), (2, 30, 1, 30), (2, 30, 1, 30)], gpus=[2, 1, None, None])
    assert starts(jobs, "1x4:2gpu", "easy") == [0, 10, 2, 2]


@pytest.mark.parametrize("cluster", [Platform.pool, one_core_machines], ids=["pool", "n x 1"])
def test_licences_are_promised_to_the_head(cluster):
    # a has one of two licences; b, which asks for both, has them at 10; d would hold one until 52, c has no need of it.
    platform = replace(cluster(4), licences={"solver": 2})
    licences = ["solver:1", "solver:2", None, "solver:1"]
    jobs = workload([(0, 10, 1, 10), (1, 10, 1, 10), (2, 50, 1, 50), (2, 50, 1, 50)], licences=licences)
    assert starts(jobs, platform, "easy") == [0, 10, 2, 20]


def test_job_of_another_partition_passes():
    groups = (MachineGroup(MachineType("left", 2), 1), MachineGroup(MachineType("right", 2), 1))
    platform = Platform(groups, (Partition("l", ("left",)), Partition("r", ("right",))))
    jobs = workload([(0, 10, 2, 10), (1, 10, 2, 10), (2, 50, 2, 50), (2, 50, 1, 50)], partition=["l", "l", "r", "l"])
    assert starts(jobs, platform, "easy") == [0, 10, 2, 20]


def test_head_that_wants_neighbours_is_promised_neighbours():
    # Of 3 machines a holds the first until 10, b the middle one until 20. c wants two neighbours: 20, not 10. d ends
    # by then on machine 2; e, on machine 0 from 10 to 28, leaves 1 and 2 to c.
    platform = Platform((MachineGroup(MachineType("m", 1), 3),), selection="contiguous")
    jobs = workload([(0, 10, 1, 10), (0, 20, 1, 20), (1, 10, 2, 10), (2, 18, 1, 18), (2, 18, 1, 18)])
    assert starts(jobs, platform, "easy") == [0, 0, 20, 2, 10]
