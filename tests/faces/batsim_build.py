"""Runs of Batsim jobs from a few numbers; the cases of Batsim, and results made of what they say."""

from __future__ import annotations

import csv
import os
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from tests.build import workload

from unspool.model.network import Host, Network
from unspool.model.platform import MachineGroup, MachineType, Platform
from unspool.model.profile import Delay
from unspool.model.workload import Workload, rejected_table
from unspool.results.result import Result
from unspool.workloads.intervals import parse_intervals

CASES = Path(os.environ.get("UNSPOOL_CASES", Path(__file__).parents[3] / "shared" / "cases")) / "batsim"
GOLDEN = CASES / "golden"
STATES = {
    "COMPLETED_SUCCESSFULLY": "completed",
    "COMPLETED_FAILED": "failed",
    "COMPLETED_WALLTIME_REACHED": "walltime",
    "COMPLETED_KILLED": "killed",
}


def need_cases() -> None:
    if not CASES.is_dir():
        pytest.skip("the cases are not here: no batsim folder under UNSPOOL_CASES")


def machines(count: int) -> Platform:
    """So many machines of one slot."""
    return Platform((MachineGroup(MachineType("host", 1), count),), name="small")


def jobs(rows, **columns) -> Workload:
    """Jobs 'a', 'b', ... of (submit, run, machines, walltime) rows; one that takes 5 s has the profile 'd5'."""
    names = [f"d{row[1]}" for row in rows]
    made = workload(rows, machines=[row[2] for row in rows], profile=names, **columns)
    return replace(made, profiles={name: Delay(float(name[1:])) for name in names})


def networked(zones: dict[str, list[dict[str, str]]], storage: int = 0) -> Platform:
    """Hosts with properties in zones, and storage hosts; machines are called h0, h1, ..."""
    compute = [(zone, properties) for zone, hosts in zones.items() for properties in hosts]
    hosts = [Host(f"h{at}", (1e9,), zone=zone, properties=has) for at, (zone, has) in enumerate(compute)]
    hosts += [Host(f"s{at}", (0.0,), role="storage") for at in range(storage)]
    none = tuple(() for _ in hosts)
    network = Network(tuple(hosts), (), tuple(range(len(hosts))), none, none, none, {})
    return Platform((MachineGroup(MachineType("host", 1), len(compute)),), network=network, name="zoned")


def golden_rows(name: str) -> list[dict[str, str]]:
    need_cases()
    with open(GOLDEN / name / "out_jobs.csv", newline="") as lines:
        return list(csv.DictReader(lines))


def golden_schedule(name: str) -> dict[str, str]:
    with open(GOLDEN / name / "out_schedule.csv", newline="") as lines:
        return next(csv.DictReader(lines))


def replayed(name: str, machine_count: int) -> tuple[Workload, Result]:
    """The jobs of a recorded run, and a result that says of them what Batsim's own file says."""
    rows = golden_rows(name)
    ids = [row["job_id"] for row in rows]
    table = pl.DataFrame(
        {
            "job_id": ids,
            "submit_time": [float(row["submission_time"]) for row in rows],
            "run_time": [0.0 for _ in rows],
            "cores": [int(row["requested_number_of_resources"]) for row in rows],
            "machines": [int(row["requested_number_of_resources"]) for row in rows],
            "walltime": [
                float(row["requested_time"]) if row["requested_time"] != "-1.000000" else None for row in rows
            ],
            "profile": [row["profile"] for row in rows],
        }
    )
    ran = sorted((row for row in rows if row["starting_time"]), key=lambda row: float(row["starting_time"]))
    start = [float(row["starting_time"]) for row in ran]
    took = [0.0 if row["execution_time"] == "0.000010" else float(row["execution_time"]) for row in ran]
    finish = [begin + time for begin, time in zip(start, took, strict=True)]
    held = [sorted(parse_intervals(row["allocated_resources"])) for row in ran]
    allocations = [(at, machine, machine, 1) for at, members in enumerate(held) for machine in members]
    how = [STATES[row["final_state"]] for row in ran]
    attempts = pl.DataFrame(
        {
            "job_id": [row["job_id"] for row in ran],
            "attempt": range(len(ran)),
            "submit_time": [float(row["submission_time"]) for row in ran],
            "start_time": start,
            "finish_time": finish,
            "cores": [len(members) for members in held],
            "how": how,
        },
        schema_overrides={
            "job_id": pl.String,
            "attempt": pl.Int64,
            "start_time": pl.Float64,
            "finish_time": pl.Float64,
            "how": pl.String,
        },
    )
    metadata = [row["metadata"] or None for row in ran]
    done = attempts.select("job_id", "start_time", "finish_time", state="how").with_columns(
        pl.Series("notes", metadata, dtype=pl.String)
    )
    schema = {"attempt": pl.Int32, "first_machine": pl.Int32, "last_machine": pl.Int32, "units": pl.Int32}
    outages = {"machine": pl.Int64, "down_time": pl.Float64, "up_time": pl.Float64, "cause": pl.String}
    result = Result(
        workload="golden",
        platform=machines(machine_count),
        policy="recorded",
        jobs=done,
        attempts=attempts,
        allocations=pl.DataFrame(allocations, schema=schema, orient="row"),
        machines=pl.DataFrame(),
        outages=pl.DataFrame(schema=outages),
        rejected=rejected_table([(None, row["job_id"], "too large") for row in rows if not row["starting_time"]]),
        config={"seed": 0},
        counts={},
    )
    return Workload.of(table), result
