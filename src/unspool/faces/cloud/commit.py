"""Commitments for a bill: from a run that was just made, or from the folder that one left behind."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import polars as pl

from unspool.analysis.commitments import Commitments, Offers, commitments_again, commitments_of, units_of
from unspool.analysis.costs import Costs
from unspool.confinement.roots import readable_folder
from unspool.errors import InputError
from unspool.faces.cloud.config import CostConfig
from unspool.platforms.catalogue import Catalogue
from unspool.platforms.catalogue.plans import Ratios
from unspool.platforms.documents import read_json
from unspool.results.spreadsheet import plain_texts
from unspool.results.store import write_folder, write_json, write_table

__all__ = ["commitments_in", "read_commitments", "with_commitments", "write_commitment_files", "write_commitments"]

_NEEDED = ("hourly_stats.csv", "instances.csv", "summary.json")
_COLUMNS = ("Relative Hour", "Total OnDemand Costs", "Spot Costs", "Total Costs")


def with_commitments(costs: Costs, settings: CostConfig, catalogue: Catalogue) -> Costs:
    """The same costs with the cheapest commitments beside them, on the terms of the configuration."""
    offers = Offers(catalogue, catalogue.region(settings.region), settings.ec2_plan, settings.compute_plan)
    return replace(costs, commitments=commitments_of(costs.hourly, offers, units_of(costs.bill.machines)))


def commitments_in(
    folder: str | os.PathLike[str],
    settings: CostConfig,
    catalogue: Catalogue,
    *,
    ratios: Ratios | None = None,
    region: str | None = None,
) -> Commitments:
    """The cheapest commitments for the bill in a folder; its own region, unless another is named."""
    path = readable_folder(Path(folder))
    missing = [name for name in _NEEDED if not (path / name).is_file()]
    if missing:
        raise InputError(f"{path}: has no {missing[0]}; expected the folder of a bill, as `unspool cost -o OUT` writes")
    hourly, machines = (_table(path / name) for name in _NEEDED[:2])
    for name in _COLUMNS:
        if name not in hourly.columns:
            raise InputError(f"{path / _NEEDED[0]}: no column {name}; expected the table as `unspool cost` writes it")
    try:
        own = json.loads((path / "summary.json").read_text(encoding="utf-8")).get("region") or None
    except (ValueError, AttributeError) as error:
        raise InputError(f"{path / 'summary.json'}: not the summary of a bill: {error}") from error
    offers = Offers(
        catalogue, catalogue.region(region or own), settings.ec2_plan, settings.compute_plan, ratios
    )  # fmt: skip
    return commitments_of(hourly, offers, units_of(machines), mixed=True)


def read_commitments(folder: Path) -> Commitments | None:
    """The commitments that were written into a folder; none where there are none."""
    if not (folder / "commitments.json").is_file():
        return None
    summary = read_json(folder / "commitments.json")
    tables = (
        plain_texts(pl.read_csv(folder / f"{name}.csv", infer_schema_length=None))
        for name in ("commitments", "commitment_curve")
    )
    return commitments_again(summary, *tables)


def _table(path: Path) -> pl.DataFrame:
    try:
        return plain_texts(pl.read_csv(path, infer_schema_length=None))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{path}: cannot be read as CSV: {error}") from error


def write_commitment_files(found: Commitments, folder: Path) -> None:
    """`commitments.json`, `commitments.csv` and `commitment_curve.csv` into an existing folder."""
    write_json(folder / "commitments.json", found.summary)
    write_table(found.table, folder / "commitments.csv")
    write_table(found.curve, folder / "commitment_curve.csv")


def write_commitments(found: Commitments, folder: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write them into a folder of their own, beside and renamed when whole."""
    return write_folder(folder, lambda into: write_commitment_files(found, into), force=force)
