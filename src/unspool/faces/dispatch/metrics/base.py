"""What all collectors share: figures, and the lines that are printed of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from unspool.faces.dispatch.simdex import Job, Worker

__all__ = ["Metric"]


class Metric:
    """A collector: `values` has its figures, `lines` the text for people.

    `compat` is original, fork or none and is set when the experiment is made: it decides the text.
    """

    compat = "none"

    def on_start(self, simulation: Any) -> None:
        """The run begins."""

    def snapshot(self, ts: float, workers: Sequence[Worker]) -> None:
        """A tick."""

    def job_finished(self, job: Job) -> None:
        """A job ended."""

    def values(self) -> dict[str, Any]:
        """The figures by name; units stand at the end of the names."""
        return {}

    def lines(self, *, verbose: bool = False) -> list[str]:
        """The text for people."""
        return [f"{name}: {value}" for name, value in self.values().items()]

    def print(self, machine: bool = False, verbose: bool = False) -> None:
        """Write the text to stdout: for machines one `key=value` a line."""
        figures = ((key, value) for key, value in self.values().items() if not isinstance(value, dict))
        told = [f"{key}={value}" for key, value in figures] if machine else self.lines(verbose=verbose)
        sys.stdout.write("".join(f"{line}\n" for line in told))
