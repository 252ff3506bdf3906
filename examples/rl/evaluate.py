"""Compare trained agents with built-in policies on held-out weeks: python evaluate.py model-1.zip model-2.zip …

Each figure is the mean over weeks (and agents) of a week's; the interval is of the ratio to FCFS of the mean bounded
slowdown, paired by week: weeks (and agents) are drawn again 10,000 times.
"""

import sys

import numpy as np
from setting import CORES, held_out

import unspool

POLICIES = ("fcfs", "sjf", "wfp3", "f1", "easy", "easy:order=sjf", "filler:order=sjf")
FIGURES = ("mean_bounded_slowdown", "mean_wait_s", "max_wait_s")


def figures(weeks, policy):
    """A row for each figure, a column for each week."""
    print(f"{policy} …", file=sys.stderr, flush=True)
    found = [unspool.run(week, CORES, policy).summary for week in weeks]
    return [[summary[name] for summary in found] for name in FIGURES]


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
    rows = {name: np.array([figures(weeks, name)]) for name in POLICIES}
    for model in models:
        rows[f"agent {model.rpartition('/')[2]}"] = np.array([figures(weeks, f"rl:{model}")])
    if models:
        rows[f"agents, {len(models)} seeds"] = np.concatenate([rows[f"agent {m.rpartition('/')[2]}"] for m in models])
    base = rows["fcfs"][0, 0]
    header = ("policy", "mean bounded slowdown", "worst week", "share of FCFS's (95 %)", "mean wait", "longest wait")
    print("| " + " | ".join(header) + " |\n|" + " --- |" * len(header))
    for name, found in rows.items():
        slowdowns, waits, longest = found[:, 0], found[:, 1] / 3600, found[:, 2] / 3600
        low, high = interval(slowdowns, base)
        share = f"{slowdowns.mean() / base.mean():.2%} ({low:.2%} to {high:.2%})"
        cells = (f"{slowdowns.mean():,.1f}", f"{slowdowns.max():,.1f}", share)
        print(f"| {name} | {' | '.join(cells)} | {waits.mean():.1f} h | {longest.mean():.0f} h |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
