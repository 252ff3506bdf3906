"""From columns of jobs and reference runs to a run over workers, piece by piece, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.state import Array
from unspool.engine.workers import DESK, ENTRY, REFERENCE, TASK, TURN, WORKER, Desk, learn
from unspool.errors import RunError
from unspool.policies.dispatchers.queues import NOBODY, SIMPLE
from unspool.simulation.dispatching import EXACT, FORK, ORIGINAL, end_desk, run_desk
from unspool.simulation.latebinding import end_late, run_late
from unspool.simulation.places import Places

__all__ = [
    "DESK", "MODES", "TURN", "WORKER", "Columns", "Desk", "Stretch", "WorkersRun", "grown", "tables_of",
]  # fmt: skip

MODES = {"none": EXACT, "original": ORIGINAL, "fork": FORK}
"""How it is decided what is seen when, by the name that an experiment gives."""


@dataclass(frozen=True)
class Columns:
    """Jobs or reference runs, each a column; exercises and runtimes are whole numbers from 1, `limits` of jobs only."""

    spawn: Array
    duration: Array
    compiled: Array
    exercise: Array
    runtime: Array
    limits: Array | None = None

    def __len__(self) -> int:
        return len(self.spawn)

    def __getitem__(self, rows: slice) -> Columns:
        return Columns(
            self.spawn[rows], self.duration[rows], self.compiled[rows], self.exercise[rows], self.runtime[rows],
            None if self.limits is None else self.limits[rows],
        )  # fmt: skip


@dataclass(frozen=True)
class Stretch:
    """What happened while some jobs arrived, or after the last: jobs that were seen to finish, in that order (`TASK`).

    `turns` (`TURN`) are switches of workers, `ticks` how many there were since the beginning, `known` the number of
    rows in the table of sums by now.
    """

    finished: Array
    turns: Array
    ticks: int
    known: int


class WorkersRun:
    """A run of jobs, sorted by arrival, on workers that are given as (active, limit of estimated durations).

    Jobs come in pieces; between two of them only those are kept that have not been seen to finish. However a log is
    cut, all comes out the same. With `late_binding` (`simulation/latebinding.py`) workers take jobs when they are free,
    and a job that is shorter goes before one that has waited for 1 / `ageing` times the difference.
    """

    def __init__(
        self,
        references: Columns | None,
        workers: Sequence[tuple[bool, float]],
        *,
        dispatcher: int,
        predictor: int = 0,
        strategy: int = NOBODY,
        mode: int = EXACT,
        period: float = 60.0,
        factor: float = 0.5,
        has_ticks: bool = True,
        learns_failed: bool = True,
        late_binding: int | None = None,
        ageing: float = 0.0,
    ) -> None:
        desk = np.zeros(1, DESK)
        desk["period"], desk["factor"] = period, factor
        desk["dispatcher"], desk["predictor"], desk["strategy"], desk["mode"] = dispatcher, predictor, strategy, mode
        desk["has_ticks"], desk["learns_failed"] = has_ticks, learns_failed
        self.period, self.began, self.arrived = period, 0.0, 0
        self.workers = np.zeros(len(workers), WORKER)  # as they are at first
        self.workers["active"] = [active for active, _ in workers]
        self.workers["limit"] = [limit for _, limit in workers]
        self._late_binding, self._ageing = late_binding, ageing
        self._places = Places()
        refs = _references(references, self._places)
        self.known_before = _known_from(refs, self._places.count)  # what reference runs alone say of durations
        ordered = refs if mode != EXACT else refs[np.argsort(refs["finish"], kind="stable")]
        self._state = Desk(
            desk, np.zeros(0, TASK), self.workers.copy(), ordered, np.zeros((self._places.count, 2)),
            np.zeros(0, np.int64), np.zeros(0, TURN),
        )  # fmt: skip
        self._waiting = np.zeros(0, ENTRY)

    def give(self, jobs: Columns) -> Stretch:
        """Let more jobs arrive."""
        if not self.arrived and len(jobs):
            self.began = float(jobs.spawn[0])
        self._make_room(len(jobs))
        state, first = self._state, int(self._state.desk[0]["arrived"])
        until = first + len(jobs)
        _fill(state.jobs[first:until], jobs, self._places, self.arrived)
        self._state = state = state._replace(known=grown(state.known, self._places.count))
        self.arrived += len(jobs)
        if self._late_binding is not None:
            run_late(state, self._waiting, self._late_binding, self._ageing, until)
        elif len(jobs):
            self._make_room_for_turns(float(jobs.spawn[-1]), len(jobs))
            self._check(run_desk(self._state, until))
        return self._stretch()

    def end(self) -> Stretch:
        """All jobs have arrived: run to the end."""
        if self._late_binding is not None:
            self._check(end_late(self._state, self._waiting))
        elif self.arrived:
            busy = self._state.workers[self._state.workers["count"] > 0]
            finish = float(self._state.jobs["finish"][busy["last"]].max(initial=self._state.desk["now"][0]))
            self._make_room_for_turns(finish + 2 * self.period, 0)
            end_desk(self._state)
        return self._stretch()

    def _check(self, went_well: bool) -> None:
        if not went_well:
            number = int(self._state.desk[0]["failed"])
            raise RunError(f"job {number} found no active worker; switch one on, or let a strategy do so")

    def _stretch(self) -> Stretch:
        """What has happened since the last one."""
        desk, jobs, *_, all_seen, turns = self._state
        seen = all_seen[: int(desk["seen"][0])]
        finished = jobs.take(seen)  # fifty times as fast as jobs[seen], which goes field by field
        jobs["number"][seen] = -1
        found = Stretch(finished, turns[: int(desk["turns"][0])].copy(), int(desk["ticks"][0]), self._places.count)
        desk["seen"] = desk["turns"] = 0
        return found

    def _make_room(self, count: int) -> None:
        """Room for so many jobs: those that have left make it.

        Where many wait there is room for three times as many more, so that moving them is little for each that comes.
        """
        desk, jobs, workers, *_ = self._state
        used = int(desk["arrived"][0])
        if used + count <= len(jobs):
            return
        alive = np.flatnonzero(jobs["number"][:used] >= 0)
        moved = np.zeros(used + 1, np.int64)  # one more for -1, which is nobody
        moved[alive] = np.arange(len(alive))
        workers["first"], workers["last"] = moved[workers["first"]], moved[workers["last"]]
        waiting = self._waiting[: int(desk["queued"][0])]
        waiting["job"] = moved[waiting["job"]]
        into, most = jobs, 4 * len(alive) + count
        if most > len(jobs):
            into = np.empty(most, TASK)
            self._state = self._state._replace(jobs=into, seen=np.empty(most, np.int64))
            if self._late_binding is not None:
                self._waiting = np.empty(most, ENTRY)
                self._waiting[: len(waiting)] = waiting
        kept = jobs.take(alive, out=into[: len(alive)], mode="clip")
        kept["next"] = np.where(kept["next"] < 0, -1, moved[kept["next"]])
        desk["arrived"] = len(alive)

    def _make_room_for_turns(self, until: float, jobs: int) -> None:
        """Room for every switch up to some time: one a tick, one a job, and all workers at the beginning."""
        rule = self._state.desk[0]
        if rule["strategy"] == SIMPLE:
            span = until - max(float(rule["now"]), self.began)
            most = len(self.workers) + jobs + int(span / self.period) + 4
            if most > len(self._state.turns):
                self._state = self._state._replace(turns=np.zeros(most, TURN))


def tables_of(jobs: Columns, references: Columns | None) -> tuple[Array, Array, Array]:
    """Arrays of jobs and references, and the table of sums: of exercises, and of their pairs with runtimes."""
    places = Places()
    refs = _references(references, places)
    tasks = np.empty(len(jobs), TASK)
    _fill(tasks, jobs, places, 0)
    return tasks, refs, np.zeros((places.count, 2))


def grown(known: Array, rows: int) -> Array:
    """A table of sums with room for so many rows; where it has to grow, it is made twice as long."""
    return known if rows <= len(known) else np.concatenate([known, np.zeros((2 * rows - len(known), 2))])


def _references(references: Columns | None, places: Places) -> Array:
    refs = np.zeros(0 if references is None else len(references), REFERENCE)
    if references is not None:
        refs["finish"] = references.spawn + references.duration
        refs["duration"], refs["compiled"] = references.duration, references.compiled
        refs["exercise"], refs["pair"] = _placed(references, places)
    return refs


def _known_from(refs: Array, rows: int) -> Array:
    """The table of sums in which all reference runs that compiled are counted."""
    known = np.zeros((rows, 2))
    _learn_all(refs[refs["compiled"] != 0], known)
    return known


@compiled
def _learn_all(refs: Array, known: Array) -> None:
    for at in range(len(refs)):
        learn(known, refs[at]["exercise"], refs[at]["pair"], refs[at]["duration"])


def _placed(log: Columns, places: Places) -> tuple[Array, Array]:
    """Where in the table of sums the exercise of each row stands, and its pair with the runtime."""
    return places.of(_plain(log.exercise, np.int64), _plain(log.runtime, np.int64))


def _fill(tasks: Array, jobs: Columns, places: Places, first: int) -> None:
    """Write jobs, of which the first has this number."""
    exercise, pair = _placed(jobs, places)
    limits = np.zeros(len(jobs)) if jobs.limits is None else jobs.limits
    _fill_rows(
        tasks, _plain(jobs.spawn), _plain(jobs.duration), _plain(limits), _plain(jobs.compiled, np.int64), exercise,
        pair, first,
    )  # fmt: skip


def _plain(column: Array, dtype: type = np.float64) -> Array:
    return np.require(column, dtype, ["C", "W"])


@compiled
def _fill_rows(
    tasks: Array,
    spawn: Array,
    duration: Array,
    limits: Array,
    went_well: Array,
    exercise: Array,
    pair: Array,
    first: int,
) -> None:
    """Write jobs row by row: column by column each cell would be fetched from far memory again."""
    for at in range(len(tasks)):
        tasks[at]["spawn"] = spawn[at]
        tasks[at]["duration"] = duration[at]
        tasks[at]["limits"] = limits[at]
        tasks[at]["compiled"] = went_well[at]
        tasks[at]["exercise"] = exercise[at]
        tasks[at]["pair"] = pair[at]
        tasks[at]["worker"] = -1
        tasks[at]["start"] = 0.0
        tasks[at]["finish"] = 0.0
        tasks[at]["estimate"] = 0.0
        tasks[at]["next"] = -1
        tasks[at]["number"] = first + at
