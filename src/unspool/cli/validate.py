"""`unspool validate`: check files, without running anything."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unspool.cli.config import read_config
from unspool.cli.files import kind_of, read_summary
from unspool.cli.output import announce, note, print_text
from unspool.errors import UnspoolError
from unspool.platforms import read_platform
from unspool.workloads import read_workload

__all__ = ["validate"]


def validate(*paths: Path, strict: Annotated[bool, Parameter(negative=())] = False) -> int:
    """Check logs, platforms, run.toml files and folders of results, without running anything.

    Exits with 2 if any cannot be used; rejected records are counted, and count as an error with --strict.

    Parameters
    ----------
    paths
        What to check.
    strict
        Rejected records are errors.
    """
    if not paths:
        note("unspool: nothing to validate; name one file or more")
        return 2
    bad = 0
    for path in paths:
        try:
            verdict, rejected = _check(path)
        except UnspoolError as error:
            print_text(f"{path}: NOT USABLE: {error}")
            bad += 1
        else:
            print_text(f"{path}: {verdict}")
            bad += strict and rejected > 0
    return 2 if bad else 0


def _check(path: Path) -> tuple[str, int]:
    kind = kind_of(path)
    if kind == "result":
        read_summary(path)
        return "ok, results", 0
    if kind == "platform":
        platform = read_platform(str(path))
        return f"ok, a platform of {platform.cores:,} cores", 0
    if kind == "config":
        read_config(path, [], {})
        return "ok, settings of a run", 0
    with announce(f"reading {path} …"):
        workload = read_workload(path)
    text = f"ok, {len(workload):,} jobs, {len(workload.rejected):,} records rejected"
    for line, _, reason in workload.rejected.head(3).rows():
        text += f"\n  line {line}: {reason}"
    return text, len(workload.rejected)
