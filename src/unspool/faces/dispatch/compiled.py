"""Experiments that are made of built-in components only: run in the compiled loop, with the same results.

Whatever it does not know (a user's component, other ties, a metric that looks at the run as it goes) is for the drive
in Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from unspool.arrays import Array
from unspool.faces.dispatch import dispatchers, predictors, strategies
from unspool.faces.dispatch.central import CentralFifo, CentralShortest
from unspool.faces.dispatch.drive import Outcome, Simulation
from unspool.faces.dispatch.experiment import Experiment
from unspool.faces.dispatch.filling import FILLERS, is_filled
from unspool.faces.dispatch.names import target_of
from unspool.policies.dispatchers.queues import (
    CATEGORY,
    FILTER,
    LIMITS,
    NOBODY,
    ORACLE,
    SHORTEST,
    SIMPLE,
    STATISTICS,
    ZERO,
)
from unspool.simulation.desk import MODES, Columns, Stretch, WorkersRun
from unspool.simulation.latebinding import CENTRAL_FIFO, CENTRAL_SHORTEST
from unspool.workloads.recodex import JOB_IDS, JobFile, JobLog, RefLog

__all__ = ["ids_needed", "is_compiled", "run_compiled"]

_AT_ONCE = 1 << 16
_IDS = ("exercise", "runtime")  # those of `_columns`

_EARLY = {
    dispatchers.ShortestQueue: SHORTEST,
    dispatchers.DurationFilter: FILTER,
    dispatchers.JobCategory: FILTER,
    dispatchers.OracleJobCategory: FILTER,
}
_LATE = {CentralFifo: CENTRAL_FIFO, CentralShortest: CENTRAL_SHORTEST}
_PREDICTORS = {
    predictors.Limits: LIMITS,
    predictors.Zero: ZERO,
    predictors.Oracle: ORACLE,
    predictors.IndexPredictor: STATISTICS,
}
_STRATEGIES = {type(None): NOBODY, strategies.SimpleStrategy: SIMPLE, strategies.CategoryStrategy: CATEGORY}


@dataclass(frozen=True)
class _Codes:
    """What an experiment is made of, by the codes of the compiled loop."""

    dispatcher: int
    predictor: int
    strategy: int
    factor: float
    late_binding: int | None
    ageing: float


def is_compiled(experiment: Experiment) -> bool:
    """Whether all components of an experiment are known to the compiled loop; with their arguments they may not be."""
    targets = [target_of(key, name) for key, name in experiment.named()]
    known = (*_EARLY, *_LATE, *_PREDICTORS, *_STRATEGIES, *FILLERS)
    return {f"{each.__module__}:{each.__qualname__}" for each in known}.issuperset(targets)


def ids_needed(experiment: Experiment) -> tuple[str, ...]:
    """The columns of ids to read for an experiment: a few where all of its components are compiled, else all.

    A component in Python may ask a job for any.
    """
    return _IDS if is_compiled(experiment) else JOB_IDS


def run_compiled(
    simulation: Simulation,
    jobs: JobLog | JobFile,
    refs: RefLog | None,
    progress: Callable[[int, int], None] | None = None,
) -> Outcome | None:
    """What became of the jobs, with the metrics of the simulation filled in; None if the loop does not know a part.

    Of jobs in a file that is not read yet nothing is kept but what metrics need, and how many there were.
    """
    codes = _codes_of(simulation)
    if codes is None or not all(is_filled(metric, simulation) for metric in simulation.metrics):
        return None
    pieces = _pieces(jobs)
    first = next(pieces, None)
    # Simdex begins anew with every arrival at time 0 (B2.2): that is left to the drive that has its rules.
    if first is None or (simulation.compat != "none" and first.spawn[0] == 0.0):
        return None
    is_kept = isinstance(jobs, JobLog)
    run = _begun(simulation, codes, refs)
    outcome = Outcome(len(jobs) if isinstance(jobs, JobLog) else 0)
    fillers = [FILLERS[type(metric)](metric, run, is_kept) for metric in simulation.metrics]

    def tell(stretch: Stretch) -> None:
        for fill in fillers:
            fill(stretch)
        if is_kept:
            _keep(outcome, stretch.finished)
        outcome.finished += len(stretch.finished)

    for piece in chain([first], pieces):
        tell(run.give(piece))
        if progress is not None:
            progress(run.arrived, len(jobs) if isinstance(jobs, JobLog) else run.arrived)
    tell(run.end())
    return outcome


def _begun(simulation: Simulation, codes: _Codes, refs: RefLog | None) -> WorkersRun:
    """A run in which no job has arrived yet."""
    wants_ticks = simulation.compat != "none" and (simulation.compat == "fork" or bool(simulation.metrics))
    return WorkersRun(
        None if refs is None else _columns(refs),
        [(bool(worker.attributes.get("active")), _limit(worker)) for worker in simulation.workers],
        dispatcher=codes.dispatcher,
        predictor=codes.predictor,
        strategy=codes.strategy,
        mode=MODES[simulation.compat],
        period=simulation.period,
        factor=codes.factor,
        has_ticks=wants_ticks or codes.strategy != NOBODY,
        late_binding=codes.late_binding,
        ageing=codes.ageing,
    )


def _codes_of(simulation: Simulation) -> _Codes | None:
    """The codes of the components; None if one is not compiled, or the parts do not go together so."""
    dispatcher, predictor = simulation.dispatcher, simulation.duration_predictor
    late = _LATE.get(type(dispatcher))
    early = _EARLY.get(type(dispatcher))
    strategy = _STRATEGIES.get(type(simulation.sa_strategy))
    if simulation.worker_selector is not None or strategy is None or (late is None and early is None):
        return None
    if getattr(dispatcher, "ties", "lowest") != "lowest" or not _limits_are_plain(simulation):
        return None
    if late is not None and (strategy != NOBODY or simulation.compat != "none"):
        return None
    if late is not None and not any(worker.attributes.get("active") for worker in simulation.workers):
        return None  # jobs would wait for ever, and which ones is for the drive in Python to say
    kind: int | None = ZERO
    factor = 0.5
    if isinstance(dispatcher, dispatchers.OracleJobCategory):
        kind = ORACLE
    elif isinstance(dispatcher, dispatchers.JobCategory):
        if strategy == CATEGORY and simulation.compat != "original":
            return None
        kind = STATISTICS if strategy == CATEGORY else LIMITS
    elif late is not None or early == FILTER:
        kind = LIMITS if predictor is None else _PREDICTORS.get(type(predictor))
        factor = getattr(predictor, "factor", 0.5)
    elif predictor is not None:
        return None
    fits_strategy = strategy != CATEGORY or isinstance(dispatcher, dispatchers.JobCategory)
    if kind is None or not fits_strategy or (simulation.compat == "original" and predictor is not None):
        return None
    return _Codes(early or 0, kind, strategy, factor, late, getattr(dispatcher, "ageing", 0.0))


def _limits_are_plain(simulation: Simulation) -> bool:
    limits = [worker.attributes.get("limit") for worker in simulation.workers]
    return all(limit is None or isinstance(limit, int | float) for limit in limits)


def _limit(worker: Any) -> float:
    limit = worker.attributes.get("limit")
    return math.inf if limit is None else float(limit)


def _columns(log: JobLog | RefLog, limits: Array | None = None) -> Columns:
    return Columns(log.spawn, log.duration, log.compilation_ok, log.exercise, log.runtime, limits)


def _pieces(jobs: JobLog | JobFile) -> Iterator[Columns]:
    """The jobs, as many at once as stay in the processor's cache."""
    if isinstance(jobs, JobFile):
        return (_columns(piece, piece.limits) for piece in jobs.pieces(_IDS) if len(piece))
    whole = _columns(jobs, jobs.limits)
    return (whole[at : at + _AT_ONCE] for at in range(0, len(whole), _AT_ONCE))


def _keep(outcome: Outcome, finished: Array) -> None:
    """Write what became of jobs."""
    rows = finished["number"]
    for name in ("worker", "start", "finish", "estimate"):
        column = getattr(outcome, name)
        np.frombuffer(column, column.typecode)[rows] = finished[name]
    np.frombuffer(outcome.order, outcome.order.typecode)[rows] = outcome.finished + np.arange(len(rows))
