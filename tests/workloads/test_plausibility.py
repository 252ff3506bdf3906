"""What is hard to believe of a log, on logs small enough to check on paper."""

from dataclasses import replace

import polars as pl
import pytest

from unspool.model.workload import Workload
from unspool.results.run import run
from unspool.workloads import read_workload
from unspool.workloads.plausibility import doubts

DAY_S = 86400.0


def log(count=10, **columns):
    """Jobs of one core and ten minutes, one a day, with some columns changed."""
    table = {
        "job_id": [str(at) for at in range(count)],
        "submit_time": [at * DAY_S for at in range(count)],
        "run_time": [600.0] * count,
        "cores": [1] * count,
    }
    facts = {name: columns.pop(name) for name in ("max_cores",) if name in columns}
    return Workload.of(pl.DataFrame({**table, **columns}), **facts)


def test_nothing_is_doubted_of_a_plain_log():
    assert doubts(log(max_cores=1, walltime=[600.0] * 10)) == ()


def test_more_than_a_fifth_of_the_jobs_over_their_walltime():
    walltime = [500.0, 500.0, *[900.0] * 8]
    assert doubts(log(walltime=walltime)) == ()
    assert doubts(log(walltime=[500.0, *walltime[:-1]])) == (
        "3 of 10 jobs ran longer than their walltimes. Check the unit of walltimes and run times.",
    )


def test_milliseconds_since_1970_are_read_as_they_are_and_noted():
    jobs = log(submit_time=[1.7e12 + at * 60_000 for at in range(10)], run_time=[60_000.0] * 10)
    assert doubts(jobs) == ("The log begins after the year 9999. Its times may be milliseconds, not seconds.",)
    assert doubts(log(submit_time=[1.7e9 + at * 60 for at in range(10)])) == ()
    result = run(jobs, 1, "easy")
    assert result.jobs["start_time"].to_list() == [1.7e12 + at * 60_000 for at in range(10)]


def test_a_load_above_three():
    # Nine days between the first and the last of ten jobs: 10 x 3.6 / 9 = 4 machines of one core.
    assert doubts(log(run_time=[2.25 * DAY_S] * 10, max_cores=1)) == ()
    assert doubts(log(run_time=[3.6 * DAY_S] * 10, max_cores=1)) == (
        "The offered load on the 1 core in the log header is 4. Check the unit of times and the number of cores.",
    )
    assert doubts(log(run_time=[3.6 * DAY_S] * 10)) == ()


def test_a_load_above_three_on_the_platform_of_a_run():
    jobs = log(run_time=[3.6 * DAY_S] * 10, cores=[2] * 10, max_cores=64)
    told = "The offered load on the 2 cores of the platform is 4. Check the unit of times and the number of cores."
    assert run(jobs, "2", "fcfs").notes == (told,)
    assert run(jobs, "64", "fcfs").notes == ()


def test_a_log_shorter_than_its_jobs_has_no_load_to_doubt():
    assert doubts(log(run_time=[10 * DAY_S] * 10, max_cores=1)) == ()


def test_a_load_is_not_known_where_all_jobs_are_submitted_at_once():
    assert doubts(log(submit_time=[0.0] * 10, max_cores=1)) == ()


def test_times_that_look_like_milliseconds():
    assert doubts(log(submit_time=[at * DAY_S * 1000 for at in range(10)])) == ()
    assert doubts(log(count=60, submit_time=[at * DAY_S * 1000 for at in range(60)])) == (
        "The log spans 162 years. Its times may be milliseconds, not seconds.",
    )


@pytest.mark.parametrize(("run_time", "is_told"), [(0.0, False), (0.25, True), (0.999, True), (1.0, False)])
def test_times_that_look_like_minutes(run_time, is_told):
    told = doubts(log(run_time=[run_time] * 10))
    assert bool(told) == is_told
    if run_time == 0.25:
        assert told == ("The median run time is 0.25 s. Run times may be minutes or hours, not seconds.",)


def test_more_cores_than_the_machine():
    jobs = log(cores=[1, 1, 8, 9, 1, 1, 1, 1, 1, 16], max_cores=8)
    assert doubts(jobs) == ("2 jobs ask for more than the 8 cores in the log header.",)
    assert doubts(replace(jobs, max_cores=10)) == ("1 job asks for more than the 10 cores in the log header.",)


def test_shares_and_medians_of_four_jobs_say_nothing():
    assert doubts(log(count=4, run_time=[0.5] * 4, walltime=[0.1] * 4)) == ()


def test_an_empty_log_is_not_doubted():
    assert doubts(log()[0:0]) == ()


def test_a_log_that_is_read_has_the_notes(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("submit_time,run_time,cores,walltime\n" + "0,60,1,10\n" * 5)
    assert read_workload(path).notes == (
        "5 of 5 jobs ran longer than their walltimes. Check the unit of walltimes and run times.",
    )
