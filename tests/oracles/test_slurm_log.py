"""Records of sacct beside what the AWS HPC cost simulator made of them, without the faults that it is known for."""

import os
from pathlib import Path

import pytest

from unspool.conform.cloud import checks
from unspool.workloads import read_workload

CASES = Path(os.environ.get("UNSPOOL_CASES", Path(__file__).parents[3] / "shared" / "cases"))


@pytest.fixture(scope="module")
def folder():
    found = CASES / "cloud" / "slurm"
    if not found.exists():
        pytest.skip("the records of sacct are not here: no cloud/slurm under UNSPOOL_CASES")
    return found


def test_jobs_are_those_of_the_known_tool_but_for_its_faults(folder):
    (jobs,) = checks(folder)
    assert jobs.run().differences == ()
    log = read_workload(folder / "sacct.txt")
    assert log.rejected["job_id"].to_list() == ["905", "906"]
    assert "1 CANCELLED before they started, 1 RUNNING" in log.notes[1]
