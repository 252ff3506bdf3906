"""Compare three schedulers on the bundled sample, on the cores of its log and on a quarter more.

Run: python examples/compare-policies/compare.py
"""

from importlib.resources import files

import unspool
from unspool.units import format_duration


def main() -> None:
    log = unspool.read_workload(str(files("unspool") / "samples" / "campus.swf.gz"))
    for cores in (256, 320):
        results = [unspool.run(log, cores, policy) for policy in ("fcfs", "easy", "conservative")]
        print(f"{log.name}: {len(log):,} jobs on {cores} cores")
        for row in unspool.comparison(results).iter_rows(named=True):
            mean, most = (format_duration(round(row[name])) for name in ("mean_wait_s", "max_wait_s"))
            print(f"  {row['policy']:12}  mean wait {mean:>11}  max wait {most:>11}  busy {row['utilisation']:.1%}")


if __name__ == "__main__":
    main()
