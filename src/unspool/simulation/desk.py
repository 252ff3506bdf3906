"""From columns of jobs and reference runs to a run over workers, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from unspool.engine.compiled import compiled
from unspool.engine.state import Array
from unspool.engine.workers import DESK, ENTRY, REFERENCE, TASK, TURN, WORKER, Desk
from unspool.errors import RunError
from unspool.policies.dispatchers.queues import NOBODY, SIMPLE
from unspool.simulation.dispatching import EXACT, FORK, ORIGINAL, run_desk
from unspool.simulation.latebinding import run_late

__all__ = ["MODES", "Columns", "DeskRun", "run_workers", "tables_of"]

MODES = {"none": EXACT, "original": ORIGINAL, "fork": FORK}
"""How it is decided what is seen when, by the name that an experiment gives."""

_AT_ONCE = 1 << 16
_MOST_PAIRS = 1 << 22


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


@dataclass(frozen=True)
class DeskRun:
    """What happened: `jobs` (`TASK`) in the order of arrival, `seen` in which order they were seen to finish.

    `turns` (`TURN`) are switches of workers; `known_before` is what reference runs alone say of durations.
    """

    jobs: Array
    seen: Array
    turns: Array
    workers: Array
    ticks: int
    period: float
    known_before: Array


def run_workers(
    jobs: Columns,
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
    progress: Callable[[int, int], None] | None = None,
) -> DeskRun:
    """Run jobs, sorted by arrival, on workers that are given as (active, limit of estimated durations).

    With `late_binding` (`simulation/latebinding.py`) workers take jobs when they are free, and a job that is shorter
    goes before one that has waited for 1 / `ageing` times the difference.
    """
    tasks, refs, known = tables_of(jobs, references)
    desk = np.zeros(1, DESK)
    desk["period"], desk["factor"] = period, factor
    desk["dispatcher"], desk["predictor"], desk["strategy"], desk["mode"] = dispatcher, predictor, strategy, mode
    desk["has_ticks"], desk["learns_failed"] = has_ticks, learns_failed
    staff = np.zeros(len(workers), WORKER)
    staff["active"] = [active for active, _ in workers]
    staff["limit"] = [limit for _, limit in workers]
    ordered = refs if mode != EXACT else refs[np.argsort(refs["finish"], kind="stable")]
    state = Desk(desk, tasks, staff.copy(), ordered, known.copy(), np.zeros(len(tasks), np.int64), np.zeros(0, TURN))
    waiting = np.zeros(0 if late_binding is None else len(tasks), ENTRY)
    done = 0
    while done < len(tasks):
        done = min(done + _AT_ONCE, len(tasks))
        state = _with_room(state, done, strategy)
        went_well = (
            run_desk(state, done) if late_binding is None else run_late(state, waiting, late_binding, ageing, done)
        )
        if not went_well:
            raise RunError(
                f"job {int(desk[0]['failed'])} found no active worker; switch one on, or let a strategy do so"
            )
        if progress is not None:
            progress(done, len(tasks))
    for reference in refs[refs["compiled"] != 0]:
        known[reference["exercise"]] += (reference["duration"], 1.0)
        known[reference["pair"]] += (reference["duration"], 1.0)
    turns = state.turns[: int(desk[0]["turns"])]
    return DeskRun(tasks, state.seen, turns, staff, int(desk[0]["ticks"]), period, known)


def _with_room(state: Desk, done: int, strategy: int) -> Desk:
    """Room for every switch up to some job: one a tick, one a job, and all workers at the beginning."""
    if strategy != SIMPLE:
        return state
    rule = state.desk[0]
    arrived = int(rule["arrived"])
    span = float(state.jobs["spawn"][done - 1] - state.jobs["spawn"][max(arrived - 1, 0)])
    if done == len(state.jobs):
        span += float(state.jobs["duration"].sum()) + 2 * float(rule["period"])
    most = int(rule["turns"]) + len(state.workers) + (done - arrived) + int(span / float(rule["period"])) + 4
    turns = np.zeros(most, TURN)
    turns[: int(rule["turns"])] = state.turns[: int(rule["turns"])]
    return state._replace(turns=turns)


def tables_of(jobs: Columns, references: Columns | None) -> tuple[Array, Array, Array]:
    """Arrays of jobs and references, and the table of sums: exercises first, then pairs with runtimes."""
    tasks = np.empty(len(jobs), TASK)
    refs = np.zeros(0 if references is None else len(references), REFERENCE)
    exercise, runtime = jobs.exercise, jobs.runtime
    if references is not None:
        refs["finish"] = references.spawn + references.duration
        refs["duration"], refs["compiled"] = references.duration, references.compiled
        exercise = np.concatenate([exercise, references.exercise])
        runtime = np.concatenate([runtime, references.runtime])
    exercises, runtimes = int(exercise.max(initial=0)) + 1, int(runtime.max(initial=0)) + 1
    pairs = exercise * runtimes + runtime
    count = exercises * runtimes
    if count > _MOST_PAIRS:  # too many to keep one place for each
        distinct, pairs = np.unique(pairs, return_inverse=True)
        count = len(distinct)
    refs["exercise"], refs["pair"] = exercise[len(tasks) :], exercises + pairs[len(tasks) :]
    limits = np.zeros(len(tasks)) if jobs.limits is None else jobs.limits
    _fill(
        tasks, _plain(jobs.spawn), _plain(jobs.duration), _plain(limits), _plain(jobs.compiled, np.int64),
        _plain(exercise, np.int64), _plain(pairs, np.int64), exercises,
    )  # fmt: skip
    return tasks, refs, np.zeros((exercises + count, 2))


def _plain(column: Array, dtype: type = np.float64) -> Array:
    return np.require(column, dtype, ["C", "W"])


@compiled
def _fill(
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
        tasks[at]["pair"] = first + pair[at]
        tasks[at]["worker"] = -1
        tasks[at]["start"] = 0.0
        tasks[at]["finish"] = 0.0
        tasks[at]["estimate"] = 0.0
        tasks[at]["next"] = -1
        tasks[at]["order"] = -1
