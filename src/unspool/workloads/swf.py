"""The Standard Workload Format of the Parallel Workloads Archive: one job a line, 18 numbers, comments after `;`.

Fields and header labels follow version 2.2 of https://www.cs.huji.ac.il/labs/parallel/workload/swf.html.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from unspool.errors import InputError, UnknownName, shown
from unspool.model.dependencies import listed
from unspool.model.workload import COLUMNS, MOST_CORES, MOST_SECONDS, Workload, rejected_table
from unspool.units import counted
from unspool.workloads.encoding import BYTE_ORDER_MARK, decoded
from unspool.workloads.files import AnyPath, read_blocks, replaced
from unspool.workloads.lines import Lines, Ragged, drop_lines, first_record, set_ragged_apart

__all__ = ["read_swf", "read_swf_log", "recognises", "write_swf"]

_FIELDS: tuple[str, ...] = (
    *("job_id", "submit_time", "logged_wait", "run_time", "logged_cores", "cpu_time"),
    *("used_memory_bytes", "requested_cores", "walltime", "memory_bytes", "status", "user"),
    *("group", "application", "queue", "partition", "depends_on", "think_time"),
)
# The numbers in these fields are names: they stay text.
_IDS = ("job_id", "user", "group", "application", "queue", "partition", "depends_on")
_NUMBERS = tuple(name for name in _FIELDS if name not in _IDS)
_WHOLE = ("logged_cores", "requested_cores", "status")
_SCHEMA = {name: pl.String() if name in _IDS else pl.Float64() for name in _FIELDS}
_REQUIRED = tuple(column.name for column in COLUMNS if column.required)

_SIZES = {"requested": "requested_cores", "allocated": "logged_cores"}
_MANY_DIFFER = 0.01  # of the jobs whose two sizes are not the same
_SEPARATED = "of SWF, separated by blanks"
_LARGEST_WHOLE = 2.0**53  # whole numbers are exact in float64 up to here
_LARGEST_BYTES = 2.0**62
_HEADER = re.compile(r"[;\s]*(MaxProcs|MaxNodes|UnixStartTime|TimeZoneString)\s*:\s*(.*?)\s*")
_NUMERIC = re.compile(rb"[-+0-9.eE]+")
# Words may follow, but nothing that makes it another number: 1,024 and 1 024, 1k, 16x8, 1996-06-22.
_LEADING_NUMBER = re.compile(
    r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?(?!\w|[-+.,:'’/^][0-9]|\s*[x×*]\s*[0-9]|\s[0-9]{3}(?![0-9]))"
)
# For reading numbers, any blank is a space, and what is not ASCII is no digit.
_TO_ASCII = bytes(32 if byte in b"\t\r\v\f" else byte if byte < 128 else ord("?") for byte in range(256))


def read_swf(path: AnyPath, *, size: str | None = None) -> Workload:
    """The jobs of an SWF log, packed or not; records that cannot be used are in `rejected` with line and reason.

    A job's cores are those it requested (field 8), else those it was given (field 5); with the `size` `allocated`, the
    other way round. Memory is KB per processor in
    the log and bytes in all in the workload. −1 is null, and columns that are null throughout are left out.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     log = Path(folder, "tiny.swf")
    ...     _ = log.write_text("; MaxProcs: 8\\n1 0 -1 60 4 -1 -1 4 90 -1 1 3 -1 -1 -1 -1 -1 -1\\n")
    ...     workload = read_swf(log)
    >>> workload.max_cores, workload.table.select("job_id", "run_time", "cores", "walltime", "user").row(0)
    (8, ('1', 60.0, 4, 90.0, '3'))
    """
    if size not in (None, *_SIZES):
        raise UnknownName("size of jobs in SWF", str(size), _SIZES)
    comments: list[bytes] = []
    jobs: list[pl.DataFrame] = []
    rejected = [rejected_table()]
    below: dict[str, int] = {}
    for lines in _record_lines(path, comments):
        lines, ragged = set_ragged_apart(lines, b" ", len(_FIELDS))
        rejected.append(rejected_table([_misfit(line) for line in ragged]))
        records, no_numbers = _numbers(lines)
        _refuse_negative_submit(records, path)
        rejected.append(no_numbers)
        used, unusable = _usable(records, allocated=size == "allocated")
        rejected.append(unusable)
        for name, count in _count_below(used).items():
            below[name] = below.get(name, 0) + count
        jobs.append(_as_columns(used))
    left_out = pl.concat(rejected).sort("line", maintain_order=True)
    if not any(map(len, jobs)):
        raise _nothing_usable(path, left_out)
    facts, notes = _read_header(comments)
    if below:
        are_below = counted(sum(below.values()), "value below -1 is", "values below -1 are")
        notes.append(f"{are_below} read as unknown: in {', '.join(sorted(below))}")
    table = pl.concat(jobs, how="diagonal")
    return Workload.of(table, name=Path(path).name, rejected=left_out, notes=tuple(notes), **facts)


def read_swf_log(path: AnyPath, *, size: str | None = None) -> Workload:
    """The same jobs, with a note where the two sizes differ for more than 1 % of them and none is chosen.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     log = Path(folder, "tiny.swf")
    ...     _ = log.write_text("1 0 -1 60 8 -1 -1 4 90 -1 1 3 -1 -1 -1 -1 -1 -1\\n")
    ...     chosen = [read_swf_log(log, size=size) for size in (None, "allocated")]
    >>> [(workload.table["cores"][0], len(workload.notes)) for workload in chosen]
    [(4, 1), (8, 0)]
    """
    workload = read_swf(path, size=size)
    requested, given = (workload.column(name) for name in _SIZES.values())
    differing = int(((requested > 0) & (given > 0) & (requested != given)).sum())
    if size is not None or differing <= _MANY_DIFFER * len(workload):
        return workload
    text = (
        f"Fields 5 and 8 differ for {differing:,} of {counted(len(workload))}; using the requested cores (field 8). "
        "Pass --format swf:size=allocated to use field 5."
    )
    return replace(workload, notes=(*workload.notes, text))


def write_swf(workload: Workload, path: AnyPath, *, force: bool = False) -> tuple[str, ...]:
    """Write a workload as SWF, packed if the name ends in `.gz`; returns notes on what SWF cannot hold.

    Names that are not numbers (`alice`) are numbered from 1 in the order in which they appear.

    >>> from tempfile import TemporaryDirectory
    >>> jobs = pl.DataFrame({"job_id": ["1"], "submit_time": [0], "run_time": [60], "cores": [4], "user": ["alice"]})
    >>> with TemporaryDirectory() as folder:
    ...     notes = write_swf(Workload.of(jobs), Path(folder, "tiny.swf"))
    ...     Path(folder, "tiny.swf").read_text().splitlines()[-1]
    '1 0 -1 60 -1 -1 -1 4 -1 -1 -1 1 -1 -1 -1 -1 -1 -1'
    >>> notes
    ('user holds names: numbered from 1 in order of appearance',)
    """
    notes = _lost_in_swf(workload)
    table = pl.DataFrame([workload.column(name) for name in (*_FIELDS, "cores")])
    table = table.with_columns(
        pl.when(pl.col("requested_cores") == pl.col("cores"))
        .then("requested_cores")
        # A request that is unknown, or 0, stays so if a reader finds the cores in field 5.
        .when((pl.col("requested_cores").fill_null(0) <= 0) & (pl.col("logged_cores") == pl.col("cores")))
        .then("requested_cores")
        .otherwise("cores")
        .alias("requested_cores"),
        memory_bytes=pl.col("memory_bytes") / (1024 * pl.col("cores")),
        used_memory_bytes=pl.col("used_memory_bytes") / 1024,
    ).select(_FIELDS)
    table = _with_numbers_for_names(table, notes)
    floats = [name for name, dtype in table.schema.items() if dtype == pl.Float64]
    are_whole = table.select(((pl.col(floats) == pl.col(floats).floor()) & (pl.col(floats) < _LARGEST_WHOLE)).all())
    table = table.with_columns(pl.col(name).cast(pl.Int64) for name in floats if are_whole[name][0])
    with replaced(path, force=force) as file:
        file.write(_header_of(workload).encode())
        table.write_csv(file, include_header=False, separator=" ", null_value="-1", quote_style="never")
    return tuple(notes)


def recognises(start: bytes) -> bool:
    """Whether a file that begins so is SWF: a comment, or as many numbers as SWF has fields.

    >>> recognises(b"; MaxProcs: 8"), recognises(b"1 0 -1 60" + 14 * b" -1"), recognises(b"a,b,c")
    (True, True, False)
    """
    first = first_record(start)
    fields = first.split()
    has_numbers = len(fields) == len(_FIELDS) and all(_NUMERIC.fullmatch(field) for field in fields)
    return b"\0" not in start and (first.startswith(b";") or has_numbers)


def _record_lines(path: AnyPath, comments: list[bytes]) -> Iterator[Lines]:
    """The records of each block, single-spaced; comment lines go to `comments` as they stand in the file."""
    first_line = 1
    for block in read_blocks(path):
        block = block.removeprefix(BYTE_ORDER_MARK) if first_line == 1 else block
        text = _squeezed(block)
        count = text.count(b"\n")
        if b";" in text or b"\n\n" in text or text.startswith(b"\n"):
            raw = block.split(b"\n")
            comments += (raw[i] for i, line in enumerate(text.split(b"\n")) if line.startswith(b";"))
            yield drop_lines(text, first_line, b";")
        else:
            yield Lines(text, np.arange(first_line, first_line + count))
        first_line += count


def _squeezed(text: bytes) -> bytes:
    """The text in ASCII with one space between fields and none at the ends of lines."""
    if not text.isascii() or any(blank in text for blank in (b"\t", b"\r", b"\v", b"\f")):
        text = text.translate(_TO_ASCII)
    array = np.frombuffer(text, np.uint8)
    is_space = array == ord(" ")
    is_blank = is_space | (array == ord("\n"))
    if not (is_blank[1:] & is_blank[:-1]).any() and not is_blank[0]:
        return text
    is_space[1:] &= is_blank[:-1]
    squeezed: bytes = array[~is_space].tobytes()
    return squeezed.replace(b" \n", b"\n")


def _numbers(lines: Lines) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The fields as numbers, ids as text, and the records that have something else in a field."""
    records = pl.read_csv(
        lines.text, has_header=False, separator=" ", quote_char=None, schema=_SCHEMA, ignore_errors=True
    ).with_columns(line=pl.Series(lines.numbers, dtype=pl.Int64))
    ids = pl.col(_IDS).cast(pl.Float64, strict=False)
    are_numbers = records.select(ids.is_finite(), pl.col(_NUMBERS).is_finite()).select(pl.col(_FIELDS).fill_null(False))
    is_good = are_numbers.select(pl.all_horizontal(_FIELDS)).to_series()
    records = records.with_columns(pl.when(ids != -1).then(pl.col(_IDS)).name.keep())
    if is_good.all():
        return records, rejected_table()
    rows: list[tuple[int | None, str | None, str]] = []
    text = lines.text.split(b"\n")
    # The first field of each bad record that is no number.
    culprits = are_numbers.filter(~is_good).to_numpy().argmin(axis=1).tolist()
    for i, culprit in zip(np.flatnonzero(~is_good.to_numpy()), culprits, strict=True):
        fields = text[i].decode().split(" ")
        reason = f"field {culprit + 1} ({_FIELDS[culprit]}) is '{shown(fields[culprit])}'; expected a number"
        rows.append((int(lines.numbers[i]), shown(fields[0]), reason))
    return records.filter(is_good), rejected_table(rows)


def _misfit(line: Ragged) -> tuple[int, str, str]:
    count = counted(len(line.fields), "field")
    return line.number, shown(line.fields[0].decode()), f"{count}; expected the {len(_FIELDS)} {_SEPARATED}"


def _refuse_negative_submit(records: pl.DataFrame, path: AnyPath) -> None:
    early = records.filter((pl.col("submit_time") < 0) & (pl.col("submit_time") != -1))
    if len(early):
        line, value = early["line"][0], early["submit_time"][0]
        raise InputError(f"{path}, line {line}: submit time is {value:g}; expected 0 or more, so shift the log's times")


def _usable(records: pl.DataFrame, *, allocated: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The records that make jobs, with their `cores`, and the others with the reason."""
    sizes = [pl.col(_SIZES["requested"]), pl.col(_SIZES["allocated"])]
    cores = pl.coalesce(pl.when(size > 0).then(size) for size in (reversed(sizes) if allocated else sizes))
    memory = pl.max_horizontal(pl.col("memory_bytes") * cores, "used_memory_bytes") * 1024
    is_fraction = [(pl.col(name) != pl.col(name).floor()) | (pl.col(name).abs() > _LARGEST_WHOLE) for name in _WHOLE]
    longest = pl.max_horizontal("submit_time", "run_time", "walltime", "think_time")
    reasons = {
        "the job number is unknown (field 1 is -1)": pl.col("job_id").is_null(),
        "the job number is negative (field 1)": pl.col("job_id").str.starts_with("-"),
        "the submit time is unknown (field 2 is -1)": pl.col("submit_time") == -1,
        "the run time is unknown or not positive (field 4)": pl.col("run_time") <= 0,
        "no number of processors: neither field 8 nor field 5 is positive": cores.is_null(),
        "processors or status (fields 5, 8, 11) are no whole number": pl.any_horizontal(is_fraction),
        "the number of processors (fields 5 and 8) is beyond any machine's": cores > MOST_CORES,
        "the memory (fields 7 and 10) is beyond any machine's": memory > _LARGEST_BYTES,
        "a time (fields 2, 4, 9, 18) is beyond any log's": longest > MOST_SECONDS,
    }
    reason = pl.coalesce(pl.when(is_so).then(pl.lit(text)) for text, is_so in reasons.items())
    records = records.with_columns(cores=cores, reason=reason)
    if records["reason"].null_count() == len(records):
        return records, rejected_table()
    unusable = records.filter(pl.col("reason").is_not_null()).select("line", "job_id", "reason")
    return records.filter(pl.col("reason").is_null()), unusable


def _count_below(records: pl.DataFrame) -> dict[str, int]:
    # Ids of -1 are null by now, so that those with a sign are below it.
    are_below = ((pl.col(_NUMBERS) < -1).sum(), pl.col(_IDS).str.starts_with("-").sum())
    return {name: count for name, count in records.select(are_below).row(0, named=True).items() if count}


def _as_columns(records: pl.DataFrame) -> pl.DataFrame:
    """The records in the columns, units and types of a workload."""
    known: dict[str, pl.Expr] = {name: pl.when(pl.col(name) >= 0).then(pl.col(name)) for name in _NUMBERS}
    known["walltime"] = pl.when(pl.col("walltime") > 0).then(pl.col("walltime"))
    known["memory_bytes"] = (known["memory_bytes"] * 1024 * pl.col("cores")).round()
    known["used_memory_bytes"] = (known["used_memory_bytes"] * 1024).round()
    whole = (*_WHOLE, "memory_bytes", "used_memory_bytes")
    values = [value.cast(pl.Int64) if name in whole else value for name, value in known.items()]
    ids = pl.when(~pl.col(_IDS).str.starts_with("-")).then(pl.col(_IDS)).name.keep()
    return _without_empty(records.select(ids, *values, pl.col("cores").cast(pl.Int64), "line"))


def _without_empty(jobs: pl.DataFrame) -> pl.DataFrame:
    """The jobs without the columns that are null throughout, which a workload does not need."""
    return jobs.select(c for c in jobs.columns if c in _REQUIRED or jobs[c].null_count() < len(jobs))


def _read_header(comments: list[bytes]) -> tuple[dict[str, Any], list[str]]:
    """What the comments say of the log, and notes on what they say badly; of a label told twice the first counts."""
    labels: dict[str, str] = {}
    notes = []
    for comment in comments:
        match = _HEADER.fullmatch(decoded(comment))
        if match:
            labels.setdefault(match[1], match[2])
    facts: dict[str, Any] = {"time_zone": labels.pop("TimeZoneString", None) or None}
    for label, text in labels.items():
        is_time = label == "UnixStartTime"
        match = _LEADING_NUMBER.match(text)
        number = float(match[0]) if match else math.nan
        if math.isnan(number):
            notes.append(f"header {label} is '{shown(text)}', no number: ignored")
        elif abs(number) > (MOST_SECONDS if is_time else MOST_CORES):
            notes.append(f"header {label} is '{shown(text)}', beyond any {'log' if is_time else 'machine'}'s: ignored")
        elif is_time:
            facts["origin_unix_s"] = 0.0 if number == -1 else number
        elif number != int(number):
            notes.append(f"header {label} is '{shown(text)}', no whole number: ignored")
        elif number > 0:
            facts["max_cores" if label == "MaxProcs" else "max_machines"] = int(number)
    return facts, notes


def _nothing_usable(path: AnyPath, rejected: pl.DataFrame) -> InputError:
    if not len(rejected):
        return InputError(f"{path}: no records, only comments or blank lines; expected lines of {len(_FIELDS)} numbers")
    line, job_id, reason = rejected.row(0)
    has_commas = reason.endswith(_SEPARATED) and any(mark in (job_id or "") for mark in ",;|")
    hint = "if it is CSV, name it .csv or give its format" if has_commas else "check that it is an SWF log"
    count = counted(len(rejected), "record")
    return InputError(f"{path}: none of its {count} can be used (first, line {line}: {reason}); {hint}")


def _lost_in_swf(workload: Workload) -> list[str]:
    """Notes on what the format has no place for."""
    notes = []
    foreign = [c.name for c in COLUMNS if c.name not in (*_FIELDS, "cores", "line")]
    lost = [name for name in foreign if workload.column(name).null_count() < len(workload)]
    if lost:
        notes.append(f"SWF has no field for {', '.join(lost)}: left out")
    zero = int((workload.table["run_time"] == 0).sum())
    if zero:
        notes.append(f"{counted(zero, 'job has', 'jobs have')} run time 0, which SWF readers take for unknown")
    many = int((listed(workload.column("depends_on"), workload.table["job_id"]).list.len() > 1).sum())
    if many:
        depend = counted(many, "job depends", "jobs depend")
        notes.append(f"{depend} on several jobs, of which SWF holds one: the first is written")
    return notes


def _with_numbers_for_names(table: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """The ids as numbers: as they are where they are all numbers, else numbered; adds what was done to the notes."""
    earlier = listed(table["depends_on"], table["job_id"]).list.first()
    kept = earlier.set(~_are_numbers(earlier), None)
    for name in (name for name in _IDS if name != "depends_on"):
        names = table[name].drop_nulls().unique(maintain_order=True)
        if _are_numbers(names).all():
            continue
        numbers = pl.int_range(1, len(names) + 1, eager=True).cast(pl.String)
        if name == "job_id":
            kept = earlier.replace_strict(names, numbers, default=None)
        table = table.with_columns(pl.col(name).replace_strict(names, numbers, default=None))
        notes.append(f"{name} holds names: numbered from 1 in order of appearance")
    lost = kept.null_count() - earlier.null_count()
    if lost:
        depend = counted(lost, "job depends on a job that is", "jobs depend on jobs that are")
        notes.append(f"{depend} not in the log: written without")
    return table.with_columns(depends_on=kept)


def _are_numbers(names: pl.Series) -> pl.Series:
    """Whether each name is a number that a reader takes for a name, as those below 0 are not."""
    return (names.cast(pl.Float64, strict=False).is_finite() & ~names.str.starts_with("-")).fill_null(False)


def _header_of(workload: Workload) -> str:
    origin = workload.origin_unix_s
    labels = {
        "Version": "2.2",
        "MaxJobs": len(workload),
        "MaxRecords": len(workload),
        "UnixStartTime": int(origin) if origin == int(origin) else origin,
        "TimeZoneString": workload.time_zone,
        "MaxNodes": workload.max_machines,
        "MaxProcs": workload.max_cores,
    }
    return "".join(f"; {label}: {' '.join(str(v).split())}\n" for label, v in labels.items() if v is not None)
