"""Poisson arrivals and exponential run times, for queueing theory."""

from __future__ import annotations

import numpy as np
import polars as pl

from unspool.model.workload import Workload
from unspool.workloads.generators.streams import ARRIVALS, RUN_TIMES, names, refuse_unless, stream

__all__ = ["poisson"]


def poisson(jobs: int, rate_per_s: float, mean_run_time_s: float, cores: int = 1, seed: int = 0) -> Workload:
    """Jobs of one size with exponential gaps and run times: M/M/c on a pool of `c * cores` cores.

    Times are not rounded to seconds, so that closed formulas hold. Jobs have no walltime.

    >>> poisson(3, rate_per_s=0.1, mean_run_time_s=5.0).table.shape
    (3, 5)
    """
    refuse_unless(jobs >= 1, "jobs", jobs, "at least 1")
    refuse_unless(rate_per_s > 0, "rate_per_s", rate_per_s, "more than 0")
    refuse_unless(mean_run_time_s > 0, "mean_run_time_s", mean_run_time_s, "more than 0")
    refuse_unless(cores >= 1, "cores", cores, "at least 1")
    table = pl.DataFrame(
        {
            "job_id": names(np.arange(1, jobs + 1)),
            "submit_time": np.cumsum(stream(seed, ARRIVALS).exponential(1.0 / rate_per_s, jobs)),
            "run_time": stream(seed, RUN_TIMES).exponential(mean_run_time_s, jobs),
            "cores": np.full(jobs, cores, dtype=np.int64),
        }
    )
    return Workload.of(table, name=f"poisson-{jobs}-seed-{seed}")
