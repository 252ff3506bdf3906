"""The jobs of a run as rows of Batsim's jobs file."""

from __future__ import annotations

import polars as pl

from unspool.faces.batsim.intervals import interval_texts
from unspool.model.workload import Workload
from unspool.results.result import Result

__all__ = ["FINAL_STATES", "JOB_COLUMNS", "job_rows", "last_attempts"]

FINAL_STATES = {
    "completed": "COMPLETED_SUCCESSFULLY",
    "failed": "COMPLETED_FAILED",
    "walltime": "COMPLETED_WALLTIME_REACHED",
    "killed": "COMPLETED_KILLED",
    "lost": "COMPLETED_KILLED",
}
"""How an attempt ended, in our words and in Batsim's, which has none for a job whose machine was lost."""

_SUCCESS, _REJECTED = FINAL_STATES["completed"], "REJECTED"

JOB_COLUMNS: tuple[str, ...] = (
    "job_id", "workload_name", "profile", "submission_time", "requested_number_of_resources", "requested_time",
    "success", "final_state", "starting_time", "execution_time", "finish_time", "waiting_time", "turnaround_time",
    "stretch", "allocated_resources", "consumed_energy", "metadata",
)  # fmt: skip
"""The columns of the jobs file, in their order."""

NO_TIME_S = 1e-5
"""What Batsim reports of a job that took no time at all."""

# At one instant: jobs that have run end, then jobs are turned away, then those that take no time start and end.
_ENDED, _TURNED_AWAY, _INSTANT = 0, 1, 2


def job_rows(workload: Workload, result: Result) -> pl.DataFrame:
    """One row a job that ended or was rejected, in the order of that; of jobs that end together, in that of starts.

    Columns as in `JOB_COLUMNS`, with nulls where Batsim leaves a cell empty. A job that took no time has 1e-5 s.
    """
    asked = _asked(workload)
    ran = last_attempts(result).join(asked, on="job_id", how="left", maintain_order="left")
    ran = _with_endings(ran, result.jobs)
    turned_away = result.rejected.select("job_id").join(asked, on="job_id", how="inner", maintain_order="left")
    rows = pl.concat([_ran_rows(ran, result), _rejected_rows(turned_away)], how="diagonal_relaxed")
    rows = rows.sort("when", "kind", "attempt")
    turnaround = pl.col("finish_time") - pl.col("submission_time")
    return (
        _named(rows)
        .with_columns(
            success=(pl.col("final_state") == _SUCCESS).cast(pl.Int64),
            waiting_time=pl.col("starting_time") - pl.col("submission_time"),
            turnaround_time=turnaround,
            stretch=turnaround / pl.col("execution_time"),
            metadata=pl.col("metadata").fill_null(""),
        )
        .select(JOB_COLUMNS)
    )


def _with_endings(ran: pl.DataFrame, jobs: pl.DataFrame) -> pl.DataFrame:
    """The attempts with what only jobs say: that they failed, and what policies noted of them."""
    has_failed = bool((jobs["state"].cast(pl.String) == "failed").any())
    has_notes = "notes" in jobs.columns
    if not has_failed and not has_notes:
        return ran.with_columns(metadata=pl.lit(None, pl.String))
    told = jobs.select(
        "job_id",
        pl.col("state").alias("how"),
        (pl.col("notes") if has_notes else pl.lit(None, pl.String)).alias("metadata"),
    )
    return ran.drop("how").join(told, on="job_id", how="left", maintain_order="left")


def last_attempts(result: Result) -> pl.DataFrame:
    """The last attempt of each job that ended: Batsim knows no others."""
    ended = result.attempts.filter(pl.col("how") != "running")
    if len(ended) > len(result.jobs):
        ended = ended.unique("job_id", keep="last", maintain_order=True)
    joules = pl.col("machines_energy_j") if "machines_energy_j" in ended.columns else pl.lit(-1.0)
    return ended.select("job_id", "attempt", "start_time", "finish_time", "how", consumed_energy=joules)


def _asked(workload: Workload) -> pl.DataFrame:
    """What each job asked for."""
    return pl.DataFrame(
        {
            "job_id": workload.table["job_id"],
            "profile": workload.column("profile"),
            "submission_time": workload.table["submit_time"],
            "machines": workload.column("machines"),
            "cores": workload.table["cores"],
            "walltime": workload.column("walltime"),
        }
    ).select(
        "job_id",
        pl.col("profile").fill_null(""),
        "submission_time",
        requested_number_of_resources=pl.coalesce("machines", "cores"),
        requested_time=pl.when(pl.col("walltime") > 0).then("walltime").otherwise(-1.0),
    )


def _ran_rows(ran: pl.DataFrame, result: Result) -> pl.DataFrame:
    took = pl.col("finish_time") - pl.col("start_time")
    execution = pl.when(took == 0.0).then(NO_TIME_S).otherwise(took)
    return ran.with_columns(
        when="finish_time",
        kind=pl.when(took == 0.0).then(_INSTANT).otherwise(_ENDED),
        final_state=pl.col("how").cast(pl.String).replace_strict(FINAL_STATES, return_dtype=pl.String),
        starting_time="start_time",
        execution_time=execution,
        finish_time=pl.when(took == 0.0).then(pl.col("start_time") + NO_TIME_S).otherwise("finish_time"),
        allocated_resources=interval_texts(result.allocations, len(result.attempts)).gather(ran["attempt"]),
    )


def _rejected_rows(turned_away: pl.DataFrame) -> pl.DataFrame:
    return turned_away.with_columns(
        pl.lit(_REJECTED).alias("final_state"),
        when="submission_time",
        kind=_TURNED_AWAY,
        attempt=pl.int_range(pl.len()),
    )


def _named(rows: pl.DataFrame) -> pl.DataFrame:
    """The two parts of identifiers, of which a single workload has only the second."""
    if not rows["job_id"].str.contains("!", literal=True).any():
        return rows.with_columns(workload_name=pl.lit("w0"))
    parts = pl.col("job_id").str.splitn("!", 2).struct
    workload = pl.when(parts.field("field_1").is_null()).then(pl.lit("w0")).otherwise(parts.field("field_0"))
    return rows.with_columns(
        workload_name=workload,
        job_id=pl.coalesce(parts.field("field_1"), "job_id"),
        profile=pl.col("profile").str.strip_prefix(workload + "!"),
    )
