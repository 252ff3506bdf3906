"""Recorded runs of Batsim: how cases are read, which are skipped, and what differs in jobs that were changed."""

import json
import os
from pathlib import Path

import polars as pl
import pytest

from unspool.conform import collect, own_cases
from unspool.conform.batsim import compare_figures, compare_jobs, read_case, read_jobs
from unspool.errors import InputError

CASES = Path(os.environ.get("UNSPOOL_CASES", Path(__file__).parents[3] / "shared" / "cases")) / "batsim" / "golden"
OWN = own_cases("batsim") / "golden"
RECORDED = [path for golden in (OWN, CASES) for path in sorted(golden.glob("*/out_jobs.csv")) if path.stat().st_size]


def changed(table, job, **values):
    """The same jobs with other values for one of them."""
    mine = pl.col("job_id") == job
    return table.with_columns(
        pl.when(mine).then(pl.lit(value, table.schema[name])).otherwise(pl.col(name)).alias(name)
        for name, value in values.items()
    )


@pytest.fixture
def jobs():
    return read_jobs(OWN / "own_share_net" / "out_jobs.csv")


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parents[2].name}-{path.parent.name}")
def test_recorded_jobs_agree_with_themselves(path):
    table = read_jobs(path)
    assert compare_jobs(table, table.reverse(), is_exact=True) == ()
    assert compare_jobs(table.reverse(), table, is_exact=False) == ()


def test_an_execution_time_may_differ_in_its_last_decimal_only(jobs):
    assert compare_jobs(changed(jobs, "a", execution_time=20.000001), jobs, is_exact=True) == ()
    assert compare_jobs(changed(jobs, "a", execution_time=20.000002), jobs, is_exact=True) == (
        "job w0!a: execution_time 20.000002, recorded 20.000000",
    )


def test_on_other_platforms_starts_may_shift_by_a_twentieth_of_a_second_and_a_ten_thousandth(jobs):
    # Job a started at 100 s: 0.05 + 0.01 s.
    assert compare_jobs(changed(jobs, "a", starting_time=100.059), jobs, is_exact=False) == ()
    (told,) = compare_jobs(changed(jobs, "a", starting_time=100.061), jobs, is_exact=False)
    assert told == "job w0!a: starting_time 100.061000, recorded 100.000000"


def test_another_order_of_starts_is_told_and_jobs_that_start_together_have_none():
    recorded = pl.DataFrame(
        {
            "workload_name": ["w0"] * 3,
            "job_id": ["a", "b", "c"],
            "final_state": ["COMPLETED_SUCCESSFULLY"] * 3,
            "starting_time": [0.00006, 0.000075, 0.01],
            "execution_time": [1.0] * 3,
        }
    )
    assert compare_jobs(recorded.with_columns(starting_time=pl.lit(0.0)), recorded, is_exact=False) == ()
    swapped = recorded.with_columns(starting_time=pl.Series([0.0, 0.01, 0.005]))
    (told,) = compare_jobs(swapped, recorded, is_exact=False)
    assert told == "job w0!c starts before job w0!b, which was recorded as starting earlier"


def test_another_end_and_jobs_that_only_one_has_are_told(jobs):
    assert compare_jobs(changed(jobs, "b", final_state="REJECTED", starting_time=None), jobs, is_exact=True) == (
        "job w0!b ends as REJECTED, recorded COMPLETED_SUCCESSFULLY",
    )
    assert compare_jobs(jobs.filter(pl.col("job_id") != "b"), jobs, is_exact=True) == ("job w0!b is not among ours",)
    assert compare_jobs(jobs, jobs.filter(pl.col("job_id") != "b"), is_exact=True) == ("job w0!b was not recorded",)


def test_figures_of_other_variants_are_set_beside_each_other(jobs):
    other = jobs.with_columns(waiting_time=pl.lit(2.5))
    assert compare_figures(other, jobs) == ("makespan 900.00 s, recorded 900.00 s, mean wait 2.50 s, recorded 0.00 s")


def test_a_case_says_what_was_run():
    case = read_case(OWN / "own_storage" / "case.json")
    assert (case.platform.name, case.workload.name) == ("clean4.xml", "storage.json")
    assert case.platform.is_file()
    assert case.workload.is_file()
    assert (case.is_exact, case.skipped, case.arguments) == (True, None, ())
    assert case.scheduler.storages == {"a": 4, "b": 5, "pfs": 4}
    assert read_case(OWN / "own_share_cpu" / "case.json").arguments == ("--enable-compute-sharing",)


@pytest.fixture
def written(tmp_path):
    """Reads a case that is written with these fields, over a workload with these profiles, of which the job has p."""

    def written(profiles=None, **fields):
        (tmp_path / "workload.json").write_text(
            json.dumps({"jobs": [{"id": 1, "profile": "p"}], "profiles": profiles or {"p": {"type": "delay"}}})
        )
        folder = tmp_path / "golden" / "mine"
        folder.mkdir(parents=True, exist_ok=True)
        case = {"platform": "p.xml", "workload": "workload.json", "scheduler": ["batsched", "-v", "fcfs"], **fields}
        (folder / "case.json").write_text(json.dumps(case))
        return read_case(folder / "case.json")

    return written


def test_what_we_do_not_have_is_skipped_with_its_reason(written):
    assert written().skipped is None
    assert written(batsim_args=["-E"]).skipped is None
    assert written(workload_flag="-W").skipped is None
    assert written(batsim_args=["--enable-dynamic-jobs"]).skipped == "it needs jobs that the scheduler submits"
    assert written(batsim_exit_code=-6).skipped == "the recorded run failed, with exit code -6"
    assert written(scheduler=None).skipped == "it had no scheduler"
    assert written(scheduler=["batsched", "-v", "random"]).skipped == "batsched's random has no equivalent here"


def test_usage_traces_are_never_compared_to_the_last_decimal(written):
    trace = {"type": "usage_trace", "trace": "x"}
    own = {"platform": "own/p.xml"}
    assert written({"p": {"type": "delay"}, "q": trace}, **own).is_exact
    assert not written({"p": {"type": "composed", "seq": ["q", "p"]}, "q": trace}, **own).is_exact


def test_replays_are_compared_but_for_their_last_message(written):
    trace = {"type": "smpi", "trace": "x"}
    assert not written({"p": {"type": "delay"}, "q": trace}).replays
    assert written({"p": {"type": "composed", "seq": ["q", "p"]}, "q": trace}).replays


def test_paths_among_the_arguments_begin_where_those_of_the_inputs_do(written, tmp_path):
    case = written(batsim_args=["--events", "@events/all.txt"])
    assert case.arguments == ("--events", str(tmp_path.resolve() / "events" / "all.txt"))


def test_what_is_no_case_or_no_jobs_file_is_refused(tmp_path):
    (tmp_path / "case.json").write_text('{"platform": 5}')
    with pytest.raises(InputError, match=r"Expected `str`, got `int` - at `\$.platform`"):
        collect("batsim", [tmp_path])
    (tmp_path / "out_jobs.csv").write_text("job_id,starting_time\n1,soon\n")
    with pytest.raises(InputError, match="is no jobs file of Batsim"):
        read_jobs(tmp_path / "out_jobs.csv")
    with pytest.raises(InputError, match=r"no case\.json is here"):
        collect("batsim", [own_cases("cloud")])
