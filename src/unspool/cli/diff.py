"""`unspool diff`: the first decision in which two runs differ, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unspool.analysis.diff import Decided, Difference, Fate
from unspool.analysis.diff import diff as find_difference
from unspool.analysis.reasons import told_time
from unspool.cli.options import Untrusted
from unspool.cli.output import Progress, compiling_announcement, counted, note, print_json, print_text
from unspool.errors import shown
from unspool.results.store import load
from unspool.trust import vet
from unspool.units import format_duration

__all__ = ["diff"]

DIFFER = 1
_ROWS = 10  # jobs that are printed of each side


def diff(
    first: Path,
    second: Path,
    /,
    *,
    workload: str | None = None,
    json: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    untrusted: Untrusted = False,
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
    for folder, result in zip((first, second), pair, strict=True):
        vet("schedulers", result.policy, str(folder), untrusted=untrusted, note=note)
    with Progress("replaying") as progress:
        found = find_difference(
            *pair,
            workload=workload,
            progress=progress,
            compiling=compiling_announcement,
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
        machines = " and machines" if "machines" in found.counts else ""
        print_text(f"the same: {counted(found.counts['attempts'], 'start')}, with their ends{machines}")


def _print_first(found: Difference, names: list[str]) -> None:
    assert found.time is not None
    free = found.free_cores
    told_free = counted(free[1], "core") if free[0] == free[1] else f"{free[0]:,} and {free[1]:,} cores"
    print_text(
        f"the same before {told_time(found.time)} s; then {counted(found.queue, 'job')} in the queue, {told_free} "
        f"free, {counted(found.started_by_both, 'job')} started by both\n"
    )
    seen: set[str] = set()
    for name, other, side in zip(names, reversed(names), (found.first, found.second), strict=True):
        new = [one for one in side.only if one.job not in seen]
        seen |= {one.job for one in new}
        for one in new[:_ROWS]:
            print_text(_told(one, name, other, found))
        if len(new) > _ROWS:
            print_text(f"{name}: {counted(len(new) - _ROWS, 'job')} more; --json has all")
    counts = found.counts
    machines = f", {counts['machines']:,} on other machines" if "machines" in counts else ""
    print_text(
        f"\nof {counted(counts['attempts'], 'start')}, {counts['start']:,} at another time; of the others, "
        f"{counts['end']:,} with another end{machines}"
    )


def _told(one: Decided, name: str, other: str, found: Difference) -> str:
    walltime = "" if one.walltime is None else f", walltime {format_duration(one.walltime)}"
    job = f"job {shown(one.job, 40)} ({counted(one.cores, 'core')}{walltime})"
    there = f"{other} does not run it" if one.other is None else f"{other} {_way(one.other, 'it', found)}"
    if one.reason:
        there += f"; now it {one.reason}"
    return f"{name} {_way(one.here, job, found)}\n  {shown(there, 400)}"


def _way(fate: Fate, job: str, found: Difference) -> str:
    if found.change == "machines":
        return f"puts {job} on machines {shown(fate.machines, 80)}"
    if found.change == "end":
        return f"ends {job} at {told_time(fate.finish_time or 0.0)} s ({fate.how})"
    later = f" at {told_time(fate.start_time)} s" if fate.start_time != found.time else ""
    return f"starts {job}{later}"
