from datetime import date

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.build import workload
from tests.strategies import rows

from unspool.errors import InputError
from unspool.model.workload import Workload
from unspool.workloads.clock import hours_of_week
from unspool.workloads.generators import lublin
from unspool.workloads.transform import filter, merge, scale_load, scale_run_times, shift, thin, window

MONDAY = 1704067200.0  # 2024-01-01, midnight UTC
FOUR = [(0, 10, 1, 20), (100, 5, 2, 10), (200, 7, 4, 10), (300, 3, 8, 10)]


def known(log, origin=MONDAY, zone=None):
    return Workload.of(log.table, name="log", origin_unix_s=origin, time_zone=zone)


def ids(log):
    return log.table["job_id"].to_list()


def test_a_window_begins_with_its_start_and_stops_before_its_end():
    cut = window(workload(FOUR), 100, 300)
    assert ids(cut) == ["b", "c"]
    assert cut.table["submit_time"].to_list() == [100.0, 200.0]
    assert cut.notes == ("window from 100 before 300: 2 of 4 jobs kept",)
    assert ids(window(workload(FOUR), start=200)) == ["c", "d"]
    assert ids(window(workload(FOUR), end=200)) == ["a", "b"]


@pytest.mark.parametrize(
    ("zone", "start", "kept"),
    [
        (None, "2024-01-01T00:03:20", ["c", "d"]),
        ("Europe/Berlin", "2024-01-01 01:03:20", ["c", "d"]),
        ("Europe/Berlin", "2024-01-01T00:03:20+00:00", ["c", "d"]),
        ("Europe/Berlin", "2024-01-01", ["a", "b", "c", "d"]),
        ("no such zone", "2024-01-02", []),
        (None, date(2024, 1, 1), ["a", "b", "c", "d"]),
    ],
)
def test_dates_of_a_window_are_in_the_zone_of_the_log(zone, start, kept):
    assert ids(window(known(workload(FOUR), zone=zone), start)) == kept


def test_a_window_that_cannot_be_placed_is_refused():
    told = {
        (
            "2024-01-01",
            None,
        ): "workload: its origin is not known, so '2024-01-01' cannot be placed; give seconds instead",
        (200, 100): "window: it begins at 200 and ends at 100; expected an end after the beginning",
        (float("nan"), None): "window: an edge is nan; expected seconds since the origin, or a date",
    }
    for edges, sentence in told.items():
        with pytest.raises(InputError) as caught:
            window(workload(FOUR), *edges)
        assert str(caught.value) == sentence
    with pytest.raises(InputError, match=r"'someday' is not a date such as 2022-03-01 or 2022-03-01T12:00"):
        window(known(workload(FOUR)), "someday")
    with pytest.raises(InputError, match="no such time in Europe/Berlin, where the clocks were put forward then"):
        window(known(workload(FOUR), zone="Europe/Berlin"), "2024-03-31 02:30")


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("cores <= 2", "ab"),
        ("1 < cores <= 4", "bc"),
        ("user == 'ann'", "ac"),
        ("user != 'ann'", "b"),
        ("not user == 'ann'", "bd"),
        ("user in ['ann', 'ben'] and run_time * cores > 10", "c"),
        ("user not in ('ann',) or cores == 1", "abd"),
        ("-cores >= -run_time / 2", "ab"),
        (pl.col("cores") > 2, "cd"),
        (pl.col("user") == "ann", "ac"),
    ],
)
def test_a_filter_keeps_the_jobs_for_which_it_holds(where, kept):
    log = workload(FOUR, user=["ann", "ben", "ann", None])
    assert "".join(ids(filter(log, where))) == kept


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("cores", "'cores' is neither true nor false"),
        ("user == 1", "'user' is compared with another kind of value; texts stand in quotes"),
        ("cores in 5", "what follows `in` is no list such as ['ann', 'ben']"),
        ("cores is 5", "`is` compares no values"),
        ("cores > open('x')", "'open('x')' is no column, number, text or sum of numbers"),
        ("user + user == 'annann'", "'user + user' is no column, number, text or sum of numbers"),
        ("cores >", None),
        ("", None),
    ],
)
def test_a_filter_that_is_not_understood_says_why(where, reason):
    with pytest.raises(InputError) as caught:
        filter(workload(FOUR, user=["ann", "ben", "ann", None]), where)
    start = f"condition '{where}' is not understood" + (f" ({reason})" if reason else "")
    assert str(caught.value).startswith(f"{start}; expected columns, numbers and texts with")


def test_a_filter_on_what_is_not_there_names_what_is():
    with pytest.raises(InputError, match=r"unknown column in a condition 'coers'; did you mean 'cores'\?"):
        filter(workload(FOUR), "coers > 1")
    with pytest.raises(InputError, match="the filter cannot be computed"):
        filter(workload(FOUR), pl.col("nothing") > 1)
    with pytest.raises(InputError, match="the filter gives Int64; expected true or false for every job"):
        filter(workload(FOUR), pl.col("cores"))


def test_nobody_waits_for_a_job_that_was_left_out():
    log = workload(FOUR, depends_on=[None, "a", "a, b", "b"], think_time=[None, 5.0, 6.0, 7.0])
    cut = filter(log, "job_id != 'a'")
    assert cut.table["depends_on"].to_list() == [None, "b", "b"]
    assert cut.table["think_time"].to_list() == [None, 6.0, 7.0]
    assert cut.notes == (
        "filter job_id != 'a': 3 of 4 jobs kept",
        "filter job_id != 'a': 2 jobs no longer wait for jobs that were left out",
    )


def test_dependencies_on_jobs_that_were_never_there_stay():
    log = workload(FOUR, depends_on=[None, "elsewhere", None, None])
    assert filter(log, "cores < 8").table["depends_on"].to_list() == [None, "elsewhere", None]


def test_a_thinned_log_is_a_sample_that_a_seed_fixes():
    log = lublin(1000, cores=64, load=0.8)
    some = thin(log, 0.25, seed=3)
    assert len(some) == 250
    assert set(ids(some)) < set(ids(log))
    assert some.table.equals(thin(log, 0.25, seed=3).table)
    assert not some.table.equals(thin(log, 0.25, seed=4).table)
    for share in (0, 1.5, float("nan")):
        with pytest.raises(InputError, match=r"thin: the share is .*; expected more than 0, up to 1"):
            thin(log, share)


def work(log):
    return (log.table["cores"] * log.table["run_time"]).sum()


@pytest.mark.parametrize("factor", [0.3, 0.8, 1.2, 2.0, 2.5])
def test_scaled_load_has_as_much_work_in_the_same_time_at_the_same_hours(factor):
    log = lublin(5000, cores=64, load=0.5, seed=2, weekend_weight=0.4, origin_unix_s=MONDAY)
    scaled = scale_load(log, factor, seed=1)
    assert len(scaled) == round(factor * 5000)
    assert work(scaled) == pytest.approx(factor * work(log), rel=0.02)
    assert scaled.table["submit_time"].is_between(0, log.table["submit_time"][-1]).all()
    assert scaled.table["submit_time"].is_sorted()
    assert scaled.table["submit_time"].equals(scaled.table["submit_time"].floor())
    before, after = (hours_of_week(each.table["submit_time"].to_numpy(), MONDAY, None) for each in (log, scaled))
    if (
        factor == 2.0
    ):  # every job twice: the cycle is not only alike but the same, at the ends of the log but for one job
        counts = [np.bincount(hours, minlength=168) for hours in (before, after)]
        assert np.abs(counts[1] - 2 * counts[0]).sum() <= 2
    shares = [np.bincount(hours % 24, minlength=24) / len(hours) for hours in (before, after)]
    assert np.abs(shares[0] - shares[1]).sum() / 2 < 0.05


def test_copies_are_named_after_their_jobs_and_wait_for_what_these_wait_for():
    log = workload(FOUR, depends_on=[None, "a", None, None])
    scaled = scale_load(log, 2.0)
    assert sorted(ids(scaled)) == ["a", "a-copy1", "b", "b-copy1", "c", "c-copy1", "d", "d-copy1"]
    waiting = scaled.table.filter(pl.col("depends_on").is_not_null())
    assert waiting.select("job_id", "depends_on").sort("job_id").rows() == [("b", "a"), ("b-copy1", "a")]
    assert scaled.notes == (
        "scale_load by 2, seed 0: 4 copies of jobs added, each within the hour of its job",
        "scale_load: the work is 2 times what it was",
    )
    with pytest.raises(InputError, match="4 ids end in -copy and a number already; rename first"):
        scale_load(scaled, 2.0)


def test_a_factor_of_one_changes_no_job():
    log = workload(FOUR)
    assert scale_load(log, 1).table.equals(log.table)
    for factor in (0, -1, float("inf"), float("nan")):
        with pytest.raises(InputError, match="scale_load: the factor is"):
            scale_load(log, factor)


def test_run_times_and_walltimes_are_scaled_together_in_whole_seconds():
    scaled = scale_run_times(workload(FOUR), 0.25)
    assert scaled.table["run_time"].to_list() == [2.0, 1.0, 2.0, 1.0]
    assert scaled.table["walltime"].to_list() == [5.0, 2.0, 2.0, 2.0]
    assert scaled.notes == ("scale_run_times by 0.25: run_time, walltime",)
    assert scale_run_times(workload([(0, 0.5, 1, 1.5)]), 3).table.select("run_time", "walltime").row(0) == (1.5, 4.5)
    with pytest.raises(InputError, match="scale_run_times: the factor is 0; expected more than 0"):
        scale_run_times(workload(FOUR), 0)
    with pytest.raises(InputError, match=r"run_time is 10000000000000; expected a number up to 1e\+12 seconds"):
        scale_run_times(workload(FOUR), 1e12)


def test_a_shift_moves_all_jobs_and_none_before_zero():
    later = shift(workload(FOUR), 50)
    assert later.table["submit_time"].to_list() == [50, 150, 250, 350]
    assert shift(later, -50).table.equals(workload(FOUR).table)
    with pytest.raises(
        InputError, match=r"shift: by -60 s the first job would be submitted before 0; expected -50 or more"
    ):
        shift(later, -60)


def test_logs_with_known_origins_are_merged_on_the_calendar():
    one, other = known(workload(FOUR[:2])), known(workload(FOUR[:2]), MONDAY + 50)
    both = merge([other, one])
    assert both.origin_unix_s == MONDAY
    assert both.table.select("job_id", "submit_time", "line").rows() == [
        ("2-a", 0.0, 3), ("1-a", 50.0, 1), ("2-b", 100.0, 4), ("1-b", 150.0, 2)
    ]  # fmt: skip
    assert both.notes == (
        "2 job ids stand in several logs: all ids have the number of their log in front, as 2-a",
        "merged: 2 jobs of log, 2 jobs of log",
    )


def test_logs_without_origins_begin_together_and_the_first_comes_first():
    one = Workload.of(workload(FOUR[:2]).table, name="one", max_cores=4, time_zone="UTC", notes=("odd",))
    other = Workload.of(
        workload(FOUR[:2], user=["x", "y"]).table.with_columns(job_id=pl.Series(["p", "q"])),
        name="other", max_cores=8, origin_unix_s=MONDAY,
    )  # fmt: skip
    both = merge([one, other])
    assert ids(both) == ["a", "p", "b", "q"]
    assert both.table["user"].to_list() == [None, "x", None, "y"]
    assert (both.origin_unix_s, both.max_cores, both.time_zone, both.name) == (0.0, 8, None, "one+other")
    assert both.notes == (
        "one: odd",
        "the origin of one is not known: all logs begin at the same 0",
        "time zones differ (None, UTC): the merged log has none",
        "max_cores differs (4, 8): the largest is taken",
        "merged: 2 jobs of one, 2 jobs of other",
    )


def test_dependencies_follow_their_jobs_into_a_merged_log():
    log = workload(FOUR[:3], depends_on=[None, "a", "a, b"])
    both = merge([log, log])
    assert both.table.sort("job_id")["depends_on"].to_list() == [None, "1-a", "1-a,1-b", None, "2-a", "2-a,2-b"]


def test_ids_with_commas_stay_whole_where_logs_are_cut_and_merged():
    log = workload(FOUR[:3], job_id=["a", "x,y", "c"], depends_on=[None, "a", "x,y"])
    assert merge([log, log]).table["depends_on"].drop_nulls().to_list() == ["1-a", "2-a", "1-x,y", "2-x,y"]
    assert filter(log, "job_id != 'x,y'").table["depends_on"].to_list() == [None, None]
    assert filter(log, "job_id != 'a'").table["depends_on"].to_list() == [None, "x,y"]


def test_nobody_waits_for_one_of_several_that_was_left_out_whatever_is_between_them():
    log = workload(FOUR, depends_on=[None, None, "a b", "a:b:c"])
    assert filter(log, "job_id != 'a'").table["depends_on"].to_list() == [None, "b", "b,c"]


def test_one_log_merged_is_itself_and_none_is_an_error():
    log = workload(FOUR)
    assert merge([log]) is log
    with pytest.raises(InputError, match="merge: no logs are given; expected one or more"):
        merge([])


@settings(max_examples=50)
@given(log=rows(8), factor=st.floats(0.1, 4.0), seed=st.integers(0, 9))
def test_every_transform_leaves_a_log_that_holds(log, factor, seed):
    log = workload(log)
    for changed in (
        scale_load(log, factor, seed),
        scale_run_times(log, factor),
        thin(log, min(1.0, factor), seed),
        shift(log, factor),
        window(log, 20, 20 + 100 * factor),
        merge([log, shift(log, 5.0)]),
    ):
        assert Workload.of(changed.table).table.equals(changed.table)


@settings(max_examples=30)
@given(log=rows(8), cut=st.integers(1, 130))
def test_a_log_cut_in_two_and_merged_is_the_log(log, cut):
    log = workload(log)
    parts = [part for part in (window(log, end=cut), window(log, start=cut)) if len(part)]
    columns = ("job_id", "submit_time", "run_time", "cores", "walltime")
    assert merge(parts).table.select(columns).equals(log.table.select(columns))


@pytest.mark.parametrize(
    ("where", "kept", "by_0"),
    [
        ("cores / 0 > 1 or cores == 8", ["d"], "4 jobs"),
        ("run_time / (cores - 1) > 1", ["b", "c"], "1 job"),
        ("run_time / cores > 2", ["a", "b"], None),
    ],
)
def test_what_is_divided_by_0_is_larger_than_nothing_and_told(where, kept, by_0):
    log = filter(workload(FOUR), where)
    told = [] if by_0 is None else [f"filter {where}: divides by 0 for {by_0}, where no comparison holds"]
    assert (ids(log), list(log.notes)) == (kept, [*told, f"filter {where}: {len(kept)} of 4 jobs kept"])
