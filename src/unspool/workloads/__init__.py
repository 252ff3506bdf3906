"""Job logs in and out: one table of formats, one file a format."""

from __future__ import annotations

from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from inspect import signature
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

from unspool.errors import InputError, UnknownName, shown
from unspool.model.workload import Workload, is_frame
from unspool.plugins import parameters_of
from unspool.workloads import accelerator, batsim, dax, jobscsv, jsonmap, lsf, recodex, slurm, swf, table, wfcommons
from unspool.workloads.batsim_write import write_batsim
from unspool.workloads.files import AnyPath, opened
from unspool.workloads.plausibility import doubts

__all__ = ["FORMATS", "Format", "Log", "as_workload", "format_of", "read_workload", "write_workload"]

Log = Workload | str | PathLike[str] | Any
"""A log as functions take it: a `Workload`, a file, or a DataFrame of Polars or pandas with our columns."""

_START_BYTES = 1 << 16


class Format(NamedTuple):
    """A format of logs: how it is read and written, the ends of its files' names, a line of help, and how it is told.

    `write` is None where it can only be read. `recognises` says of the first bytes of a file whether it is in this
    format. A format that is a `kind_of` another shares its endings: of the files named so, its are told by content.
    """

    read: Callable[..., Workload]
    write: Callable[..., tuple[str, ...]] | None
    suffixes: tuple[str, ...]
    help: str
    recognises: Callable[[bytes], bool]
    takes_columns: bool = False
    kind_of: str | None = None


FORMATS: Mapping[str, Format] = {
    "swf": Format(
        swf.read_swf_log,
        swf.write_swf,
        (".swf", ".swf.gz"),
        "Standard Workload Format, 18 numbers a job (options: size)",
        swf.recognises,
    ),
    "slurm": Format(
        slurm.read_sacct,
        None,
        (),
        "Slurm's accounting, as sacct --parsable2 prints it; only read",
        slurm.recognises,
        kind_of="csv",
    ),
    "jobs-csv": Format(
        jobscsv.read_jobs_csv,
        jobscsv.write_jobs_csv,
        (),
        "the AWS HPC cost simulator's jobs, 24 or 27 columns (options: maxrss_unit)",
        jobscsv.recognises,
        takes_columns=True,
        kind_of="csv",
    ),
    "recodex": Format(
        recodex.read_recodex,
        None,
        (),
        "ReCodEx's jobs as Simdex reads them, 15 columns between semicolons; only read",
        recodex.recognises,
        kind_of="csv",
    ),
    "batsim": Format(
        batsim.read_batsim,
        write_batsim,
        (),
        "Batsim's workloads, JSON with jobs and profiles (options: workload; to write: profile, speed)",
        batsim.recognises,
        kind_of="json",
    ),
    "wfcommons": Format(
        wfcommons.read_wfcommons,
        None,
        (),
        "workflows of WfCommons, JSON in WfFormat 1.3 to 1.5; only read",
        wfcommons.recognises,
        kind_of="json",
    ),
    "json": Format(
        jsonmap.read_json,
        None,
        (".json", ".json.gz"),
        "an array of objects; only read (options: map)",
        jsonmap.recognises,
        takes_columns=True,
    ),
    "dax": Format(
        dax.read_dax,
        None,
        (".dax", ".dax.gz"),
        "workflows of Pegasus, DAX; only read",
        dax.recognises,
    ),
    "lsf": Format(
        lsf.read_lsf,
        None,
        (),
        "LSF's lsb.acct, or a folder of them; only read (options: memory_per_slot, unit, default_memory_gib)",
        lsf.recognises,
    ),
    "accelerator": Format(
        accelerator.read_accelerator,
        None,
        (),
        "Altair Accelerator's vovsql_query; only read (options: default_memory_gib)",
        accelerator.recognises,
    ),
    "parquet": Format(
        table.read_parquet,
        table.write_parquet,
        (".parquet",),
        "Apache Parquet, the columns of csv typed",
        table.recognises_parquet,
        takes_columns=True,
    ),
    "tsv": Format(
        partial(table.read_csv, separator="\t"),
        partial(table.write_csv, separator="\t"),
        (".tsv", ".tsv.gz"),
        "as csv, separated by tabs",
        partial(table.recognises_csv, separator="\t"),
        takes_columns=True,
    ),
    "csv": Format(
        table.read_csv,
        table.write_csv,
        (".csv", ".csv.gz"),
        "comma-separated, columns named in the first line",
        table.recognises_csv,
        takes_columns=True,
    ),
}
"""The formats by name, in the order in which the content of a file is held against them: the least special last."""


def read_workload(path: AnyPath, format: str | None = None, columns: Mapping[str, str] | None = None) -> Workload:
    """The jobs of a log; the format is told by the name of the file, else by its content (see `Format`).

    `columns` maps our column to the file's, for formats with named columns. A format may be given options, as in
    `lsf:memory_per_slot=true,unit=MB`. Notes of the log also say what is hard to believe of it.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     log = Path(folder, "tiny.csv")
    ...     _ = log.write_text("submit_time,run_time,cores\\n0,5 min,4\\n")
    ...     read_workload(log).table["run_time"].to_list()
    [300.0]
    """
    if not fspath(path):
        raise InputError("the name of the log is empty; give the name of a file")
    _refuse_utf_16(path)
    name, _, text = (format or _told(path, has_map=columns is not None)).partition(":")
    chosen = _known(name)
    options = _options(name, chosen.read, parameters_of(text, format or name))
    if columns is not None and not chosen.takes_columns:
        raise InputError(f"{path}: {name} has no named columns to map; leave the column map out")
    log = chosen.read(path, **options) if columns is None else chosen.read(path, columns, **options)
    return replace(log, notes=(*log.notes, *doubts(log)))


def as_workload(log: Log) -> Workload:
    """The jobs of whatever holds a log.

    >>> import polars as pl
    >>> len(as_workload(pl.DataFrame({"job_id": ["a"], "submit_time": [0], "run_time": [5], "cores": [1]})))
    1
    """
    if isinstance(log, Workload):
        return log
    if is_frame(log):
        return Workload.of(log)
    if not isinstance(log, str | PathLike):
        raise InputError(f"the log is {shown(repr(log))}; expected a file, a Workload, or a DataFrame")
    return read_workload(log)


def write_workload(
    workload: Workload, path: AnyPath, format: str | None = None, *, force: bool = False
) -> tuple[str, ...]:
    """Write a log in the format that its name tells; returns notes on what the format cannot hold.

    A format may be given options, as in `batsim:profile=computation,speed=1e9`. An existing file is replaced only with
    `force`, and only once the new one is whole.
    """
    writers = {known: each.write for known, each in FORMATS.items() if each.write is not None}
    name, _, text = (format or format_of(path) or "").partition(":")
    if not name:
        raise UnknownName(
            "suffix of a workload", Path(path).suffix, {end for known in writers for end in FORMATS[known].suffixes}
        )
    if name in FORMATS and name not in writers:
        raise InputError(f"{path}: {name} is only read, not written; choose one of {', '.join(writers)}")
    if name not in writers:
        raise UnknownName("workload format", name, writers)
    return writers[name](workload, path, force=force, **_options(name, writers[name], parameters_of(text, name)))


def format_of(path: AnyPath) -> str | None:
    """The name of the format that a file's name tells.

    >>> format_of("CTC-SP2.swf.gz"), format_of("notes.txt")
    ('swf', None)
    """
    file = Path(path).name.lower()
    return next((name for name, known in FORMATS.items() if file.endswith(known.suffixes)), None)


def _refuse_utf_16(path: AnyPath) -> None:
    """Complain of text of two bytes a letter, half of which would look like binary data."""
    if not Path(path).is_file():
        return
    with opened(path) as file:
        mark = file.read(2)
    if mark in (BOM_UTF16_LE, BOM_UTF16_BE):
        raise InputError(
            f"{path}: text in UTF-16, which PowerShell and Excel write; expected UTF-8, so convert it first: "
            f"iconv -f UTF-16 -t UTF-8 {Path(path).name} > utf8-{Path(path).name}, or save it as CSV UTF-8 in Excel"
        )


def _known(name: str) -> Format:
    if name not in FORMATS:
        raise UnknownName("workload format", name, FORMATS)
    return FORMATS[name]


def _options(name: str, part: Callable[..., Any], given: dict[str, Any]) -> dict[str, Any]:
    """The options of a reader or writer, if it has them."""
    known = [each.name for each in signature(part).parameters.values() if each.kind is each.KEYWORD_ONLY]
    known = [] if isinstance(part, partial) else [each for each in known if each != "force"]
    for option in given:
        if option not in known:
            raise UnknownName(f"option of the format {name}", option, known)
    return given


def _told(path: AnyPath, *, has_map: bool) -> str:
    """The format that the name tells, or a kind of it that the content tells; where the name tells none, by content."""
    if Path(path).is_dir():
        return "lsf"  # its logs are the only ones that come as a folder
    named = format_of(path)
    # A map of columns is for the format that is named, whatever else the columns look like.
    kinds = [name for name, known in FORMATS.items() if named and known.kind_of == named and not has_map]
    if named and not kinds:
        return named
    with opened(path) as file:
        start = file.read(_START_BYTES)
    if named:
        return next((name for name in kinds if FORMATS[name].recognises(start)), named)
    if not start:
        raise InputError(f"{path}: the file is empty; expected one job a line")
    found = next((name for name, known in FORMATS.items() if known.recognises(start)), None)
    if found is None:
        raise InputError(f"{path}: its format cannot be told; give it one of {', '.join(FORMATS)}")
    return found
