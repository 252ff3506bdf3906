"""Sweeps: runs a second against workers, what a run costs beside its own work, and whether memory grows.

`python -m benchmarks.sweep` makes 1,000 small runs with 1, 2, ... workers; measure when the machine is quiet. A worker
that has begun is what counts: each place is opened and makes a first run before the clock starts.
"""

import argparse
import os
import resource
import statistics
import tempfile
from pathlib import Path
from time import perf_counter

from unspool.sweep import grid_of, local_place, run_sweep
from unspool.sweep.inputs import Inputs
from unspool.sweep.work import ELAPSED, run_task
from unspool.workloads import write_workload
from unspool.workloads.generators import lublin


def grid(log, runs):
    run = {"workload": str(log), "platform": 64, "thin": 0.9}
    return grid_of({"replicas": runs // 2, "run": run, "grid": {"policy": ["fcfs", "easy"]}})


def swept(log, runs, workers, folder):
    """Wall time from the first result to the last, the whole time, work of the runs, and the largest worker in MB."""
    began, first = perf_counter(), []

    def told(count, rows):
        if rows and not first:
            first.append((perf_counter(), count.done))

    made = run_sweep(grid(log, runs), folder, local_place(workers), told=told)
    ended = perf_counter()
    assert len(made) == runs, "every run is there"
    assert made["error"].is_null().all()
    size = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {
        "steady_s": ended - first[0][0], "wall_s": ended - began, "work_s": made[ELAPSED].sum(),
        "runs": runs - first[0][1], "worker_mb": size,
    }  # fmt: skip


def bare(log, runs, folder):
    """The same runs in a row in this process, without a sweep."""
    wanted, inputs = grid(log, runs), Inputs(Path(folder))
    tasks = [inputs.task(flat) for flat in wanted.settings()]
    run_task(tasks[0])
    began = perf_counter()
    for task in tasks:
        assert run_task(task)["error"] is None
    return perf_counter() - began


def planned(log, runs, folder):
    """Seconds to make the keys of so many runs."""
    wanted, inputs = grid(log, runs), Inputs(Path(folder))
    began = perf_counter()
    assert len({inputs.task(flat).key for flat in wanted.settings()}) == runs
    return perf_counter() - began


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", action="store_true", help="also 4 times as many runs, to see whether memory grows")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log.swf")
        write_workload(lublin(given.jobs, 64, 0.9, seed=1, max_cores=32), log)
        alone_s = bare(log, given.runs, folder)
        each_ms = 1e3 * alone_s / given.runs
        print(f"{os.cpu_count()} cores; {given.runs} runs of {given.jobs} jobs: {each_ms:.2f} ms each alone")
        print(f"keys of 20,000 runs: {planned(log, 20_000, folder):.1f} s")
        wall = {}
        for workers in given.workers:
            found = [swept(log, given.runs, workers, Path(folder, f"{workers}-{at}")) for at in range(given.repeats)]
            steady_s = statistics.median(each["steady_s"] for each in found)
            wall[workers] = statistics.median(each["wall_s"] for each in found)
            work_s = statistics.median(each["work_s"] for each in found)
            beside = 1e3 * (steady_s * workers - work_s) / given.runs
            print(f"-j {workers}: {given.runs / steady_s:.1f} runs/s, {wall[workers]:.1f} s in all, {steady_s:.1f} "
                  f"s after the first result; beside its work a run costs {beside:.2f} ms; "
                  f"largest worker {found[0]['worker_mb']:.0f} MB")  # fmt: skip
        if {1, 2} <= wall.keys():
            print(f"-j 2 takes {wall[2] / wall[1]:.2f} of -j 1")
        if given.memory:
            more = swept(log, 4 * given.runs, given.workers[-1], Path(folder, "more"))
            print(f"{4 * given.runs} runs: largest worker {more['worker_mb']:.0f} MB")


if __name__ == "__main__":
    main()
