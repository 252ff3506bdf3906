"""What a user waits for before anything is simulated: help, a warm run, the first compile; and memory a job."""

import os
import subprocess
import sys
import tempfile
import time

_PEAK = """
import sys
from unspool.workloads.generators import lublin
from unspool.results.run import run
def memory(name):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))
jobs, platform = int(sys.argv[1]), sys.argv[2]
run(lublin(100, 480, 0.9, 1, max_cores=128), platform, "easy")
workload = lublin(jobs, 480, 0.9, 1, max_cores=128)
open("/proc/self/clear_refs", "w").write("5")  # forget the peak so far
before = memory("VmRSS")
result = run(workload, platform, "easy")
assert len(result.jobs) == jobs
print((memory("VmHWM") - before) / jobs)
"""


def seconds(arguments, repeats=5, **environment):
    """Wall seconds of `unspool ARGUMENTS` in a process of its own, the best of some repeats."""
    command = [sys.executable, "-c", "from unspool.cli import main; main()", *arguments]
    best = float("inf")
    for _ in range(repeats):
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, **environment})
        best = min(best, time.perf_counter() - began)
    return best


def first_compile_s(platform, policy):
    """Wall seconds of a run of the sample with an empty cache."""
    with tempfile.TemporaryDirectory() as empty:
        return seconds(["run", "-p", platform, "--policy", policy], 1, NUMBA_CACHE_DIR=empty)


def bytes_per_job(jobs, platform):
    """How far the peak of resident memory rises over that of the loaded workload, for each job."""
    done = subprocess.run(
        [sys.executable, "-c", _PEAK, str(jobs), platform], check=True, capture_output=True, text=True
    )
    return float(done.stdout)
