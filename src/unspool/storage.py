"""All that changes files: every write, rename and removal, and every access to a cache, is a step that tests can fail.

What takes the place of something else is written beside it and takes its name in one step, so that the old one or the
new one is whole at any instant. What is written beside is locked for as long as its process lives, whatever its host;
what a killed process left there is not, and is removed by the next one that writes the same thing.
"""

from __future__ import annotations

import ctypes
import errno
import io
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from unspool.errors import InputError, RunError

try:
    import fcntl
except ImportError:  # a system without such locks: what is left is then never removed
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "AnyPath", "Written", "blame", "is_ours", "make_folder", "move", "partial_folder", "put_in_place", "read_own",
    "remove", "remove_empty", "remove_folder", "replace_text", "replacing", "scratch_file", "scratch_folder",
    "set_mode", "sync_folder", "take_lock", "try_folder", "write_bytes", "write_text", "writing",
]  # fmt: skip

AnyPath = str | os.PathLike[str]

fault: Callable[[str, str], None] | None = None
"""What tests put here is called before each step with its name and a path, and may raise what the system would."""

_FULL = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO}  # no fault of the name that was given
_LOCK = "lock"  # in a partial folder
_LONGEST = 99  # characters of a name that stand in that of a partial folder
_SHUT = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_AT_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


def _step(name: str, path: AnyPath) -> None:
    if fault is not None:
        fault(name, os.fspath(path))


def blame(error: BaseException) -> type[RunError] | type[InputError]:
    """What a failure to write is: the run's where the disk is full or broken, else that of the name that was given."""
    return RunError if getattr(error, "errno", None) in _FULL else InputError


class Written(io.BufferedWriter):
    """A file that is written. The first thing that goes wrong is kept: libraries in between say less of it."""

    def __init__(self, descriptor: int, path: AnyPath) -> None:
        super().__init__(io.FileIO(descriptor, "wb"))
        self.path = os.fspath(path)
        self.trouble: BaseException | None = None

    def write(self, content: Any, /) -> int:
        """Write bytes."""
        if self.closed:
            raise ValueError("write to closed file")
        with self._noting("write"):
            return super().write(content)

    def close(self) -> None:
        """Write what is left in memory, and close it."""
        if not self.closed:
            with self._noting("close"):
                super().close()

    def sync(self) -> None:
        """See to it that what was written outlives a loss of power."""
        with self._noting("sync"):
            self.flush()
            os.fsync(self.fileno())

    def discard(self) -> None:
        """Close it, whatever has not yet been written."""
        with suppress(OSError):
            self.raw.close()

    @contextmanager
    def _noting(self, step: str) -> Iterator[None]:
        try:
            _step(step, self.path)
            yield
        except BaseException as error:  # interrupts too, of which libraries make errors of their own
            self.trouble = self.trouble or error
            raise


@contextmanager
def writing(path: AnyPath, *, new: bool = False, mode: int = 0o666) -> Iterator[Written]:
    """A file to write in place; `new` where none may be there."""
    _step("open", path)
    flags = os.O_EXCL if new else os.O_TRUNC
    with _whole(Written(os.open(path, os.O_WRONLY | os.O_CREAT | _SHUT | flags, mode), path)) as file:
        yield file


@contextmanager
def _whole(file: Written) -> Iterator[Written]:
    """Close a file at the end, and raise what went wrong with it in place of what others made of that."""
    try:
        yield file
        if file.trouble is None:  # else nobody said so, and it is raised here
            file.close()
    except BaseException as error:
        file.discard()
        if file.trouble is None or file.trouble is error:
            raise
        raise file.trouble from error
    if file.trouble is not None:
        file.discard()
        raise file.trouble


@contextmanager
def replacing(path: AnyPath, *, mode: int = 0o666, lasting: bool = False) -> Iterator[Written]:
    """A file that takes its name, and the place of another, only when it is whole; `lasting` over a loss of power."""
    target = Path(path)
    _remove_left(target)
    part, descriptor = _locked_part(target, mode)
    lock = None if fcntl is None else os.dup(descriptor)  # closing a file says whether all of it was written
    try:
        with _whole(Written(descriptor, part)) as file:
            yield file
            if lasting:
                file.sync()
        move(part, target)
    except BaseException:
        with suppress(OSError):
            remove(part)
        raise
    finally:
        if lock is not None:
            os.close(lock)
    if lasting:
        sync_folder(target.parent)


def write_bytes(path: AnyPath, content: bytes, *, mode: int = 0o666) -> None:
    """Write a file in place."""
    with writing(path, mode=mode) as file:
        file.write(content)


def write_text(path: AnyPath, text: str) -> None:
    """Write a text in place, in UTF-8; letters that have no code there become question marks."""
    write_bytes(path, text.encode("utf-8", "replace"))


def replace_text(path: AnyPath, text: str) -> None:
    """Write a text that takes its name only when it is whole."""
    with replacing(path) as file:
        file.write(text.encode("utf-8", "replace"))


def read_own(path: AnyPath) -> bytes:
    """What a plain file holds that is ours alone; of any other a `PermissionError`."""
    _step("read", path)
    descriptor = os.open(path, os.O_RDONLY | _NO_LINK | getattr(os, "O_NONBLOCK", 0) | _SHUT)
    with open(descriptor, "rb") as file:
        if not is_ours(os.fstat(descriptor)):
            raise PermissionError(errno.EPERM, "belongs to somebody else, or others may change it", os.fspath(path))
        return file.read()


def is_ours(found: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user, and nobody else may change it."""
    return not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & 0o022)


def make_folder(path: AnyPath, *, new: bool = False, mode: int = 0o777) -> None:
    """Make a folder and those above it; `new` where none may be there."""
    _step("mkdir", path)
    Path(path).mkdir(mode, parents=True, exist_ok=not new)


def set_mode(path: AnyPath, mode: int) -> None:
    """Say who may do what with a file or folder, whatever the umask."""
    _step("chmod", path)
    os.chmod(path, mode)


def move(old: AnyPath, new: AnyPath) -> None:
    """Give a file or folder another name, in the place of a file that has it."""
    _step("rename", new)
    os.replace(old, new)


def remove(path: AnyPath) -> None:
    """Remove a file, if it is there."""
    _step("remove", path)
    Path(path).unlink(missing_ok=True)


def remove_empty(path: AnyPath) -> None:
    """Remove a folder that is empty."""
    _step("rmdir", path)
    os.rmdir(path)


def remove_folder(path: AnyPath) -> None:
    """Remove as much of a folder as can be removed."""
    with suppress(OSError):
        _step("rmtree", path)
        shutil.rmtree(path, ignore_errors=True)


def sync_folder(path: AnyPath) -> None:
    """See to it that the names in a folder outlive a loss of power, where folders can be synchronised."""
    with suppress(OSError):
        _step("sync", path)
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def try_folder(path: AnyPath) -> None:
    """Find out whether anything can be written into a folder: permissions say nothing of full disks."""
    _step("mkdir", path)
    os.rmdir(tempfile.mkdtemp(".partial", ".", path))


def scratch_file() -> IO[bytes]:
    """A file without a name, to write and to read; gone when it is closed."""
    _step("open", tempfile.gettempdir())
    return tempfile.TemporaryFile()


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder of the system that is gone in the end."""
    _step("mkdir", tempfile.gettempdir())
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@contextmanager
def take_lock(path: AnyPath) -> Iterator[bool]:
    """Hold a file for ourselves; False where somebody else holds it."""
    _step("open", path)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _SHUT, 0o666)
    try:
        yield _lock(descriptor) is not False
    finally:
        os.close(descriptor)


@contextmanager
def partial_folder(path: AnyPath) -> Iterator[Path]:
    """An empty folder beside another, for what will be put in its place; gone in the end, with what is still in it."""
    target = Path(path)
    _remove_left(target)
    beside, lock = _locked_folder(target)
    try:
        try:
            new = beside / "new"
            make_folder(new, new=True)
            yield new
        finally:
            remove_folder(beside)
    finally:
        os.close(lock)


def put_in_place(new: Path, path: AnyPath) -> None:
    """Put a folder in the place of another, if there is one: in a single step where the system has that."""
    target = Path(path)
    if not os.path.lexists(target):
        move(new, target)
        return
    _step("exchange", target)
    if _exchanged(new, target):
        return
    old = new.with_name("old")
    move(target, old)
    try:
        move(new, target)
    except BaseException:
        move(old, target)
        raise


def _exchanged(one: Path, other: Path) -> bool:
    """Whether two folders have changed places."""
    try:
        call = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):  # not Linux, or an old one
        return False
    return bool(call(_AT_HERE, os.fsencode(one), _AT_HERE, os.fsencode(other), _EXCHANGE) == 0)


def _locked_part(target: Path, mode: int) -> tuple[Path, int]:
    """A new file beside another, locked; one that was taken for left behind before it was locked is given up."""
    while True:
        part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
        _step("open", part)
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SHUT, mode)
        if _lock(descriptor) is not False and part.exists():
            return part, descriptor
        os.close(descriptor)


def _locked_folder(target: Path) -> tuple[Path, int]:
    """The same for a folder, which has a file in it that is locked."""
    while True:
        beside = target.with_name(f".{target.name[:_LONGEST]}.{secrets.token_hex(4)}.partial")
        make_folder(beside, new=True, mode=0o700)
        with suppress(FileNotFoundError):
            try:
                _step("open", beside / _LOCK)
                descriptor = os.open(beside / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | _SHUT, 0o600)
            except BaseException:
                remove_folder(beside)
                raise
            if _lock(descriptor) is not False and beside.exists():
                return beside, descriptor
            os.close(descriptor)


def _lock(descriptor: int) -> bool | None:
    """Lock an open file until it is closed: whether it could be, or None where there are no such locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without them
        return None
    return True


def _remove_left(target: Path) -> None:
    """Remove what killed processes left beside a file or folder; an old folder that lost its name gets it back."""
    left = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}\.part"
                      rf"|\.{re.escape(target.name[:_LONGEST])}\.[0-9a-f]{{8}}\.partial")  # fmt: skip
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in [each for each in entries if left.fullmatch(each.name)]:
            with suppress(OSError):
                if entry.is_file(follow_symlinks=False):
                    with _taken_over(entry.path):
                        remove(entry.path)
                elif entry.is_dir(follow_symlinks=False):
                    _remove_left_folder(Path(entry.path), target)


def _remove_left_folder(beside: Path, target: Path) -> None:
    if not (beside / _LOCK).exists():
        remove_empty(beside)  # killed before it was locked
        return
    with _taken_over(beside / _LOCK):
        old = beside / "old"
        if old.is_dir() and len(target.name) <= _LONGEST and not os.path.lexists(target):
            move(old, target)  # killed between two steps of `put_in_place`
        remove_folder(beside)


@contextmanager
def _taken_over(path: AnyPath) -> Iterator[None]:
    """Hold the lock of somebody who is no more; an `OSError` if that cannot be known."""
    descriptor = os.open(path, os.O_RDWR | _NO_LINK | _SHUT)
    try:
        if _lock(descriptor) is not True:
            raise BlockingIOError(errno.EAGAIN, "is in use", os.fspath(path))
        yield
    finally:
        os.close(descriptor)
