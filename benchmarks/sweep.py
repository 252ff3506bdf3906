"""Sweeps: runs a second against workers, what a run costs beside its own work, and whether memory grows.

`python -m benchmarks.sweep` makes 1,000 small runs with 1, 2, ... workers; measure when the machine is quiet. Processor
time (of this process, and of the workers for each run beside the work of all runs) can be read on a busy one, too.
`--memory` makes as many runs once more and tells what processes hold as they go on, instead.
"""

import argparse
import multiprocessing
import os
import resource
import statistics
import tempfile
from pathlib import Path
from time import perf_counter, process_time

import psutil

os.environ.setdefault("POLARS_MAX_THREADS", "1")  # as workers have it, so that runs alone are the same work

from unspool.sweeps import grid_of, local_place, run_sweep
from unspool.sweeps.inputs import Inputs
from unspool.sweeps.work import ELAPSED, run_task
from unspool.workloads import write_workload
from unspool.workloads.generators import lublin

_PARTS = 10  # of a sweep whose memory is told


def grid(log, runs):
    run = {"workload": str(log), "platform": 64, "thin": 0.9}
    return grid_of({"replicas": runs // 2, "run": run, "grid": {"policy": ["fcfs", "easy"]}})


def swept(log, runs, workers, folder):
    """Wall time, whole and from the first result on; processor time of this process, and of all workers."""
    before = _of_children_s()
    began, began_cpu, first = perf_counter(), process_time(), []

    def told(count, rows):
        if rows and not first:
            first.append((perf_counter(), count.done))

    made = run_sweep(grid(log, runs), folder, local_place(workers), told=told)
    ended = perf_counter()
    assert len(made) == runs, "every run is there"
    assert made["error"].is_null().all()
    return {
        "steady_s": ended - first[0][0], "wall_s": ended - began, "work_s": made[ELAPSED].sum(),
        "first_s": first[0][0] - began, "parent_s": process_time() - began_cpu,
        "workers_s": _of_children_s() - before,
    }  # fmt: skip


def _of_children_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def bare(log, runs, folder):
    """Processor time of the same runs in a row in this process, without a sweep."""
    wanted, inputs = grid(log, runs), Inputs(Path(folder))
    tasks = [inputs.task(flat) for flat in wanted.settings()]
    run_task(tasks[0])
    began = process_time()
    for task in tasks:
        assert run_task(task)["error"] is None
    return process_time() - began


def planned(log, runs, folder):
    """Seconds to make the keys of so many runs."""
    wanted, inputs = grid(log, runs), Inputs(Path(folder))
    began = process_time()
    assert len({inputs.task(flat).key for flat in wanted.settings()}) == runs
    return process_time() - began


def times(log, given, folder):
    alone_s = bare(log, given.runs, folder)
    each_ms = 1e3 * alone_s / given.runs
    print(f"{os.cpu_count()} cores; {given.runs} runs of {given.jobs} jobs: {each_ms:.2f} ms each alone (processor)")
    print(f"keys of 20,000 runs: {planned(log, 20_000, folder):.1f} s")
    wall = {}
    for workers in given.workers:
        found = [swept(log, given.runs, workers, Path(folder, f"{workers}-{at}")) for at in range(given.repeats)]
        told = {name: statistics.median(each[name] for each in found) for name in found[0]}
        wall[workers] = told["wall_s"]
        beside_ms = 1e3 * (told["workers_s"] + told["parent_s"] - alone_s) / given.runs
        print(f"-j {workers}: {told['wall_s']:.1f} s in all ({given.runs / told['wall_s']:.1f} runs/s), first result "
              f"after {told['first_s']:.1f} s, then {(given.runs - 1) / told['steady_s']:.1f} runs/s")  # fmt: skip
        print(f"      processor: this process {told['parent_s']:.2f} s, workers {told['workers_s']:.2f} s; with their "
              f"start a run costs {beside_ms:.2f} ms beside its work")  # fmt: skip
    if {1, 2} <= wall.keys():
        print(f"-j 2 takes {wall[2] / wall[1]:.2f} of -j 1")


def memory(log, given, folder):
    """What this process and each worker hold, in MB, as runs are made; past the first tenth nothing may grow."""
    sizes, step = {}, given.runs // _PARTS

    def told(count, rows):
        if rows and count.done // step > len(sizes):
            each = [psutil.Process(child.pid) for child in multiprocessing.active_children()]
            sizes[count.done] = [process.memory_info().rss / 2**20 for process in (psutil.Process(), *each)]

    run_sweep(grid(log, given.runs), Path(folder, "memory"), local_place(given.workers[-1]), told=told)
    for done, (mine, *others) in sizes.items():
        print(f"{done:7,} runs: this process {mine:.0f} MB, workers {', '.join(f'{size:.0f}' for size in others)} MB")
    assert len(sizes) >= _PARTS // 2, "it was looked at now and then"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", action="store_true", help="tell what processes hold, and no times")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log.swf")
        write_workload(lublin(given.jobs, 64, 0.9, seed=1, max_cores=32), log)
        (memory if given.memory else times)(log, given, folder)


if __name__ == "__main__":
    main()
