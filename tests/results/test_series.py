import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import strategies
from tests.build import workload

from unspool.errors import InputError
from unspool.results.run import run
from unspool.results.series import series, steps


def three_jobs():
    """On 4 cores, first come first served: a from 0 to 10, b (submitted at 2) from 10 to 15, c (at 4) from 15 to 18."""
    return run(workload([(0, 10, 3, 10), (2, 5, 4, 5), (4, 3, 1, 3)]), 4, "fcfs")


def test_steps_of_three_jobs_on_paper():
    assert steps(three_jobs()).rows() == [
        (0.0, 0.0, 0.0, 3.0),  # a starts at once: it is never in the queue
        (2.0, 1.0, 20.0, 3.0),  # b waits with 4 x 5 core-seconds
        (4.0, 2.0, 23.0, 3.0),  # c with 1 x 3 more
        (10.0, 1.0, 3.0, 4.0),
        (15.0, 0.0, 0.0, 1.0),
        (18.0, 0.0, 0.0, 0.0),
    ]


def test_bins_hold_the_mean_over_time_and_the_largest_value():
    # bins of 6 s. Queue: 0 for 2 s, 1 for 2, 2 for 2; then 2 for 4, 1 for 2; then 1 for 3, 0 for 3
    table = series(three_jobs(), 3)
    assert table["time"].to_list() == [0.0, 6.0, 12.0]
    assert table["until"].to_list() == [6.0, 12.0, 18.0]
    assert table["queue_length"].to_list() == pytest.approx([1.0, 10 / 6, 0.5])
    assert table["queue_length_max"].to_list() == [2.0, 2.0, 1.0]
    assert table["queued_work"].to_list() == pytest.approx([(2 * 20 + 2 * 23) / 6, (4 * 23 + 2 * 3) / 6, 1.5])
    assert table["queued_work_max"].to_list() == [23.0, 23.0, 3.0]
    assert table["busy_cores"].to_list() == pytest.approx([3.0, (4 * 3 + 2 * 4) / 6, 2.5])
    assert table["busy_cores_max"].to_list() == [3.0, 4.0, 4.0]


def test_outside_of_the_run_all_is_zero():
    table = series(three_jobs(), 3, begin=-18.0, end=36.0)
    assert table["queue_length"].to_list() == pytest.approx([0.0, 19 / 18, 0.0])
    assert table["busy_cores_max"].to_list() == [0.0, 4.0, 0.0]


def test_a_step_at_the_end_of_a_bin_belongs_to_the_next():
    assert series(three_jobs(), 9)["queue_length_max"].to_list()[:3] == [0.0, 1.0, 2.0]


def test_without_jobs_there_is_no_series_and_with_given_ends_all_is_zero():
    nothing = run(workload([(0, 1, 9, 1)]), 4, "fcfs")
    assert series(nothing).is_empty()
    assert series(nothing, 2, begin=0.0, end=4.0)["queue_length"].to_list() == [0.0, 0.0]


def test_a_series_has_one_point_or_more():
    with pytest.raises(InputError, match="a series of 0 points; expected 1 or more"):
        three_jobs().series(0)


@settings(max_examples=60)
@given(strategies.rows(4), st.integers(1, 40), st.sampled_from(["fcfs", "easy"]))
def test_the_queue_over_time_is_the_sum_of_waits(log, points, policy):
    result = run(workload(log), 4, policy)
    table = result.series(points)
    if table.is_empty():  # all jobs ran for no time, at one instant
        return
    length = table["until"] - table["time"]
    jobs = result.jobs
    assert (table["queue_length"] * length).sum() == pytest.approx(jobs["wait_time"].sum(), abs=1e-6)
    work = jobs["cores"] * jobs["run_time"]
    assert (table["queued_work"] * length).sum() == pytest.approx((work * jobs["wait_time"]).sum(), abs=1e-6)
    assert (table["busy_cores"] * length).sum() == pytest.approx(work.sum(), abs=1e-6)
    for name in ("queue_length", "queued_work", "busy_cores"):
        assert (table[name] <= table[f"{name}_max"] + 1e-6).all()
        assert table[f"{name}_max"].max() == steps(result).filter(pl.col("time") < table["until"][-1])[name].max()
