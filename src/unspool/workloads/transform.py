"""Logs made from logs: a window, a filter, more or less load, longer runs, a sample, another time.

Each function gives a new workload and says in its `notes` what it did. Jobs that are left out are no longer waited for.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import date

import numpy as np
import numpy.typing as npt
import polars as pl

from unspool.errors import InputError
from unspool.model.dependencies import listed
from unspool.model.workload import Workload
from unspool.units import counted
from unspool.workloads.clock import HOUR_S, seconds_of_date
from unspool.workloads.conditions import condition, divides_by_0
from unspool.workloads.merging import merge

__all__ = ["filter", "merge", "scale_load", "scale_run_times", "shift", "thin", "window"]

Ints = npt.NDArray[np.int64]

# One random stream for each purpose; a number never changes its meaning, nor is it one of the generators'.
_THIN, _PICK, _JITTER = range(100, 103)
_MOST_COPIES = 1_000


def window(
    workload: Workload, start: float | str | date | None = None, end: float | str | date | None = None
) -> Workload:
    """The jobs submitted from `start` on and before `end`: seconds since the origin, or dates if that is known.

    Dates are in the log's zone, UTC if it has none, unless they say one. Times stay as they are: `shift` moves them.

    >>> from unspool.workloads.generators import poisson
    >>> part = window(poisson(100, rate_per_s=1.0, mean_run_time_s=5.0), 10.0, 20.0)
    >>> part.table["submit_time"].is_between(10.0, 20.0).all()
    True
    """
    low, high = (
        edge if edge is None or isinstance(edge, int | float) else seconds_of_date(edge, workload)
        for edge in (start, end)
    )
    for edge in (low, high):
        if edge is not None and not math.isfinite(edge):
            raise InputError(f"window: an edge is {edge}; expected seconds since the origin, or a date")
    if low is not None and high is not None and low >= high:
        raise InputError(f"window: it begins at {start} and ends at {end}; expected an end after the beginning")
    is_in = pl.lit(True)
    if low is not None:
        is_in &= pl.col("submit_time") >= low
    if high is not None:
        is_in &= pl.col("submit_time") < high
    told = " ".join(
        [*([f"from {start}"] if start is not None else []), *([f"before {end}"] if end is not None else [])]
    )
    return _kept(workload, workload.table.select(is_in).to_series(), f"window {told}".strip())


def filter(workload: Workload, where: str | pl.Expr, told: str | None = None) -> Workload:
    """The jobs for which a condition holds: a text such as `cores <= 64 and user == 'ann'`, or a Polars expression.

    The note calls it `told`; if left out, a filter and its text.

    >>> from unspool.workloads.generators import lublin
    >>> filter(lublin(100, cores=64, load=0.8), "cores == 64 or run_time < 60").table["cores"].max()
    64
    """
    wanted = condition(where, workload.table.schema) if isinstance(where, str) else where
    try:
        is_in = workload.table.select(wanted.alias("wanted")).to_series()
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"{workload.name}: the filter cannot be computed: {str(error).partition(chr(10))[0]}"
        ) from error
    if is_in.dtype != pl.Boolean or len(is_in) != len(workload):
        raise InputError(f"{workload.name}: the filter gives {is_in.dtype}; expected true or false for every job")
    what = told or (f"filter {where}" if isinstance(where, str) else "filter")
    if isinstance(where, str):
        by_0 = len(workload.table.filter(divides_by_0(where, workload.table.schema)))
        workload = _noted(workload, f"{what}: divides by 0 for {counted(by_0)}, where no comparison holds" * (by_0 > 0))
    return _kept(workload, is_in.fill_null(False), what)


def thin(workload: Workload, share: float, seed: int = 0) -> Workload:
    """A sample of the jobs, at random: this share of them, rounded.

    >>> from unspool.workloads.generators import lublin
    >>> len(thin(lublin(100, cores=64, load=0.8), 0.1, seed=1))
    10
    """
    if not 0 < share <= 1:
        raise InputError(f"thin: the share is {share}; expected more than 0, up to 1")
    count = max(1, round(share * len(workload)))
    picked = _stream(seed, _THIN).choice(len(workload), count, replace=False)
    return _kept(workload, _marks(picked, len(workload)), f"thin to {share:g}, seed {seed}")


def scale_load(workload: Workload, factor: float, seed: int = 0) -> Workload:
    """More or less load in the same time and with the same cycles of day and week: jobs are copied or left out.

    Stretching the submit times would move the night into the day. Instead a share of the jobs is left out, or copied;
    copies are submitted at random within the same hour of the same day. The jobs are picked evenly from all sorted by
    work (cores times run time), so that the work comes out near the factor, and small jobs and large in proportion.
    A copy is called after its job, as `17-copy1`, and waits for the jobs that its job waits for.

    >>> from unspool.workloads.generators import lublin
    >>> len(scale_load(lublin(1000, cores=64, load=0.5), 1.5, seed=1))
    1500
    """
    if not 0 < factor <= _MOST_COPIES:
        raise InputError(f"scale_load: the factor is {factor}; expected more than 0, up to {_MOST_COPIES}")
    if not len(workload) or factor == 1:
        return _noted(workload, "scale_load by 1: nothing to do" if factor == 1 else "no jobs to scale the load of")
    whole, part = divmod(factor, 1.0)
    some = _spread_evenly(workload, part, _stream(seed, _PICK))
    before = _work(workload)
    if whole == 0:
        scaled = _kept(workload, _marks(some, len(workload)), f"scale_load by {factor:g}, seed {seed}")
    else:
        copies = list(_copies(workload, int(whole), some, _stream(seed, _JITTER)))
        table = pl.concat([workload.table, *copies]).sort("submit_time", "line", maintain_order=True)
        clashes = table.filter(pl.col("job_id").is_duplicated())["job_id"].n_unique()
        if clashes:
            end = counted(clashes, "id ends", "ids end")
            raise InputError(f"{workload.name}: {end} in -copy and a number already; rename first")
        added = counted(len(table) - len(workload), "copy of a job", "copies of jobs")
        scaled = _noted(
            replace(workload, table=table),
            f"scale_load by {factor:g}, seed {seed}: {added} added, each within the hour of its job",
        )
    return _noted(scaled, f"scale_load: the work is {_work(scaled) / before:.4g} times what it was" if before else "")


def scale_run_times(workload: Workload, factor: float) -> Workload:
    """All run times and walltimes times a factor, in whole seconds (1 at least) if they were whole before.

    >>> from unspool.workloads.generators import lublin
    >>> log = lublin(100, cores=64, load=0.8)
    >>> bool((scale_run_times(log, 2.0).table["run_time"] == 2 * log.table["run_time"]).all())
    True
    """
    if not (factor > 0 and math.isfinite(factor)):
        raise InputError(f"scale_run_times: the factor is {factor}; expected more than 0")
    if workload.profiles:
        raise InputError(
            f"{workload.name}: its jobs have profiles, which scale_run_times does not change; scale their amounts there"
        )
    names = [name for name in ("run_time", "walltime", "cpu_time") if name in workload.table.columns]
    times = workload.table.select(names)
    longer = times.select(pl.all() * factor)
    # Rounded together or not at all: no run comes to exceed its walltime by it.
    if times.select((pl.all() == pl.all().floor()).all()).select(pl.all_horizontal(pl.all())).item():
        longer = longer.select(pl.when(pl.all() > 0).then(pl.all().round().clip(1.0)).otherwise(pl.all()))
    table = workload.table.with_columns(longer)
    facts = {name: getattr(workload, name) for name in workload.__dataclass_fields__ if name != "table"}
    return _noted(Workload.of(table, **facts), f"scale_run_times by {factor:g}: {', '.join(names)}")


def shift(workload: Workload, seconds: float) -> Workload:
    """All jobs submitted so much later, or earlier if negative; the origin stays, so that they move in the calendar.

    >>> from unspool.workloads.generators import lublin
    >>> shift(lublin(100, cores=64, load=0.8), 3600.0).table["submit_time"].min()
    3600.0
    """
    first = float(workload.table["submit_time"][0]) if len(workload) else 0.0
    if not math.isfinite(seconds) or first + seconds < 0:
        raise InputError(
            f"shift: by {seconds:g} s the first job would be submitted before 0; expected {0.0 - first:g} or more"
        )
    facts = {name: getattr(workload, name) for name in workload.__dataclass_fields__ if name != "table"}
    table = workload.table.with_columns(pl.col("submit_time") + seconds)
    return _noted(Workload.of(table, **facts), f"shift by {seconds:g} s")


def _kept(workload: Workload, is_in: pl.Series, what: str) -> Workload:
    """The workload with some of its jobs; those that waited for others no longer wait for jobs left out."""
    out = workload.table.filter(~is_in)["job_id"]
    table = workload.table.filter(is_in)
    workload = _noted(workload, f"{what}: {len(table)} of {len(workload)} jobs kept")
    if len(out) and "depends_on" in table.columns:
        table, count = _no_longer_waiting(table, out)
        waiting = counted(count, "job no longer waits", "jobs no longer wait")
        workload = _noted(workload, f"{what}: {waiting} for jobs that were left out" if count else "")
    return replace(workload, table=table)


def _no_longer_waiting(table: pl.DataFrame, out: pl.Series) -> tuple[pl.DataFrame, int]:
    """The jobs without their dependencies on some, and how many had any; who waits for none has no think time."""
    earlier = listed(table["depends_on"], pl.concat([table["job_id"], out]))
    left = earlier.list.eval(pl.element().filter(~pl.element().is_in(out.implode())))
    has_lost = (left.list.len() < earlier.list.len()).fill_null(False)
    is_alone = has_lost & (left.list.len() == 0)
    depends_on = pl.when(has_lost).then(left.list.join(",")).otherwise("depends_on")
    columns = {
        "depends_on": depends_on,
        **({"think_time": pl.col("think_time")} if "think_time" in table.columns else {}),
    }
    changed = [pl.when(~is_alone).then(column).alias(name) for name, column in columns.items()]
    return table.with_columns(changed), int(has_lost.sum())


def _spread_evenly(workload: Workload, share: float, stream: np.random.Generator) -> Ints:
    """So large a share of the jobs, evenly from all sorted by work; at least one if it is not 0."""
    count = round(share * len(workload))
    if share == 0 or (count == 0 and share < 0.5 / len(workload)):
        return np.zeros(0, np.int64)
    by_work = np.argsort((workload.table["cores"] * workload.table["run_time"]).to_numpy(), kind="stable")
    steps = (np.arange(max(1, count)) + stream.random()) * len(workload) / max(1, count)
    return np.sort(by_work[np.minimum(steps.astype(np.int64), len(workload) - 1)]).astype(np.int64)


def _copies(workload: Workload, whole: int, some: Ints, stream: np.random.Generator) -> Iterator[pl.DataFrame]:
    """For each factor above 1 all jobs again, and then some; each within the hour of its job and the log's time."""
    first, last = (float(workload.table["submit_time"][at]) for at in (0, -1))
    are_whole = bool((workload.table["submit_time"] == workload.table["submit_time"].floor()).all())
    for copy in range(1, whole + 1):
        table = workload.table if copy < whole else workload.table[some]
        if not len(table):
            continue
        hour = (workload.origin_unix_s + table["submit_time"].to_numpy()) // HOUR_S * HOUR_S - workload.origin_unix_s
        low, high = np.maximum(hour, first), np.minimum(hour + HOUR_S, last)
        moved = low + stream.random(len(table)) * (high - low)
        yield table.with_columns(
            submit_time=pl.Series(np.floor(moved) if are_whole else moved), job_id=pl.col("job_id") + f"-copy{copy}"
        )


def _work(workload: Workload) -> float:
    return float((workload.table["cores"] * workload.table["run_time"]).sum())


def _marks(places: Ints, count: int) -> pl.Series:
    marks = np.zeros(count, dtype=bool)
    marks[places] = True
    return pl.Series(marks)


def _stream(seed: int, purpose: int) -> np.random.Generator:
    if seed < 0:
        raise InputError(f"seed is {seed}; expected 0 or more")
    return np.random.default_rng([seed, purpose])


def _noted(workload: Workload, note: str) -> Workload:
    return replace(workload, notes=tuple(builtins.filter(None, (*workload.notes, note))))
