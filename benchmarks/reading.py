"""How long an SWF log takes to read and to write."""

import tempfile
import time
from pathlib import Path

from unspool.workloads import read_workload, write_workload
from unspool.workloads.generators import lublin


def measure(jobs):
    """(seconds to read, seconds to write) a log of so many jobs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.swf"
        workload = lublin(jobs, 480, 0.9, 1, max_cores=128)
        began = time.perf_counter()
        write_workload(workload, path)
        written = time.perf_counter() - began
        best = float("inf")
        for _ in range(3):
            began = time.perf_counter()
            assert len(read_workload(path)) == jobs
            best = min(best, time.perf_counter() - began)
    return best, written
