"""The folders that the studio keeps, for this user alone; and files that a worker wrote there, read as data."""

from __future__ import annotations

import os
from pathlib import Path

from unspool.storage import make_folder, set_mode

__all__ = ["LARGE", "is_plain", "private_folder", "written"]

_SMALL = 8 << 20
LARGE = 64 << 20
"""Bytes of a file with a line for each point of a sweep."""


def private_folder(path: Path) -> Path:
    """A folder that is there now, for this user alone, whatever the umask."""
    make_folder(path, mode=0o700)
    set_mode(path, 0o700)
    return path


def is_plain(path: Path) -> bool:
    """Whether there is a file at a path of ours, with no link on the way: a worker might have made one.

    >>> is_plain(Path("/proc/self/exe")), is_plain(Path("/nowhere"))
    (False, False)
    """
    return path.is_file() and os.path.realpath(path) == os.path.abspath(path)


def written(path: Path, most_bytes: int = _SMALL) -> bytes:
    """What a worker wrote; OSError where that is not a plain file, or is larger than a page can use."""
    if not is_plain(path):
        raise FileNotFoundError(path)
    with path.open("rb") as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise OSError(f"{path}: larger than {most_bytes} bytes")
    return content
