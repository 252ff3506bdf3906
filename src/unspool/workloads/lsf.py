"""LSF's accounting logs: the JOB_FINISH records of `lsb.acct`, and of `lsb.acct.1`, `lsb.acct.2` … in a folder."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import polars as pl

from unspool.confinement.roots import readable
from unspool.errors import InputError, UnknownName
from unspool.limits import exceeded, limit, refuse_beyond
from unspool.model.workload import Workload, rejected_table
from unspool.units import counted
from unspool.workloads.accounting import RECORD, workload_of_records
from unspool.workloads.encoding import as_utf8, latin_notes
from unspool.workloads.files import AnyPath, read_blocks
from unspool.workloads.jobcells import GIB, SIZES
from unspool.workloads.lsfrecord import Finish, RecordError, kind_of_record, parse_finish

__all__ = ["read_lsf", "recognises"]

_MICRO = 1_000_000
_KIB = 1 << 10
_USAGE = re.compile(r"rusage\[([^\]]*)\]")
_MEMORY = re.compile(
    r"(?:^|[^A-Za-z_0-9])mem\s*=\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([KMGTPkmgtp]?)[Bb]?(?![A-Za-z0-9])"
)
_DIGITS = re.compile(r"([0-9]+)")
_ID = re.compile(r'"JOB_FINISH" "[^"]*" [0-9]+ ([0-9]+) ')
_LATEST_S = 1e11
_BEYOND_BYTES = 1.5 * 2.0**62  # more than a record may ask for, and still an int64
# Notes of one and of several.
_NEVER_RAN = ("job never ran: left out", "jobs never ran: left out")
_NO_HOST = ("job names no execution host: taken as one", "jobs name no execution host: taken as one")
_MEMORY_USED = (
    "job asks for no memory (no mem= in rusage[]): what it used is taken",
    "jobs ask for no memory (no mem= in rusage[]): what they used is taken",
)
_EMPTY_FILES = ("file is empty", "files are empty")
_NOTES = (_NEVER_RAN, _NO_HOST, _MEMORY_USED, _EMPTY_FILES)
_STATUS = {64: 1, 32: 0}  # LSF's done and exited, as SWF numbers them
_SCHEMA = {
    **RECORD,
    "user": pl.String(),
    "queue": pl.String(),
    "project": pl.String(),
    "application": pl.String(),
    "status": pl.Int64(),
    "cpu_time": pl.Float64(),
    "used_memory_bytes": pl.Int64(),
}


class _Options(NamedTuple):
    memory_per_slot: bool
    unit_bytes: int
    default_bytes: int


def recognises(start: bytes) -> bool:
    """Whether a file that begins so is a log of LSF: its first line begins with a type and a version in quotes.

    >>> recognises(b'"JOB_FINISH" "10.1" 1527327585 7610 '), recognises(b'"job_id","num_cores"')
    (True, False)
    """
    return re.match(rb'\s*"[A-Z][A-Z_0-9]+" "[0-9.]+" [0-9]', start) is not None


def read_lsf(
    path: AnyPath, *, memory_per_slot: bool = False, unit: str = "KB", default_memory_gib: float = 0.0
) -> Workload:
    """The jobs of an `lsb.acct`, or of every `lsb.acct*` of a folder, in the order of their numbers.

    `unit` is LSF_UNIT_FOR_LIMITS, the unit of `mem=` in a request that does not say one; with `memory_per_slot` that
    is what each slot asks for. A job that asks for no memory gets what it used, at least `default_memory_gib`.
    """
    options = _checked(memory_per_slot, unit, default_memory_gib)
    counts: Counter[tuple[str, str]] = Counter()
    others: Counter[str] = Counter()
    files = _files(path, counts)
    rows: list[tuple[object, ...]] = []
    bad: list[tuple[int | None, str | None, str]] = []
    latin: list[int] = []
    ends = [0]  # the lines of the files up to and with each, so that lines count on from file to file
    for file in files:
        for line, text in _records(file, ends, latin):
            kind = kind_of_record(text)
            if kind is not None and kind != "JOB_FINISH":
                others[kind] += 1
                continue
            try:
                row = _row(parse_finish(text), line, options, counts)
            except RecordError as error:
                bad.append((line, _id_in(text), str(error)))
                refuse_beyond(len(bad), "rejected", str(file))
            else:
                rows += [row] if row else []
    records = pl.DataFrame(rows, _SCHEMA, orient="row")
    if not rows and not bad:
        raise _nothing_ran(path, counts, others)
    workload = workload_of_records(
        records, path, rejected_table(bad), [*latin_notes(sum(latin)), *_notes(counts, others)]
    )
    return workload if len(files) == 1 else _located(workload, files, ends)


def _checked(memory_per_slot: object, unit: object, default_memory_gib: object) -> _Options:
    if not isinstance(memory_per_slot, bool):
        raise InputError(f"memory_per_slot is {memory_per_slot}; expected true or false")
    if str(unit).upper() not in SIZES:
        raise UnknownName("unit of LSF memory", str(unit), SIZES)
    if (
        isinstance(default_memory_gib, bool)
        or not isinstance(default_memory_gib, int | float)
        or default_memory_gib < 0
    ):
        raise InputError(f"default_memory_gib is {default_memory_gib}; expected GiB, 0 or more")
    return _Options(memory_per_slot, SIZES[str(unit).upper()], round(default_memory_gib * GIB))


def _files(path: AnyPath, counts: Counter[tuple[str, str]]) -> list[Path]:
    """The file, or the logs of a folder by name, numbers in it as numbers; empty ones, as after an archiving, apart."""
    folder = Path(path)
    if not folder.is_dir():
        return [folder]
    found = [file for file in readable(folder).iterdir() if file.name.startswith("lsb.acct") and file.is_file()]
    files = [file for file in found if file.stat().st_size]
    if not files:
        raise InputError(f"{path}: is a folder without records in an lsb.acct; expected a file, or LSF's logdir")
    counts[_EMPTY_FILES] += len(found) - len(files)
    return sorted(files, key=lambda file: _by_number(file.name))


def _by_number(name: str) -> list[tuple[int, str]]:
    """A name to sort by: `lsb.acct.2` before `lsb.acct.10`."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in _DIGITS.split(name)]


def _records(file: Path, ends: list[int], latin: list[int]) -> Iterator[tuple[int, str]]:
    """The records of a file with the line on which each begins; texts in quotes may hold newlines.

    Adds to `ends` the last line, and to `latin` how many lines were no UTF-8.
    """
    number, begun, most = ends[-1], 0, limit("line_bytes")
    held: list[str] = []  # lines of a record whose quotes are not closed
    size = 0
    for block in read_blocks(file):
        content, count = as_utf8(block)
        latin.append(count)
        for line in content.decode().removesuffix("\n").split("\n"):
            number += 1
            line = line.rstrip("\r ")
            closes = line.count('"') % 2 == 1
            if not held or kind_of_record(line) is not None:
                if held:
                    yield begun, "\n".join(held)
                held, size, closes = [], 0, not closes
                if not line.strip() or line.startswith("#"):
                    continue
                begun = number
            held.append(line)
            size += len(line) + 1
            if size > most:
                raise exceeded(f"{file}, line {begun}", "line_bytes")
            if closes:
                yield begun, "\n".join(held)
                held = []
    if held:
        yield begun, "\n".join(held)
    ends.append(number)


def _row(finish: Finish, line: int, options: _Options, counts: Counter[tuple[str, str]]) -> tuple[object, ...] | None:
    """The record in the columns of `_SCHEMA`, or None if the job never ran."""
    start, run_time = finish.number("startTime"), finish.number("runTime")
    if not start and not run_time:
        counts[_NEVER_RAN] += 1
        return None
    cores = int(finish.number("maxNumProcessors") or finish.number("numProcessors") or 0)
    counts[_NO_HOST] += not finish.hosts
    index, job_id = finish.number("idx"), finish.number("jobId")
    used_kib, used_s = finish.number("maxRMem"), (finish.number("utime"), finish.number("stime"))
    asked = _asked_memory(finish.text("effectiveResReq") or "", cores, options)
    if asked is None:
        counts[_MEMORY_USED] += 1
    used = None if used_kib is None else round(used_kib * _KIB)
    memory = max(used or 0, options.default_bytes) if asked is None else asked
    return (
        line,
        None if job_id is None else f"{job_id:.0f}[{index:.0f}]" if index else f"{job_id:.0f}",
        cores,
        max(len(finish.hosts), 1),
        memory or None,
        _instant(finish.number("submitTime")),
        None,
        _instant(start),
        _instant(finish.number("EventTime")),
        finish.number("ineligiblePendTime"),
        run_time,
        None,
        finish.text("userName"),
        finish.text("queue"),
        finish.text("projectName"),
        finish.text("app"),
        _STATUS.get(int(finish.number("jStatus") or 0)),
        None if None in used_s or not cores else sum(filter(None, used_s)) / cores,
        None if not used or not cores else round(used / cores),
    )


def _instant(seconds: float | None) -> int | None:
    return round(seconds * _MICRO) if seconds and seconds < _LATEST_S else None


def _asked_memory(request: str, slots: int, options: _Options) -> int | None:
    """Bytes of `mem=` in the first `rusage[…]` of a request."""
    usage = _USAGE.search(request)
    memory = _MEMORY.search(usage[1]) if usage else None
    if memory is None:
        return None
    unit = SIZES[f"{memory[2].upper()}B"] if memory[2] else options.unit_bytes
    size = float(memory[1]) * unit * (slots if options.memory_per_slot else 1)
    return round(min(size, _BEYOND_BYTES))


def _id_in(text: str) -> str | None:
    """The job id of a record that cannot be read, where it can be told."""
    match = _ID.match(text)
    return match[1] if match else None


def _nothing_ran(path: AnyPath, counts: Counter[tuple[str, str]], others: Counter[str]) -> InputError:
    there = [*_counted(counts), *(f"{count} {kind}" for kind, count in others.items())]
    told = f" (found: {', '.join(there)})" if there else ""
    return InputError(f"{path}: no job that ran{told}; expected JOB_FINISH records, as lsb.acct has them")


def _counted(counts: Counter[tuple[str, str]]) -> list[str]:
    return [counted(counts[what], *what) for what in _NOTES if counts[what]]


def _notes(counts: Counter[tuple[str, str]], others: Counter[str]) -> list[str]:
    told = _counted(counts)
    if others:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(others.items()))
        told.append(f"records of other types are skipped: {kinds}")
    return told


def _located(workload: Workload, files: list[Path], ends: list[int]) -> Workload:
    """The workload with its rejected records named by file and line within it."""
    rows = []
    for line, job_id, reason in workload.rejected.rows():
        at = bisect_left(ends, line) - 1
        rows.append((line - ends[at], job_id, f"{files[at].name}: {reason}"))
    return replace(workload, rejected=rejected_table(rows))
