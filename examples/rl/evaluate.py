"""Compare trained agents with built-in policies on held-out weeks: python evaluate.py model-1.zip model-2.zip …

Each figure is the mean over weeks (and agents) of the mean bounded slowdown of a week; the interval is of the ratio to
FCFS, paired by week: weeks (and agents) are drawn again 10,000 times.
"""

import sys

import numpy as np
from setting import CORES, held_out

import unspool

POLICIES = ("fcfs", "sjf", "wfp3", "f1", "easy", "easy:order=sjf", "filler:order=sjf")


def slowdowns(weeks, policy):
    return [unspool.run(week, CORES, policy).summary["mean_bounded_slowdown"] for week in weeks]


def interval(found, base, draws=10_000):
    """The 95 % interval of the ratio of two means: rows of `found` are agents, columns weeks."""
    random = np.random.default_rng(0)
    agents, weeks = found.shape
    ratios = []
    for _ in range(draws):
        week = random.integers(weeks, size=weeks)
        agent = random.integers(agents, size=agents)
        ratios.append(found[agent][:, week].mean() / base[week].mean())
    return np.quantile(ratios, [0.025, 0.975])


def main(models):
    weeks = held_out()
    base = np.array(slowdowns(weeks, "fcfs"))
    rows = {name: np.array([slowdowns(weeks, name)]) for name in POLICIES}
    if models:
        agents = np.array([slowdowns(weeks, f"rl:{model}") for model in models])
        for model, row in zip(models, agents, strict=True):
            rows[f"agent {model.rpartition('/')[2]}"] = row[None, :]
        rows[f"agents, {len(models)} seeds"] = agents
    print("| policy | mean bounded slowdown | worst week | share of FCFS's (95 %) |\n| --- | --- | --- | --- |")
    for name, found in rows.items():
        low, high = interval(found, base)
        ratio = found.mean() / base.mean()
        print(f"| {name} | {found.mean():,.1f} | {found.max():,.1f} | {ratio:.2%} ({low:.2%} to {high:.2%}) |")


if __name__ == "__main__":
    main(sys.argv[1:])
