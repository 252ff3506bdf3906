"""Small sweeps that tests share, and places to run them that need no processes."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import polars as pl

from unspool.sweeps.places import Place
from unspool.sweeps.store import PASSING
from unspool.workloads import write_workload
from unspool.workloads.generators import lublin

LOG = "submit_time,run_time,cores,walltime\n0,100,2,100\n1,50,3,60\n2,10,1,10\n3,20,2,30\n4,30,4,40\n5,5,1,5\n"


def thread_place(workers=1, seen=None):
    """Threads of this process; `seen` is told of every executor that is opened."""

    @contextmanager
    def opened(inputs):
        with ThreadPoolExecutor(workers) as executor:
            if seen is not None:
                seen.append(executor)
            yield executor, lambda: workers

    return Place("threads", opened)


def write_log(folder, text=LOG):
    path = folder / "log.csv"
    path.write_text(text)
    return str(path)


def write_longer_log(folder, jobs=200):
    path = folder / "log.swf"
    write_workload(lublin(jobs, 16, 0.9, seed=2, max_cores=8), path)
    return str(path)


def lasting(runs):
    """What must be the same wherever and however often runs are made."""
    return runs.drop(PASSING).sort("key").select(sorted(set(runs.columns) - set(PASSING)))


def same(one, other):
    return lasting(one).equals(lasting(other))


def rows_of(runs, *names):
    return runs.select(*names).rows()


def frame(**columns):
    count = len(next(iter(columns.values())))
    return pl.DataFrame({**columns, "error": [None] * count}, schema_overrides={"error": pl.String})
