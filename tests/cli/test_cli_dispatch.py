import csv
import json

import polars as pl
import pytest
from tests.faces.dispatch_build import JOB_HEADER, JOBS, REFS, jobs_csv

from unspool.workloads.files import read_blocks

EXPERIMENT = """\
workers: 2
dispatcher: duration-filter
duration_predictor: limits
metrics: [delay, {class: user-experience, args: ["@@ref_jobs"]}]
"""


@pytest.fixture
def files(write):
    return "-c", write("e.yaml", EXPERIMENT), write("jobs.csv", JOBS), "--refs", write("refs.csv", REFS)


def test_the_text_of_the_metrics_is_all_that_stands_on_stdout(unspool, files):
    code, out, _ = unspool("dispatch", *files)  # where it is compiled first, that is told on stderr
    assert code == 0
    assert out == (
        "Total jobs: 4, avg. delay: 0.0, max. delay: 0.0\n"
        "Total jobs: 4, on time: 4 (100%), delayed: 0 (0%), late: 0 (0%)\n"
    )


def test_flags_for_machines_and_for_detail(unspool, files):
    assert unspool("dispatch", *files, "--machine").out.splitlines()[:2] == ["jobs_total=4", "delay_avg=0.0"]
    assert "    worker 0: 2 jobs, avg. delay: 0.000\n" in unspool("dispatch", *files, "--verbose").out


def test_the_summary_as_json(unspool, files):
    summary = json.loads(unspool("dispatch", *files, "--json", "--limit", 3).out)
    assert (summary["jobs"], summary["jobs_on_time"], summary["compat"], summary["seed"]) == (3, 3, "none", 42)


def test_a_folder_of_results(unspool, files, tmp_path):
    said = unspool("dispatch", *files, "-o", "out")
    assert (said.code, said.err) == (0, "results: out, for people out/report.html\n")
    assert (tmp_path / "out/metrics.txt").read_text() == said.out
    with open(tmp_path / "out/jobs.csv", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["worker"] for row in rows] == ["0", "1", "1", "0"]
    assert [row["finish_ts"] for row in rows] == ["140.0", "110.0", "120.0", "180.0"]
    assert [row["finish_order"] for row in rows] == ["2", "0", "1", "3"]
    assert [row["estimate"] for row in rows] == ["10.0"] * 4
    assert pl.read_parquet(tmp_path / "out/jobs.parquet")["exercise_id"].to_list() == ["a", "b", "a", "b"]
    series = pl.read_csv(tmp_path / "out/series.csv")
    assert series["time_s"].to_list() == [100.0, 160.0, 220.0]
    assert series["running"].to_list() == [2, 0, 0]
    assert series["on_time_share"].to_list() == [None, 1.0, 1.0]
    assert "out exists" in unspool("dispatch", *files, "-o", "out").err
    assert "out: is the folder of a dispatch, which `unspool dispatch` wrote" in unspool("compare", "out").err
    assert unspool("dispatch", *files, "-o", "out", "--force").code == 0


def test_the_fork_has_its_results_file(unspool, write, tmp_path):
    text = EXPERIMENT.replace("workers: 2", "workers: [{active: true}, {active: true}]")
    arguments = ("-c", write("e.yaml", text), write("jobs.csv", JOBS), "--refs", write("refs.csv", REFS))
    assert unspool("dispatch", *arguments, "--compat", "fork", "-o", "out").code == 0
    assert (tmp_path / "out/results.yaml").read_text().startswith("delay_avg: 0.000000\ndelay_max: 0.000000\n")


def test_the_original_begins_with_an_empty_line(unspool, write):
    text = EXPERIMENT.replace("workers: 2", "workers: [{active: true}, {active: true}]")
    arguments = ("-c", write("e.yaml", text), write("jobs.csv", JOBS), "--refs", write("refs.csv", REFS))
    said = unspool("dispatch", *arguments, "--compat", "original")
    assert said.out.startswith("\nTotal jobs: 4, ")
    assert said.out.endswith("on time: 4, delayed: 0, late: 0\n")


@pytest.mark.parametrize(
    ("jobs", "said"),
    [
        (f"{JOB_HEADER}\n", "jobs.csv: no jobs"),
        (jobs_csv((100, 1), (50, 1)), "jobs.csv, line 3: spawn_ts is 50"),
        (jobs_csv((100, 1, "a", "")), "jobs.csv, line 2: limits is empty"),
        (f"{JOB_HEADER}\ns;a;g\n", "jobs.csv, line 2: 3 cells; expected 15"),
        (JOBS.replace(";duration", ";length"), "jobs.csv, line 1: no column duration"),
    ],
)
def test_a_log_that_cannot_be_used_is_refused_with_its_line(unspool, files, write, jobs, said):
    write("jobs.csv", jobs)
    found = unspool("dispatch", *files)
    assert (found.code, found.out) == (2, "")
    assert said in found.err
    assert found.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no log or no experiment given"),
        (("-c", "e.yaml"), "no log or no experiment given"),
        (("-c", "none.yaml", "jobs.csv"), "none.yaml: there is no such file"),
        (("-c", "e.yaml", "none.csv"), "none.csv"),
        (("-c", "e.yaml", "jobs.csv"), "there are no reference runs; give --refs"),
        (("-c", "e.yaml", "jobs.csv", "--limit", "0"), "--limit 0: expected 1 or more"),
        (("-c", "e.yaml", "jobs.csv", "--limit", "-1"), "--limit -1: expected 1 or more"),
        (("-c", "e.yaml", "jobs.csv", "--compat", "simdex"), "unknown compat 'simdex'"),
        (("-c", "e.yaml", "jobs.csv", "--json", "--machine"), "--json and --machine both say how the figures are"),
        (("-c", "e.yaml", "jobs.csv", "--seed", "-1"), "--seed -1: expected a whole number from 0 to"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_sentence(unspool, files, arguments, said):
    found = unspool("dispatch", *arguments)
    assert (found.code, found.out) == (2, "")
    assert said in found.err


def test_a_bad_row_far_down_a_log_that_is_read_while_it_is_replayed_leaves_no_figures(
    unspool, files, write, monkeypatch
):
    monkeypatch.setattr(read_blocks, "__defaults__", (300,))
    good = jobs_csv(*((100 + at, 5) for at in range(40)))
    write("jobs.csv", good + good.splitlines()[1] + "\n")
    found = unspool("dispatch", *files)
    assert (found.code, found.out) == (2, "")
    assert "jobs.csv, line 42: spawn_ts is 100, before that of the line above" in found.err
    assert unspool("dispatch", *files, "--limit", 40).code == 0


DISPATCH = "class D:\n    def dispatch(self, job, workers):\n        "


def test_a_job_that_the_dispatcher_forgets_fails_the_run_unless_that_is_allowed(unspool, files, write, tmp_path):
    write("mine.py", DISPATCH + "if job.row: workers[0].enqueue(job)\n")
    write("e.yaml", "workers: 1\ndispatcher: mine.D\nmetrics: [delay]\n")
    said = unspool("dispatch", *files, "-o", "out")
    assert (said.code, said.out) == (1, "")
    assert "mine.py, line 2: D.dispatch: 1 of 4 jobs was never enqueued: job 1 (line 2 of jobs.csv)" in said.err
    assert not (tmp_path / "out").exists()
    said = unspool("dispatch", *files, "-o", "out", "--allow-undispatched")
    assert (said.code, said.out[:15]) == (0, "Total jobs: 3, ")
    assert "1 job never enqueued by the dispatcher: line 2 of jobs.csv\n" in said.err
    assert json.loads((tmp_path / "out/summary.json").read_text())["jobs_never_dispatched"] == 1
    assert pl.read_csv(tmp_path / "out/jobs.csv")["worker"].to_list() == [None, 0, 0, 0]
    assert " --allow-undispatched" in json.loads((tmp_path / "out/run.json").read_text())["command"]


def test_of_many_jobs_that_are_never_enqueued_the_first_are_listed(unspool, files, write):
    write("jobs.csv", jobs_csv(*((100 + at, 1) for at in range(30))))
    write("mine.py", DISPATCH + "if job.row == 3: workers[0].enqueue(job)\n")
    write("e.yaml", "workers: 1\ndispatcher: mine.D\nmetrics: [delay]\n")
    lines = ", ".join(str(line) for line in range(2, 23) if line != 5)
    said = unspool("dispatch", *files, "--allow-undispatched", "--json")
    assert f"29 jobs never enqueued by the dispatcher: lines {lines} and 9 more of jobs.csv\n" in said.err
    assert json.loads(said.out)["jobs_never_dispatched"] == 29


@pytest.mark.parametrize(
    ("lines", "code", "said"),
    [
        (
            "workers[0].enqueue(job); workers[0].enqueue(job)",
            1,
            "mine.py, line 3: job 1 is already enqueued",
        ),
        ("workers[0].enqueue(job, 7)", 1, "mine.py, line 3: TypeError: "),
        ("raise SystemExit(0)", 1, "mine.py, line 3: SystemExit: 0"),
    ],
)
def test_a_mistake_of_a_users_dispatcher_is_no_fault_of_ours(unspool, files, write, lines, code, said):
    write("mine.py", f"{DISPATCH}{lines}\n")
    write("e.yaml", "workers: 2\ndispatcher: mine.D\nmetrics: [delay]\n")
    found = unspool("dispatch", *files)
    assert (found.code, found.out) == (code, "")
    assert said in found.err
    assert "a fault of unspool" not in found.err


def test_no_active_worker_is_a_run_that_failed(unspool, files, write):
    write("e.yaml", "workers: [{active: false}]\ndispatcher: shortest-queue\n")
    said = unspool("dispatch", *files)
    assert said.code == 1
    assert "no active worker" in said.err


def test_two_metrics_with_a_figure_of_one_name_both_stand_in_the_summary(unspool, files, write):
    one = '{class: user-experience, args: {ref_jobs: "@@ref_jobs", thresholds: [%s, %s]}}'
    write("e.yaml", f"workers: 1\ndispatcher: random\nmetrics: [{one % (0, 0)}, {one % (9, 9)}]\n")
    summary = json.loads(unspool("dispatch", *files, "--json").out)
    assert (summary["jobs_on_time"], summary["jobs_on_time_2"], summary["jobs_total"]) == (2, 4, 4)


def test_a_folder_has_a_page_which_report_writes_again(unspool, files, tmp_path):
    said = unspool("dispatch", *files, "-o", "out")
    assert said.err == "results: out, for people out/report.html\n"
    first = (tmp_path / "out/report.html").read_text()
    assert "4 jobs were delayed by 0 s on average, and 100% of them were on time" in first
    assert "unspool dispatch jobs.csv -c e.yaml --refs refs.csv --seed 42" in first
    assert "dispatcher: duration-filter" in first
    (tmp_path / "out/report.html").unlink()
    assert unspool("report", "out") == (0, "out/report.html\n", "")
    assert (tmp_path / "out/report.html").read_text() == first
    assert unspool("report", "out", "-o", "elsewhere.html").code == 0
    assert (tmp_path / "elsewhere.html").read_text() == first


@pytest.mark.parametrize("option", ["--no-report", "--json"])
def test_no_page_is_written_where_none_is_wanted(unspool, files, tmp_path, option):
    assert unspool("dispatch", *files, "-o", "out", option).err == "results: out\n"
    assert not (tmp_path / "out/report.html").exists()
    assert unspool("report", "out").code == 0
