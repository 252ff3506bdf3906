"""What placements cost and how long jobs wait, on the bundled log and on ten generated ones.

    python -m benchmarks.placements            the four tables of docs/guides/cheapest-way.md
    python -m benchmarks.placements share      one of them: share, share-at-once, share-on-demand, alone

A trace is what `unspool generate lublin t.swf --jobs 3000 --cores C --load L --max-cores M --seed S` writes. The
weights of `least-added-cost` were chosen on seeds 1 to 10; these are seeds 11 to 20.
"""

import sys
from dataclasses import replace

import unspool
from unspool.analysis.costs import costs_of
from unspool.faces.cloud.config import read_config
from unspool.platforms.catalogue import read_catalogue
from unspool.workloads.generators import lublin
from unspool.workloads.sample import read_sample

JOBS = 3_000
SIZES = [(cores, load) for cores in (64, 128, 256, 512, 1024) for load in (0.5, 0.9)]
FIRST_SEED = 11
LARGEST_JOB = 128
SETUPS = {
    "share": {"shares": True},
    "share-at-once": {"shares": True, "frequency_s": 0.0},
    "share-on-demand": {"shares": True, "spot_rules": ()},
    "alone": {},
}
PLACEMENTS = ("cheapest-fit", "largest-size", "least-added-cost")


def traces():
    yield "campus", read_sample()
    for seed, (cores, load) in enumerate(SIZES, FIRST_SEED):
        log = lublin(JOBS, cores, load, seed=seed, max_cores=min(cores, LARGEST_JOB))
        yield f"{cores} cores, load {load}, seed {seed}", log


def summaries(setup, placements=PLACEMENTS):
    """For each trace its name and the summary under each placement."""
    platform = replace(read_config(), **SETUPS[setup]).platform(read_catalogue())
    for name, log in traces():
        yield name, [costs_of(unspool.run(log, platform, placement), log).summary for placement in placements]


def where_the_money_goes(summary):
    """Shares of the bill: boot, idle, jobs' own cores, and the room beside them while they run."""
    total = summary["total_cost_usd"]
    run = summary["run_cost_usd"] / total
    boot, idle = summary["boot_cost_usd"] / total, summary["idle_cost_usd"] / total
    used = run * min(summary["job_core_hours"] / (summary["machine_core_hours"] * run), 1.0)
    return boot, idle, used, run - used


def rows(setup):
    for name, (first, *others) in summaries(setup):
        shown = [name, f"${first['total_cost_usd']:,.0f}", f"{first['mean_wait_s']:.0f} s"]
        for other in others:
            change = other["total_cost_usd"] / first["total_cost_usd"] - 1.0
            shown += [f"{change:+.1%}", f"{other['mean_wait_s']:.0f} s"]
        yield shown


def main():
    for setup in sys.argv[1:] or SETUPS:
        print(f"\n{setup}\n")
        print("| trace | " + " | ".join(f"{name} | wait" for name in PLACEMENTS) + " |")
        print("| --- " * (1 + 2 * len(PLACEMENTS)) + "|")
        for row in rows(setup):
            print("| " + " | ".join(row) + " |", flush=True)
    print("\nwhere the money of cheapest-fit goes (share)\n")
    print("| trace | boot | idle | jobs' cores | room left over |\n| --- | --- | --- | --- | --- |")
    for name, (first,) in summaries("share", PLACEMENTS[:1]):
        print(f"| {name} | " + " | ".join(f"{part:.1%}" for part in where_the_money_goes(first)) + " |")


if __name__ == "__main__":
    main()
