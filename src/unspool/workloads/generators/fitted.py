"""A workload model fitted to a log: what it holds, and how it is kept in a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import polars as pl

from unspool.errors import InputError, shown
from unspool.model.workload import COLUMNS, Workload
from unspool.workloads.clock import HOURS_OF_WEEK
from unspool.workloads.files import AnyPath, read_text, replaced

__all__ = ["LEVELS", "REQUEST_COLUMNS", "RUN_TIME_LEVELS", "Fitted", "Repeats"]

_VERSION = 1
_DAMAGED = (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError)
_DTYPES = {column.name: column.dtype for column in COLUMNS}

LEVELS = np.concatenate((np.linspace(0.0, 0.99, 100), [0.995, 0.999, 1.0]))
"""Of these the quantiles of gaps and think times are kept: the tail is long, and holds most of the time."""

RUN_TIME_LEVELS = np.concatenate((np.linspace(0.0, 0.96, 33), [0.98, 0.99, 0.995, 1.0]))
"""Of these the quantiles of run times are kept."""

REQUEST_COLUMNS = (
    *("cores", "machines", "memory_bytes", "gpus", "walltime", "licences"),
    *("project", "queue", "partition", "application"),
)
"""What a job asks for: jobs with the same in all of these are of one request."""

_TABLES: Mapping[str, Mapping[str, Any]] = {
    "users": {"user": pl.String, "group": pl.String},
    "sessions": {"user": pl.Int64, "jobs": pl.Int64, "count": pl.Int64},
    "gaps": {"least_jobs": pl.Int64, "quantiles_s": pl.List(pl.Float64)},
    "requests": {**{name: _DTYPES[name] for name in REQUEST_COLUMNS}, "run_times": pl.Int64},
    "repertoires": {"user": pl.Int64, "request": pl.Int64, "count": pl.Int64},
    "run_times": {"least_cores": pl.Int64, "walltime": pl.Float64, "jobs": pl.Int64, "quantiles": pl.List(pl.Float64)},
}


@dataclass(frozen=True)
class Repeats:
    """How often a user's next job repeats the last one: its request, or at least its size; else it is drawn afresh.

    The spreads say how near the next job is to the last: 0 is at the same quantile, 1 is anywhere. `run_spread` is that
    of the run times of a repeated request; where the size alone is repeated, `size_run_spread` is that of the run times
    and `size_request_spread` that of the request among the user's of that size.
    """

    request_in_session: float
    size_in_session: float
    request_between: float
    size_between: float
    run_spread: float
    size_run_spread: float
    size_request_spread: float


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model of a log; `fit` makes one, `generate` draws jobs from it.

    The log goes from `first_s` on for `span_s`. `week` is how many sessions begin in an hour, for each hour of the week
    from Monday midnight. `starts` are quantiles of the time between the beginnings of any two sessions, `thinks` of
    those of one user, both over their mean and by the busy clock. Tables: `users`; `sessions` (how many of how many
    jobs each user has); `gaps` (between the jobs of a session, by its length); `requests` (what jobs ask for);
    `repertoires` (who asked for what, how often); `run_times` (quantiles, as a share of the walltime if there is one).
    """

    name: str
    jobs: int
    first_s: float
    span_s: float
    origin_unix_s: float
    time_zone: str | None
    max_cores: int | None
    max_machines: int | None
    are_seconds_whole: bool
    least_run_time_s: float
    session_gap_s: float
    week: tuple[float, ...]
    starts: tuple[float, ...]
    thinks: tuple[float, ...]
    repeats: Repeats
    users: pl.DataFrame
    sessions: pl.DataFrame
    gaps: pl.DataFrame
    requests: pl.DataFrame
    repertoires: pl.DataFrame
    run_times: pl.DataFrame

    def generate(self, jobs: int | None = None, duration_s: float | None = None, seed: int = 0) -> Workload:
        """A log of so many jobs, or of so many seconds, at the rate of the fitted one; else as many jobs as that had.

        >>> from unspool.workloads.generators import fit, lublin
        >>> len(fit(lublin(500, cores=64, load=0.8)).generate(jobs=200, seed=1))
        200
        """
        from unspool.workloads.generators.drawing import drawn  # which needs this class

        return drawn(self, jobs, duration_s, seed)

    def save(self, path: AnyPath, *, force: bool = False) -> None:
        """Write the model as JSON."""
        with replaced(path, force=force) as file:
            file.write(self.to_json().encode())

    def to_json(self) -> str:
        """The model as JSON: tables as columns, and columns that are empty throughout left out."""
        content: dict[str, Any] = {"unspool_fitted": _VERSION}
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            if isinstance(value, pl.DataFrame):
                value = {column.name: column.to_list() for column in value if column.null_count() < len(value)}
            content[name] = asdict(value) if isinstance(value, Repeats) else value
        return json.dumps(content, allow_nan=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fitted) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.name, self.jobs, self.span_s))

    @classmethod
    def load(cls, path: AnyPath) -> Fitted:
        """Read a model that `save` wrote."""
        text = read_text(path, "a fitted model")
        try:
            content = json.loads(text)
            if content.pop("unspool_fitted") != _VERSION:
                raise ValueError("another version of unspool wrote it")
            for name, schema in _TABLES.items():
                content[name] = _table(content[name], schema)
            content["repeats"] = Repeats(**content["repeats"])
            content.update((name, tuple(content[name])) for name in ("week", "starts", "thinks"))
            fitted = cls(**content)
            _check(fitted)
        except (*_DAMAGED, pl.exceptions.PolarsError) as error:
            what = shown(str(error).partition("\n")[0], 100)
            raise InputError(
                f"{path}: is not a fitted model ({what}); make one with `unspool generate fitted`"
            ) from error
        return fitted


def _table(columns: Mapping[str, list[Any]], schema: Mapping[str, Any]) -> pl.DataFrame:
    length = max(map(len, columns.values()))
    empty = [None] * length
    return pl.DataFrame([pl.Series(name, columns.get(name, empty), dtype) for name, dtype in schema.items()])


def _check(model: Fitted) -> None:
    """Refuse a model whose parts do not belong together, so that drawing cannot fail half-way."""
    repertoires, requests, sessions = model.repertoires, model.requests, model.sessions
    needed = [
        repertoires,
        sessions,
        requests.select("cores", "run_times"),
        model.gaps,
        model.run_times.select("quantiles"),
    ]
    lists = [(model.gaps["quantiles_s"], LEVELS), (model.run_times["quantiles"], RUN_TIME_LEVELS)]
    laws = {
        "an empty cell where a number is needed": all(not sum(table.null_count().row(0)) for table in needed),
        "no users, sessions or requests": bool(len(model.users) and len(sessions) and len(requests)),
        "a user that is not there": sessions["user"].is_between(0, len(model.users) - 1).all(),
        "a user who asks for nothing": sessions["user"].is_in(repertoires["user"].implode()).all(),
        "a request that is not there": repertoires["request"].is_between(0, len(requests) - 1).all(),
        "run times that are not there": requests["run_times"].is_between(0, len(model.run_times) - 1).all(),
        "counts below 1": all((table["count"] >= 1).all() for table in (repertoires, sessions)),
        "rows out of order": repertoires["user"].is_sorted() and requests["cores"].is_sorted(),
        "a session without jobs": (sessions["jobs"] >= 1).all(),
        f"a week of other than {HOURS_OF_WEEK} hours": len(model.week) == HOURS_OF_WEEK and min(model.week) >= 0,
        "no busy hour": sum(model.week) > 0,
        "too few quantiles": all((column.list.len() == len(levels)).all() for column, levels in lists)
        and len(model.starts) == len(model.thinks) == len(LEVELS),
        "no jobs, or no time": model.jobs >= 1 and model.span_s > 0 and model.first_s >= 0,
    }
    for broken, holds in laws.items():
        if not holds:
            raise ValueError(f"it has {broken}")
