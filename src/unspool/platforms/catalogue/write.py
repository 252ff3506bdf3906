"""Catalogues written as CSV in our columns, a region at a time."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from unspool.errors import InputError, shown
from unspool.platforms.catalogue import read_catalogue
from unspool.platforms.catalogue.fields import is_term
from unspool.platforms.catalogue.tables import LAYOUTS
from unspool.platforms.catalogue.types import SPOT_PRICES, CatalogueType
from unspool.workloads.files import AnyPath, opened, replaced

__all__ = ["update_catalogue", "write_catalogue"]

_GIB = 2**30
_OURS = LAYOUTS[0]
_TOLD_BY_NAMES = ("provider", "family")


def write_catalogue(types: Sequence[CatalogueType], path: AnyPath, *, force: bool = False) -> None:
    """Write types in their order; the file takes its name only when it is whole. Terms have a column each."""
    terms = sorted({term for each in types for term in _terms(each)})
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([*_OURS.columns, *terms])
    for each in types:
        priced = _terms(each)
        rows.writerow([*_cells(each), *(_number(priced.get(term)) for term in terms)])
    with replaced(path, force=force) as file:
        file.write(text.getvalue().encode())


def update_catalogue(types: Iterable[CatalogueType], path: AnyPath) -> int:
    """Put types into a file in place of those of the same provider and region; how many others were kept.

    A file that is there must be one that `write_catalogue` wrote, so that nothing of it is lost.
    """
    fresh = list(types)
    if not Path(path).exists():
        write_catalogue(fresh, path)
        return 0
    _refuse_other(path)
    places = {(each.provider, each.region) for each in fresh}
    kept = [each for each in read_catalogue(path).types if (each.provider, each.region) not in places]
    write_catalogue([*kept, *fresh], path, force=True)
    return len(kept)


def _refuse_other(path: AnyPath) -> None:
    with opened(path) as file:
        first = file.readline(100_000).decode("utf-8-sig", errors="replace")
    header = next(csv.reader([first]), [])
    wrong = [f"has a column '{shown(name)}'" for name in header if name not in _OURS.columns and not is_term(name)]
    wrong += [f"has no column {name}" for name in _OURS.columns if name not in (*header, *_TOLD_BY_NAMES)]
    if wrong:
        raise InputError(f"{path}: {wrong[0]}, so it is no catalogue that was written here; choose another name")


def _terms(each: CatalogueType) -> dict[str, float]:
    return {**each.reserved, **each.ec2_savings_plan, **each.compute_savings_plan}


def _cells(each: CatalogueType) -> list[str]:
    """The cells of a type in the order of the columns."""
    return [
        each.region, each.name, str(each.cores), str(each.vcpus), _number(each.memory_bytes / _GIB), each.architecture,
        _number(each.on_demand), _number(each.ghz), each.hypervisor or "", str(each.gpus), each.gpu,
        *(_number(each.spot.get(which)) for which in SPOT_PRICES), each.price_date or "", each.provider, each.family,
    ]  # fmt: skip


def _number(value: float | None) -> str:
    """A number that is read back as it is."""
    return "" if value is None else repr(float(value)).removesuffix(".0")
