"""The folders from which files may be read, where the environment names some.

Logs, configurations, traces and results name other files. With `UNSPOOL_ROOTS` set, readers refuse every file that is
neither below one of its folders nor part of unspool, wherever its name comes from. Links count by where they lead.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from unspool.errors import InputError, shown

__all__ = ["ROOTS", "is_below", "readable", "readable_folder"]

ROOTS = "UNSPOOL_ROOTS"
"""The environment variable: folders or files between the separators of PATH. Child processes have it too."""

P = TypeVar("P", bound="str | os.PathLike[str]")
_PACKAGE = os.path.realpath(os.path.join(os.path.dirname(__file__), os.pardir))


def readable(path: P) -> P:
    """The path; an `InputError` if it leads out of the folders from which files may be read.

    >>> readable("jobs.swf")
    'jobs.swf'
    """
    told = os.environ.get(ROOTS)
    if told is not None and not _leads_into(path, [*filter(None, told.split(os.pathsep)), _PACKAGE]):
        raise InputError(
            f"{shown(str(path), 300)}: is outside the folders that may be read here; put it beside the file "
            "that names it, and name it from there"
        )
    return path


def readable_folder(folder: Path) -> Path:
    """The path of a folder of results, if it and all that is directly in it may be read."""
    if ROOTS in os.environ and readable(folder).is_dir():
        for entry in folder.iterdir():
            readable(entry)
    return folder


def _leads_into(path: str | os.PathLike[str], roots: list[str]) -> bool:
    try:
        return is_below(os.path.realpath(path), map(os.path.realpath, roots))
    except (OSError, ValueError):  # no path at all, or links in a circle
        return False


def is_below(path: str, roots: Iterable[str]) -> bool:
    """Whether a real path is one of these, or inside one.

    >>> is_below("/a/b/c", ["/a/b"]), is_below("/a/bc", ["/a/b"]), is_below("/a", ["/"])
    (True, False, True)
    """
    return any(path == root or path.startswith(root.rstrip(os.sep) + os.sep) for root in roots)
