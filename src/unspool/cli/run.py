"""`unspool run`: replay a log under one policy or several, and compare them."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

from cyclopts import Parameter

from unspool.cli.config import RunConfig, read_config
from unspool.cli.output import Progress, announce, note, print_json, print_table
from unspool.errors import InputError
from unspool.model.platform import Platform
from unspool.model.workload import Workload
from unspool.platforms import read_platform
from unspool.plugins import build
from unspool.results.compare import comparison
from unspool.results.result import Result
from unspool.results.run import run as simulate
from unspool.results.store import check_free, write_folder, write_json, write_result
from unspool.units import format_duration
from unspool.workloads import read_workload

__all__ = ["run"]

_SAMPLE = "campus.swf.gz"
_REASONS = 3  # rejected records that are shown


def run(
    workload: str | None = None,
    /,
    *,
    platform: Annotated[str | None, Parameter(name=["--platform", "-p"])] = None,
    policy: Annotated[list[str] | None, Parameter(negative=())] = None,
    config: Annotated[Path | None, Parameter(name=["--config", "-c"])] = None,
    set_: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    seed: int | None = None,
    select: str | None = None,
    kill_at_walltime: Annotated[bool | None, Parameter(negative=())] = None,
    format: str | None = None,
    columns: Annotated[list[str] | None, Parameter(negative=())] = None,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    force: Annotated[bool, Parameter(negative=())] = False,
    csv: Annotated[bool, Parameter(negative=())] = False,
    json: Annotated[bool, Parameter(negative=())] = False,
    strict: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Replay a log under one policy or several, and compare them.

    With no log, a bundled sample is replayed.

    Parameters
    ----------
    workload
        The log: SWF, CSV or Parquet.
    platform
        Where it runs: 480 (a pool of cores), 128x16 (machines x cores), 128x16:64GiB:2gpu, or a file (YAML, TOML).
        Without it, as many cores as the log says its machine had.
    policy
        A scheduler by name (see: unspool plugins), or module:Name. Give several to compare them. Default: easy.
    config
        A file with any of these settings (run.toml of an earlier result); what stands on the command line wins.
    set_
        One setting as KEY=VALUE, as it would stand in the file.
    seed
        For policies that draw random numbers. Default: 0.
    select
        How machines are chosen: first, best, worst, contiguous, spread or pack.
    kill_at_walltime
        End jobs at the walltime that they asked for; otherwise they run as long as the log says.
    format
        Format of the log, where its name does not tell.
    columns
        For CSV and Parquet, our column = the file's, as in run_time=duration.
    out
        Folder for the results: tables as Parquet, summary.json, run.toml. With several policies, one folder each.
    force
        Replace the results that are there.
    csv
        Write the tables as CSV as well.
    json
        Print the summary as JSON (with several policies, a list).
    strict
        Exit with 2 if any record or job was rejected.
    """
    given = {
        "workload": workload, "platform": platform, "policy": policy, "seed": seed, "selection": select,
        "kill_at_walltime": kill_at_walltime, "format": format, "columns": columns,
    }  # fmt: skip
    settings = read_config(config, set_ or [], given)
    if out is not None:
        check_free(out, force=force)
    schedulers = {name: build("schedulers", name) for name in settings.policies()}
    jobs, read_s = _read_jobs(settings)
    where = _read_where(settings, jobs)
    results = []
    for name, scheduler in schedulers.items():
        with announce(f"compiling for '{name}': once for this machine and version, about 10-20 s", after_s=1.5) as _:
            progress = Progress(name)
            result = simulate(
                jobs,
                where,
                scheduler,
                seed=settings.seed,
                kill_at_walltime=settings.kill_at_walltime,
                progress=progress,
            )
            progress.clear()
        result.timing["read_s"] = read_s
        results.append(replace(result, policy=name, config={**settings.as_dict(), "policy": name}))
    if out is not None:
        _write(results, out, force=force, csv=csv)
    _tell_rejected(results[0])
    if json:
        print_json(results[0].summary if len(results) == 1 else [result.summary for result in results])
    else:
        _print_comparison(results, jobs, where)
    if out is not None:
        note(f"results: {out}")
    return 2 if strict and results[0].summary["rejected"] else 0


def _read_jobs(settings: RunConfig) -> tuple[Workload, float]:
    began = perf_counter()
    path: Any = settings.workload
    if path is None:
        path = files("unspool") / "samples" / _SAMPLE
        note(f"no log given: replaying the bundled sample {_SAMPLE}")
    with announce(f"reading {path} …"):
        jobs = read_workload(path, settings.format, settings.column_map())
    for text in jobs.notes:
        note(f"{jobs.name}: {text}")
    return jobs, perf_counter() - began


def _read_where(settings: RunConfig, jobs: Workload) -> Platform:
    if settings.platform is not None:
        where = read_platform(settings.platform)
    elif jobs.max_cores:
        where = Platform.pool(jobs.max_cores)
        note(f"no platform given: {jobs.max_cores} cores, as the log says of its machine")
    else:
        raise InputError(f"{jobs.name} does not say how large its machine was; give a platform, such as -p 480")
    return replace(where, selection=settings.selection) if settings.selection else where


def _write(results: list[Result], out: Path, *, force: bool, csv: bool) -> None:
    def fill(folder: Path) -> None:
        if len(results) == 1:
            write_result(results[0], folder, csv=csv)
            return
        for result in results:
            write_result(result, folder / _folder_name(result.policy), csv=csv)
        write_json(folder / "comparison.json", [result.summary for result in results])

    with announce(f"writing {out} …"):
        write_folder(out, fill, force=force)


def _folder_name(policy: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in policy)


def _tell_rejected(result: Result) -> None:
    for text in result.notes:
        if "job" in text and "sorted" not in text:
            note(text)
    if not len(result.rejected):
        return
    note(f"rejected: {result.counts['rejected_records']} records of the log, {result.counts['rejected_jobs']} jobs")
    for line, job_id, reason in result.rejected.head(_REASONS).rows():
        note(f"  line {line}, job {job_id}: {reason}")
    if len(result.rejected) > _REASONS:
        note(f"  … and {len(result.rejected) - _REASONS} more; all of them stand in rejected.parquet (with -o)")


def _print_comparison(results: list[Result], jobs: Workload, where: Platform) -> None:
    table = comparison(results)
    header = (
        "policy",
        "jobs",
        "rejected",
        "mean wait",
        "p95 wait",
        "max wait",
        "bounded slowdown",
        "utilisation",
        "makespan",
    )
    rows = [
        (
            row["policy"], f"{row['jobs']:,}", f"{row['rejected']:,}", *(_time(row[name]) for name in
            ("mean_wait_s", "p95_wait_s", "max_wait_s")), f"{row['mean_bounded_slowdown']:,.2f}",
            f"{row['utilisation']:.1%}", _time(row["makespan_s"]),
        )
        for row in table.iter_rows(named=True)
    ]  # fmt: skip
    print_table(header, rows, f"{jobs.name} on {where.name} ({where.cores:,} cores)")


def _time(seconds: float) -> str:
    return format_duration(round(seconds, 1 if seconds < 60 else 0))
