"""Metrics of built-in kinds, filled in from columns of jobs, stretch by stretch of a run in the compiled loop.

Jobs come in the order in which they were seen to finish, and sums go on from where they were, so that every digit is
that of a metric which is told of one job after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from unspool.arrays import Array
from unspool.faces.dispatch.drive import Simulation
from unspool.faces.dispatch.metrics.delay import Delay, Quantiles, Response, Slowdown
from unspool.faces.dispatch.metrics.experience import ExperienceHistory, UserExperience
from unspool.faces.dispatch.metrics.power import Power, Utilisation
from unspool.metrics.experience import METER, add_by_worker, judge, sum_in_order, uptime
from unspool.simulation.desk import TURN, Stretch, WorkersRun, grown

__all__ = ["FILLERS", "is_filled"]

Fill = Callable[[Stretch], None]


def is_filled(metric: Any, simulation: Simulation) -> bool:
    """Whether a metric can be told from columns as it is set up."""
    if isinstance(metric, UserExperience) and (
        metric.yardstick != "all-refs" or getattr(metric, "print_progress", False)
    ):
        return False
    is_switched = simulation.compat == "none" and simulation.sa_strategy is not None
    return type(metric) in FILLERS and not (isinstance(metric, Power) and is_switched)


def _delays(stretch: Stretch) -> Array:
    delays: Array = stretch.finished["start"] - stretch.finished["spawn"]
    return delays


def _responses(stretch: Stretch) -> Array:
    responses: Array = stretch.finished["finish"] - stretch.finished["spawn"]
    return responses


def _delay(metric: Delay, run: WorkersRun, is_kept: bool) -> Fill:
    each = np.zeros((len(run.workers), 2))

    def fill(stretch: Stretch) -> None:
        delays = _delays(stretch)
        metric.jobs += len(delays)
        metric.delay_sum = sum_in_order(delays, metric.delay_sum)
        metric.delay_max = float(delays.max(initial=metric.delay_max))
        add_by_worker(delays, stretch.finished["worker"], each)
        metric._by_worker = {at: [int(count), total] for at, (count, total) in enumerate(each.tolist()) if count}

    return fill


def _quantiles(metric: Quantiles, run: WorkersRun, is_kept: bool) -> Fill:
    return lambda stretch: metric._delays.frombytes(_delays(stretch).tobytes())


def _response(metric: Response, run: WorkersRun, is_kept: bool) -> Fill:
    return lambda stretch: metric._kept.frombytes(_responses(stretch).tobytes())


def _slowdown(metric: Slowdown, run: WorkersRun, is_kept: bool) -> Fill:
    def fill(stretch: Stretch) -> None:
        duration = np.maximum(stretch.finished["duration"], max(metric.bound_s, 1e-9))
        metric._kept.frombytes(np.maximum(1.0, _responses(stretch) / duration).tobytes())

    return fill


def _experience(metric: UserExperience, run: WorkersRun, is_kept: bool) -> Fill:
    known = run.known_before.copy()
    first, second = (float(threshold) for threshold in metric.thresholds)

    def fill(stretch: Stretch) -> None:
        nonlocal known
        known = grown(known, stretch.known)
        verdicts = np.zeros(len(stretch.finished), np.int8)
        judge(stretch.finished, known, first, second, verdicts)
        if isinstance(metric, ExperienceHistory) and metric.history_step:
            _write_history(metric, verdicts)
        counts = np.bincount(verdicts, minlength=3).tolist()
        metric.counts = [before + count for before, count in zip(metric.counts, counts, strict=True)]
        if is_kept:
            metric.verdicts.frombytes(verdicts.tobytes())

    return fill


def _write_history(metric: ExperienceHistory, verdicts: Array) -> None:
    """Rows of the counts after every so many jobs; `metric.counts` are those before."""
    step = metric.history_step or 1
    sums = np.stack([np.cumsum(verdicts == verdict) for verdict in range(3)], axis=1) + metric.counts
    metric.history += sums[step - 1 - sum(metric.counts) % step :: step].tolist()


def _power(metric: Power, run: WorkersRun, is_kept: bool) -> Fill:
    if metric.compat != "none":
        return _power_from_ticks(metric, run)
    ended = 0.0

    def fill(stretch: Stretch) -> None:
        nonlocal ended
        ended = float(stretch.finished["finish"].max(initial=ended))
        periods = [[(run.began, math.inf)] if active else [] for active in run.workers["active"].tolist()]
        staff = [SimpleNamespace(index=at, periods=each) for at, each in enumerate(periods)]
        metric._simulation, metric._began = SimpleNamespace(ts=ended, workers=staff), run.began

    return fill


def _power_from_ticks(metric: Power, run: WorkersRun) -> Fill:
    meter = np.zeros(1, METER)
    meter["active"] = run.workers["active"].sum()
    turns = np.zeros(0, TURN)

    def fill(stretch: Stretch) -> None:
        nonlocal turns
        if meter["ticks"][0] == 0:
            meter["now"] = run.began
        turns = np.concatenate([turns, stretch.turns])
        turns = turns[uptime(meter, run.period, stretch.ticks, turns) :]
        metric._period, metric._uptime = float(meter["passed"][0]), float(meter["uptime"][0])

    return fill


def _utilisation(metric: Utilisation, run: WorkersRun, is_kept: bool) -> Fill:
    each = np.zeros((len(run.workers), 2))
    metric._ended = 0.0

    def fill(stretch: Stretch) -> None:
        add_by_worker(stretch.finished["duration"], stretch.finished["worker"], each)
        metric._began, metric._busy = run.began, each[:, 1].tolist()
        metric._ended = float(stretch.finished["finish"].max(initial=metric._ended))

    return fill


FILLERS: dict[type, Callable[[Any, WorkersRun, bool], Fill]] = {
    Delay: _delay,
    Quantiles: _quantiles,
    Response: _response,
    Slowdown: _slowdown,
    UserExperience: _experience,
    ExperienceHistory: _experience,
    Power: _power,
    Utilisation: _utilisation,
}
"""For each kind of metric what makes a function that adds a stretch of a run to it.

It is given the metric, the run before its first job, and whether what became of every job is kept."""
