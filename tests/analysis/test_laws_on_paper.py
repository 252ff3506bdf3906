"""Each law with a schedule that keeps it and one, broken by hand, that breaks this law and no other that binds."""

import polars as pl
import pytest
from tests.build import workload

from unspool.analysis.audit.schedule import Schedule
from unspool.analysis.check import check_schedule
from unspool.model.outages import Outage, Outages
from unspool.model.platform import MachineGroup, MachineType, Platform
from unspool.results.run import run


def schedule(starts, finishes=None, held=None):
    """A schedule of jobs 'a', 'b', ... that start at these times; None: not in it. Held: (row, first, last, units)."""
    ids = [chr(ord("a") + at) for at, start in enumerate(starts) if start is not None]
    times = [start for start in starts if start is not None]
    rows = pl.DataFrame({"job_id": ids, "start_time": times}, schema_overrides={"start_time": pl.Float64})
    rows = rows.with_columns(
        finish_time=pl.Series(finishes or [None] * len(ids), dtype=pl.Float64), killed=pl.lit(False)
    )
    names = ("row", "first_machine", "last_machine", "units")
    table = None if held is None else pl.DataFrame(held, schema=dict.fromkeys(names, pl.Int64), orient="row")
    return Schedule("by hand", "csv", rows, table)


def broken(made, jobs, cores, policy="none", **options):
    """{law: (violations, worst)} of those that bind and are violated."""
    report = check_schedule(made, workload(jobs), cores, policy, **options)
    assert report.ok == (not report.violations)
    return {verdict.law: (verdict.violations, verdict.worst) for verdict in report.violations}


# The laws of every schedule.

TWO = [(0, 10, 3, 10), (0, 10, 3, 10)]  # submit, run, cores, walltime


def test_once_a_job_is_missing():
    assert broken(schedule([0, 10]), TWO, 4) == {}
    report = check_schedule(schedule([0, None]), workload(TWO), 4)
    assert [(v.law, v.violations, v.example) for v in report.violations] == [("once", 1, "job b of the log never runs")]


def test_once_a_job_is_not_in_the_log_and_one_stands_twice():
    made = schedule([0, 10, 20])
    twice = Schedule("by hand", "csv", pl.concat([made.rows, made.rows.filter(pl.col("job_id") == "b")]))
    report = check_schedule(twice, workload(TWO), 12)
    assert report["once"].violations == 2
    assert report["once"].example == "job b has several rows; job c is not in the log"


def test_a_job_that_can_never_run_may_be_missing():
    assert broken(schedule([0, None]), [(0, 10, 3, 10), (0, 10, 5, 10)], 4) == {}


def test_submission():
    jobs = [(0, 10, 1, 10), (5, 10, 1, 10)]
    assert broken(schedule([0, 5]), jobs, 4) == {}
    assert broken(schedule([0, 3]), jobs, 4) == {"submission": (1, 2.0)}
    assert broken(schedule([0, 3]), jobs, 4, tolerance=2.0) == {}


def test_submission_waits_for_dependencies():
    jobs = workload([(0, 10, 1, 10), (0, 10, 1, 10)], depends_on=[None, "a"], think_time=[None, 5])
    assert check_schedule(schedule([0, 15]), jobs, 4).ok
    assert check_schedule(schedule([0, 12]), jobs, 4)["submission"].worst == 3.0


def test_run_time():
    jobs = [(0, 10, 1, 10), (0, 20, 1, 12)]
    assert broken(schedule([0, 0], [10, 20]), jobs, 4) == {}
    assert broken(schedule([0, 0], [10, 12]), jobs, 4) == {}, "cut at its walltime"
    assert broken(schedule([0, 0], [10, 15]), jobs, 4) == {"run time": (1, 3.0)}
    assert not check_schedule(schedule([0, 0]), workload(jobs), 4)["run time"].binds, "no ends are told"


def test_capacity():
    assert broken(schedule([0, 0]), TWO, 4) == {"capacity": (1, 2.0)}
    assert broken(schedule([0, 9.5]), TWO, 4) == {"capacity": (1, 2.0)}
    assert broken(schedule([0, 9.5]), TWO, 4, tolerance=0.5) == {}


def test_machines():
    platform = Platform((MachineGroup(MachineType("node", 2), 3),))
    jobs = [(0, 10, 2, 10), (0, 10, 2, 10), (0, 10, 2, 10)]
    apart = [(0, 0, 0, 2), (1, 1, 2, 1), (2, 1, 2, 1)]
    assert broken(schedule([0, 0, 0], held=apart), jobs, platform) == {}
    crowded = [(0, 0, 0, 2), (1, 0, 1, 1), (2, 1, 2, 1)]
    assert broken(schedule([0, 0, 0], held=crowded), jobs, platform) == {"machines": (1, 1.0)}
    assert broken(schedule([0, 10, 0], held=crowded), jobs, platform) == {}
    too_few = [(0, 0, 0, 2), (1, 1, 1, 1), (2, 1, 2, 1)]
    report = check_schedule(schedule([0, 0, 0], held=too_few), workload(jobs), platform)
    assert report["machines"].example == "at 0 s job b holds 1 units; it asks for 2"


def test_memory_of_a_machine():
    platform = Platform((MachineGroup(MachineType("node", 4, memory_bytes=100), 1),))
    jobs = workload([(0, 10, 1, 10), (0, 10, 1, 10)], memory_bytes=[60, 60])
    held = [(0, 0, 0, 1), (1, 0, 0, 1)]
    assert check_schedule(schedule([0, 10], held=held), jobs, platform).ok
    assert check_schedule(schedule([0, 0], held=held), jobs, platform)["machines"].violations == 1


def test_machine_numbers_on_a_pool_are_cores_that_hold_one_job():
    held = [(0, 0, 2, None), (1, 2, 4, None)]
    assert broken(schedule([0, 0], held=held), TWO, 8) == {"machines": (1, 1.0)}
    assert broken(schedule([0, 10], held=held), TWO, 8) == {}


# First come, first served.


def test_fcfs_order():
    jobs = [(0, 10, 2, 10), (0, 10, 2, 10)]
    assert broken(schedule([0, 10]), jobs, 2, "fcfs") == {}
    assert broken(schedule([10, 0]), jobs, 2, "fcfs") == {"order": (1, 10.0)}


def test_fcfs_order_between_decision_instants():
    # Nothing ends or arrives at 10 and at 20. a waits at 0 and at 15, where it fits.
    jobs = [(0, 5, 1, 5), (0, 5, 1, 5)]
    assert broken(schedule([20, 10]), jobs, 2, "fcfs") == {"order": (1, 10.0), "greedy": (2, 20.0)}


def test_fcfs_greedy():
    jobs = [(0, 10, 2, 10), (0, 10, 2, 10)]
    assert broken(schedule([0, 13]), jobs, 2, "fcfs") == {"greedy": (1, 3.0)}
    assert broken(schedule([4, 14]), jobs, 2, "fcfs") == {"greedy": (1, 4.0)}


def test_fcfs_a_job_whose_dependency_ends_later_is_not_overtaken():
    jobs = workload([(0, 10, 1, 10), (0, 10, 1, 10), (0, 10, 1, 10)], depends_on=[None, "a", None])
    assert check_schedule(schedule([0, 10, 0]), jobs, 2, "fcfs").ok


# EASY: a runs on 3 of 4 cores until 10, b is the head and wants all 4, its shadow time is 10 and nothing is extra.

EASY = [(0, 10, 3, 10), (1, 10, 4, 10)]


@pytest.mark.parametrize(
    ("third", "starts", "laws"),
    [
        ((2, 8, 1, 8), [0, 10, 2], {}),  # ends at the shadow time: may start
        ((2, 8, 1, 8), [0, 10, 20], {"greedy": (1, 18.0)}),  # and so must
        ((2, 9, 1, 9), [0, 10, 20], {}),  # would end after it: must wait
        ((2, 9, 1, 9), [0, 11, 2], {"promise": (1, 1.0)}),  # it does not, and the head starts at 11
        ((2, 4, 1, 9), [0, 10, 2], {}),  # it does not, but ends early: no harm done
    ],
)
def test_easy_promise_and_greedy(third, starts, laws):
    assert broken(schedule(starts), [*EASY, third], 4, "easy") == laws


def test_easy_tells_who_overtakes_without_leave():
    report = check_schedule(schedule([0, 10, 2]), workload([*EASY, (2, 4, 1, 9)]), 4, "easy")
    assert report.ok
    assert (report["backfill"].violations, report["backfill"].worst) == (1, 1.0)
    assert not report["backfill"].binds


def test_easy_extra_counts_all_that_ends_at_the_shadow_time():
    # a and b end at 10. The head c wants 3 of 6: a suffices for it, and both leave 3 extra.
    jobs = [(0, 10, 3, 10), (0, 10, 2, 10), (1, 10, 3, 10), (2, 50, 1, 50)]
    assert broken(schedule([0, 0, 10, 2]), jobs, 6, "easy") == {}
    assert broken(schedule([0, 0, 10, 10]), jobs, 6, "easy") == {"greedy": (1, 8.0)}


def test_easy_extra_is_used_up():
    # At the shadow time, 10, one core is extra: d may have it, e may not.
    jobs = [(0, 10, 4, 10), (0, 50, 1, 50), (1, 10, 6, 10), (2, 50, 1, 50), (2, 50, 1, 50)]
    assert broken(schedule([0, 0, 10, 2, 20]), jobs, 8, "easy") == {}
    assert broken(schedule([0, 0, 50, 2, 2]), jobs, 8, "easy") == {"promise": (1, 40.0)}


def test_easy_head_that_fits_must_start():
    assert broken(schedule([3]), [(0, 10, 2, 10)], 2, "easy") == {"greedy": (1, 3.0)}


def test_easy_is_free_to_choose_whom_it_lets_overtake():
    # One core is extra; c stands before d, and d is started. Nobody is harmed, and nobody is left who may start.
    jobs = [(0, 10, 3, 10), (1, 10, 4, 10), (2, 50, 1, 50), (2, 50, 1, 50)]
    assert broken(schedule([0, 10, 20, 2]), jobs, 5, "easy") == {}


def test_easy_decides_again_when_a_job_of_no_length_is_over():
    # a holds 4 of 6 for no time, b wants all 6. While a is there b is promised 100, so c may start; then b must wait
    # for c, until 50.
    jobs = [(0, 0, 4, 100), (0, 10, 6, 10), (0, 50, 2, 50)]
    assert broken(schedule([0, 50, 0]), jobs, 6, "easy") == {}
    assert broken(schedule([0, 61, 0]), jobs, 6, "easy") == {"promise": (1, 11.0), "greedy": (1, 11.0)}
    assert broken(schedule([0, 60, 10]), jobs, 6, "easy")["greedy"] == (1, 10.0)


# Conservative: b is planned for 10, c for 20 and d, which would delay c, for 30.

PLANNED = [(0, 10, 2, 10), (1, 10, 2, 10), (2, 10, 3, 10), (3, 25, 1, 25)]


def test_conservative_first_plan():
    assert broken(schedule([0, 10, 20, 30]), PLANNED, 3, "conservative") == {}
    assert broken(schedule([0, 10, 28, 3]), PLANNED, 3, "conservative") == {"first plan": (1, 8.0)}
    assert broken(schedule([0, 10, 20, 31]), PLANNED, 3, "conservative") == {"first plan": (1, 1.0)}


def test_conservative_moves_plans_forward_in_their_order_when_a_job_ends_early():
    # a ends at 4 and not at 10: b, then c, then d come forward.
    jobs = [(0, 4, 2, 10), *PLANNED[1:]]
    report = check_schedule(schedule([0, 4, 14, 24]), workload(jobs), 3, "conservative")
    assert report.ok
    assert (report["plan"].checked, report["plan"].violations) == (4, 0)
    # Left where they were first planned, nobody is later than promised. But b was due at 4; what follows follows it.
    late = check_schedule(schedule([0, 10, 20, 30]), workload(jobs), 3, "conservative")
    assert late.ok
    assert (late["plan"].violations, late["plan"].worst) == (1, 6.0)


# What binds.


def test_laws_of_a_policy_are_information_where_jobs_outlive_their_estimates():
    jobs = workload([*EASY, (2, 9, 1, 8)])
    report = check_schedule(schedule([0, 11, 2]), jobs, 4, "easy")
    assert report.ok
    assert report["promise"].violations == 1
    assert report["promise"].reasons == ("jobs that ran longer than their estimates: 1",)
    assert report["capacity"].binds


def test_laws_of_a_policy_are_information_where_its_order_is_another():
    report = check_schedule(schedule([0, 20, 10]), workload([*EASY, (2, 9, 1, 9)]), 4, "easy:order=shortest")
    assert not report["greedy"].binds
    assert report["once"].binds


def test_laws_that_count_cores_are_information_where_machines_decide():
    platform = Platform((MachineGroup(MachineType("node", 2), 2),))
    jobs = workload([(0, 10, 3, 10)], machines=[2])
    report = check_schedule(schedule([0]), jobs, platform, "fcfs")
    assert report["order"].binds
    assert report["greedy"].reasons == ("machines decide here, and the law counts cores",)
    assert check_schedule(schedule([0]), workload([(0, 10, 3, 10)]), platform, "fcfs")["greedy"].binds


def test_a_job_without_a_walltime_is_taken_to_run_as_long_as_the_longest():
    jobs = workload([(0, 10, 3, 10), (1, 10, 4, 12), (2, 5, 1, None)])
    assert check_schedule(schedule([0, 10, 20]), jobs, 4, "easy").ok, "2 + 12 is after the shadow time"


@pytest.mark.parametrize("on_loss", ["requeue", "resume:3s"])
def test_attempts_that_a_lost_machine_ended_are_no_violation(on_loss):
    jobs = workload([(0, 10, 1, 10), (0, 10, 1, 10)])
    platform = Platform((MachineGroup(MachineType("small", 1), 2),))
    result = run(jobs, platform, "fcfs", outages=Outages((Outage(0, 4.0, 6.0),)), on_loss=on_loss)
    assert len(result.attempts) == 3
    assert check_schedule(result, jobs).ok
