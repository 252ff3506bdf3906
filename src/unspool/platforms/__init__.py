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

__all__ = ["pool_of_log", "read_platform"]


def read_platform(text_or_path: str | os.PathLike[str], *, note: Callable[[str], None] | None = None) -> Platform:
    """A platform from `480` (cores), `128x16:64GiB:2gpu` (machines), a YAML, TOML or JSON file, or XML of SimGrid.

    `note` is told what is left out of XML.

    >>> read_platform("480").is_pool, read_platform("128x16:64GiB+4x32:4gpu").cores
    (True, 2176)
    """
    if isinstance(text_or_path, str) and is_spec(text_or_path):
        return parse_cluster(text_or_path)
    if Path(text_or_path).suffix.lower() == ".xml":
        return read_simgrid(text_or_path, note=note)
    return read_cluster(text_or_path)


def pool_of_log(workload: Workload) -> Platform:
    """As many cores as a log says that its machine had."""
    if not workload.max_cores:
        raise InputError(f"{workload.name} does not say how large its machine was; give a platform, such as -p 480")
    return Platform.pool(workload.max_cores)
