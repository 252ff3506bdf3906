"""Jobs that a run does not run: a figure of fewer jobs is no better for it.

A run may reject jobs that do not fit its platform, and its waits and costs are those of the rest. So a point that
leaves more jobs out than the one that leaves the fewest comes after all others: in rankings, on fronts, in a search.
If a large share of a log was rejected, a sweep says so first, as a single run does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

import polars as pl

from unspool.report.shown import amount
from unspool.results.rejection import SHARES, warning_of
from unspool.sweeps.work import REJECTED
from unspool.units import counted

__all__ = [
    "JOBS_NOT_RUN",
    "RUNS_FEWER",
    "mark_fewer",
    "mean_not_run",
    "not_run_of_points",
    "told_unrun",
    "warning_of_runs",
]

JOBS_NOT_RUN, RUNS_FEWER = "jobs_not_run", "runs_fewer_jobs"
"""Of a point: how many jobs a run leaves out in the mean, and whether that is more than the fewest."""


def mean_not_run(rows: Iterable[Mapping[str, Any]]) -> float:
    """How many jobs these rows of the dataset leave out, in the mean; what does not say leaves none out.

    >>> mean_not_run([{"rejected_jobs": 3}, {"rejected_jobs": 4}, {"rejected_jobs": None}, {}])
    1.75
    """
    return fmean(row.get(REJECTED) or 0 for row in rows)


def not_run_of_points(runs: pl.DataFrame, keys: Sequence[str]) -> dict[tuple[Any, ...], float]:
    """How many jobs the runs of each point leave out in the mean, those without the figure included."""
    if REJECTED not in runs.columns:
        return {}
    count = pl.col(REJECTED).cast(pl.Float64).fill_null(0.0).mean().alias("jobs not run, in the mean")
    told = runs.group_by(list(keys)).agg(count)
    return dict(zip(told.select(keys).rows(), told[count.meta.output_name()].to_list(), strict=True))


def mark_fewer(points: Sequence[dict[str, Any]]) -> None:
    """Mark the points that leave more jobs out than the fewest; one of which runs failed does not say what is fewest.

    >>> points = [{"failed": 0, "jobs_not_run": 4.0}, {"failed": 0, "jobs_not_run": 1.0}]
    >>> mark_fewer(points)
    >>> [each["runs_fewer_jobs"] for each in points]
    [True, False]
    """
    known = [each for each in points if each[JOBS_NOT_RUN] is not None]
    whole = [each for each in known if not each["failed"]] or known
    fewest = min((each[JOBS_NOT_RUN] for each in whole), default=0.0)
    for each in points:
        each[RUNS_FEWER] = each[JOBS_NOT_RUN] is not None and each[JOBS_NOT_RUN] > fewest


def told_unrun(table: pl.DataFrame) -> str:
    """A sentence on the points of a ranking that leave jobs out; empty where none does."""
    left = table[JOBS_NOT_RUN].drop_nulls()
    if not len(left) or not left.sum():
        return ""
    few = int(table[RUNS_FEWER].sum())
    if not few:
        fewest = float(left.min())  # type: ignore[arg-type]
        return f"No point runs all jobs: each leaves out {amount(fewest)} in a run"
    they = "leaves out more jobs than another and comes" if few == 1 else "leave out more jobs than others and come"
    return f"{counted(few, 'point')} {they} last: a figure of fewer jobs is no better for it"


def warning_of_runs(runs: pl.DataFrame) -> str | None:
    """What a sweep says first if a large share of a log was rejected in some run, else None."""
    rows = runs.rows(named=True) if SHARES[0] in runs.columns else []
    found = [text for row in rows if (text := warning_of(row)) is not None]
    if not found:
        return None
    worst = warning_of(max(rows, key=lambda row: max(row.get(name) or 0.0 for name in SHARES)))
    if len(found) == len(rows) and len(set(found)) == 1:
        return worst
    return f"In {len(found):,} of {counted(len(rows), 'run')}, a large share was rejected, in the worst: {worst}"
