"""Recorded results of the tools that people know, and ours beside them: one file a kind."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from unspool.conform.checks import Check, Outcome
from unspool.errors import UnknownName

__all__ = ["KINDS", "Check", "Outcome", "collect", "own_cases"]

KINDS = ("contention", "smpi", "batsim", "dispatch", "cloud")

_MODULES = {"batsim": "transcripts"}  # where cases of a kind are read by another file than that of its name


def own_cases(kind: str) -> Path:
    """The folder with the few cases of our own that ship with the package."""
    return Path(__file__).parents[1] / "cases" / kind


def collect(kind: str, paths: Iterable[Path] = ()) -> list[Check]:
    """The cases of a kind that are found at the paths; without one, those that ship.

    >>> [check.run().verdict for check in collect("dispatch")][:2]
    ['agrees', 'agrees']
    """
    if kind not in KINDS:
        raise UnknownName("kind of cases", kind, KINDS)
    checks = import_module(f"unspool.conform.{_MODULES.get(kind, kind)}").checks
    return [check for path in list(paths) or [own_cases(kind)] for check in checks(path)]
