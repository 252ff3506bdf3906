"""Logs of schedulers through the verbs: found by content, with options of their format."""

import json

from tests.workloads.test_accelerator import line
from tests.workloads.test_json import JOB, MAP
from tests.workloads.test_lsf import record


def test_a_folder_of_lsf_logs_is_a_log_to_every_verb(unspool, write, tmp_path):
    (tmp_path / "logdir").mkdir()
    write("logdir/lsb.acct", record(7))
    write("logdir/lsb.acct.1", record(8))
    facts = json.loads(unspool("inspect", tmp_path / "logdir", "--format", "lsf:unit=MB", "--json").out)
    assert (facts["jobs"], facts["largest_job_cores"], facts["users"]) == (2, 4, 1)
    assert json.loads(unspool("inspect", tmp_path / "logdir", "--json").out)["jobs"] == 2
    assert unspool("validate", tmp_path / "logdir").code == 0
    assert unspool("convert", tmp_path / "logdir", tmp_path / "log.parquet").code == 0


def test_an_array_is_a_log_and_its_map_is_found_again_from_the_result(unspool, write, tmp_path):
    log, fields = write("jobs.json", json.dumps([JOB])), write("map.json", json.dumps(MAP))
    assert unspool("inspect", log, "--format", f"json:map={fields}").code == 0
    assert unspool("inspect", log).err == unspool("convert", log, tmp_path / "log.swf").err
    out = tmp_path / "out"
    assert unspool("run", log, "-p", "8", "--format", f"json:map={fields}", "-o", out).code == 0
    assert unspool("why", out, "7").code == 0


def test_a_jobs_csv_is_written_where_it_is_asked_for(unspool, write, tmp_path):
    log = write("jobs.txt", line())
    assert unspool("convert", log, tmp_path / "jobs.csv", "--to", "jobs-csv").code == 0
    assert (tmp_path / "jobs.csv").read_text().startswith("job_id,num_cores,max_mem_gb,num_hosts,submit_time,")
    assert json.loads(unspool("inspect", tmp_path / "jobs.csv", "--json").out)["core_hours"] == 4 * 300 / 3600
    assert unspool("convert", log, tmp_path / "jobs.json").err.endswith(
        "json is only read, not written; choose one of swf, jobs-csv, batsim, parquet, tsv, csv\n"
    )
