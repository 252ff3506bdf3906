"""Jobs a second in a cloud: each on the least expensive machine with room, among so many live instances."""

import resource
import time

import numpy as np
import polars as pl
from tests.oracles.cloud import replay

from unspool.model.cloud import Cloud, InstanceType, SpotRule
from unspool.model.platform import Platform
from unspool.model.workload import Workload
from unspool.policies.schedulers.cheapestfit import CheapestFit
from unspool.simulation.engine import Engine

GIB = 1 << 30
SIZES = (1, 2, 4, 8, 16, 24, 32, 48)
FAMILIES = (("c6i", 4, 0.085), ("m6i", 8, 0.096), ("r6i", 16, 0.126))  # GiB and dollars an hour, of a core
_SMALL_JOBS_AN_INSTANCE = 1.75  # so many run at once on one, with the jobs of `workload`; found by trying


def platform(shares=True):
    """Three families in eight sizes; jobs of less than an hour on spot."""
    types = [
        InstanceType(f"{family}.{cores}", family, cores, 2 * cores, gib * cores * GIB, 0, "", 3.0,
                     usd * cores, 0.4 * usd * cores)
        for family, gib, usd in FAMILIES for cores in SIZES
    ]  # fmt: skip
    return Platform((), cloud=Cloud(tuple(types), shares=shares, spot_rules=(SpotRule(max_minutes=60.0),)))


def workload(jobs, live, seed=1):
    """Jobs with memory of any amount, submitted at a rate that keeps about so many instances live."""
    draw = np.random.default_rng(seed)
    run_time = draw.lognormal(7.5, 1.2, jobs).clip(10, 86400)
    cores = draw.choice([8, 8, 16, 16, 24, 32], jobs)
    memory = (cores * draw.uniform(0.5, 14, jobs) * GIB).astype(np.int64)
    gap = float(run_time.mean()) / (live * _SMALL_JOBS_AN_INSTANCE)
    table = {
        "job_id": np.arange(jobs).astype(str),
        "submit_time": np.cumsum(draw.exponential(gap, jobs)),
        "run_time": run_time,
        "cores": cores,
        "memory_bytes": memory,
    }
    return Workload.of(pl.DataFrame(table))


def live_instances(engine):
    """(mean, most) instances that were live at once."""
    elastic = engine.state.elastic
    instances = elastic.instances[: int(elastic.rule[0]["machines"])]
    times = np.concatenate([instances["start"], instances["stop"]])
    order = np.argsort(times, kind="stable")
    steps = np.repeat([1, -1], len(instances))[order]
    level = np.cumsum(steps)
    return float(np.average(level[:-1], weights=np.diff(times[order]))), int(level.max())


def measure(jobs, live, rounds=2):
    """(CPU seconds a job, mean live instances, most live instances, instances started)."""
    log, where, policy = workload(jobs, live), platform(), CheapestFit()
    Engine(workload(10, 1), where).run(policy)
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        engine = Engine(log, where)
        engine.run(policy)
        best = min(best, time.process_time() - began)
        ended = int((engine.attempts["how"] > 2).sum())
        assert len(np.unique(engine.attempts["job"])) == jobs
        assert ended == len(engine.attempts) >= jobs
    mean, most = live_instances(engine)
    return best / jobs, mean, most, int(engine.state.elastic.rule[0]["machines"])


def measure_twin(jobs, live):
    """CPU seconds a job of the plain-Python twin."""
    log, where = workload(jobs, live), platform()
    began = time.process_time()
    assert len(replay(log, where).jobs) == jobs
    return (time.process_time() - began) / jobs


def peak_memory_gb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


if __name__ == "__main__":
    for count, at_once in ((100_000, 100), (100_000, 1_000), (1_000_000, 10_000), (1_000_000, 25_000)):
        a_job, mean, most, started = measure(count, at_once)
        live = f"live {mean:,.0f} on average, {most:,} at most, {started:,} started"
        print(f"{count:,} jobs: {a_job * 1e6:.2f} us a job, {a_job * count:.2f} s; {live}; {peak_memory_gb():.2f} GB")
