"""A sweep from its grid to its dataset: what is there already is not run again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import ExitStack
from itertools import islice
from os import PathLike
from typing import Any

import polars as pl

from unspool.errors import RunError
from unspool.sweeps.grid import Grid
from unspool.sweeps.inputs import Inputs, Task
from unspool.sweeps.places import Place, local_place
from unspool.sweeps.runner import Count, Runner, WorkersLostError
from unspool.sweeps.store import INPUTS, Store
from unspool.sweeps.work import KEY

__all__ = ["run_sweep"]

_ALONE_LOST = "the process that ran it ended without a word: killed, or out of memory"
_MOST_LOSSES = 100
_MOST_AT_FIRST = 6  # losses before any run was made: workers cannot even start

Told = Callable[[Count, list[dict[str, Any]]], None]


def run_sweep(
    grid: Grid,
    folder: str | PathLike[str],
    place: Place | None = None,
    *,
    resume: bool = False,
    retry_failed: bool = False,
    told: Told = lambda count, rows: None,
    vet: Callable[[str], None] = lambda policy: None,
) -> pl.DataFrame:
    """Make every run of a grid that is not in the folder's dataset yet, or search its space if it says so.

    Returns the dataset, one row a run. `told` is called with how far it is, and with the rows that came;
    `vet` is asked about each policy before any run is made, and may refuse it.
    """
    place = place or local_place(1)
    store = Store(folder)
    store.check_free(resume=resume)
    with store.opened():
        inputs = Inputs(store.folder / INPUTS, vet=vet)
        keys = _gathered(grid, inputs)  # before anything is written that says a sweep is here
        store.write_facts(_facts(grid, inputs))
        seen = store.keys(failed=not retry_failed)
        if grid.search is not None:
            from unspool.sweeps.search import search

            with Workers(place, inputs) as workers, Session(store, inputs, workers, seen, told) as session:
                search(grid, session)
        else:
            store.write_plan(keys)
            wanted = len(seen.intersection(keys))
            runner = Runner(store, inputs.versions, Count(len(keys), found=wanted), told)
            tasks = (inputs.task(grid.run_at(at)) for at, key in enumerate(keys) if key not in seen)
            told(runner.count, [])
            if wanted < len(keys):
                with Workers(place, inputs) as workers:
                    workers.run_all(runner, tasks)
        store.compact()
    return store.frame()


def _gathered(grid: Grid, inputs: Inputs) -> list[str]:
    """Bring all files of a grid together: the keys of its runs, of a search none; the same run twice is refused."""
    if grid.search is not None:
        from unspool.sweeps.search import gather

        gather(grid, inputs)
        return []
    keys = [inputs.task(flat).key for flat in grid.settings()]
    if len(set(keys)) < len(keys):
        raise RunError("two runs of the grid have the same settings; leave the double out")
    return keys


def _facts(grid: Grid, inputs: Inputs) -> dict[str, Any]:
    return {
        "design": list(grid.design),
        "blocks": list(grid.blocks),
        "drawn": [each.key for each in grid.drawn],
        "objectives": [
            {"figure": each.figure, "is_maximised": each.is_maximised}
            for each in (grid.search.objectives if grid.search else ())
        ],
        "versions": dict(inputs.versions),
        "grid": grid.text,
    }


class Workers:
    """The executor of a place: opened when it is needed, kept, and opened anew when it is dropped."""

    def __init__(self, place: Place, inputs: Inputs) -> None:
        self.place, self._inputs = place, inputs
        self._stack = ExitStack()
        self._executor: tuple[Executor, Callable[[], int]] | None = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()

    def drop(self) -> None:
        """Close the executor, if it is open."""
        self._executor = None
        self._stack.close()

    def run_all(self, runner: Runner, tasks: Iterator[Task]) -> None:
        """Every task; after a killed worker, what was under way alone, in smaller and smaller parts."""
        suspects: list[list[Task]] = []
        losses = 0
        while True:
            self._executor = self._executor or self._stack.enter_context(self.place.opened(self._inputs))
            try:
                if suspects:
                    executor, workers = self._executor
                    runner.run(iter(()), executor, workers, suspects[-1:])
                    suspects.pop()
                elif self._is_done(runner, tasks):
                    return
            except WorkersLostError as error:
                self.drop()
                losses += 1
                if losses > _MOST_AT_FIRST and not runner.has_begun:
                    raise RunError(
                        "workers end before they have made a run; what they say stands above, or they need more "
                        "memory than there is. A script that calls run_sweep does so under if __name__ == '__main__'"
                    ) from error
                if losses > _MOST_LOSSES:
                    raise RunError(f"workers were killed {losses} times; see why, then say --resume") from error
                suspects = self._narrowed(runner, suspects, error.suspects)

    def _is_done(self, runner: Runner, tasks: Iterator[Task]) -> bool:
        """Run tasks until there are none, or until it is time for other workers."""
        assert self._executor is not None
        part = _Counted(islice(tasks, self.place.recycled_after))
        runner.run(iter(part), *self._executor)
        if part.count == self.place.recycled_after:
            self.drop()
            return False
        return True

    @staticmethod
    def _narrowed(runner: Runner, before: list[list[Task]], lost: list[list[Task]]) -> list[list[Task]]:
        """The batches to try alone next; one that was alone is halved, and a run that was alone has failed."""
        if not before:
            return lost
        alone = before[-1]
        if len(alone) == 1:
            runner.fail(alone[0], _ALONE_LOST)
            runner.store.flush()
            return before[:-1]
        half = len(alone) // 2
        return [*before[:-1], alone[half:], alone[:half]]


class _Counted:
    """An iterator that knows how much was taken of it."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._tasks, self.count = tasks, 0

    def __iter__(self) -> Iterator[Task]:
        for task in self._tasks:
            self.count += 1
            yield task


class Session:
    """Runs on demand, for a search: some settings at a time, each made once."""

    def __init__(self, store: Store, inputs: Inputs, workers: Workers, seen: set[str], told: Told) -> None:
        self.store, self.inputs, self.workers, self.seen = store, inputs, workers, seen
        self.runner = Runner(store, inputs.versions, Count(0), told)
        self.order: dict[str, None] = {}
        self._rows: dict[str, dict[str, Any]] = {}

    def __enter__(self) -> Session:
        if self.seen:
            self._rows = {row[KEY]: row for row in self.store.frame().iter_rows(named=True)}
        told = self.runner.told

        def keep(count: Count, rows: list[dict[str, Any]]) -> None:
            self._rows.update((row[KEY], row) for row in rows)
            told(count, rows)

        self.runner.told = keep
        return self

    def __exit__(self, *_: object) -> None:
        self.store.flush()
        self.store.write_plan(list(self.order))

    def rows(self, settings: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The rows of these settings, in their order."""
        tasks = [self.inputs.task(flat) for flat in settings]
        missing = {task.key: task for task in tasks if task.key not in self.seen and task.key not in self.order}
        self.runner.count.found += len({task.key for task in tasks} & (self.seen - self.order.keys()))
        self.order.update(dict.fromkeys(task.key for task in tasks))
        if missing:
            self.workers.run_all(self.runner, iter(list(missing.values())))
        return [self._rows[task.key] for task in tasks]
