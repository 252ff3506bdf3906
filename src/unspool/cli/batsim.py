"""`unspool batsim`: simulate jobs on a platform, with Batsim's files and options."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

from cyclopts import Parameter

from unspool.cli.batsim_options import Others, Socket, context_of, outside_of, refuse_others
from unspool.cli.blame import blaming
from unspool.cli.comparison import print_comparison
from unspool.cli.files import in_results, tell_reasons
from unspool.cli.options import Flag, Seed, Untrusted, command_of
from unspool.cli.output import (
    Announcement,
    Progress,
    compiling_announcement,
    counted,
    note,
    print_json,
    reading,
    where_written,
)
from unspool.errors import InputError
from unspool.faces.batsim.outputs import MOST_TRACED, check_prefix, write_outputs, write_schedule_trace
from unspool.faces.batsim.running import ONE_BY_ONE, Settings, Simulated, build_policy, run_batsim
from unspool.faces.batsim.settings import (
    ALLOCATIONS,
    HOST_ORDERS,
    SHARINGS,
    SMPI_NETWORKS,
    VERBOSITIES,
    WALLTIME_RULES,
    at_least_0,
    one_of,
    parse_counts,
    parse_roles,
    parse_simgrid,
    parse_storages,
)  # fmt: skip
from unspool.faces.batsim.workflows import Rules
from unspool.model.network import MISSING_ROUTES
from unspool.report.run import COMMAND, write_run_report
from unspool.results.store import REPORT, check_free, write_folder, write_json, write_result
from unspool.trust import vet

__all__ = ["batsim"]

Many = Parameter(negative=(), show_default=False)


def batsim(
    *,
    platform: Annotated[str | None, Parameter(name=["--platform", "-p"])] = None,
    workload: Annotated[list[str] | None, Parameter(name=["--workload", "-w"], negative=())] = None,
    policy: str | None = None,
    export: Annotated[str, Parameter(name=["--export", "-e"])] = "out",
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    force: Annotated[bool, Flag] = False,
    json: Annotated[bool, Flag] = False,
    seed: Seed = 0,
    master_host: Annotated[str | None, Parameter(name=["--master-host", "-m"])] = None,
    add_role_to_hosts: Annotated[list[str] | None, Parameter(name=["--add-role-to-hosts", "-r"], negative=())] = None,
    host_order: str = "natural",
    missing_routes: str = "refuse",
    mmax: Annotated[int, Parameter(allow_leading_hyphen=True)] = 0,
    mmax_workload: Annotated[bool, Flag] = False,
    licences: str | None = None,
    storage_mapping: str | None = None,
    sharing: str = "simgrid",
    smpi_network: str = "batsim",
    walltime_rule: str = "v4",
    events: Annotated[list[str] | None, Many] = None,
    forward_unknown_events: Annotated[bool, Flag] = False,
    enable_compute_sharing: Annotated[bool, Flag] = False,
    allocate: str = "machines",
    message_delay: float = 0.0,
    workflow: Annotated[list[str] | None, Parameter(name=["--workflow", "-W"], negative=())] = None,
    workflow_start: Annotated[
        list[tuple[str, float]] | None, Parameter(name=["--workflow-start", "--WS"], negative=())
    ] = None,
    workflow_jobs_limit: Annotated[int, Parameter(allow_leading_hyphen=True)] = 0,
    ignore_beyond_last_workflow: Annotated[bool, Flag] = False,
    energy: Annotated[bool, Parameter(name=["--energy", "-E"], negative=(), show_default=False)] = False,
    no_sched: Annotated[bool, Parameter(name="--no-sched", negative=(), show_default=False)] = False,
    sg_cfg: Annotated[list[str] | None, Many] = None,
    disable_schedule_tracing: Annotated[bool, Flag] = False,
    disable_machine_state_tracing: Annotated[bool, Flag] = False,
    verbosity: Annotated[str, Parameter(name=["--verbosity", "-v"])] = "information",
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=(), show_default=False)] = False,
    dump_execution_context: Annotated[bool, Flag] = False,
    no_report: Annotated[bool, Parameter(name="--no-report", negative=(), show_default=False)] = False,
    untrusted: Untrusted = False,
    socket: Annotated[Socket | None, Parameter(name="*")] = None,
    others: Annotated[Others | None, Parameter(name="*")] = None,
) -> int:
    """Simulate jobs on a platform, with Batsim's files and options.

    For example: unspool batsim -p platform.xml -w workload.json -e out --policy easy

    Files are PREFIX_jobs.csv, PREFIX_schedule.csv, PREFIX_machine_states.csv and PREFIX_schedule.trace as Batsim 4
    writes them, and PREFIX_schedule.json as Batsim 5 does; those that are there are replaced.

    Parameters
    ----------
    platform
        The platform, XML of SimGrid.
    workload
        A workload of Batsim, JSON of version 4 or 5. Give the option once for each: they are w0, w1 and so on.
    policy
        A scheduler by name (see: unspool plugins schedulers), or file.py:Name for one of your own. Default: fcfs.
    export
        Prefix of the files; after a slash, as in out/, they have no prefix and are in that folder.
    out
        Folder for our own results too: tables as Parquet, summary.json, batsim.json, run.toml, and report.html, a page
        for people (none with --json).
    force
        Replace the results in that folder.
    json
        Print the figures as JSON, with the time that the command itself took.
    seed
        For policies that draw random numbers.
    master_host
        Name of the host that manages and runs no jobs. Default: master_host, if there is one.
    add_role_to_hosts
        Hosts and their role, as in h1,h2:storage; a role is master, storage or compute_node. Once for each role.
    host_order
        How machines are numbered: natural (a2 before a10), or text (a10 before a2), as Batsim 4 does.
    missing_routes
        What happens when a job sends between two hosts without a route: refuse, the run fails; free, the bytes take no
        time, as in Batsim.
    mmax
        Use only so many machines, the first ones; 0 for all.
    mmax_workload
        Use only as many machines as the workloads' nb_res says; with --mmax too, the smaller number.
    licences
        How many licences there are, as in matlab:4,cad:1; jobs ask for them in the field licenses.
    storage_mapping
        Which host each storage label of profiles is, as in pfs=nas1,scratch=nas2.
    sharing
        How tasks share processors and links: simgrid, as Batsim has it, or clean, without its oddities.
    smpi_network
        How messages of SMPI traces share links: batsim, as its tasks do, or smpirun, by the rules that smpirun sets.
    walltime_rule
        Whether work that takes exactly its walltime is cut off: v4, a delay is and a task is not; plain, neither is.
    events
        A file of events: machines that become unavailable for new jobs, and available again. May be given often.
    forward_unknown_events
        Let other types of events pass; built-in schedulers do not look at them.
    enable_compute_sharing
        Several jobs may be on one machine; those with the fewest are taken first.
    allocate
        What the res of a job counts: machines, each given whole, as Batsim does; or cores, so that jobs share the hosts
        that have several, each core with one job.
    message_delay
        Seconds from whatever happens until the scheduler hears of it and decides; all else takes no time.
    workflow
        A workflow, DAX of Pegasus or JSON of WfCommons; a task is submitted when those that it waits for have ended.
        Give the option once for each: they are wf0, wf1 and so on.
    workflow_start
        A workflow and the time at which it begins, as in --WS flow.dax 3600; these are wfc0, wfc1 and so on.
    workflow_jobs_limit
        So many tasks of a workflow may be submitted and not over; 0 for any.
    ignore_beyond_last_workflow
        Leave out jobs that are submitted after the end of the last workflow.
    energy
        What machines and jobs draw: hosts need the property wattage_per_state. Writes PREFIX_consumed_energy.csv and
        PREFIX_pstate_changes.csv too.
    no_sched
        No scheduler: jobs in the order of submission, one after the other, each alone.
    sg_cfg
        A setting of SimGrid as name:value; network/TCP-gamma can be changed, others only be what they are anyway.
    disable_schedule_tracing
        Do not write PREFIX_schedule.trace, the machines over time as Pajé has them.
    disable_machine_state_tracing
        Do not write PREFIX_machine_states.csv.
    verbosity
        quiet, network-only, information or debug.
    quiet
        The same as --verbosity quiet: only errors are told.
    dump_execution_context
        Print where the scheduler is looked for and the prefix of the files as JSON, and do nothing else.
    no_report
        Do not write report.html.
    """
    command = command_of(batsim, dict(locals()), without=("others", "force", "untrusted"))
    is_quiet = one_of("--verbosity", verbosity, VERBOSITIES) == "quiet" or quiet
    given = others or Others()
    if dump_execution_context:
        print_json(context_of(given, socket or Socket(), export))
        return 0
    refuse_others(given)
    if platform is None:
        raise InputError("no platform given; say: unspool batsim -p PLATFORM.xml -w WORKLOAD.json")
    outside = outside_of(socket or Socket(), ONE_BY_ONE if no_sched else policy)
    has_jobs = workload or workflow or workflow_start
    if not has_jobs and not (outside is not None and outside.terms.enable_dynamic_jobs):
        raise InputError("no workload given; say: unspool batsim -p PLATFORM.xml -w WORKLOAD.json")
    if policy is not None:
        vet("schedulers", policy, None, untrusted=untrusted)
    settings = Settings(
        platform=platform,
        workloads=workload or (),
        policy=ONE_BY_ONE if no_sched else policy or "fcfs",
        seed=seed,
        mmax=mmax,
        mmax_workload=mmax_workload,
        master=master_host,
        roles=parse_roles(add_role_to_hosts or []),
        host_order=one_of("--host-order", host_order, HOST_ORDERS),
        missing_routes=one_of("--missing-routes", missing_routes, MISSING_ROUTES),
        licences={} if licences is None else parse_counts(licences),
        storages={} if storage_mapping is None else parse_storages(storage_mapping),
        sharing=one_of("--sharing", sharing, SHARINGS),
        gamma=parse_simgrid(sg_cfg or []).gamma,
        smpi_network=one_of("--smpi-network", smpi_network, SMPI_NETWORKS),
        walltime_rule=one_of("--walltime-rule", walltime_rule, WALLTIME_RULES),
        events=events or (),
        forward_unknown_events=forward_unknown_events,
        shares_machines=enable_compute_sharing,
        message_delay_s=at_least_0("--message-delay", message_delay),
        records_use=out is not None,
        workflows=(
            *((file, None) for file in workflow or ()),
            *((file, at_least_0("--workflow-start", time)) for file, time in workflow_start or ()),
        ),
        workflow_rules=Rules(workflow_jobs_limit, ignore_beyond_last_workflow),
        energy=energy,
        allocate=one_of("--allocate", allocate, ALLOCATIONS),
        outside=outside,
    )
    check_prefix(export)
    if out is not None:
        check_free(out, force=force)
    began = perf_counter()
    states = not disable_machine_state_tracing
    found = _simulated(settings, states=states, is_quiet=is_quiet)
    found = replace(found, result=replace(found.result, config={**found.result.config, COMMAND: command}))
    report = not (no_report or json)
    files: list[str] = []
    # A scheduler that never began must not cost anybody the files of an earlier run.
    is_told = found.fault is None or len(found.outputs.jobs) > 0
    if is_told:
        files += _written(found, export, out, states=states, force=force, report=report)
    if is_told and not disable_schedule_tracing:
        files += _traced(found, export, is_quiet=is_quiet)
    result = found.result
    result.timing["total_s"] = perf_counter() - began
    if json:
        print_json({**result.summary, **_figures(found), "files": files})
    if not is_quiet:
        _tell(found, files, is_json=json, out=out if is_told else None, report=report)
    if found.fault is not None:
        raise found.fault
    return 0


def _simulated(settings: Settings, *, states: bool, is_quiet: bool) -> Simulated:
    compiling = compiling_announcement()
    name = str(settings.policy) if settings.outside is None else settings.outside.name
    blamed = nullcontext() if settings.outside is not None else blaming(name, build_policy(name))
    with Progress(name) as progress, blamed:
        return run_batsim(
            settings,
            states=states,
            progress=None if is_quiet else progress,
            compiling=lambda: compiling,
            reading=nullcontext if is_quiet else reading,
            note=None if is_quiet else note,
        )


def _written(found: Simulated, export: str, out: Path | None, *, states: bool, force: bool, report: bool) -> list[str]:
    began = perf_counter()
    with Announcement(f"writing {export}_jobs.csv …"):
        files = [str(path) for path in write_outputs(found.outputs, export, states=states)]
    found.result.timing["files_s"] = perf_counter() - began
    if out is not None:
        with Announcement(f"writing {out} …"):
            write_folder(out, lambda into: _fill(found, into, report=report), force=force)
    return files


def _traced(found: Simulated, export: str, *, is_quiet: bool) -> list[str]:
    with Announcement(f"writing {export}_schedule.trace …"):
        path = write_schedule_trace(found.result, export)
    if path is None and not is_quiet:
        note(f"no Pajé trace: it has more than {MOST_TRACED:,} changes of machines; with -o OUT: convert OUT run.paje")
    return [] if path is None else [str(path)]


def _fill(found: Simulated, folder: Path, *, report: bool) -> None:
    if report:
        write_run_report([found.result], folder / REPORT)
    write_result(found.result, folder)
    write_json(folder / "batsim.json", _figures(found))


def _figures(found: Simulated) -> dict[str, Any]:
    partial = {} if found.fault is None else {"partial": str(found.fault)}
    return {**partial, "batsim": dict(found.outputs.schedule_v5), "corrected": dict(found.outputs.corrected)}


def _tell(found: Simulated, files: list[str], *, is_json: bool, out: Path | None, report: bool) -> None:
    result = found.result
    for text in result.notes:
        note(text)
    if len(result.rejected):
        note(f"rejected: {counted(len(result.rejected), 'job')}")
        tell_reasons(result.rejected, in_results("rejected.parquet"))
    if not is_json:
        print_comparison([result])
    figures = found.outputs.schedule
    if figures["nb_jobs_killed"]:
        note(f"not successful: {counted(figures['nb_jobs_killed'], 'job')} (walltime reached, failed or killed)")
    note(f"files: {', '.join(files) or 'none, since no job had ended or been rejected'}")
    if out is not None:
        note(where_written(out, report=report))
