"""Files of logs: read in blocks of whole lines, packed or not, and replaced only when whole."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from io import BufferedIOBase
from pathlib import Path
from typing import IO, cast

from unspool.confinement.roots import readable
from unspool.errors import InputError, RunError
from unspool.limits import refuse_beyond, refuse_ratio
from unspool.storage import AnyPath, blame, replacing
from unspool.workloads.encoding import BYTE_ORDER_MARK

__all__ = [
    "AnyPath", "opened", "read_blocks", "read_json_text", "read_text", "refuse_existing", "replaced", "told_of_reading",
    "unfinished_line",
]  # fmt: skip

_GZIP_MAGIC = b"\x1f\x8b"
_BLOCK_BYTES = 1 << 23
# Level 4 writes in half the time of the default level 6, and packs logs nearly as well.
_GZIP_LEVEL = 4
_listener: ContextVar[Callable[[int, int], None] | None] = ContextVar("listener", default=None)


@contextmanager
def told_of_reading(listener: Callable[[int, int], None]) -> Iterator[None]:
    """While this is entered, the listener is told how many bytes of how many are read; packed ones count packed."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


class _Unpacked(gzip.GzipFile):
    """Unpacks as much as files unpack to, and complains of more."""

    def __init__(self, raw: IO[bytes], path: AnyPath) -> None:
        super().__init__(fileobj=raw)
        self._raw, self._path = raw, path

    def read(self, size: int | None = -1) -> bytes:
        """So many bytes, or all."""
        if size is None or size < 0:
            return b"".join(iter(lambda: self.read(_BLOCK_BYTES), b""))
        data = super().read(size)
        refuse_ratio(self.tell(), self._raw.tell(), str(self._path))
        return data


@contextmanager
def opened(path: AnyPath) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked if it is gzip whatever its name; whatever goes wrong is an `InputError`."""
    readable(path)
    try:
        # Readers open a file twice, to tell its format and to read it; a pipe would lose what was read first.
        if Path(path).is_fifo() or Path(path).is_char_device():
            raise InputError(f"{path}: is a pipe or a device; save it as a file first")
        with Path(path).open("rb") as raw:
            is_packed = raw.peek(2)[:2] == _GZIP_MAGIC
            if not is_packed and str(path).lower().endswith(".gz"):
                raise InputError(f"{path}: not a gzip file although it is named .gz; pack it, or rename it without .gz")
            if is_packed:
                with _Unpacked(raw, path) as unpacked:
                    yield cast(IO[bytes], unpacked)
            else:
                yield raw
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; check the path") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder; expected a file") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: the gzip file is cut off or damaged ({error}); fetch it again") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error


def read_blocks(path: AnyPath, block_bytes: int = _BLOCK_BYTES) -> Iterator[bytes]:
    """The text of a file in blocks of whole lines, each ended by a newline; a file with NUL bytes is no text."""
    # One buffer for all blocks: fresh memory for each costs more than to read it.
    buffer, kept, is_empty, blank = bytearray(block_bytes), 0, True, 0
    with opened(path) as file:
        total = os.stat(path).st_size
        while count := _filled(buffer, kept, file):
            is_empty, end = False, kept + count
            _tell(file, total)
            _refuse_binary(path, buffer.find(b"\0", kept, end))
            whole = buffer.rfind(b"\n", kept, end) + 1
            blank += _blank_lines(buffer, end)
            refuse_beyond(blank, "blank_lines", str(path))
            refuse_beyond(end - whole, "line_bytes", str(path))
            if whole:
                yield bytes(memoryview(buffer)[:whole])
                buffer[: end - whole] = buffer[whole:end]
            kept = end - whole
            if kept == len(buffer):
                buffer.extend(bytes(block_bytes))
    if is_empty:
        raise InputError(f"{path}: the file is empty; expected one job a line")
    if kept:
        yield bytes(memoryview(buffer)[:kept]) + b"\n"


def read_text(path: AnyPath, expected: str | None = "one job a line") -> bytes:
    """The text of a whole file, for those that are not read line by line; a file with NUL bytes is no text.

    An empty one is complained of with what was `expected`; nothing is where that is None.
    """
    parts: list[bytes] = []
    size = blank = 0
    with opened(path) as file:
        total = os.stat(path).st_size
        while part := file.read(_BLOCK_BYTES):
            _tell(file, total)
            _refuse_binary(path, part.find(b"\0"))
            parts.append(part)
            size, blank = size + len(part), blank + _blank_lines(part, len(part))
            refuse_beyond(blank, "blank_lines", str(path))
            refuse_beyond(size, "text_bytes", str(path))
    if not parts and expected is not None:
        raise InputError(f"{path}: the file is empty; expected {expected}")
    return b"".join(parts)


def read_json_text(path: AnyPath) -> bytes:
    """The text of a JSON file without the mark of its encoding, and with no more values than memory has room for."""
    text = read_text(path).removeprefix(BYTE_ORDER_MARK)
    refuse_beyond(text.count(b","), "json_values", str(path))
    return text


def _tell(file: IO[bytes], total: int) -> None:
    """Say how far a file is read to who asked for it."""
    listener = _listener.get()
    if listener is not None:
        listener(min(getattr(file, "fileobj", file).tell(), total), total)


def _refuse_binary(path: AnyPath, at: int) -> None:
    if at >= 0:
        raise InputError(f"{path}: binary data; expected lines of text, so give another file or its format")


def _blank_lines(buffer: bytes | bytearray, end: int) -> int:
    """About how many lines of a block are blank: never more than there are, and half of those in a row at the least."""
    return buffer.count(b"\n\n", 0, end) + buffer.count(b"\n\r\n", 0, end)


def unfinished_line(path: AnyPath) -> int | None:
    """The number of the last line if no newline ends it, as in a file that is still being written."""
    newlines, last = 0, b"\n"
    with opened(path) as file:
        while part := file.read(_BLOCK_BYTES):
            newlines, last = newlines + part.count(b"\n"), part[-1:]
    return None if last == b"\n" else newlines + 1


def _filled(buffer: bytearray, kept: int, file: IO[bytes]) -> int:
    """How many bytes of a file now stand in a buffer behind those that are kept."""
    with memoryview(buffer) as view, view[kept:] as room:
        return cast(BufferedIOBase, file).readinto(room)


def refuse_existing(path: AnyPath, *, force: bool) -> None:
    """Complain if a file may not be written because of what is there."""
    if Path(path).is_dir():
        raise InputError(f"{path}: is a folder; give the name of a file")
    if Path(path).exists() and not Path(path).is_file():
        raise InputError(f"{path}: is a device, a pipe or a socket; give the name of a file")
    if Path(path).exists() and not force:
        raise InputError(f"{path}: exists and is not overwritten; choose another name, or say --force to replace it")


@contextmanager
def replaced(path: AnyPath, *, force: bool) -> Iterator[IO[bytes]]:
    """A file to write that takes its name only when it is whole; packed if the name ends in `.gz`.

    A link stays, and what it leads to is replaced. The packed bytes hold no time stamp: the same jobs give the same
    file.
    """
    refuse_existing(path, force=force)
    target = Path(path).resolve() if Path(path).is_symlink() else Path(path)
    is_begun = False
    try:
        with replacing(target) as raw:
            is_begun = True  # from here on it is no fault of the name
            if target.name.lower().endswith(".gz"):
                with gzip.GzipFile("", "wb", _GZIP_LEVEL, raw, mtime=0) as packed:
                    yield cast(IO[bytes], packed)
            else:
                yield raw
    except OSError as error:
        raise (RunError if is_begun else blame(error))(
            f"{path}: cannot be written ({error.strerror or error})"
        ) from error
