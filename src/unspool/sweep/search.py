"""A search of the space of a grid by Optuna: points that are likely to be better, rather than all of them."""

from __future__ import annotations

from itertools import product
from statistics import fmean
from typing import Any

from unspool.errors import InputError, UnknownName
from unspool.sweep.grid import Dimension, Grid
from unspool.sweep.session import Session
from unspool.sweep.work import ERROR

__all__ = ["search"]


def search(grid: Grid, session: Session) -> None:
    """Ask for some points at a time, run each under every seed and window, and tell the means.

    The sampler has a seed and is told in the order in which it was asked, so that a search that was broken off asks
    for the same points again, whose runs are there.
    """
    optuna = _optuna()
    wanted = grid.search
    assert wanted is not None
    averaged = [each for each in grid.dimensions if set(grid.over).issuperset(each.keys)]
    searched = [each for each in grid.dimensions if each not in averaged]
    if not searched:
        raise InputError("[search]: nothing in [grid] differs but what is averaged over; give a key several values")
    _gather(grid, session)
    study = optuna.create_study(
        directions=["maximize" if each.is_maximised else "minimize" for each in wanted.objectives],
        sampler=optuna.samplers.TPESampler(seed=wanted.seed, multivariate=True, group=True, constant_liar=True),
    )
    repeats = [_merged(chosen) for chosen in product(*(each.sets for each in averaged))]
    session.runner.count.total = wanted.trials * len(repeats)
    left = wanted.trials
    while left:
        trials = [study.ask() for _ in range(min(wanted.at_once, left))]
        points = [_point(trial, searched) for trial in trials]
        settings = [grid.with_draws({**grid.common, **point, **each}) for point in points for each in repeats]
        rows = session.rows(settings)
        for at, trial in enumerate(trials):
            values = _values(grid, rows[at * len(repeats) : (at + 1) * len(repeats)])
            study.tell(trial, values, state=None if values else optuna.trial.TrialState.FAIL)
        left -= len(trials)


def _gather(grid: Grid, session: Session) -> None:
    """Bring every file together that a point may name, before workers are asked for."""
    for at, each in enumerate(grid.dimensions):
        for number in range(len(each.sets)):
            chosen = [0] * len(grid.dimensions)
            chosen[at] = number
            session.inputs.task(grid.run_of(chosen))


def _merged(sets: tuple[Any, ...]) -> dict[str, Any]:
    return {key: value for each in sets for key, value in each.items()}


def _point(trial: Any, searched: list[Dimension]) -> dict[str, Any]:
    """The settings that Optuna suggests: anything between the ends of a range, one of the sets otherwise."""
    found: dict[str, Any] = {}
    for each in searched:
        span = each.span
        if span is None:
            found.update(each.sets[trial.suggest_categorical(each.name, list(range(len(each.sets))))])
        elif span.is_whole:
            found[each.name] = trial.suggest_int(each.name, int(span.low), int(span.high), log=span.is_log)
        else:
            found[each.name] = trial.suggest_float(each.name, span.low, span.high, log=span.is_log)
    return found


def _values(grid: Grid, rows: list[dict[str, Any]]) -> list[float] | None:
    """The mean of each objective; None where a run failed or has no such figure."""
    assert grid.search is not None
    if any(row[ERROR] is not None for row in rows):
        return None
    found = []
    for each in grid.search.objectives:
        if each.figure not in rows[0]:
            figures = [name for name, value in rows[0].items() if isinstance(value, float)]
            raise InputError(f"[search]: {UnknownName('figure', each.figure, figures)}")
        values = [row[each.figure] for row in rows]
        if any(value is None for value in values):
            return None
        found.append(fmean(values))
    return found


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise InputError("[search] needs Optuna; install it: pip install 'unspool[search]'") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna
