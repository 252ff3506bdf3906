import numpy as np
import polars as pl
import pytest

from unspool.errors import InputError
from unspool.workloads import read_workload
from unspool.workloads.generators import recodex, write_recodex
from unspool.workloads.recodex import JOB_COLUMNS, REF_COLUMNS, read_jobs, read_refs
from unspool.workloads.sample import read_recodex_sample

HEX = r"^[0-9a-f]{40}$"


@pytest.fixture(scope="module")
def log():
    return recodex(20_000, seed=3)


def test_the_columns_are_those_of_the_files(log):
    assert (log.jobs.columns, log.refs.columns) == (list(JOB_COLUMNS), list(REF_COLUMNS))
    assert len(log.jobs) == 20_000
    for name in (name for name in log.jobs.columns if name.endswith("_id") and name != "worker_group_id"):
        assert log.jobs[name].str.contains(HEX).all()
    assert log.jobs["submission_id"].is_unique().all()
    assert log.refs["submission_id"].is_unique().all()


def test_what_is_written_is_read_with_the_same_values(log, tmp_path):
    write_recodex(log.jobs, tmp_path / "data.csv.gz")
    write_recodex(log.refs, tmp_path / "refs.csv")
    jobs, refs = read_jobs(tmp_path / "data.csv.gz"), read_refs(tmp_path / "refs.csv")
    assert (jobs.notes, refs.notes) == ((), ())
    for name in ("spawn", "duration", "limits", "correctness"):
        column = {"spawn": "spawn_ts"}.get(name, name)
        assert getattr(jobs, name).tolist() == log.jobs[column].cast(pl.Float64).to_list()
    assert jobs.texts["exercise"].gather(jobs.exercise - 1).to_list() == log.jobs["exercise_id"].to_list()
    assert len(read_workload(tmp_path / "data.csv.gz")) == 20_000


def test_the_same_seed_gives_the_same_log_and_another_another():
    first, again, other = recodex(300, seed=1), recodex(300, seed=1), recodex(300, seed=2)
    assert first.jobs.equals(again.jobs)
    assert first.refs.equals(again.refs)
    assert not set(first.jobs["submission_id"]) & set(other.jobs["submission_id"])
    assert first.jobs["duration"].to_list() != other.jobs["duration"].to_list()


def test_arrivals_are_sorted_whole_seconds_with_ties(log):
    assert log.jobs["spawn_ts"].dtype == log.jobs["end_ts"].dtype == pl.Int64
    gaps = log.jobs["spawn_ts"].diff().drop_nulls()
    assert (gaps.min(), (gaps == 0).mean() > 0.05) == (0, True)
    assert (log.jobs["end_ts"] >= log.jobs["spawn_ts"] + log.jobs["duration"]).all()


def test_the_load_is_met_nearly(log):
    for load in (0.5, 1.0, 3.0):
        jobs = recodex(20_000, seed=3, load=load).jobs
        span_s = jobs["spawn_ts"][-1] - jobs["spawn_ts"][0]
        assert jobs["duration"].sum() / span_s == pytest.approx(load, rel=0.1)


def test_a_failed_compilation_has_no_points(log):
    failed = log.jobs.filter(pl.col("compilation_ok") == 0)
    assert 0.02 < len(failed) / len(log.jobs) < 0.08
    assert (failed["correctness"] == 0).all()
    assert log.jobs["correctness"].is_between(0, 1).all()


def test_a_solution_evaluated_again_stays_the_same(log):
    of_solution = log.jobs.group_by("solution_id").agg(
        pl.col("exercise_id", "user_id", "correctness", "compilation_ok").n_unique(), count=pl.len()
    )
    assert (of_solution.select("exercise_id", "user_id", "correctness", "compilation_ok") == 1).to_numpy().all()
    assert len(log.jobs) - len(of_solution) == 1600


def test_reference_runs_are_of_the_exercises_of_the_jobs(log):
    pairs = [frame.select("exercise_id", "runtime_id").unique() for frame in (log.jobs, log.refs)]
    assert pairs[0].join(pairs[1], on=["exercise_id", "runtime_id"], how="anti").is_empty()
    assert (log.refs["spawn_ts"].diff().drop_nulls() >= 0).all()
    failed = log.refs["compilation_ok"] == 0
    assert 0 < failed.mean() < 0.1
    assert (log.refs.filter(failed)["correctness"] == 0).all()


def test_deadlines_make_bursts(log):
    hours = np.bincount((log.jobs["spawn_ts"].to_numpy() - log.jobs["spawn_ts"][0]) // 3600)
    assert hours.max() > 2 * hours.mean()
    of_exercise = log.jobs.group_by("exercise_id").agg(pl.col("spawn_ts").quantile(0.9) - pl.col("spawn_ts").median())
    span_s = log.jobs["spawn_ts"][-1] - log.jobs["spawn_ts"][0]
    assert of_exercise["spawn_ts"].median() < 0.1 * span_s


def test_earlier_jobs_of_an_exercise_foretell_better_than_the_limits(log):
    earlier = pl.col("duration").shift().cum_sum() / pl.int_range(pl.len())
    told = log.jobs.with_columns(mean=earlier.over("exercise_id", "runtime_id")).filter(
        pl.col("mean").is_finite() & (pl.col("limits") > 0)
    )
    ln = {name: told[name].log() for name in ("mean", "limits", "duration")}
    by_mean, by_limits = (np.corrcoef(ln[name], ln["duration"])[0, 1] for name in ("mean", "limits"))
    assert by_mean > by_limits + 0.1
    errors = {name: (told[name] - told["duration"]).abs().mean() for name in ("mean", "limits")}
    assert 3 * errors["mean"] < errors["limits"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [({"jobs": 9}, "jobs is 9; expected at least 10"), ({"jobs": 10, "load": 0}, "load is 0; expected more than 0")],
)
def test_parameters_out_of_range_are_refused(arguments, says):
    with pytest.raises(InputError, match=says):
        recodex(**arguments)


def test_the_smallest_log_can_be_made():
    assert recodex(10, seed=5, load=100.0).jobs.shape == (10, 15)


def test_the_bundled_sample_is_a_log_with_its_reference_runs():
    jobs, refs = read_recodex_sample()
    assert (len(jobs), len(refs), jobs.notes, refs.notes) == (1900, 110, (), ())
    span_s = jobs.spawn[-1] - jobs.spawn[0]
    assert jobs.duration.sum() / span_s == pytest.approx(2.0, rel=0.1)
    assert set(jobs.texts["exercise"]) <= set(refs.texts["exercise"])
