"""Workloads and platforms from a few numbers, and what a result says of them."""

import polars as pl
import pytest

from unspool.model.platform import MachineGroup, MachineType, Partition, Platform
from unspool.model.workload import Workload
from unspool.results.run import run

POLICIES = ("fcfs", "easy", "conservative")


def workload(rows, **columns):
    """Jobs 'a', 'b', ... (from the 27th on numbers) of (submit, run, cores, walltime) rows; more columns by name."""
    ids = [chr(ord("a") + at) if at < 26 else str(at) for at in range(len(rows))]
    submit, run_time, cores, walltime = zip(*rows, strict=True) if rows else ((), (), (), ())
    table = {
        "job_id": ids,
        "submit_time": submit,
        "run_time": run_time,
        "cores": cores,
        "walltime": walltime,
        **columns,
    }
    types = {"job_id": pl.String, "submit_time": pl.Float64, "run_time": pl.Float64, "cores": pl.Int64}
    return Workload.of(pl.DataFrame(table, schema_overrides={**types, "walltime": pl.Float64}))


def one_core_machines(cores):
    """So many machines of one core: the number of free cores decides."""
    return Platform((MachineGroup(MachineType("small", 1), cores),))


def two_core_machines(cores):
    """Half as many machines of two cores: the number of free cores decides."""
    return Platform((MachineGroup(MachineType("double", 2), cores // 2),))


def machine_beside_a_closed_one(cores):
    """One machine that takes all jobs, beside one that takes none: not cores in all, but machines decide."""
    groups = (MachineGroup(MachineType("closed", 3), 1), MachineGroup(MachineType("large", cores), 1))
    return Platform(groups, (Partition("main", ("large",), default=True),))


everywhere = pytest.mark.parametrize(
    "cluster", [Platform.pool, one_core_machines, machine_beside_a_closed_one], ids=["pool", "n x 1", "partition"]
)


def starts(jobs, platform, policy, **options):
    """When each job starts, in the order of submission."""
    return run(jobs, platform, policy, **options).jobs["start_time"].to_list()


def placements(result):
    """{machine: units} of each attempt, in the order of starts, by job id."""
    ids = result.attempts["job_id"].to_list()
    placed = {job_id: {} for job_id in ids}
    for attempt, first, last, units in result.allocations.iter_rows():
        placed[ids[attempt]] |= dict.fromkeys(range(first, last + 1), units)
    return placed
