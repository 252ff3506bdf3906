"""Platforms in: from a short text or from a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from unspool.errors import InputError
from unspool.model.platform import Platform
from unspool.model.workload import Workload
from unspool.platforms.cluster import is_spec, parse_cluster, read_cluster
from unspool.platforms.simgrid_xml import read_simgrid

__all__ = ["pool_of_log", "read_platform", "refuse_missing_routes"]


def read_platform(
    text_or_path: str | os.PathLike[str],
    *,
    missing_routes: str | None = None,
    note: Callable[[str], None] | None = None,
) -> Platform:
    """A platform from `480` (cores), `128x16:64GiB:2gpu` (machines), a YAML, TOML or JSON file, or XML of SimGrid.

    `missing_routes` says what becomes of a job that sends between two hosts without a route, which only XML can leave
    out: `refuse`, the default, or `free`, as in SimGrid. `note` is told what is left out of XML.

    >>> read_platform("480").is_pool, read_platform("128x16:64GiB+4x32:4gpu").cores
    (True, 2176)
    """
    is_short = isinstance(text_or_path, str) and is_spec(text_or_path)
    if not is_short and Path(text_or_path).suffix.lower() == ".xml":
        return read_simgrid(text_or_path, missing_routes=missing_routes or "refuse", note=note)
    refuse_missing_routes(missing_routes)
    if is_short:
        return parse_cluster(str(text_or_path))
    return read_cluster(text_or_path)


def refuse_missing_routes(given: str | None) -> None:
    """Complain if somebody says what missing routes are to be, and no platform can lack one."""
    if given is not None:
        raise InputError(f"missing routes: '{given}' needs a platform of SimGrid (.xml); no other can lack routes")


def pool_of_log(workload: Workload) -> Platform:
    """As many cores as a log says that its machine had."""
    if not workload.max_cores:
        raise InputError(f"{workload.name} does not say how large its machine was; give a platform, such as -p 480")
    return Platform.pool(workload.max_cores)
