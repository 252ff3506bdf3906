"""`unspool forecast`: when will the jobs that wait at a time start?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unspool.analysis.forecast import HORIZON, QUANTILES, REPLICAS, Forecast
from unspool.analysis.forecast import forecast as forecast_queue
from unspool.cli.comparison import shown_time
from unspool.cli.config import RunConfig
from unspool.cli.files import platform_named, platform_of_log, read_log
from unspool.cli.options import LogFormat, Seed, Untrusted
from unspool.cli.output import (
    Announcement,
    Progress,
    compiling_announcement,
    counted,
    note,
    print_json,
    print_table,
    print_text,
)  # fmt: skip
from unspool.errors import InputError, shown
from unspool.plugins import build
from unspool.results.spreadsheet import write_csv
from unspool.trust import vet
from unspool.units import format_duration
from unspool.workloads.files import refuse_existing, replaced

__all__ = ["forecast"]

_ROWS = 20  # jobs that are shown
_NAME = 20  # characters of a job's name that are shown


def forecast(
    workload: Path,
    /,
    *,
    at: str | None = None,
    platform: Annotated[str | None, Parameter(name=["--platform", "-p"], allow_leading_hyphen=True)] = None,
    policy: str = "easy",
    replicas: int = REPLICAS,
    quantiles: str = ",".join(map(str, QUANTILES)),
    horizon: str = HORIZON,
    seed: Seed = 0,
    kill_at_walltime: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    format: LogFormat = None,
    columns: Annotated[list[str] | None, Parameter(negative=())] = None,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    force: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    json: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    untrusted: Untrusted = False,
) -> int:
    """Say when each job will start that waits at a time, with quantiles.

    The log is replayed up to that time, and nothing in it after that is read: many futures are drawn from its past.

    Example: unspool forecast log.swf --at 30d -p 480 --policy easy --replicas 200

    Parameters
    ----------
    workload
        The log, of any format (see: unspool plugins formats), packed with gzip or not.
    at
        The time: seconds or a duration since the log's origin, or a date where that is known.
        Without it, the last submission of the log.
    platform
        Where it runs: 480 (a pool of cores), 128x16 (machines x cores), or a YAML, TOML, JSON or XML file.
        Without it, as many cores as the log says its machine had.
    policy
        A scheduler by name (see: unspool plugins), or as module:Name one of your own.
    replicas
        How many futures are drawn.
    quantiles
        Of the start of each job, separated by commas.
    horizon
        How far each future goes; jobs that start later count as not started.
    seed
        The same seed gives the same forecast.
    kill_at_walltime
        Jobs end at the walltime that they asked for.
    columns
        For CSV and Parquet, our column = the file's, as in run_time=duration.
    out
        Write the table to this file, .csv or .parquet.
    force
        Replace that file if it exists.
    json
        Print JSON.
    """
    if out is not None:
        if out.suffix not in (".csv", ".parquet"):
            raise InputError(f"{out}: a forecast is written as .csv or .parquet; name such a file")
        refuse_existing(out, force=force)
    levels = _levels(quantiles)
    vet("schedulers", policy, None, untrusted=untrusted)
    scheduler = build("schedulers", policy)
    where = None if platform is None else platform_named(platform)
    log = read_log(workload, format, RunConfig(columns=columns or []).column_map())
    where = where or platform_of_log(log)
    compiling = compiling_announcement()
    with Progress(f"forecasting under {policy}", "replicas") as progress:
        found = forecast_queue(
            log, where, scheduler, at=at, replicas=replicas, quantiles=levels, horizon=horizon, seed=seed,
            kill_at_walltime=kill_at_walltime, progress=progress, compiling=lambda: compiling, name=policy,
        )  # fmt: skip
    for text in found.notes:
        note(text)
    if found.rejected:
        note(f"{counted(found.rejected, 'job')} left out that can never run here; unspool run lists them with reasons")
    if out is not None:
        with Announcement(f"writing {out} …"), replaced(out, force=force) as file:
            write_csv(found.jobs, file) if out.suffix == ".csv" else found.jobs.write_parquet(file)
    if json:
        print_json(found.to_dict())
    else:
        _print(found)
    if out is not None:
        note(f"forecast: {out}")
    return 0


def _levels(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--quantiles {shown(text)}: expected numbers between 0 and 1, as in 0.1,0.5,0.9") from None


def _print(found: Forecast) -> None:
    """Times to come, counted from the time of the forecast: what somebody who waits asks for."""
    title = (
        f"{shown(found.workload)} on {shown(found.platform.name)} under {shown(found.policy, 40)} at "
        f"{format_duration(found.at_s)}: {counted(len(found.jobs), 'job')} waiting, {found.running:,} running"
    )
    if not len(found.jobs):
        print_text(title)
        return
    names = [name for name in found.jobs.columns if name.startswith("start_")]
    late = bool((found.jobs["share_not_started"] > 0).any())
    rows = [
        (
            shown(row["job_id"], _NAME),
            f"{row['cores']:,}",
            shown_time(row["waited_s"]),
            *("later" if row[name] is None else f"+{shown_time(row[name] - found.at_s)}" for name in names),
            *([f"{row['share_not_started']:.0%}"] if late else []),
        )
        for row in found.jobs.head(_ROWS).iter_rows(named=True)
    ]
    header = ["job", "cores", "waited", *(f"start\n{name.removeprefix('start_')}" for name in names)]
    header += [f"not in\n{shown_time(found.horizon_s)}"] * late
    print_table(header, rows, f"{title}, {counted(found.replicas, 'future')}")
    if len(found.jobs) > _ROWS:
        print_text(f"… and {counted(len(found.jobs) - _ROWS, 'more job')}; -o FILE and --json tell all")
