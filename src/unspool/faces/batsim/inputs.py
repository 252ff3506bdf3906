"""The files of a simulation, read: the one place that calls the readers of Batsim's formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from os import PathLike

from unspool.model.platform import Platform
from unspool.model.workload import Workload
from unspool.platforms.simgrid_xml import MASTER, read_simgrid
from unspool.workloads.batsim import read_batsim
from unspool.workloads.merging import prefixed

__all__ = ["read_jobs", "read_machines"]


def read_jobs(
    paths: Sequence[str], reading: Callable[[str], AbstractContextManager[object]] = nullcontext
) -> list[Workload]:
    """The workloads `w0`, `w1` and so on; of several, ids and names of profiles say so in front."""
    workloads = []
    for number, path in enumerate(paths):
        with reading(path):
            workloads.append(read_batsim(path, workload=f"w{number}"))
    if len(workloads) == 1:
        return workloads
    return [prefixed(workload, f"w{number}") for number, workload in enumerate(workloads)]


def read_machines(
    path: str | PathLike[str],
    *,
    master: str | None = None,
    roles: Mapping[str, str] | None = None,
    host_order: str = "natural",
    limit: int | None = None,
    note: Callable[[str], None] | None = None,
) -> Platform:
    """The platform, of which only the first `limit` hosts run jobs. A master that is named must be there."""
    return read_simgrid(
        path, master=master or MASTER, roles=roles or {}, host_order=host_order, limit=limit,
        needs_master=master is not None, note=note,
    )  # fmt: skip
