"""How far a sweep is: a table on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
from time import monotonic
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from unspool.cli.output import pace_s
from unspool.sweeps.runner import Count
from unspool.sweeps.work import ERROR, REJECTED
from unspool.units import format_duration

__all__ = ["SweepProgress"]

_SHOW_AFTER_S, _LINE_EVERY_S, _DRAWN_EVERY_S = 2.0, 10.0, 0.5


class SweepProgress:
    """Told of every batch; shows what is done, the rate, the time left, failures and the best so far."""

    def __init__(self, figure: str | None = None) -> None:
        self._figure = figure or "mean_wait_s"
        self._best: tuple[int, float, str] | None = None  # jobs that were not run first
        self._error = ""
        self._live: Live | None = None
        self._pace_s = pace_s()
        self._due = monotonic() + (_SHOW_AFTER_S if self._pace_s is None else self._pace_s)
        self.done = self.found = 0

    def __enter__(self) -> SweepProgress:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Wipe the table."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def __call__(self, count: Count, rows: list[dict[str, Any]]) -> None:
        """Called with how far it is, and with rows that came."""
        self.done, self.found = count.done, count.found
        for row in rows:
            self._note(row)
        now = monotonic()
        if now < self._due or count.done + count.found >= count.total:
            return
        is_live = sys.stderr.isatty()
        every_s = _DRAWN_EVERY_S if is_live else _LINE_EVERY_S
        self._due = now + (every_s if self._pace_s is None else self._pace_s)
        if not is_live:
            sys.stderr.write(f"{self._line(count)}\n")
            sys.stderr.flush()
            return
        if self._live is None:
            self._live = Live(console=Console(file=sys.stderr), auto_refresh=False, transient=True)
            self._live.start()
        self._live.update(self._table(count), refresh=True)

    def _note(self, row: dict[str, Any]) -> None:
        if row[ERROR] is not None:
            self._error = str(row[ERROR])
        elif (value := row.get(self._figure)) is not None:
            found = row.get(REJECTED) or 0, value, str(row.get("policy", ""))
            self._best = found if self._best is None else min(self._best, found, key=lambda each: each[:2])

    def _left(self, count: Count) -> str:
        left = count.total - count.done - count.found
        return format_duration(round(left / count.rate)) if count.done else "unknown"

    def _line(self, count: Count) -> str:
        failed = f", {count.failed:,} failed" if count.failed else ""
        done = count.done + count.found
        return f"sweep: {done:,} of {count.total:,} runs{failed}, {count.rate:,.1f} runs/s, {self._left(count)} left"

    def _table(self, count: Count) -> Table:
        table = Table.grid(padding=(0, 2))
        done = count.done + count.found
        table.add_row("runs", f"{done:,} of {count.total:,} ({done / max(count.total, 1):.0%})")
        table.add_row("rate", f"{count.rate:,.1f} a second, {self._left(count)} left")
        table.add_row("failed", f"{count.failed:,}" + (f": {self._error[:80]}" if self._error else ""))
        if self._best is not None:
            table.add_row(f"least {self._figure}", f"{self._best[1]:,.6g} {self._best[2]}")
        return table
