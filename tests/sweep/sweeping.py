"""A sweep in a process of its own, to be killed: `python -m tests.sweep.sweeping LOG FOLDER RUNS [PROCESSES]`."""

import sys

from tests.sweep.tiny import thread_place

from unspool.sweep import grid_of, local_place, run_sweep
from unspool.sweep.store import Store


def grid(log, runs):
    return grid_of({
        "replicas": runs // 2, "run": {"workload": log, "platform": 16, "thin": 0.8},
        "grid": {"policy": ["fcfs", "easy"]},
    })  # fmt: skip


def main():
    log, folder, runs, *processes = sys.argv[1:]
    place = local_place(int(processes[0])) if processes else thread_place()
    run_sweep(grid(log, int(runs)), folder, place, resume=Store(folder).is_there)


if __name__ == "__main__":
    main()
