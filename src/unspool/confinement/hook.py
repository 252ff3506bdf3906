"""An audit hook of Python: what Python code opens, connects to or starts is refused where it is not granted.

It stands behind what the kernel enforces, and alone where the kernel offers nothing. It stops what our own code, or a
module that it loads, does through Python, also what Landlock leaves alone: modes, owners and times of files. Machine
code is free of it, which is why readers check paths themselves (`roots`).
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

from unspool.confinement.roots import is_below

__all__ = ["install"]

_READING = ("os.listdir", "os.scandir")
_WRITING = {
    "os.mkdir": 1, "os.remove": 1, "os.rmdir": 1, "os.rename": 2, "os.chmod": 1, "os.chown": 1, "os.truncate": 1,
    "os.utime": 1, "os.setxattr": 1, "os.removexattr": 1, "os.chflags": 1, "sqlite3.connect": 1,
}  # fmt: skip
"""Events, and how many of their first arguments are paths."""
_NEVER = frozenset({
    "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "pty.spawn",
    "os.startfile", "os.link", "os.symlink", "os.chroot",
})  # fmt: skip
"""What no worker needs: processes of a sweep are started by another way, which has no event."""
_NETWORK = frozenset(f"socket.{name}" for name in (
    "__new__", "bind", "connect", "sendto", "sendmsg", "getaddrinfo", "gethostbyname", "gethostbyaddr", "getnameinfo",
))  # fmt: skip
_SIGNALS = ("os.kill", "os.killpg")
_CHANGES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


Hook = Callable[[str, tuple[Any, ...]], None]


def install(reads: Iterable[str], writes: Iterable[str], *, signals: bool = True) -> None:
    """Refuse from now on, for as long as the process lasts: files that are not granted, the network, programs.

    With `signals`, also signals to other processes.
    """
    may_read, may_write = ([os.path.realpath(path) for path in paths] for paths in (reads, writes))
    sys.addaudithook(_hook(may_read, may_write, signals))


def _hook(reads: list[str], writes: list[str], signals: bool) -> Hook:
    def refuse(path: Any) -> None:
        raise PermissionError(errno.EACCES, "refused: a worker of the studio may not touch it", path)

    def check(path: Any, granted: list[str]) -> None:
        if path is None or isinstance(path, int):  # the folder that we are in, or what has been opened already
            return
        if not is_below(os.path.realpath(os.fsdecode(path)), granted):
            refuse(path)

    either = [*reads, *writes]

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _NEVER or event in _NETWORK:
            refuse(event)
        if signals and event in _SIGNALS and arguments[0] not in (os.getpid(), os.getpgrp()):
            refuse(event)
        if event == "open":
            path, mode, flags = arguments
            is_change = bool(set(mode or "") & set("wax+")) or bool((flags or 0) & _CHANGES)
            check(path, writes if is_change else either)
        elif event in _READING:
            check(arguments[0], either)
        elif event in _WRITING:
            for path in arguments[: _WRITING[event]]:
                check(path, writes)

    return hook
