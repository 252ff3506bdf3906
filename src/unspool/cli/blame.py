"""Whose fault it is when a run breaks off: ours, or that of somebody's own policy."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import unspool
from unspool.errors import RunError, UnspoolError
from unspool.policies.base import CompiledScheduler

__all__ = ["blaming"]

_HOME = str(Path(unspool.__file__).parent)


@contextmanager
def blaming(name: str, scheduler: Any, *, debug: bool = False) -> Iterator[None]:
    """Name the policy under which a run breaks off; what somebody's own raises is told with its place."""
    try:
        yield
    except RunError as error:
        raise type(error)(f"policy '{name}': {error}") from error
    except (Exception, SystemExit) as error:
        if isinstance(scheduler, CompiledScheduler) or isinstance(error, UnspoolError):
            raise
        if debug:
            traceback.print_exception(error)
        raise RunError(_failure(name, error)) from error


def _failure(name: str, error: BaseException) -> str:
    """What to say when a policy of somebody else's raised something, or made us raise it."""
    what = f"{type(error).__name__}: {error}"
    theirs = [at for at in traceback.extract_tb(error.__traceback__) if not at.filename.startswith(_HOME)]
    if not theirs:
        return f"policy '{name}' decided something that cannot be carried out: {what}"
    return f"policy '{name}' failed: {what} ({theirs[-1].filename}, line {theirs[-1].lineno})"
