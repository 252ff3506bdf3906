"""Workflows as Batsim 4 submits them: a task becomes a job when the last of those that it waits for has ended.

When that is follows from the run itself. A run is made with submissions as they would be on endless machines; what
ended when in it says when tasks are submitted; and so on, until a run confirms the submissions that it was made with.
What is right up to some time is right a little longer in the next run, so this comes to an end, and mostly at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from typing import NamedTuple, TypeVar

import polars as pl

from unspool.errors import InputError, RunError
from unspool.model.profile import Delay
from unspool.model.workload import Workload
from unspool.results.result import Result
from unspool.workloads.workflows import parents_of

__all__ = ["Flow", "Rules", "run_workflows", "submissions"]

_GRACE_S = 10.0  # how much longer than its run time a task may take, as Batsim 4 has it

T = TypeVar("T")


@dataclass(frozen=True)
class Flow:
    """A workflow: its name among the workloads, its tasks, and when it begins."""

    name: str
    tasks: Workload
    start_s: float = 0.0


@dataclass(frozen=True)
class Rules:
    """How many tasks may be submitted and not over (0: any), and whether later jobs than workflows are left out."""

    limit: int = 0
    ignore_beyond: bool = False

    def __post_init__(self) -> None:
        if self.limit < 0:
            raise InputError(f"--workflow-jobs-limit {self.limit}: expected a number of tasks, or 0 for any")


class Submission(NamedTuple):
    """A task and when it is submitted."""

    task: str
    time: float


def submissions(
    flow: Flow, ends: Callable[[str, float], tuple[float, int]], limit: int = 0
) -> tuple[list[Submission], float]:
    """The tasks in the order of their submission, and when the workflow is over.

    `ends` says when a task ends that is submitted at a time, and a number that decides between those that end together.
    Tasks that may be submitted at one time are so in the order of their ids, as texts.
    """
    parents = parents_of(flow.tasks)
    left = {task: len(set(waits)) for task, waits in parents.items()}
    children: dict[str, list[str]] = {task: [] for task in parents}
    for task, waits in parents.items():
        for parent in set(waits):
            children[parent].append(task)
    ready = [task for task, count in left.items() if count == 0]
    heapify(ready)
    active: list[tuple[float, int, str]] = []
    found: list[Submission] = []
    now = flow.start_s
    while ready or active:
        while ready and (limit == 0 or len(active) < limit):
            task = heappop(ready)
            found.append(Submission(task, now))
            end, rank = ends(task, now)
            heappush(active, (max(end, now), rank, task))
        now, _, ended = heappop(active)
        for child in children[ended]:
            left[child] -= 1
            if left[child] == 0:
                heappush(ready, child)
    return found, now


def run_workflows(
    workloads: Sequence[Workload],
    flows: Sequence[Flow],
    rules: Rules,
    simulate: Callable[[list[Workload]], tuple[T, Result]],
) -> tuple[T, Result]:
    """Simulate workloads beside workflows, again and again until their tasks are submitted when they should be."""
    run_times = [dict(zip(*flow.tasks.table.select("job_id", "run_time").get_columns(), strict=True)) for flow in flows]
    plan = [
        submissions(flow, lambda task, at, known=known: (at + known[task], 0), rules.limit)  # type: ignore[misc]
        for flow, known in zip(flows, run_times, strict=True)
    ]
    # Each run sets right one submission at least, or one job that is left out.
    for _ in range(2 + sum(map(len, run_times)) + sum(map(len, workloads))):
        over = max((end for _, end in plan), default=0.0)
        kept = [_up_to(workload, over) for workload in workloads] if rules.ignore_beyond else list(workloads)
        jobs = [_jobs(flow, order) for flow, (order, _) in zip(flows, plan, strict=True)]
        found, result = simulate([*kept, *jobs])
        ended = _ended(result)
        seen = [
            submissions(flow, _as_seen(flow.name, order, ended), rules.limit)
            for flow, (order, _) in zip(flows, plan, strict=True)
        ]
        if seen == plan:
            return found, result
        plan = seen
    raise RunError("the submissions of workflows do not settle; report this with the files")


def _up_to(workload: Workload, end: float) -> Workload:
    """The workload without the jobs that are submitted later."""
    table = workload.table.filter(pl.col("submit_time") <= end)
    left = len(workload) - len(table)
    note = f"{left:,} jobs are submitted after the end of the last workflow: left out"
    return replace(workload, table=table, notes=(*workload.notes, note)) if left else workload


def _jobs(flow: Flow, order: Sequence[Submission]) -> Workload:
    """The tasks as jobs that are called by their place in the order of submission, each with a delay of its own."""
    numbers = {submission.task: f"{flow.name}!{at}" for at, submission in enumerate(order)}
    parents = parents_of(flow.tasks)
    tasks = flow.tasks.table.select("job_id", "run_time", "cores").with_columns(flow.tasks.column("application"))
    by_id = {row[0]: row for row in tasks.rows()}
    rows = [
        (
            numbers[task], time, run_time, cores, cores, run_time + _GRACE_S, application,
            f"{flow.name}!{flow.name}_{task}", ",".join(numbers[parent] for parent in parents[task]) or None, at,
        )
        for at, (task, time) in enumerate(order, 1)
        for _, run_time, cores, application in (by_id[task],)
    ]  # fmt: skip
    schema = {
        "job_id": pl.String, "submit_time": pl.Float64, "run_time": pl.Float64, "cores": pl.Int64, "machines": pl.Int64,
        "walltime": pl.Float64, "application": pl.String, "profile": pl.String, "depends_on": pl.String,
        "line": pl.Int64,
    }  # fmt: skip
    profiles = {row[7]: Delay(float(row[2])) for row in rows}
    return Workload.of(pl.DataFrame(rows, schema=schema, orient="row"), name=flow.tasks.name, profiles=profiles)


def _ended(result: Result) -> dict[str, tuple[float, int]]:
    """When each job ended, and its place in the order of starts."""
    attempts = result.attempts.select("job_id", "finish_time", "attempt")
    return {job: (finish, attempt) for job, finish, attempt in attempts.iter_rows()}


def _as_seen(
    name: str, order: Sequence[Submission], ended: Mapping[str, tuple[float, int]]
) -> Callable[[str, float], tuple[float, int]]:
    """When tasks ended in a run; one that is submitted at another time is taken to be as much earlier or later over.

    A task that never ran, because it was turned away, is over when it is submitted.
    """
    before = {task: (f"{name}!{at}", time) for at, (task, time) in enumerate(order)}

    def ends(task: str, at: float) -> tuple[float, int]:
        job, submitted = before[task]
        if job not in ended:
            return at, -1
        finish, rank = ended[job]
        return (finish if at == submitted else at + finish - submitted), rank

    return ends
