"""Conservative backfilling, on paper. Rows are (submit, run, cores, walltime)."""

from dataclasses import replace

import pytest
from tests.build import everywhere, one_core_machines, placements, starts, workload

from unspool.model.platform import MachineGroup, MachineType, Partition, Platform
from unspool.results.run import run

GIB = 1 << 30


@everywhere
def test_nobody_behind_the_head_is_delayed_either(cluster):
    # 3 | . .  . .  c c  . . .
    # 2 | a a  b b  c c  . . .
    # 1 | a a  b b  c c  d d d      EASY would start d at 3 and c, second in the queue, at 28
    #     0    10   20   30
    jobs = workload([(0, 10, 2, 10), (1, 10, 2, 10), (2, 10, 3, 10), (3, 25, 1, 25)])
    assert starts(jobs, cluster(3), "conservative") == [0, 10, 20, 30]


@everywhere
@pytest.mark.parametrize(("walltime", "start"), [(17, 3), (17.5, 30)])
def test_job_fills_a_hole_that_it_leaves_in_time(cluster, walltime, start):
    # The hole beside a and b ends with c's start at 20.
    jobs = workload([(0, 10, 2, 10), (1, 10, 2, 10), (2, 10, 3, 10), (3, 17, 1, walltime)])
    assert starts(jobs, cluster(3), "conservative") == [0, 10, 20, start]


@everywhere
def test_hole_in_the_future_is_found(cluster):
    # 2 | a  .  c c      d fits neither before 10 nor later than c: from 10 to 15, beside b
    # 1 | a  b  c c
    #     0  10 15
    jobs = workload([(0, 10, 2, 10), (1, 5, 1, 5), (2, 9, 2, 9), (3, 5, 1, 5)])
    assert starts(jobs, cluster(2), "conservative") == [0, 10, 15, 10]


@everywhere
def test_plans_move_forward_when_a_job_ends_early(cluster):
    # a, expected until 20, ends at 10: b, planned for 20, starts at 10, and c, planned for 30, at 20.
    jobs = workload([(0, 10, 1, 20), (0, 10, 2, 10), (0, 5, 1, 25)])
    assert starts(jobs, cluster(2), "conservative") == [0, 10, 20]


@everywhere
def test_plans_are_moved_in_the_order_of_their_starts(cluster):
    # Planned: c, of 3 cores, for 20; d, of 1, for 15 beside a. a ends at 10 instead of 20. d goes first, to 10, so that
    # c finds all cores free from 15 on. Taken first, by its place in the queue, c would have stayed at 20.
    jobs = workload([(0, 10, 2, 20), (0, 15, 1, 15), (1, 10, 3, 10), (2, 5, 1, 5)])
    assert starts(jobs, cluster(3), "conservative") == [0, 0, 15, 10]


@everywhere
def test_plans_for_one_time_are_moved_in_queue_order(cluster):
    # c and d are both planned for 20; the core that a leaves at 10 is for c.
    jobs = workload([(0, 10, 1, 20), (0, 20, 1, 20), (1, 10, 1, 10), (2, 10, 1, 10)])
    assert starts(jobs, cluster(2), "conservative") == [0, 0, 10, 20]


@everywhere
def test_moving_forward_keeps_the_order_of_plans_that_compete(cluster):
    # a ends at 5 instead of 20; b, c and d, of all cores, keep their order.
    jobs = workload([(0, 5, 2, 20), (1, 10, 2, 10), (2, 10, 2, 10), (3, 10, 2, 10)])
    assert starts(jobs, cluster(2), "conservative") == [0, 5, 15, 25]


@everywhere
def test_new_job_may_not_take_what_moved_plans_left(cluster):
    # At 10 a ends early and b moves to 10; c, which arrives then, comes after the plans were moved.
    jobs = workload([(0, 10, 2, 20), (1, 10, 2, 10), (10, 10, 1, 10)])
    assert starts(jobs, cluster(2), "conservative") == [0, 10, 20]


@everywhere
def test_overrun_spoils_a_plan_and_all_are_planned_anew(cluster):
    # b is planned for 10. a runs on and is taken to end at 70: c fits before that and starts at 10, b when a ends.
    jobs = workload([(0, 100, 1, 10), (1, 10, 2, 5), (2, 50, 1, 50)])
    assert starts(jobs, cluster(2), "conservative") == [0, 100, 10]


@everywhere
@pytest.mark.parametrize(("walltime", "start"), [(90, 110), (91, 200)])
def test_overdue_job_is_taken_to_run_for_its_estimate_again(cluster, walltime, start):
    # b is planned for 100, when a is overdue and taken to run until 200, then until 300: c fits before one or the next.
    jobs = workload([(0, 500, 1, 100), (0, 5, 2, 5), (110, 50, 1, walltime)])
    assert starts(jobs, cluster(2), "conservative") == [0, 500, start]


@everywhere
def test_queue_ties_go_by_line(cluster):
    jobs = workload([(0, 10, 2, 10), (5, 7, 2, 7), (5, 3, 1, 3), (5, 1, 2, 1)])
    assert starts(jobs, cluster(2), "conservative") == [0, 10, 17, 20]


@everywhere
def test_job_ends_before_arrivals_at_the_same_instant(cluster):
    jobs = workload([(0, 10, 2, 10), (10, 5, 2, 5), (10, 5, 2, 5)])
    assert starts(jobs, cluster(2), "conservative") == [0, 10, 15]


@everywhere
def test_job_of_no_length_repeats_the_round_at_its_instant(cluster):
    jobs = workload([(7, 0, 1, 5), (7, 0, 1, 5), (7, 3, 1, 3)])
    assert starts(jobs, cluster(1), "conservative") == [7, 7, 7]


@everywhere
@pytest.mark.parametrize(("walltime", "start"), [(None, 65), (50, 2)])
def test_job_without_walltime_is_taken_to_run_for_the_largest_one_known(cluster, walltime, start):
    jobs = workload([(0, 60, 2, 100), (1, 5, 3, 5), (2, 50, 1, walltime)])
    assert starts(jobs, cluster(3), "conservative") == [0, 60, start]


@everywhere
@pytest.mark.parametrize(("submit", "start"), [(0, 0), (1, 4010)])
def test_where_no_walltime_is_known_all_run_for_the_longest_run_time_in_whole_hours(cluster, submit, start):
    jobs = workload([(0, 4000, 2, None), (0, 10, 3, None), (submit, 50, 1, None)])
    assert starts(jobs, cluster(3), "conservative") == [0, 4000, start]


@everywhere
def test_walltime_kill_makes_every_plan_come_true(cluster):
    jobs = workload([(0, 100, 2, 10), (1, 50, 3, 5), (2, 30, 1, 8), (3, 30, 3, 6)])
    assert starts(jobs, cluster(3), "conservative", kill_at_walltime=True) == [0, 10, 2, 15]


@everywhere
def test_what_ran_while_nobody_waited_counts_when_somebody_does(cluster):
    # a ends early, with nobody waiting, and b starts beside nobody; c has to wait for b, and d fits before c.
    jobs = workload([(0, 5, 1, 20), (6, 10, 1, 10), (7, 5, 2, 5), (8, 8, 1, 8), (9, 9, 1, 9)])
    assert starts(jobs, cluster(2), "conservative") == [0, 6, 16, 8, 21]


@everywhere
def test_job_that_outlives_its_estimate_while_nobody_waits_is_taken_to_run_on(cluster):
    # When b comes at 75, a is taken to end at 135, and b is planned for then: d is over before, c would not be. When a
    # ends at 120, b moves up to the end of d, and c behind it.
    jobs = workload([(0, 120, 1, 10), (75, 10, 2, 10), (80, 60, 1, 60), (81, 40, 1, 40)])
    assert starts(jobs, cluster(2), "conservative") == [0, 121, 131, 81]


@everywhere
def test_plan_that_is_due_starts_before_a_job_that_arrives_then(cluster):
    result = run(workload([(0, 10, 2, 10), (1, 5, 1, 5), (10, 5, 1, 5)]), cluster(2), "conservative")
    assert result.attempts["job_id"].to_list() == ["a", "b", "c"]
    assert result.attempts["start_time"].to_list() == [0, 10, 10]


@everywhere
def test_short_job_moves_into_a_hole_that_long_ones_leave(cluster):
    # a ends at 5 instead of 30. b, of all cores, is planned for 30 and moves to 20, behind the other running job;
    # c, planned for 40, is over before that and starts at 5; d, as narrow but longer, is not.
    jobs = workload([(0, 5, 2, 30), (0, 20, 1, 20), (1, 10, 3, 10), (2, 15, 2, 15), (3, 16, 2, 16)])
    assert starts(jobs, cluster(3), "conservative") == [0, 0, 20, 5, 30]


# What only machines have.


def test_plan_holds_its_machines():
    # c, two whole machines, is planned for 20; d fits before it on machine 0, from 10 to 15; e has no room before 30.
    jobs = workload(
        [(0, 10, 2, 10), (0, 20, 2, 20), (0, 10, 4, 10), (0, 5, 2, 5), (0, 11, 2, 11)], machines=[1, 1, 2, 1, 1]
    )
    result = run(jobs, "2x2", "conservative")
    assert result.jobs["start_time"].to_list() == [0, 0, 20, 10, 30]
    assert placements(result) == {"a": {0: 1}, "b": {1: 1}, "d": {0: 1}, "c": {0: 1, 1: 1}, "e": {0: 1}}


def test_plan_holds_memory():
    # Of 8 GiB a has 6 until 10, b 4 from 10 to 20. c, with 2 until 32, is in nobody's way; d, with 4, starts at 20.
    jobs = workload(
        [(0, 10, 1, 10), (1, 10, 1, 10), (2, 30, 1, 30), (3, 10, 1, 10)],
        memory_bytes=[6 * GIB, 4 * GIB, 2 * GIB, 4 * GIB],
    )
    assert starts(jobs, "1x4:8GiB", "conservative") == [0, 10, 2, 20]


def test_plan_holds_gpus():
    # b is to have both GPUs from 10 to 20: c fits before it, d, with one until 21, does not; e wants none.
    jobs = workload(
        [(0, 10, 1, 10), (1, 10, 2, 10), (2, 8, 1, 8), (2, 19, 1, 19), (2, 99, 1, 99)], gpus=[1, 2, 1, 1, None]
    )
    assert starts(jobs, "1x8:2gpu", "conservative") == [0, 10, 2, 20, 2]


@pytest.mark.parametrize("cluster", [Platform.pool, one_core_machines], ids=["pool", "n x 1"])
def test_plan_holds_licences(cluster):
    platform = replace(cluster(4), licences={"solver": 1})
    licences = ["solver", "solver", "solver", None]
    jobs = workload([(0, 10, 1, 10), (1, 10, 1, 10), (2, 5, 1, 5), (3, 50, 1, 50)], licences=licences)
    assert starts(jobs, platform, "conservative") == [0, 10, 20, 3]


def test_partitions_are_planned_apart():
    groups = (MachineGroup(MachineType("left", 2), 1), MachineGroup(MachineType("right", 2), 1))
    platform = Platform(groups, (Partition("l", ("left",)), Partition("r", ("right",))))
    jobs = workload([(0, 10, 2, 10), (1, 10, 2, 10), (2, 50, 2, 50), (2, 50, 1, 50)], partition=["l", "l", "r", "l"])
    assert starts(jobs, platform, "conservative") == [0, 10, 2, 20]


def test_plan_on_machines_moves_forward_when_a_job_ends_early():
    # b, both machines, is planned for 20 and starts at 4, when a ends; c, planned for 30 on machine 0, follows at 14.
    jobs = workload([(0, 4, 2, 20), (1, 10, 4, 10), (2, 5, 2, 25)], machines=[1, 2, 1])
    result = run(jobs, "2x2", "conservative")
    assert result.jobs["start_time"].to_list() == [0, 4, 14]
    assert placements(result) == {"a": {0: 1}, "b": {0: 1, 1: 1}, "c": {0: 1}}


def test_plan_that_cannot_start_earlier_keeps_its_machines():
    # c is planned for 10 on machine 0, d for 15 on machine 1. a ends at 5: c moves to 5, and from 15 on machine 0 is
    # free as well. d cannot start before 15 and does not change to it.
    jobs = workload([(0, 5, 2, 10), (0, 15, 2, 15), (1, 10, 2, 10), (2, 8, 2, 8)], machines=[1, 1, 1, 1])
    result = run(jobs, "2x2", "conservative")
    assert result.jobs["start_time"].to_list() == [0, 0, 5, 15]
    assert placements(result) == {"a": {0: 1}, "b": {1: 1}, "c": {0: 1}, "d": {1: 1}}


# d, two cores, is planned for 20. From 10 on there is always a core for e, but not always the same one:
# 3 | c c c c  . .        3 | c c c c  e e e e
# 2 | b b b b  d d        2 | b b b b  d d . .
# 1 | a a e e  d d        1 | a a . .  d d . .
#     0   10   20             0   10   20
ONE_CORE_OR_ANOTHER = [(0, 10, 1, 10), (0, 20, 1, 20), (0, 20, 1, 20), (1, 10, 2, 10), (2, 20, 1, 20)]


def test_where_any_cores_will_do_a_plan_holds_a_number_of_cores():
    result = run(workload(ONE_CORE_OR_ANOTHER), "3x1", "conservative")
    assert result.jobs["start_time"].to_list() == [0, 0, 0, 20, 10]
    assert placements(result) == {"a": {0: 1}, "b": {1: 1}, "c": {2: 1}, "e": {0: 1}, "d": {1: 1, 2: 1}}


def test_where_machines_decide_a_plan_holds_machines():
    groups = (MachineGroup(MachineType("open", 1), 3), MachineGroup(MachineType("closed", 1), 1))
    platform = Platform(groups, (Partition("main", ("open",), default=True),))
    result = run(workload(ONE_CORE_OR_ANOTHER), platform, "conservative")
    assert result.jobs["start_time"].to_list() == [0, 0, 0, 20, 20]
    assert placements(result) == {"a": {0: 1}, "b": {1: 1}, "c": {2: 1}, "d": {0: 1, 1: 1}, "e": {2: 1}}


@everywhere
def test_job_that_runs_for_thirty_thousand_years_beyond_its_estimate_is_waited_for_in_few_steps(cluster):
    # c fits beside a until b's plan is due, whenever that is: a is taken to end again and again, 17,000 times in all.
    jobs = workload([(0, 1e12, 3, 60), (1, 10, 4, 60), (2, 50, 1, 50)])
    assert starts(jobs, cluster(4), "conservative") == [0, 1e12, 2]
