"""The engine's rate: jobs per CPU second of `Engine.run`, warm, with the number of jobs done asserted."""

import dataclasses
import time

import numpy as np
import polars as pl

from unspool.plugins import build
from unspool.simulation.engine import Engine
from unspool.workloads.generators import lublin

GIB = 1 << 30


def log(jobs, cores, load, largest=128, gib_per_core=None, seed=1):
    """A Lublin-Feitelson log; with memory, each job asks for one of these amounts a core."""
    workload = lublin(jobs, cores, load, seed, max_cores=largest)
    if gib_per_core is None:
        return workload
    drawn = np.random.default_rng(seed).choice(gib_per_core, jobs) * GIB
    memory = pl.Series(workload.table["cores"].to_numpy() * drawn)
    return dataclasses.replace(workload, table=workload.table.with_columns(memory_bytes=memory))


def measure(workload, platform, policy, repeats=3):
    """Jobs per CPU second, the best of some repeats, and the mean wait."""
    scheduler = build("schedulers", policy)
    Engine(workload[:10], platform).compile(scheduler)
    best = float("inf")
    for _ in range(repeats):
        engine = Engine(workload, platform)
        engine.compile(scheduler)
        began = time.process_time()
        engine.run(scheduler)
        best = min(best, time.process_time() - began)
        assert len(engine.attempts) == len(workload), "every job must have run"
    attempts = engine.attempts
    waits = attempts["start"] - engine.core.jobs["submit"][attempts["job"]]
    return len(workload) / best, float(waits.mean())
