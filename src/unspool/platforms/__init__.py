"""Platforms in: from a short text or from a file."""

from __future__ import annotations

import os

from unspool.model.platform import Platform
from unspool.platforms.cluster import is_spec, parse_cluster, read_cluster

__all__ = ["read_platform"]


def read_platform(text_or_path: str | os.PathLike[str]) -> Platform:
    """A platform from `480` (cores), `128x16:64GiB:2gpu` (machines), or a YAML, TOML or JSON file.

    >>> read_platform("480").is_pool, read_platform("128x16:64GiB+4x32:4gpu").cores
    (True, 2176)
    """
    if isinstance(text_or_path, str) and is_spec(text_or_path):
        return parse_cluster(text_or_path)
    return read_cluster(text_or_path)
