import csv
import json

import polars as pl
import pytest
from tests.metrics.cost.tables import fixed, instance, tables

from unspool.analysis.costs import Costs
from unspool.errors import InputError
from unspool.faces.cloud.outputs import write_costs
from unspool.metrics.cost import bill, figures, hourly, window_of
from unspool.model.workload import rejected_table

JANUARY = 1767225600.0  # 2026-01-01T00:00:00 UTC


def made_costs(machines, attempts, memory=None, rejected=(), **columns):
    """Costs of hand-made tables of a log that began in January."""
    run = tables(machines, attempts, memory, **columns)
    made = bill(*run, window_of(run[0], run[3], JANUARY))
    summary = {"workload": "log.txt", "policy": "cheapest-fit", **figures(made, run[1], run[2]), "rejected": 0}
    return Costs(made, hourly(made, run[1]), run[1], run[2], rejected_table(rejected), summary, notes=("a note",))


def rows(path):
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.fixture
def costs():
    machines = [instance(0, 120, 300.5, plan="spot", cause="reclaimed"), instance(301, 421, 3600), fixed(family="old")]
    attempts = [("a", 0, 120, 300.5, 2, [0], "lost"), ("a", 0, 421, 1021, 2, [1, 2]), ("b", 600, 600, 700, 1, [2])]
    named = {"user": {"a": "ann", "b": "bob"}, "logged_wait": {"a": 1000.0}}
    return made_costs(machines, attempts, {"a": 4}, [(7, "x", "no type fits, alas"), (9, None, "no id")], **named)


def test_a_job_is_told_with_its_last_machines_and_what_all_attempts_cost(costs, tmp_path):
    write_costs(costs, tmp_path / "out", report=False)
    a, b = rows(tmp_path / "out" / "jobs.csv")
    assert (a["job_id"], a["instances"], a["instance_types"], a["pricing"]) == (
        "a", "1 2", "c5.large old.large", "on-demand on-premises",
    )  # fmt: skip
    assert (a["eligible_time"], a["start_time"], a["attempts"]) == ("2026-01-01T00:00:00", "2026-01-01T00:07:01", "2")
    assert (float(a["wait_s"]), float(a["logged_wait_s"]), float(a["wait_saved_s"])) == (421.0, 1000.0, 579.0)
    assert (b["instances"], b["logged_wait_s"], b["hosts"], b["user"]) == ("2", "", "1", "bob")
    costs_told = sum(float(row["cost_usd"]) for row in (a, b))
    assert costs_told + costs.bill.unallocated_usd == pytest.approx(costs.bill.total_usd, rel=1e-6)


def test_instances_tell_their_life_and_fixed_machines_have_none(costs, tmp_path):
    write_costs(costs, tmp_path / "out", report=False)
    first, second, server = rows(tmp_path / "out" / "instances.csv")
    assert (first["pricing"], first["stop_time"], first["cause"]) == ("spot", "2026-01-01T00:05:00.500", "reclaimed")
    assert (second["started_for"], second["jobs"], server["jobs"]) == ("a", "1", "2")
    assert (server["start_time"], server["cause"], server["billing"]) == ("", "", "always")
    assert float(first["boot_s"]) == 120.0


def test_what_was_rejected_and_who_pays_are_files_and_projects_that_nobody_names_are_none(costs, tmp_path):
    write_costs(costs, tmp_path / "out", report=False)
    assert rows(tmp_path / "out" / "rejected.csv")[0] == {
        "file": "log.txt", "line": "7", "job_id": "x", "reason": "no type fits, alas",
    }  # fmt: skip
    assert [row["user"] for row in rows(tmp_path / "out" / "by_user.csv")][-1] == "(unallocated)"
    assert not (tmp_path / "out" / "by_project.csv").exists()
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["total_cost_usd"] == costs.bill.total_usd
    assert summary["notes"] == ["a note"]


def test_the_hourly_file_reads_back_bit_by_bit(costs, tmp_path):
    write_costs(costs, tmp_path / "out", report=False)
    assert pl.read_csv(tmp_path / "out" / "hourly_stats.csv").equals(costs.hourly)


def test_a_folder_is_replaced_only_if_asked_and_only_if_it_is_ours(costs, tmp_path):
    write_costs(costs, tmp_path / "out")
    with pytest.raises(InputError, match="--force"):
        write_costs(costs, tmp_path / "out")
    write_costs(costs, tmp_path / "out", force=True, report=False)
    assert not (tmp_path / "out" / "report.html").exists()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match=r"thesis\.txt"):
        write_costs(costs, tmp_path / "out", force=True)
