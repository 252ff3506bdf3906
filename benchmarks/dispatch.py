"""Jobs a second with a user's own dispatcher in plain Python: `python -m benchmarks.dispatch`."""

import resource
import time

from unspool.faces.dispatch.drive import Exact, Lagging, Parts
from unspool.faces.dispatch.metrics.delay import Delay
from unspool.faces.dispatch.simdex import Job

WORKERS = [{"active": True}] * 4
YEARS_S = 133_815_360.0  # the span of a published log: 2.2 million ticks of a minute


class Shortest:
    """The shortest queue, as a user would write it."""

    def dispatch(self, job, workers, simulation):
        active = [worker for worker in workers if worker.get_attribute("active")]
        min(active, key=lambda worker: worker.jobs_count()).enqueue(job)


def jobs(count, gap_s, duration_s, begin=1e9):
    for row in range(count):
        yield Job(row, row + 1, 1, 1, 1, 1, 1, "default", 1, begin + row * gap_s, 10.0, False, 1.0, True, duration_s)


def measure(drive, compat, count, gap_s, duration_s):
    """Seconds for so many jobs; all of them must have run."""
    simulation = drive(Parts(Shortest(), [Delay()]), WORKERS, compat=compat)
    began = time.perf_counter()
    outcome = simulation.run(jobs(count, gap_s, duration_s), count)
    assert outcome.finished == count
    return time.perf_counter() - began


def main():
    for drive, compat in ((Exact, "none"), (Lagging, "fork")):
        measure(drive, compat, 1000, 1.0, 3.9)
        for count in (100_000, 1_000_000):
            took = measure(drive, compat, count, 1.0, 3.9)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{compat}: {count:,} jobs at {count / took:,.0f} jobs/s, at most {peak:.0f} MB so far")
        idle = measure(drive, compat, 2, YEARS_S, 1.0)
        print(f"{compat}: 2.2 million ticks that nobody hears in {idle:.4f} s")
    for drive, compat in ((Exact, "none"), (Lagging, "fork")):
        deep = measure(drive, compat, 400_000, 0.0, 1.0)
        print(f"{compat}: queues of 100,000 jobs at {400_000 / deep:,.0f} jobs/s")


if __name__ == "__main__":
    main()
