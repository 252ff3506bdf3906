"""`unspool convert`: turn a log of one format into another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unspool.cli.config import RunConfig
from unspool.cli.output import Announcement, counted, note, reading
from unspool.errors import shown
from unspool.workloads import read_workload, write_workload

__all__ = ["convert"]


def convert(
    source: Path,
    target: Path,
    /,
    *,
    format: str | None = None,
    to: str | None = None,
    columns: Annotated[list[str] | None, Parameter(negative=())] = None,
    force: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    strict: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
) -> int:
    """Turn a log of one format into another: swf, csv, tsv, parquet; .gz where text.

    Parameters
    ----------
    source
        The log to read.
    target
        The file to write; its ending tells the format.
    format
        Format of the source, where its name does not tell.
    to
        Format of the target, where its name does not tell.
    columns
        For CSV and Parquet, our column = the file's, as in run_time=duration.
    force
        Replace the target if it exists.
    strict
        Exit with 2 if any record was rejected.
    """
    with reading(source):
        workload = read_workload(source, format, RunConfig(columns=columns or []).column_map())
    with Announcement(f"writing {target} …"):
        lost = write_workload(workload, target, to, force=force)
    for text in (*workload.notes, *lost):
        note(text)
    for line, job_id, reason in workload.rejected.head(3).rows():
        note(f"rejected: line {line}, job {shown(str(job_id), 40)}: {reason}")
    note(f"{target}: {counted(len(workload), 'job')} written, {counted(len(workload.rejected), 'record')} rejected")
    return 2 if strict and len(workload.rejected) else 0
