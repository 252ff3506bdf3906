"""Several workloads put together, and how many machines they are to have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from unspool.errors import InputError
from unspool.model.platform import Platform
from unspool.model.profile import Profile
from unspool.model.workload import Workload

__all__ = ["in_cores", "machine_limit", "put_together", "with_cores"]


def put_together(workloads: Sequence[Workload]) -> Workload:
    """All jobs of several workloads, whose ids already say of which each is.

    By submit time; of jobs submitted together those of the first workload come first, in its order.

    >>> one = pl.DataFrame({"job_id": ["w0!a", "w0!b"], "submit_time": [0, 5], "run_time": [1, 1], "cores": [1, 1]})
    >>> other = one.with_columns(job_id=pl.Series(["w1!a", "w1!b"]))
    >>> put_together([Workload.of(one), Workload.of(other)]).table["job_id"].to_list()
    ['w0!a', 'w1!a', 'w0!b', 'w1!b']
    """
    if not workloads:
        raise InputError("no workload is given; name one, as in unspool batsim -p platform.xml -w workload.json")
    if len(workloads) == 1:
        return workloads[0]
    table = pl.concat(
        [
            workload.table.with_columns(pl.lit(number).alias("workload")).with_row_index("at")
            for number, workload in enumerate(workloads)
        ],
        how="diagonal",
    )
    table = table.sort("submit_time", "workload", "at").with_columns(line=pl.int_range(1, len(table) + 1))
    profiles: dict[str, Profile] = {}
    for workload in workloads:
        profiles |= workload.profiles
    return Workload.of(
        table.drop("workload", "at"),
        name="+".join(workload.name for workload in workloads),
        max_cores=_largest([workload.max_cores for workload in workloads]),
        max_machines=_largest([workload.max_machines for workload in workloads]),
        rejected=pl.concat([workload.rejected for workload in workloads]),
        notes=tuple(f"{workload.name}: {note}" for workload in workloads for note in workload.notes),
        profiles=profiles,
    )


def in_cores(jobs: Workload) -> Workload:
    """Jobs that ask for so many cores, wherever they are: each is an executor of its own."""
    return Workload.of(
        jobs.table.drop("machines", strict=False), name=jobs.name, max_cores=jobs.max_cores, rejected=jobs.rejected,
        notes=jobs.notes, profiles=jobs.profiles,
    )  # fmt: skip


def with_cores(platform: Platform) -> Platform:
    """Machines that have all the cores of their hosts, which may do work of several jobs."""
    assert platform.network is not None
    hosts = platform.network.hosts
    groups, at = [], 0
    for group in platform.groups:
        groups.append(replace(group, machine=replace(group.machine, cores=hosts[at].cores)))
        at += group.count
    return replace(platform, groups=tuple(groups))


def _largest(sizes: Sequence[int | None]) -> int | None:
    """The largest of those that are told, or None."""
    return max((size for size in sizes if size is not None), default=None)


def machine_limit(mmax: int, by_workload: bool, workloads: Sequence[Workload]) -> int | None:
    """How many machines to use, or None for all: `--mmax`, with `--mmax-workload` the smaller of that and `nb_res`."""
    if mmax < 0:
        raise InputError(f"--mmax {mmax}: expected the number of machines to use, or 0 for all of them")
    asked = _largest([workload.max_machines or workload.max_cores for workload in workloads]) if by_workload else None
    limits = [limit for limit in (mmax or None, asked) if limit is not None]
    return min(limits, default=None)
