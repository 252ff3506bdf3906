"""The jobs CSV of the AWS HPC cost simulator: read in its forms of 24 and 27 columns, written in the longer one."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from unspool.errors import UnknownName
from unspool.model.workload import COLUMNS, Workload
from unspool.units import counted
from unspool.workloads.delimited import read_cells
from unspool.workloads.files import AnyPath, replaced
from unspool.workloads.jobcells import GIB, JOBS_COLUMNS, SIZES, workload_of_jobs

__all__ = ["read_jobs_csv", "recognises", "write_jobs_csv"]

# A Thursday, as is 1970-01-01, with which a log of unknown origin begins; midnight of that day means "no time" here.
_UNKNOWN_ORIGIN_S = 7 * 86400
_HELD = (
    *("job_id", "submit_time", "ineligible_time", "run_time", "cores", "machines", "memory_bytes", "licences"),
    *("project", "queue", "logged_wait", "cpu_time", "used_memory_bytes", "status", "line"),
)


def recognises(start: bytes) -> bool:
    """Whether a file that begins so is a jobs CSV: its first line names `num_cores` and `max_mem_gb`.

    >>> recognises(b"job_id,num_cores,max_mem_gb\\n1,4,2.5\\n"), recognises(b"job_id,cores\\n")
    (True, False)
    """
    first = next((line for line in start.splitlines() if line.strip()), b"")
    names = {name.strip(b'" \t\xef\xbb\xbf') for name in first.split(b",")}
    return {b"num_cores", b"max_mem_gb"} <= names


def read_jobs_csv(
    path: AnyPath, columns: Mapping[str, str] | None = None, *, maxrss_unit: str | None = None
) -> Workload:
    """The jobs of a jobs CSV, packed or not; columns are found by name, and seven of them are needed.

    `columns` maps a column of the jobs CSV to the file's. `maxrss_unit` is B for files made from Slurm, Accelerator or
    by us, KB for files made from LSF; without it `ru_maxrss` is not used.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> names = "job_id,num_cores,max_mem_gb,num_hosts,submit_time,start_time,finish_time\\n"
    >>> with TemporaryDirectory() as folder:
    ...     log = Path(folder, "jobs.csv")
    ...     _ = log.write_text(names + "846_0,4,0.5,1,2024-05-01T12:00:00,1714564920,2024-05-01T13:00:00\\n")
    ...     read_jobs_csv(log).table.select("job_id", "run_time", "logged_wait", "memory_bytes").row(0)
    ('846_0', 3480.0, 120.0, 536870912)
    """
    if maxrss_unit is not None and str(maxrss_unit).upper() not in SIZES:
        raise UnknownName("unit of ru_maxrss", str(maxrss_unit), SIZES)
    unit = None if maxrss_unit is None else SIZES[str(maxrss_unit).upper()]
    return workload_of_jobs(read_cells(path, ","), path, columns or {}, maxrss_bytes=unit)


def write_jobs_csv(workload: Workload, path: AnyPath, *, force: bool = False) -> tuple[str, ...]:
    """Write a workload as a jobs CSV of 27 columns, packed if the name ends in `.gz`; returns notes on what is lost.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> jobs = pl.DataFrame({"job_id": ["a"], "submit_time": [0], "run_time": [90.5], "cores": [4]})
    >>> with TemporaryDirectory() as folder:
    ...     notes = write_jobs_csv(Workload.of(jobs, origin_unix_s=1714564800.0), Path(folder, "jobs.csv"))
    ...     Path(folder, "jobs.csv").read_text().splitlines()[1][:90]
    'a,4,0.0,1,2024-05-01T12:00:00,2024-05-01T12:00:00,2024-05-01T12:01:30,0:00:00,2024-05-01T1'
    """
    origin_s = workload.origin_unix_s or _UNKNOWN_ORIGIN_S
    jobs = pl.DataFrame([workload.column(name) for name in _HELD])
    eligible = pl.col("submit_time") + origin_s
    wait, ineligible = pl.col("logged_wait").fill_null(0.0), pl.col("ineligible_time").fill_null(0.0)
    cells = {
        "num_cores": pl.col("cores"),
        "max_mem_gb": pl.col("memory_bytes").fill_null(0) / GIB,
        "num_hosts": pl.col("machines").fill_null(1).clip(1),
        "submit_time": _date(eligible - ineligible),
        "start_time": _date(eligible + wait),
        # From the seconds that are written, lest a job that runs for no time ends before it starts.
        "finish_time": _date((eligible + wait).round() + pl.col("run_time")),
        "ineligible_pend_time": _span(ineligible),
        "eligible_time": _date(eligible),
        "wait_time": _span(pl.when(wait >= 0).then(wait)),
        "run_time": _span(pl.col("run_time")),
        "licenses": pl.col("licences"),
        "exit_status": pl.when(pl.col("status") == 1).then(0).when(pl.col("status").is_not_null()).then(1),
        "ru_maxrss": pl.col("used_memory_bytes") * pl.col("cores"),
        "ru_utime": _span(pl.col("cpu_time") * pl.col("cores")),
    }
    blank = [pl.lit(None, pl.String).alias(name) for name in JOBS_COLUMNS if name not in (*_HELD, *cells)]
    with replaced(path, force=force) as file:
        jobs.with_columns(*blank, **cells).select(JOBS_COLUMNS).write_csv(file)
    return tuple(_lost(workload, jobs))


def _date(seconds: pl.Expr) -> pl.Expr:
    return (seconds.round().cast(pl.Int64) * 1_000_000).cast(pl.Datetime("us")).dt.to_string("%Y-%m-%dT%H:%M:%S")


def _span(seconds: pl.Expr) -> pl.Expr:
    """`[D-]H:MM:SS[.ffffff]`."""
    micro = (seconds * 1e6).round().cast(pl.Int64)
    whole = micro // 1_000_000
    days = pl.when(whole >= 86400).then(pl.format("{}-", whole // 86400)).otherwise(pl.lit(""))
    minute, second = ((amount % 60).cast(pl.String).str.zfill(2) for amount in (whole // 60, whole))
    part = pl.format(".{}", (micro % 1_000_000).cast(pl.String).str.zfill(6))
    fraction = pl.when(micro % 1_000_000 > 0).then(part).otherwise(pl.lit(""))
    return pl.format("{}{}:{}:{}{}", days, whole // 3600 % 24, minute, second, fraction)


def _lost(workload: Workload, jobs: pl.DataFrame) -> list[str]:
    """Notes on what the format has no place for, or has otherwise."""
    foreign = [column.name for column in COLUMNS if column.name not in _HELD]
    lost = [name for name in foreign if workload.column(name).count()]
    notes = [f"the jobs CSV has no column for {', '.join(lost)}: left out"] if lost else []
    if not workload.origin_unix_s:
        notes.append("the origin of the log is not known: dates are written as if it were 1970-01-08")
    times = [pl.col(name).fill_null(0) % 1 != 0 for name in ("submit_time", "ineligible_time", "logged_wait")]
    cases: list[tuple[str, str, str, pl.Expr]] = [
        ("does", "do", "not say on how many machines: written as one host", pl.col("machines").fill_null(0) < 1),
        ("has", "have", "no logged wait: written as started when eligible", pl.col("logged_wait").is_null()),
        ("has", "have", "times with parts of a second, which are rounded; run times are not", pl.any_horizontal(times)),
        ("ended", "ended", "otherwise than well or badly: written with exit status 1", pl.col("status") > 1),
    ]
    counts = jobs.select(is_so.sum().alias(text) for _, _, text, is_so in cases).row(0)
    return notes + [
        f"{counted(count, f'job {one}', f'jobs {several}')} {text}"
        for count, (one, several, text, _) in zip(counts, cases, strict=True)
        if count
    ]
