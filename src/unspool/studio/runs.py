"""Runs: each a folder with its settings, its log and, once it is done, its results. What is on disk is the list.

What we know of a run lies beside its folder: in the folder its worker could change it.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from unspool.errors import InputError
from unspool.storage import remove, remove_folder, replacing, write_text
from unspool.studio.kept import is_plain, private_folder, written
from unspool.studio.uploads import ID
from unspool.studio.workers import Workers, tail, told_by
from unspool.sweeps.store import Store

__all__ = ["ACTIVE", "RESULT", "Run", "Runs", "State"]

ACTIVE = ("waiting", "running")
"""States of a run that has not ended."""

RESULT = "result"
_STEP = re.compile(r"^(.*?): ([\d,.]+) of ([\d,.]+) (\w+)(?:, (.*))?$")
_STOPPED = "the studio was stopped before it was done; start it again with the same settings"


class Run(msgspec.Struct, frozen=True):
    """What a run is: it never changes. `settings` and `page` are names inside its folder; it may read `reads`."""

    id: str
    face: str
    title: str
    log: str
    log_id: str
    created_unix_s: float
    arguments: tuple[str, ...]
    settings: str
    page: str
    form: dict[str, list[str]] = {}
    reads: tuple[str, ...] = ()


class State(msgspec.Struct, frozen=True):
    """How far a run is: waiting, running, done, failed, cancelled or interrupted, and what there is to say of it."""

    state: str
    message: str = ""
    share: float | None = None
    elapsed_s: float = 0.0


class _End(msgspec.Struct, frozen=True):
    state: str
    message: str
    ended_unix_s: float


class Runs:
    """The runs in a folder, and the workers that make new ones."""

    def __init__(self, folder: Path, workers: Workers) -> None:
        self.folder = private_folder(folder)
        self._workers = workers
        self._is_closing = False
        self._known: dict[str, Run] = {}
        self._ends: dict[str, _End] = {}

    def start(
        self, face: str, title: str, log: str, log_id: str, arguments: Iterable[str], files: Mapping[str, str],
        settings: str, page: str, form: Mapping[str, list[str]], reads: Iterable[str] = (),
    ) -> Run:  # fmt: skip
        """Begin a run, or let it wait for its turn; OUT in the arguments and the page is its folder of results."""
        id = secrets.token_hex(6)
        words = tuple(RESULT if word == "OUT" else word for word in arguments)
        run = Run(
            id, face, title, log, log_id, time.time(), words, settings, page.replace("OUT", RESULT), dict(form),
            tuple(reads),
        )  # fmt: skip
        place = self.folder / id
        try:
            private_folder(place)
            for name, text in files.items():
                write_text(place / name, text)
            with replacing(self._about(id)) as file:
                file.write(msgspec.json.encode(run))
        except OSError as error:
            remove_folder(place)
            raise InputError(f"the run cannot be begun: {error.strerror or error}") from error
        self._begin(run, words)
        return run

    def _begin(self, run: Run, words: Sequence[str]) -> None:
        self._workers.start(
            run.id, words, self.place(run), lambda code: self._ended(run.id, code), reads=run.reads,
            processes=run.face == "sweep",
        )  # fmt: skip

    def all(self) -> list[Run]:
        """All runs, the newest first."""
        found = (self.get(entry.stem) for entry in self.folder.glob("*.json"))
        return sorted((run for run in found if run is not None), key=lambda run: (-run.created_unix_s, run.id))

    def get(self, id: str) -> Run | None:
        """The run of an id, or None."""
        if ID.fullmatch(id) is None:
            return None
        if id not in self._known:
            try:
                self._known[id] = msgspec.json.decode(self._about(id).read_bytes(), type=Run)
            except (OSError, msgspec.MsgspecError):
                return None
        return self._known[id]

    def place(self, run: Run) -> Path:
        """The folder of a run."""
        return self.folder / run.id

    def _about(self, id: str) -> Path:
        return self.folder / f"{id}.json"

    def _end_of(self, id: str) -> Path:
        return self.folder / f"{id}.end.json"

    def page(self, run: Run) -> Path | None:
        """The page about a run, where it is there."""
        path = self.place(run) / run.page
        return path if is_plain(path) else None

    def state(self, run: Run) -> State:
        """How far a run is."""
        active = self._workers.state(run.id)
        if active is not None and run.id not in self._ends:
            now = time.time()
            told, share = self._step(run) if active == "running" else ("waits until a worker is free", None)
            return State(active, told, share, now - run.created_unix_s)
        end = self._end(run)
        if end is not None:
            return State(end.state, end.message, None, end.ended_unix_s - run.created_unix_s)
        if self.page(run) is not None:
            return State("done")
        return State("interrupted", _STOPPED)

    def cancel(self, run: Run) -> None:
        """End a run, and leave it in the list as cancelled."""
        self._workers.end(run.id)

    def can_go_on(self, run: Run) -> bool:
        """Whether a run ended too early and what it has written is of use: a sweep goes on with what is missing."""
        is_begun = run.face == "sweep" and Store(self.place(run) / RESULT).is_there
        return is_begun and self.state(run).state not in (*ACTIVE, "done")

    def go_on(self, run: Run) -> None:
        """Begin again where a run ended."""
        if not self.can_go_on(run):
            raise InputError("this run cannot go on where it ended; change it and run it again")
        self._ends.pop(run.id, None)
        remove(self._end_of(run.id))
        self._begin(run, (*run.arguments, "--resume"))

    def remove(self, run: Run) -> None:
        """Forget a run that has ended, and delete its folder."""
        if self.state(run).state in ACTIVE:
            raise InputError("this run has not ended; cancel it first")
        remove(self._about(run.id))
        remove(self._end_of(run.id))
        remove_folder(self.place(run))
        self._known.pop(run.id, None)
        self._ends.pop(run.id, None)

    def closing(self) -> None:
        """What is ended from now on was not ended by people."""
        self._is_closing = True

    def summaries(self, run: Run) -> list[tuple[str, dict[str, Any]]]:
        """The summaries of a run's results by policy, one or several; none where there are none."""
        place = self.place(run) / RESULT
        for name in ("comparison.json", "summary.json"):
            try:
                content = msgspec.json.decode(written(place / name))
            except (OSError, msgspec.MsgspecError, RecursionError):
                continue
            found = content if isinstance(content, list) else [content]
            return [(str(each.get("policy", "")), each) for each in found if isinstance(each, dict)]
        return []

    def said(self, run: Run) -> str:
        """What the worker said, its end."""
        return self.plain(tail(self.place(run) / "stderr.txt"))

    def plain(self, text: str) -> str:
        """A text without the folders that we keep files in."""
        return re.sub(
            rf"{re.escape(str(self.folder.parent))}/(uploads|runs)/[0-9a-f]{{12}}/(data/)?(unpacked/)?", "", text
        )

    def _ended(self, id: str, code: int | None) -> None:
        run = self.get(id)
        if run is None:
            return
        if code is None:
            end = _End("interrupted", _STOPPED, time.time()) if self._is_closing else _End("cancelled", "", time.time())
        elif code == 0:
            end = _End("done", "", time.time())
        else:
            end = _End("failed", self.plain(told_by(self.place(run), code)), time.time())
        self._ends[id] = end
        try:
            with replacing(self._end_of(id)) as file:
                file.write(msgspec.json.encode(end))
        except OSError:
            return  # the disk is full, or the folder is gone: it is still known until the studio stops

    def _end(self, run: Run) -> _End | None:
        if run.id not in self._ends:
            try:
                self._ends[run.id] = msgspec.json.decode(self._end_of(run.id).read_bytes(), type=_End)
            except (OSError, msgspec.MsgspecError):
                return None
        return self._ends[run.id]

    def _step(self, run: Run) -> tuple[str, float | None]:
        """What the worker said last, and the share that is done where it told one."""
        lines = [line for line in self.said(run).splitlines() if line.strip()]
        if not lines:
            return "starting", None
        step = _STEP.match(lines[-1])
        if step is None:
            return lines[-1][:300], None
        try:
            done, total = (float(text.replace(",", "")) for text in step.group(2, 3))
        except ValueError:  # a note that looks like a step
            return lines[-1][:300], None
        return lines[-1][:300], min(done / total, 1.0) if total else None
