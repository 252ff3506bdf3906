"""Small random workloads to try a policy on, and other futures of them."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from unspool.model.workload import Workload
from unspool.results.result import Result

__all__ = ["changed_after", "random_workload"]

_MOST_JOBS = 24


def random_workload(draw: np.random.Generator, cores: int, name: str) -> Workload:
    """A few jobs with many ties, more than the cores can do at once.

    Estimates are upper bounds, many are exact, and some jobs run for no time.
    """
    count = int(draw.integers(3, _MOST_JOBS + 1))
    walltime = draw.integers(1, 20, count) * draw.choice((1, 10), count)
    run_time = np.where(draw.random(count) < 0.3, walltime, np.floor(walltime * draw.random(count)))
    table = pl.DataFrame(
        {
            "job_id": [str(at) for at in range(count)],
            "submit_time": np.sort(10.0 * draw.integers(0, 12, count)),
            "run_time": run_time.astype(np.float64),
            "cores": draw.integers(1, cores + 1, count),
            "walltime": walltime.astype(np.float64),
            "user": draw.choice(("ann", "ben", "cas"), count),
        }
    )
    return Workload.of(table, name=name)


def changed_after(
    workload: Workload, result: Result, time: float, draw: np.random.Generator, *, run_times: bool
) -> Workload:
    """The same workload up to a time: what has ended by then, and what has been submitted, is as it was.

    With `run_times` what has not ended gets another run time, in which it does not end by then either.
    """
    ran = result.jobs.select("job_id", "start_time", "finish_time")
    table = workload.table.join(ran, on="job_id", how="left", maintain_order="left")
    submit = table["submit_time"].to_numpy()
    finish = table["finish_time"].fill_null(math.inf).to_numpy()
    start = table["start_time"].fill_null(math.inf).to_numpy()
    least = np.where(start <= time, np.floor(time - np.minimum(start, time)) + 1.0, 0.0)
    # As long as they were asked for at the most, so that nothing outlives its estimate that did not before.
    walltime = table["walltime"].to_numpy()
    drawn = np.floor(least + (np.maximum(walltime, least) - least) * draw.random(len(table)))
    changes = (finish > time) & run_times | (submit > time)
    later = submit > time
    run_time = np.where(changes, np.maximum(drawn, least), table["run_time"].to_numpy())
    moved = np.where(later, submit + 10.0 * draw.integers(0, 4, len(table)), submit)
    cores = np.where(later, draw.permutation(table["cores"].to_numpy()), table["cores"].to_numpy())
    jobs = workload.table.with_columns(
        submit_time=pl.Series(np.maximum.accumulate(moved)), run_time=pl.Series(run_time), cores=pl.Series(cores)
    )
    return Workload.of(jobs, name=workload.name)
