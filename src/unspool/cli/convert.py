"""`unspool convert`: turn logs of one format into another, and change their jobs on the way; results into traces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unspool.cli.config import RunConfig
from unspool.cli.files import read_results, tell_reasons
from unspool.cli.options import LogFormat, Seed, TargetFormat
from unspool.cli.output import Announcement, counted, note, reading
from unspool.errors import InputError, shown
from unspool.model.workload import Workload
from unspool.results.paje import write_paje
from unspool.results.result import Result
from unspool.results.tracing import MOST_SPANS, write_trace
from unspool.units import parse_duration
from unspool.workloads import read_workload, transform, write_workload
from unspool.workloads.clock import unix_of_date, window_edges
from unspool.workloads.files import refuse_existing, replaced

__all__ = ["convert"]

_TRACE = (".trace.json", ".trace.json.gz")
_PAJE = (".paje", ".paje.gz")


def convert(
    *files: Path,
    format: LogFormat = None,
    to: TargetFormat = None,
    columns: Annotated[list[str] | None, Parameter(negative=())] = None,
    window: str | None = None,
    where: str | None = None,
    thin: float | None = None,
    scale_load: float | None = None,
    scale_run_times: float | None = None,
    shift: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    seed: Seed = 0,
    force: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    strict: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
) -> int:
    """Turn a log of one format into another (see: unspool plugins formats); .gz where text. Several logs are merged.

    A folder of results becomes a trace for Perfetto and Chrome, or for Pajé: unspool convert OUT run.trace.json
    or run.paje

    Example: unspool convert log.swf march.parquet --window 2022-03-01..2022-04-01 --where "cores <= 64"

    Parameters
    ----------
    files
        The log to read, or several, and last the file to write, whose ending tells the format.
    columns
        For CSV and Parquet, our column = the file's, as in run_time=duration.
    window
        Only jobs submitted from .. before: dates, or times since the origin, as 1d..2d; either may be left out. Of a
        trace, only those that run in that time.
        This and the next five are done in this order.
    where
        Only jobs for which this holds, as "cores <= 64 and user == 'ann'".
    thin
        Only this share of the jobs, at random.
    scale_load
        Times as much load: jobs are left out, or copied within their hour, so that days stay days.
    scale_run_times
        Run times and walltimes times this.
    shift
        Jobs are submitted so much later, as 1h, or earlier, as -1h.
    seed
        For --thin and --scale-load.
    force
        Replace the target if it exists.
    strict
        Exit with 2 if any record was rejected.
    """
    if len(files) < 2:
        raise InputError("convert: expected a log or several, and last the file to write. Try: unspool convert --help")
    *sources, target = files
    if target.name.lower().endswith(_TRACE + _PAJE) and to is None:
        others = (format, columns, where, thin, scale_load, scale_run_times, shift)
        if len(sources) != 1 or any(option is not None for option in others):
            raise InputError(f"{target}: a trace is made of one folder of results, and takes only --window and --force")
        return _trace(sources[0], target, window, force=force)
    mapped = RunConfig(columns=columns or []).column_map()
    logs = []
    for source in sources:
        with reading(source):
            logs.append(read_workload(source, format, mapped))
    changes: list[Callable[[Workload], Workload] | None] = [
        None if window is None else lambda log: transform.window(log, *window_edges(window, "--window")),
        None if where is None else lambda log: transform.filter(log, where),
        None if thin is None else lambda log: transform.thin(log, thin, seed),
        None if scale_load is None else lambda log: transform.scale_load(log, scale_load, seed),
        None if scale_run_times is None else lambda log: transform.scale_run_times(log, scale_run_times),
        None if shift is None else lambda log: transform.shift(log, _signed_seconds(shift)),
    ]
    workload = transform.merge(logs)
    for change in filter(None, changes):
        known = len(workload.notes)
        workload = change(workload)
        if not len(workload):
            told = "; ".join(workload.notes[known:])
            raise InputError(f"{told}: nothing is written; check the condition against `unspool inspect`")
    with Announcement(f"writing {target} …"):
        lost = write_workload(workload, target, to, force=force)
    for text in (*workload.notes, *lost):
        note(text)
    if len(workload.rejected):
        note(f"rejected: {counted(len(workload.rejected), 'record')} of the log{'s' * (len(logs) > 1)}")
        tell_reasons(workload.rejected, "`unspool inspect` counts them by reason")
    note(f"{target}: {counted(len(workload), 'job')} written, {counted(len(workload.rejected), 'record')} rejected")
    return 2 if strict and len(workload.rejected) else 0


def _trace(folder: Path, target: Path, window: str | None, *, force: bool) -> int:
    """A folder of results as a trace."""
    if not folder.is_dir():
        raise InputError(f"{folder}: is no folder of results; a trace is made of what `unspool run -o` writes")
    refuse_existing(target, force=force)
    with Announcement(f"reading {folder} …"):
        results = read_results(folder)
    begin, end = (
        (None, None)
        if window is None
        else (_since_origin(edge, results[0]) for edge in window_edges(window, "--window"))
    )
    if begin is not None and end is not None and begin >= end:
        raise InputError(f"--window {shown(str(window))}: expected an end after the beginning")
    if target.name.lower().endswith(_PAJE):
        if len(results) > 1:
            raise InputError(f"{folder}: has {len(results)} results, and a Pajé trace shows one; name its own folder")
        with Announcement(f"writing {target} …"), replaced(target, force=force) as file:
            starts = write_paje(results[0], file, begin=begin, end=end)
        note(f"{target}: {counted(starts, 'start')} of jobs written; open it in ViTE or with PajeNG")
        return 0
    with Announcement(f"writing {target} …"), replaced(target, force=force) as file:
        written, left = write_trace(results, file, begin=begin, end=end)
    note(f"{target}: {counted(written, 'start')} of jobs written; open it in ui.perfetto.dev or chrome://tracing")
    if left:
        note(
            f"{counted(left, 'start')} of jobs left out, the last ones: a trace has room for {MOST_SPANS:,} spans; "
            "--window FROM..TO, as in 1d..2d, takes another part"
        )
    return 0


def _since_origin(edge: float | str | None, result: Result) -> float | None:
    if not isinstance(edge, str):
        return edge
    if not result.origin_unix_s:
        raise InputError(
            f"--window: the origin of {shown(result.workload)} is not known; give times since it, as 1d..2d"
        )
    return unix_of_date(edge) - result.origin_unix_s


def _signed_seconds(text: str) -> float:
    sign = -1.0 if text.strip().startswith("-") else 1.0
    return sign * parse_duration(text.strip().lstrip("+-"))
