"""Seeded logs that nobody recorded: Poisson arrivals for queueing theory, Lublin-Feitelson for supercomputers.

Each purpose (sizes, run times, arrivals, ...) draws from a stream of its own, so that changing one of them leaves
the others as they were.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl

from unspool.errors import InputError
from unspool.model.workload import Workload

__all__ = ["MODAL_ESTIMATES_S", "lublin", "poisson"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# U. Lublin, D. G. Feitelson: "The workload on parallel supercomputers: modeling the characteristics of rigid jobs",
# Journal of Parallel and Distributed Computing 63(11), 2003. The values are those of the model without the
# distinction between batch and interactive jobs.
SERIAL_SHARE = 0.244
POWER_OF_TWO_SHARE = 0.576  # of all jobs
SIZE_LOW = 0.8  # log2 of the smallest parallel size, a little below 1 to leave room for rounding
SIZE_KNEE = 2.5  # the knee of the two-stage distribution lies this far below log2 of the largest size
SIZE_LOW_SHARE = 0.86
SHORT_RUN_GAMMA = (4.2, 0.94)  # shape and scale of ln(run time)
LONG_RUN_GAMMA = (312.0, 0.03)
SHORT_RUN_SLOPE, SHORT_RUN_SHARE = -0.0054, 0.78  # share of short runs = slope * size + share
LONGEST_RUN_LN = 12.0  # "no more than two days"
GAP_GAMMA = (10.2303 * 1.0225, 0.4871)  # shape and scale of ln(gap); 1.0225 leads from the rush hours to all hours
LONGEST_GAP_LN = 13.0  # "no more than five days"
DAY_GAMMA = (8.1737, 3.9631)  # shape and scale of the arrivals of a day, in half hours
DAY_START = 11  # the half hour, counted from 1, with which a day's cycle begins

# D. Tsafrir, Y. Etsion, D. G. Feitelson: "Modeling user runtime estimates", JSSPP 2005: a few round values make up
# nearly all estimates, the largest allowed one is among the most frequent, and the rest of the estimate is padding.
MINUTES = (1, 5, 10, 15, 20, 30, 45, 60, 90)
HOURS = (2, 3, 4, 5, 6, 8, 10, 12, 18, 24, 36, 48)
MODAL_ESTIMATES_S = tuple(60 * m for m in MINUTES) + tuple(3_600 * h for h in HOURS)
LARGEST_ESTIMATE_SHARE = 0.08
LEAST_ACCURACY = 0.05

USERS_PER_ROOT = 2.0  # a log of n jobs has about this many users times sqrt(n)
USERS_PER_GROUP = 8
DAY_S = 86_400.0

# One random stream for each purpose; a number never changes its meaning.
_SIZES, _RUN_TIMES, _ARRIVALS, _ESTIMATES, _USERS = range(5)


def poisson(jobs: int, rate_per_s: float, mean_run_time_s: float, cores: int = 1, seed: int = 0) -> Workload:
    """Jobs of one size with exponential gaps and run times: M/M/c on a pool of `c * cores` cores.

    Times are not rounded to seconds, so that closed formulas hold. Jobs have no walltime.

    >>> poisson(3, rate_per_s=0.1, mean_run_time_s=5.0).table.shape
    (3, 5)
    """
    _refuse_unless(jobs >= 1, "jobs", jobs, "at least 1")
    _refuse_unless(rate_per_s > 0, "rate_per_s", rate_per_s, "more than 0")
    _refuse_unless(mean_run_time_s > 0, "mean_run_time_s", mean_run_time_s, "more than 0")
    _refuse_unless(cores >= 1, "cores", cores, "at least 1")
    table = pl.DataFrame(
        {
            "job_id": _names(np.arange(1, jobs + 1)),
            "submit_time": np.cumsum(_stream(seed, _ARRIVALS).exponential(1.0 / rate_per_s, jobs)),
            "run_time": _stream(seed, _RUN_TIMES).exponential(mean_run_time_s, jobs),
            "cores": np.full(jobs, cores, dtype=np.int64),
        }
    )
    return Workload.of(table, name=f"poisson-{jobs}-seed-{seed}")


def lublin(
    jobs: int, cores: int, load: float, seed: int = 0, max_cores: int | None = None, daily_cycle: bool = True
) -> Workload:
    """A supercomputer's log after Lublin and Feitelson (2003), with users and rounded estimates as walltimes.

    `load` is the work of all jobs (cores times run time) over `cores` times the time from the first to the last
    arrival; the gaps are scaled to meet it, the cycle of the day is not. No job asks for more than `max_cores`
    (default: all). Times are whole seconds, the origin is a midnight, and no run exceeds its walltime.

    >>> log = lublin(1000, cores=480, load=0.7, seed=1)
    >>> len(log), log.max_cores, bool((log.table["walltime"] >= log.table["run_time"]).all())
    (1000, 480, True)
    """
    largest = cores if max_cores is None else max_cores
    _refuse_unless(jobs >= 2, "jobs", jobs, "at least 2")
    _refuse_unless(load > 0, "load", load, "more than 0")
    _refuse_unless(1 <= largest <= cores, "max_cores", largest, f"1 to {cores}")
    size = _sizes(_stream(seed, _SIZES), jobs, largest)
    run_time = _run_times(_stream(seed, _RUN_TIMES), size)
    span_s = float(np.dot(size, run_time)) / (cores * load)
    submit_time = _arrivals(_stream(seed, _ARRIVALS), jobs, span_s, daily_cycle)
    user = _users(_stream(seed, _USERS), jobs)
    table = pl.DataFrame(
        {
            "job_id": _names(np.arange(1, jobs + 1)),
            "submit_time": submit_time,
            "run_time": run_time,
            "cores": size,
            "walltime": _estimates(_stream(seed, _ESTIMATES), run_time),
            "user": _names(user, "user"),
            "group": _names(user // USERS_PER_GROUP, "group"),
        }
    )
    name = f"lublin-{jobs}-load-{load:g}-seed-{seed}"
    return Workload.of(table, name=name, time_zone="UTC", max_cores=cores)


def _refuse_unless(holds: bool, name: str, value: float, expected: str) -> None:
    if not holds:
        raise InputError(f"generator: {name} is {value}; expected {expected}")


def _stream(seed: int, purpose: int) -> np.random.Generator:
    return np.random.default_rng([seed, purpose])


def _names(numbers: Ints, prefix: str = "") -> pl.Series:
    return pl.select(pl.format(prefix + "{}", pl.lit(pl.Series(numbers)))).to_series()


def _sizes(stream: np.random.Generator, jobs: int, largest: int) -> Ints:
    """Cores of each job: serial, or two-stage uniform in log2 with powers of two favoured."""
    high = math.log2(largest)
    knee = max(SIZE_LOW, high - SIZE_KNEE)
    below_knee = stream.random(jobs) < SIZE_LOW_SHARE
    share = stream.random(jobs)
    log_size = np.where(below_knee, SIZE_LOW + (knee - SIZE_LOW) * share, knee + (high - knee) * share)
    kind = stream.random(jobs)
    log_size = np.where(kind < SERIAL_SHARE + POWER_OF_TWO_SHARE, np.rint(log_size), log_size)
    size = np.where(kind < SERIAL_SHARE, 1.0, np.rint(np.exp2(log_size)))
    return np.clip(size, 1, largest).astype(np.int64)


def _run_times(stream: np.random.Generator, size: Ints) -> Floats:
    """Whole seconds, at least 1: hyper-gamma in ln, where larger jobs are more often long ones."""

    def draw(pick: Ints) -> Floats:
        short = stream.random(len(pick)) < SHORT_RUN_SLOPE * size[pick] + SHORT_RUN_SHARE
        shape = np.where(short, SHORT_RUN_GAMMA[0], LONG_RUN_GAMMA[0])
        return stream.gamma(shape, np.where(short, SHORT_RUN_GAMMA[1], LONG_RUN_GAMMA[1]))

    return np.maximum(1.0, np.rint(np.exp(_redrawn(draw, len(size), LONGEST_RUN_LN))))


def _arrivals(stream: np.random.Generator, jobs: int, span_s: float, daily_cycle: bool) -> Floats:
    """Whole seconds from 0 to `span_s`, sorted.

    The gaps are drawn on a clock that runs with the intensity of the hour; scaling them on that clock, and not
    on the wall's, keeps the busy hours where they are.
    """
    gaps = np.exp(_redrawn(lambda pick: stream.gamma(*GAP_GAMMA, size=len(pick)), jobs - 1, LONGEST_GAP_LN))
    busy_time = np.concatenate(([0.0], np.cumsum(gaps)))
    if not daily_cycle:
        return np.rint(busy_time * (span_s / float(busy_time[-1])))
    wall, busy = _day_clock()
    last = _clock(np.array([span_s]), wall, busy)
    return np.rint(_clock(busy_time * float(last[0] / busy_time[-1]), busy, wall))


def _day_clock() -> tuple[Floats, Floats]:
    """Half hours of a day on the wall's clock and on the clock that runs with the arrivals' intensity."""
    half_hour = np.arange(1.0, 49.0)
    half_hour[half_hour < DAY_START] += 48.0  # the night belongs to the cycle of the day before
    shape, scale = DAY_GAMMA
    weight = half_hour ** (shape - 1.0) * np.exp(-half_hour / scale)
    busy = np.zeros(49)
    np.cumsum(weight, out=busy[1:])
    return np.linspace(0.0, DAY_S, 49), busy * (DAY_S / float(busy[-1]))


def _clock(times: Floats, ticks_from: Floats, ticks_to: Floats) -> Floats:
    """Times on one clock read on the other; both agree at every midnight."""
    days, rest = np.divmod(times, DAY_S)
    return days * DAY_S + np.interp(rest, ticks_from, ticks_to)


def _estimates(stream: np.random.Generator, run_time: Floats) -> Floats:
    """The next round value above run time over accuracy; some users always ask for the most."""
    modal = np.array(MODAL_ESTIMATES_S, dtype=np.float64)
    wanted = run_time / stream.uniform(LEAST_ACCURACY, 1.0, len(run_time))
    rounded = modal[np.minimum(np.searchsorted(modal, wanted), len(modal) - 1)]
    return np.where(stream.random(len(run_time)) < LARGEST_ESTIMATE_SHARE, modal[-1], rounded)


def _users(stream: np.random.Generator, jobs: int) -> Ints:
    """A user number for each job; the share of the n-th user goes with 1/n (Zipf), as in most logs."""
    users = max(1, round(USERS_PER_ROOT * math.sqrt(jobs)))
    ends = np.cumsum(1.0 / np.arange(1, users + 1))
    user = np.searchsorted(ends, stream.random(jobs) * float(ends[-1]), side="right")
    return np.asarray(user, dtype=np.int64)


def _redrawn(draw: Callable[[Ints], Floats], count: int, most: float) -> Floats:
    """`count` draws, those above `most` drawn again, as the authors' program does."""
    values = np.empty(count)
    pick = np.arange(count)
    while len(pick):
        values[pick] = draw(pick)
        pick = pick[values[pick] > most]
    return values
