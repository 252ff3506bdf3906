"""Draw the picture of the README: how long jobs wait under three schedulers.

Needs matplotlib, which is an extra: pip install -e '.[matplotlib]'
Run: python examples/comparison/make_picture.py [PICTURE.svg]
"""

import sys
from importlib.resources import files
from pathlib import Path

import matplotlib
import numpy as np

import unspool

matplotlib.use("svg")
import matplotlib.pyplot as plt

POLICIES = {"fcfs": "#8c8c8c", "easy": "#0b6e99", "conservative": "#c2571a"}
# The share of jobs at which a line carries its name, and where beside the line.
NAMED_AT = {"fcfs": (0.50, -40, 0), "easy": (0.55, 8, -12), "conservative": (0.62, -92, 6)}
TICKS = {1: "1 s", 60: "1 min", 600: "10 min", 3600: "1 h", 6 * 3600: "6 h", 86400: "1 day", 4 * 86400: "4 days"}
LEAST_S = 1.0  # shorter waits have no place on a logarithmic axis: they are the height at which a line begins


def main() -> None:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2] / "docs/images/comparison.svg")
    log = unspool.read_workload(str(files("unspool") / "samples" / "campus.swf.gz"))
    plt.rcParams.update({"svg.hashsalt": "unspool", "font.size": 11, "axes.spines.top": False})
    figure, axes = plt.subplots(figsize=(8.0, 4.2), layout="constrained")
    for policy, colour in POLICIES.items():
        waits = np.sort(unspool.run(log, log.max_cores, policy).jobs["wait_time"].to_numpy())
        at_once = np.searchsorted(waits, LEAST_S, side="right") / len(waits)
        shares = np.linspace(at_once, 1.0, 160)
        times = np.maximum(np.quantile(waits, shares, method="inverted_cdf"), LEAST_S)
        axes.plot(times, shares, color=colour, linewidth=2.2)
        share, *beside = NAMED_AT[policy]
        axes.annotate(policy, (np.quantile(waits, share), share), beside, textcoords="offset points", color=colour)
        print(f"{policy:12}  {at_once:4.0%} wait a second at most, {np.mean(waits <= 3600):4.0%} an hour at most")
    axes.set_xscale("log")
    axes.set_xlim(LEAST_S, 6 * 86400)
    axes.set_xticks(list(TICKS), list(TICKS.values()))
    axes.set_xticks([], minor=True)
    axes.set_ylim(0.0, 1.01)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.set_xlabel("waiting time")
    axes.set_ylabel("share of jobs that waited at most so long")
    axes.grid(color="#e4e4e4", linewidth=0.8)
    axes.spines["right"].set_visible(False)
    figure.suptitle(f"{len(log):,} jobs on {log.max_cores} cores, three schedulers", x=0.02, ha="left", fontsize=12)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
