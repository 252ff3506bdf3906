import polars as pl
import pytest

from unspool.errors import InputError
from unspool.model.workload import COLUMNS, Workload, rejected_table


def table(**columns):
    plain = {"job_id": ["a", "b"], "submit_time": [0, 1], "run_time": [1, 1], "cores": [1, 1]}
    return pl.DataFrame({**plain, **columns})


def test_jobs_are_sorted_by_submission_and_ties_go_by_line():
    jobs = Workload.of(table(job_id=["a", "b", "c"], submit_time=[5, 0, 0], run_time=[1, 1, 1], cores=[1, 1, 1]))
    assert jobs.table["job_id"].to_list() == ["b", "c", "a"]
    assert jobs.table["line"].to_list() == [2, 3, 1]
    assert jobs.notes == ("1 of 3 jobs stood before a job submitted earlier: sorted by submit time",)


def test_a_sorted_workload_has_no_notes():
    assert Workload.of(table()).notes == ()


def test_columns_are_cast_and_unknown_ones_left_out():
    jobs = Workload.of(table(job_id=[7, 8], submit_time=["0", "1.5"], colour=["red", "blue"])).table
    assert jobs.columns == ["job_id", "submit_time", "run_time", "cores", "line"]
    assert jobs["job_id"].to_list() == ["7", "8"]
    assert jobs["submit_time"].to_list() == [0.0, 1.5]


def test_a_slice_is_a_workload():
    jobs = Workload.of(table(), max_cores=8)[1:]
    assert (len(jobs), jobs.table["job_id"].to_list(), jobs.max_cores) == (1, ["b"], 8)


def test_a_column_that_the_log_does_not_have_is_null():
    column = Workload.of(table()).column("walltime")
    assert (column.dtype, column.to_list()) == (pl.Float64, [None, None])


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"submit_time": [0, -5]}, "workload, line 2: submit_time is -5; expected 0 or more"),
        ({"run_time": [1.0, float("nan")]}, "workload, line 2: run_time is nan; expected a number up to 1e+12 seconds"),
        ({"run_time": [float("inf"), 1.0]}, "workload, line 1: run_time is inf; expected a number up to 1e+12 seconds"),
        ({"walltime": [1, -1]}, "workload, line 2: walltime is -1; expected 0 or more"),
        ({"submit_time": [0, 17_000_000_000_000]},
         "workload, line 2: submit_time is 17000000000000; expected a number up to 1e+13 seconds"),
        ({"cores": [0, 1]}, "workload, line 1: cores is 0; expected 1 or more"),
        ({"cores": [1, 2**62]}, "workload, line 2: cores is 4.61168601842739e+18; expected a number up to 1e+12"),
        ({"gpus": [0, -1]}, "workload, line 2: gpus is -1; expected 0 or more"),
        ({"run_time": [None, 1]}, "workload, line 1: no run_time; every job needs one"),
        ({"run_time": ["1", "soon"]}, "workload: column run_time does not hold Float64: conversion from"),
        ({"cores": [1.0, 2.5]}, "workload: cores is 2.5; expected whole numbers"),
        ({"job_id": ["a", "a"]}, "workload: job id 'a' stands twice, in lines 1 and 2; ids must be unique"),
        ({"job_id": ["x\n\x1b"] * 2}, "workload: job id 'x??' stands twice, in lines 1 and 2; ids must be unique"),
    ],
)  # fmt: skip
def test_jobs_that_make_no_sense_are_refused_with_their_line(columns, sentence):
    with pytest.raises(InputError) as caught:
        Workload.of(table(**columns))
    assert str(caught.value).startswith(sentence)


def test_missing_columns_are_named():
    with pytest.raises(InputError, match="log: no column run_time, cores; every job needs job_id, submit_time"):
        Workload.of(pl.DataFrame({"job_id": ["a"], "submit_time": [0]}), name="log")


def test_empty_cells_are_allowed_where_the_list_of_columns_says_so():
    empty = {column.name: [None, None] for column in COLUMNS if not column.required}
    assert len(Workload.of(table(**empty))) == 2


def test_rejected_rows_may_come_in_any_sequence():
    assert rejected_table().rows() == []
    assert rejected_table(((3, None, "why"),)).rows() == [(3, None, "why")]


def test_html_escapes_the_name():
    assert "<b>&lt;script&gt;</b>: 2 jobs" in Workload.of(table(), name="<script>")._repr_html_()


def test_the_digest_is_of_the_jobs_and_of_nothing_else():
    jobs = Workload.of(table(user=["ann", None]))
    for other in (
        Workload.of(table(user=["ann", None]), name="renamed", max_cores=8),
        Workload.of(table(user=["ann", None], line=[7, 9])),
        Workload.of(table(user=["ann", None], walltime=[None, None])),
        Workload(jobs.table.select(reversed(jobs.table.columns))),
    ):
        assert other.digest == jobs.digest
    others = [
        Workload.of(table()),
        Workload.of(table(user=["ann", ""])),
        Workload.of(table(user=["an", "n"])),
        Workload.of(table(group=["ann", None])),
        Workload.of(table(user=["ann", None], run_time=[1.0, 1.5])),
        Workload.of(table(user=["ann", None], walltime=[None, 0])),
        Workload.of(table(user=["ann", None], walltime=[0, None])),
        jobs[:1],
    ]
    assert len({one.digest for one in (jobs, *others)}) == len(others) + 1
    assert Workload.of(table())[:0].digest == Workload.of(table(user=["ann", None]))[:0].digest
