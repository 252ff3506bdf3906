"""What is not known at a time, drawn from what is: how long jobs will run, and who will arrive.

Nothing here reads what happens after that time: of jobs that have not ended only what they asked for and how long they
have run so far, and of jobs that are submitted later nothing at all.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from unspool.arrays import Array
from unspool.errors import InputError
from unspool.simulation.codes import COMPLETED, RUNNING, TIMED_OUT
from unspool.simulation.engine import Engine
from unspool.workloads.clock import HOUR_S, hours_of_week

__all__ = ["DAY_S", "Arrivals", "RunTimes"]

DAY_S = 24 * HOUR_S
_SATURDAY_H = 120

# What jobs have in common whose run times are drawn from each other's, as shares of their walltimes, and how many of
# them must have ended; from the narrowest to all jobs, the first with enough is taken.
_LIKE: tuple[tuple[tuple[str, ...], int], ...] = (
    (("user", "cores", "walltime"), 30),
    (("user", "walltime"), 30),
    (("size", "walltime"), 30),
    (("walltime",), 30),
    (("length",), 30),
    (("has_walltime",), 1),
)
_STEPS = 20  # values that stand for a range of which nothing is known


class RunTimes:
    """Run times of jobs that have not ended, drawn from those of jobs like them that have.

    Jobs that run now count with what is known of them, that they last longer than they have so far: among the ended
    ones alone, long ones are missing. A job that runs is drawn from those that lasted longer than it has.
    """

    def __init__(self, engine: Engine, at: float) -> None:
        jobs = _known(engine, at)
        self._ran = jobs["ran"].to_numpy()
        self._open = jobs.filter(~pl.col("has_ended"))["job"].to_numpy()
        self._pools = _pools(jobs, self._open)

    def draw(self, stream: np.random.Generator) -> Array:
        """A run time for each job of the run; of those that have ended, the one that they had."""
        run_time = self._ran.copy()
        levels = stream.random(len(self._open))
        run_time[self._open] = [
            values[min(np.searchsorted(up_to, level, "right"), len(values) - 1)]
            for (values, up_to), level in zip(self._pools, levels, strict=True)
        ]
        return run_time


class Arrivals:
    """Jobs that arrive, drawn from the past a day at a time: a day's jobs as they came, at the same time of day.

    So cycles, bursts and what users repeat within a day are kept. A day that begins and ends at a weekend is drawn from
    those that do so too, as long as there are any.
    """

    def __init__(self, engine: Engine, at: float, horizon_s: float) -> None:
        self._at = at
        self._submit = engine.core.jobs["submit"]
        first = float(self._submit.min(initial=np.inf))
        days_ago = np.arange(1, 1 + int(max(at - first, 0.0) // DAY_S))
        if not len(days_ago):
            raise InputError(
                f"{engine.workload.name}: jobs that arrive are drawn from whole days before the time of the forecast, "
                f"and the log has none before {at:g} s; forecast a later time"
            )
        past, to_come = at - DAY_S * days_ago, at + DAY_S * np.arange(int(np.ceil(horizon_s / DAY_S)))
        kinds = [self._kind(engine, days) for days in (past, to_come)]
        self._choices = []
        for kind in kinds[1]:
            same = days_ago[(kinds[0] == kind).all(axis=1)]
            self._choices.append(same if len(same) else days_ago)
        self._end = at + horizon_s

    @staticmethod
    def _kind(engine: Engine, begins: Array) -> Array:
        """Whether a day begins, and whether it ends, at a weekend."""
        log = engine.workload
        hours = [hours_of_week(edge, log.origin_unix_s, log.time_zone) for edge in (begins, begins + DAY_S)]
        return np.stack(hours, axis=1) >= _SATURDAY_H

    def draw(self, stream: np.random.Generator) -> tuple[Array, Array]:
        """Which jobs come again, and when."""
        like, submit = [], []
        for day, choices in enumerate(self._choices):
            later_s = DAY_S * (day + int(stream.choice(choices)))
            edges = self._at + DAY_S * np.array((day, day + 1)) - later_s
            first, last = np.searchsorted(self._submit, edges, "right")
            like.append(np.arange(first, last))
            submit.append(self._submit[first:last] + later_s)
        jobs, times = np.concatenate(like), np.concatenate(submit)
        is_in = (times > self._at) & (times <= self._end)
        return jobs[is_in], times[is_in]


def _known(engine: Engine, at: float) -> pl.DataFrame:
    """What is known of each job: what it asks for, how long it has run, and whether that is all."""
    core, used = engine.core, pl.Series(engine.used)
    fate, attempts = core.fate, engine.attempts
    state = fate["state"]
    ran = np.zeros(len(fate))
    began = fate["attempt"] >= 0
    of_job = attempts[fate["attempt"][began]]
    ran[began] = np.where(of_job["how"] == RUNNING, at, of_job["finish"]) - of_job["start"]
    walltime = engine.workload.column("walltime").gather(used)
    return pl.DataFrame(
        {
            "job": np.arange(len(fate)),
            "user": engine.workload.column("user").gather(used),
            "cores": core.jobs["size"].copy(),
            "walltime": walltime.set(walltime <= 0, None),
            "ran": ran,
            "has_ended": state > RUNNING,
            "is_running": state == RUNNING,
            # Of a job that a policy killed or turned away, it is not known how long it would have run.
            "is_whole": (state == COMPLETED) | (state == TIMED_OUT),
        }
    ).with_columns(
        size=pl.col("cores").log(2).floor(),
        length=pl.col("walltime").log(2).floor(),
        has_walltime=pl.col("walltime").is_not_null(),
        share=pl.col("ran") / pl.col("walltime").fill_null(1.0),
    )


def _pools(jobs: pl.DataFrame, open_jobs: Array) -> list[tuple[Array, Array]]:
    """For each job that has not ended the run times that it may have, and the probability that it is up to each."""
    whole, is_running = jobs["is_whole"].to_numpy(), jobs["is_running"].to_numpy()
    known = np.flatnonzero(whole | is_running)
    share, ran = jobs["share"].to_numpy(), jobs["ran"].to_numpy()
    asked = jobs["walltime"].fill_null(1.0).to_numpy()
    longest = jobs.select(pl.col("walltime").fill_null(0.0)).to_series().to_numpy()
    kinds = [jobs.select(pl.struct(names).rank("dense")).to_series().to_numpy().astype(np.int64) for names, _ in _LIKE]
    ended = [np.bincount(kind[whole], minlength=kind.max(initial=0) + 1) for kind in kinds]
    shares: dict[tuple[int, int], tuple[Array, Array]] = {}
    pools = []
    for job in open_jobs.tolist():
        pool = None
        for level, (_, fewest) in enumerate(_LIKE):
            kind = int(kinds[level][job])
            if ended[level][kind] < fewest:
                continue
            if (level, kind) not in shares:
                like = known[kinds[level][known] == kind]
                shares[level, kind] = _product_limit(share[like], whole[like])
            pool = _beyond(*shares[level, kind], float(asked[job]), float(ran[job]), bool(is_running[job]))
            if pool is not None:
                break
        if pool is None:  # it has run longer than any
            pool = _anywhere_beyond(float(ran[job]), float(longest[job])), np.arange(1, _STEPS + 1) / _STEPS
        pools.append(pool)
    return pools


def _product_limit(share: Array, is_whole: Array) -> tuple[Array, Array]:
    """Values and their weights, where of some only is known that they are larger.

    E. L. Kaplan, P. Meier: "Nonparametric estimation from incomplete observations", Journal of the American
    Statistical Association 53, 1958. If the largest is such a one, what is left may be anything beyond it.
    """
    order = np.lexsort((~is_whole, share))
    share, is_whole = share[order], is_whole[order]
    at_risk = len(share) - np.arange(len(share))
    longer = np.cumprod(1.0 - is_whole / at_risk)
    weight = np.concatenate(([1.0], longer[:-1])) - longer
    values, weights = share[is_whole], weight[is_whole]
    if longer[-1] > 0.0:
        values = np.append(values, _anywhere_beyond(float(share[-1]), 1.0))
        weights = np.append(weights, np.full(_STEPS, longer[-1] / _STEPS))
    return values, weights


def _beyond(values: Array, weights: Array, asked: float, ran: float, is_running: bool) -> tuple[Array, Array] | None:
    """The run times of a job that has run so long; None where none is longer."""
    run_time = values * asked
    is_longer = run_time > ran if is_running else np.ones(len(values), bool)
    total = weights[is_longer].sum()
    if not total > 0.0:
        return None
    return run_time[is_longer], np.cumsum(weights[is_longer]) / total


def _anywhere_beyond(least: float, most: float) -> Array:
    """Values between two, or where the first is the larger, up to twice as much."""
    end = most if most > least else max(2.0 * least, 1.0)
    return least + (end - least) * np.arange(1, _STEPS + 1) / _STEPS
