"""Fit a model to a log: who submits when, what they ask for, how long it runs, and how often they repeat themselves."""

from __future__ import annotations

import numpy as np
import polars as pl

from unspool.errors import InputError
from unspool.model.workload import Workload
from unspool.workloads.generators.busy import BusyClock, week_of
from unspool.workloads.generators.fitted import LEVELS, REQUEST_COLUMNS, RUN_TIME_LEVELS, Fitted
from unspool.workloads.generators.repeats import fit_repeats
from unspool.workloads.generators.streams import refuse_unless
from unspool.workloads.sessions import SESSION_GAP_S, in_sessions

__all__ = ["fit"]

FEWEST_FOR_RUN_TIMES = 20
"""Jobs of a size and a walltime with fewer share their run times with those of similar ones."""

# Jobs are alike in their run times if they are in one power of two, or four, of cores, and of one walltime, or one
# power of two of it. The walltime comes first: those who ask for the most run for any share of it.
_CORES_2 = (pl.col("cores").log(2) + 1e-9).floor()
_CORES_4 = (pl.col("cores").log(4) + 1e-9).floor()
_WALLTIME, _WALLTIME_2 = pl.col("walltime"), (pl.col("walltime").log(2) + 1e-9).floor()
LIKE = (
    (_CORES_2, _WALLTIME),
    (_CORES_4, _WALLTIME),
    (_CORES_2, _WALLTIME_2),
    (_CORES_4, _WALLTIME_2),
    (pl.lit(0.0), _WALLTIME_2),
)

FREQUENT_SHARE = 0.001  # walltimes with this share of all jobs are kept as they are
RARE_WALLTIMES = 100  # of the others, so many quantiles
_ALL_ONE = (1.0,) * len(LEVELS)
GAP_CLASSES = (2, 4, 8, 16, 64, 256)  # least numbers of jobs of a session: long sessions are quick ones


def fit(log: Workload, session_gap_s: float = SESSION_GAP_S) -> Fitted:
    """The model of a log.

    Dependencies, and what happened to the jobs in the log (waits, status, memory used), are not modelled. A log needs
    two jobs at least, and time between them.

    >>> from unspool.workloads.generators import lublin
    >>> model = fit(lublin(500, cores=64, load=0.8))
    >>> model.jobs, len(model.week), model.run_times.columns
    (500, 168, ['least_cores', 'walltime', 'jobs', 'quantiles'])
    """
    refuse_unless(session_gap_s > 0, "session_gap_s", session_gap_s, "more than 0")
    submit_time = log.table["submit_time"]
    if submit_time.n_unique() < 2:
        raise InputError(f"{log.name}: all its jobs are submitted at one time; a fit needs jobs submitted apart")
    jobs, users = _jobs_and_users(log, session_gap_s)
    requests = jobs.group_by("request").first().sort("request").select(*REQUEST_COLUMNS, "run_times")
    repertoires = jobs.group_by("user", "request").len("count").sort("user", "request")
    week, starts, thinks = _arrivals(jobs, log)
    times = log.table.select("submit_time", "run_time")
    return Fitted(
        name=log.name,
        jobs=len(log),
        first_s=float(submit_time[0]),
        span_s=float(submit_time[-1]) - float(submit_time[0]),
        origin_unix_s=log.origin_unix_s,
        time_zone=log.time_zone,
        max_cores=log.max_cores,
        max_machines=log.max_machines,
        are_seconds_whole=bool((times == times.select(pl.all().floor())).to_numpy().all()),
        least_run_time_s=float(log.table["run_time"].min()),  # type: ignore[arg-type]
        session_gap_s=session_gap_s,
        week=week,
        starts=starts,
        thinks=thinks,
        repeats=fit_repeats(jobs, repertoires, requests["cores"]),
        users=users,
        sessions=_sessions(jobs),
        gaps=_gaps(jobs),
        requests=requests,
        repertoires=repertoires.cast(pl.Int64),
        run_times=_run_times(jobs),
    )


def _jobs_and_users(log: Workload, session_gap_s: float) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The jobs by user and submission, users and requests as numbers, with where a job's run time lies among others."""
    columns = pl.DataFrame([log.column(name) for name in (*REQUEST_COLUMNS, "group")])
    columns = columns.with_columns(walltime=_round_walltimes(columns["walltime"]))
    order = in_sessions(log, session_gap_s)
    jobs = pl.concat([order.drop("cores", "walltime"), columns[order["at"]]], how="horizontal")
    users = jobs.group_by("user", maintain_order=True).agg(pl.col("group").mode().sort().first())
    jobs = jobs.with_columns(user=pl.col("user").rle_id().cast(pl.Int64))
    # Numbered in the order of size, so that the requests of one user and one size are neighbours.
    request = pl.struct(REQUEST_COLUMNS).rank("dense").cast(pl.Int64) - 1
    jobs = jobs.with_columns(request=request, run_times=_like_jobs())
    shown = pl.when(pl.col("walltime").is_null()).then("run_time").otherwise(pl.col("run_time") / order["walltime"])
    level = (pl.col("share").rank("average") - 0.5) / pl.len()
    return jobs.with_columns(share=shown).with_columns(level=level.over("run_times")), users


def _round_walltimes(walltime: pl.Series) -> pl.Series:
    """The walltimes, rare ones raised to the next of a few: a log without round values gives no larger model."""
    counts = walltime.drop_nulls().value_counts(name="jobs")
    rare = counts.filter(pl.col("jobs") < FREQUENT_SHARE * len(walltime))[walltime.name]
    if len(rare) <= RARE_WALLTIMES:
        return walltime
    kept = counts.filter(~pl.col(walltime.name).is_in(rare.implode()))[walltime.name].to_numpy()
    some = np.quantile(rare.to_numpy(), np.linspace(0, 1, RARE_WALLTIMES), method="inverted_cdf")
    values = np.unique(np.concatenate((kept, some)))
    asked = walltime.fill_null(values[0]).to_numpy()
    return pl.Series(walltime.name, values[np.searchsorted(values, asked)]).set(walltime.is_null(), None)


def _like_jobs() -> pl.Expr:
    """The number of the set of jobs that share their run times: the first of `LIKE` with enough jobs in it."""
    has_walltime = pl.col("walltime").is_not_null()
    chosen = pl.struct(
        pl.lit(len(LIKE)).alias("like"), pl.lit(0.0).alias("size"), has_walltime.cast(pl.Float64).alias("walltime")
    )
    for place, (size, walltime) in reversed(list(enumerate(LIKE))):
        key = pl.struct(pl.lit(place).alias("like"), size.alias("size"), walltime.alias("walltime"))
        chosen = pl.when(pl.len().over(size, walltime) >= FEWEST_FOR_RUN_TIMES).then(key).otherwise(chosen)
    return chosen.rank("dense").cast(pl.Int64) - 1


def _run_times(jobs: pl.DataFrame) -> pl.DataFrame:
    """The quantiles of each set of jobs that share their run times."""
    sets = jobs.group_by("run_times").agg(
        pl.col("cores").min().alias("least_cores"),
        pl.when(pl.col("walltime").n_unique() == 1).then(pl.col("walltime").first()).alias("walltime"),
        pl.len().cast(pl.Int64).alias("jobs"),
        pl.col("share"),
    )
    quantiles = [_quantiles(share, RUN_TIME_LEVELS) for share in sets.sort("run_times")["share"]]
    return (
        sets.sort("run_times")
        .select("least_cores", "walltime", "jobs")
        .with_columns(quantiles=pl.Series(quantiles, dtype=pl.List(pl.Float64)))
    )


def _sessions(jobs: pl.DataFrame) -> pl.DataFrame:
    lengths = jobs.group_by("user", "session").len("jobs")
    return lengths.group_by("user", "jobs").len("count").sort("user", "jobs").cast(pl.Int64)


def _gaps(jobs: pl.DataFrame) -> pl.DataFrame:
    """Quantiles of the gaps between the jobs of a session, by the length of the session."""
    inside = jobs.with_columns(length=pl.len().over("session")).filter(pl.int_range(pl.len()).over("session") > 0)
    rows = []
    for least, more in zip(GAP_CLASSES, (*GAP_CLASSES[1:], None), strict=True):
        some = inside.filter(pl.col("length") >= least, pl.lit(True) if more is None else pl.col("length") < more)
        if len(some):
            rows.append((least, _quantiles(some["gap"], LEVELS)))
    return pl.DataFrame(rows, {"least_jobs": pl.Int64, "quantiles_s": pl.List(pl.Float64)}, orient="row")


def _arrivals(jobs: pl.DataFrame, log: Workload) -> tuple[tuple[float, ...], ...]:
    """The sessions of each hour of the week; quantiles of the time between any two sessions, and two of one user.

    Between sessions counts the busy clock, over the mean; for those of a user the log is bent to a circle, so that
    they add up to the whole of it.
    """
    first_s, last_s = (float(log.table["submit_time"][at]) for at in (0, -1))
    when = last_s - first_s, log.origin_unix_s + first_s, log.time_zone
    starts = jobs.group_by("session", maintain_order=True).first()
    since_first = starts["submit_time"].to_numpy() - first_s
    week = week_of(since_first, *when)
    clock = BusyClock(*when, week)
    begun = starts.select("user", busy=pl.Series(clock.busy(since_first)))
    back = pl.col("busy").first() + clock.busy_s
    think = (pl.col("busy").shift(-1).fill_null(back) - pl.col("busy")) * pl.len() / clock.busy_s
    thinks = begun.with_columns(think=think.over("user"), sessions=pl.len().over("user")).filter(pl.col("sessions") > 1)
    apart = begun["busy"].sort().diff().drop_nulls() * (len(begun) / clock.busy_s)
    return week, *(tuple(_quantiles(times, LEVELS)) if len(times) else _ALL_ONE for times in (apart, thinks["think"]))


def _quantiles(values: pl.Series, levels: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> list[float]:
    found: list[float] = np.quantile(values.to_numpy(), levels, method="inverted_cdf").tolist()
    return found
