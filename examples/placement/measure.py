"""What it gains to place jobs by the network: the same jobs on two platforms, with machines chosen in four ways.

python examples/placement/measure.py
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from unspool import Workload, read_platform, run
from unspool.model.profile import HomogeneousTask

HERE = Path(__file__).parent
JOBS, LOAD, MACHINES = 200, 0.8, 128
SIZES = (2, 4, 6, 8, 12, 16, 20, 24)
BYTES_PER_SECOND = 125e6


def jobs(seed: int) -> Workload:
    """Jobs that compute as long as all their machines send to all others over links of their own, if they are alone."""
    draws = np.random.default_rng(seed)
    sizes = draws.choice(SIZES, JOBS)
    seconds = np.round(draws.lognormal(4.0, 1.0, JOBS), 1)
    gaps = draws.exponential(float((sizes * seconds).mean()) / (LOAD * MACHINES), JOBS)
    profiles = {
        f"p{at}": HomogeneousTask(1e9 * wanted, BYTES_PER_SECOND * wanted / (size - 1))
        for at, (size, wanted) in enumerate(zip(sizes.tolist(), seconds.tolist(), strict=True))
    }
    table = pl.DataFrame(
        {
            "job_id": [str(at) for at in range(JOBS)],
            "submit_time": np.cumsum(gaps),
            "run_time": 0.0,
            "cores": sizes,
            "machines": sizes,
            "walltime": 10.0 * seconds,  # the users' guess, by which jobs are backfilled
            "profile": list(profiles),
        }
    )
    return Workload.of(table, name=f"seed {seed}", profiles=profiles)


def one_by_one(workload: Workload) -> Workload:
    """The same jobs, each alone on the platform."""
    return replace(workload, table=workload.table.with_columns(submit_time=pl.int_range(pl.len()) * 1e6))


def run_times(workload: Workload, platform, selection: str):
    result = run(workload, replace(platform, selection=selection), "easy", kill_at_walltime=False)
    return result.jobs.sort("job_id")["run_time"].to_numpy(), result.summary["makespan_s"]


def main() -> None:
    print(f"{'platform':10}{'selection':12}{'mean run time':>15}{'slow-down':>11}{'worst':>8}{'makespan':>11}")
    for name in ("fat-tree", "locality"):
        platform = read_platform(HERE / f"{name}.yaml")
        rows = {selection: [] for selection in ("first", "contiguous", "nearby", "local")}
        for seed in range(2):
            workload = jobs(seed)
            alone, _ = run_times(one_by_one(workload), platform, "nearby")
            for selection, row in rows.items():
                times, makespan = run_times(workload, platform, selection)
                row.append((times.mean(), (times / alone).mean(), (times / alone).max(), makespan))
        for selection, row in rows.items():
            mean, slower, worst, makespan = np.mean(row, axis=0)
            print(f"{name:10}{selection:12}{mean:13.1f} s{slower:11.2f}{worst:8.1f}{makespan:9.0f} s")


if __name__ == "__main__":
    main()
