"""The page on what `unspool cost` writes names what is written: no more, no less, tables in the same order."""

import csv
import json
from dataclasses import replace

import polars as pl
import pytest
from tests.docs.test_reference import names, section, tables
from tests.faces.test_cost_outputs import made_costs
from tests.metrics.cost.tables import instance

from unspool import Workload
from unspool.analysis.commitments import Offers, commitments_of, units_of
from unspool.analysis.setups import set_ups_table
from unspool.faces.cloud.outputs import write_costs
from unspool.faces.cloud.workbook import SHEETS
from unspool.platforms.catalogue import read_catalogue

PAGE = "cost-outputs"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    machines = [instance(0, 60, 3600, family="FAMILY"), instance(0, 60, 3600, family="FAMILY", plan="spot")]
    named = {name: {"a": "x"} for name in ("user", "queue", "project")}
    costs = made_costs(machines, [("a", 0, 60, 900, 1, [0])], logged_wait={"a": 9.0}, **named)
    costs.summary["seed"] = 0
    offers = Offers(read_catalogue(), "eu-west-1")
    commitments = commitments_of(costs.hourly, offers, units_of(costs.bill.machines))
    return write_costs(replace(costs, commitments=commitments), tmp_path_factory.mktemp("cost") / "out")


def test_every_file_is_listed(folder):
    assert sorted(names(tables(PAGE)[0])) == sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("file", "heading"),
    [
        ("hourly_stats.csv", "hourly_stats.csv"),
        ("jobs.csv", "jobs.csv"),
        ("instances.csv", "instances.csv"),
        ("by_user.csv", "by_user.csv, by_queue.csv, by_project.csv"),
        ("waits_by_cores.csv", "waits_by_cores.csv, waits_by_memory.csv"),
        ("rejected.csv", "rejected.csv"),
        ("commitments.csv", "commitments.csv"),
        ("commitment_curve.csv", "commitment_curve.csv"),
    ],
)
def test_every_column_is_listed_in_its_order(folder, file, heading):
    assert names(tables(PAGE, heading)[0]) == next(csv.reader((folder / file).read_text().splitlines()))


def test_every_column_of_a_comparison_is_listed_in_its_order():
    log = Workload.of(pl.DataFrame({"job_id": ["a"], "submit_time": [0], "run_time": [9], "cores": [1]}))
    assert names(tables(PAGE, "Comparisons")[0]) == set_ups_table(log, []).columns


def test_every_figure_is_listed(folder):
    summary = json.loads((folder / "summary.json").read_text())
    assert sorted(names(tables(PAGE, "summary.json")[0])) == sorted(summary)
    assert "`p5`" in section(PAGE, "summary.json")


def test_every_figure_of_commitments_is_listed(folder):
    told = json.loads((folder / "commitments.json").read_text())
    assert sorted(names(tables(PAGE, "commitments.json")[0])) == sorted(told)


def test_every_sheet_of_the_workbook_is_listed_in_its_order():
    assert names(tables(PAGE, "hourly_stats.xlsx")[0]) == list(SHEETS)
