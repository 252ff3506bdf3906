"""The files of a simulation, read: the one place that calls the readers of Batsim's formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from os import PathLike

from unspool.errors import InputError
from unspool.faces.batsim.workflows import Flow
from unspool.model.platform import Platform
from unspool.model.workload import Workload
from unspool.platforms.simgrid_xml import MASTER, read_simgrid
from unspool.workloads import dax, wfcommons
from unspool.workloads.batsim import read_batsim
from unspool.workloads.files import opened
from unspool.workloads.merging import prefixed

__all__ = ["read_flows", "read_jobs", "read_machines"]


def read_jobs(
    paths: Sequence[str],
    reading: Callable[[str], AbstractContextManager[object]] = nullcontext,
    *,
    alone: bool = True,
) -> list[Workload]:
    """The workloads `w0`, `w1` and so on; unless there is one `alone`, ids and names of profiles say so in front."""
    workloads = []
    for number, path in enumerate(paths):
        with reading(path):
            workloads.append(read_batsim(path, workload=f"w{number}"))
    if len(workloads) == 1 and alone:
        return workloads
    return [prefixed(workload, f"w{number}") for number, workload in enumerate(workloads)]


def read_flows(
    files: Sequence[tuple[str, float | None]], reading: Callable[[str], AbstractContextManager[object]] = nullcontext
) -> list[Flow]:
    """Workflows and when they begin: `wf0`, `wf1` and so on, and `wfc0` and so on those whose time is given."""
    flows: list[Flow] = []
    for path, start_s in files:
        kind = "wf" if start_s is None else "wfc"
        number = sum(flow.name.rstrip("0123456789") == kind for flow in flows)
        with reading(path):
            flows.append(Flow(f"{kind}{number}", _read_workflow(path), start_s or 0.0))
    return flows


def _read_workflow(path: str) -> Workload:
    with opened(path) as file:
        start = file.read(1 << 16)
    if dax.recognises(start):
        return dax.read_dax(path)
    if wfcommons.recognises(start):
        return wfcommons.read_wfcommons(path)
    raise InputError(f"{path}: is no workflow; expected DAX of Pegasus, or JSON of WfCommons")


def read_machines(
    path: str | PathLike[str],
    *,
    master: str | None = None,
    roles: Mapping[str, str] | None = None,
    host_order: str = "natural",
    limit: int | None = None,
    missing_routes: str = "refuse",
    note: Callable[[str], None] | None = None,
) -> Platform:
    """The platform, of which only the first `limit` hosts run jobs. A master that is named must be there."""
    return read_simgrid(
        path, master=master or MASTER, roles=roles or {}, host_order=host_order, limit=limit,
        needs_master=master is not None, missing_routes=missing_routes, note=note,
    )  # fmt: skip
