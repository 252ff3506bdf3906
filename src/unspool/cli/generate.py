"""`unspool generate`: make a log after a model, or like another log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from cyclopts import App, Parameter

from unspool.cli.config import RunConfig
from unspool.cli.options import Flag, LogFormat, Seed, TargetFormat
from unspool.cli.output import Announcement, counted, note, print_json, print_table, reading
from unspool.errors import InputError
from unspool.model.workload import Workload
from unspool.units import format_duration, format_number, parse_duration
from unspool.workloads import generators, read_workload, write_workload
from unspool.workloads.clock import unix_of_date
from unspool.workloads.files import refuse_existing
from unspool.workloads.generators.recodex import FIRST_DAY_UNIX_S
from unspool.workloads.likeness import likeness

__all__ = ["generate"]

generate = App(
    name="generate",
    help="Make a log after a model, or like another log.",
    help_epilogue="unspool generate lublin log.swf --cores 480 --load 0.8\n"
    "unspool generate poisson log.csv --rate 0.1 --mean-run-time 5min\n"
    "unspool generate fitted log.swf --from other.swf --jobs 20000\n"
    "unspool generate recodex data.csv.gz --jobs 20000 --refs refs.csv",
    help_format="plaintext",
)


_REFUSED = re.compile(r"generator: (\w+) is ")  # how generators complain of a parameter
_OPTIONS = {
    "rate_per_s": "--rate", "mean_run_time_s": "--mean-run-time", "weekend_weight": "--weekend",
    "duration_s": "--duration", "origin_unix_s": "--start",
}  # fmt: skip


@contextmanager
def _by_option() -> Iterator[None]:
    """What a generator complains of by its parameter's name is told by that of the option."""
    try:
        yield
    except InputError as error:
        refused = _REFUSED.match(str(error))
        if refused is None:
            raise
        raise InputError(f"{_option(refused[1])} is {str(error)[refused.end() :]}") from error


def _option(parameter: str) -> str:
    return _OPTIONS.get(parameter, f"--{parameter.replace('_', '-')}")


@generate.command
def lublin(
    out: Path,
    /,
    *,
    cores: int,
    jobs: int = 10_000,
    load: float = 0.8,
    max_cores: int | None = None,
    weekend: float = 1.0,
    start: str | None = None,
    no_daily_cycle: Annotated[bool, Flag] = False,
    seed: Seed = 0,
    to: TargetFormat = None,
    force: Annotated[bool, Flag] = False,
    json: Annotated[bool, Flag] = False,
) -> int:
    """A supercomputer's log after Lublin and Feitelson (2003), with users and round walltimes.

    Example: unspool generate lublin log.swf --cores 480 --load 0.8 --weekend 0.5 --start 2024-01-01 --seed 1

    Parameters
    ----------
    out
        The file to write; its ending tells the format.
    cores
        Cores of the machine.
    jobs
        Number of jobs.
    load
        Work of all jobs over what the machine can do from the first to the last arrival.
    max_cores
        Largest job; all cores if left out.
    weekend
        Jobs on a Saturday or Sunday for each one of a working day.
    start
        Date on which the log begins, at midnight UTC.
    no_daily_cycle
        Arrivals do not depend on the hour.
    seed
        The same seed gives the same log.
    force
        Replace the file if it exists.
    json
        Print JSON.
    """
    refuse_existing(out, force=force)
    with _by_option(), Announcement(f"generating {out} …"):
        log = generators.lublin(
            jobs, cores, load, seed, max_cores, not no_daily_cycle, weekend, unix_of_date(start) if start else 0.0
        )
    return _write(log, out, to, force, json)


@generate.command
def poisson(
    out: Path,
    /,
    *,
    rate: float,
    mean_run_time: str,
    jobs: int = 10_000,
    cores: int = 1,
    seed: Seed = 0,
    to: TargetFormat = None,
    force: Annotated[bool, Flag] = False,
    json: Annotated[bool, Flag] = False,
) -> int:
    """Jobs of one size with Poisson arrivals and exponential run times, as queueing theory has them.

    Example: unspool generate poisson log.csv --rate 0.1 --mean-run-time 5min --jobs 100000

    Parameters
    ----------
    out
        The file to write; its ending tells the format.
    rate
        Jobs a second.
    mean_run_time
        Mean run time: seconds, or a duration such as 5min.
    jobs
        Number of jobs.
    cores
        Cores of every job.
    seed
        The same seed gives the same log.
    force
        Replace the file if it exists.
    json
        Print JSON.
    """
    refuse_existing(out, force=force)
    with _by_option(), Announcement(f"generating {out} …"):
        log = generators.poisson(jobs, rate, parse_duration(mean_run_time), cores, seed)
    return _write(log, out, to, force, json)


@generate.command
def fitted(
    out: Path,
    /,
    *,
    source: Annotated[Path | None, Parameter(name="--from")] = None,
    model: Path | None = None,
    jobs: int | None = None,
    duration: str | None = None,
    save_model: Path | None = None,
    seed: Seed = 0,
    format: LogFormat = None,
    columns: Annotated[list[str] | None, Parameter(negative=())] = None,
    to: TargetFormat = None,
    force: Annotated[bool, Flag] = False,
    strict: Annotated[bool, Flag] = False,
    json: Annotated[bool, Flag] = False,
) -> int:
    """A log like another one, and a table of how like it is.

    Example: unspool generate fitted log.swf --from other.swf --duration 30d --save-model other.json

    Parameters
    ----------
    out
        The file to write; its ending tells the format.
    source
        The log that is fitted.
    model
        A model that --save-model wrote, instead of a log.
    jobs
        Number of jobs; as many as the log has if left out.
    duration
        Length of the log instead, such as 30d.
    save_model
        Write the fitted model to this file, as JSON.
    seed
        The same seed gives the same log.
    columns
        For CSV and Parquet, our column = the file's, as in run_time=duration.
    force
        Replace files if they exist.
    strict
        Exit with 2 if the log is not alike in some aspect.
    json
        Print JSON.
    """
    if (source is None) == (model is None):
        raise InputError("generate fitted: give a log with --from, or a saved model with --model, and not both")
    for path in filter(None, (out, save_model)):
        refuse_existing(path, force=force)
    original = None
    if source is not None:
        with reading(source):
            original = read_workload(source, format, RunConfig(columns=columns or []).column_map())
    with _by_option(), Announcement(f"fitting and generating {out} …"):
        fit = generators.Fitted.load(model) if original is None else generators.fit(original)  # type: ignore[arg-type]
        log = fit.generate(jobs, None if duration is None else parse_duration(duration), seed)
        table = None if original is None else likeness(original, log)
    if save_model is not None:
        fit.save(save_model, force=force)
    code = _write(log, out, to, force, json, table)
    return 2 if strict and table is not None and not table["is_like"].all() else code


@generate.command
def recodex(
    out: Path,
    /,
    *,
    jobs: int = 10_000,
    refs: Path | None = None,
    load: float = 1.0,
    start: str | None = None,
    seed: Seed = 0,
    force: Annotated[bool, Flag] = False,
    json: Annotated[bool, Flag] = False,
) -> int:
    """A code examiner's log as ReCodEx has it, and runs of reference solutions: students, deadlines, exercises.

    Example: unspool generate recodex data.csv.gz --jobs 20000 --refs refs.csv --load 1.5 --seed 1

    Parameters
    ----------
    out
        The file to write, .csv or .csv.gz.
    jobs
        Number of jobs.
    refs
        Write the reference runs to this file, .csv or .csv.gz.
    load
        Workers that the work of all jobs keeps busy from the first to the last arrival.
    start
        Date on which the log begins, at midnight UTC; 2023-10-02 if left out.
    seed
        The same seed gives the same log.
    force
        Replace files if they exist.
    json
        Print JSON.
    """
    paths = [path for path in (out, refs) if path is not None]
    for path in paths:
        if not path.name.lower().endswith((".csv", ".csv.gz")):
            raise InputError(f"{path}: a log of ReCodEx is CSV; give it a name that ends in .csv or .csv.gz")
        refuse_existing(path, force=force)
    if refs is not None and refs.resolve() == out.resolve():
        raise InputError(f"{out}: jobs and reference runs cannot be one file; give --refs another name")
    with _by_option(), Announcement(f"generating {out} …"):
        log = generators.recodex(jobs, seed, load, unix_of_date(start) if start else FIRST_DAY_UNIX_S)
        for path, table in zip(paths, log, strict=False):
            generators.write_recodex(table, path, force=force)
    return _tell_recodex(log, out, refs, json)


def _tell_recodex(log: generators.Recodex, out: Path, refs: Path | None, json: bool) -> int:
    """Say what was written."""
    spawn, work_s = log.jobs["spawn_ts"], float(log.jobs["duration"].sum())
    span_s = float(spawn[-1] - spawn[0])
    facts = {
        "file": str(out),
        "jobs": len(log.jobs),
        "span_s": span_s,
        "work_s": work_s,
        "offered_load": work_s / span_s if span_s else None,
        "exercises": log.jobs["exercise_id"].n_unique(),
        "users": log.jobs["user_id"].n_unique(),
        "refs_file": None if refs is None else str(refs),
        "refs": None if refs is None else len(log.refs),
    }
    load = "" if facts["offered_load"] is None else f"{facts['offered_load']:.3g}"
    busy = f", keeping {load} worker{'' if load == '1' else 's'} busy" if load else ""
    note(f"{out}: {counted(len(log.jobs), 'job')} over {format_duration(span_s)} written{busy}")
    if refs is not None:
        note(f"{refs}: {counted(len(log.refs), 'reference run')} written")
    if json:
        print_json(facts)
    return 0


def _write(log: Workload, out: Path, to: str | None, force: bool, json: bool, like: pl.DataFrame | None = None) -> int:
    """Write the log, and say what it is and how like."""
    with Announcement(f"writing {out} …"):
        lost = write_workload(log, out, to, force=force)
    for text in (*log.notes, *lost):
        note(text)
    span_s = float(log.table["submit_time"][-1]) - float(log.table["submit_time"][0])
    core_s = float((log.table["cores"] * log.table["run_time"]).sum())
    facts: dict[str, Any] = {
        "file": str(out),
        "name": log.name,
        "jobs": len(log),
        "span_s": span_s,
        "core_hours": core_s / 3600,
        "offered_load": core_s / (span_s * log.max_cores) if span_s and log.max_cores else None,
        "likeness": None if like is None else like.to_dicts(),
    }
    told = "" if facts["offered_load"] is None else f", offered load {facts['offered_load']:.3g}"
    note(f"{out}: {counted(len(log), 'job')} over {format_duration(span_s)} written{told}")
    if json:
        print_json(facts)
    elif like is not None:
        _print_likeness(like)
    return 0


def _print_likeness(like: pl.DataFrame) -> None:
    header = ("aspect", "original", "generated", "distance", "limit", "verdict")
    rows = [
        (
            f"{row['aspect']}: {row['figure']}",
            *("-" if row[name] is None else format_number(row[name], 4) for name in ("original", "generated")),
            f"{row['measure']} {row['distance']:.3f}",
            f"{row['limit']:g}",
            "alike" if row["is_like"] else "DIFFERENT",
        )
        for row in like.iter_rows(named=True)
    ]
    print_table(header, rows)
