"""The journal of a finished run as tables."""

from __future__ import annotations

import numpy as np
import polars as pl

from unspool.engine.state import COMPLETED, KILLED, LOST, RUNNING, TIMED_OUT
from unspool.metrics.waiting import job_times
from unspool.model.platform import MachineType, Platform
from unspool.model.workload import Workload
from unspool.simulation.engine import Engine

__all__ = ["allocations_of", "attempts_of", "jobs_of", "machines_of", "outages_of"]

_KEPT = ("job_id", "user", "group", "project", "queue", "partition", "application", "submit_time", "walltime")
_HOW = {RUNNING: "running", COMPLETED: "completed", TIMED_OUT: "walltime", KILLED: "killed", LOST: "lost"}


def attempts_of(engine: Engine) -> pl.DataFrame:
    """One row for each time that a job was started: when, until when, and how it ended."""
    attempts = engine.attempts
    return pl.DataFrame(
        {
            "job_id": _of_jobs(engine, "job_id", attempts["job"]),
            "attempt": pl.Series(np.arange(len(attempts), dtype=np.int64)),
            "submit_time": engine.core.jobs["submit"][attempts["job"]],
            "start_time": np.ascontiguousarray(attempts["start"]),
            "finish_time": np.ascontiguousarray(attempts["finish"]),
            "cores": engine.core.jobs["size"][attempts["job"]],
            "how": _how(np.ascontiguousarray(attempts["how"])),
        }
    )


def jobs_of(engine: Engine) -> pl.DataFrame:
    """One row for each job that ran, in the order of submission, with its last attempt."""
    last = engine.core.fate["attempt"]
    ran = np.flatnonzero(last >= 0)
    last = last[ran]
    attempts = engine.core.attempts
    table = engine.workload.table
    kept = table.select(name for name in _KEPT if name in table.columns)
    if len(ran) < len(table):
        kept = kept[engine.used[ran]]
    jobs = kept.with_columns(
        cores=engine.core.jobs["size"][ran],
        start_time=attempts["start"][last],
        finish_time=attempts["finish"][last],
        state=_how(attempts["how"][last]),
        attempts=np.bincount(engine.attempts["job"], minlength=len(engine.core.jobs))[ran],
    ).with_columns(job_times())
    if engine.annotations:
        notes = pl.DataFrame(
            {"job_id": list(engine.annotations), "notes": ["; ".join(texts) for texts in engine.annotations.values()]}
        )
        jobs = jobs.join(notes, on="job_id", how="left", maintain_order="left")
    return jobs


def outages_of(engine: Engine) -> pl.DataFrame:
    """One row for each time that a machine was down in the course of the run."""
    schema = {"machine": pl.Int64, "down_time": pl.Float64, "up_time": pl.Float64, "cause": pl.String}
    rows = [
        (outage.machine, outage.down_time, outage.up_time, outage.cause)
        for outage in engine.outages
        if outage.down_time <= engine.now
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")


def allocations_of(engine: Engine) -> pl.DataFrame:
    """One row for each run of neighbouring machines that an attempt held; empty on a pool."""
    schema = {"attempt": pl.Int32, "first_machine": pl.Int32, "last_machine": pl.Int32, "units": pl.Int32}
    if engine.place is None:
        return pl.DataFrame(schema=schema)
    rows = engine.place.rows[: int(engine.core.clock[0]["rows"])]
    attempt = np.repeat(np.arange(len(engine.attempts), dtype=np.int32), engine.attempts["row_count"])
    return pl.DataFrame(
        {
            "attempt": attempt,
            "first_machine": np.ascontiguousarray(rows["first"]),
            "last_machine": np.ascontiguousarray(rows["last"]),
            "units": np.ascontiguousarray(rows["units"]),
        },
        schema=schema,
    )


def machines_of(platform: Platform, jobs: pl.DataFrame) -> pl.DataFrame:
    """One row a machine: what it has, and from when to when it was there."""
    types = pl.DataFrame(
        [_machine_row(group.machine, platform) for group in platform.groups],
        schema={"type": pl.String, "partitions": pl.String, "cores": pl.Int64, "memory_bytes": pl.Int64,
                "gpus": pl.Int64, "plan": pl.String, "usd_per_hour": pl.Float64},
        orient="row",
    )  # fmt: skip
    machines = types[np.repeat(np.arange(len(types)), [group.count for group in platform.groups])]
    return machines.select(
        pl.int_range(pl.len(), dtype=pl.Int64).alias("machine"),
        *types.columns[:5],
        pl.lit(jobs["submit_time"].min(), pl.Float64).alias("up_time"),
        pl.lit(jobs["finish_time"].max(), pl.Float64).alias("stop_time"),
        *types.columns[5:],
    )


def _machine_row(machine: MachineType, platform: Platform) -> tuple[str | int | float | None, ...]:
    partitions = ",".join(partition.name for partition in platform.partitions if machine.name in partition.groups)
    price = machine.prices[0] if machine.prices else None
    plan, usd_per_hour = (price.plan, price.usd_per_hour) if price else (None, None)
    return machine.name, partitions, machine.cores, machine.memory_bytes, machine.gpus, plan, usd_per_hour


def _of_jobs(engine: Engine, column: str, jobs: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pl.Series:
    workload: Workload = engine.workload
    return workload.table[column].gather(pl.Series(engine.used[jobs]))


def _how(codes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pl.Series:
    return pl.Series(codes).replace_strict(_HOW, return_dtype=pl.Enum(list(_HOW.values())))
