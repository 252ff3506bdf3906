"""What kind of file somebody named: a log, a platform, a configuration, or a folder of results."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from unspool.cli.config import RunConfig
from unspool.errors import InputError
from unspool.platforms.cluster import is_spec
from unspool.results.result import Result
from unspool.results.store import load

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


def read_results(folder: Path) -> list[Result]:
    """The result in a folder, or all those of a comparison, in its order."""
    compared = folder / "comparison.json"
    if not compared.is_file():
        return [load(folder)]
    results = {result.policy: result for result in (load(entry.parent) for entry in folder.glob("*/summary.json"))}
    try:
        return [results[entry["policy"]] for entry in json.loads(compared.read_text(encoding="utf-8"))]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder}: the comparison is damaged: {type(error).__name__}: {error}") from error
