"""Where a scheduler is that is another program: at an endpoint, or still to be started by us."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Protocol

from unspool.errors import shown
from unspool.faces.batsim.protocol.begins import Terms
from unspool.faces.batsim.protocol.driver import Line
from unspool.faces.batsim.protocol.process import Started, free_endpoint
from unspool.faces.batsim.protocol.wire import Asking, needs_zmq

__all__ = ["ENDPOINT", "Elsewhere", "Outside"]

ENDPOINT = "tcp://localhost:28000"
"""Where Batsim looks for a scheduler if nobody says."""


class Elsewhere(Protocol):
    """A scheduler that is not asked directly, but talked to."""

    @property
    def name(self) -> str:
        """What the scheduler is called in results."""

    @property
    def terms(self) -> Terms:
        """What both sides agree upon."""

    def open_line(self, stack: ExitStack) -> Line:
        """Get in touch with it; what is opened for that is closed with the stack."""


@dataclass(frozen=True)
class Outside:
    """A scheduler at an endpoint, or the command that starts it, how long it may be silent, and on what terms."""

    endpoint: str = ENDPOINT
    command: str | None = None
    timeout_s: float = 60.0
    terms: Terms = field(default_factory=Terms)

    @property
    def name(self) -> str:
        """What the scheduler is called in results."""
        return f"outside:{self.command or self.endpoint}"

    def open_line(self, stack: ExitStack) -> Asking:
        """Connect to it; what is opened for that is closed with the stack."""
        needs_zmq()
        if self.command is None:
            return stack.enter_context(Asking(self.endpoint, f"scheduler at {self.endpoint}", self.timeout_s))
        endpoint = free_endpoint()
        process = stack.enter_context(Started(self.command, endpoint))
        name = f"scheduler '{shown(self.command)}'"
        return stack.enter_context(Asking(endpoint, name, self.timeout_s, process))
