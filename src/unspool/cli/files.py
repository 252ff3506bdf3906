"""What kind of file somebody named: a log, a platform, a configuration, or a folder of results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from unspool.errors import InputError
from unspool.platforms.cluster import is_spec

__all__ = ["kind_of", "read_summary"]

_PLATFORM_SUFFIXES = (".yaml", ".yml", ".json")


def kind_of(path: Path) -> str:
    """`result`, `platform`, `config` or `log`."""
    if path.is_dir():
        return "result"
    if path.suffix in _PLATFORM_SUFFIXES or (not path.exists() and is_spec(str(path))):
        return "platform"
    if path.suffix == ".toml":
        return "config" if path.name == "run.toml" else "platform"
    return "log"


def read_summary(folder: Path) -> dict[str, Any]:
    """The summary of a folder of results; of several, by policy."""
    for name in ("summary.json", "comparison.json"):
        if (folder / name).is_file():
            content = json.loads((folder / name).read_text(encoding="utf-8"))
            return content if isinstance(content, dict) else {entry["policy"]: entry for entry in content}
    raise InputError(f"{folder}: holds no results; expected summary.json or comparison.json in it")
