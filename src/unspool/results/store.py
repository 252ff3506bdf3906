"""Results in a folder: written beside and renamed when whole, so that what is there is complete."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from time import perf_counter

import polars as pl
import tomli_w

from unspool.confinement.roots import readable_folder
from unspool.errors import InputError, RunError
from unspool.platforms import read_platform
from unspool.platforms.cluster import describe
from unspool.platforms.documents import read_json, read_toml
from unspool.results.rejection import SHARES
from unspool.results.result import COUNTS, ENERGY_TABLES, TABLES, Result
from unspool.results.spreadsheet import write_csv
from unspool.storage import blame, make_folder, partial_folder, put_in_place, try_folder, write_text, writing
from unspool.workloads.parquet import read_table

__all__ = [
    "REPORT", "check_free", "kind_of_result", "load", "load_all", "save", "versions", "write_folder", "write_json",
    "write_result", "write_table",
]  # fmt: skip

_OF_VERBS = {"bill": "hourly_stats.csv", "dispatch": "metrics.txt"}  # a file that no other verb writes
_DAMAGED = (ValueError, KeyError, TypeError, AttributeError)
_LIBRARIES = ("unspool", "numpy", "numba", "polars")
_POLICY, _DIGEST, _ORIGIN = "policy_version", "workload_digest", "workload_origin_unix_s"
_SIGNS = {"run.toml", "versions.json", "summary.json", "jobs.parquet"}
REPORT = "report.html"
"""The page for people in a folder of results."""

_USE = "network_use.parquet"
_MORE = ("platform.json", "batsim.json", _USE, "network_use.csv", REPORT)
_PARTS = {*_SIGNS, *_MORE, *(f"{name}.{suffix}" for name in (*TABLES, *ENERGY_TABLES) for suffix in ("parquet", "csv"))}

_COST_SIGNS = {"summary.json", "hourly_stats.csv", "instances.csv", "jobs.csv"}
_COST_TABLES = ("rejected", "waits_by_cores", "waits_by_memory", "by_user", "by_queue", "by_project", "by_provider")
_COMMIT_SIGNS = {"commitments.json", "commitments.csv", "commitment_curve.csv"}
_COST_JOURNAL = ("attempts", "allocations", "jobs", "machines")
_COST_PARTS = {
    *_COST_SIGNS, *_COMMIT_SIGNS, *(f"{name}.csv" for name in _COST_TABLES),
    *(f"{name}.parquet" for name in _COST_JOURNAL), "run.json", "bill.npz", "hourly_stats.xlsx", REPORT,
}  # fmt: skip
_DISPATCH_SIGNS = {"summary.json", "jobs.csv", "series.csv", "metrics.txt"}
_DISPATCH_PARTS = {*_DISPATCH_SIGNS, "jobs.parquet", "series.parquet", "results.yaml", "run.json", REPORT}
_KINDS = (
    (_SIGNS, _PARTS),
    (_COST_SIGNS, _COST_PARTS),
    (_COMMIT_SIGNS, _COMMIT_SIGNS),
    (_DISPATCH_SIGNS, _DISPATCH_PARTS),
)  # what a folder must hold to be ours, and what it may hold


def check_free(folder: str | os.PathLike[str], *, force: bool = False) -> None:
    """Refuse a place that is taken or cannot be written to, before any work is done.

    With `force` it may be taken by a folder that is empty or holds what is written here, and nothing else.
    """
    path = Path(os.path.abspath(folder))
    if os.path.lexists(path):
        strange = _strange(path)
        if strange is not None:
            raise InputError(f"{folder} exists and {strange}: it is never replaced; name another folder")
        if not force:
            raise InputError(f"{folder} exists; name another folder, or say --force to replace it")
    above = next(parent for parent in path.parents if os.path.lexists(parent))
    try:
        try_folder(above)
    except OSError as error:
        raise blame(error)(f"cannot write results to {folder}: {error.strerror}") from error


def _strange(path: Path) -> str | None:
    """What makes a path something else than a folder of results, or None."""
    if path.is_symlink():
        return f"is a link to {os.readlink(path)}"
    if not path.is_dir():
        return "is no folder"
    try:
        entries = {entry.name: entry for entry in sorted(path.iterdir())}
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    is_comparison = "comparison.json" in entries
    kinds = (parts for signs, parts in _KINDS if entries.keys() >= signs)
    known = {"comparison.json", "comparison.csv", REPORT} if is_comparison else next(kinds, set())
    for name, entry in entries.items():
        if is_comparison and entry.is_dir():
            strange = _strange(entry)
            if strange is not None:
                return strange
        elif name not in known or entry.is_dir():
            return f"holds {name}, which is no part of a result"
    return None


def save(result: Result, folder: str | os.PathLike[str], *, force: bool = False, csv: bool = False) -> Path:
    """Write a result into a folder of its own; `load` reads it again."""
    return write_folder(folder, lambda into: write_result(result, into, csv=csv), force=force)


def kind_of_result(folder: Path) -> str:
    """Which verb wrote a folder: `bill` for `cost`, `dispatch`, or `result` for those that leave runs."""
    return next((kind for kind, file in _OF_VERBS.items() if (folder / file).is_file()), "result")


def load(folder: str | os.PathLike[str]) -> Result:
    """The result that a folder holds."""
    path = readable_folder(Path(folder))
    if not (path / "summary.json").is_file():
        several = sorted(entry.parent.name for entry in path.glob("*/summary.json"))
        hint = f"load one of those in it: {', '.join(several)}" if several else "expected summary.json in it"
        raise InputError(f"{path}: is not the folder of a result; {hint}")
    kind = kind_of_result(path)
    if kind == "bill":
        raise InputError(
            f"{path}: is the folder of a bill, which `unspool cost` wrote: read its files as they are; for a result, "
            "give the same log and configuration to `unspool run`, as in -p config.yml"
        )
    if kind == "dispatch":
        raise InputError(
            f"{path}: is the folder of a dispatch, which `unspool dispatch` wrote: read its files as they are, or see "
            "`unspool report`; for a result, give the same log to `unspool run`, as in -p 4"
        )
    try:
        summary, versions = read_json(path / "summary.json"), read_json(path / "versions.json")
        return Result(
            workload=summary["workload"],
            platform=read_platform(path / "platform.json"),
            policy=summary["policy"],
            **{name: read_table(path / f"{name}.parquet") for name in (*TABLES, *_with_energy(path))},
            config=read_toml(path / "run.toml"),
            counts={name: summary[name] for name in COUNTS},
            shares={name: summary[name] for name in SHARES if name in summary},
            notes=tuple(summary["notes"]),
            timing=summary["timing"],
            origin_unix_s=versions.get(_ORIGIN, 0.0),
            workload_digest=versions.get(_DIGEST, ""),
            policy_version=versions.get(_POLICY),
            **({"network_use": read_table(path / _USE)} if (path / _USE).is_file() else {}),
        )
    except InputError as error:
        raise InputError(f"{path}: the result is damaged: {error}") from error
    except (OSError, *_DAMAGED, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path}: the result is damaged: {type(error).__name__}: {error}") from error


def _with_energy(path: Path) -> list[str]:
    return [name for name in ENERGY_TABLES if (path / f"{name}.parquet").is_file()]


def load_all(folder: str | os.PathLike[str]) -> list[Result]:
    """The result in a folder, or all those of a comparison, in its order."""
    path = readable_folder(Path(folder))
    compared = path / "comparison.json"
    if not compared.is_file():
        return [load(path)]
    results = {result.policy: result for result in (load(entry.parent) for entry in path.glob("*/summary.json"))}
    try:
        return [results[entry["policy"]] for entry in read_json(compared)]
    except _DAMAGED as error:
        raise InputError(f"{path}: the comparison is damaged: {type(error).__name__}: {error}") from error


def write_folder(folder: str | os.PathLike[str], fill: Callable[[Path], None], *, force: bool = False) -> Path:
    """Let `fill` write into a temporary folder beside, then rename it; a crash leaves nothing that looks whole."""
    check_free(folder, force=force)
    path = Path(os.path.abspath(folder))
    try:
        make_folder(path.parent)
        with partial_folder(path) as new:
            fill(new)
            check_free(folder, force=force)
            put_in_place(new, path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise RunError(f"cannot write results to {folder}: {getattr(error, 'strerror', None) or error}") from error
    return Path(folder)


def versions() -> dict[str, str]:
    """The versions of Python and of what computes."""
    return {"python": python_version(), **{name: version(name) for name in _LIBRARIES}}


def write_result(result: Result, folder: Path, *, csv: bool = False) -> None:
    """Write the files of one result into an existing folder."""
    began = perf_counter()
    make_folder(folder)
    for name in (*TABLES, *ENERGY_TABLES, *(("network_use",) if len(result.network_use) else ())):
        table = getattr(result, name)
        if table is None:
            continue
        write_table(table, folder / f"{name}.parquet")
        if csv:
            write_table(table, folder / f"{name}.csv")
    write_text(folder / "run.toml", tomli_w.dumps(dict(result.config)))
    write_json(folder / "platform.json", describe(result.platform))
    told = {
        **versions(), _POLICY: result.policy_version, _DIGEST: result.workload_digest, _ORIGIN: result.origin_unix_s,
    }  # fmt: skip
    write_json(folder / "versions.json", told)
    result.timing["write_s"] = perf_counter() - began
    write_json(folder / "summary.json", result.summary)


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a table as its name says: Parquet, or CSV for people."""
    with writing(path) as file:
        table.write_parquet(file) if path.suffix == ".parquet" else write_csv(table, file)


def write_json(path: Path, content: object) -> None:
    """Write readable JSON."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    write_text(path, text + "\n")
