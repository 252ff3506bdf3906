"""Workloads as tables, CSV or Parquet, in unspool's own columns (`unspool.model.workload.COLUMNS`).

Other names are given as a map from our column to theirs; none is guessed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from unspool.errors import InputError, UnknownName, shown
from unspool.model.workload import COLUMNS, Workload, rejected_table
from unspool.units import counted
from unspool.workloads import swf
from unspool.workloads.cells import CONVERSIONS, text_of_bytes, tidied, to_instants, to_number
from unspool.workloads.delimited import Cells, read_cells
from unspool.workloads.encoding import latin_notes
from unspool.workloads.files import AnyPath, opened, replaced
from unspool.workloads.lines import first_record
from unspool.workloads.parquet import MAGIC, check_parquet

__all__ = [
    "parted", "positions_of", "read_csv", "read_parquet", "recognises_csv", "recognises_parquet", "workload_of_cells",
    "write_csv", "write_parquet",
]  # fmt: skip

_NAMES = tuple(column.name for column in COLUMNS if column.name != "line")
_NEEDED = ("submit_time", "run_time", "cores")
_SUBMIT_EXPECTED = "seconds, or a date with a time such as 2024-05-01 12:30:00"
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_FORMATS = {",": "csv", "\t": "tsv"}
_START_BYTES = 1 << 16
_PARQUET_KEY = "unspool"
# What a log says of itself, beside its jobs.
_FACTS = {"origin_unix_s": float, "time_zone": str, "max_cores": int, "max_machines": int}


def read_csv(path: AnyPath, columns: Mapping[str, str] | None = None, *, separator: str = ",") -> Workload:
    """The jobs of a CSV file, packed or not, whose first line names the columns.

    `columns` maps our column to the file's. `submit_time` is seconds or dates with times (the earliest is the origin);
    times and sizes may have units. Records with a cell that does not convert are in `rejected`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     log = Path(folder, "tiny.csv")
    ...     _ = log.write_text("submit_time,duration,cores,walltime\\n0,60,4,2:00\\n5,soon,1,90\\n")
    ...     workload = read_csv(log, columns={"run_time": "duration"})
    >>> workload.table.select("job_id", "run_time", "walltime").rows()
    [('2', 60.0, 120.0)]
    >>> workload.rejected["reason"].to_list()
    ["duration is 'soon'; expected seconds, or a duration such as 2:00 or 5 min"]
    """
    _refuse_swf(path, separator)
    cells = read_cells(path, separator)
    other = next((mark for mark in _SEPARATORS if mark != separator and mark in cells.header[0]), None)
    if len(cells.header) == 1 and other:
        advice = f"give --format {_FORMATS[other]}" if other in _FORMATS else "save it so"
        raise InputError(
            f"{path}: the first line has {_SEPARATORS[other]} between cells; expected {_SEPARATORS[separator]}, "
            f"so {advice}"
        )
    return workload_of_cells(cells, path, columns or {}, {})


def read_parquet(path: AnyPath, columns: Mapping[str, str] | None = None) -> Workload:
    """The jobs of a Parquet file; cells may be typed (dates, durations, numbers) or text as in CSV.

    The line of a job is the number of its row, from 1.
    """
    with opened(path) as file:
        data = file.read()
    if not data:
        raise InputError(f"{path}: the file is empty; expected Parquet")
    if not data.startswith(MAGIC):
        raise InputError(f"{path}: not a Parquet file (it does not begin with PAR1); give it its format")
    check_parquet(data, str(path))
    try:
        table = pl.read_parquet(data)
        facts = json.loads(pl.read_parquet_metadata(data).get(_PARQUET_KEY, "{}"))
    # Damaged files make Polars raise many kinds of errors, and panic, which is no Exception.
    except (Exception, pl.exceptions.PanicException) as error:
        raise InputError(f"{path}: the Parquet file is cut off or damaged ({shown(str(error), 120)})") from error
    lines = pl.int_range(1, len(table) + 1, dtype=pl.Int64, eager=True)
    cells = Cells(tuple(table.columns), table.get_columns(), lines, rejected_table())
    return workload_of_cells(cells, path, columns or {}, _checked_facts(facts))


def write_csv(workload: Workload, path: AnyPath, *, force: bool = False, separator: str = ",") -> tuple[str, ...]:
    """Write a workload as CSV, packed if the name ends in `.gz`; returns notes on what CSV cannot hold.

    The column `line` is not written: it says where a job stood in the log that was read.
    """
    with replaced(path, force=force) as file:
        workload.table.drop("line").write_csv(file, separator=separator)
    facts = [name for name in (*_FACTS, "profiles") if getattr(workload, name)]
    format = _FORMATS.get(separator, "csv").upper()
    return (f"{format} has no place for {', '.join(facts)}: left out",) if facts else ()


def write_parquet(workload: Workload, path: AnyPath, *, force: bool = False) -> tuple[str, ...]:
    """Write a workload as Parquet, with what the log says of itself in the file's metadata.

    >>> from tempfile import TemporaryDirectory
    >>> jobs = pl.DataFrame({"job_id": ["a"], "submit_time": [0], "run_time": [60], "cores": [4]})
    >>> with TemporaryDirectory() as folder:
    ...     notes = write_parquet(Workload.of(jobs, max_cores=8), Path(folder, "tiny.parquet"))
    ...     read_parquet(Path(folder, "tiny.parquet")).max_cores
    8
    """
    facts = json.dumps({name: getattr(workload, name) for name in _FACTS})
    with replaced(path, force=force) as file:
        workload.table.drop("line").write_parquet(file, metadata={_PARQUET_KEY: facts})
    return ("Parquet has no place for profiles, only for their names: left out",) if workload.profiles else ()


def recognises_csv(start: bytes, separator: str = ",") -> bool:
    """Whether a file that begins so can be CSV: text with the separator in its first line.

    >>> recognises_csv(b"submit_time,run_time"), recognises_csv(b"a b", separator="\\t")
    (True, False)
    """
    return separator.encode() in first_record(start) and b"\0" not in start


def recognises_parquet(start: bytes) -> bool:
    """Whether a file that begins so is Parquet.

    >>> recognises_parquet(b"PAR1\\x15")
    True
    """
    return start.startswith(MAGIC)


def workload_of_cells(cells: Cells, path: AnyPath, columns: Mapping[str, str], facts: dict[str, Any]) -> Workload:
    """The jobs of cells under our names, or others that `columns` gives; `facts` are what the log says of itself."""
    found = _found(cells, path, columns)
    if not len(cells.lines) and not len(cells.rejected):
        raise InputError(f"{path}: no jobs, only the names of columns; expected one job a row")
    values: dict[str, pl.Series] = {}
    reasons: list[pl.Series] = []
    notes = list(cells.notes)
    for name, position in found.items():
        given = _column(cells, position, path, notes)
        if name == "submit_time":
            values[name], without_zone = _submit_times(given)
            if without_zone:
                have = counted(without_zone, "submit time has", "submit times have")
                notes.append(f"{have} no time zone: taken as UTC")
        else:
            values[name] = CONVERSIONS[name].convert(given)
        reasons += _reasons(given, values[name], cells.header[position], name)
    has_dates = values["submit_time"].dtype == pl.Int64
    jobs = pl.DataFrame([column.alias(name) for name, column in values.items()]).with_columns(line=cells.lines)
    if "job_id" not in found:
        jobs = jobs.with_columns(job_id=pl.col("line").cast(pl.String))
    jobs, facts["rejected"] = parted(jobs, reasons, cells.rejected, path)
    if has_dates:
        origin_s = math.floor(jobs.select(pl.col("submit_time").min()).item() / 1_000_000)
        jobs = jobs.with_columns((pl.col("submit_time") - origin_s * 1_000_000) / 1e6)
        facts["origin_unix_s"] = float(origin_s)
    extra = [name for position, name in enumerate(cells.header) if position not in found.values()]
    if extra:
        notes.append(f"columns that are not used: {', '.join(shown(name) for name in extra)}")
    kept = [name for name in jobs.columns if name in (*_NEEDED, "job_id", "line") or jobs[name].count()]
    return Workload.of(jobs.select(kept), name=Path(path).name, notes=tuple(notes), **facts)


def _refuse_swf(path: AnyPath, separator: str) -> None:
    """Complain of SWF under another name; a header between semicolons may begin with one too, if not with one alone."""
    with opened(path) as file:
        start = file.read(_START_BYTES)
    if swf.recognises(start) and b";" not in first_record(start).lstrip(b";"):
        raise InputError(
            f"{path}: looks like SWF; expected {_SEPARATORS[separator]} between cells, so give --format swf"
        )


def _submit_times(given: pl.Series) -> tuple[pl.Series, int]:
    """Seconds as floats or, where more cells are dates, microseconds since 1970 as integers; dates without a zone."""
    numbers = to_number(given)
    if numbers.null_count() == given.null_count():
        return numbers, 0
    instants, without_zone = to_instants(given)
    return (instants, without_zone) if instants.count() > numbers.count() else (numbers, 0)


def parted(
    jobs: pl.DataFrame, reasons: list[pl.Series], ragged: pl.DataFrame, path: AnyPath
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The jobs without a reason against them, and all rejected records; of several reasons the first counts."""
    rejected = ragged
    if reasons:
        reason = pl.DataFrame(reasons).select(pl.coalesce(pl.all())).to_series()
        refused = jobs.select("line", "job_id", reason=reason).filter(reason.is_not_null())
        rejected = pl.concat([ragged, refused]).sort("line", maintain_order=True)
        jobs = jobs.filter(reason.is_null())
    if not len(jobs):
        line, _, first = rejected.row(0)
        count = counted(len(rejected), "record")
        raise InputError(f"{path}: none of its {count} can be used (first, line {line}: {first})")
    return jobs, rejected


def positions_of(
    cells: Cells, path: AnyPath, columns: Mapping[str, str], names: Sequence[str]
) -> tuple[dict[str, int], str]:
    """The position of each of the names that the file has, under its own or as `columns` says; and what it has."""
    for ours in columns:
        if ours not in names:
            raise UnknownName("column", ours, names)
    there = f"the file has {', '.join(shown(name) for name in cells.header[:40])}"
    found = {}
    for ours in names:
        theirs = columns.get(ours, ours)
        count = cells.header.count(theirs)
        if count > 1:
            raise InputError(f"{path}: two columns are named '{shown(theirs)}'; rename one of them ({there})")
        if count:
            found[ours] = cells.header.index(theirs)
        elif ours in columns:
            raise InputError(f"{path}: no column '{shown(theirs)}' for {ours}; {there}")
    return found, there


def _found(cells: Cells, path: AnyPath, columns: Mapping[str, str]) -> dict[str, int]:
    """The position of each of our columns that the file has."""
    found, there = positions_of(cells, path, columns, _NAMES)
    missing = [name for name in _NEEDED if name not in found]
    if missing:
        example = f"--columns {missing[0]}={'duration' if missing[0] == 'run_time' else 'THEIRS'}"
        raise InputError(f"{path}: no column {', '.join(missing)}; {there}; say which one it is, as in {example}")
    return found


def _column(cells: Cells, position: int, path: AnyPath, notes: list[str]) -> pl.Series:
    column = cells.columns[position]
    if column.dtype == pl.Binary:
        column, latin = text_of_bytes(column)
        notes += latin_notes(latin, "cell", f" of {shown(cells.header[position])}")
    if column.dtype.is_nested() or column.dtype == pl.Object:
        raise InputError(
            f"{path}: column {shown(cells.header[position])} holds {column.dtype}; expected numbers or text"
        )
    return tidied(column)


def _reasons(given: pl.Series, values: pl.Series, theirs: str, ours: str) -> list[pl.Series]:
    """For each cell, why its record cannot be used, or null; nothing if all can be."""
    expected = CONVERSIONS[ours].expected if ours in CONVERSIONS else _SUBMIT_EXPECTED
    is_needed = ours in (*_NEEDED, "job_id")
    if values.null_count() == (0 if is_needed else given.null_count()):
        return []
    cells = pl.DataFrame({"given": given.cast(pl.String, strict=False), "value": values})
    cell = pl.col("given").str.slice(0, 40).str.replace_all(r"\s+", " ")
    reason = (
        pl.when(pl.col("value").is_null() & pl.col("given").is_not_null())
        .then(pl.format("{} is '{}'; expected {}", pl.lit(shown(theirs)), cell, pl.lit(expected)))
        .when(pl.col("value").is_null() & pl.lit(is_needed))
        .then(pl.lit(f"{shown(theirs)} is empty; expected {expected}"))
    )
    return [cells.select(reason.alias(ours)).to_series()]


def _checked_facts(facts: object) -> dict[str, Any]:
    """The facts in a Parquet file's metadata that are of their type, since anybody may have written it."""
    if not isinstance(facts, dict):
        return {}
    return {name: facts[name] for name, kind in _FACTS.items() if isinstance(facts.get(name), kind)}
