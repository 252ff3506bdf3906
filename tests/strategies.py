"""Workloads and platforms for Hypothesis: few jobs with many ties, on platforms that are short of everything."""

import math

import polars as pl
from hypothesis import strategies as st

from unspool.model.platform import SELECTIONS, MachineGroup, MachineType, Partition, Platform
from unspool.model.workload import Workload

LICENCES = ("solver", "viewer")
PARTITIONS = ("left", "right")
NO_LIMIT = 1 << 52  # bytes of a machine whose memory is not modelled

_COLUMNS = {
    "submit": ("submit_time", pl.Float64),
    "run": ("run_time", pl.Float64),
    "walltime": ("walltime", pl.Float64),
    "cores": ("cores", pl.Int64),
    "machines": ("machines", pl.Int64),
    "memory": ("memory_bytes", pl.Int64),
    "gpus": ("gpus", pl.Int64),
    "licences": ("licences", pl.String),
    "partition": ("partition", pl.String),
    "user": ("user", pl.String),
    "priority": ("priority", pl.Float64),
    "qos": ("qos", pl.String),
    "depends_on": ("depends_on", pl.String),
    "think": ("think_time", pl.Float64),
}


def as_workload(jobs, names=None):
    """A workload of jobs given as dicts, sorted by submission; ids are their numbers unless named."""
    ids = names or [str(at) for at in range(len(jobs))]
    columns = [pl.Series("job_id", ids, pl.String)]
    for key, (column, dtype) in _COLUMNS.items():
        if any(key in job for job in jobs):
            columns.append(pl.Series(column, [job.get(key) for job in jobs], dtype))
    return Workload.of(pl.DataFrame(columns))


def as_jobs(log):
    """Jobs as dicts from (submit, run, cores, walltime) rows."""
    return [dict(zip(("submit", "run", "cores", "walltime"), row, strict=True)) for row in log]


def rows(cores, *, overruns=True, most=25):
    """(submit, run, cores, walltime) of a log in order; some run for no time and, with overruns, some too long."""
    submit = st.integers(0, 12).map(lambda tens: 10 * tens)
    times = st.tuples(st.integers(0, 200), st.integers(1, 200))
    if not overruns:
        times = times.map(lambda both: (min(both), max(both)))
    job = st.builds(lambda at, both, size: (at, both[0], size, both[1]), submit, times, st.integers(1, cores))
    return st.lists(job, min_size=1, max_size=most).map(lambda log: sorted(log, key=lambda job: job[0]))


def owners(most=25):
    """(user, priority) for each job of a log with so many at the most; some are nobody's, some have none."""
    owner = st.tuples(st.sampled_from(["ann", "bob", "cyd", None]), st.sampled_from([None, -1.5, 0, 2]))
    return st.lists(owner, min_size=most, max_size=most)


def owned(jobs, whose):
    """Jobs as dicts with user and priority."""
    return [{**job, "user": user, "priority": priority} for job, (user, priority) in zip(jobs, whose, strict=False)]


def requests(*, overruns=True, licences=False, partitions=False, most=20):
    """Jobs as dicts that ask for cores, or for machines, and perhaps for memory, GPUs, licences and a partition."""
    times = st.tuples(st.integers(0, 60), st.integers(1, 80))
    if not overruns:
        times = times.map(lambda both: (min(both), max(both)))
    maybe = {
        "machines": st.integers(1, 3),
        "memory": st.integers(1, 8),
        "gpus": st.integers(1, 3),
    }
    if licences:
        maybe["licences"] = st.sampled_from(["solver", "solver:2", "viewer:1", "solver:1,viewer:2"])
    if partitions:
        maybe["partition"] = st.sampled_from(PARTITIONS)
    job = st.fixed_dictionaries(
        {"submit": st.integers(0, 8).map(lambda tens: 10 * tens), "times": times, "cores": st.integers(1, 6)},
        optional=maybe,
    )
    return st.lists(job, min_size=1, max_size=most).map(_in_order)


def _in_order(jobs):
    jobs = [{**job, "run": job["times"][0], "walltime": job["times"][1]} for job in jobs]
    return sorted(jobs, key=lambda job: job["submit"])


def fleets():
    """Groups of machines as (count, cores, bytes, GPUs); 0 bytes: memory is not modelled."""
    group = st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(0, 8), st.integers(0, 2))
    return st.lists(group, min_size=1, max_size=3)


def as_platform(fleet, **options):
    """The platform of a fleet."""
    groups = [
        MachineGroup(MachineType(f"type{at}", cores, memory, gpus), count)
        for at, (count, cores, memory, gpus) in enumerate(fleet)
    ]
    return Platform(tuple(groups), **options)


def platforms():
    """Fleets with any selection, with licences, and with two partitions that may overlap."""
    return st.builds(_platform, fleets(), st.sampled_from(SELECTIONS), st.booleans(), st.integers(2, 3))


def _platform(fleet, selection, split, licences):
    names = tuple(f"type{at}" for at in range(len(fleet)))
    partitions = (Partition("left", names[:2]), Partition("right", names[1:] or names, default=split))
    return as_platform(fleet, partitions=partitions, selection=selection, licences=dict.fromkeys(LICENCES, licences))


def unit_of(job, platform):
    """(units, need of one unit as cores, bytes and GPUs, whether each needs a machine of its own) of a job."""
    cores, memory, gpus = job["cores"], job.get("memory") or 0, job.get("gpus") or 0
    if machines := job.get("machines"):
        return machines, tuple(-(-amount // machines) for amount in (cores, memory, gpus)), True
    units = gpus or cores
    parts = math.gcd(cores, gpus)
    if parts < gpus and any(
        cores // parts <= has[0] and memory // parts <= has[1] and gpus // parts <= has[2]
        for has in machines_for(job, platform)
    ):
        units = parts
    return units, (-(-cores // units), memory // units, gpus // units), False


def machines_for(job, platform):
    """(cores, bytes, GPUs) of each machine that a job may use."""
    if job.get("partition") not in (None, *(partition.name for partition in platform.partitions)):
        return []
    ranges = platform.ranges(job.get("partition"))
    return [has for at, has in enumerate(capacities(platform)) if any(first <= at <= last for first, last in ranges)]


def asked_of_twin(job, platform):
    """A job as the twin on machines wants it."""
    units, need, distinct = unit_of(job, platform)
    times = {"submit": job["submit"], "run": job["run"], "estimate": job["walltime"]}
    return {**times, "units": units, "need": need, "distinct": distinct}


def licences_of(job):
    """Licences of a job as a dict."""
    amounts = {}
    for part in filter(None, (job.get("licences") or "").split(",")):
        name, _, amount = part.partition(":")
        amounts[name] = amounts.get(name, 0) + int(amount or 1)
    return amounts


def capacities(platform):
    """(cores, bytes, GPUs) of each machine, in order of id."""
    return [
        (group.machine.cores, group.machine.memory_bytes or NO_LIMIT, group.machine.gpus)
        for group in platform.groups
        for _ in range(group.count)
    ]
