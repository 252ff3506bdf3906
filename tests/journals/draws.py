"""Random runs of every kind, the same on every machine and in every version: what their journals are compared on."""

import math

import numpy as np
import polars as pl
from tests.fluid_build import cluster, fluid_jobs
from tests.power_build import powered

from unspool.engine.kernel.draws import uniform
from unspool.model.cloud import Cloud, InstanceType, Limits, SpotRule
from unspool.model.network import Contention
from unspool.model.outages import OnLoss, Outage, Outages
from unspool.model.platform import SELECTIONS, MachineGroup, MachineType, Partition, Platform
from unspool.model.prices import Price
from unspool.model.profile import Delay, ForkJoin, HomogeneousTask, Sequence, Task
from unspool.model.workload import Workload
from unspool.policies.base import Kill, Start
from unspool.results.run import run

__all__ = ["KINDS", "RUNS"]

RUNS = 20  # of each kind
_PURPOSE = 77  # of draws; no draw of the engine has it


class Draw:
    """Numbers and choices that depend on nothing but the kind and number of a run."""

    def __init__(self, kind, number):
        self._seed = sum(ord(letter) * 131**at for at, letter in enumerate(kind)) % (1 << 62) + number
        self._drawn = 0

    def integer(self, least, most):
        self._drawn += 1
        drawn = uniform(self._seed, _PURPOSE, np.array([0]), np.array([self._drawn]))[0]
        return least + int(float(drawn) * (most - least + 1))

    def choice(self, values):
        return values[self.integer(0, len(values) - 1)]

    def chance(self, percent):
        return self.integer(1, 100) <= percent


def jobs(draw, most_cores, *, machines=False, users=False, links=False):
    """Up to forty jobs with many ties; some run for no time, some too long."""
    rows = []
    for at in range(draw.integer(5, 40)):
        row = {
            "job_id": f"j{at}",
            "submit_time": 10.0 * draw.integer(0, 30),
            "run_time": float(draw.choice([0, 1, 10, 30, 60, draw.integer(1, 200)])),
            "cores": draw.integer(1, most_cores),
            "walltime": float(draw.integer(1, 250)) if draw.chance(85) else None,
        }
        if machines:
            row["machines"] = draw.integer(1, 3) if draw.chance(40) else None
            row["memory_bytes"] = draw.integer(1, 8) if draw.chance(50) else None
            row["gpus"] = draw.integer(1, 2) if draw.chance(15) else None
            row["licences"] = draw.choice(["solver", "solver:2", "viewer"]) if draw.chance(25) else None
            row["partition"] = draw.choice(["left", "right"]) if draw.chance(30) else None
        if users:
            row["user"] = draw.choice(["ann", "bob", "cyd"])
            row["queue"] = draw.choice([None, "fast", "slow"])
        if links and at > 0 and draw.chance(30):
            row["depends_on"] = f"j{draw.integer(0, at - 1)}"
            row["think_time"] = float(draw.choice([0, 5, 20]))
        rows.append(row)
    whole = dict.fromkeys(("cores", "machines", "memory_bytes", "gpus"), pl.Int64)
    names = dict.fromkeys(("licences", "partition", "user", "queue", "depends_on"), pl.String)
    real = {"submit_time": pl.Float64, "run_time": pl.Float64, "walltime": pl.Float64, "think_time": pl.Float64}
    used = {name for row in rows for name in row}
    schema = {"job_id": pl.String, **{name: kind for name, kind in (whole | names | real).items() if name in used}}
    return Workload.of(pl.DataFrame(rows, schema=schema).sort("submit_time", maintain_order=True))


def fleet(draw):
    """Three groups of machines that are short of everything, in two partitions, with licences."""
    groups = tuple(
        MachineGroup(
            MachineType(f"type{at}", draw.integer(1, 4), draw.choice([0, 8, 16]), draw.integer(0, 2)),
            draw.integer(1, 3),
        )
        for at in range(3)
    )
    partitions = (Partition("left", ("type0", "type1")), Partition("right", ("type1", "type2"), default=True))
    licences = {"solver": 2, "viewer": 3}
    return Platform(groups, partitions=partitions, licences=licences, selection=draw.choice(SELECTIONS))


def cloud(draw, *, limits):
    """Four types, perhaps servers of one's own, and any of the rules."""
    sizes = [("f.s", 1, 2, 0), ("f.m", 2, 8, 0), ("g.m", 4, 16, 1), ("g.l", 8, 64, 2)]
    types = tuple(
        InstanceType(
            name, name[0], cores, cores * 2, memory_bytes=memory, gpus=gpus, on_demand_usd_per_hour=price,
            spot_usd_per_hour=price / 2 if draw.chance(70) else None,
        )
        for name, cores, memory, gpus in sizes
        for price in [cores * draw.choice([0.25, 0.5, 1.0])]
    )  # fmt: skip
    groups = ()
    if draw.chance(50):
        server = MachineType("rack", draw.integer(1, 4), 16, 1, {}, (Price(1.0, "on-premises"),), billing="used")
        groups = (MachineGroup(server, draw.integer(1, 2)),)
    bounds = {}
    if limits:
        bounds = {"max_instances": Limits(draw.integer(3, 6)), "max_vcpus": Limits(draw.integer(16, 40))}
    rules = Cloud(
        types,
        boot_s=draw.choice([0.0, 30.0, 120.0]),
        idle_s=draw.choice([0.0, 60.0, 300.0]),
        frequency_s=draw.choice([0.0, 0.0, 60.0]),
        shares=draw.chance(50),
        spot_rules=draw.choice([(), (SpotRule(),), (SpotRule(max_minutes=2.0),), (SpotRule(queue="fast"),)]),
        reclaim_per_minute=draw.choice([0.0, 0.1, 0.3]),
        max_spot_retries=draw.choice([1, 3]),
        checkpoint_s=draw.choice([None, 30.0]),
        burst_after_s=draw.choice([0.0, 0.0, 60.0]),
        **bounds,
    )
    return Platform(groups, cloud=rules)


def cloud_jobs(draw):
    """Jobs that an instance of some type can take, on up to three hosts."""
    return _without(jobs(draw, 8, machines=True, users=True), "licences", "partition", "walltime")


def _without(workload, *columns):
    return Workload.of(workload.table.drop(*columns), origin_unix_s=1_640_995_170.0)


def outages(draw, count):
    """Some machines are down for some time."""
    downs = [(draw.integer(0, count - 1), 10.0 * draw.integer(0, 40), 5.0 * draw.integer(1, 20)) for _ in range(5)]
    return Outages(tuple(Outage(machine, down, down + lasts) for machine, down, lasts in downs))


def profiles(draw):
    """Delays and tasks, one after the other and beside one another."""
    return {
        "wait": Delay(float(draw.integer(1, 50))),
        "work": HomogeneousTask(draw.integer(1, 40) * 1e9, draw.integer(0, 9) * 1e8),
        "pair": Task((draw.integer(1, 20) * 1e9, draw.integer(1, 20) * 1e9), (0.0, 2e8, draw.integer(0, 3) * 1e8, 0.0)),
        "steps": Sequence(("work", "wait"), repeat=draw.integer(1, 3)),
        "both": ForkJoin(("work", "wait")),
    }


def fluid_workload(draw):
    """Jobs with those profiles; some have a walltime that cuts them."""
    rows, known = [], profiles(draw)
    for _ in range(draw.integer(3, 25)):
        name = draw.choice(sorted(known))
        machines = 2 if name == "pair" else draw.integer(1, 4)
        rows.append((5.0 * draw.integer(0, 30), machines, draw.choice([None, 20.0, 60.0, 400.0]), name))
    return fluid_jobs(sorted(rows, key=lambda row: row[0]), known)


def killer(after):
    """A policy that starts the first job that fits, one at a time, and kills whoever has run for so long."""

    def decide(view):
        yield from (Kill(job) for job in view.running if view.now > job.start_time + after)
        for job in view.queue:
            if view.fits(job):
                yield Start(job)
                return

    return decide


def on_pool(draw):
    policies = (
        "fcfs", "easy", "conservative", "filler", "sjf", "easy:order=saf", "conservative:order=sjf", "easy:order=wfp3",
    )  # fmt: skip
    return run(jobs(draw, 12), 12, draw.choice(policies), kill_at_walltime=draw.chance(50))


def with_links(draw):
    policies = ("easy:predictor=last-two", "conservative:predictor=last-two", "easy:order=f1", "easy:predictor=exact")
    return run(jobs(draw, 8, users=True, links=True), 8, draw.choice(policies))


def on_machines(draw):
    policies = ("fcfs", "easy", "conservative", "filler", "easy:order=unicef")
    return run(jobs(draw, 6, machines=True), fleet(draw), draw.choice(policies), kill_at_walltime=draw.chance(50))


def with_shares(draw):
    policies = ("multifactor", "easy:order=multifactor", "conservative:order=multifactor", "easy:order=priority")
    return run(jobs(draw, 4, users=True), "6x2", draw.choice(policies))


def with_outages(draw):
    fates = (
        OnLoss("requeue"), OnLoss("kill"), OnLoss("resume", 7.0), OnLoss("keep"), OnLoss("requeue", most_attempts=2),
    )  # fmt: skip
    fate = draw.choice(fates)
    policies = ("fcfs", "easy", "conservative", "easy:order=multifactor", "easy:predictor=last-two")
    return run(jobs(draw, 4, users=True), "4x3", draw.choice(policies), outages=outages(draw, 4), on_loss=fate)


def in_cloud(draw):
    policy = draw.choice(["cheapest-fit", "largest-size", "least-added-cost"])
    return run(cloud_jobs(draw), cloud(draw, limits=draw.chance(50)), policy, seed=draw.integer(0, 9))


def in_cloud_scheduled(draw):
    policy = draw.choice(["fcfs", "easy", "conservative", "filler", "multifactor"])
    return run(cloud_jobs(draw), cloud(draw, limits=False), policy, seed=draw.integer(0, 9))


def in_limited_cloud(draw):
    policy = draw.choice(["fcfs", "easy", "conservative", "filler", "multifactor"])
    return run(cloud_jobs(draw), cloud(draw, limits=True), policy, seed=draw.integer(0, 9))


def sharing(draw):
    where = cluster(6, latency=draw.choice([0.0, 1e-4]), backbone=draw.choice([None, 1.5e8]))
    rule = Contention(draw.choice(["simgrid", "clean"]))
    return run(fluid_workload(draw), where, draw.choice(["fcfs", "easy"]), kill_at_walltime=True, contention=rule)


def with_energy(draw):
    policy = draw.choice(["fcfs", "easy", "easy:sleep_after=20", "fcfs:sleep_after=5"])
    return run(fluid_workload(draw), powered(4), policy, kill_at_walltime=True, energy=True)


def killing(draw):
    return run(jobs(draw, 5, machines=True), fleet(draw), killer(draw.integer(5, 60)))


KINDS = {
    kind.__name__: kind
    for kind in (
        on_pool, with_links, on_machines, with_shares, with_outages, in_cloud, in_cloud_scheduled, in_limited_cloud,
        sharing, with_energy, killing,
    )
}  # fmt: skip


def told(value):
    """A value as text; times to twelve digits, because libraries of mathematics differ in the last one."""
    if isinstance(value, float) and not math.isnan(value):
        return f"{value:.12g}"
    return str(value)
