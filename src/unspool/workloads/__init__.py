"""Job logs in and out: one table of formats, one file a format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from unspool.errors import InputError, UnknownName
from unspool.model.workload import Workload
from unspool.workloads.files import AnyPath, opened
from unspool.workloads.swf import read_swf, write_swf
from unspool.workloads.table import read_csv, read_parquet, write_csv, write_parquet

__all__ = ["FORMATS", "Format", "format_of", "read_workload", "write_workload"]


class Format(NamedTuple):
    """A format of logs: how it is read and written, the ends of its files' names, and a line of help."""

    read: Callable[..., Workload]
    write: Callable[..., tuple[str, ...]]
    suffixes: tuple[str, ...]
    help: str
    takes_columns: bool = False


FORMATS: Mapping[str, Format] = {
    "swf": Format(read_swf, write_swf, (".swf", ".swf.gz"), "Standard Workload Format, 18 numbers a job"),
    "csv": Format(read_csv, write_csv, (".csv", ".csv.gz"), "comma-separated, columns named in the first line", True),
    "tsv": Format(
        partial(read_csv, separator="\t"),
        partial(write_csv, separator="\t"),
        (".tsv", ".tsv.gz"),
        "as csv, separated by tabs",
        True,
    ),
    "parquet": Format(read_parquet, write_parquet, (".parquet",), "Apache Parquet, the columns of csv typed", True),
}
"""The formats by name."""


def read_workload(path: AnyPath, format: str | None = None, columns: Mapping[str, str] | None = None) -> Workload:
    """The jobs of a log; the format is told by the name of the file, else by its content.

    `columns` maps our column to the file's, for formats with named columns.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     log = Path(folder, "tiny.csv")
    ...     _ = log.write_text("submit_time,run_time,cores\\n0,5 min,4\\n")
    ...     read_workload(log).table["run_time"].to_list()
    [300.0]
    """
    name = format or format_of(path) or _sniffed(path)
    chosen = _known(name)
    if columns is None:
        return chosen.read(path)
    if not chosen.takes_columns:
        raise InputError(f"{path}: {name} has no named columns to map; leave the column map out")
    return chosen.read(path, columns)


def write_workload(
    workload: Workload, path: AnyPath, format: str | None = None, *, force: bool = False
) -> tuple[str, ...]:
    """Write a log in the format that its name tells; returns notes on what the format cannot hold.

    An existing file is replaced only with `force`, and only once the new one is whole.
    """
    name = format or format_of(path)
    if name is None:
        suffixes = [suffix for known in FORMATS.values() for suffix in known.suffixes]
        raise UnknownName("suffix of a workload", Path(path).suffix, suffixes)
    return _known(name).write(workload, path, force=force)


def format_of(path: AnyPath) -> str | None:
    """The name of the format that a file's name tells.

    >>> format_of("CTC-SP2.swf.gz"), format_of("notes.txt")
    ('swf', None)
    """
    file = Path(path).name.lower()
    return next((name for name, known in FORMATS.items() if file.endswith(known.suffixes)), None)


def _known(name: str) -> Format:
    if name not in FORMATS:
        raise UnknownName("workload format", name, FORMATS)
    return FORMATS[name]


def _sniffed(path: AnyPath) -> str:
    """The format by the first bytes: `PAR1`, a comment or 18 fields, or names between tabs or commas."""
    with opened(path) as file:
        start = file.read(1 << 16)
    if start.startswith(b"PAR1"):
        return "parquet"
    first = next((line.strip() for line in start.split(b"\n") if line.strip()), b"")
    if first.startswith(b";") or len(first.split()) == 18:
        return "swf"
    for mark, name in ((b"\t", "tsv"), (b",", "csv")):
        if mark in first and b"\0" not in start:
            return name
    raise InputError(f"{path}: its format cannot be told; give it one of {', '.join(FORMATS)}")
