"""Logs of the code examiner ReCodEx, as the dispatch simulator Simdex publishes and reads them.

`data.csv` has the jobs of students, `ref-solutions.csv` the runs of teachers' reference solutions: cells between
semicolons, columns found by name, rows sorted by `spawn_ts`. A file that breaks these rules is refused with the line,
since a dispatcher that skips rows answers another question. Every column: docs/reference/recodex.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from unspool.model.workload import Workload
from unspool.workloads.accounting import with_distinct_ids
from unspool.workloads.files import AnyPath
from unspool.workloads.lines import first_record
from unspool.workloads.recodexcells import Kind, Table, numbered, read_table

__all__ = [
    "JOB_COLUMNS", "REF_COLUMNS", "SHARED", "JobLog", "RefLog", "read_jobs", "read_recodex", "read_refs", "recognises",
    "shared_ids",
]  # fmt: skip

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

JOB_COLUMNS: Mapping[str, Kind] = MappingProxyType(
    {
        **dict.fromkeys(("submission_id", "solution_id", "group_id", "tlgroup_id", "exercise_id"), Kind.ID),
        "runtime_id": Kind.ID,
        "worker_group_id": Kind.ID,
        "user_id": Kind.ID,
        "spawn_ts": Kind.SORTED,
        "end_ts": Kind.OPTIONAL,
        "limits": Kind.AMOUNT,
        "cpu_time": Kind.FLAG,
        "correctness": Kind.NUMBER,
        "compilation_ok": Kind.FLAG,
        "duration": Kind.AMOUNT,
    }
)
"""The 15 columns of a log of jobs in the order in which they are published, and what their cells are."""

REF_COLUMNS: Mapping[str, Kind] = MappingProxyType(
    {
        **dict.fromkeys(("submission_id", "solution_id", "exercise_id", "runtime_id", "worker_group_id"), Kind.ID),
        "spawn_ts": Kind.AMOUNT,
        "correctness": Kind.NUMBER,
        "compilation_ok": Kind.FLAG,
        "duration": Kind.AMOUNT,
    }
)
"""The 9 columns of a log of reference runs. Nothing is replayed from it, so its rows may stand in any order."""

SHARED = ("solution", "group", "tlgroup", "exercise", "runtime")
"""The ids that mean the same thing in both files; submissions and users are numbered file by file."""

_TELLING = (b"spawn_ts", b"duration", b"limits", b"exercise_id")


@dataclass(frozen=True)
class RefLog:
    """Reference runs as columns of NumPy, in the order of the file; ids are 1, 2, 3 … by first appearance.

    `texts` has, for each column of ids, the texts that its numbers stand for: number n is at place n - 1.
    """

    name: str
    spawn: Floats
    duration: Floats
    correctness: Floats
    compilation_ok: Bools
    submission: Ints
    solution: Ints
    exercise: Ints
    runtime: Ints
    worker_group: list[str]
    line: Ints
    texts: Mapping[str, pl.Series]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.spawn)


@dataclass(frozen=True)
class JobLog:
    """Jobs as columns of NumPy, in the order of the file; ids are 1, 2, 3 … by first appearance.

    `spawn` is what `float` makes of the text: no origin is taken from it. `end` is NaN where the file does not say it.
    `texts` has, for each column of ids, the texts that its numbers stand for: number n is at place n - 1.
    """

    name: str
    spawn: Floats
    end: Floats
    duration: Floats
    limits: Floats
    correctness: Floats
    cpu_time: Bools
    compilation_ok: Bools
    submission: Ints
    solution: Ints
    group: Ints
    tlgroup: Ints
    exercise: Ints
    runtime: Ints
    user: Ints
    worker_group: list[str]
    line: Ints
    texts: Mapping[str, pl.Series]
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.spawn)


_Log = TypeVar("_Log", JobLog, RefLog)


def read_jobs(path: AnyPath, limit: int | None = None) -> JobLog:
    """The jobs of a `data.csv`, packed or not; with `limit` no more than its first rows, which alone are checked.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     log = Path(folder, "data.csv")
    ...     _ = log.write_text(";".join(JOB_COLUMNS) + "\\nj7;s;g;t;e;r;long;ann;1000;1010;10;0;0.5;1;2.25\\n")
    ...     jobs = read_jobs(log)
    >>> jobs.spawn, jobs.duration, jobs.submission, jobs.texts["submission"].to_list()
    (array([1000.]), array([2.25]), array([1]), ['j7'])
    """
    return _log_of(JobLog, read_table(path, JOB_COLUMNS, "job", limit))


def read_refs(path: AnyPath) -> RefLog:
    """The reference runs of a `ref-solutions.csv`, packed or not.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     log = Path(folder, "refs.csv")
    ...     _ = log.write_text(";".join(REF_COLUMNS) + "\\nr1;s;e;r;default;900;1;true;45\\n")
    ...     read_refs(log).compilation_ok
    array([False])
    """
    return _log_of(RefLog, read_table(path, REF_COLUMNS, "reference run", None))


def shared_ids(refs: RefLog, jobs: JobLog) -> tuple[RefLog, JobLog]:
    """Both logs with one numbering for the ids of `SHARED`: those of the reference runs first, then the jobs' new ones.

    Submissions and users keep the numbers of their file.
    """
    ours, theirs = dict(refs.texts), dict(jobs.texts)
    of_refs: dict[str, Ints] = {}
    of_jobs: dict[str, Ints] = {}
    for name in SHARED:
        # Of a group or course the reference runs say nothing, so the jobs' numbers are the shared ones.
        if name in ours:
            numbers, every = numbered(pl.concat([ours[name], theirs[name]]))
            first, second = numbers[: len(ours[name])], numbers[len(ours[name]) :]
            of_refs[name], of_jobs[name] = first[getattr(refs, name) - 1], second[getattr(jobs, name) - 1]
            ours[name] = theirs[name] = every
    return replace(refs, texts=ours, **of_refs), replace(jobs, texts=theirs, **of_jobs)  # type: ignore[arg-type]


def read_recodex(path: AnyPath) -> Workload:
    """The jobs of a `data.csv`, packed or not, each on one core, with `limits` as its walltime.

    The origin is the whole second of the first arrival, so that adding it to `submit_time` gives `spawn_ts` exactly.
    """
    jobs = read_jobs(path)
    origin_s = float(np.floor(jobs.spawn[0]))
    told = {
        "job_id": "submission", "user": "user", "group": "group", "project": "tlgroup", "application": "exercise",
    }  # fmt: skip
    texts = {ours: jobs.texts[theirs].gather(getattr(jobs, theirs) - 1) for ours, theirs in told.items()}
    columns = pl.DataFrame(
        {
            **texts,
            "submit_time": jobs.spawn - origin_s,
            "run_time": jobs.duration,
            "cores": np.ones(len(jobs), np.int64),
            "walltime": jobs.limits,
            "queue": jobs.worker_group,
            "logged_wait": jobs.end - jobs.spawn - jobs.duration,
            "status": jobs.compilation_ok.astype(np.int64),
            "line": jobs.line,
        }
    ).with_columns(
        walltime=pl.when(pl.col("walltime") > 0).then("walltime"),
        # Both ends are whole seconds, so that a job that did not wait at all may seem to have begun too early.
        logged_wait=pl.when(pl.lit(jobs.end >= jobs.spawn)).then(pl.col("logged_wait").clip(0)),
    )
    table, renamed = with_distinct_ids(columns)
    said = [name for name in table.columns if table[name].count()]
    notes = (*jobs.notes, *renamed)
    return Workload.of(table.select(said), name=jobs.name, origin_unix_s=origin_s, time_zone="UTC", notes=notes)


def recognises(start: bytes) -> bool:
    """Whether a file that begins so is a log of jobs: its first line names, between semicolons, what tells one.

    >>> recognises(b"exercise_id;spawn_ts;limits;duration\\n"), recognises(b"spawn_ts,duration\\n")
    (True, False)
    """
    names = {name.strip(b'" \t') for name in first_record(start).split(b";")}
    return names.issuperset(_TELLING)


def _log_of(kind: type[_Log], table: Table) -> _Log:
    """The columns of a file under our names: `user_id` is `user`, `spawn_ts` is `spawn`."""
    columns = {name.removesuffix("_id").removesuffix("_ts"): values for name, values in table.columns.items()}
    texts = {name.removesuffix("_id"): values for name, values in table.texts.items()}
    groups = texts.pop("worker_group").to_list()
    worker_group = [groups[number - 1] for number in columns.pop("worker_group").tolist()]
    name = Path(table.path).resolve().name
    return kind(
        name=name, worker_group=worker_group, line=table.lines, texts=texts, notes=table.notes, **columns
    )  # fmt: skip
