"""Batsim's workloads written: version 4's JSON, one job and one profile a line."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import polars as pl

from unspool.errors import InputError, UnknownName, shown
from unspool.model.profile import (
    Delay,
    ForkJoin,
    HomogeneousTask,
    Merge,
    Profile,
    Receive,
    Send,
    Sequence,
    Staging,
    StorageTask,
    Task,
    Trace,
)
from unspool.model.workload import COLUMNS, Workload
from unspool.units import counted
from unspool.workloads.batsim_jobs import FREE_FIELDS, meaning_of
from unspool.workloads.files import AnyPath, replaced

__all__ = ["job_object", "profile_object", "write_batsim"]

_FORMS = ("delay", "computation")
_NAMES_V4 = {"each": "parallel_homogeneous", "total-v4": "parallel_homogeneous_total"}
_WRITTEN = (
    *("job_id", "submit_time", "run_time", "cores", "machines", "walltime", "profile", "details", "line"),
    *FREE_FIELDS.values(),
)
_FACTS = ("origin_unix_s", "time_zone")
_ROWS_AT_ONCE = 50_000


def write_batsim(
    workload: Workload, path: AnyPath, *, force: bool = False, profile: str = "delay", speed: float = 1e9
) -> tuple[str, ...]:
    """Write a workload as Batsim 4 reads it; returns notes on what the format cannot hold.

    Jobs keep their profiles and free fields. One without a profile gets a delay of exactly its run time; or, with
    `profile="computation"`, the flops of its run time on machines of `speed` flops a second. Submit times and
    walltimes are written as they are, and no job is left out.
    """
    if profile not in _FORMS:
        raise UnknownName("profile of jobs that have none", profile, _FORMS)
    if isinstance(speed, bool) or not isinstance(speed, int | float) or not (speed > 0 and math.isfinite(speed)):
        raise InputError(f"speed is {speed}; expected flops a second, more than 0")
    _refuse_unwritable(workload)
    made = _Made(workload, profile, float(speed))
    folder = os.path.dirname(os.fspath(path))
    with replaced(path, force=force) as file:
        file.write(b'{\n"nb_res": ' + _encoded(_size(workload)) + b',\n"jobs": [')
        mark = b"\n"
        for text in _job_lines(workload, made):
            file.write(mark + text)
            mark = b",\n"
        file.write(b'\n],\n"profiles": {')
        mark = b"\n"
        for name, given in (*workload.profiles.items(), *made.profiles.items()):
            file.write(mark + _encoded(name) + b": " + _encoded(profile_object(given, folder)))
            mark = b",\n"
        file.write(b"\n}\n}\n")
    return _notes(workload)


def job_object(row: Mapping[str, Any], profile: str) -> dict[str, Any]:
    """A job as Batsim's JSON has it, with its free fields; what our columns say counts where both say it."""
    job = {"id": row["job_id"], "subtime": _plain(row["submit_time"]), "res": row["cores"], "profile": profile}
    if row.get("walltime"):
        job["walltime"] = _plain(row["walltime"])
    free = _free(row["details"], row["job_id"]) if row.get("details") else {}
    for field, column in FREE_FIELDS.items():
        value = row.get(column)
        if (value is None and field not in free) or meaning_of(field, free.get(field)) == value:
            continue
        if value is None:
            free.pop(field)
        else:
            free[field] = value.split(",") if field == "dependencies" else _plain(value)
    return {**job, **{name: value for name, value in free.items() if name not in (*job, "walltime")}}


def profile_object(profile: Profile, folder: str = "") -> dict[str, Any]:
    """A profile as Batsim's JSON has it; under a name of version 5 where version 4 has none. Traces are as seen from
    the folder.

    >>> profile_object(Sequence(("a", "b"), repeat=2))
    {'type': 'composed', 'seq': ['a', 'b'], 'repeat': 2}
    """
    fields = _fields(profile, folder)
    if profile.code:
        fields["ret"] = profile.code
    return {**fields, **{name: value for name, value in profile.details.items() if name not in fields}}


def _fields(profile: Profile, folder: str) -> dict[str, Any]:
    match profile:
        case Delay(seconds=seconds):
            return {"type": "delay", "delay": _plain(seconds)}
        case Task(cpu=cpu, com=com):
            return {"type": "parallel", "cpu": list(map(_plain, cpu)), "com": list(map(_plain, com))}
        case HomogeneousTask(cpu=cpu, com=com, spread=spread):
            amounts = {"cpu": _plain(cpu), "com": _plain(com)}
            if spread in _NAMES_V4:
                return {"type": _NAMES_V4[spread], **amounts}
            strategy = {"generation_strategy": "DefinedAmountsSpreadUniformly"}
            return {"type": "ParallelTaskHomogeneousProfile", **amounts, **strategy}
        case Sequence(members=members, repeat=repeat):
            return {"type": "composed", "seq": list(members), **({"repeat": repeat} if repeat != 1 else {})}
        case ForkJoin(members=members):
            return {"type": "ForkJoinCompositionProfile", "seq": list(members)}
        case Merge(members=members):
            return {"type": "ParallelTaskMergeCompositionProfile", "seq": list(members)}
        case _:
            return _other_fields(profile, folder)


def _other_fields(profile: Profile, folder: str) -> dict[str, Any]:
    match profile:
        case StorageTask(bytes_read=read, bytes_written=written, storage=storage, spread=spread):
            kind = "ParallelTaskOnStorageHomogeneousProfile" if spread else "parallel_homogeneous_pfs"
            amounts = {"bytes_to_read": _plain(read), "bytes_to_write": _plain(written), "storage": storage}
            strategy = {"generation_strategy": "DefinedAmountsSpreadUniformly"} if spread else {}
            return {"type": kind, **amounts, **strategy}
        case Staging(bytes_moved=size, source=source, target=target):
            return {"type": "data_staging", "nb_bytes": _plain(size), "from": source, "to": target}
        case Send(message=message, pause_s=pause):
            return {"type": "send", "msg": dict(message), "sleeptime": _plain(pause)}
        case Receive(pattern=pattern, success=success, failure=failure, timeout=timeout, poll_s=poll):
            named = {"success": success, "failure": failure, "timeout": timeout}
            followed = {field: name for field, name in named.items() if name}
            return {"type": "recv", "regex": pattern, **followed, "polltime": _plain(poll)}
        case Trace(kind=kind, path=path):
            name = os.path.relpath(path, folder or ".")
            return {"type": "smpi" if kind == "smpi" else "usage_trace", "trace": name}
        case _:
            raise InputError(f"a profile of type {type(profile).__name__} has no place in Batsim's JSON")


def _refuse_unwritable(workload: Workload) -> None:
    missing = set(workload.column("profile").drop_nulls()) - workload.profiles.keys()
    if missing:
        first, count = shown(min(missing)), counted(len(missing), "profile that is", "profiles that are")
        raise InputError(
            f"{workload.name}: jobs name {count} not there, the first '{first}'; "
            "CSV and Parquet do not hold profiles, so convert from the Batsim file"
        )
    marked = workload.table.filter(pl.col("job_id").str.contains("!", literal=True))
    if len(marked):
        raise InputError(
            f"{workload.name}: {len(marked)} job ids have a !, the first '{shown(marked['job_id'][0])}'; "
            "Batsim keeps it for the name of the workload, so rename them"
        )


def _free(details: str, job_id: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(details, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise InputError(
            f"job {shown(job_id)}: details is '{shown(details, 40)}'; expected a JSON object with its free fields"
        ) from error


def _size(workload: Workload) -> int:
    largest = workload.table.select(pl.col("cores").max()).item()
    return int(workload.max_cores or workload.max_machines or largest or 1)


class _Made:
    """Profiles made for jobs that have none: one for each run time."""

    def __init__(self, workload: Workload, form: str, speed: float) -> None:
        self.profiles: dict[str, Profile] = {}
        self._names: dict[float, str] = {}
        self._taken, self._form, self._speed = workload.profiles, form, speed

    def name_of(self, run_time: float) -> str:
        """The name of the profile that takes so long."""
        if run_time not in self._names:
            # A delay of 0 is none to Batsim, but work of 0 is.
            is_delay = run_time > 0 and self._form == "delay"
            made = Delay(run_time) if is_delay else HomogeneousTask(run_time * self._speed, 0.0)
            name = f"{'delay' if is_delay else 'computation'}_{_plain(run_time)}"
            while name in self._taken:
                name += "_"
            self._names[run_time] = name
            self.profiles[name] = made
        return self._names[run_time]


def _job_lines(workload: Workload, made: _Made) -> Iterator[bytes]:
    columns = [name for name in workload.table.columns if name in _WRITTEN]
    for block in workload.table.select(columns).iter_slices(_ROWS_AT_ONCE):
        for row in block.iter_rows(named=True):
            yield _encoded(job_object(row, row.get("profile") or made.name_of(row["run_time"])))


def _notes(workload: Workload) -> tuple[str, ...]:
    notes = []
    named = {column.name for column in COLUMNS} - set(_WRITTEN)
    lost = [name for name in workload.table.columns if name in named and workload.table[name].count()]
    lost += [name for name in _FACTS if getattr(workload, name)]
    if lost:
        notes.append(f"a Batsim workload has no place for {', '.join(lost)}: left out")
    split = int((workload.column("machines") != workload.table["cores"]).sum())
    if split:
        ask = counted(split, "job asks", "jobs ask")
        notes.append(f"{ask} for machines of several cores: res is the number of cores")
    unlimited = int((workload.column("walltime") == 0).sum())
    if unlimited:
        have = counted(unlimited, "job has", "jobs have")
        notes.append(f"{have} a walltime of 0, which Batsim does not take: written without one")
    new = sorted({kind for each in workload.profiles.values() if (kind := str(_kind(each))).endswith("Profile")})
    if new:
        notes.append(f"Batsim 4 does not know {', '.join(new)}: written as version 5 names it")
    return tuple(notes)


def _kind(profile: Profile) -> str:
    return str(_fields(profile, "")["type"])


def _plain(value: Any) -> Any:
    """A number as people write it: 10 and not 10.0."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def _encoded(value: Any) -> bytes:
    return msgspec.json.encode(value)
