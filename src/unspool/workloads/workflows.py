"""Workflows: tasks that wait for others, as jobs that all are submitted at the beginning and depend on one another."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl

from unspool.errors import InputError, shown
from unspool.model.dependencies import listed
from unspool.model.workload import MOST_CORES, MOST_SECONDS, Workload
from unspool.workloads.files import AnyPath

__all__ = ["Task", "check_cores", "check_name", "check_seconds", "parents_of", "workload_of_tasks"]

Fault = Callable[[str], InputError]
"""Makes the error of a complaint about one task, with where it stands."""

_COLUMNS = {
    "job_id": pl.String, "submit_time": pl.Float64, "run_time": pl.Float64, "cores": pl.Int64,
    "used_memory_bytes": pl.Int64, "application": pl.String, "details": pl.String, "priority": pl.Float64,
    "depends_on": pl.String, "line": pl.Int64,
}  # fmt: skip


class Task(NamedTuple):
    """One task: its id, where it stands, how long it runs on how many cores, and the ids of those that it waits for."""

    id: str
    line: int
    run_time: float
    cores: int
    parents: tuple[str, ...]
    application: str | None = None
    details: Mapping[str, Any] | None = None
    priority: float | None = None
    used_memory_bytes: int | None = None


def check_name(name: str, fault: Fault) -> str:
    """An id that can be listed among others between commas."""
    if not name.strip() or name != name.strip() or "," in name:
        raise fault(f"the id '{shown(name)}' is empty, or has a comma or blanks at its ends; give it another")
    return name


def check_seconds(seconds: float, fault: Fault) -> float:
    """A run time that a simulation can have."""
    if not 0.0 <= seconds <= MOST_SECONDS:
        raise fault(f"a run time of {seconds:g} s; expected 0 to {MOST_SECONDS:g}")
    return seconds


def check_cores(cores: float, fault: Fault) -> int:
    """A number of cores, rounded up; what is no more than 0 is one."""
    if not cores <= MOST_CORES:
        raise fault(f"{cores:g} cores; expected {MOST_CORES:g} at most")
    return max(1, math.ceil(cores))


def workload_of_tasks(tasks: Sequence[Task], path: AnyPath, notes: Sequence[str] = ()) -> Workload:
    """The tasks as jobs, in the order of the file; a circle of tasks that wait for one another is refused."""
    _refuse_circles(tasks, path)
    table = pl.DataFrame(
        [
            (
                task.id, 0.0, task.run_time, task.cores, task.used_memory_bytes, task.application,
                msgspec.json.encode(task.details).decode() if task.details else None, task.priority,
                ",".join(task.parents) or None, task.line,
            )
            for task in tasks
        ],
        schema=_COLUMNS,
        orient="row",
    )  # fmt: skip
    empty = [name for name in table.columns if len(table) and table[name].null_count() == len(table)]
    return Workload.of(table.drop(empty), name=Path(path).name, notes=tuple(notes))


def parents_of(workload: Workload) -> dict[str, tuple[str, ...]]:
    """For each job, in their order, the ids of those that it waits for.

    >>> jobs = {"job_id": ["a", "b"], "submit_time": [0, 0], "run_time": [1, 1], "cores": [1, 1]}
    >>> parents_of(Workload.of(pl.DataFrame({**jobs, "depends_on": [None, "a"]})))
    {'a': (), 'b': ('a',)}
    """
    jobs = workload.table["job_id"]
    waits = listed(workload.column("depends_on").fill_null(""), jobs)
    return {job: tuple(parents) for job, parents in zip(jobs.to_list(), waits.to_list(), strict=True)}


def _refuse_circles(tasks: Sequence[Task], path: AnyPath) -> None:
    lines = {task.id: task.line for task in tasks}
    try:
        TopologicalSorter({task.id: task.parents for task in tasks}).prepare()
    except CycleError as error:
        circle = error.args[1][:0:-1]  # each of these waits for the next, and the last for the first
        first = circle.index(min(circle, key=lines.__getitem__))
        circle = [*circle[first:], *circle[: first + 1]]
        names = " waits for ".join(shown(name, 30) for name in circle[:6])
        more = " and so on" if len(circle) > 6 else ""
        raise InputError(
            f"{path}, line {lines[circle[0]]}: task {names}{more}, in a circle; take one of these away"
        ) from error
