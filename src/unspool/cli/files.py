"""What kind of file somebody named: a log, a platform, a configuration, or a folder of results."""

from __future__ import annotations

import tomllib
from pathlib import Path

from unspool.cli.config import RunConfig
from unspool.platforms.cluster import is_spec
from unspool.results.store import load_all as read_results

__all__ = ["kind_of", "read_results"]

_PLATFORM_SUFFIXES = (".yaml", ".yml", ".json")


def kind_of(path: Path) -> str:
    """`result`, `platform`, `config` or `log`."""
    if path.is_dir():
        return "result"
    if path.suffix in _PLATFORM_SUFFIXES or (not path.exists() and is_spec(str(path))):
        return "platform"
    if path.suffix == ".toml":
        return "config" if _holds_settings(path) else "platform"
    return "log"


def _holds_settings(path: Path) -> bool:
    try:
        keys = tomllib.loads(path.read_text(encoding="utf-8")).keys()
    except (OSError, ValueError):
        return path.name == "run.toml"
    is_platform = "machines" in keys or "pool" in keys
    return not is_platform and (path.name == "run.toml" or not keys.isdisjoint(RunConfig.__struct_fields__))
