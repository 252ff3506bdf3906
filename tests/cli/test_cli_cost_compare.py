import json
import shlex

import polars as pl
import pytest

from unspool.analysis.setups import _beats
from unspool.report.setups import set_ups_headline

TYPES = """\
region,type,cores,vcpus,memory_gib,architecture,on_demand_usd_per_hour
lab,c.small,1,2,4,x86_64,0.06
lab,c.large,4,8,16,x86_64,0.24
"""
# Two jobs of ten minutes on one core; the log has them wait for 0 and 30 minutes.
JOBS = "job_id,submit_time,run_time,cores,logged_wait\na,0,600,1,0\nb,0,600,1,1800\n"
CLOUD = """\
instance_mapping: {instance_prefix_list: [c]}
consumption_model_mapping: {minimum_cpu_speed: 0, maximum_minutes_for_spot: 0}
ComputeClusterModel: {BootTime: '2:00', IdleTime: '4:00', SchedulingFrequency: 0
"""
OURS = ", OnPremises: [{Name: node, Cores: 1, HourlyCost: 0.5}], Burst: cheapest"


@pytest.fixture
def files(write):
    write("types.csv", TYPES)
    write("jobs.csv", JOBS)
    write("cloud.yml", CLOUD + "}\n")
    write("both.yml", CLOUD + OURS + "}\n")
    write("disks.yml", CLOUD + ", Disks: [{GiB: 730, UsdPerGiBMonth: 0.06}]}\n")


def compared(unspool, *more):
    said = unspool(
        "cost", "compare", "jobs.csv", "-c", "both.yml", "-c", "cloud.yml", "--catalogue", "types.csv", *more
    )
    assert said.code == 0, said.err
    return said


def rows_of(said):
    return {row["set_up"]: row for row in json.loads(said.out)["set_ups"]}


def test_the_log_our_machines_and_each_set_up_are_rows(unspool, files):
    rows = rows_of(compared(unspool, "-c", "disks.yml", "--json"))
    assert list(rows) == ["as logged", "on-premises", "both", "cloud", "disks"]
    told = {
        name: [row[key] for key in ("total_cost_usd", "mean_wait_s", "wait_saved_hours", "instance_hours", "is_best")]
        for name, row in rows.items()
    }
    # On our machine b waits for a. With the cloud beside, b boots an instance: 16 minutes of c.small. Alone, two.
    hour = 16 / 60
    assert told["as logged"] == [None, 900.0, None, None, False]
    assert told["on-premises"] == pytest.approx([0.5, 300.0, 1 / 3, 0.0, False])
    assert told["both"] == pytest.approx([0.5 + 0.06 * hour, 60.0, 28 / 60, hour, True])
    assert told["cloud"] == pytest.approx([0.12 * hour, 120.0, 26 / 60, 2 * hour, True])
    assert told["disks"] == pytest.approx([0.24 * hour, 120.0, 26 / 60, 2 * hour, False])
    assert rows["disks"]["disk_cost_usd"] == pytest.approx(0.12 * hour)


def test_each_row_is_what_its_own_command_gives(unspool, files):
    rows = rows_of(compared(unspool, "--json", "--seed", "3"))
    for name in ("on-premises", "both", "cloud"):
        words = shlex.split(rows[name]["command"])
        assert words[:2] == ["unspool", "cost"]
        alone = json.loads(unspool(*words[1:], "--json").out)
        same = [key for key in rows[name] if key in alone]
        assert len(same) > 10
        assert {key: alone[key] for key in same} == {key: rows[name][key] for key in same}
        assert alone["seed"] == 3


def test_the_table_has_an_answer_and_the_commands(unspool, files):
    said = compared(unspool)
    assert (
        "Of 3 set-ups cloud costs least, $0.032 at a mean wait of 2 min; for $0.484 more both waits 1 min" in said.out
    )
    assert [line.split() for line in said.out.splitlines() if line.startswith("* cloud")] == [
        ["*", "cloud", "$0.032", "2:00", "2:00", "0.433", "h", "0.533", "0"]
    ]
    assert ["both", "$0.016", "$0.5"] in [line.split() for line in said.out.splitlines()]
    assert said.out.rstrip().endswith("unspool cost jobs.csv -c cloud.yml --catalogue=types.csv")


def test_a_folder_has_the_table_a_page_and_the_results_of_each(unspool, files, tmp_path):
    compared(unspool, "-o", "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "both", "cloud", "comparison.csv", "comparison.json", "on-premises", "report.html"
    ]  # fmt: skip
    table = pl.read_csv(tmp_path / "out" / "comparison.csv")
    summary = json.loads((tmp_path / "out" / "cloud" / "summary.json").read_text())
    row = table.filter(pl.col("set_up") == "cloud").row(0, named=True)
    assert row["total_cost_usd"] == summary["total_cost_usd"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<title>Of 3 set-ups cloud costs least" in page
    assert unspool("cost", "compare", "jobs.csv", "-c", "cloud.yml", "--catalogue", "types.csv", "-o", "out").code == 2
    compared(unspool, "-o", "out", "--force", "--no-report")
    assert not (tmp_path / "out" / "report.html").exists()


def test_files_of_one_name_are_told_apart(unspool, files, write, tmp_path):
    (tmp_path / "more").mkdir()
    write("more/cloud.yml", CLOUD + ", ShareInstances: true}\n")
    rows = rows_of(compared(unspool, "-c", "more/cloud.yml", "--json"))
    assert list(rows)[-2:] == ["cloud", "cloud-2"]


def test_a_configuration_that_never_bursts_is_the_row_of_our_machines(unspool, files, write):
    write("never.yml", CLOUD + OURS.replace("cheapest", "never") + "}\n")
    rows = rows_of(compared(unspool, "-c", "never.yml", "--json"))
    assert list(rows) == ["as logged", "both", "cloud", "never"]


def test_jobs_that_do_not_run_are_counted_and_such_a_set_up_is_never_the_best(unspool, files, write):
    write("jobs.csv", JOBS + "c,0,600,4,60\n")
    said = compared(unspool, "--json")
    rows = rows_of(said)
    assert (rows["on-premises"]["jobs_not_run"], rows["on-premises"]["is_best"]) == (1, False)
    assert rows["cloud"]["jobs_not_run"] == 0
    assert "on-premises: 1 job not run, such as: " in said.err


def test_a_log_without_waits_has_an_empty_row(unspool, files, write):
    write("jobs.csv", "job_id,submit_time,run_time,cores\na,0,600,1\n")
    logged = rows_of(compared(unspool, "--json"))["as logged"]
    assert (logged["mean_wait_s"], logged["p95_wait_s"], logged["jobs"]) == (None, None, 1)
    assert "as logged" in compared(unspool).out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("-c", "cloud.yml", "--on-premises", "cloud.yml"), "it has no machines on premises; give OnPremises in it"),
        (("-c", "cloud.yml", "-c", "queues.yml"), "cloud.yml and queues.yml choose other jobs (key Jobs)"),
        (("-c", "none.yml"), "none.yml: there is no such file"),
        ((), "--config"),
    ],
)
def test_what_cannot_be_compared_is_refused(unspool, files, write, arguments, told):
    write("queues.yml", CLOUD + "}\nJobs: {QueueRegExps: [short]}\n")
    said = unspool("cost", "compare", "jobs.csv", *arguments, "--catalogue", "types.csv")
    assert said.code == 2
    assert told in said.err


def test_on_premises_alone_is_an_option_of_a_single_bill_too(unspool, files):
    said = unspool("cost", "jobs.csv", "-c", "both.yml", "--catalogue", "types.csv", "--on-premises", "--json")
    assert json.loads(said.out)["instances"] == 0
    refused = unspool("cost", "jobs.csv", "-c", "cloud.yml", "--catalogue", "types.csv", "--on-premises")
    assert refused.code == 2
    assert "there is no machine to run jobs on" in refused.err


def test_beating_is_to_be_no_worse_in_both_and_better_in_one():
    assert _beats((1.0, 2.0), (1.0, 3.0))
    assert not _beats((1.0, 2.0), (1.0, 2.0))
    assert not _beats((1.0, 3.0), (2.0, 2.0))


def test_without_a_best_set_up_the_answer_says_so():
    assert (
        set_ups_headline(pl.DataFrame({"is_best": [False], "total_cost_usd": [1.0], "mean_wait_s": [None]}))
        == "No set-up ran a job"
    )
