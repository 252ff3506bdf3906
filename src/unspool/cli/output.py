"""What the verbs say: tables on stdout; notes, progress and waiting on stderr."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from unspool.errors import shown
from unspool.units import counted, format_duration

__all__ = [
    "Announcement", "Progress", "compiling_announcement", "counted", "forget", "note", "pace_s", "print_json",
    "print_table", "print_text", "reading", "where_written",
]  # fmt: skip

_SHOW_AFTER_S = 2.0
_LINE_EVERY_S = 10.0
_EVERY = "UNSPOOL_PROGRESS_S"
_WIDTH = 120  # of a table that goes to a file
_LONGEST = 1000  # characters of a note


def _console(stream: Any) -> Console:
    return Console(
        file=stream, highlight=False, markup=False, emoji=False, width=None if stream.isatty() else _WIDTH
    )  # fmt: skip


def print_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    title: str | None = None,
    justify: Literal["left", "right"] = "right",
) -> None:
    """A table on stdout; `justify` is for every column but the first."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for at, name in enumerate(header):
        table.add_column(name, justify="left" if at == 0 else justify, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console = _console(sys.stdout)
    with console.capture() as captured:
        console.print(table)
    if title is not None:
        print_text(f"{title}\n")
    print_text("\n".join(line.rstrip() for line in captured.get().splitlines()))


def print_text(text: str, end: str = "\n") -> None:
    """A line on stdout; where nobody reads any more, as behind `head`, the verb goes on without."""
    try:
        sys.stdout.write(text + end)
    except BrokenPipeError:
        forget(sys.stdout)


def forget(stream: TextIO) -> None:
    """Nobody listens any more: let what is written go nowhere, also what Python writes at the end of the process."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def print_json(content: object) -> None:
    """JSON on stdout, in ASCII, so that it is the same in every locale."""
    print_text(json.dumps(content, indent=2, allow_nan=False))


def note(text: str) -> None:
    """A line on stderr."""
    _say(shown(text, _LONGEST) + "\n")


def _say(text: str) -> None:
    with suppress(BrokenPipeError):
        sys.stderr.write(text)
        sys.stderr.flush()


def where_written(out: object, *, report: bool) -> str:
    """Where results are, and the page about them where there is one.

    >>> where_written("OUT", report=True), where_written("OUT", report=False)
    ('results: OUT, for people OUT/report.html', 'results: OUT')
    """
    return f"results: {out}, for people {Path(str(out), 'report.html')}" if report else f"results: {out}"


class Announcement:
    """Says what is going on if it takes longer than two seconds; once, however often it is entered."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._is_told = False
        self._timer = threading.Timer(0.0, self._tell)

    def __enter__(self) -> None:
        self._timer = threading.Timer(_SHOW_AFTER_S, self._tell)
        self._timer.daemon = True
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def _tell(self) -> None:
        if not self._is_told:
            self._is_told = True
            note(self._text)


def compiling_announcement() -> Announcement:
    """Says that compiling takes a while, if it does."""
    return Announcement("compiling: once for each kind of run on this machine, 10 to 60 s")


def pace_s() -> float | None:
    """Seconds between two lines of progress and before the first, where UNSPOOL_PROGRESS_S says them."""
    told = os.environ.get(_EVERY, "")
    return float(told) if told.replace(".", "", 1).isdigit() else None


class Progress:
    """How much is done, the rate and the time left, on stderr, once something takes over two seconds.

    Where stderr is no terminal a line is written every ten seconds; UNSPOOL_PROGRESS_S says other seconds, for both.
    """

    def __init__(self, what: str, unit: str = "jobs", per_unit: int = 1) -> None:
        self._what = what
        self._unit = unit
        self._per_unit = per_unit
        self._is_live = sys.stderr.isatty()
        self._pace_s = pace_s()
        self._began: float | None = None
        self._due = 0.0
        self._on_screen = False

    def __call__(self, done: int, total: int) -> None:
        """Called now and then with how many of how many are done."""
        now = perf_counter()
        if self._began is None:
            self._began, self._due = now, now + (_SHOW_AFTER_S if self._pace_s is None else self._pace_s)
        if now < self._due or done >= total:
            return
        rate = done / max(now - self._began, 1e-9)
        left = format_duration(round((total - done) / rate)) if done else "unknown"
        shares = [f"{number / self._per_unit:,.0f}" for number in (done, total, rate)]
        text = f"{self._what}: {shares[0]} of {shares[1]} {self._unit}, {shares[2]} {self._unit}/s, {left} left"
        _say(f"\r\x1b[2K{text}" if self._is_live else text + "\n")
        self._due = now if self._is_live else now + (_LINE_EVERY_S if self._pace_s is None else self._pace_s)
        self._on_screen = self._is_live

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Wipe the line."""
        if self._on_screen:
            _say("\r\x1b[2K")
            self._on_screen = False


@contextmanager
def reading(path: object) -> Iterator[None]:
    """While a file is read that takes over two seconds: how far it is, the rate and the time left."""
    from unspool.workloads.files import told_of_reading  # here, because it brings Polars along

    announcement = Announcement(f"reading {path} …")
    with announcement, Progress(f"reading {path}", "MB", 1_000_000) as progress, told_of_reading(progress):
        progress(0, 1)
        yield
