"""The one decorator for compiled functions, and where their machine code is kept.

Numba's own cache looks at a function's file only: after an edit of a callee in another file it would run the old
code. So the cache folder carries a digest of every source that compiled code may come from, and of Numba's version.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

__all__ = ["cache_folder", "compiled", "inlined", "is_cached", "source_digest", "unlocked"]

P = ParamSpec("P")
R = TypeVar("R")

_PACKAGE = Path(__file__).resolve().parent.parent
_COMPILED_FOLDERS = ("engine", "policies", "simulation")


def source_digest(package: Path = _PACKAGE) -> str:
    """A digest of all sources that hold compiled functions, and of the Numba version."""
    digest = hashlib.sha256(version("numba").encode())
    for folder in _COMPILED_FOLDERS:
        for source in sorted((package / folder).rglob("*.py")):
            digest.update(source.relative_to(package).as_posix().encode())
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """Where machine code is kept between processes: the user's cache folder, one sub-folder a digest."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "unspool" / f"numba-{source_digest()}"


def _writable(folder: Path) -> Path:
    """The folder, or one for temporary files: Numba would else write beside the sources, where nothing tells edits."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    return Path(tempfile.gettempdir()) / f"unspool-{os.getuid() if hasattr(os, 'getuid') else 0}" / folder.name


def _use_cache_folder() -> None:
    if "NUMBA_CACHE_DIR" in os.environ:
        return
    folder = str(_writable(cache_folder()))
    os.environ["NUMBA_CACHE_DIR"] = folder
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = folder


_use_cache_folder()
from numba import njit  # noqa: E402  (the cache folder must be set first)


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile on first call, keep on disk.

    `_nrt=False` leaves out reference counting, which otherwise costs about as much as the work itself when a tuple of
    arrays goes from function to function; compiled code then cannot allocate, which it never does here. The option
    is private to Numba: without it we compile plainly.
    """
    return _compile(function, "never")


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile into the caller: for functions that take a whole state, because a call copies what it passes."""
    return _compile(function, "always")


def unlocked(function: Callable[P, R]) -> Callable[P, R]:
    """Compile so that other threads go on meanwhile: for entries that work on arrays that are theirs alone."""
    return _compile(function, "never", nogil=True)


def _compile(function: Callable[P, R], inline: str, nogil: bool = False) -> Callable[P, R]:
    decorate: Any = njit
    try:
        return cast(Callable[P, R], decorate(cache=True, inline=inline, nogil=nogil, _nrt=False)(function))
    except (TypeError, KeyError):
        return cast(Callable[P, R], decorate(cache=True, inline=inline, nogil=nogil)(function))


def is_cached() -> bool:
    """Whether an earlier process left machine code of these sources on disk."""
    folder = Path(os.environ["NUMBA_CACHE_DIR"])
    return folder.is_dir() and any(folder.rglob("*.nbi"))
