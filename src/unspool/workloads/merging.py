"""Several logs made one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import polars as pl

from unspool.errors import InputError, shown
from unspool.model.dependencies import listed
from unspool.model.profile import Profile
from unspool.model.workload import Workload
from unspool.units import counted
from unspool.workloads.references import renamed

__all__ = ["merge", "prefixed"]


def merge(workloads: Sequence[Workload], name: str | None = None) -> Workload:
    """All jobs of several logs, by submit time; of jobs submitted together those of the first log come first.

    If every origin is known the logs lie on the calendar as they were, else each begins at the same 0. If an id stands
    in two logs, every id gets the number of its log, as `2-17`, and dependencies follow; so do profiles, if two of one
    name differ. Users, queues and partitions of one name are one. The machine is as large as the largest.

    >>> from unspool.workloads.generators import lublin
    >>> both = merge([lublin(10, cores=8, load=0.5, seed=1), lublin(20, cores=16, load=0.5, seed=2)])
    >>> len(both), both.max_cores, both.table["job_id"].str.starts_with("2-").sum()
    (30, 16, 20)
    """
    if not workloads:
        raise InputError("merge: no logs are given; expected one or more")
    if len(workloads) == 1:
        return workloads[0]
    notes = [f"{log.name}: {note}" for log in workloads for note in log.notes]
    origin, moves = _origins(workloads, notes)
    ids = pl.concat([log.table["job_id"] for log in workloads])
    clashes = ids.filter(ids.is_duplicated()).n_unique()
    if clashes:
        stand = counted(clashes, "job id stands", "job ids stand")
        notes.append(f"{stand} in several logs: all ids have the number of their log in front, as 2-{ids[0]}")
    differing = _differing_profiles(workloads)
    if differing:
        mean = counted(len(differing), "name of profiles means", "names of profiles mean")
        notes.append(f"{mean} different ones: all have the number of their log in front, as 2-{shown(differing[0])}")
    tables: list[pl.DataFrame] = []
    profiles: dict[str, Profile] = {}
    for number, (log, move) in enumerate(zip(workloads, moves, strict=True), 1):
        log = _with_prefixes(log, f"{number}-" if clashes else "", f"{number}-" if differing else "")
        tables.append(log.table.with_columns(pl.col("submit_time") + move))
        profiles.update(log.profiles)
    table = pl.concat(tables, how="diagonal")
    table = table.with_columns(line=pl.int_range(1, len(table) + 1)).sort("submit_time", "line")
    facts = {
        **_facts(workloads, notes),
        "profiles": MappingProxyType(profiles),
        "rejected": pl.concat([log.rejected for log in workloads]),
        "jobs_read": sum(log.jobs_read or 0 for log in workloads),
    }
    notes.append(f"merged: {', '.join(f'{counted(len(log))} of {log.name}' for log in workloads)}")
    named = name or "+".join(log.name for log in workloads)
    return Workload.of(table, name=named, origin_unix_s=origin, notes=tuple(notes), **facts)


def _origins(workloads: Sequence[Workload], notes: list[str]) -> tuple[float, list[float]]:
    """The origin of all, and how much later each log's times are counted from it."""
    origins = [log.origin_unix_s for log in workloads]
    if all(origins):
        return min(origins), [origin - min(origins) for origin in origins]
    unknown = [log.name for log in workloads if not log.origin_unix_s]
    if len(unknown) < len(workloads):
        notes.append(f"the origin of {', '.join(unknown)} is not known: all logs begin at the same 0")
    return 0.0, [0.0] * len(workloads)


def prefixed(workload: Workload, name: str) -> Workload:
    """The workload with a name and a mark before every job and profile, as `w0!17`, where they name one another too.

    What a job waits for may already say its workload; that stays.

    >>> from unspool.workloads.generators import lublin
    >>> prefixed(lublin(10, cores=8, load=0.5), "w0").table["job_id"][0]
    'w0!1'
    """
    return _with_prefixes(workload, f"{name}!", f"{name}!")


def _with_prefixes(workload: Workload, ids: str, names: str) -> Workload:
    """The workload with texts before the names of its jobs and of its profiles."""
    table, profiles = workload.table, workload.profiles
    if ids:
        if "depends_on" in table.columns:
            earlier = pl.element()
            is_named = earlier.str.contains("!", literal=True) & ids.endswith("!")
            earlier = pl.when(is_named).then(earlier).otherwise(pl.lit(ids) + earlier)
            waits = listed(table["depends_on"], table["job_id"]).list.eval(earlier).list.join(",")
            table = table.with_columns(depends_on=waits)
        table = table.with_columns(job_id=pl.lit(ids) + pl.col("job_id"))
    if names and profiles:
        profiles = {names + name: renamed(profile, names.__add__) for name, profile in profiles.items()}
        table = table.with_columns(profile=pl.lit(names) + pl.col("profile"))
    return replace(workload, table=table, profiles=MappingProxyType(dict(profiles)))


def _differing_profiles(workloads: Sequence[Workload]) -> list[str]:
    """The names under which logs have different profiles."""
    found: dict[str, Profile] = {}
    return [
        name
        for log in workloads
        for name, profile in log.profiles.items()
        if found.setdefault(name, profile) != profile
    ]


def _facts(workloads: Sequence[Workload], notes: list[str]) -> dict[str, Any]:
    """Time zone, if it is one, and size of the machine, as of the largest."""
    zones = {log.time_zone for log in workloads}
    if len(zones) > 1:
        notes.append(f"time zones differ ({', '.join(sorted(map(str, zones)))}): the merged log has none")
    facts: dict[str, Any] = {"time_zone": zones.pop() if len(zones) == 1 else None}
    for fact in ("max_cores", "max_machines"):
        sizes = {size for log in workloads if (size := getattr(log, fact)) is not None}
        facts[fact] = max(sizes, default=None)
        if len(sizes) > 1:
            notes.append(f"{fact} differs ({', '.join(map(str, sorted(sizes)))}): the largest is taken")
    return facts
