"""What it gains to place jobs by the network: the same jobs on two platforms, with machines chosen in four ways.

python examples/placement/measure.py            ten draws, a minute and a half
python examples/placement/measure.py --quick    two, whose intervals say little
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from unspool import Workload, read_platform, run
from unspool.model.profile import HomogeneousTask

HERE = Path(__file__).parent
JOBS, LOAD, MACHINES = 200, 0.8, 128
T_975 = {10: 2.262, 2: 12.706}  # Student's t for intervals of 95 %, by the number of draws
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


def times(workload: Workload, platform, selection: str):
    """Run times, waits and the makespan."""
    result = run(workload, replace(platform, selection=selection), "easy", kill_at_walltime=False)
    table = result.jobs.sort("job_id")
    return table["run_time"].to_numpy(), table["wait_time"].to_numpy(), result.summary["makespan_s"]


def with_interval(values, digits: int) -> str:
    """The mean of draws, and how far its interval of 95 % reaches to either side."""
    half = T_975[len(values)] * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):,.{digits}f} ± {half:,.{digits}f}"


COLUMNS = (("run time, s", 1), ("wait, s", 1), ("slow-down", 2), ("worst", 1), ("makespan, s", 0))


def main() -> None:
    draws = min(T_975) if "--quick" in sys.argv else max(T_975)
    print(f"{'platform':10}{'selection':12}" + "".join(f"{name:>18}" for name, _ in COLUMNS))
    for name in ("fat-tree", "locality"):
        platform = read_platform(HERE / f"{name}.yaml")
        rows = {selection: [] for selection in ("first", "contiguous", "nearby", "local")}
        for seed in range(draws):
            workload = jobs(seed)
            alone, _, _ = times(one_by_one(workload), platform, "nearby")
            for selection, row in rows.items():
                ran, waited, makespan = times(workload, platform, selection)
                row.append((ran.mean(), waited.mean(), (ran / alone).mean(), (ran / alone).max(), makespan))
        for selection, row in rows.items():
            columns = zip(np.transpose(row), COLUMNS, strict=True)
            cells = [with_interval(values, digits) for values, (_, digits) in columns]
            print(f"{name:10}{selection:12}" + "".join(f"{cell:>18}" for cell in cells))


if __name__ == "__main__":
    main()
