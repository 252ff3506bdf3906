"""The week of sacct.txt on our own six machines, on these with the cloud for the rest, and in the cloud alone.

Run: python examples/sacct-to-bill/compare.py
"""

from dataclasses import replace
from math import inf
from pathlib import Path

import unspool
from unspool.analysis.costs import costs_of
from unspool.faces.cloud.config import Server, read_config
from unspool.platforms.catalogue import read_catalogue

HERE = Path(__file__).parent
OURS = Server("node", count=6, cores=32, memory_bytes=128 << 30, usd_per_hour=0.9)


def main() -> None:
    log, catalogue = unspool.read_workload(HERE / "sacct.txt"), read_catalogue()
    cloud = read_config(HERE / "config.yml")
    ours = replace(cloud, on_premises=(OURS,))
    ways = {
        "our machines": replace(ours, burst_after_s=inf),
        "cloud after an hour": replace(ours, burst_after_s=3600.0),
        "cloud when full": ours,
        "cloud only": cloud,
    }
    for name, config in ways.items():
        told = costs_of(unspool.run(log, config.platform(catalogue), config.placement, seed=0), log).summary
        cost, wait_min = told["total_cost_usd"], told["mean_wait_s"] / 60
        print(f"{name:20} ${cost:8,.2f}   mean wait {wait_min:6.1f} min   {told['wait_saved_hours']:6,.0f} h saved")


if __name__ == "__main__":
    main()
