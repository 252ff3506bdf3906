"""A scheduler that we start ourselves, on a port that is free, and stop at the end."""

from __future__ import annotations

import shlex
import socket
import subprocess
from types import TracebackType
from typing import Self

from unspool.errors import InputError, shown
from unspool.storage import scratch_file

__all__ = ["Started", "command_for", "free_endpoint"]

_LAST_WORDS = 4096  # bytes of what it said that are looked at
_TO_END_S = 5.0


def free_endpoint() -> str:
    """An endpoint on this machine that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{probe.getsockname()[1]}"


def command_for(text: str, endpoint: str) -> list[str]:
    """The words of a command; the endpoint stands where it says {endpoint} or {port}, else behind `-s` at the end.

    >>> command_for("pybatsim easyBackfill", "tcp://127.0.0.1:4000")
    ['pybatsim', 'easyBackfill', '-s', 'tcp://127.0.0.1:4000']
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(
            f"--start-scheduler '{shown(text)}': {error}; expected a command with its arguments"
        ) from error
    if not words:
        raise InputError("--start-scheduler is empty; expected a command such as 'pybatsim easyBackfill'")
    port = endpoint.rpartition(":")[2]
    filled = [word.replace("{endpoint}", endpoint).replace("{port}", port) for word in words]
    return filled if filled != words else [*words, "-s", endpoint]


class Started:
    """A program that runs beside us; what it prints is kept for the case that it fails."""

    def __init__(self, text: str, endpoint: str) -> None:
        self._output = scratch_file()
        try:
            self._process = subprocess.Popen(
                command_for(text, endpoint), stdin=subprocess.DEVNULL, stdout=self._output, stderr=subprocess.STDOUT
            )
        except OSError as error:
            self._output.close()
            raise InputError(
                f"--start-scheduler '{shown(text)}': cannot be started: {error.strerror}; is it installed here?"
            ) from error

    def death(self) -> str | None:
        """How it ended, with the last line that it printed; None while it runs."""
        code = self._process.poll()
        if code is None:
            return None
        how = f"ended with exit code {code}" if code >= 0 else f"was ended by signal {-code}"
        said = self._last_line()
        return f"{how}{f' ({said})' if said else ''}"

    def _last_line(self) -> str:
        size = self._output.seek(0, 2)
        self._output.seek(max(0, size - _LAST_WORDS))
        lines = [line.strip() for line in self._output.read().decode(errors="replace").splitlines() if line.strip()]
        return shown(lines[-1], 200) if lines else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Let it end by itself for a while, unless something went wrong; then end it."""
        try:
            if kind is None:
                self._process.wait(_TO_END_S)
        except subprocess.TimeoutExpired:
            pass
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_TO_END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._output.close()
