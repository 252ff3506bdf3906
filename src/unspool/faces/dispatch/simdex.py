"""What a component written for Simdex sees: jobs, reference runs, workers (spec dispatch B1 to B3).

Names and their spelling are Simdex's, so that users' components run as they are.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from functools import cached_property
from typing import TYPE_CHECKING, Any

from unspool.errors import RunError

if TYPE_CHECKING:
    from unspool.workloads.recodex import JobLog, RefLog

__all__ = [
    "HashConverter",
    "Job",
    "JobQueue",
    "RefJob",
    "TimedWorker",
    "Worker",
    "hash_converters",
    "jobs_of",
    "refs_of",
]

_CHUNK = 4096  # jobs that are made ahead; those that ended are forgotten, so that memory does not grow with the log


class Job:
    """A job of a student. Times in seconds; `start_ts` and `finish_ts` are 0.0 until a worker has it."""

    __slots__ = (
        "__dict__", "compilation_ok", "correctness", "cpu_time", "duration", "estimated_duration", "exercise_id",
        "finish_ts", "group_id", "limits", "row", "runtime_id", "solution_id", "spawn_ts", "start_ts", "submission_id",
        "tlgroup_id", "user_id", "worker_group_id", "worker_index",
    )  # fmt: skip

    def __init__(
        self, row: int, submission_id: int, solution_id: int, group_id: int, tlgroup_id: int, exercise_id: int,
        runtime_id: int, worker_group_id: str, user_id: int, spawn_ts: float, limits: float, cpu_time: bool,
        correctness: float, compilation_ok: bool, duration: float,
    ) -> None:  # fmt: skip
        self.row = row
        self.submission_id = submission_id
        self.solution_id = solution_id
        self.group_id = group_id
        self.tlgroup_id = tlgroup_id
        self.exercise_id = exercise_id
        self.runtime_id = runtime_id
        self.worker_group_id = worker_group_id
        self.user_id = user_id
        self.spawn_ts = spawn_ts
        self.limits = limits
        self.cpu_time = cpu_time
        self.correctness = correctness
        self.compilation_ok = compilation_ok
        self.duration = duration
        self.start_ts = 0.0
        self.finish_ts = 0.0
        self.estimated_duration = 0.0
        self.worker_index = -1  # told when it has ended

    def __hash__(self) -> int:
        # By number and not by address, so that sets of jobs have the same order in every run.
        return self.submission_id

    def __eq__(self, other: object) -> bool:
        return self is other

    def __copy__(self) -> Job:
        return self._double(dict(self.__dict__))

    def __deepcopy__(self, memo: dict[int, Any]) -> Job:
        return self._double(deepcopy(self.__dict__, memo))

    def _double(self, own: dict[str, Any]) -> Job:
        double = _JobCopy.__new__(_JobCopy)
        for name in Job.__slots__:
            if name != "__dict__":
                setattr(double, name, getattr(self, name))
        double.__dict__.update(own)
        return double

    def __repr__(self) -> str:
        return f"Job(row={self.row}, spawn_ts={self.spawn_ts}, duration={self.duration})"


class _JobCopy(Job):
    """A job to try things out with, on a copy of a worker."""

    __slots__ = ()


class RefJob:
    """A run of a teacher's reference solution."""

    __slots__ = (
        "__dict__", "compilation_ok", "correctness", "duration", "exercise_id", "runtime_id", "solution_id", "spawn_ts",
        "submission_id", "worker_group_id",
    )  # fmt: skip

    def __init__(
        self, submission_id: int, solution_id: int, exercise_id: int, runtime_id: int, worker_group_id: str,
        spawn_ts: float, correctness: float, compilation_ok: bool, duration: float,
    ) -> None:  # fmt: skip
        self.submission_id = submission_id
        self.solution_id = solution_id
        self.exercise_id = exercise_id
        self.runtime_id = runtime_id
        self.worker_group_id = worker_group_id
        self.spawn_ts = spawn_ts
        self.correctness = correctness
        self.compilation_ok = compilation_ok
        self.duration = duration

    def __hash__(self) -> int:
        return self.submission_id

    def __eq__(self, other: object) -> bool:
        return self is other


def jobs_of(log: JobLog) -> Iterator[Job]:
    """The jobs of a log one after the other, made when they are asked for."""
    columns = (
        log.submission, log.solution, log.group, log.tlgroup, log.exercise, log.runtime, log.worker_group, log.user,
        log.spawn, log.limits, log.cpu_time, log.correctness, log.compilation_ok, log.duration,
    )  # fmt: skip
    for begin in range(0, len(log), _CHUNK):
        parts = [column[begin : begin + _CHUNK] for column in columns]
        lists = [part if isinstance(part, list) else part.tolist() for part in parts]
        yield from map(Job, range(begin, begin + len(lists[0])), *lists)


def refs_of(log: RefLog) -> list[RefJob]:
    """The reference runs of a log, in the order of the file."""
    columns = (
        log.submission, log.solution, log.exercise, log.runtime, log.worker_group, log.spawn, log.correctness,
        log.compilation_ok, log.duration,
    )  # fmt: skip
    return list(map(RefJob, *(column if isinstance(column, list) else column.tolist() for column in columns)))


class HashConverter:
    """The number of a text in a column of ids; a text that is new gets the next one.

    >>> HashConverter(["ab12", "cd34"])("cd34")
    2
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = texts

    @cached_property
    def _numbers(self) -> dict[str, int]:
        # Made when it is first asked: most experiments never do, and a log can have a million texts.
        return {text: number for number, text in enumerate(self._texts, 1)}

    def __call__(self, text: str) -> int:
        """The number of a text."""
        return self._numbers.setdefault(text, len(self._numbers) + 1)

    convert = __call__

    def __len__(self) -> int:
        return len(self._numbers)


def hash_converters(log: JobLog) -> dict[str, HashConverter]:
    """For each column of ids, the numbers of its texts: what `@@hash_converters` stands for.

    Groups of workers are texts in Simdex and have none.
    """
    return {f"{name}_id": HashConverter(texts) for name, texts in log.texts.items() if name != "worker_group"}


class JobQueue(deque[Job]):
    """The jobs of a worker, the running one first. Users' components take it for the list that it is in Simdex."""

    __slots__ = ()

    def __getitem__(self, at: Any) -> Any:
        """A job by its place, or a list of some."""
        return list(self)[at] if isinstance(at, slice) else super().__getitem__(at)


first_of = deque.__getitem__  # the same without the cost of a method of Python, for `first_of(queue, 0)`


class _NoRun:
    """Where the workers of jobs would be noted if there were a run: every job looks as if it had one already."""

    def __getitem__(self, row: int) -> int:
        return 0

    def __setitem__(self, row: int, index: int) -> None:
        pass


_NO_RUN = _NoRun()


class Worker:
    """A worker with its FIFO queue, in which the running job is the first (spec B2.1).

    When a job is enqueued its start and finish are settled: at once, or after the last job in the queue. `due` is when
    the first job ends, infinite if there is none. `placed` is where the run notes the worker of each job, by its row.
    A copy of a worker belongs to no run and takes copies of jobs, to try out what would be.
    """

    __slots__ = ("__dict__", "_last", "attributes", "due", "index", "jobs", "placed")

    def __init__(self, index: int, attributes: Mapping[str, Any]) -> None:
        self.index = index
        self.attributes = dict(attributes)
        self.jobs = JobQueue()
        self.due = math.inf
        self._last = 0.0
        self.placed: Any = _NO_RUN

    def enqueue(self, job: Job) -> None:
        """Put a job at the end of the queue."""
        placed, row = self.placed, job.row
        if placed[row] >= 0:
            self._refuse(job)
        placed[row] = self.index
        jobs = self.jobs
        if jobs:
            job.start_ts = self._last
            self._last = job.finish_ts = self._last + job.duration
        else:
            job.start_ts = job.spawn_ts
            self.due = self._last = job.finish_ts = job.spawn_ts + job.duration
        jobs.append(job)

    def _refuse(self, job: Job) -> None:
        """Complain of a job that has a worker, or of a worker of no run, but for what is tried out with copies."""
        if self.placed is not _NO_RUN:
            raise RunError(
                f"job {job.row + 1} is already enqueued at worker {self.placed[job.row]}; enqueue each job once"
            )
        if not isinstance(job, _JobCopy):
            raise RunError(
                f"job {job.row + 1} is enqueued at a worker that is not in the list of workers; choose one of that list"
            )

    def next_job(self) -> Job:
        """Remove the first job and return it."""
        jobs = self.jobs
        try:
            job = jobs.popleft()
        except IndexError:
            raise RunError(f"worker {self.index}: a component took a job out of jobs; only read that list") from None
        self.due = first_of(jobs, 0).finish_ts if jobs else math.inf
        return job

    def jobs_count(self) -> int:
        """How many jobs there are, with the one that runs."""
        return len(self.jobs)

    def get_finish_ts(self) -> float | None:
        """When the last job will have ended; None if there is none."""
        return self._last if self.jobs else None

    def get_attribute(self, name: str) -> Any:
        """An attribute, None if there is no such."""
        return self.attributes.get(name)

    def set_attribute(self, name: str, value: Any) -> None:
        """Give an attribute a value."""
        self.attributes[name] = value

    def begin(self) -> None:
        """The clock is at the first arrival."""

    def advance_time(self, ts: float) -> list[Job]:
        """Remove the jobs that ended by then and return them, first come first."""
        ended = []
        while self.due <= ts:
            ended.append(self.next_job())
        return ended

    def __copy__(self) -> Worker:
        return self._double(JobQueue(self.jobs), dict(self.attributes), dict(self.__dict__))

    def __deepcopy__(self, memo: dict[int, Any]) -> Worker:
        return self._double(*deepcopy((self.jobs, self.attributes, self.__dict__), memo))

    def _double(self, jobs: JobQueue, attributes: dict[str, Any], own: dict[str, Any]) -> Worker:
        double = self._blank()
        double.jobs, double.attributes, double.due, double._last = jobs, attributes, self.due, self._last
        double.__dict__.update(own)
        return double

    def _blank(self) -> Worker:
        return Worker(self.index, {})

    def __repr__(self) -> str:
        return f"Worker({self.index}, {len(self.jobs)} jobs, {self.attributes})"


class TimedWorker(Worker):
    """A worker of the exact drive: nothing starts before the clock or before the worker has booted.

    `began` tells the drive of a worker that was empty and is not any more.
    """

    __slots__ = ("began", "boots", "clock", "periods", "ready_ts")

    def __init__(self, index: int, attributes: Mapping[str, Any], clock: Any, began: Any) -> None:
        super().__init__(index, attributes)
        self.clock = clock
        self.began = began
        self.ready_ts = 0.0
        self.periods: list[list[float]] = []  # from when to when it was on; the last one may be open
        self.boots: list[tuple[float, float]] = []

    def set_attribute(self, name: str, value: Any) -> None:
        """Give an attribute a value; of `active` it is noted when. A worker left off still runs the jobs it has."""
        if name == "active" and bool(value) != bool(self.attributes.get("active")):
            now = self.clock.ts
            if not value:
                self.periods[-1][1] = max(now, self.get_finish_ts() or now)
            elif self.periods and self.periods[-1][1] >= now:
                self.periods[-1][1] = math.inf
            else:
                self.periods.append([now, math.inf])
        self.attributes[name] = value

    def begin(self) -> None:
        """The clock is at the first arrival: from here on the worker is on or off."""
        self.periods = [[self.clock.ts, math.inf]] if self.attributes.get("active") else []

    def _blank(self) -> Worker:
        double = TimedWorker(self.index, {}, self.clock, _unheard)
        double.ready_ts = self.ready_ts
        double.periods, double.boots = [list(each) for each in self.periods], list(self.boots)
        return double

    def enqueue(self, job: Job) -> None:
        """Put a job at the end of the queue."""
        placed, row = self.placed, job.row
        if placed[row] >= 0:
            self._refuse(job)
        placed[row] = self.index
        jobs = self.jobs
        if jobs:
            job.start_ts = self._last
            self._last = job.finish_ts = self._last + job.duration
            jobs.append(job)
            return
        start = self.clock.ts
        if start < self.ready_ts:
            start = self.ready_ts
        job.start_ts = start
        self.due = self._last = job.finish_ts = start + job.duration
        jobs.append(job)
        self.began(job.finish_ts, self.index)


def _unheard(finish_ts: float, index: int) -> None:
    """No drive listens to the copy of a worker."""
