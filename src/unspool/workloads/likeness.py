"""How like two logs are, aspect by aspect: a distance, a limit, a verdict.

The limits are on distances. Tests of significance are of no use here: with ten thousand jobs they tell any two logs
apart, also two halves of one. Logs drawn from one model, each of three logs', were measured to differ by less than
four fifths of every limit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from unspool.errors import InputError
from unspool.model.workload import Workload
from unspool.units import counted
from unspool.workloads.clock import hours_of_week
from unspool.workloads.sessions import in_sessions

__all__ = ["ASPECTS", "Aspect", "likeness"]

Floats = npt.NDArray[np.float64]

FEWEST_OF_A_SIZE = 0.05  # share of the jobs of both logs that a class of sizes needs to be looked at
_POINTS = 101


class Aspect(NamedTuple):
    """One aspect of likeness: what is compared, how, and the largest distance of logs that are alike."""

    name: str
    figure_of: Callable[[Workload], float | None]
    distance: Callable[[Workload, Workload], float]
    figure: str
    measure: str
    limit: float


def likeness(original: Workload, generated: Workload) -> pl.DataFrame:
    """Each aspect with a figure of either log, their distance, its limit, and whether they are alike in it.

    An aspect that neither log knows of is left out; one that only one of them knows of has the distance 1.

    >>> from unspool.workloads.generators import lublin, poisson
    >>> log = lublin(1000, cores=64, load=0.8, seed=1)
    >>> likeness(log, log)["distance"].max(), likeness(log, poisson(1000, 0.01, 60.0))["is_like"].any()
    (0.0, False)
    """
    for log in (original, generated):
        if len(log) < 2:
            raise InputError(f"{log.name}: has {counted(len(log))}; likeness needs two or more")
    rows = []
    for aspect in ASPECTS:
        figures = aspect.figure_of(original), aspect.figure_of(generated)
        if figures == (None, None):
            continue
        distance = 1.0 if None in figures else aspect.distance(original, generated)
        rows.append(
            (aspect.name, aspect.figure, *figures, aspect.measure, distance, aspect.limit, distance <= aspect.limit)
        )
    schema = {
        "aspect": pl.String,
        "figure": pl.String,
        "original": pl.Float64,
        "generated": pl.Float64,
        "measure": pl.String,
        "distance": pl.Float64,
        "limit": pl.Float64,
        "is_like": pl.Boolean,
    }
    return pl.DataFrame(rows, schema, orient="row")


def kolmogorov_smirnov(some: Floats, others: Floats) -> float:
    """The largest difference between the shares of two samples that lie at or below any value.

    >>> kolmogorov_smirnov(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    0.5
    """
    some, others = np.sort(some), np.sort(others)
    values = np.concatenate((some, others))
    below = np.searchsorted(some, values, "right") / len(some)
    return float(np.abs(below - np.searchsorted(others, values, "right") / len(others)).max())


def total_variation(some: npt.NDArray[np.int64], others: npt.NDArray[np.int64], kinds: int) -> float:
    """The share of one sample that would have to be of another kind to be spread like the other one.

    >>> total_variation(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), 2)
    0.25
    """
    shares = [np.bincount(sample, minlength=kinds) / len(sample) for sample in (some, others)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2.0)


def _ks_of(values: Callable[[Workload], Floats | None]) -> Callable[[Workload, Workload], float]:
    def distance(original: Workload, generated: Workload) -> float:
        some, others = values(original), values(generated)
        return 1.0 if some is None or others is None else kolmogorov_smirnov(some, others)

    return distance


def _mean_of(values: Callable[[Workload], Floats | None]) -> Callable[[Workload], float | None]:
    return lambda log: None if (found := values(log)) is None else float(found.mean())


def _median_of(values: Callable[[Workload], Floats | None]) -> Callable[[Workload], float | None]:
    return lambda log: None if (found := values(log)) is None else float(np.median(found))


def _sizes(log: Workload) -> Floats:
    return log.table["cores"].to_numpy().astype(np.float64)


def _run_times(log: Workload) -> Floats:
    return log.table["run_time"].to_numpy()


def _walltimes(log: Workload) -> Floats | None:
    return log.column("walltime").drop_nulls().to_numpy() if log.column("walltime").count() else None


def _accuracies(log: Workload) -> Floats | None:
    asked = log.table.select(share=log.column("run_time") / log.column("walltime"))["share"].drop_nulls()
    return asked.filter(asked.is_finite()).to_numpy() if len(asked) else None


def _gaps(log: Workload) -> Floats:
    return np.diff(log.table["submit_time"].to_numpy())


def _size_classes(log: Workload) -> npt.NDArray[np.int64]:
    return np.floor(np.log2(_sizes(log))).astype(np.int64)


def _run_times_by_size(original: Workload, generated: Workload) -> float:
    """The largest distance over the powers of two of cores that have enough jobs in both logs."""
    logs = [(_size_classes(log), _run_times(log)) for log in (original, generated)]
    distances = [
        kolmogorov_smirnov(*(run_time[size == each] for size, run_time in logs))
        for each in np.unique(logs[0][0])
        if all((size == each).mean() >= FEWEST_OF_A_SIZE for size, _ in logs)
    ]
    return max(distances, default=1.0)


def _large_over_small(log: Workload) -> float:
    """Mean run time of the larger half of the jobs over that of the smaller half."""
    run_time = log.table.sort("cores", "line")["run_time"]
    half = len(run_time) // 2
    return float(run_time.tail(half).mean()) / max(1e-9, float(run_time.head(half).mean()))  # type: ignore[arg-type]


def _hours(log: Workload) -> npt.NDArray[np.int64]:
    return hours_of_week(log.table["submit_time"].to_numpy(), log.origin_unix_s, log.time_zone)


def _by_hour(original: Workload, generated: Workload) -> float:
    return total_variation(_hours(original) % 24, _hours(generated) % 24, 24)


def _by_day(original: Workload, generated: Workload) -> float:
    return total_variation(_hours(original) // 24, _hours(generated) // 24, 7)


def _busiest_hour(log: Workload) -> float:
    return float(np.bincount(_hours(log) % 24, minlength=24).max() / len(log))


def _weekend(log: Workload) -> float:
    return float((_hours(log) >= 120).mean())


def _lorenz(log: Workload) -> Floats:
    """The share of all jobs that the busiest 0 %, 1 %, … 100 % of the users have."""
    counts = np.sort(log.column("user").value_counts()["count"].to_numpy())[::-1]
    shares = np.concatenate(([0.0], np.cumsum(counts) / len(log)))
    return np.interp(np.linspace(0.0, 1.0, _POINTS), np.linspace(0.0, 1.0, len(shares)), shares)


def _busiest_users(log: Workload) -> float | None:
    return float(_lorenz(log)[_POINTS // 10]) if log.column("user").count() else None


def _jobs_by_user(original: Workload, generated: Workload) -> float:
    return float(np.abs(_lorenz(original) - _lorenz(generated)).max())


def _session_lengths(log: Workload) -> Floats:
    return in_sessions(log).group_by("session").len()["len"].to_numpy().astype(np.float64)


def _repeated_sizes(log: Workload) -> float | None:
    pairs = in_sessions(log).select(pl.col("gap").is_not_null(), same=pl.col("cores") == pl.col("cores").shift())
    same = pairs.filter("gap")["same"]
    return float(same.mean()) if len(same) else None  # type: ignore[arg-type]


def _run_time_steps(log: Workload) -> Floats | None:
    """The factor between the run times of a user's job and the next one."""
    jobs = in_sessions(log).with_columns(ln=(pl.col("run_time") + 1.0).log())
    steps = jobs.select("gap", step=pl.col("ln").diff().abs()).filter(pl.col("gap").is_not_null())["step"]
    return np.exp(steps.to_numpy()) if len(steps) else None


def _load(log: Workload) -> float:
    """Work over the cores of the machine and the time of the log; over the time alone if the machine is not known."""
    submit_time = log.table["submit_time"]
    span_s = max(1e-9, float(submit_time[-1]) - float(submit_time[0]))
    return float((log.table["cores"] * log.table["run_time"]).sum()) / (span_s * (log.max_cores or 1))


def _load_ratio(original: Workload, generated: Workload) -> float:
    loads = sorted((_load(original), _load(generated)))
    return 1.0 - loads[0] / loads[1] if loads[1] else 0.0


def _difference(figure_of: Callable[[Workload], float | None]) -> Callable[[Workload, Workload], float]:
    return lambda original, generated: abs((figure_of(original) or 0.0) - (figure_of(generated) or 0.0))


ASPECTS: tuple[Aspect, ...] = (
    Aspect("sizes", _mean_of(_sizes), _ks_of(_sizes), "mean cores", "KS", 0.1),
    Aspect("run times", _median_of(_run_times), _ks_of(_run_times), "median, s", "KS", 0.1),
    Aspect("run times by size", _large_over_small, _run_times_by_size, "large over small", "largest KS", 0.15),
    Aspect("walltimes", _median_of(_walltimes), _ks_of(_walltimes), "median, s", "KS", 0.1),
    Aspect("accuracy", _median_of(_accuracies), _ks_of(_accuracies), "median of run time / walltime", "KS", 0.1),
    Aspect("hours of the day", _busiest_hour, _by_hour, "share of the busiest hour", "TV", 0.15),
    Aspect("days of the week", _weekend, _by_day, "share of the weekend", "TV", 0.15),
    Aspect("gaps between jobs", _median_of(_gaps), _ks_of(_gaps), "median, s", "KS", 0.15),
    Aspect("jobs by user", _busiest_users, _jobs_by_user, "share of the busiest tenth", "Lorenz", 0.1),
    Aspect("jobs by session", _mean_of(_session_lengths), _ks_of(_session_lengths), "mean jobs", "KS", 0.1),
    Aspect("repeated sizes", _repeated_sizes, _difference(_repeated_sizes), "share of next jobs", "difference", 0.1),
    Aspect("repeated run times", _median_of(_run_time_steps), _ks_of(_run_time_steps), "median factor", "KS", 0.15),
    Aspect("offered load", _load, _load_ratio, "work / capacity", "1 - ratio", 0.2),
)
"""All aspects; a new one is one line here."""
