"""Schedulers at 100,000 jobs on a pool of 480 cores, beside the twin in plain Python: `python -m benchmarks.policies`.

The twin ranks the whole queue at every decision, so it is given the first jobs of the log only, and its rate is that of
a shorter queue: the table says how many. Orders that change with time also run at a load of 1.05, where the queue grows
to the end of the log.
"""

import gc
import sys
import time

import numpy as np
import polars as pl
from benchmarks import engine
from tests.oracles import orders, twin

from unspool.platforms import read_platform
from unspool.plugins import BUILT_IN

CORES = 480
JOBS, TWIN_JOBS = 100_000, 3_000
USERS = 100
WAYS = ("fcfs", "easy", "conservative", "filler")
# The others start machines in a cloud, or need a model that was trained.
ALONE = [name for name in BUILT_IN["schedulers"] if name in (*WAYS, *BUILT_IN["orders"])]
COMBINED = (
    "easy:order=sjf",
    "easy:order=wfp3",
    "easy:order=multifactor",
    "easy:predictor=last-two",
    "easy:order=sjf,predictor=last-two",
    "conservative:order=sjf",
    "conservative:order=wfp3",
)
# Not wfp3, unicef and multifactor alone: without backfilling most of the log waits in the end, and a run takes minutes.
OVERLOADED = (
    "fcfs", "easy", "easy:order=sjf", "easy:order=wfp3", "easy:order=unicef", "easy:order=multifactor",
    "easy:order=sjf,predictor=last-two",
)  # fmt: skip


def log(jobs, load):
    """A Lublin-Feitelson log with users, a few of whom submit most, and with priorities."""
    workload = engine.log(jobs, CORES, load)
    draw = np.random.default_rng(1)
    users = [f"user{int(number)}" for number in np.minimum(draw.zipf(1.5, jobs), USERS)]
    columns = pl.Series("user", users), pl.Series("priority", draw.integers(0, 10, jobs), pl.Float64)
    return type(workload)(workload.table.with_columns(*columns))


def twin_of(policy, workload):
    """How the twin is called for a policy: the way to overtake, the order, the predictor."""
    name, _, text = policy.partition(":")
    parameters = dict(part.split("=") for part in filter(None, text.split(",")))
    way = name if name in WAYS else "fcfs"
    order = parameters.get("order") or (name if way != name else None)
    table = workload.table
    users = table["user"].to_list()
    made = order and orders.make(
        order, first_submit=table["submit_time"][0], cores=CORES, users=users, priority=table["priority"].to_list()
    )
    return way, made, orders.LastTwo(users) if "predictor" in parameters else None


def twin_rate(policy, workload):
    """Jobs per CPU second of the twin."""
    jobs = list(workload.table.select("submit_time", "run_time", "cores", "walltime").iter_rows())
    way, order, predictor = twin_of(policy, workload)
    gc.collect()  # or what was left before is collected within the time
    began = time.process_time()
    done = twin.simulate(jobs, CORES, way, order=order, predictor=predictor)
    rate = len(done) / (time.process_time() - began)
    assert len(done) == len(workload)
    assert all(start is not None for start, _ in done)
    return rate, sum(start - job[0] for (start, _), job in zip(done, jobs, strict=True)) / len(jobs)


def row(policy, load, jobs, twin_jobs):
    """Load, policy, our rate, the twin's on the first jobs, and how many times as fast we are on those."""
    workload = log(jobs, load)
    pool = read_platform(str(CORES))
    is_slow = "conservative" in policy or any(order in policy for order in orders.CHANGING)
    rate, wait = engine.measure(workload, pool, policy, 1 if is_slow else 3)
    short = workload[:twin_jobs]
    theirs, their_wait = twin_rate(policy, short)
    ours, our_wait = engine.measure(short, pool, policy)
    assert abs(our_wait - their_wait) <= 1e-9 * max(their_wait, 1.0), f"{policy}: the twin must agree"
    hours = f"{wait / 3600:,.1f}"
    return f"`{policy}`", f"{load}", f"{rate:,.0f}", hours, f"{theirs:,.0f}", f"{ours / theirs:,.0f}×"


def rows(jobs=JOBS, twin_jobs=TWIN_JOBS):
    """The rows of the table, made one by one."""
    for load, policies in ((0.9, (*ALONE, *COMBINED)), (1.05, OVERLOADED)):
        for policy in policies:
            yield row(policy, load, jobs, twin_jobs)


HEADER = ("policy", "load", f"jobs/s at {JOBS:,}", "mean wait, h", f"twin, jobs/s at {TWIN_JOBS:,}", "faster by")


def main():
    print("| " + " | ".join(HEADER) + " |\n|" + " --- |" * len(HEADER))
    jobs, twin_jobs = (10_000, 1_000) if "--quick" in sys.argv else (JOBS, TWIN_JOBS)
    for cells in rows(jobs, twin_jobs):
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
