"""Ranking, intervals, paired differences, Pareto front and sensitivity, on numbers that can be checked on paper."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_rel
from tests.sweeps.tiny import frame

from unspool.errors import UnknownName
from unspool.sweeps.ranking import alike, pareto_front, ranking, sensitivity
from unspool.sweeps.unrun import told_unrun


def test_the_interval_is_students():
    table = ranking(frame(policy=["a"] * 4, seed=[0, 1, 2, 3], f=[1.0, 2.0, 3.0, 4.0]), "f", ["policy"])
    # mean 2.5, sd 1.2910, t(0.975, 3) = 3.1824: half the width is 3.1824 * 1.2910 / 2 = 2.0543
    assert table.row(0, named=True)["mean"] == 2.5
    assert table.row(0, named=True)["low"] == pytest.approx(2.5 - 2.0543, abs=1e-4)
    assert table.row(0, named=True)["high"] == pytest.approx(2.5 + 2.0543, abs=1e-4)


def test_pairs_tell_apart_what_means_do_not():
    runs = frame(policy=["a"] * 3 + ["b"] * 3, seed=[0, 1, 2] * 2, f=[1.0, 100.0, 1000.0, 2.0, 101.1, 1001.0])
    second = ranking(runs, "f", ["policy"]).row(1, named=True)
    assert second["difference"] == pytest.approx(3.1 / 3)
    assert second["is_as_good"] is False
    unpaired = ranking(runs, "f", ["policy"], blocks=[]).row(1, named=True)
    assert unpaired["difference"] is None


@given(
    first=st.lists(st.floats(0, 100).map(lambda x: round(x, 3)), min_size=4, max_size=8),
    noise=st.lists(st.floats(1, 5).map(lambda x: round(x, 3)), min_size=8, max_size=8),
)
def test_the_p_value_is_that_of_the_paired_t_test(first, noise):
    other = [value + more for value, more in zip(first, noise, strict=False)]
    count = len(first)
    runs = frame(policy=["a"] * count + ["b"] * count, seed=[*range(count)] * 2, f=first + other)
    found = ranking(runs, "f", ["policy"]).row(1, named=True)["p_value"]
    if len({round(b - a, 9) for a, b in zip(first, other, strict=True)}) > 1:
        assert found == pytest.approx(ttest_rel(other, first).pvalue, rel=1e-6, abs=1e-12)


def test_holm_multiplies_the_smallest_p_value_by_how_many_there_are():
    noise = [0.0, 0.3, -0.2, 0.1]
    runs = frame(
        policy=["a"] * 4 + ["b"] * 4 + ["c"] * 4, seed=[0, 1, 2, 3] * 3,
        f=[1.0] * 4 + [1.2 + x for x in noise] + [2.0 + x for x in noise],
    )  # fmt: skip
    table = ranking(runs, "f", ["policy"])
    plain = {name: ttest_rel([1.2 + x if name == "b" else 2.0 + x for x in noise], [1.0] * 4).pvalue for name in "bc"}
    got = dict(table.select("policy", "p_value").rows())
    assert got["c"] == pytest.approx(2 * plain["c"])
    assert got["b"] == pytest.approx(plain["b"])
    assert dict(table.select("policy", "is_as_good").rows()) == {"a": None, "b": True, "c": False}


def test_a_difference_that_is_the_same_in_all_pairs_has_no_p_value():
    runs = frame(policy=["a"] * 3 + ["b"] * 3 + ["c"] * 3, seed=[0, 1, 2] * 3, f=[0.1] * 6 + [0.7] * 3)
    rows = ranking(runs, "f", ["policy"]).select("policy", "mean", "low", "high", "p_value", "is_as_good").rows()
    assert rows == [
        ("a", 0.1, 0.1, 0.1, None, None), ("b", 0.1, 0.1, 0.1, 1.0, True), ("c", 0.7, 0.7, 0.7, None, False),
    ]  # fmt: skip


def test_points_are_told_apart_by_settings_that_some_lack():
    runs = frame(policy=["a", "a", "a", "b"], load=[None, None, 1.0, None], seed=[0, 1, 0, 0], f=[1.0, 3.0, 4.0, 5.0])
    rows = ranking(runs, "f", ["policy", "load"]).select("policy", "load", "runs", "mean").rows()
    assert rows == [("a", None, 2, 2.0), ("a", 1.0, 1, 4.0), ("b", None, 1, 5.0)]


def test_points_with_failed_runs_come_last_whatever_their_mean():
    runs = frame(policy=["a", "a", "b"], seed=[0, 1, 0], f=[1.0, None, 5.0]).with_columns(
        error=pl.Series([None, "it failed", None], dtype=pl.String)
    )
    assert ranking(runs, "f", ["policy"]).select("policy", "runs", "failed").rows() == [("b", 1, 0), ("a", 1, 1)]


def test_large_is_good_where_it_is_said():
    runs = frame(policy=["a", "b"], seed=[0, 0], f=[1.0, 2.0])
    assert ranking(runs, "f", ["policy"], maximise=True)["policy"].to_list() == ["b", "a"]
    with pytest.raises(UnknownName, match="did you mean"):
        ranking(runs, "ff", ["policy"])


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=12))
def test_the_front_is_what_nothing_beats(points):
    table = pl.DataFrame(points, schema={"x": pl.Int64, "y": pl.Int64}, orient="row")
    expected = [not any(o != p and o[0] <= p[0] and o[1] <= p[1] for o in points) for p in points]
    assert pareto_front(table, ["x", "y"]).to_list() == expected


def test_shares_of_an_additive_figure_add_up_to_one():
    runs = frame(a=[0, 0, 1, 1, 2, 2], b=[0, 1] * 3, f=[3.0 * a + 2.0 * b for a in range(3) for b in range(2)])
    table = sensitivity(runs, "f", ["a", "b", "absent"])
    # the variance is 9 * 2/3 from a and 4 * 1/4 from b
    assert dict(table.select("parameter", "share").rows()) == pytest.approx({"a": 6 / 7, "b": 1 / 7})


def test_a_drawn_number_is_put_into_classes():
    drawn = [at / 100 for at in range(100)]
    runs = frame(load=drawn, f=[10 * value for value in drawn])
    assert sensitivity(runs, "f", ["load"])["share"][0] == pytest.approx(0.99, abs=0.001)
    assert sensitivity(runs, "f", ["load"])["values"][0] == 10


def test_seeds_that_make_no_difference_are_noticed():
    runs = frame(policy=["a", "a"], seed=[0, 1], schedule=["x", "x"])
    assert alike(runs, ["policy"], ["seed"])
    assert not alike(runs.with_columns(schedule=pl.Series(["x", "y"])), ["policy"], ["seed"])
    assert not alike(runs.head(1), ["policy"], ["seed"])


def test_points_that_leave_out_more_jobs_than_the_fewest_come_after_the_others():
    runs = frame(platform=["1", "2", "8", "9"], seed=[0] * 4, f=[0.0, 1.0, 5.0, 7.0], rejected_jobs=[4, 2, 1, 1])
    table = ranking(runs, "f", ["platform"])
    assert table.select("platform", "jobs_not_run", "runs_fewer_jobs", "difference").rows() == [
        ("8", 1.0, False, None), ("9", 1.0, False, 2.0), ("2", 2.0, True, None), ("1", 4.0, True, None),
    ]  # fmt: skip
    assert ranking(runs, "f", ["platform"], maximise=True)["platform"].to_list() == ["9", "8", "2", "1"]
    assert told_unrun(table).startswith("2 points leave out more jobs than others and come last")
    assert told_unrun(table.head(3)).startswith("1 point leaves out more jobs than another and comes last")
    assert told_unrun(table.head(2)) == "No point runs all jobs: each leaves out 1 in a run"
    assert told_unrun(ranking(runs.drop("rejected_jobs"), "f", ["platform"])) == ""


def test_a_point_that_starts_no_job_has_no_figure_and_comes_last():
    runs = frame(platform=["1", "1", "2", "2", "8", "8"], seed=[0, 1] * 3, f=[None, None, 0.0, None, 5.0, 6.0],
                 rejected_jobs=[9, 9, 8, 9, 0, 0])  # fmt: skip
    rows = ranking(runs, "f", ["platform"]).select("platform", "runs", "mean", "jobs_not_run").rows()
    assert rows == [("8", 2, 5.5, 0.0), ("2", 1, 0.0, 8.5), ("1", 0, None, 9.0)]
    nowhere = runs.with_columns(f=pl.lit(None))
    assert ranking(nowhere, "f", ["platform"])["mean"].is_null().all()


def test_a_point_of_which_runs_failed_does_not_say_how_few_jobs_can_be_left_out():
    runs = frame(platform=["1", "1", "8", "8"], seed=[0, 1, 0, 1], f=[1.0, None, 5.0, 6.0],
                 rejected_jobs=[0, None, 0, 3])  # fmt: skip
    runs = runs.with_columns(error=pl.Series([None, "it failed", None, None], dtype=pl.String))
    rows = ranking(runs, "f", ["platform"]).select("platform", "jobs_not_run", "runs_fewer_jobs").rows()
    assert rows == [("8", 1.5, False), ("1", 0.0, False)]


def test_a_point_that_runs_fewer_jobs_is_not_told_as_good_and_changes_no_p_value_of_others():
    noise = [0.0, 0.3, -0.2, 0.1]
    runs = frame(policy=["a"] * 4 + ["b"] * 4 + ["c"] * 4, seed=[0, 1, 2, 3] * 3, rejected_jobs=[0] * 8 + [1] * 4,
                 f=[1.0] * 4 + [1.2 + x for x in noise] + [1.0 + x for x in noise])  # fmt: skip
    rows = ranking(runs, "f", ["policy"]).select("policy", "p_value", "is_as_good").rows()
    alone = ttest_rel([1.2 + x for x in noise], [1.0] * 4).pvalue
    assert rows == [("a", None, None), ("b", pytest.approx(alone), True), ("c", None, False)]


def test_no_front_has_a_point_that_runs_fewer_jobs():
    table = pl.DataFrame({"x": [0.0, 1.0, 2.0], "y": [0.0, 5.0, 4.0], "runs_fewer_jobs": [True, False, False]})
    assert pareto_front(table, ["x", "y"]).to_list() == [False, True, True]
