"""Experiments that are made of built-in components only: run in the compiled loop, with the same results.

Whatever it does not know (a user's component, other ties, a metric that looks at the run as it goes) is for the drive
in Python.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from unspool.engine.experience import judge, sum_in_order, uptime
from unspool.engine.state import Array
from unspool.faces.dispatch import dispatchers, predictors, strategies
from unspool.faces.dispatch.central import CentralFifo, CentralShortest
from unspool.faces.dispatch.drive import Outcome, Simulation
from unspool.faces.dispatch.experiment import Experiment
from unspool.faces.dispatch.metrics.delay import Delay, Quantiles, Response, Slowdown
from unspool.faces.dispatch.metrics.experience import ExperienceHistory, UserExperience
from unspool.faces.dispatch.metrics.power import Power, Utilisation
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
from unspool.simulation.desk import MODES, Columns, DeskRun, run_workers
from unspool.simulation.latebinding import CENTRAL_FIFO, CENTRAL_SHORTEST
from unspool.workloads.recodex import JOB_IDS, JobLog, RefLog

__all__ = ["ids_needed", "run_compiled"]

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


def ids_needed(experiment: Experiment) -> tuple[str, ...]:
    """The columns of ids to read for an experiment: a few where all of its components are compiled, else all.

    A component in Python may ask a job for any.
    """
    targets = [target_of(key, name) for key, name in experiment.named()]
    compiled = {
        f"{each.__module__}:{each.__qualname__}" for each in (*_EARLY, *_LATE, *_PREDICTORS, *_STRATEGIES, *_FILL)
    }
    return _IDS if compiled.issuperset(targets) else JOB_IDS


def run_compiled(
    simulation: Simulation,
    jobs: JobLog,
    refs: RefLog | None,
    progress: Callable[[int, int], None] | None = None,
) -> Outcome | None:
    """What became of the jobs, with the metrics of the simulation filled in; None if the loop does not know a part."""
    codes = _codes_of(simulation)
    # Simdex begins anew with every arrival at time 0 (B2.2): that is left to the drive that has its rules.
    starts_at_zero = simulation.compat != "none" and len(jobs) > 0 and jobs.spawn[0] == 0.0
    if codes is None or starts_at_zero or any(type(metric) not in _FILL for metric in simulation.metrics):
        return None
    if any(not _is_known(metric, simulation) for metric in simulation.metrics):
        return None
    wants_ticks = simulation.compat != "none" and (simulation.compat == "fork" or bool(simulation.metrics))
    found = run_workers(
        _columns(jobs, jobs.limits),
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
        progress=progress,
    )
    for metric in simulation.metrics:
        _FILL[type(metric)](metric, found)
    return _outcome(found)


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


def _outcome(found: DeskRun) -> Outcome:
    outcome = Outcome(0)
    jobs = found.jobs
    for name, kind, values in (
        ("worker", "i", jobs["worker"].astype(np.int32)),
        ("start", "d", jobs["start"]),
        ("finish", "d", jobs["finish"]),
        ("estimate", "d", jobs["estimate"]),
        ("order", "i", jobs["order"].astype(np.int32)),
    ):
        setattr(outcome, name, array(kind, values.tobytes()))
    outcome.finished = len(found.seen)
    return outcome


# Metrics, filled in from columns in the order in which jobs were seen to finish.


def _delays(found: DeskRun) -> Array:
    delays: Array = (found.jobs["start"] - found.jobs["spawn"])[found.seen]
    return delays


def _fill_delay(metric: Delay, found: DeskRun) -> None:
    delays = _delays(found)
    metric.jobs, metric.delay_sum = len(delays), sum_in_order(delays)
    metric.delay_max = float(delays.max(initial=0.0))
    workers = found.jobs["worker"][found.seen]
    for worker in range(len(found.workers)):
        own = delays[workers == worker]
        if len(own):
            metric._by_worker[worker] = [len(own), sum_in_order(own)]


def _fill_quantiles(metric: Quantiles, found: DeskRun) -> None:
    metric._delays = array("d", _delays(found).tobytes())


def _fill_response(metric: Response, found: DeskRun) -> None:
    metric._kept = array("d", (found.jobs["finish"] - found.jobs["spawn"])[found.seen].tobytes())


def _fill_slowdown(metric: Slowdown, found: DeskRun) -> None:
    response = (found.jobs["finish"] - found.jobs["spawn"])[found.seen]
    duration = np.maximum(found.jobs["duration"][found.seen], max(metric.bound_s, 1e-9))
    metric._kept = array("d", np.maximum(1.0, response / duration).tobytes())


def _fill_experience(metric: UserExperience, found: DeskRun) -> None:
    verdicts = np.zeros(len(found.seen), np.int64)
    first, second = (float(threshold) for threshold in metric.thresholds)
    judge(found.seen, found.jobs, found.known_before.copy(), first, second, verdicts)
    metric.counts = [int((verdicts == verdict).sum()) for verdict in range(3)]
    metric.verdicts = array("b", verdicts.astype(np.int8).tobytes())


def _fill_history(metric: ExperienceHistory, found: DeskRun) -> None:
    _fill_experience(metric, found)
    step = metric.history_step
    if step:
        verdicts = np.frombuffer(metric.verdicts, np.int8)
        sums = np.stack([np.cumsum(verdicts == verdict) for verdict in range(3)], axis=1)
        metric.history = sums[step - 1 :: step].tolist()


def _fill_power(metric: Power, found: DeskRun) -> None:
    begin, active = float(found.jobs["spawn"][0]), int(found.workers["active"].sum())
    if metric.compat == "none":
        staff = [
            SimpleNamespace(index=at, periods=[(begin, math.inf)] if on else [])
            for at, on in enumerate(found.workers["active"].tolist())
        ]
        metric._simulation, metric._began = SimpleNamespace(ts=float(found.jobs["finish"].max()), workers=staff), begin
        return
    sums = np.zeros(2)
    uptime(begin, found.period, found.ticks, active, found.turns, sums)
    metric._period, metric._uptime = sums.tolist()


def _fill_utilisation(metric: Utilisation, found: DeskRun) -> None:
    workers = found.jobs["worker"][found.seen]
    durations = found.jobs["duration"][found.seen]
    metric._began = float(found.jobs["spawn"][0])
    metric._busy = [sum_in_order(durations[workers == worker]) for worker in range(len(found.workers))]
    metric._ended = float(found.jobs["finish"].max())


def _is_known(metric: Any, simulation: Simulation) -> bool:
    """Whether a metric can be told from columns as it is set up."""
    if isinstance(metric, UserExperience):
        return metric.yardstick == "all-refs" and not getattr(metric, "print_progress", False)
    return not (isinstance(metric, Power) and simulation.compat == "none" and simulation.sa_strategy is not None)


_FILL: dict[type, Callable[[Any, DeskRun], None]] = {
    Delay: _fill_delay,
    Quantiles: _fill_quantiles,
    Response: _fill_response,
    Slowdown: _fill_slowdown,
    UserExperience: _fill_experience,
    ExperienceHistory: _fill_history,
    Power: _fill_power,
    Utilisation: _fill_utilisation,
}
