"""How often 95 % intervals of `unspool compare` hold what they should: `python -m benchmarks.coverage`, ten minutes.

The first table is for series in which neighbours correlate by rho, with mean 0. The second is for conservative
against EASY on many synthetic logs: the mean difference over all logs stands for the true one. Beside each stands
what the plain bootstrap, which draws units one by one, would have done.
"""

import numpy as np

import unspool
from unspool.analysis.bootstrap import block_length, draw, units_of
from unspool.analysis.compare import compare
from unspool.workloads.generators import lublin

SERIES, LENGTH = 300, 1000
LOGS = ((0.6, 10_000, 150), (0.7, 10_000, 150), (0.8, 10_000, 150), (0.8, 50_000, 60))
CORES = 256


def interval(values, block, seed):
    draws = draw(len(values), block, seed, 1000)
    low, high = draws.interval(values[:, None], np.ones((len(values), 1)), np.array([draws.blocks]), 0.95)
    return low[0], high[0]


def autoregressive(rng, rho):
    noise = rng.standard_normal(LENGTH) * np.sqrt(1 - rho * rho)
    values = [rng.standard_normal()]
    for one in noise[1:]:
        values.append(rho * values[-1] + one)
    return np.array(values)


def share_held(intervals, true):
    return np.mean([low <= true <= high for low, high in intervals])


def of_series():
    rng = np.random.default_rng(99)
    for rho in (0.0, 0.5, 0.8, 0.9, 0.95, 0.98):
        series = [autoregressive(rng, rho) for _ in range(SERIES)]
        ours = [interval(one, block_length(one)[0], at) for at, one in enumerate(series)]
        plain = [interval(one, 1, at) for at, one in enumerate(series)]
        print(f"rho {rho:4.2f}: {share_held(ours, 0.0):.0%}, plain {share_held(plain, 0.0):.0%}", flush=True)


def of_logs(load, jobs, logs):
    units = units_of(jobs)
    found = {"wait_time": [], "bounded_slowdown": []}
    plain, capped = [], 0
    for seed in range(logs):
        log = lublin(jobs, CORES, load, seed=seed)
        easy, conservative = (unspool.run(log, CORES, policy) for policy in ("easy", "conservative"))
        assert len(easy.jobs) == jobs
        told = compare([easy, conservative], seed=seed)
        capped += told.pairs["is_capped"][0]
        for row in told.differences.iter_rows(named=True):
            if row["measure"] in found:
                found[row["measure"]].append((row["difference"], row["difference_low"], row["difference_high"]))
        change = (conservative.jobs["wait_time"] - easy.jobs["wait_time"]).to_numpy()
        plain.append(interval(np.bincount(units, change) / np.bincount(units), 1, seed))
    for measure, rows in found.items():
        true = np.mean([row[0] for row in rows])
        held = share_held([row[1:] for row in rows], true)
        print(f"load {load}, {jobs:,} jobs, {measure}: {held:.0%} of {logs} logs, true {true:,.1f}", flush=True)
    true = np.mean([row[0] for row in found["wait_time"]])
    print(f"  plain, of wait_time: {share_held(plain, true):.0%}; blocks too short: {capped / logs:.0%}", flush=True)


if __name__ == "__main__":
    of_series()
    for load, jobs, logs in LOGS:
        of_logs(load, jobs, logs)
