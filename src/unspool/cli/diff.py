"""`unspool diff`: the first decision in which two runs differ, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unspool.cli.output import Announcement, Progress, counted, note, print_json, print_table, print_text
from unspool.errors import shown
from unspool.results.difference import Decided, Difference
from unspool.results.difference import diff as find_difference
from unspool.results.reasons import told_time
from unspool.results.store import load
from unspool.units import format_duration

__all__ = ["diff"]

DIFFER = 1
_ROWS = 10  # jobs that are printed of each side
_TITLES = {"start": "a job starts", "end": "a job ends", "machines": "a job gets machines"}
_VERBS = {"start": "starts", "end": "ends", "machines": "machines"}


def diff(
    first: Path,
    second: Path,
    /,
    *,
    workload: str | None = None,
    json: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
) -> int:
    """Name the first decision in which two runs of one log differ, and why.

    Parameters
    ----------
    first
        A folder of results, of one policy.
    second
        Another one, of the same log.
    workload
        The log, where it is no longer where the runs read it.
    json
        Print JSON.
    """
    pair = load(first), load(second)
    with Progress("replaying") as progress:
        found = find_difference(
            *pair,
            workload=workload,
            progress=progress,
            compiling=lambda: Announcement("compiling: once for this machine and version, 10 to 30 s"),
        )
    for text in found.notes:
        note(text)
    if json:
        print_json(found.as_dict())
    else:
        _print(found)
    return 0 if found.same else DIFFER


def _print(found: Difference) -> None:
    names = [shown(side.policy) for side in (found.first, found.second)]
    if names[0] == names[1]:
        names = [f"{name} ({which})" for name, which in zip(names, ("first", "second"), strict=True)]
    print_text(f"{shown(found.workload)}: {names[0]} and {names[1]}")
    if found.change is not None and found.time is not None:
        _print_first(found, names)
    for name, ids in zip(names, found.rejected, strict=True):
        if ids:
            more = ", …" if len(ids) > _ROWS else ""
            print_text(f"rejected by {name} only: {counted(len(ids), 'job')}: {', '.join(ids[:_ROWS])}{more}")
    if found.same:
        print_text(f"the same: {counted(found.counts['attempts'], 'start')}, with their ends and machines")


def _print_first(found: Difference, names: list[str]) -> None:
    assert found.change is not None
    assert found.time is not None
    free = found.free_cores
    told_free = f"{free[0]:,}" if free[0] == free[1] else f"{free[0]:,} and {free[1]:,}"
    print_text(
        f"first difference at {told_time(found.time)} s, where {_TITLES[found.change]} otherwise: "
        f"{counted(found.queue, 'job')} in the queue, {told_free} cores free, "
        f"{counted(found.started_by_both, 'job')} started by both\n"
    )
    rows = []
    for name, other, side in zip(names, reversed(names), (found.first, found.second), strict=True):
        rows += [_row(one, name, other, found.change) for one in side.only[:_ROWS]]
        if len(side.only) > _ROWS:
            rows.append(("…", "", "", name, f"{len(side.only) - _ROWS:,} more: --json", ""))
    verb = _VERBS[found.change]
    print_table(("job", "cores", "walltime", f"only {verb} so in", "there", "in the other"), rows, justify="left")
    counts = found.counts
    print_text(
        f"\nof {counted(counts['attempts'], 'start')}, other in time: {counts['start']:,}; "
        f"of those at one time, other end: {counts['end']:,}; other machines: {counts['machines']:,}"
    )


def _row(one: Decided, name: str, other: str, change: str) -> tuple[str, ...]:
    elsewhere = "did not run" if one.other is None else one.other if change != "start" else f"at {one.other} s"
    reason = f": at this time it {one.reason}" if one.reason else ""
    return (
        shown(one.job, 40),
        f"{one.cores:,}",
        "-" if one.walltime is None else format_duration(one.walltime),
        name,
        f"at {one.here} s" if change == "start" else one.here,
        shown(f"{other}, {elsewhere}{reason}", 400),
    )
