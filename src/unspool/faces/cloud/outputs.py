"""The folder that `unspool cost` writes: CSV and JSON files, and a page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from unspool.faces.cloud.commit import write_commitment_files
from unspool.faces.cloud.config import CostConfig
from unspool.faces.cloud.tables import instances_table, jobs_table, rejected_table
from unspool.faces.cloud.workbook import write_workbook
from unspool.metrics.cost import GROUPED, cost_by, cost_by_provider, wait_bins
from unspool.model.workload import Workload
from unspool.report import write_cost_report
from unspool.report.setups import set_ups_report
from unspool.results.costs import Costs
from unspool.results.setups import SetUp
from unspool.results.store import write_folder, write_json

__all__ = ["write_costs", "write_files", "write_set_ups"]


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
            table.write_csv(folder / f"{name}.csv")
    write_json(folder / "summary.json", {**costs.summary, "notes": list(costs.notes)})
    if costs.commitments is not None:
        write_commitment_files(costs.commitments, folder)
    if workbook is not None:
        write_workbook(costs, workbook, folder / "hourly_stats.xlsx")
    if report:
        write_cost_report(costs, folder / "report.html")


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
        table.write_csv(into / "comparison.csv")
        write_json(into / "comparison.json", table.to_dicts())
        for each in set_ups:
            (into / each.name).mkdir()
            write_files(each.costs, into / each.name, report=report)
        if report:
            page = set_ups_report(table, set_ups, log, command=command)
            (into / "report.html").write_text(page, encoding="utf-8", errors="replace")

    return write_folder(folder, fill, force=force)
