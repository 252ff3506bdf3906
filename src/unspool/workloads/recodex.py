"""Logs of the code examiner ReCodEx, as the dispatch simulator Simdex publishes and reads them.

`data.csv` has the jobs of students, `ref-solutions.csv` the runs of teachers' reference solutions: cells between
semicolons, columns found by name, rows sorted by `spawn_ts`. A file that breaks these rules is refused with the line,
since a dispatcher that skips rows answers another question. Every column: docs/reference/recodex.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from unspool.errors import InputError
from unspool.model.workload import Workload
from unspool.workloads.accounting import with_distinct_ids
from unspool.workloads.files import AnyPath
from unspool.workloads.lines import first_record
from unspool.workloads.recodexcells import Kind, Table, numbered, read_pieces, read_table

__all__ = [
    "JOB_COLUMNS", "JOB_IDS", "REF_COLUMNS", "SHARED", "JobFile", "JobLog", "RefLog", "read_jobs", "read_recodex",
    "read_refs", "recognises", "recognises_refs", "shared_ids",
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

JOB_IDS = tuple(name.removesuffix("_id") for name, kind in JOB_COLUMNS.items() if kind is Kind.ID)
"""The columns of ids of a log of jobs, by our names."""

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


class _Numbers:
    """A column of ids as numbers, if it was read."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, log: Any, owner: type) -> Ints:
        return _numbers(log, self._name)


@dataclass(frozen=True)
class RefLog:
    """Reference runs as columns of NumPy, in the order of the file; ids are 1, 2, 3 … by first appearance.

    `texts` has, for each column of `ids`, the texts that its numbers stand for: number n is at place n - 1.
    """

    name: str
    spawn: Floats
    duration: Floats
    correctness: Floats
    compilation_ok: Bools
    line: Ints
    ids: Mapping[str, Ints]
    texts: Mapping[str, pl.Series]
    notes: tuple[str, ...] = ()

    submission, solution, exercise, runtime = _Numbers(), _Numbers(), _Numbers(), _Numbers()

    @property
    def worker_group(self) -> list[str]:
        """The group of workers of each run."""
        return _texts(self, "worker_group")

    def __len__(self) -> int:
        return len(self.spawn)


@dataclass(frozen=True)
class JobLog:
    """Jobs as columns of NumPy, in the order of the file; ids are 1, 2, 3 … by first appearance.

    `spawn` is what `float` makes of the text: no origin is taken from it. `end` is NaN where the file does not say it.
    `texts` has, for each column of `ids`, the texts that its numbers stand for: number n is at place n - 1. `path` and
    `limit` are what was read.
    """

    name: str
    path: AnyPath
    limit: int | None
    spawn: Floats
    end: Floats
    duration: Floats
    limits: Floats
    correctness: Floats
    cpu_time: Bools
    compilation_ok: Bools
    line: Ints
    ids: Mapping[str, Ints]
    texts: Mapping[str, pl.Series]
    notes: tuple[str, ...] = ()

    submission, solution, group, tlgroup = _Numbers(), _Numbers(), _Numbers(), _Numbers()
    exercise, runtime, user = _Numbers(), _Numbers(), _Numbers()

    @property
    def worker_group(self) -> list[str]:
        """The group of workers of each job."""
        return _texts(self, "worker_group")

    def __len__(self) -> int:
        return len(self.spawn)

    def whole(self) -> JobLog:
        """The log with all columns of ids: this one, or if some were left out, what is now read from the file."""
        if self.ids.keys() >= set(JOB_IDS):
            return self
        found = read_jobs(self.path, self.limit)
        if not np.array_equal(found.spawn, self.spawn):
            raise InputError(f"{self.path}: changed while it was in use; run it again on a file that stays as it is")
        return found

    def after(self, refs: RefLog) -> JobLog:
        """The log with the numbers of `shared_ids`."""
        return shared_ids(refs, self)[1]


@dataclass(frozen=True)
class JobFile:
    """Jobs that are still in their file: read piece by piece, so that no more than one piece need be in memory.

    `texts` has the texts of each column of ids that have numbers already; those that are new get the next ones.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     log = Path(folder, "data.csv")
    ...     _ = log.write_text(";".join(JOB_COLUMNS) + "\\nj7;s;g;t;e;r;long;ann;1000;1010;10;0;0.5;1;2.25\\n")
    ...     [(piece.spawn.tolist(), piece.exercise.tolist()) for piece in JobFile(log).pieces(["exercise"])]
    [([1000.0], [1])]
    """

    path: AnyPath
    limit: int | None = None
    texts: Mapping[str, pl.Series] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the file."""
        return Path(self.path).resolve().name

    def pieces(self, ids: Collection[str] = JOB_IDS) -> Iterator[JobLog]:
        """The jobs in their order, checked as by `read_jobs`: logs without texts, whose ids are numbered on."""
        numbered = {f"{name}_id": self.texts[name] for name in ids if name in self.texts}
        tables = read_pieces(self.path, JOB_COLUMNS, "job", self.limit, {f"{name}_id" for name in ids}, numbered)
        return (JobLog(path=self.path, limit=self.limit, **_named(table)) for table in tables)

    def whole(self) -> JobLog:
        """All of the jobs, with all columns of ids."""
        return read_jobs(self.path, self.limit)

    def after(self, refs: RefLog) -> JobFile:
        """The file with the numbers of `shared_ids`."""
        return replace(self, texts={name: refs.texts[name] for name in SHARED if name in refs.texts})


def read_jobs(path: AnyPath, limit: int | None = None, ids: Collection[str] = JOB_IDS) -> JobLog:
    """The jobs of a `data.csv`, packed or not; with `limit` no more than its first rows, which alone are checked.

    To number ids takes more time and memory than all else, so that `ids` can name the few that are needed.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     log = Path(folder, "data.csv")
    ...     _ = log.write_text(";".join(JOB_COLUMNS) + "\\nj7;s;g;t;e;r;long;ann;1000;1010;10;0;0.5;1;2.25\\n")
    ...     jobs = read_jobs(log)
    >>> jobs.spawn, jobs.duration, jobs.submission, jobs.texts["submission"].to_list()
    (array([1000.]), array([2.25]), array([1]), ['j7'])
    """
    table = read_table(path, JOB_COLUMNS, "job", limit, {f"{name}_id" for name in ids})
    return JobLog(path=path, limit=limit, **_named(table))


def read_refs(path: AnyPath) -> RefLog:
    """The reference runs of a `ref-solutions.csv`, packed or not.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     log = Path(folder, "refs.csv")
    ...     _ = log.write_text(";".join(REF_COLUMNS) + "\\nr1;s;e;r;default;900;1;true;45\\n")
    ...     read_refs(log).compilation_ok
    array([False])
    """
    return RefLog(**_named(read_table(path, REF_COLUMNS, "reference run", None)))


def shared_ids(refs: RefLog, jobs: JobLog) -> tuple[RefLog, JobLog]:
    """Both logs with one numbering for the ids of `SHARED`: those of the reference runs first, then the jobs' new ones.

    Submissions and users keep the numbers of their file. Ids that one of the logs does not have stay as they are: of a
    group or course the reference runs say nothing.
    """
    ours, theirs = dict(refs.ids), dict(jobs.ids)
    texts: dict[str, pl.Series] = {}
    for name in SHARED:
        if name in ours and name in theirs:
            numbers, texts[name] = numbered(pl.concat([refs.texts[name], jobs.texts[name]]))
            first, second = np.split(numbers, [len(refs.texts[name])])
            ours[name], theirs[name] = first[ours[name] - 1], second[theirs[name] - 1]
    return (
        replace(refs, ids=ours, texts={**refs.texts, **texts}),
        replace(jobs, ids=theirs, texts={**jobs.texts, **texts}),
    )


def read_recodex(path: AnyPath) -> Workload:
    """The jobs of a `data.csv`, packed or not, each on one core, with `limits` as its walltime.

    The origin is the whole second of the first arrival, so that adding it to `submit_time` gives `spawn_ts` exactly.
    """
    told = {
        "job_id": "submission", "user": "user", "group": "group", "project": "tlgroup", "application": "exercise",
        "queue": "worker_group",
    }  # fmt: skip
    jobs = read_jobs(path, ids=told.values())
    origin_s = float(np.floor(jobs.spawn[0]))
    texts = {ours: jobs.texts[theirs].gather(jobs.ids[theirs] - 1) for ours, theirs in told.items()}
    columns = pl.DataFrame(
        {
            **texts,
            "submit_time": jobs.spawn - origin_s,
            "run_time": jobs.duration,
            "cores": np.ones(len(jobs), np.int64),
            "walltime": jobs.limits,
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
    return _names(start).issuperset(_TELLING)


def recognises_refs(start: bytes) -> bool:
    """Whether a file that begins so has reference runs: the same columns, but for the limits, which these do not have.

    >>> [recognises_refs(b"exercise_id;spawn_ts;duration" + more) for more in (b"\\n", b";limits\\n")]
    [True, False]
    """
    return _names(start).intersection(_TELLING) == set(_TELLING) - {b"limits"}


def _names(start: bytes) -> set[bytes]:
    return {name.strip(b'" \t') for name in first_record(start).split(b";")}


def _named(table: Table) -> dict[str, Any]:
    """The columns of a file under our names: `user_id` is `user`, `spawn_ts` is `spawn`."""
    ids = {name.removesuffix("_id"): of for name, of in table.columns.items() if name.endswith("_id")}
    columns = {name.removesuffix("_ts"): of for name, of in table.columns.items() if not name.endswith("_id")}
    texts = {name.removesuffix("_id"): each for name, each in table.texts.items()}
    name = Path(table.path).resolve().name
    return {"name": name, "line": table.lines, "ids": ids, "texts": texts, "notes": table.notes, **columns}


def _texts(log: JobLog | RefLog, name: str) -> list[str]:
    numbers = _numbers(log, name)
    found: list[str] = log.texts[name].gather(numbers - 1).to_list()
    return found


def _numbers(log: JobLog | RefLog, name: str) -> Ints:
    if name not in log.ids:
        raise AttributeError(f"the column {name}_id of {log.name} was not read; see whole()")
    return log.ids[name]
