"""Late binding: a job is bound to a worker when that one can start it, and not before (spec dispatch A3, B7).

`give_out(simulation)` is called by the exact drive when workers have become free, so these dispatchers need
`compat: none`. They look at `active`; `limit` is for early binding and does not hold here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

from unspool.errors import InputError
from unspool.faces.dispatch.dispatchers import active_workers, estimated
from unspool.faces.dispatch.simdex import Job, Worker

__all__ = ["CentralFifo", "CentralShortest", "WorkStealing"]


class _Central:
    """One queue for all workers."""

    is_late = True

    @property
    def waiting(self) -> int:
        """How many jobs are not bound yet."""
        raise NotImplementedError

    def waiting_for(self, workers: int) -> list[int]:
        """How many jobs wait for each worker: nobody knows, so they are counted where they would be shared evenly."""
        return [self.waiting // workers + (at < self.waiting % workers) for at in range(workers)]

    def dispatch(self, job: Job, workers: Sequence[Worker], simulation: Any) -> None:
        """Keep the job, or start it where a worker is free."""
        self._keep(job, simulation)
        self.give_out(simulation)

    def give_out(self, simulation: Any) -> None:
        """Start jobs on the free workers, the first one first."""
        for worker in simulation.workers:
            if not self.waiting:
                return
            if not worker.jobs and worker.attributes.get("active"):
                worker.enqueue(self._next())

    def _keep(self, job: Job, simulation: Any) -> None:
        raise NotImplementedError

    def _next(self) -> Job:
        raise NotImplementedError


class CentralFifo(_Central):
    """One queue for all workers, first come first served."""

    def __init__(self) -> None:
        self._queue: deque[Job] = deque()

    @property
    def waiting(self) -> int:
        """How many jobs are not bound yet."""
        return len(self._queue)

    def _keep(self, job: Job, simulation: Any) -> None:
        estimated(job, simulation)
        self._queue.append(job)

    def _next(self) -> Job:
        return self._queue.popleft()


class CentralShortest(_Central):
    """One queue for all workers, the shortest predicted duration first.

    A second of waiting counts as `ageing` seconds less of duration. With ageing 0 long jobs may wait for ever; with 1
    or more the order nears that of arrival.
    """

    def __init__(self, ageing: float = 0.001) -> None:
        if ageing < 0:
            raise InputError(f"ageing is {ageing}; expected 0 or more")
        self.ageing = ageing
        self._queue: list[tuple[float, int, Job]] = []

    @property
    def waiting(self) -> int:
        """How many jobs are not bound yet."""
        return len(self._queue)

    def _keep(self, job: Job, simulation: Any) -> None:
        # Estimate - ageing * (now - arrival) sorts like estimate + ageing * arrival, which does not change with time.
        key = estimated(job, simulation) + self.ageing * job.spawn_ts
        heappush(self._queue, (key, job.row, job))

    def _next(self) -> Job:
        return heappop(self._queue)[2]


class WorkStealing:
    """A queue for each worker; the shortest one gets the job, and a free worker takes the last job of the longest one.

    R. D. Blumofe, C. E. Leiserson: "Scheduling multithreaded computations by work stealing", J. ACM 46(5), 1999.
    """

    is_late = True

    def __init__(self) -> None:
        self._queues: list[deque[Job]] = []
        self.waiting = 0

    def init(self, simulation: Any) -> None:
        """A queue for each worker."""
        self._queues = [deque() for _ in simulation.workers]

    def waiting_for(self, workers: int) -> list[int]:
        """How many jobs wait for each worker."""
        return [len(queue) for queue in self._queues]

    def dispatch(self, job: Job, workers: Sequence[Worker], simulation: Any) -> None:
        """Put the job into a queue; where its worker is free, it starts."""
        estimated(job, simulation)
        queues = self._queues
        best = min(active_workers(workers), key=lambda worker: len(worker.jobs) + len(queues[worker.index]))
        queues[best.index].append(job)
        self.waiting += 1
        self.give_out(simulation)

    def give_out(self, simulation: Any) -> None:
        """Free workers take the first job of their own queue, else the last one of the longest queue."""
        for worker in simulation.workers:
            if not self.waiting:
                return
            if not worker.jobs and worker.attributes.get("active"):
                own = self._queues[worker.index]
                job = own.popleft() if own else max(self._queues, key=len).pop()
                self.waiting -= 1
                worker.enqueue(job)
