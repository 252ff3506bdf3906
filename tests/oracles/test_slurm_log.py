"""Records of sacct beside what the AWS HPC cost simulator made of them, without the faults that it is known for."""

import csv
import os
from datetime import datetime
from pathlib import Path

import pytest

from unspool.units import parse_duration
from unspool.workloads import read_workload

CASES = Path(os.environ.get("UNSPOOL_CASES", Path(__file__).parents[3] / "shared" / "cases"))
GIB = 1 << 30
# Its faults: a step of an array task is a job of its own, memory is not multiplied by cores (100) and machines (101),
# and of a job with several steps the first memory used counts, not the largest (100: of two steps 914944K).
NO_JOBS = {"846_0.0"}
MEMORY_GIB = {"100": 8.0, "101": 8.0}
USED_BYTES = {"100": 914944 * 1024, "846_0": 214944 * 1024}


@pytest.fixture(scope="module")
def folder():
    found = CASES / "cloud" / "slurm"
    if not found.exists():
        pytest.skip("the records of sacct are not here: no cloud/slurm under UNSPOOL_CASES")
    return found


def expected_of(row):
    eligible, start = (datetime.fromisoformat(row[name] + "Z") for name in ("eligible_time", "start_time"))
    memory = MEMORY_GIB.get(row["job_id"], float(row["max_mem_gb"]) if row["max_mem_gb"] else None)
    return {
        "eligible": eligible.timestamp(),
        "ineligible_time": parse_duration(row["ineligible_pend_time"]),
        "run_time": parse_duration(row["run_time"]),
        "logged_wait": (start - eligible).total_seconds(),
        "cores": int(row["num_cores"]),
        "machines": int(row["num_hosts"]),
        "memory_bytes": None if memory is None else memory * GIB,
        "queue": row["queue"],
        "used": USED_BYTES.get(row["job_id"]),
    }


def test_jobs_are_those_of_the_known_tool_but_for_its_faults(folder):
    with (folder / "jobs_as_parsed_by_original.csv").open(newline="") as file:
        expected = {row["job_id"]: expected_of(row) for row in csv.DictReader(file) if row["job_id"] not in NO_JOBS}
    log = read_workload(folder / "sacct.txt")
    same = ("ineligible_time", "run_time", "logged_wait", "cores", "machines", "memory_bytes", "queue")
    found = {}
    for job in log.table.rows(named=True):
        used = job["used_memory_bytes"]
        found[job["job_id"]] = {
            **{name: job[name] for name in same},
            "eligible": log.origin_unix_s + job["submit_time"],
            "used": None if used is None else used * job["cores"],
        }
    assert found == expected
    assert log.rejected["job_id"].to_list() == ["905", "906"]
    assert "1 CANCELLED before they started, 1 RUNNING" in log.notes[1]
