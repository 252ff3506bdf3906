"""Poisson arrivals and exponential run times, for queueing theory."""

from __future__ import annotations

import numpy as np
import polars as pl

from unspool.model.workload import MOST_CORES, MOST_SECONDS, Workload
from unspool.workloads.generators.streams import ARRIVALS, RUN_TIMES, names, refuse_unless, stream

__all__ = ["poisson"]

_MOST_RATE = 1e9  # a job each nanosecond: more than that at once is no queue


def poisson(jobs: int, rate_per_s: float, mean_run_time_s: float, cores: int = 1, seed: int = 0) -> Workload:
    """Jobs of one size with exponential gaps and run times: M/M/c on a pool of `c * cores` cores.

    Times are not rounded to seconds, so that closed formulas hold. Jobs have no walltime.

    >>> poisson(3, rate_per_s=0.1, mean_run_time_s=5.0).table.shape
    (3, 5)
    """
    refuse_unless(jobs >= 1, "jobs", jobs, "at least 1")
    refuse_unless(0 < rate_per_s <= _MOST_RATE, "rate_per_s", rate_per_s, f"more than 0, up to {_MOST_RATE:g}")
    refuse_unless(mean_run_time_s > 0, "mean_run_time_s", mean_run_time_s, "more than 0")
    refuse_unless(1 <= cores <= MOST_CORES, "cores", cores, f"1 to {MOST_CORES}")
    submit_time = np.cumsum(stream(seed, ARRIVALS).exponential(1.0 / rate_per_s, jobs))
    run_time = stream(seed, RUN_TIMES).exponential(mean_run_time_s, jobs)
    often = f"so many that {jobs} arrive within {MOST_SECONDS:g} s"
    refuse_unless(submit_time[-1] <= MOST_SECONDS, "rate_per_s", rate_per_s, often)
    short = f"so few seconds that no run is longer than {MOST_SECONDS:g}"
    refuse_unless(run_time.max() <= MOST_SECONDS, "mean_run_time_s", mean_run_time_s, short)
    table = pl.DataFrame(
        {
            "job_id": names(np.arange(1, jobs + 1)),
            "submit_time": submit_time,
            "run_time": run_time,
            "cores": np.full(jobs, cores, dtype=np.int64),
        }
    )
    return Workload.of(table, name=f"poisson-{jobs}-seed-{seed}")
