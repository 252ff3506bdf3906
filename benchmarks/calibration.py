"""How often intervals of `unspool forecast` hold the true starts: `python -m benchmarks.calibration [--quick]`.

Each log is forecast at times spread evenly over its second half; the true start of a job that waits is the one of the
replay of the whole log, of which the forecast reads nothing after its time. Of each log: the share of jobs whose true
start lies within the 80 % interval, over all jobs that wait at any of the times, and as the mean over times; beside it
how often the true start came before the interval and after it, and the same of the 50 % interval.
"""

import sys
from importlib.resources import as_file, files

import numpy as np

import unspool
from unspool.workloads import read_workload
from unspool.workloads.generators import lublin

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
REPLICAS = 100


def logs(quick):
    for load in (0.85, 0.9) if quick else (0.7, 0.8, 0.85, 0.9):
        for seed in (1,) if quick else (1, 2, 3):
            yield f"lublin, load {load}, seed {seed}", lublin(20_000, 480, load, seed=seed), 480
    yield "lublin with weekends, load 0.85", lublin(20_000, 480, 0.85, seed=4, weekend_weight=0.5), 480
    with as_file(files("unspool") / "samples" / "campus.swf.gz") as sample:
        log = read_workload(sample)
        yield "campus (bundled)", log, log.max_cores


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
            yield jobs


def of_log(name, log, cores, policy, times):
    found = list(judged(log, cores, policy, times))
    rows = []
    for jobs in found:
        true = jobs["start_time"].to_numpy()
        low, high, q1, q3 = (jobs[f"start_p{level}"].fill_null(np.inf).to_numpy() for level in (10, 90, 25, 75))
        width = np.where(np.isfinite(high), high - low, np.nan)
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
    quick = "--quick" in sys.argv
    print("| log | policy | times | jobs | 80 % holds | mean over times | before | after | 50 % holds | mean width |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, log, cores in logs(quick):
        for policy in ("easy",) if quick else ("easy", "conservative", "fcfs"):
            of_log(name, log, cores, policy, 40 if quick else 150)


if __name__ == "__main__":
    main()
