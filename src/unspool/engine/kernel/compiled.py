"""The one decorator for compiled functions, and where their machine code is kept.

Machine code of a function is out of date as soon as any function that it calls has changed, in whatever file. So the
folder that keeps it carries a digest of every source that compiled code may come from, and of Numba's version.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from numba import njit

from unspool.engine.kernel.machine_code import SUFFIX, KeptCode

__all__ = ["MORE_CODE", "cache_folder", "compiled", "inlined", "is_cached", "source_digest", "unlocked"]

P = ParamSpec("P")
R = TypeVar("R")

MORE_CODE = "UNSPOOL_MORE_CODE"
"""The environment variable with another folder of machine code, which is read and never written."""
_PACKAGE = Path(__file__).resolve().parents[2]
_DECORATED = re.compile(rb"^@(compiled|inlined|unlocked)$", re.MULTILINE)


def source_digest(package: Path = _PACKAGE) -> str:
    """A digest of all that compiled functions may depend on: Numba, its compiler, and every folder that holds one."""
    sources = {source.relative_to(package): source.read_bytes() for source in package.rglob("*.py")}
    folders = {path.parts[0] for path, content in sources.items() if _DECORATED.search(content)}
    digest = hashlib.sha256(f"{version('numba')} {version('llvmlite')}".encode())
    for path, content in sorted(sources.items()):
        if path.parts[0] in folders:
            digest.update(path.as_posix().encode())
            digest.update(content)
    return digest.hexdigest()[:16]


@cache
def cache_folder() -> Path:
    """Where machine code is kept between processes: `NUMBA_CACHE_DIR` or the user's cache folder, by digest."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    base = Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME") or _home() / ".cache") / "unspool"
    return base / f"numba-{source_digest()}"


@cache
def _folders_to_read() -> tuple[Path, ...]:
    given = os.environ.get(MORE_CODE)
    return (Path(given),) if given else ()


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # a user without a home, as in some containers
        return Path(os.sep, "nonexistent")


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
        made = decorate(inline=inline, nogil=nogil, _nrt=False)(function)
    except (TypeError, KeyError):
        made = decorate(inline=inline, nogil=nogil)(function)
    if made is not function:  # else nothing is compiled
        made._cache = KeptCode(function, cache_folder(), _folders_to_read())
    return cast(Callable[P, R], made)


def is_cached() -> bool:
    """Whether an earlier process left machine code of these sources on disk."""
    try:
        return any(any(folder.glob(f"*{SUFFIX}")) for folder in (cache_folder(), *_folders_to_read()))
    except OSError:  # which is told when it is read
        return False
