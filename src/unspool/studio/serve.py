"""Start the studio on this machine: a port of 127.0.0.1, a fresh token, and a server until somebody stops it."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from unspool.errors import InputError

__all__ = ["needs_extra", "serve"]

_HOST = "127.0.0.1"  # and no other: whoever can reach it could run things here
_BACKLOG = 256


def needs_extra() -> None:
    """Complain if the packages of the extra are not there, before any work is done."""
    try:
        import python_multipart  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise InputError(
            "unspool studio needs the extra studio, which is not installed: pip install 'unspool[studio]'"
        ) from error


def serve(
    folder: Path, port: int, *, workers: int, most_bytes: int, memory_bytes: int | None, cpu_s: int,
    ready: Callable[[str, str], None],
) -> None:  # fmt: skip
    """Serve until it is stopped; `ready` is told the address once it can be opened, and how workers are confined.

    Workers end with it. All that it writes is for this user alone.
    """
    import uvicorn

    from unspool.studio.app import make_app
    from unspool.studio.kept import private_folder
    from unspool.studio.rules import Rules, least_memory, rules_here

    if os.pathsep in str(folder.resolve()):
        raise InputError(f"{folder}: the path holds a '{os.pathsep}', which parts folders in a list; name another")

    with _private_files(), socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((_HOST, port))
        except (OSError, OverflowError) as error:
            raise InputError(f"--port {port}: cannot be used ({error}); leave it out for any that is free") from error
        listening.listen(_BACKLOG)
        token = secrets.token_urlsafe(24)
        at = listening.getsockname()[1]
        try:
            if not folder.exists():
                private_folder(folder)
            code = private_folder(folder.resolve() / "code")
            rules = rules_here(Rules(memory_bytes or least_memory(), cpu_s, code))
            app = make_app(folder, token, at, workers=workers, most_bytes=most_bytes, rules=rules)
        except OSError as error:
            raise InputError(f"{folder}: cannot be used as a folder ({error.strerror}); name another") from error
        config = uvicorn.Config(
            app, log_level="error", access_log=False, server_header=False, timeout_graceful_shutdown=2, lifespan="on",
            proxy_headers=False,
        )  # fmt: skip
        ready(f"http://{_HOST}:{at}/{token}/", rules.told())
        uvicorn.Server(config).run(sockets=[listening])


@contextmanager
def _private_files() -> Iterator[None]:
    """Until the end, whatever this process and its workers create is for this user alone."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)
