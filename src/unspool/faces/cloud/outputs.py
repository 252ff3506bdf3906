"""The folder that `unspool cost` writes: CSV and JSON files, a page, and what is needed to make that page again."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import polars as pl

from unspool.analysis.costs import Costs
from unspool.analysis.setups import SetUp
from unspool.confinement.roots import readable_folder
from unspool.errors import InputError
from unspool.faces.cloud.commit import read_commitments, write_commitment_files
from unspool.faces.cloud.config import CostConfig
from unspool.faces.cloud.tables import instances_table, jobs_table, rejected_table
from unspool.faces.cloud.workbook import write_workbook
from unspool.metrics.cost import GROUPED, Bill, cost_by, cost_by_provider, hourly, wait_bins
from unspool.metrics.cost.bill import groups_of
from unspool.metrics.cost.window import Window
from unspool.model.workload import Workload
from unspool.platforms.documents import read_json
from unspool.report import write_cost_report
from unspool.report.setups import set_ups_report
from unspool.results.spreadsheet import plain_texts
from unspool.results.store import REPORT, versions, write_folder, write_json, write_table
from unspool.storage import make_folder, write_text, writing
from unspool.workloads.parquet import read_table

__all__ = ["read_costs", "write_costs", "write_files", "write_set_ups"]

_RUN, _BY_HOUR = "run.json", "bill.npz"
_ARRAYS = ("cost_usd", "core_hours", "disk_usd", "licence_usd")
_DAMAGED = (
    OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, BadZipFile, zlib.error,
    NotImplementedError, pl.exceptions.PolarsError,
)  # fmt: skip


def write_costs(
    costs: Costs,
    folder: str | os.PathLike[str],
    *,
    force: bool = False,
    report: bool = True,
    workbook: CostConfig | None = None,
) -> Path:
    """Write everything into a folder of its own, beside and renamed when whole."""
    return write_folder(folder, lambda into: write_files(costs, into, report=report, workbook=workbook), force=force)


def write_files(costs: Costs, folder: Path, *, report: bool = True, workbook: CostConfig | None = None) -> None:
    """Write the files into an existing folder; floats are written so that they are read back as they are.

    With the configuration as `workbook`, hourly_stats.xlsx too: what is in it must have been given commitments.
    """
    tables: dict[str, pl.DataFrame | None] = {
        "hourly_stats": costs.hourly,
        "jobs": jobs_table(costs),
        "instances": instances_table(costs),
        "rejected": rejected_table(costs),
        "waits_by_cores": wait_bins(costs.bill.jobs, "cores", run_minutes=costs.run_time_bins_min),
        "waits_by_memory": wait_bins(costs.bill.jobs, "memory", costs.memory_bins_gib, costs.run_time_bins_min),
        **{f"by_{column}": cost_by(costs.bill, column) for column in GROUPED},
        "by_provider": cost_by_provider(costs.bill),
    }
    for name, table in tables.items():
        if table is not None:
            write_table(table, folder / f"{name}.csv")
    write_json(folder / "summary.json", {**costs.summary, "notes": list(costs.notes)})
    if costs.commitments is not None:
        write_commitment_files(costs.commitments, folder)
    if workbook is not None:
        write_workbook(costs, workbook, folder / "hourly_stats.xlsx")
    _write_journal(costs, folder)
    if report:
        write_cost_report(costs, folder / REPORT)


def _write_journal(costs: Costs, folder: Path) -> None:
    """What happened, with its costs, and how it came about: from these the page can be made again."""
    bill, window = costs.bill, costs.bill.window
    journal = {
        "attempts": costs.attempts, "allocations": costs.allocations, "jobs": bill.jobs, "machines": bill.machines,
    }  # fmt: skip
    for name, table in journal.items():
        write_table(table, folder / f"{name}.parquet")
    with writing(folder / _BY_HOUR) as file:
        np.savez(file, **{name: getattr(bill, name) for name in _ARRAYS})
    told = {
        "versions": versions(), **costs.origin, "memory_bins_gib": list(costs.memory_bins_gib),
        "run_time_bins_min": list(costs.run_time_bins_min), "unallocated_usd": bill.unallocated_usd,
        "held_licence_usd": bill.held_licence_usd,
        "window": {"begin_s": window.begin_s, "hours": window.hours, "origin_unix_s": window.origin_unix_s},
    }  # fmt: skip
    write_json(folder / _RUN, told)


def read_costs(folder: Path) -> Costs:
    """The costs that a folder holds."""
    if not (readable_folder(folder) / _RUN).is_file():
        raise InputError(f"{folder}: an earlier version wrote it, without {_RUN}: run `unspool cost` again")
    try:
        told, summary = read_json(folder / _RUN), read_json(folder / "summary.json")
        rejected = pl.read_csv(folder / "rejected.csv", schema_overrides={"line": pl.Int64, "job_id": pl.String})
        return _read(folder, told, summary, plain_texts(rejected))
    except InputError as error:
        raise InputError(f"{folder}: the result is damaged: {error}") from error
    except _DAMAGED as error:
        raise InputError(f"{folder}: the result is damaged: {type(error).__name__}: {error}") from error


def _read(folder: Path, told: dict[str, Any], summary: dict[str, Any], rejected: pl.DataFrame) -> Costs:
    machines, attempts, allocations, jobs = (
        read_table(folder / f"{name}.parquet") for name in ("machines", "attempts", "allocations", "jobs")
    )
    with np.load(folder / _BY_HOUR, allow_pickle=False) as by_hour:
        arrays = {name: by_hour[name] for name in _ARRAYS}
    bill = Bill(
        window=Window(**told["window"]),
        machines=machines,
        jobs=jobs,
        groups=groups_of(machines),
        unallocated_usd=told["unallocated_usd"],
        held_licence_usd=told["held_licence_usd"],
        **arrays,
    )
    return Costs(
        bill=bill,
        hourly=hourly(bill, attempts),
        attempts=attempts,
        allocations=allocations,
        rejected=rejected,
        summary={name: value for name, value in summary.items() if name != "notes"},
        notes=tuple(summary["notes"]),
        memory_bins_gib=tuple(told["memory_bins_gib"]),
        run_time_bins_min=tuple(told["run_time_bins_min"]),
        origin={name: told[name] for name in ("command", "versions", "files") if name in told},
        commitments=read_commitments(folder),
    )


def write_set_ups(
    table: pl.DataFrame,
    set_ups: Sequence[SetUp],
    log: Workload,
    folder: str | os.PathLike[str],
    *,
    command: str = "",
    force: bool = False,
    report: bool = True,
) -> Path:
    """Write a comparison into a folder of its own: the table, a page, and what each set-up would have written."""

    def fill(into: Path) -> None:
        write_table(table, into / "comparison.csv")
        write_json(into / "comparison.json", table.to_dicts())
        for each in set_ups:
            make_folder(into / each.name)
            write_files(each.costs, into / each.name, report=report)
        if report:
            page = set_ups_report(table, set_ups, log, command=command)
            write_text(into / REPORT, page)

    return write_folder(folder, fill, force=force)
