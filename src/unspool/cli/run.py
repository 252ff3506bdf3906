"""`unspool run`: replay a log under one policy or several, and compare them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

from cyclopts import Parameter

from unspool.cli.blame import blaming
from unspool.cli.comparison import print_comparison
from unspool.cli.config import RunConfig, assigned, read_config, vet_policies
from unspool.cli.files import in_results, platform_named, platform_of_log, read_log, tell_reasons
from unspool.cli.options import LogFormat, Untrusted
from unspool.cli.output import Announcement, Progress, compiling_announcement, counted, note, print_json, where_written
from unspool.model.platform import Platform
from unspool.model.workload import Workload
from unspool.platforms import refuse_missing_routes
from unspool.plugins import build
from unspool.report.run import write_run_report
from unspool.results.result import Result
from unspool.results.run import run as simulate
from unspool.results.store import REPORT, check_free, write_folder, write_json, write_result
from unspool.workloads.sample import SAMPLE, read_sample

__all__ = ["run"]


def run(
    workload: str | None = None,
    /,
    *,
    platform: Annotated[str | None, Parameter(name=["--platform", "-p"], allow_leading_hyphen=True)] = None,
    catalogue: str | None = None,
    missing_routes: str | None = None,
    policy: Annotated[list[str] | None, Parameter(negative=())] = None,
    config: Annotated[Path | None, Parameter(name=["--config", "-c"])] = None,
    set_: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    seed: int | None = None,
    select: str | None = None,
    kill_at_walltime: Annotated[bool | None, Parameter(negative=())] = None,
    outages: str | None = None,
    on_loss: str | None = None,
    energy: Annotated[bool | None, Parameter(name=["--energy", "-E"], negative=())] = None,
    format: LogFormat = None,
    columns: Annotated[list[str] | None, Parameter(negative=())] = None,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    force: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    csv: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    json: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    strict: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    no_report: Annotated[bool, Parameter(name="--no-report", negative=(), show_default=False)] = False,
    debug: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    untrusted: Untrusted = False,
) -> int:
    """Replay a log under one policy or several, and compare them.

    With no log, a bundled sample is replayed.

    Parameters
    ----------
    workload
        The log, of any format (see: unspool plugins formats), packed with gzip or not.
    platform
        Where it runs: 480 (a pool of cores), 128x16 (machines x cores), 128x16:64GiB:2gpu, or a YAML, TOML, JSON or XML
        file; a configuration of unspool cost too. Without it, as many cores as the log says that its machine had.
    catalogue
        Instance types and prices for such a configuration; without it, those that ship.
    missing_routes
        What happens on a platform of SimGrid (XML) when a job sends between two hosts without a route: refuse, the run
        fails; free, the bytes take no time, as in SimGrid. Default: refuse.
    policy
        A scheduler by name (see: unspool plugins). Give the option once for each that is to be compared. Default: easy,
        in a cloud cheapest-fit.
        As module:Name, a function or class of your own, also from a file in this folder.
    config
        A TOML file with settings; run.toml of an earlier result repeats that run.
        What stands on the command line wins.
    set_
        One setting as KEY=VALUE, as it would stand in the file: workload, platform, catalogue, missing_routes,
        policy, seed, selection, kill_at_walltime, outages, on_loss, energy, format or columns.
    seed
        For policies that draw random numbers. Default: 0.
    select
        How machines are chosen: first, best, worst, contiguous, spread, pack, nearby or local.
    kill_at_walltime
        End jobs at the walltime that they asked for; otherwise they run as long as the log says.
    outages
        When machines are down: mtbf=30d,repair=4h draws failures for each (shape=0.7 makes them come in clusters), or
        a CSV file with machine,down_time,up_time lists them.
    on_loss
        What becomes of jobs on a lost machine: requeue, kill, resume:1h from checkpoints an hour apart, or keep: they
        go on, and the machine is closed to others. Default: requeue.
    energy
        What machines and jobs draw; machines need watts. Policies with sleep_after or power_cap ask for it themselves.
    columns
        For CSV and Parquet, our column = the file's, as in run_time=duration.
    out
        Folder for the results: tables as Parquet, summary.json, run.toml, and report.html, a page for people (none
        with --json). With several policies, one folder each, and one page.
    force
        Replace the results that are there. A folder with anything else in it is never replaced.
    csv
        Write the tables as CSV as well.
    json
        Print the summary as JSON (with several policies, a list).
    strict
        Exit with 2 if any record or job was rejected.
    no_report
        Do not write report.html.
    debug
        Show the traceback if a policy of your own fails.
    """
    given = {
        "workload": workload, "platform": platform, "catalogue": catalogue,
        "missing_routes": missing_routes, "policy": policy, "seed": seed,
        "selection": select, "kill_at_walltime": kill_at_walltime, "outages": outages, "on_loss": on_loss,
        "energy": energy, "format": format, "columns": columns,
    }  # fmt: skip
    settings = read_config(config, set_ or [], given)
    has_report = not (no_report or json)
    if out is not None:
        check_free(out, force=force)
    where = _named(settings)
    names = settings.policies("easy" if where is None or where.cloud is None else "cheapest-fit")
    set_keys = {assigned(text, "--set", "seed=1")[0] for text in set_ or ()}
    given_keys = {name for name, value in given.items() if value is not None} | set_keys
    vet_policies(settings, dict.fromkeys(names), config, given_keys, untrusted=untrusted)
    schedulers = {name: build("schedulers", name) for name in names}
    for name, times in Counter(names).items():
        if times > 1:
            note(f"policy '{name}' is given {times} times: run once")
    began = perf_counter()
    jobs = _read_jobs(settings)
    read_s = perf_counter() - began
    where = _settled(where, settings, jobs)
    results = _simulated(jobs, where, schedulers, settings, debug=debug)
    for result in results:
        result.timing["read_s"] = read_s
    if out is not None:
        with Announcement(f"writing {out} …"):
            _write(results, out, force=force, csv=csv, report=has_report)
    for text in results[0].notes[len(jobs.notes) :]:
        note(text)
    _tell_rejected(results)
    if json:
        print_json(results[0].summary if len(results) == 1 else [result.summary for result in results])
    else:
        print_comparison(results)
    if out is not None:
        note(where_written(out, report=has_report))
    return 2 if strict and any(len(result.rejected) for result in results) else 0


def _read_jobs(settings: RunConfig) -> Workload:
    if settings.workload is None:
        note(f"no log given: replaying the bundled sample {SAMPLE}")
        return read_sample()
    return read_log(settings.workload, settings.format, settings.column_map())


def _named(settings: RunConfig) -> Platform | None:
    if settings.platform is None:
        refuse_missing_routes(settings.missing_routes)
        return None
    return platform_named(str(settings.platform), settings.catalogue, settings.missing_routes)


def _settled(where: Platform | None, settings: RunConfig, jobs: Workload) -> Platform:
    where = where or platform_of_log(jobs)
    return replace(where, selection=settings.selection) if settings.selection else where


def _simulated(
    jobs: Workload, where: Platform, schedulers: Mapping[str, Any], settings: RunConfig, *, debug: bool
) -> list[Result]:
    compiling = compiling_announcement()
    results = []
    for name, scheduler in schedulers.items():
        progress = Progress(name)
        try:
            with blaming(name, scheduler, debug=debug):
                result = simulate(
                    jobs,
                    where,
                    scheduler,
                    seed=settings.seed,
                    kill_at_walltime=settings.kill_at_walltime,
                    outages=settings.outages,
                    on_loss=settings.on_loss,
                    energy=settings.energy,
                    progress=progress,
                    compiling=lambda: compiling,
                )
        finally:
            progress.clear()
        config = {"platform": where.name, **settings.resolved(), "policy": name}
        config |= {"energy": True} if result.power is not None else {}
        results.append(replace(result, policy=name, config=config))
    return results


def _write(results: list[Result], out: Path, *, force: bool, csv: bool, report: bool) -> None:
    def fill(folder: Path) -> None:
        if report:
            write_run_report(results, folder / REPORT)
        if len(results) == 1:
            write_result(results[0], folder, csv=csv)
            return
        for name, result in zip(_folder_names(results), results, strict=True):
            write_result(result, folder / name, csv=csv)
        write_json(folder / "comparison.json", [result.summary for result in results])

    write_folder(out, fill, force=force)


def _folder_names(results: list[Result]) -> list[str]:
    """A name for each result's folder: its policy's, with what a file system may not take replaced."""
    names: list[str] = []
    for result in results:
        plain = "".join(c if c.isalnum() or c in "-_.=" else "-" for c in result.policy)[:80]
        names.append(plain if plain not in names else f"{plain}-{len(names) + 1}")
    return names


def _tell_rejected(results: list[Result]) -> None:
    """What was rejected, for the first policy, and for those after it that rejected something else."""
    for at, result in enumerate(results):
        rejected = result.rejected
        if not len(rejected) or (at and rejected.equals(results[0].rejected)):
            continue
        records, jobs = result.counts["rejected_records"], result.counts["rejected_jobs"]
        told = [counted(records, "record") + " of the log"] * (records > 0) + [counted(jobs, "job")] * (jobs > 0)
        note(f"rejected{f' under {result.policy}' if at else ''}: {', '.join(told)}")
        tell_reasons(rejected, in_results("rejected.parquet"))
