"""Landlock: Linux takes from this process, and from all that it starts, what is not granted here.

Its three system calls have no function in the C library; numbers and bits are those of linux/landlock.h.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys
from collections.abc import Iterable

__all__ = ["LEAST_ABI", "abi", "restrict"]

LEAST_ABI = 3
"""From here on (Linux 6.2) files can also be moved between folders, and cannot be cut off without a right to write."""

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_FILE = 1 << 4, 1 << 5, 1 << 7, 1 << 8
_MOVE, _TRUNCATE = 1 << 13, 1 << 14
_READ = _READ_FILE | _READ_DIR
_WRITE = _READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_FILE | _MOVE | _TRUNCATE
_OF_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_BITS_OF_FILES = {3: 15, 4: 15}  # by version; 16 from version 5 on
_TCP, _SCOPES = 0b11, 0b11  # bind and connect; abstract sockets and signals


def abi() -> int:
    """The version that this kernel offers; 0 where there is none."""
    if sys.platform != "linux":
        return 0
    try:
        return max(0, int(_call(_CREATE, None, 0, _VERSION_FLAG)))
    except (OSError, AttributeError):
        return 0


def restrict(reads: Iterable[str], writes: Iterable[str], executes: Iterable[str] = ()) -> None:
    """Leave this thread, and what it starts, these files and folders alone; OSError where the kernel refuses.

    What is not there is passed over. Nothing that is written may be a link, a device, a pipe or a socket.
    """
    version = abi()
    attributes = struct.pack(
        "QQQ", (1 << _BITS_OF_FILES.get(version, 16)) - 1, _TCP if version >= 4 else 0, _SCOPES if version >= 6 else 0
    )  # fmt: skip
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    rules = _call(_CREATE, attributes, size, 0)
    try:
        for rights, paths in ((_READ, reads), (_WRITE, writes), (_READ | _EXECUTE, executes)):
            for path in paths:
                _grant(rules, path, rights)
        if ctypes.CDLL(None, use_errno=True).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")
        _call(_RESTRICT, rules, 0)
    finally:
        os.close(rules)


def _grant(rules: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _OF_A_FILE
        _call(_ADD, rules, _PATH_BENEATH, struct.pack("=Qi", rights, place), 0)
    finally:
        os.close(place)


def _call(number: int, *arguments: bytes | int | None) -> int:
    found: int = ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *map(_passed, arguments))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def _passed(argument: bytes | int | None) -> ctypes.c_long | ctypes.c_char_p:
    return ctypes.c_long(argument) if isinstance(argument, int) else ctypes.c_char_p(argument)
