"""What the verbs say: tables on stdout; notes, progress and waiting on stderr."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table

from unspool.units import format_duration

__all__ = ["Progress", "announce", "note", "print_json", "print_table", "print_text"]

_SHOW_AFTER_S = 2.0
_LINE_EVERY_S = 10.0
_NARROW = 140  # columns of a table that goes to a file


def _console(stream: Any) -> Console:
    return Console(file=stream, highlight=False, width=None if stream.isatty() else _NARROW)


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None) -> None:
    """A table on stdout; every column but the first is aligned to the right."""
    table = Table(title=title, title_justify="left")
    for at, name in enumerate(header):
        table.add_column(name, justify="left" if at == 0 else "right", no_wrap=at == 0)
    for row in rows:
        table.add_row(*row)
    _console(sys.stdout).print(table)


def print_text(text: str) -> None:
    """A line on stdout."""
    sys.stdout.write(text + "\n")


def print_json(content: object) -> None:
    """JSON on stdout."""
    print_text(json.dumps(content, indent=2, ensure_ascii=False))


def note(text: str) -> None:
    """A line on stderr."""
    sys.stderr.write(text + "\n")


@contextmanager
def announce(text: str, after_s: float = _SHOW_AFTER_S) -> Iterator[None]:
    """Say what is going on if it takes longer than so many seconds."""
    timer = threading.Timer(after_s, note, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Progress:
    """Jobs done, rate and time left, on stderr, once something takes over two seconds."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._began = perf_counter()
        self._shown = self._began
        self._live = sys.stderr.isatty()
        self._on_screen = False

    def __call__(self, done: int, total: int) -> None:
        """Called now and then with how many of how many are done."""
        now = perf_counter()
        elapsed = now - self._began
        due = elapsed > _SHOW_AFTER_S and (self._live or now - self._shown > _LINE_EVERY_S)
        if due and done < total:
            rate = done / elapsed
            left = format_duration(round((total - done) / rate)) if done else "unknown"
            text = f"{self._what}: {done:,} of {total:,} jobs, {rate:,.0f} jobs/s, {left} left"
            sys.stderr.write(f"\r\x1b[2K{text}" if self._live else text + "\n")
            sys.stderr.flush()
            self._shown = now
            self._on_screen = self._live

    def clear(self) -> None:
        """Wipe the line."""
        if self._on_screen:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
