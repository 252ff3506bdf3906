"""`unspool validate`: check files, without running anything."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unspool.cli.config import RunConfig, read_config
from unspool.cli.files import kind_of, platform_named, read_results
from unspool.cli.options import LogFormat
from unspool.cli.output import counted, print_text, reading
from unspool.errors import InputError, UnspoolError, shown
from unspool.plugins import build
from unspool.workloads import read_workload

__all__ = ["validate"]

_REASONS = 3  # rejected records that are shown


def validate(
    *paths: Path,
    format: LogFormat = None,
    columns: Annotated[list[str] | None, Parameter(negative=())] = None,
    strict: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
) -> int:
    """Check logs, platforms, run.toml files and folders of results, without running anything.

    Exits with 2 if any cannot be used; rejected records are counted, and count as an error with --strict.

    Parameters
    ----------
    paths
        What to check.
    columns
        For CSV and Parquet, our column = the file's, as in run_time=duration.
    strict
        Rejected records are errors.
    """
    if not paths:
        raise InputError("nothing to validate; name one file or more")
    log = RunConfig(format=format, columns=columns or [])
    bad = 0
    for path in paths:
        try:
            verdict, rejected = _check(path, log)
        except UnspoolError as error:
            verdict, rejected = f"NOT USABLE: {str(error).removeprefix(f'{path}: ')}", 0
            bad += 1
        print_text(f"{shown(str(path), 200)}: {verdict}")
        bad += strict and rejected > 0
    return 2 if bad else 0


def _check(path: Path, log: RunConfig) -> tuple[str, int]:
    kind = "log" if log.format else kind_of(path)
    if kind == "result":
        results = read_results(path)
        return f"ok, results under {', '.join(result.policy for result in results)}", 0
    if kind == "platform":
        platform = platform_named(str(path))
        more = "" if platform.cloud is None else f" and {len(platform.cloud.types)} types that can be started"
        return f"ok, a platform of {counted(platform.cores, 'core')}{more}", 0
    if kind == "config":
        policies = read_config(path, [], {}).policies()
        for name in policies:
            build("schedulers", name)
        return f"ok, settings of a run under {', '.join(policies)}", 0
    with reading(path):
        workload = read_workload(path, log.format, log.column_map())
    told = [
        f"ok, {counted(len(workload), 'job')}, {counted(len(workload.rejected), 'record')} rejected",
        *workload.notes,
    ]
    told += [f"line {line}: {reason}" for line, _, reason in workload.rejected.head(_REASONS).rows()]
    return "\n  ".join(shown(text, 500) for text in told), len(workload.rejected)
