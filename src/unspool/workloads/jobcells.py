"""Cells under the names of the jobs CSV of the AWS HPC cost simulator, from a CSV file or from JSON, made into jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from unspool.errors import InputError, shown
from unspool.model.workload import Workload
from unspool.workloads.accounting import workload_of_records
from unspool.workloads.cells import CONVERSIONS, Conversion, tidied, to_instants, to_number, to_seconds, to_whole
from unspool.workloads.delimited import Cells
from unspool.workloads.files import AnyPath
from unspool.workloads.table import positions_of

__all__ = ["GIB", "JOBS_COLUMNS", "NEEDED", "OUR_COLUMNS", "SIZES", "workload_of_jobs"]

GIB = 1 << 30
JOBS_COLUMNS: tuple[str, ...] = (
    *("job_id", "num_cores", "max_mem_gb", "num_hosts", "submit_time", "start_time", "finish_time"),
    *("ineligible_pend_time", "eligible_time", "requeue_time", "wait_time", "run_time"),
    *("queue", "project", "licenses", "exit_status"),
    *("ru_inblock", "ru_majflt", "ru_maxrss", "ru_minflt", "ru_msgrcv", "ru_msgsnd", "ru_nswap", "ru_oublock"),
    *("ru_stime", "ru_utime", "resource_request"),
)
"""The 27 columns of the jobs CSV, in their order; older files have 24."""

NEEDED = JOBS_COLUMNS[:7]
"""The columns that there must be."""

OUR_COLUMNS = ("gpus", "walltime", "user", "group", "partition", "application", "priority", "qos", "depends_on")
"""Columns of a workload that the jobs CSV has no name for; they are read where they stand under ours."""

SIZES = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40, "PB": 1 << 50}
"""Bytes of the units of schedulers, which are powers of 1024."""

_CLOCK = r"^(?:(?:([0-9]{1,9})-)?([0-9]{1,9}):)?([0-9]{1,9}):([0-9]{1,9}(?:\.[0-9]{0,9})?)$"
_LATEST_S = 1e11  # the year 5138; what is later is milliseconds that somebody took for seconds
_NO_SPAN = ("-1", "-1.0", "None")
_NO_MOMENT = ("0", "0.0", *_NO_SPAN)


class _Column(NamedTuple):
    """What a column of the jobs CSV becomes, how its cells are read, and the cells that mean that there is none."""

    becomes: str
    conversion: Conversion
    none: tuple[str, ...] = ()


def workload_of_jobs(
    cells: Cells,
    path: AnyPath,
    columns: Mapping[str, str],
    *,
    maxrss_bytes: int | None = None,
    finish_needed: bool = True,
) -> Workload:
    """The jobs of cells of text; `columns` maps a column of the jobs CSV, or one of ours beside it, to the file's.

    `maxrss_bytes` is the unit of `ru_maxrss`, which differs between the tools that write it; without it, it is not
    used. Where a finish is not needed, a run time will do.
    """
    found = _found(cells, path, columns, finish_needed)
    if not len(cells.lines) and not len(cells.rejected):
        raise InputError(f"{path}: no jobs, only the names of columns; expected one job a row")
    values: dict[str, pl.Series] = {"line": cells.lines}
    reasons: list[pl.Series] = []
    for name, position in found.items():
        column = _COLUMNS.get(name) or _Column(name, CONVERSIONS[name])
        given = tidied(cells.columns[position])
        if column.none:
            given = given.set(given.is_in(column.none), None)
        values[column.becomes] = column.conversion.convert(given)
        is_needed = name in _NEVER_EMPTY or (name == "finish_time" and (finish_needed or "run_time" not in found))
        reasons += _reasons(given, values[column.becomes], cells.header[position], column, is_needed=is_needed)
    records = pl.DataFrame([series.alias(name) for name, series in values.items()])
    if reasons:
        records = records.with_columns(pl.DataFrame(reasons).select(reason=pl.coalesce(pl.all())))
    notes = list(cells.notes)
    if "max_rss" in values and maxrss_bytes is None and values["max_rss"].count():
        notes.append("ru_maxrss is not used: its unit is not known; say it as in --format jobs-csv:maxrss_unit=KB")
    known = (*JOBS_COLUMNS, *found)
    extra = [name for at, name in enumerate(cells.header) if at not in found.values() and name not in known]
    if extra:
        notes.append(f"columns that are not used: {', '.join(shown(name) for name in extra)}")
    return workload_of_records(_with_use(records, maxrss_bytes), path, cells.rejected, notes)


def _with_use(records: pl.DataFrame, maxrss_bytes: int | None) -> pl.DataFrame:
    """The records with what a job used, which a workload gives as the mean over its cores, and how it ended."""
    cores = pl.when(pl.col("cores") > 0).then("cores")
    there = [name for name in ("user_time", "system_time") if name in records.columns]
    columns: dict[str, pl.Expr] = {}
    if there:
        used = pl.sum_horizontal(there) / cores
        columns["cpu_time"] = pl.when(~pl.all_horizontal(pl.col(there).is_null())).then(used)
    if "max_rss" in records.columns and maxrss_bytes is not None:
        used = (pl.col("max_rss") * maxrss_bytes / cores).round()
        columns["used_memory_bytes"] = pl.when(used.is_between(0, 1 << 62)).then(used).cast(pl.Int64)
    if "exit_status" in records.columns:
        columns["status"] = (pl.col("exit_status") == 0).cast(pl.Int64)
    return records.with_columns(**columns).drop(*there, "max_rss", "exit_status", strict=False)


def _found(cells: Cells, path: AnyPath, columns: Mapping[str, str], finish_needed: bool) -> dict[str, int]:
    """The position of each known column that the file has."""
    known, there = positions_of(cells, path, columns, (*JOBS_COLUMNS, *OUR_COLUMNS))
    found = {name: at for name, at in known.items() if name in _COLUMNS or name in OUR_COLUMNS}
    spared = () if finish_needed or "run_time" not in found else ("finish_time",)
    missing = [name for name in NEEDED if name not in (*found, *spared)]
    if missing:
        raise InputError(
            f"{path}: no column {', '.join(missing)}; {there}; say which one it is, as in --columns {missing[0]}=THEIRS"
        )
    return found


def _reasons(given: pl.Series, values: pl.Series, theirs: str, column: _Column, *, is_needed: bool) -> list[pl.Series]:
    """For each cell, why its record cannot be used, or null; nothing if all can be."""
    if values.null_count() == (0 if is_needed else given.null_count()):
        return []
    cell = pl.col("given").str.slice(0, 40).str.replace_all(r"\s+", " ")
    expected = column.conversion.expected
    reason = (
        pl.when(pl.col("value").is_null() & pl.col("given").is_not_null())
        .then(pl.format("{} is '{}'; expected {}", pl.lit(shown(theirs)), cell, pl.lit(expected)))
        .when(pl.col("value").is_null() & pl.lit(is_needed))
        .then(pl.lit(f"{shown(theirs)} is empty; expected {expected}"))
    )
    return [pl.DataFrame({"given": given, "value": values}).select(reason.alias(column.becomes)).to_series()]


def _to_moments(cells: pl.Series) -> pl.Series:
    """Microseconds since 1970 of dates with times, and of seconds since 1970."""
    dates = cells.str.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="us", strict=False).dt.epoch("us")
    if dates.null_count() == cells.null_count():
        return dates
    seconds = to_number(cells)
    seconds = seconds.set((seconds < 0) | (seconds >= _LATEST_S), None)
    return (
        pl.DataFrame({"date": dates, "other": to_instants(cells).microseconds, "number": seconds})
        .select(pl.coalesce("date", "other", (pl.col("number") * 1e6).round().cast(pl.Int64)))
        .to_series()
    )


def _to_spans(cells: pl.Series) -> pl.Series:
    """Seconds of `[[D-]H:]M:S` and of numbers; only the first part may exceed what its unit holds."""
    numbers = to_number(cells)
    if numbers.null_count() == cells.null_count():
        return numbers
    parts = cells.str.extract_groups(_CLOCK).struct.unnest().cast(pl.Float64)
    parts.columns = ["day", "hour", "minute", "second"]
    day, hour, minute, second = (pl.col(name) for name in parts.columns)
    overflows = (second >= 60) | (hour.is_not_null() & (minute >= 60)) | (day.is_not_null() & (hour >= 24))
    total = day.fill_null(0) * 86400 + hour.fill_null(0) * 3600 + minute * 60 + second
    clock = parts.select(pl.when(~overflows).then(total)).to_series()
    spans = numbers.zip_with(numbers.is_not_null(), clock)
    return spans if spans.null_count() == cells.null_count() else spans.zip_with(spans.is_not_null(), to_seconds(cells))


def _to_gib(cells: pl.Series) -> pl.Series:
    """Bytes of a number of GiB."""
    sizes = to_number(cells) * GIB
    return sizes.set((sizes < 0) | (sizes > 1 << 62), None).round().cast(pl.Int64)


_WHOLE = Conversion(to_whole, "a whole number")
_TEXT = CONVERSIONS["job_id"]
_MOMENT = Conversion(_to_moments, "a date such as 2024-05-01T12:30:00, or seconds since 1970")
_SPAN = Conversion(_to_spans, "a duration such as 1:30:00, or seconds")
_COLUMNS = {
    "job_id": _Column("job_id", _TEXT),
    "num_cores": _Column("cores", _WHOLE),
    "max_mem_gb": _Column("memory_bytes", Conversion(_to_gib, "GiB, 0 or more")),
    "num_hosts": _Column("machines", _WHOLE),
    "submit_time": _Column("submit", _MOMENT, _NO_MOMENT),
    "start_time": _Column("start", _MOMENT, _NO_MOMENT),
    "finish_time": _Column("finish", _MOMENT, _NO_MOMENT),
    "ineligible_pend_time": _Column("ineligible", _SPAN, _NO_SPAN),
    "eligible_time": _Column("eligible", _MOMENT, _NO_MOMENT),
    "run_time": _Column("run_time", _SPAN, _NO_SPAN),
    "queue": _Column("queue", _TEXT),
    "project": _Column("project", _TEXT),
    "licenses": _Column("licences", _TEXT, ("None",)),
    "exit_status": _Column("exit_status", _WHOLE),
    "ru_maxrss": _Column("max_rss", Conversion(to_number, "a number"), _NO_SPAN),
    "ru_stime": _Column("system_time", _SPAN, _NO_SPAN),
    "ru_utime": _Column("user_time", _SPAN, _NO_SPAN),
}
_NEVER_EMPTY = ("job_id", "num_cores", "num_hosts", "submit_time")
