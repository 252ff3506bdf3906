"""How often intervals of `unspool forecast` hold the true starts: `python -m benchmarks.calibration`, half an hour.

Each log is forecast at times spread evenly over its second half; the true start of a job that waits is the one of the
replay of the whole log, of which the forecast reads nothing after its time. Of each log: the share of jobs whose true
start lies within the 80 % interval, over all jobs that wait at any of the times, and as the mean over times; beside it
how often the true start came before the interval and after it, and the same of the 50 % interval.
"""

from importlib.resources import as_file, files

import numpy as np
import polars as pl

import unspool
from unspool.workloads import read_workload
from unspool.workloads.generators import lublin

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
REPLICAS = 100
CORES = 480
TIMES = 60


def logs():
    """(name, log, cores, policies): loads and seeds under EASY, then other policies, weekends and the sample."""
    for load in (0.85, 0.9, 0.8):
        for seed in (1, 2, 3):
            policies = ("easy", "conservative", "easy:order=sjf") if (load, seed) == (0.85, 1) else ("easy",)
            yield f"lublin, load {load}, seed {seed}", lublin(20_000, CORES, load, seed=seed), CORES, policies
    weekends = lublin(20_000, CORES, 0.85, seed=4, weekend_weight=0.5)
    yield "lublin with weekends, load 0.85, seed 4", weekends, CORES, ("easy",)
    with as_file(files("unspool") / "samples" / "campus.swf.gz") as sample:
        log = read_workload(sample)
        yield "campus, the bundled sample", log, log.max_cores, ("easy", "conservative")


def judged(log, cores, policy, times):
    """(low, high, true) of the 80 % interval, and of the 50 % one, of each waiting job at each time."""
    true = unspool.run(log, cores, policy).jobs.select("job_id", "start_time")
    submitted = log.table["submit_time"]
    begin, end = (float(submitted.quantile(share)) for share in (0.5, 0.98))
    for number, at in enumerate(np.linspace(begin, end, times)):
        told = unspool.forecast(log, cores, policy, at=float(at), replicas=REPLICAS, quantiles=QUANTILES, seed=number)
        jobs = told.jobs.join(true, on="job_id", how="inner", maintain_order="left")
        assert len(jobs) == len(told.jobs)
        if len(jobs):
            # A start beyond the horizon is told as such, and no more is to be held against it.
            is_told = pl.col("start_time") <= told.at_s + told.horizon_s
            yield jobs.with_columns(start_time=pl.when(is_told).then("start_time").otherwise(np.inf))


def of_log(name, log, cores, policy, times):
    found = list(judged(log, cores, policy, times))
    rows = []
    for jobs in found:
        true = jobs["start_time"].to_numpy()
        low, high, q1, q3 = (jobs[f"start_p{level}"].fill_null(np.inf).to_numpy() for level in (10, 90, 25, 75))
        width = np.where(np.isfinite(high), high, np.nan) - np.where(np.isfinite(low), low, np.nan)
        rows.append((
            np.mean((low <= true) & (true <= high)), np.mean(true < low), np.mean(true > high),
            np.mean((q1 <= true) & (true <= q3)), np.nanmean(width) / 3600, len(jobs),
        ))  # fmt: skip
    table = np.array(rows)
    weight = table[:, -1] / table[:, -1].sum()
    pooled = weight @ table[:, :-1]
    mean = table[:, :-1].mean(axis=0)
    print(
        f"| {name} | {policy} | {len(rows)} | {int(table[:, -1].sum()):,} | {pooled[0]:.1%} | {mean[0]:.1%} | "
        f"{pooled[1]:.1%} | {pooled[2]:.1%} | {pooled[3]:.1%} | {pooled[4]:.1f} h |",
        flush=True,
    )


def main():
    print("| log | policy | times | jobs | 80 % holds | mean over times | before | after | 50 % holds | mean width |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    for name, log, cores, policies in logs():
        for policy in policies:
            of_log(name, log, cores, policy, TIMES)


if __name__ == "__main__":
    main()
