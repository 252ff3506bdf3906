"""Two slowed jobs side by side: when they ran, and how much longer than the fastest run of their profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from unspool.errors import InputError
from unspool.report.figures.contention import contention_of
from unspool.report.figures.style import PALETTE, clock_of, counted, finished, nothing, plain
from unspool.report.shown import duration
from unspool.results.result import Result

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["most_slowed", "slowed_pair"]

_SLOWED = 1.001  # times its fastest run, from which on a job counts as slowed down
_LOOKED_AT = 500  # of the jobs that lost most time
_HEADING = "Two slowed jobs side by side"


class Slowed(NamedTuple):
    """A job that took longer than the fastest run of its profile on as many cores."""

    job_id: str
    profile: str
    cores: int
    start: float
    finish: float
    fastest: float

    @property
    def times(self) -> float:
        """How many times as long as that it took."""
        return (self.finish - self.start) / self.fastest


def slowed_pair(result: Result, first: str | None = None, second: str | None = None) -> Figure:
    """Two jobs over time: as long as their profiles' fastest runs, and how much longer they took.

    Without ids, the job that lost most time to others and the slowed one that ran longest beside it.
    """
    from plotly.graph_objects import Bar, Figure

    pair = most_slowed(result) if first is None or second is None else _named(result, first, second)
    if pair is None:
        return nothing(_HEADING, "No two jobs that ran at the same time took longer than their profiles' fastest runs.")
    clock = clock_of([result])
    names = [f"job {plain(job.job_id)}" for job in pair]
    figure = Figure()
    parts: tuple[tuple[str, list[float], list[float]], ...] = (
        ("fastest run", [job.start for job in pair], [job.fastest for job in pair]),
        ("longer", [job.start + job.fastest for job in pair], [job.finish - job.start - job.fastest for job in pair]),
    )
    for at, (what, begins, lasts) in enumerate(parts):
        figure.add_trace(
            Bar(
                orientation="h", base=clock.of(begins), x=clock.length(lasts), y=names, name=what,
                marker={"color": PALETTE[at], "pattern": {"shape": "/" if at else ""}},
                text=[f"{what}: {duration(last)}" for last in lasts], textposition="none",
                hovertemplate="%{y}, %{text}<extra></extra>",
            )
        )  # fmt: skip
    begin, end = max(job.start for job in pair), min(job.finish for job in pair)
    figure.update_layout(barmode="overlay", xaxis=clock.axis(), yaxis={"autorange": "reversed"})
    if end > begin:
        figure.update_layout(shapes=[_shade(*clock.of([begin, end]).tolist())])
    told = "; ".join(
        f"job {plain(job.job_id)} ({plain(job.profile)}, {counted(job.cores, 'core')}) took "
        f"{duration(job.finish - job.start)}, {job.times:.3g} times the fastest run of its profile here"
        for job in pair
    )
    others = _beside(result, begin, end) - len(pair)
    caption = (
        f"{told[:1].upper()}{told[1:]}. They ran at the same time for {duration(max(end - begin, 0.0))} (shaded), with "
        f"{counted(max(others, 0), 'other job')} running then too. That they "
        "were slow at the same time does not say which links or hosts they shared."
    )
    key = [("fastest run of the profile", PALETTE[0], ""), ("longer than that", PALETTE[1], "spot")]
    return finished(figure, _HEADING, caption, key=key, height=12.0)


def most_slowed(result: Result) -> tuple[Slowed, Slowed] | None:
    """The job that lost most time, and of the slowed ones that ran beside it the one that did so longest."""
    jobs = _jobs(result)
    if not len(jobs):
        return None
    lost = pl.col("run_time") - pl.col("fastest")
    found = jobs.filter(pl.col("run_time") > _SLOWED * pl.col("fastest"))
    rows = [_slowed(row) for row in found.sort(lost, "job_id", descending=[True, False]).head(_LOOKED_AT).rows()]
    for job in rows:
        beside = [(min(job.finish, other.finish) - max(job.start, other.start), other) for other in rows]
        together = [(time, other) for time, other in beside if time > 0.0 and other.job_id != job.job_id]
        if together:
            return job, max(together, key=lambda each: each[0])[1]
    return None


def _named(result: Result, first: str, second: str) -> tuple[Slowed, Slowed] | None:
    rows = {row[0]: _slowed(row) for row in _jobs(result).filter(pl.col("job_id").is_in([first, second])).rows()}
    for name in (first, second):
        if name not in rows:
            raise InputError(f"slowed_pair: no job '{name}' with a profile completed; name two that did")
    return rows[first], rows[second]


def _jobs(result: Result) -> pl.DataFrame:
    """Jobs with a profile that completed: id, profile, cores, start, run time and the profile's fastest run."""
    fastest = contention_of(result).select("profile", "cores", pl.col("shortest_s").alias("fastest"))
    if not len(fastest):
        return pl.DataFrame(schema={"job_id": pl.String})
    return (
        result.jobs.filter((pl.col("state") == "completed") & (pl.col("run_time") > 0.0))
        .with_columns(pl.col("cores").cast(pl.Int64))
        .join(fastest, on=["profile", "cores"], how="inner", maintain_order="left")
        .select("job_id", "profile", "cores", "start_time", "run_time", "fastest")
    )


def _slowed(row: tuple[Any, ...]) -> Slowed:
    job_id, profile, cores, start, run_time, fastest = row
    return Slowed(job_id, profile, cores, start, start + run_time, fastest)


def _beside(result: Result, begin: float, end: float) -> int:
    """How many jobs ran at some time between."""
    attempts = result.attempts
    return len(attempts.filter((pl.col("start_time") < end) & (pl.col("finish_time") > begin)))


def _shade(begin: Any, end: Any) -> dict[str, Any]:
    return {
        "type": "rect", "xref": "x", "yref": "paper", "x0": begin, "x1": end, "y0": 0, "y1": 1, "layer": "below",
        "line": {"width": 0}, "fillcolor": "rgba(127,127,127,.25)",
    }  # fmt: skip
