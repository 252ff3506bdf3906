"""The engine against waits that all tools agree on (FCFS), that follow from the rule (EASY) or that the twin found."""

import os
from functools import cache
from pathlib import Path

import pytest

from unspool.results.run import run
from unspool.workloads import read_workload

CASES = Path(os.environ.get("UNSPOOL_CASES", Path(__file__).parents[3] / "shared" / "cases"))
CORES = {"theta-2022": 4360, "seth-like-50k": 480}

# (log, policy): mean and largest wait in seconds.
REFERENCE = {
    ("theta-2022", "fcfs"): (162_612.20375559365, 817_634),
    ("theta-2022", "easy"): (44_663.77725732926, 657_662),
    ("theta-2022", "conservative"): (43_863.11082765255, 822_939),
    ("seth-like-50k", "fcfs"): (25_839.2231, 144_495),
    ("seth-like-50k", "easy"): (3_504.89818, 145_970),
    ("seth-like-50k", "conservative"): (3_289.8819, 159_976),
}


@cache
def reference_log(name):
    path = CASES / "swf" / f"{name}.swf.gz"
    if not path.exists():
        pytest.skip(f"the reference logs are not here: no {path.name} under UNSPOOL_CASES")
    return read_workload(path)


@pytest.mark.parametrize(("name", "policy"), REFERENCE)
@pytest.mark.parametrize("machines", ["", "x1"], ids=["pool", "machines"])
def test_engine_meets_the_reference_waits(name, policy, machines):
    result = run(reference_log(name), f"{CORES[name]}{machines}", policy)
    waits = result.jobs["start_time"] - result.jobs["submit_time"]
    mean_wait, max_wait = REFERENCE[name, policy]
    assert waits.mean() == pytest.approx(mean_wait, rel=1e-9)
    assert waits.max() == max_wait
    assert len(result.rejected) == 0
