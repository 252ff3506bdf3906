"""Runs over any executor of `concurrent.futures`: in batches, so many at once, each result written as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass, field
from itertools import islice
from time import monotonic
from typing import Any

from unspool.errors import RunError, shown
from unspool.sweeps.inputs import Task
from unspool.sweeps.settings import column_of
from unspool.sweeps.store import Store
from unspool.sweeps.work import ELAPSED, ERROR, HOST, KEY, be_ready, run_batch

__all__ = ["Count", "Runner", "WorkersLostError"]

_BATCH_S = 0.5
"""What a batch should take: its overhead is then small, and little is lost with a worker."""

_LARGEST = 1000
_AHEAD = 2  # batches for each worker, so that none waits for the next
_PATIENCE_S = 60.0  # for what is under way after Ctrl-C

Rows = list[dict[str, Any]]


class WorkersLostError(Exception):
    """The executor is broken: a process of it was killed. `suspects` are the batches that were under way."""

    def __init__(self, suspects: Sequence[list[Task]]) -> None:
        self.suspects = list(suspects)
        super().__init__(f"{len(self.suspects)} batches were under way")


@dataclass
class Count:
    """How far a sweep is."""

    total: int
    done: int = 0
    failed: int = 0
    found: int = 0  # that were there before
    began: float = field(default_factory=monotonic)

    @property
    def rate(self) -> float:
        """Runs a second since it began."""
        return self.done / max(monotonic() - self.began, 1e-9)


@dataclass
class Runner:
    """Gives tasks to an executor and rows to a store."""

    store: Store
    versions: Mapping[str, str]
    count: Count
    told: Callable[[Count, Rows], None] = lambda count, rows: None
    batch_s: float = _BATCH_S
    _mean_s: float | None = None

    @property
    def has_begun(self) -> bool:
        """Whether any worker has made a run."""
        return self._mean_s is not None

    def run(
        self, tasks: Iterator[Task], executor: Executor, workers: Callable[[], int], first: Sequence[list[Task]] = ()
    ) -> None:
        """Run every task, `first` some batches. Ctrl-C waits for what is under way, writes it, and is raised again."""
        under_way: dict[Future[Rows], list[Task]] = {}
        again = list(first)
        try:
            while True:
                # The first run alone: it compiles the loop, which the others then take from the disk.
                while len(under_way) < (1 if self._mean_s is None else _AHEAD * workers()):
                    batch = again.pop() if again else list(islice(tasks, self._size(workers())))
                    if not batch:
                        break
                    under_way[self._submitted(executor, batch, under_way)] = batch
                    if self._mean_s is None:
                        self._begin(executor, workers())
                if not under_way:
                    break
                done, _ = wait(under_way, timeout=1.0, return_when=FIRST_COMPLETED)
                for future in done:
                    again += self._taken(future, under_way)
                    del under_way[future]
                self.told(self.count, [])
        except KeyboardInterrupt:
            self._finish(under_way)
            raise
        except BrokenExecutor as error:
            raise WorkersLostError(self._rescued(under_way)) from error
        finally:
            self.store.flush()

    def _begin(self, executor: Executor, workers: int) -> None:
        """Let the other workers start while the first run is made."""
        left = self.count.total - self.count.done - self.count.found
        for _ in range(min(workers, left) - 1):
            executor.submit(be_ready)

    def _submitted(
        self, executor: Executor, batch: list[Task], under_way: dict[Future[Rows], list[Task]]
    ) -> Future[Rows]:
        try:
            return executor.submit(run_batch, batch, self.versions)
        except BrokenExecutor:
            under_way[Future()] = batch  # it was taken, and is given back with the others
            raise

    def fail(self, task: Task, why: str) -> None:
        """Make a row of a task that could not be run."""
        row = {column_of(key): value for key, value in task.settings.items()}
        row = {name: str(value) if isinstance(value, list | dict) else value for name, value in row.items()}
        if isinstance(row.get("platform"), int):
            row["platform"] = str(row["platform"])
        row |= {KEY: task.key, "workload_digest": task.digest, HOST: "", ERROR: shown(why, 500), ELAPSED: 0.0}
        self._add([row])

    def _size(self, workers: int) -> int:
        """One run at first; then as many as fill the time of a batch, and fewer towards the end."""
        if self._mean_s is None:
            return 1
        left = self.count.total - self.count.done - self.count.found
        fair = max(1, left // (2 * _AHEAD * workers))
        return max(1, min(int(self.batch_s / max(self._mean_s, 1e-6)), fair, _LARGEST))

    def _taken(self, future: Future[Rows], under_way: Mapping[Future[Rows], list[Task]]) -> list[list[Task]]:
        """Rows to the store; a batch that failed as a whole is given back run by run, to tell which one it was."""
        batch = under_way[future]
        try:
            rows = future.result()
        except BrokenExecutor:
            raise
        except (CancelledError, asyncio.CancelledError) as error:
            raise RunError("the cluster was lost; what was done is written: say --resume to go on") from error
        except Exception as error:
            if len(batch) > 1:
                return [[task] for task in batch]
            self.fail(batch[0], f"{type(error).__name__}: {error}")
            return []
        self._add(rows)
        mean_s = sum(row[ELAPSED] for row in rows) / len(rows)
        self._mean_s = mean_s if self._mean_s is None or self.count.done < 20 else 0.8 * self._mean_s + 0.2 * mean_s
        return []

    def _add(self, rows: Rows) -> None:
        self.store.add(rows)
        self.count.done += len(rows)
        self.count.failed += sum(row[ERROR] is not None for row in rows)
        self.told(self.count, rows)

    def _finish(self, under_way: Mapping[Future[Rows], list[Task]]) -> None:
        """After Ctrl-C: what has not begun is left, what has is waited for."""
        kept = {future: batch for future, batch in under_way.items() if not future.cancel()}
        done, _ = wait(kept, timeout=_PATIENCE_S)
        for future in done:
            if not future.cancelled() and future.exception() is None:
                self._add(future.result())

    def _rescued(self, under_way: Mapping[Future[Rows], list[Task]]) -> list[list[Task]]:
        """After a broken executor: what was done all the same is kept, and the rest is given back."""
        lost = []
        for future, batch in under_way.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                self._add(future.result())
            else:
                lost.append(batch)
        return lost
