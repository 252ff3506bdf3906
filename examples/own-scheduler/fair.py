"""A scheduler of your own: whoever has used the least so far goes first.

Run: python examples/own-scheduler/fair.py
Or:  cd examples/own-scheduler; unspool run --policy easy --policy fair:LeastUsedFirst
"""

from collections import defaultdict
from importlib.resources import files

import polars as pl

import unspool
from unspool import Start


class LeastUsedFirst:
    """Waiting jobs by the core-seconds that their user has had so far; a job that does not fit is passed."""

    def __init__(self):
        self.used = defaultdict(float)

    def decide(self, view):
        for job in view.ended:
            self.used[job["user"]] += job.cores * job.run_time
        free = view.free_cores
        for job in sorted(view.queue, key=lambda job: self.used[job["user"]]):
            if job.cores <= free:
                free -= job.cores
                yield Start(job)


def main() -> None:
    log = unspool.read_workload(str(files("unspool") / "samples" / "campus.swf.gz"))[:3000]
    for policy in ("easy", LeastUsedFirst()):
        result = unspool.run(log, 256, policy)
        users = result.jobs.group_by("user").agg(
            work=(pl.col("cores") * pl.col("run_time")).sum(), wait=pl.col("wait_time").mean()
        )
        users = users.sort("work", "user")
        few_h, many_h = (part["wait"].mean() / 3600 for part in (users.head(10), users.tail(10)))
        print(f"{result.policy}: the ten users with the least work wait {few_h:.2f} h, with the most {many_h:.2f} h")


if __name__ == "__main__":
    main()
