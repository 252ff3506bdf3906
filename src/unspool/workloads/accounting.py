"""Records of an accounting log (submitted, eligible, started, finished) turned into a workload.

A scheduler's log says when things happened; a workload says how long they took. The rules are those of the jobs CSV
(docs/reference/jobs-csv.md), and hold for every format that is read through here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from unspool.model.workload import MOST_CORES, MOST_SECONDS, Workload
from unspool.units import counted
from unspool.workloads.files import AnyPath
from unspool.workloads.table import parted

__all__ = ["RECORD", "with_distinct_ids", "workload_of_records"]

RECORD = {
    "line": pl.Int64(),
    "job_id": pl.String(),
    "cores": pl.Int64(),
    "machines": pl.Int64(),
    "memory_bytes": pl.Int64(),
    "submit": pl.Int64(),
    "eligible": pl.Int64(),
    "start": pl.Int64(),
    "finish": pl.Int64(),
    "ineligible": pl.Float64(),
    "run_time": pl.Float64(),
    "reason": pl.String(),
}
"""What a record says: instants in microseconds since 1970, spans in seconds, null where it does not say.

`reason` says why it cannot be used, null where nothing is known against it. Further columns are a workload's.
"""

_MICRO = 1_000_000


def workload_of_records(
    records: pl.DataFrame,
    path: AnyPath,
    rejected: pl.DataFrame,
    notes: Sequence[str] = (),
) -> Workload:
    """The jobs of records with the columns of `RECORD`, some of which may be absent, and of a workload.

    The eligible time becomes `submit_time`, so that `ineligible_time` is what went before it and `logged_wait` what
    came after it. The origin is the earliest submission, to the whole second.
    """
    absent = [pl.lit(None, dtype).alias(name) for name, dtype in RECORD.items() if name not in records.columns]
    told = _completed(records.with_columns(absent))
    kept, left_out = parted(told, [told.select(_reason()).to_series()], rejected, path)
    kept, renamed = with_distinct_ids(kept)
    origin_s = kept.select(pl.min_horizontal(pl.col("submit").min(), pl.col("eligible").min())).item() // _MICRO
    times = {
        "submit_time": (pl.col("eligible") - origin_s * _MICRO) / _MICRO,
        "ineligible_time": ((pl.col("eligible") - pl.col("submit")) / _MICRO).clip(0),
        "logged_wait": (pl.col("begun") - pl.col("eligible")) / _MICRO,
    }
    jobs = kept.with_columns(**times, memory_bytes=pl.when(pl.col("memory_bytes") > 0).then("memory_bytes"))
    jobs = jobs.drop("submit", "eligible", "start", "begun", "finish", "ineligible", "reason")
    if not (jobs["ineligible_time"] > 0).any():
        jobs = jobs.drop("ineligible_time")
    said = [name for name in jobs.columns if jobs[name].count()]
    return Workload.of(
        jobs.select(said),
        name=Path(path).resolve().name,
        origin_unix_s=float(origin_s),
        rejected=left_out,
        notes=(*notes, *_notes(kept), *renamed),
    )


def _completed(records: pl.DataFrame) -> pl.DataFrame:
    """The records with what they leave to be worked out: when they began, were eligible, and how long they ran."""
    submit, start = pl.col("submit"), pl.col("start")
    records = records.with_columns(
        begun=pl.when(start >= submit).then(start).otherwise(submit),
        eligible=pl.coalesce("eligible", submit + _micro(pl.col("ineligible").fill_null(0.0))),
    )
    return records.with_columns(run_time=pl.coalesce("run_time", (pl.col("finish") - pl.col("begun")) / _MICRO))


def _micro(seconds: pl.Expr) -> pl.Expr:
    """Whole microseconds of a span; any beyond a log's stays beyond it, and fits."""
    return (seconds.clip(-2 * MOST_SECONDS, 2 * MOST_SECONDS) * _MICRO).round().cast(pl.Int64)


def _reason() -> pl.Expr:
    """Why a record makes no job; of several reasons the first."""
    cores, machines, run_time = pl.col("cores"), pl.col("machines"), pl.col("run_time")
    longest = pl.max_horizontal(run_time, ((pl.col("eligible") - pl.col("submit")) / _MICRO).abs())
    reasons = {
        "no id": pl.col("job_id").is_null(),
        "no submit time": pl.col("submit").is_null(),
        "it finished before it started": pl.col("finish") < pl.col("begun"),
        "neither a finish time nor a run time": run_time.is_null(),
        "a negative run time": run_time < 0,
        "no number of cores": cores.is_null(),
        "less than one core": cores < 1,
        "less than one host": machines < 1,
        "negative memory": pl.col("memory_bytes") < 0,
        "more cores or hosts than any machine has": pl.max_horizontal(cores, machines) > MOST_CORES,
        "more memory than any machine has": pl.col("memory_bytes") > 1 << 62,
        "a time beyond any log's": longest > MOST_SECONDS,
    }
    return pl.coalesce("reason", *(pl.when(is_so).then(pl.lit(text)) for text, is_so in reasons.items()))


def with_distinct_ids(jobs: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The jobs, later ones of an id marked `#2`, `#3`: schedulers begin again at 1, and some logs cut array indices."""
    moved = 0
    while jobs["job_id"].is_duplicated().any():
        count = pl.int_range(1, pl.len() + 1).over("job_id")
        marked = pl.when(count > 1).then(pl.format("{}#{}", "job_id", count)).otherwise("job_id")
        moved = moved or int(jobs["job_id"].len() - jobs["job_id"].n_unique())
        jobs = jobs.with_columns(job_id=marked)
    return jobs, (
        f"{counted(moved, 'job has', 'jobs have')} the id of an earlier one: marked #2, #3 and so on",
    ) if moved else ()


def _notes(jobs: pl.DataFrame) -> list[str]:
    """What was taken otherwise than it stands in the log, counted."""
    submit, eligible, start = pl.col("submit"), pl.col("eligible"), pl.col("start")
    told = submit + _micro(pl.col("ineligible"))
    is_missing = start.is_null() | (start < submit)
    cases = {
        (
            "job has no start time, or one before it was submitted: taken as started then",
            "jobs have no start time, or one before they were submitted: taken as started then",
        ): is_missing,
        (
            "job was eligible before it was submitted: taken as submitted when eligible",
            "jobs were eligible before they were submitted: taken as submitted when eligible",
        ): eligible < submit,
        (
            "job started before it was eligible: its logged wait is negative",
            "jobs started before they were eligible: their logged wait is negative",
        ): pl.col("begun") < eligible,
        (
            "job was not eligible at submit time + ineligible time: the eligible time counts",
            "jobs were not eligible at submit time + ineligible time: the eligible time counts",
        ): told != eligible,
        ("job asks for no memory", "jobs ask for no memory"): pl.col("memory_bytes").is_null(),
    }
    counts = jobs.select(is_so.sum().alias(several) for (_, several), is_so in cases.items()).row(0)
    return [counted(count, *what) for what, count in zip(cases, counts, strict=True) if count]
