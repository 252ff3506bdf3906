"""A sweep in a process of its own that is killed, or kills itself in the midst of its writing.

`python -m tests.sweeps.sweeping LOG FOLDER RUNS PROCESSES [LAST]`: without processes, in a thread. It writes every row
by itself and, with LAST, dies at so many-th file that is opened, renamed or removed in its folder.
"""

import os
import signal
import sys
from itertools import count

from tests.sweeps.tiny import thread_place

from unspool.sweeps import grid_of, local_place, run_sweep
from unspool.sweeps.store import Store


def grid(log, runs):
    return grid_of({
        "replicas": runs // 2, "run": {"workload": log, "platform": 16, "thin": 0.8},
        "grid": {"policy": ["fcfs", "easy"]},
    })  # fmt: skip


def dying(folder, last):
    """A hook for what Python does with files: kill -9 at the `last` time that one of the folder is changed."""
    seen = count(1)

    def hook(event, arguments):
        if event in {"open", "os.rename", "os.remove"} and str(arguments[0]).startswith(folder) and next(seen) == last:
            os.kill(os.getpid(), signal.SIGKILL)

    return hook


def flushing(add):
    def each(store, rows):
        for row in rows:
            add(store, [row])
            store.flush()

    return each


def main():
    log, folder, runs, processes, *last = sys.argv[1:]
    place = local_place(int(processes)) if int(processes) else thread_place()
    if last:
        Store.add = flushing(Store.add)
        sys.addaudithook(dying(folder, int(last[0])))
    run_sweep(grid(log, int(runs)), folder, place, resume=Store(folder).is_there)


if __name__ == "__main__":
    main()
