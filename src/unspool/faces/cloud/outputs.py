"""The folder that `unspool cost` writes: CSV and JSON files, a page, and what is needed to make that page again."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import polars as pl

from unspool.errors import InputError
from unspool.faces.cloud.tables import instances_table, jobs_table, rejected_table
from unspool.metrics.cost import GROUPED, bill, cost_by, hourly, wait_bins
from unspool.metrics.cost.window import Window
from unspool.report import write_cost_report
from unspool.results.costs import Costs
from unspool.results.store import REPORT, versions, write_folder, write_json

__all__ = ["read_costs", "write_costs", "write_files"]

_RUN = "run.json"
_BILLED = "jobs"  # the one column of the bill's machines that billing them again would not replace


def write_costs(costs: Costs, folder: str | os.PathLike[str], *, force: bool = False, report: bool = True) -> Path:
    """Write everything into a folder of its own, beside and renamed when whole."""
    return write_folder(folder, lambda into: write_files(costs, into, report=report), force=force)


def write_files(costs: Costs, folder: Path, *, report: bool = True) -> None:
    """Write the files into an existing folder; floats are written so that they are read back as they are."""
    tables: dict[str, pl.DataFrame | None] = {
        "hourly_stats": costs.hourly,
        "jobs": jobs_table(costs),
        "instances": instances_table(costs),
        "rejected": rejected_table(costs),
        "waits_by_cores": wait_bins(costs.bill.jobs, "cores", run_minutes=costs.run_time_bins_min),
        "waits_by_memory": wait_bins(costs.bill.jobs, "memory", costs.memory_bins_gib, costs.run_time_bins_min),
        **{f"by_{column}": cost_by(costs.bill, column) for column in GROUPED},
    }
    for name, table in tables.items():
        if table is not None:
            table.write_csv(folder / f"{name}.csv")
    write_json(folder / "summary.json", {**costs.summary, "notes": list(costs.notes)})
    _write_journal(costs, folder)
    if report:
        write_cost_report(costs, folder / REPORT)


def _write_journal(costs: Costs, folder: Path) -> None:
    """What happened, as parquet, and how it came about: from these the bill can be made again."""
    window = costs.bill.window
    journal = {
        "attempts": costs.attempts, "allocations": costs.allocations, "jobs": costs.bill.jobs,
        "machines": costs.bill.machines.drop(_BILLED),
    }  # fmt: skip
    for name, table in journal.items():
        table.write_parquet(folder / f"{name}.parquet")
    told = {
        "versions": versions(), **costs.origin, "memory_bins_gib": list(costs.memory_bins_gib),
        "run_time_bins_min": list(costs.run_time_bins_min), "minimum_billed_s": costs.bill.minimum_billed_s,
        "window": {"begin_s": window.begin_s, "hours": window.hours, "origin_unix_s": window.origin_unix_s},
    }  # fmt: skip
    write_json(folder / _RUN, told)


def read_costs(folder: Path) -> Costs:
    """The costs that a folder holds, billed again."""
    if not (folder / _RUN).is_file():
        raise InputError(f"{folder}: an earlier version wrote it, without {_RUN}: run `unspool cost` again")
    try:
        told = json.loads((folder / _RUN).read_text(encoding="utf-8"))
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        rejected = pl.read_csv(folder / "rejected.csv", schema_overrides={"line": pl.Int64, "job_id": pl.String})
        return _billed(folder, told, summary, rejected)
    except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{folder}: the result is damaged: {type(error).__name__}: {error}") from error


def _billed(folder: Path, told: dict[str, Any], summary: dict[str, Any], rejected: pl.DataFrame) -> Costs:
    machines, attempts, allocations, jobs = (
        pl.read_parquet(folder / f"{name}.parquet") for name in ("machines", "attempts", "allocations", "jobs")
    )
    window = Window(**told["window"])
    made = bill(machines, attempts, allocations, jobs, window, minimum_billed_s=told["minimum_billed_s"])
    return Costs(
        bill=made,
        hourly=hourly(made, attempts),
        attempts=attempts,
        allocations=allocations,
        rejected=rejected,
        summary={name: value for name, value in summary.items() if name != "notes"},
        notes=tuple(summary["notes"]),
        memory_bins_gib=tuple(told["memory_bins_gib"]),
        run_time_bins_min=tuple(told["run_time_bins_min"]),
        origin={name: told[name] for name in ("command", "versions", "files") if name in told},
    )
