"""Machine code on disk: one file a function and signature, checked before it is loaded.

Numba's own cache trusts its files: one that was cut off ends in an error, one with a flipped bit in a crash. It also
names them by the path of the sources, so that each copy of the project compiles anew, and two processes that compile
at once may mix up their entries. Here a file is named by what it holds, begins with a checksum, and replaces an older
one in a single step. What is damaged is removed and compiled again; where nothing can be written, nothing is kept.
Machine code is code: none is loaded from a file or a folder that belongs to somebody else or that others may change.
"""

from __future__ import annotations

import errno
import hashlib
import marshal
import pickle
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import caching, compiler, serialize

from unspool.storage import is_ours, make_folder, read_own, remove, replacing

__all__ = ["SUFFIX", "KeptCode", "why_not_kept"]

SUFFIX = ".code"
_FunctionCache: Any = caching.FunctionCache  # Numba has no types
_rebuild: Any = compiler.CompileResult._rebuild
_dumps: Any = serialize.dumps
_CHECKSUM = 32  # bytes of SHA-256
_troubles: dict[str, str] = {}  # by folder: why nothing can be kept there


def why_not_kept() -> str | None:
    """Why machine code could not be written to disk in this process; None where it could."""
    return next(iter(_troubles.values()), None)


class KeptCode(_FunctionCache):  # type: ignore[misc]
    """What Numba asks for the machine code of one function."""

    def __init__(self, function: Callable[..., Any], folder: Path, more: Sequence[Path] = ()) -> None:
        """Code is kept in a folder, and looked for in more of them, which stay as they are."""
        self._py_func = function
        self._folder = folder
        self._folders = (folder, *more)
        self._name = f"{function.__module__}.{function.__qualname__}".replace("<", "").replace(">", "")
        self.enable()

    @property
    def cache_path(self) -> str:
        """The folder, as Numba reports it in `stats`."""
        return str(self._folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function for a signature, or None if it is not on disk, whole, and from these sources."""
        target_context.refresh()
        if not self._enabled:
            return None
        key = self._index_key(sig, target_context.codegen())
        name = self._name_of(key)
        for folder in self._folders:
            try:
                kept = _read(folder / name)
                if kept is not None and kept[0] == key:
                    return _rebuild(target_context, *kept[1])
            except Exception:  # whatever the content of another version makes it stumble over
                _forget(folder / name)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function, if it can be kept."""
        if not self._enabled or any(not lifted.can_cache for lifted in data.lifted) or data.library.has_dynamic_globals:
            return
        key = self._index_key(sig, data.codegen)
        _write(self._folder / self._name_of(key), _dumps((key, data._reduce())))

    def flush(self) -> None:
        """Forget what is on disk for this function."""
        for file in self._folder.glob(f"{self._name}-*{SUFFIX}"):
            _forget(file)

    def _name_of(self, key: Any) -> str:
        mine = self._py_func.__code__
        source = _digest_of(mine.co_filename) or hashlib.sha256(marshal.dumps(mine)).hexdigest()
        signature, machine, code = key
        told = repr((sys.implementation.cache_tag, source, mine.co_firstlineno, str(signature), machine, code))
        return f"{self._name[-80:]}-{hashlib.sha256(told.encode()).hexdigest()[:24]}{SUFFIX}"


@cache
def _digest_of(source: str) -> str | None:
    """Of a file, which may be a user's and so not in the digest that names the folder; None at a prompt."""
    try:
        return hashlib.sha256(Path(source).read_bytes()).hexdigest()
    except OSError:
        return None


def _read(file: Path) -> Any:
    """What a file holds, or None if there is none that may be loaded; one that is not whole is removed."""
    try:
        if not is_ours(file.parent.stat()):
            raise PermissionError(errno.EPERM, "belongs to somebody else, or others may change it")
        content = read_own(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        _troubles.setdefault(str(file.parent), _told(file, error))
        return None
    if hashlib.sha256(memoryview(content)[_CHECKSUM:]).digest() != content[:_CHECKSUM]:
        _forget(file)
        return None
    return pickle.loads(memoryview(content)[_CHECKSUM:])


def _write(file: Path, content: bytes) -> None:
    """Write a file in one step. What goes wrong is remembered, and no reason to fail."""
    if str(file.parent) in _troubles:
        return
    try:
        make_folder(file.parent, mode=0o700)
        with replacing(file, mode=0o600) as kept:
            kept.write(hashlib.sha256(content).digest())
            kept.write(content)
    except OSError as error:
        _troubles[str(file.parent)] = _told(file, error)


def _forget(file: Path) -> None:
    with suppress(OSError):
        remove(file)


def _told(file: Path, error: OSError) -> str:
    return f"{file.parent}: {error.strerror or error}"
