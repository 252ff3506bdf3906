"""Processes of our own command line: a few at a time, each confined and with its log, each ends with us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from unspool.confinement.worker import CONFINED
from unspool.storage import remove, remove_folder, writing
from unspool.studio.kept import is_plain, private_folder
from unspool.studio.lifeline import FOLLOWED
from unspool.studio.rules import TEMPORARY, Rules, environment

__all__ = ["COMMAND_LINE", "Workers", "tail", "told_by"]

COMMAND_LINE = "from unspool.cli import main; main()"
"""What a worker runs, unless it is told something else."""

_SAID = ("stdout.txt", "stderr.txt")
_GRACE_S = 5.0
_TAIL_BYTES = 1 << 16
_LONGEST = 2000
_HINTS = {
    "SIGKILL": "; that is how a system ends what needs more memory than there is",
    "SIGABRT": "; it may have needed more memory than unspool studio --max-memory allows",
    "SIGXCPU": "; it took more processor time than unspool studio --max-time allows",
}


@dataclass(frozen=True)
class _Work:
    id: str
    command: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    done: Callable[[int | None], None]


class Workers:
    """Runs commands in processes of their own, as many at once as is said; others wait for their turn.

    By the rules each is confined to its folder and to what it is given to read; without rules it is free.
    """

    def __init__(self, most: int, rules: Rules | None) -> None:
        self._rules = rules
        self._pool = ThreadPoolExecutor(most, thread_name_prefix="worker")
        self._waiting: dict[str, Future[None]] = {}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._ended: set[str] = set()
        self._lock = threading.Lock()
        self._is_closed = False

    def start(
        self, id: str, arguments: Sequence[str], folder: Path, done: Callable[[int | None], None],
        program: str = COMMAND_LINE, *, reads: Iterable[str] = (), cpu_s: int | None = None, processes: bool = False,
    ) -> None:  # fmt: skip
        """Run a command in a folder, into stdout.txt and stderr.txt; `done` is told its exit code.

        The code is that of `Popen`, or None where it was ended on purpose, or never began. The command may read
        `reads`, take so many seconds of processor time, and start processes of its own only if that is said.
        """
        command = [sys.executable, "-P", "-c", CONFINED + FOLLOWED + program, *arguments]
        given = environment(self._rules, folder, reads, cpu_s=cpu_s, processes=processes)
        with self._lock:
            self._waiting[id] = self._pool.submit(self._work, _Work(id, command, folder, given, done))

    def state(self, id: str) -> str | None:
        """`waiting`, `running`, or None."""
        with self._lock:
            return "running" if id in self._running else "waiting" if id in self._waiting else None

    def end(self, id: str) -> bool:
        """End a command; says whether there was one."""
        with self._lock:
            self._ended.add(id)
            process = self._running.get(id)
            is_there = process is not None or id in self._waiting
        if process is not None:
            threading.Thread(target=_ended, args=(process,), daemon=True).start()
        return is_there

    def close(self) -> None:
        """End all, and wait for them."""
        self._is_closed = True
        with self._lock:
            running = list(self._running.values())
            self._ended.update(self._running, self._waiting)
        endings = [threading.Thread(target=_ended, args=(process,)) for process in running]
        for thread in endings:
            thread.start()
        for thread in endings:
            thread.join()
        self._pool.shutdown(wait=True)

    def _work(self, work: _Work) -> None:
        id, folder, code = work.id, work.folder, None
        try:
            private_folder(folder / TEMPORARY)
            for name in _SAID:  # an earlier worker may have left a link there
                remove(folder / name)
            with ExitStack() as files:
                out, err = (files.enter_context(writing(folder / name, new=True, mode=0o600)) for name in _SAID)
                process = self._begun(work, out, err)
                if process is not None:
                    with process:  # until then its standard input is open, which tells it that we are there
                        code = process.wait()
        finally:
            remove_folder(folder / TEMPORARY)
            with self._lock:
                was_ended = id in self._ended
                self._ended.discard(id)
            try:
                work.done(None if was_ended else code)
            finally:
                with self._lock:
                    self._running.pop(id, None)
                    self._waiting.pop(id, None)

    def _begun(self, work: _Work, out: IO[bytes], err: IO[bytes]) -> subprocess.Popen[bytes] | None:
        """The process, unless it was ended before it began; under the lock, so that none slips through."""
        with self._lock:
            if work.id in self._ended or self._is_closed:
                self._ended.add(work.id)
                return None
            process = subprocess.Popen(
                work.command, cwd=work.folder, stdin=subprocess.PIPE, stdout=out, stderr=err, start_new_session=True,
                env=work.environment,
            )  # fmt: skip
            self._running[work.id] = process
            return process


def _ended(process: subprocess.Popen[bytes]) -> None:
    """Ask a process and all that it started to end, and insist after a while."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, sign)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
            return


def told_by(folder: Path, code: int) -> str:
    """Why a command failed: its complaint, or the signal that killed it."""
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else "unknown"
        return f"the worker was killed by signal {-code} ({name}){_HINTS.get(name, '')}"
    lines = tail(folder / "stderr.txt").splitlines()
    at = next((at for at in range(len(lines) - 1, -1, -1) if lines[at].startswith("unspool: ")), None)
    if at is not None:
        return "\n".join(lines[at:]).removeprefix("unspool: ")[:_LONGEST]
    last = lines[-1] if lines else "it said nothing"
    return f"the worker ended with code {code}: {last}"[:_LONGEST]


def tail(path: Path) -> str:
    """The end of a text file; nothing where there is none."""
    try:
        if not is_plain(path):
            return ""
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
