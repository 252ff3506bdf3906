"""How much slower jobs run because they share processors and links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from unspool.report.figures.style import (
    CAPACITY,
    colour_of,
    counted,
    finished,
    left_out,
    log_durations,
    nothing,
    plain,
    policy_key,
)
from unspool.results.result import Result

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["contention", "contention_of"]

_MOST_PROFILES = 1000
_SYMBOLS = ("circle", "diamond", "square", "cross")
_RUNS = {"profile": pl.String, "cores": pl.Int64, "jobs": pl.Int64, "shortest_s": pl.Float64, "mean_s": pl.Float64,
         "longest_s": pl.Float64}  # fmt: skip


def contention(result: Result, *others: Result) -> Figure:
    """How many times as long as its fastest run a profile takes on the mean, under each policy."""
    from plotly.graph_objects import Figure

    results = (result, *others)
    heading = "Slow-down by contention"
    tables = [contention_of(one) for one in results]
    if not any(len(table) for table in tables):
        return nothing(heading, "No job has a profile.")
    fastest = pl.concat(tables).group_by("profile", "cores").agg(fastest_s=pl.col("shortest_s").min())
    kept = _MOST_PROFILES // len(results)
    figure = Figure()
    for at, (one, table) in enumerate(zip(results, tables, strict=True)):
        by_count = table.sort("jobs", "profile", "cores", descending=[True, False, False]).head(kept)
        figure.add_trace(
            _points(one.policy, at, by_count.join(fastest, on=["profile", "cores"], maintain_order="left"))
        )
    alone = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1}
    times = fastest["fastest_s"].to_numpy()
    figure.update_layout(
        xaxis=log_durations("fastest run of the profile", float(times.min()) * 0.7, float(times.max()) * 1.4),
        yaxis={"title": {"text": "run time / fastest run"}},
        shapes=[{**alone, "line": {"dash": "dash", "width": 1, "color": CAPACITY}}],
    )
    left = sum(max(len(table) - kept, 0) for table in tables)
    jobs = sum(int(table["jobs"].sum()) for table in tables)
    few = f" Left out: {counted(left, 'profile')} with the fewest jobs." if left else ""
    caption = (
        "A point is a profile on so many cores: the mean over its jobs that completed, and a line from the shortest to "
        f"the longest; {counted(jobs)} in all. 1 is its fastest run here, which may itself have been slowed "
        f"down.{few} {left_out(results)}"
    )
    return finished(figure, heading, caption, key=policy_key(results))


def contention_of(result: Result) -> pl.DataFrame:
    """For each profile and number of cores: jobs that completed, and their shortest, mean and longest run time."""
    if "profile" not in result.jobs.columns:
        return pl.DataFrame(schema=_RUNS)
    time = pl.col("run_time")
    ended = pl.col("profile").is_not_null() & (pl.col("state") == "completed") & (time > 0.0)
    runs = (
        result.jobs.filter(ended)
        .group_by("profile", "cores")
        .agg(jobs=pl.len(), shortest_s=time.min(), mean_s=time.mean(), longest_s=time.max())
    )
    return runs.select(pl.col(name).cast(kind) for name, kind in _RUNS.items()).sort("profile", "cores")


def _points(policy: str, at: int, table: pl.DataFrame) -> Any:
    from plotly.graph_objects import Scatter

    base = table["fastest_s"].to_numpy()
    least, mean, most = (table[f"{name}_s"].to_numpy() / base for name in ("shortest", "mean", "longest"))
    told = [
        f"profile {plain(profile)}, {counted(jobs)} of {counted(cores, 'core')}"
        for profile, jobs, cores in table.select("profile", "jobs", "cores").iter_rows()
    ]
    return Scatter(
        x=base, y=np.round(mean, 4), mode="markers", name=plain(policy), text=told,
        error_y={"type": "data", "array": np.round(most - mean, 4), "arrayminus": np.round(mean - least, 4),
                 "symmetric": False, "thickness": 1, "width": 3},
        marker={"color": colour_of(at), "symbol": _SYMBOLS[at % len(_SYMBOLS)],
                "size": 6.0 + 3.0 * np.log10(table["jobs"].to_numpy())},
        hovertemplate="%{text}<br>%{fullData.name}: %{y:.3~g} times its fastest run<extra></extra>",
    )  # fmt: skip
