"""A supercomputer's log after Lublin and Feitelson, with users, estimates and, if wanted, weekends.

U. Lublin, D. G. Feitelson: "The workload on parallel supercomputers: modeling the characteristics of rigid jobs",
Journal of Parallel and Distributed Computing 63(11), 2003. The values are those of the model without the distinction
between batch and interactive jobs. The paper has a cycle of the day and none of the week: the weekend is ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import polars as pl

from unspool.model.workload import MOST_CORES, MOST_SECONDS, Workload
from unspool.workloads.generators.estimates import estimates
from unspool.workloads.generators.streams import (
    ARRIVALS,
    ESTIMATES,
    RUN_TIMES,
    SIZES,
    USERS,
    Floats,
    Ints,
    names,
    refuse_unless,
    stream,
)

__all__ = ["lublin"]

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

USERS_PER_ROOT = 2.0  # a log of n jobs has about this many users times sqrt(n)
USERS_PER_GROUP = 8
DAY_S = 86_400.0
FIRST_WEEKDAY, SATURDAY = 3, 5  # 1970-01-01 was a Thursday; Monday is 0


def lublin(
    jobs: int,
    cores: int,
    load: float,
    seed: int = 0,
    max_cores: int | None = None,
    daily_cycle: bool = True,
    weekend_weight: float = 1.0,
    origin_unix_s: float = 0.0,
) -> Workload:
    """A supercomputer's log after Lublin and Feitelson (2003), with users and rounded estimates as walltimes.

    `load` is the work of all jobs (cores times run time) over `cores` times the time from the first to the last
    arrival; the gaps are scaled to meet it, the cycles are not. No job asks for more than `max_cores` (default: all).
    `weekend_weight` is how many jobs arrive on a Saturday or Sunday for each one of a working day; the paper's model
    has no weeks, which is 1. The first job is submitted at `origin_unix_s`, a midnight in UTC. Times are whole
    seconds, and no run exceeds its walltime.

    >>> log = lublin(1000, cores=480, load=0.7, seed=1)
    >>> len(log), log.max_cores, bool((log.table["walltime"] >= log.table["run_time"]).all())
    (1000, 480, True)
    """
    largest = cores if max_cores is None else max_cores
    refuse_unless(jobs >= 2, "jobs", jobs, "at least 2")
    refuse_unless(load > 0, "load", load, "more than 0")
    refuse_unless(1 <= cores <= MOST_CORES, "cores", cores, f"1 to {MOST_CORES}")
    refuse_unless(1 <= largest <= cores, "max_cores", largest, f"1 to {cores}")
    refuse_unless(weekend_weight > 0, "weekend_weight", weekend_weight, "more than 0")
    is_midnight = origin_unix_s >= 0 and origin_unix_s % DAY_S == 0
    refuse_unless(is_midnight, "origin_unix_s", origin_unix_s, "a midnight in UTC, a multiple of 86400")
    size = _sizes(stream(seed, SIZES), jobs, largest)
    run_time = _run_times(stream(seed, RUN_TIMES), size)
    work = float(np.dot(size, run_time))
    span_s = work / (cores * load)
    # Arrivals are whole seconds, so that within less than one there is no load to be met.
    fits = f"from {work / cores / MOST_SECONDS:.3g} to {work / cores:.3g} with this many jobs and cores"
    refuse_unless(1.0 <= span_s <= MOST_SECONDS, "load", load, fits)
    cycle = _cycle(daily_cycle, weekend_weight, origin_unix_s)
    submit_time = _arrivals(stream(seed, ARRIVALS), jobs, span_s, cycle)
    user = _users(stream(seed, USERS), jobs)
    table = pl.DataFrame(
        {
            "job_id": names(np.arange(1, jobs + 1)),
            "submit_time": submit_time,
            "run_time": run_time,
            "cores": size,
            "walltime": estimates(stream(seed, ESTIMATES), run_time),
            "user": names(user, "user"),
            "group": names(user // USERS_PER_GROUP, "group"),
        }
    )
    name = f"lublin-{jobs}-load-{load:g}-seed-{seed}"
    return Workload.of(table, name=name, time_zone="UTC", max_cores=cores, origin_unix_s=origin_unix_s)


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


def _arrivals(stream: np.random.Generator, jobs: int, span_s: float, cycle: tuple[Floats, Floats] | None) -> Floats:
    """Whole seconds from 0 to `span_s`, sorted.

    The gaps are drawn on a clock that runs with the intensity of the hour; scaling them on that clock, and not
    on the wall's, keeps the busy hours where they are.
    """
    gaps = np.exp(_redrawn(lambda pick: stream.gamma(*GAP_GAMMA, size=len(pick)), jobs - 1, LONGEST_GAP_LN))
    busy_time = np.concatenate(([0.0], np.cumsum(gaps)))
    if cycle is None:
        return np.rint(busy_time * (span_s / float(busy_time[-1])))
    wall, busy = cycle
    last = _clock(np.array([span_s]), wall, busy)
    return np.rint(_clock(busy_time * float(last[0] / busy_time[-1]), busy, wall))


def _cycle(daily_cycle: bool, weekend_weight: float, origin_unix_s: float) -> tuple[Floats, Floats] | None:
    """The period's ticks on the wall's clock and on the one that runs with the arrivals' intensity; None: they agree.

    The period is a day, or a week where weekends count.
    """
    if not daily_cycle and weekend_weight == 1.0:
        return None
    weight = _half_hours_of_a_day() if daily_cycle else np.ones(48)
    if weekend_weight != 1.0:
        weekday = (FIRST_WEEKDAY + int(origin_unix_s // DAY_S) + np.arange(7)) % 7
        weight = np.outer(np.where(weekday >= SATURDAY, weekend_weight, 1.0), weight).ravel()
    busy = np.concatenate(([0.0], np.cumsum(weight)))
    period_s = DAY_S * (len(weight) // 48)
    return np.linspace(0.0, period_s, len(busy)), busy * (period_s / float(busy[-1]))


def _half_hours_of_a_day() -> Floats:
    half_hour = np.arange(1.0, 49.0)
    half_hour[half_hour < DAY_START] += 48.0  # the night belongs to the cycle of the day before
    shape, scale = DAY_GAMMA
    return np.asarray(half_hour ** (shape - 1.0) * np.exp(-half_hour / scale))


def _clock(times: Floats, ticks_from: Floats, ticks_to: Floats) -> Floats:
    """Times on one clock read on the other; both agree at the end of every period."""
    period_s = float(ticks_from[-1])
    periods, rest = np.divmod(times, period_s)
    return periods * period_s + np.interp(rest, ticks_from, ticks_to)


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
