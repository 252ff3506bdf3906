import json

import pytest
from tests.faces.dispatch_build import JOBS

from unspool.cli.files import kind_of

LOG = """; UnixStartTime: 1000000000
; MaxProcs: 8
1 0 -1 100 4 -1 -1 4 90 -1 1 7 -1 -1 2 -1 -1 -1
2 50 -1 50 8 -1 -1 8 -1 -1 1 8 -1 -1 2 -1 -1 -1
3 60 -1 -1 8 -1 -1 8 -1 -1 1 8 -1 -1 2 -1 -1 -1
"""
CSV = "job_id,submit_time,run_time,cores\na,0,10,2\nb,1,5,4\n"


def test_a_log_is_told_by_its_facts(unspool, write):
    said = unspool("inspect", write("log.swf", LOG), "--json")
    assert said.code == 0
    assert json.loads(said.out) == {
        "jobs": 2, "rejected_records": 1, "first_submit_utc": "2001-09-09T01:46:40+00:00", "span_s": 50.0,
        "cores_of_the_machine": 8, "largest_job_cores": 8, "mean_cores": 6.0, "mean_run_time_s": 75.0,
        "max_run_time_s": 100.0, "core_hours": pytest.approx(800 / 3600), "offered_load": 2.0,
        "jobs_without_walltime": 1, "jobs_over_their_walltime": 1, "users": 2, "queues": 1, "partitions": None,
        "columns": ["job_id", "submit_time", "run_time", "cores", "walltime", "user", "queue", "logged_cores",
                    "requested_cores", "status", "line"],
        "notes": [], "rejected_reasons": {"the run time is unknown or not positive (field 4)": 1},
    }  # fmt: skip


def test_facts_are_told_with_units_in_a_table(unspool, write):
    said = unspool("inspect", write("log.swf", LOG))
    facts = dict(line.split(maxsplit=1) for line in said.out.splitlines()[2:] if not line.startswith(" "))
    assert (facts["mean_run_time_s"], facts["partitions"], facts["mean_cores"]) == ("1:15", "not known", "6")


def test_a_platform_is_told_by_its_machines(unspool, write):
    write("small.yaml", "machines: [{type: fat, count: 2, cores: 64, memory: 1TiB, gpus: 2}]\nlicences: {matlab: 3}\n")
    expected = {
        "cores": 128, "machines": 2, "types": {"fat": "2 x 64 cores, 1 TiB, 2 GPUs"}, "partitions": {},
        "licences": {"matlab": 3}, "selection": "first",
    }  # fmt: skip
    assert json.loads(unspool("inspect", "small.yaml", "--json").out) == expected
    assert json.loads(unspool("inspect", "480", "--json").out)["machines"] == "none: a pool of cores"


def test_a_result_is_told_by_its_summary(unspool, write, tmp_path):
    assert unspool("run", write("log.csv", CSV), "-p", 4, "-o", "out").code == 0
    said = unspool("inspect", "out", "--json")
    assert json.loads(said.out) == json.loads((tmp_path / "out" / "summary.json").read_text())
    assert "mean_wait_s              4.5 s" in unspool("inspect", "out").out


def test_a_comparison_is_told_as_it_was_when_it_ran(unspool, write):
    ran = unspool("run", write("log.csv", CSV), "-p", 4, "--policy", "fcfs", "--policy", "easy", "-o", "out")
    assert unspool("inspect", "out") == (0, ran.out, "")
    assert [one["policy"] for one in json.loads(unspool("inspect", "out", "--json").out)] == ["fcfs", "easy"]


def test_settings_of_a_run_are_told(unspool, write):
    write("run.toml", "policy = 'fcfs'\nplatform = '4x4'\n")
    assert json.loads(unspool("inspect", "run.toml", "--json").out) == {
        "platform": "4x4", "policy": "fcfs", "seed": 0, "kill_at_walltime": False, "on_loss": "requeue",
        "energy": False,
    }  # fmt: skip


def test_a_damaged_result_is_told_in_one_sentence(unspool, write, tmp_path):
    assert unspool("run", write("log.csv", CSV), "-p", 4, "-o", "out").code == 0
    (tmp_path / "out" / "jobs.parquet").write_text("no table")
    said = unspool("inspect", "out")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("unspool: out: the result is damaged: ")
    assert said.err.count("\n") == 1


def test_what_is_nothing_is_told_in_one_sentence(unspool, tmp_path):
    (tmp_path / "empty").mkdir()
    assert unspool("inspect", "empty") == (
        2, "", "unspool: empty: is not the folder of a result; expected summary.json in it\n"
    )  # fmt: skip
    assert unspool("inspect", "nofile") == (2, "", "unspool: nofile: there is no such file; check the path\n")
    assert unspool("inspect", "4x0") == (
        2, "", "unspool: platform '4x0': 4 machines of 0 cores; expected 1 or more of each\n"
    )  # fmt: skip


def test_a_json_file_is_a_platform_unless_it_holds_a_list(tmp_path):
    (tmp_path / "platform.json").write_text('{"machines": []}')
    (tmp_path / "jobs.json").write_text(' [{"id": 1}]')
    kinds = {name: kind_of(tmp_path / name) for name in ("platform.json", "jobs.json", "missing.json")}
    assert kinds == {"platform.json": "platform", "jobs.json": "log", "missing.json": "platform"}


def test_the_log_of_a_scheduler_is_told_from_its_content(unspool, write):
    dates = "|".join(f"2024-05-01T{time}:00" for time in ("08:00", "08:05", "09:05"))
    write("sacct.txt", f"JobID|Submit|Start|End|NCPUS|\n7|{dates}|4|\n")
    said = unspool("inspect", "sacct.txt", "--json")
    facts = json.loads(said.out)
    assert (said.code, facts["jobs"], facts["core_hours"]) == (0, 1, 4.0)
    assert facts["first_submit_utc"] == "2024-05-01T08:00:00+00:00"
    assert unspool("validate", "sacct.txt").out.startswith("sacct.txt: ok, 1 job, 0 records rejected\n")
    assert unspool("run", "sacct.txt", "-p", "2x4", "--json").code == 0


def test_folders_of_every_verb_are_inspected_and_validated(unspool, write):
    log = write("log.csv", "job_id,submit_time,run_time,cores\na,0,60,1\n")
    experiment = write("e.yaml", "workers: 1\ndispatcher: shortest-queue\nmetrics: [delay]\n")
    assert unspool("run", log, "-p", 2, "-o", "run").code == 0
    assert unspool("cost", log, "-o", "bill").code == 0
    assert unspool("dispatch", "-c", experiment, write("data.csv", JOBS), "-o", "dispatch").code == 0
    text = {kind: unspool("inspect", kind).out for kind in ("run", "bill", "dispatch")}
    assert "mean_wait_s" in text["run"]
    assert text["bill"].startswith("log.csv: 1 job, 0 rejected")
    assert text["dispatch"].startswith("Total jobs: 4, avg. delay: ")
    assert all(json.loads(unspool("inspect", kind, "--json").out)["jobs"] for kind in text)
    said = unspool("validate", *text)
    assert said.code == 0
    assert "run: ok, results under easy" in said.out
    assert "bill: ok, a bill of 1 job under cheapest-fit" in said.out
    assert "dispatch: ok, a dispatch of 4 jobs" in said.out
