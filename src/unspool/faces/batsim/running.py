"""A simulation from its settings: files read, jobs put together, the run, and what Batsim's files say of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import polars as pl

from unspool.errors import InputError, RunError, shown
from unspool.faces.batsim.constraints import Constrained, constrained, with_reasons
from unspool.faces.batsim.events import closures_of
from unspool.faces.batsim.inputs import read_flows, read_jobs, read_machines
from unspool.faces.batsim.jobs import in_cores, machine_limit, put_together, with_cores
from unspool.faces.batsim.onebyone import one_by_one
from unspool.faces.batsim.outputs import Outputs, outputs_of
from unspool.faces.batsim.protocol.driver import Conversation
from unspool.faces.batsim.protocol.outside import Elsewhere
from unspool.faces.batsim.protocol.power import Power, Switches
from unspool.faces.batsim.protocol.storing import with_any_storage
from unspool.faces.batsim.workflows import Flow, Rules, run_workflows
from unspool.model.network import TCP_GAMMA, Contention
from unspool.model.platform import Platform
from unspool.model.workload import Workload
from unspool.plugins import build
from unspool.policies.base import Scheduler
from unspool.results.result import Result
from unspool.results.run import name_of
from unspool.results.run import run as simulate
from unspool.simulation.admission import open_table
from unspool.simulation.engine import Engine
from unspool.workloads.batsim_events import read_events

__all__ = ["ONE_BY_ONE", "Settings", "Simulated", "build_policy", "run_batsim"]

ONE_BY_ONE = "one-by-one"
"""What `--no-sched` is called in results."""

_NO_JOBS = {
    "job_id": pl.String, "submit_time": pl.Float64, "run_time": pl.Float64, "cores": pl.Int64, "line": pl.Int64,
}  # fmt: skip
_MOST_AT_ONCE = 1000  # jobs on one machine, where they may share it


@dataclass(frozen=True)
class Settings:
    """What a simulation is made of, as the options of `unspool batsim` say it."""

    platform: str
    workloads: Sequence[str] = ()
    policy: str | Scheduler = "fcfs"
    seed: int = 0
    mmax: int = 0
    mmax_workload: bool = False
    master: str | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    host_order: str = "natural"
    missing_routes: str = "refuse"
    licences: Mapping[str, int] = field(default_factory=dict)
    storages: Mapping[str, str] = field(default_factory=dict)
    sharing: str = "simgrid"
    gamma: float = TCP_GAMMA
    smpi_network: str = "batsim"
    walltime_rule: str = "v4"
    events: Sequence[str] = ()
    forward_unknown_events: bool = False
    shares_machines: bool = False
    message_delay_s: float = 0.0
    records_use: bool = False
    workflows: Sequence[tuple[str, float | None]] = ()
    workflow_rules: Rules = field(default_factory=Rules)
    energy: bool = False
    allocate: str = "machines"
    outside: Elsewhere | None = None
    power: Callable[[Engine], Power] | None = None  # pstates and energy, for a scheduler elsewhere


@dataclass(frozen=True)
class Simulated:
    """The jobs and the platform as they were simulated, the result, and what the files say of it.

    `fault` says why the run broke off, if it did: then only those jobs are told of that had ended.
    """

    workload: Workload
    result: Result
    outputs: Outputs
    fault: RunError | None = None


def build_policy(name: str) -> Any:
    """A scheduler by name, or `file.py:Name` and `module:Name` for one's own."""
    if name == ONE_BY_ONE:
        return one_by_one
    file, colon, rest = name.partition(".py:")
    if colon:
        folder = str(Path(file).parent.absolute())
        if folder not in sys.path:  # as Python itself does with the folder of a script
            sys.path.insert(0, folder)
        name = f"{Path(file).name}:{rest}"
    return build("schedulers", name)


def run_batsim(
    settings: Settings,
    *,
    states: bool = True,
    progress: Callable[[int, int], None] | None = None,
    compiling: Callable[[], AbstractContextManager[None]] = nullcontext,
    reading: Callable[[str], AbstractContextManager[object]] = nullcontext,
    note: Callable[[str], None] | None = None,
) -> Simulated:
    """Read, place and simulate; `reading(path)` is entered while a workload is read.

    `note` is told what was left out of the platform's file.
    """
    if settings.outside is not None:
        return _run_outside(settings, settings.outside, states, progress, compiling, reading, note)
    scheduler = build_policy(settings.policy) if isinstance(settings.policy, str) else settings.policy
    name = settings.policy if isinstance(settings.policy, str) else name_of(settings.policy)
    began = perf_counter()
    workloads, flows, platform = _inputs(settings, reading, note)
    events = read_events(*settings.events, forward_unknown=settings.forward_unknown_events)
    closures = closures_of(events, platform.machine_count)
    read_s = perf_counter() - began

    def simulated(workloads: Sequence[Workload]) -> tuple[Constrained, Result]:
        jobs = put_together(workloads)
        placed = constrained(in_cores(jobs) if settings.allocate == "cores" else jobs, platform)
        result = simulate(
            placed.workload, placed.platform, scheduler, seed=settings.seed, kill_at_walltime=True,
            outages=closures if closures.listed else None, on_loss="keep", contention=_contention(settings),
            message_delay_s=settings.message_delay_s, energy=settings.energy, progress=progress, compiling=compiling,
        )  # fmt: skip
        return placed, result

    if flows:
        placed, result = run_workflows(workloads, flows, settings.workflow_rules, simulated)
    else:
        placed, result = simulated(workloads)
    result = _without_ranks(with_reasons(result, placed.reasons), placed.workload)
    return _told(settings, placed.workload, result, name, read_s, states)


def _told(
    settings: Settings, workload: Workload, result: Result, name: str, read_s: float, states: bool,
    fault: RunError | None = None,
) -> Simulated:  # fmt: skip
    files = " ".join((*settings.workloads, *(file for file, _ in settings.workflows)))
    config = {**result.config, "workload": files, "platform": settings.platform, "policy": name}
    result = replace(result, policy=name, config=config)
    began = perf_counter()
    outputs = outputs_of(workload, result, states=states)
    if fault is not None:
        outputs = replace(outputs, schedule_v5={"partial": str(fault), **outputs.schedule_v5})
    result.timing.update(read_s=read_s, outputs_s=perf_counter() - began)
    return Simulated(workload, result, outputs, fault)


def _run_outside(
    settings: Settings,
    outside: Elsewhere,
    states: bool,
    progress: Callable[[int, int], None] | None,
    compiling: Callable[[], AbstractContextManager[None]],
    reading: Callable[[str], AbstractContextManager[object]],
    note: Callable[[str], None] | None,
) -> Simulated:
    """The same with a scheduler that is another program: it is told of every job, and free fields are its business."""
    began = perf_counter()
    _refuse_with_outside(settings)
    workloads, _, platform = _inputs(settings, reading, note)
    # Whoever is elsewhere may register all jobs.
    jobs = put_together(workloads) if workloads else Workload(pl.DataFrame(schema=_NO_JOBS), name="no workload")
    events = read_events(*settings.events, forward_unknown=settings.forward_unknown_events)
    closures = closures_of(events, platform.machine_count)
    read_s = perf_counter() - began
    jobs = open_table(replace(jobs, profiles=dict(jobs.profiles)))
    jobs = replace(jobs, table=jobs.table.drop("depends_on", "licences", strict=False))
    contention = with_any_storage(_contention(settings), jobs, platform)
    talk = Conversation(
        outside.open_line, replace(outside.terms, shares_machines=settings.shares_machines,
                                   forward_unknown_events=settings.forward_unknown_events),
        tuple(settings.workloads), contention, tuple(settings.storages), events, settings.message_delay_s,
        settings.power or (Switches if settings.energy else None),
    )  # fmt: skip
    result = simulate(
        jobs, platform, talk, seed=settings.seed, kill_at_walltime=True,
        outages=closures if closures.listed else None, on_loss="keep", contention=contention, keeps_all=True,
        energy=settings.energy, progress=progress, compiling=compiling,
    )  # fmt: skip
    assert talk.workload is not None
    result = _without_ranks(result, jobs)
    result.timing.update(talk.timing)
    result = replace(result, notes=(*result.notes, *talk.notes))
    if talk.fault is not None:
        told = f"partial: the run broke off, and only jobs that had ended by then are told of ({talk.fault})"
        result = replace(result, notes=(*result.notes, told), config={**result.config, "partial": str(talk.fault)})
    return _told(settings, talk.workload, result, outside.name, read_s, states, talk.fault)


def _refuse_with_outside(settings: Settings) -> None:
    """Complain of what only a scheduler in the same process can have."""
    if settings.workflows:
        raise InputError(
            f"--workflow {settings.workflows[0][0]}: workflows are run with a scheduler of --policy only; for one that "
            "is another program, give their tasks as jobs with -w"
        )
    if settings.allocate != "machines":
        raise InputError(
            f"--allocate {settings.allocate}: a scheduler that is another program names machines; leave it out, or "
            "name a scheduler with --policy"
        )


def _without_ranks(result: Result, workload: Workload) -> Result:
    """A result whose rejected jobs have a line only where the reader found it.

    Jobs are numbered in the order of their submission, which decides ties and is no line of their file.
    """
    has_line = pl.col("job_id").is_in(workload.rejected["job_id"].to_list())
    return replace(result, rejected=result.rejected.with_columns(line=pl.when(has_line).then("line")))


def _contention(settings: Settings) -> Contention:
    return Contention(
        settings.sharing, settings.gamma, dict(settings.storages), strict=settings.walltime_rule == "v4",
        records_use=settings.records_use, smpi_network=settings.smpi_network,
    )  # fmt: skip


def _inputs(
    settings: Settings,
    reading: Callable[[str], AbstractContextManager[object]],
    note: Callable[[str], None] | None,
) -> tuple[list[Workload], list[Flow], Platform]:
    workloads = read_jobs(settings.workloads, reading, alone=not settings.workflows)
    flows = read_flows(settings.workflows, reading)
    limit = machine_limit(settings.mmax, settings.mmax_workload, workloads)
    platform = read_machines(
        settings.platform, master=settings.master, roles=settings.roles, host_order=settings.host_order, limit=limit,
        missing_routes=settings.missing_routes, note=note,
    )  # fmt: skip
    _check_storages(settings.storages, platform)
    platform = replace(platform, licences=dict(settings.licences))
    if settings.allocate == "cores":
        platform = with_cores(platform)
    jobs = sum(map(len, workloads)) + sum(len(flow.tasks) for flow in flows)
    return workloads, flows, _shared(platform, jobs) if settings.shares_machines else platform


def _shared(platform: Platform, jobs: int) -> Platform:
    """The platform with machines that have room for several jobs at once, those with the fewest taken first."""
    slots = max(1, min(jobs, _MOST_AT_ONCE))
    groups = tuple(replace(group, machine=replace(group.machine, cores=slots)) for group in platform.groups)
    return replace(platform, groups=groups, selection="worst")


def _check_storages(storages: Mapping[str, str], platform: Platform) -> None:
    hosts = () if platform.network is None else platform.network.hosts
    known = {host.name for host in hosts if host.role == "storage"}
    for label, host in storages.items():
        if host not in known:
            listed = ", ".join(sorted(map(shown, known))) or "none"
            raise InputError(
                f"--storage-mapping {shown(label)}={shown(host)}: no such host has the role storage; those are: "
                f"{listed}"
            )
