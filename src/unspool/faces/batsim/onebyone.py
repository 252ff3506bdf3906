"""What `--no-sched` means here: jobs in the order of submission, one after the other, each alone."""

from __future__ import annotations

from collections.abc import Iterable

from unspool.policies.base import Decision, Start
from unspool.policies.view import View

__all__ = ["one_by_one"]


def one_by_one(view: View) -> Iterable[Decision]:
    """Start the first job of the queue when nothing runs."""
    return [Start(view.queue[0])] if len(view.queue) and not len(view.running) else []
