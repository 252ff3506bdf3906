"""The verbs as functions of Python give what the command line gives."""

import json
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tests.cli.test_cli_batsim import PLATFORM, TWO_JOBS, workload_json
from tests.cli.test_cli_cost import CATALOGUE, CONFIG
from tests.cli.test_cli_cost import JOBS as JOBS_OF_COST
from tests.cli.test_cli_dispatch import EXPERIMENT
from tests.faces.dispatch_build import JOBS, REFS

import unspool as api

ROWS = {
    "job_id": ["a", "b", "c"],
    "submit_time": [0, 1, 2],
    "run_time": [10, 4, 4],
    "cores": [3, 4, 1],
    "walltime": [10, 4, 4],
}
STARTS = [0.0, 10.0, 2.0]  # `c` overtakes `b`, which needs all four cores


def starts(result):
    return result.jobs.sort("job_id")["start_time"].to_list()


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_frame_of_polars_is_a_log():
    assert starts(api.run(pl.DataFrame(ROWS), 4)) == STARTS


def test_a_frame_of_pandas_is_a_log():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({**ROWS, "user": ["x", None, "y"], "memory_bytes": [1.0, float("nan"), 5.0]})
    result = api.run(frame, 4)
    assert starts(result) == STARTS
    assert result.jobs.sort("job_id")["user"].to_list() == ["x", None, "y"]


@pytest.mark.parametrize("given", [5, None, ["a"]])
def test_what_is_no_log_is_refused(given):
    with pytest.raises(api.InputError, match="expected a file, a Workload, or a DataFrame"):
        api.run(given, 4)


def test_a_table_that_was_not_checked_is_no_workload():
    with pytest.raises(api.InputError, match=r"use Workload\.of\(table\)"):
        api.Workload(pl.DataFrame(ROWS))


def test_without_a_platform_the_machine_is_that_of_the_log():
    log = api.Workload.of(pl.DataFrame(ROWS), max_cores=4)
    result = api.run(log)
    assert starts(result) == STARTS
    assert result.platform.cores == 4
    with pytest.raises(api.InputError, match="does not say how large its machine was"):
        api.run(pl.DataFrame(ROWS))


def test_costs_are_those_of_the_verb(unspool, here):
    Path("jobs.csv").write_text(JOBS_OF_COST)
    Path("c.yml").write_text(CONFIG)
    Path("prices.csv").write_text(CATALOGUE)
    said = json.loads(unspool("cost", "jobs.csv", "-c", "c.yml", "--catalogue", "prices.csv", "--json").out)
    costs = api.cost("jobs.csv", "c.yml", catalogue=["prices.csv"])
    assert json.loads(json.dumps(costs.summary)) == said
    shorter = api.cost("jobs.csv", "c.yml", catalogue=["prices.csv"], changes={"IdleTime": 0}, replicas=2)
    assert shorter.summary["total_cost_usd"] < costs.summary["total_cost_usd"]
    assert shorter.summary["replicas"] == 2
    saved = api.save(costs, "bill")
    assert {"hourly_stats.csv", "summary.json", "report.html"} <= {path.name for path in saved.iterdir()}


def test_an_experiment_gives_the_figures_of_the_verb(unspool, here):
    Path("e.yaml").write_text(EXPERIMENT)
    Path("jobs.csv").write_text(JOBS)
    Path("refs.csv").write_text(REFS)
    said = json.loads(unspool("dispatch", "-c", "e.yaml", "jobs.csv", "--refs", "refs.csv", "--json").out)
    run = api.dispatch("jobs.csv", "e.yaml", refs="refs.csv")
    assert {name: value for name, value in run.summary.items() if name in said} == {
        name: value for name, value in said.items() if name in run.summary
    }
    assert len(run.table) == run.summary["jobs"] == 4
    assert (api.save(run, "out") / "metrics.txt").is_file()


def test_batsim_gives_the_result_of_the_verb(unspool, here):
    Path("p.xml").write_text(PLATFORM)
    Path("w.json").write_text(workload_json(*TWO_JOBS))
    assert unspool("batsim", "-p", "p.xml", "-w", "w.json", "-e", "one", "--policy", "easy", "-o", "o").code == 0
    result = api.batsim("w.json", "p.xml", "easy", export="two")
    assert Path("two_jobs.csv").read_bytes() == Path("one_jobs.csv").read_bytes()
    assert_frame_equal(result.jobs, api.load("o").jobs)
    with pytest.raises(api.InputError, match=r"unknown setting 'enrgy'.* did you mean 'energy'"):
        api.batsim("w.json", "p.xml", enrgy=True)


def test_a_sweep_of_a_dictionary(here):
    pl.DataFrame(ROWS).write_csv("log.csv")
    grid = {"run": {"workload": "log.csv", "platform": "4"}, "grid": {"policy": ["fcfs", "easy"]}}
    runs = api.sweep(grid, "s", processes=1)
    assert runs.sort("policy")["mean_wait_s"].to_list() == [3.0, 7.0]
    assert_frame_equal(api.sweep(grid, "s", processes=1, resume=True), runs)


def test_generated_logs_are_those_of_their_models():
    log = api.generate("lublin", jobs=50, cores=16, load=0.5, seed=3)
    assert (len(log), log.max_cores) == (50, 16)
    assert len(api.generate("recodex", jobs=20).jobs) == 20
    with pytest.raises(api.InputError, match=r"unknown generator 'poison'.* did you mean 'poisson'"):
        api.generate("poison")
