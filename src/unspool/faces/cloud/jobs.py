"""Which jobs of a log count: those that touch a window, of queues and projects (spec B1.6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime

import polars as pl

from unspool.errors import InputError
from unspool.faces.cloud.config import CostConfig
from unspool.faces.cloud.patterns import matches, refuse_patterns
from unspool.model.workload import Workload
from unspool.workloads.clock import unix_of_date
from unspool.workloads.transform import filter

__all__ = ["refuse_options", "selected", "unix_time"]

_SHOWN_VALUES = 10


def refuse_options(
    starttime: str | float | None, endtime: str | float | None, queues: str | None, projects: str | None
) -> None:
    """Complain of what no log could make right, before one is read."""
    start = None if starttime is None else unix_time(starttime, "--starttime")
    end = None if endtime is None else unix_time(endtime, "--endtime")
    _refuse_order(start, end, starttime, endtime)
    for option, given in (("--queues", queues), ("--projects", projects)):
        refuse_patterns((rule.removeprefix("-") for rule in _rules(given or "")), option)


def selected(
    workload: Workload,
    config: CostConfig,
    starttime: str | float | None = None,
    endtime: str | float | None = None,
    queues: str | Sequence[str] | None = None,
    projects: str | Sequence[str] | None = None,
) -> Workload:
    """The jobs of a window, of queues and of projects; notes count what each rule kept, and none left is an error.

    A job is out of the window only if both its submission and its logged end are before `starttime`, or both after
    `endtime`: texts such as `2024-01-31T12:00:00` (UTC unless they say a zone), or Unix seconds. `queues` and
    `projects` are lists of regular expressions (or texts, with commas between them) in place of the configured ones.
    """
    workload = _in_window(workload, starttime, endtime)
    for column, given, configured in (("queue", queues, config.queues), ("project", projects, config.projects)):
        if rules := _rules(configured if given is None else given):
            workload = _of(workload, column, rules)
    return workload


def _rules(given: str | Sequence[str]) -> list[str]:
    """Regular expressions of a list, or of a text with commas between them."""
    parts = [part.strip() for part in given.split(",")] if isinstance(given, str) else given
    return [rule for rule in parts if rule]


def unix_time(given: str | float, option: str) -> float:
    """Unix seconds of a text such as `2024-01-31T12:00:00`, UTC unless it says a zone, or of a number of them.

    >>> unix_time("2024-01-01T00:00:00", "--starttime"), unix_time("1704067200", "--starttime")
    (1704067200.0, 1704067200.0)
    """
    try:
        seconds = float(given)
    except ValueError:
        try:
            return unix_of_date(str(given))
        except InputError as error:
            raise InputError(f"{option}: {error}, nor Unix seconds") from error
    if not math.isfinite(seconds):
        raise InputError(f"{option}: {given} is no time; expected a date such as 2022-03-01T12:00, or Unix seconds")
    return seconds


def _refuse_order(start: float | None, end: float | None, *told: object) -> None:
    if start is not None and end is not None and not start < end:
        raise InputError(f"the window begins at {told[0]} and ends at {told[1]}; expected an end after the beginning")


def _in_window(workload: Workload, starttime: str | float | None, endtime: str | float | None) -> Workload:
    start = None if starttime is None else _edge(workload, starttime, "--starttime")
    end = None if endtime is None else _edge(workload, endtime, "--endtime")
    if start is None and end is None:
        return workload
    _refuse_order(start, end, starttime, endtime)
    submitted, ended = _logged(workload)
    is_out = pl.Series([False]).new_from_index(0, len(workload))
    if start is not None:
        is_out |= (submitted < start) & (ended < start)
    if end is not None:
        is_out |= (submitted > end) & (ended > end)
    edges = [f"from {starttime}"] * (start is not None) + [f"to {endtime}"] * (end is not None)
    kept = filter(workload, pl.lit(~is_out), told := f"window {' '.join(edges)}")
    if not len(kept):
        log = f"they run from {_utc(submitted.min())} to {_utc(ended.max())}" if len(workload) else "there is none"
        raise InputError(f"{workload.name}: the {told} holds none of {len(workload)} jobs; {log}")
    return kept


def _edge(workload: Workload, given: str | float, option: str) -> float:
    """Unix seconds; of a log whose origin is not known, seconds since that, and a date would mean nothing."""
    seconds = unix_time(given, option)
    if not workload.origin_unix_s and not _is_number(given):
        raise InputError(f"{option}: {workload.name} does not say its origin; give seconds since that, not a date")
    return seconds


def _is_number(given: str | float) -> bool:
    try:
        float(given)
    except ValueError:
        return False
    return True


def _logged(workload: Workload) -> tuple[pl.Series, pl.Series]:
    """When each job was submitted and when it ended in the log, as Unix seconds."""
    eligible = workload.origin_unix_s + workload.column("submit_time")
    submitted = eligible - workload.column("ineligible_time").fill_null(0.0)
    return submitted, eligible + workload.column("logged_wait").fill_null(0.0) + workload.column("run_time")


def _of(workload: Workload, column: str, rules: list[str]) -> Workload:
    refuse_patterns((rule.removeprefix("-") for rule in rules), f"{column}s")
    values = workload.column(column).fill_null("")
    names = values.unique().sort().to_list()
    wanted = [name for name in names if matches(rules, name)]
    told = f"{column}s {', '.join(rules)}"
    kept = filter(workload, pl.lit(values.is_in(wanted)), told)
    if not len(kept):
        has = ", ".join(name or "none" for name in names[:_SHOWN_VALUES]) + (" …" if len(names) > _SHOWN_VALUES else "")
        hint = "; all rules exclude, so add '.*' for the rest" if all(rule.startswith("-") for rule in rules) else ""
        raise InputError(
            f"{workload.name}: {told} leaves none of {len(workload)} jobs; {column}s there are: {has}{hint}"
        )
    return kept


def _utc(unix_s: object) -> str:
    assert isinstance(unix_s, float)
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%S")
