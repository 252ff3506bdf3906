"""A search of the space of a grid by Optuna: points that are likely to be better, rather than all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from statistics import fmean
from typing import Any

from unspool.errors import InputError, UnknownName
from unspool.sweeps.grid import Dimension, Grid, Search
from unspool.sweeps.inputs import Inputs
from unspool.sweeps.session import Session
from unspool.sweeps.unrun import JOBS_NOT_RUN, mean_not_run
from unspool.sweeps.work import ERROR

__all__ = ["gather", "search"]


def search(grid: Grid, session: Session) -> None:
    """Ask for some points at a time, run each under every seed and window, and tell the means.

    The sampler has a seed and is told in the order in which it was asked, so that a search that was broken off asks
    for the same points again, whose runs are there.
    """
    wanted = grid.search
    assert wanted is not None
    averaged, searched = _parts(grid)
    study = _Study(wanted, searched)
    repeats = [_merged(chosen) for chosen in product(*(each.sets for each in averaged))]
    session.runner.count.total = wanted.trials * len(repeats)
    left = wanted.trials
    while left:
        trials, points = study.ask(min(wanted.at_once, left))
        settings = [grid.with_draws({**grid.common, **point, **each}) for point in points for each in repeats]
        rows = session.rows(settings)
        parts = [rows[at * len(repeats) : (at + 1) * len(repeats)] for at in range(len(trials))]
        study.tell(trials, [_outcome(grid, trial.params, part) for trial, part in zip(trials, parts, strict=True)])
        left -= len(trials)


def gather(grid: Grid, inputs: Inputs) -> None:
    """See whether a search is possible, and bring every file together that a point may name."""
    _optuna()
    _parts(grid)
    for at, each in enumerate(grid.dimensions):
        for number in range(len(each.sets)):
            chosen = [0] * len(grid.dimensions)
            chosen[at] = number
            inputs.task(grid.run_of(chosen))


def _parts(grid: Grid) -> tuple[list[Dimension], list[Dimension]]:
    """What is averaged over, and what is searched."""
    averaged = [each for each in grid.dimensions if set(grid.over).issuperset(each.keys)]
    searched = [each for each in grid.dimensions if each not in averaged]
    if not searched:
        raise InputError("[search]: nothing in [grid] differs but what is averaged over; give a key several values")
    return averaged, searched


@dataclass(frozen=True)
class _Outcome:
    """What came of a trial: the mean of each objective, None where one is missing, and of the jobs not run."""

    params: Mapping[str, Any]
    values: list[float] | None
    jobs_not_run: float | None  # None where a run failed


class _Study:
    """A study of Optuna for which points that leave out more jobs than the fewest so far are infeasible.

    Optuna keeps what it was told of a trial. So where a point runs more jobs than all before it, a new study is told of
    the same trials again, by the new measure; its sampler has a seed of its own, which depends on nothing else.
    """

    def __init__(self, wanted: Search, searched: list[Dimension]) -> None:
        self._optuna, self._wanted, self._searched = _optuna(), wanted, searched
        self._outcomes: list[_Outcome] = []
        self._fewest = math.inf
        self._study = self._begun()

    def ask(self, count: int) -> tuple[list[Any], list[dict[str, Any]]]:
        """Trials, and their points."""
        trials = [self._study.ask() for _ in range(count)]
        return trials, [_point(trial, self._searched) for trial in trials]

    def tell(self, trials: list[Any], outcomes: list[_Outcome]) -> None:
        """What came of the trials that were asked for."""
        fewest = min((each.jobs_not_run for each in outcomes if each.jobs_not_run is not None), default=math.inf)
        is_anew = fewest < self._fewest and bool(self._outcomes)
        self._fewest = min(fewest, self._fewest)
        self._outcomes += outcomes
        if is_anew:
            self._study = self._begun()
            outcomes = self._outcomes
            trials = [self._asked_again(each) for each in outcomes]
        for trial, outcome in zip(trials, outcomes, strict=True):
            self._tell(trial, outcome)

    def _begun(self) -> Any:
        samplers = self._optuna.samplers
        given = {} if hasattr(self._optuna.trial.Trial, "set_constraint") else {"constraints_func": _constraints}
        return self._optuna.create_study(
            directions=["maximize" if each.is_maximised else "minimize" for each in self._wanted.objectives],
            sampler=samplers.TPESampler(
                seed=(self._wanted.seed + len(self._outcomes)) % 2**32, multivariate=True, group=True,
                constant_liar=True, **given,
            ),
        )  # fmt: skip

    def _asked_again(self, outcome: _Outcome) -> Any:
        self._study.enqueue_trial(dict(outcome.params))
        trial = self._study.ask()
        _point(trial, self._searched)
        return trial

    def _tell(self, trial: Any, outcome: _Outcome) -> None:
        states = self._optuna.trial.TrialState
        more = 0.0 if outcome.jobs_not_run is None else outcome.jobs_not_run - self._fewest
        if hasattr(trial, "set_constraint"):
            trial.set_constraint(JOBS_NOT_RUN, more)
        else:  # before Optuna 5
            trial.set_user_attr(JOBS_NOT_RUN, more)
        if outcome.values is not None:
            self._study.tell(trial, outcome.values)
        else:  # of what is pruned Optuna still sees that it is infeasible, and where; what failed it leaves out
            self._study.tell(trial, state=states.PRUNED if more > 0.0 else states.FAIL)


def _constraints(trial: Any) -> tuple[float]:
    return (trial.user_attrs[JOBS_NOT_RUN],)


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


def _outcome(grid: Grid, params: Mapping[str, Any], rows: list[dict[str, Any]]) -> _Outcome:
    """What the rows of a point say."""
    if any(row[ERROR] is not None for row in rows):
        return _Outcome(params, None, None)
    return _Outcome(params, _values(grid, rows), mean_not_run(rows))


def _values(grid: Grid, rows: list[dict[str, Any]]) -> list[float] | None:
    """The mean of each objective; None where a run has no such figure."""
    assert grid.search is not None
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
