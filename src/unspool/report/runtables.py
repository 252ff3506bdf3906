"""The tables of the page about a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from unspool.analysis.groups import grouped
from unspool.errors import shown
from unspool.report.content import Cell, Column, Table, table_of
from unspool.report.figures.links import busiest
from unspool.report.shown import amount, change, decimal, duration, energy, money, percent
from unspool.results.result import Result

__all__ = ["figures_of", "figures_table", "group_tables", "links_table", "longest_waits", "policies_table"]

_LONGEST = 20
_GROUPS = ("user", "queue", "project", "partition", "size")
_NOT_FIGURES = ("workload", "platform", "policy", "notes", "timing", "warning")
_ENDINGS: tuple[tuple[str, Callable[[Any], str]], ...] = (
    ("_s", duration), ("_usd", money), ("_j", energy), ("utilisation", percent), ("_share", percent),
)  # fmt: skip


def _written(name: str, value: Any) -> str:
    """A figure of a summary as its name says: a time, dollars, a share, a number."""
    if not isinstance(value, int | float):
        return str(value)
    return next((text for ending, text in _ENDINGS if name.endswith(ending)), amount)(value)


def _words(name: str) -> str:
    return name.removesuffix("_s").replace("_", " ").replace("p95", "95th percentile of").replace(" usd", "")


def policies_table(results: Sequence[Result]) -> Table:
    """One row a policy with the figures that matter most."""
    first = results[0].summary
    columns: dict[str, Column] = {
        "policy": Column("policy"),
        "mean_wait_s": Column("mean wait", duration, bar=True),
        "against": Column(f"against {shown(results[0].policy, 20)}", lambda share: change(1.0 + share, 1.0)),
        "p95_wait_s": Column("95% wait at most", duration),
        "max_wait_s": Column("longest wait", duration),
        "mean_bounded_slowdown": Column("mean bounded slowdown", amount),
        "utilisation": Column("used", percent),
        "makespan_s": Column("makespan", duration),
    }
    if any(result.summary["jobs"] != first["jobs"] for result in results):
        columns["jobs"] = Column("jobs", amount)
    if "total_cost_usd" in first:
        columns["total_cost_usd"] = Column("cost", money)
    if any("energy_j" in result.summary for result in results):
        columns |= {"energy_j": Column("energy", energy), "peak_power_w": Column("peak power, W", amount)}
    base = first["mean_wait_s"]
    waits = [one.summary["mean_wait_s"] for one in results]
    rows = [
        {**one.summary, "against": wait / base - 1.0 if base and wait is not None else None}
        for one, wait in zip(results, waits, strict=True)
    ]
    frame = pl.DataFrame([{name: row.get(name) for name in columns} for row in rows], infer_schema_length=None)
    return table_of(frame, columns, "policies", "The policies side by side")


def figures_of(result: Result) -> list[tuple[str, str]]:
    """Every figure of a run with its unit."""
    return [(_words(name), _written(name, value)) for name, value in result.summary.items() if name not in _NOT_FIGURES]


def figures_table(results: Sequence[Result]) -> Table:
    """Every figure, one row each, a column for each policy."""
    names = [name for name in results[0].summary if name not in _NOT_FIGURES]
    rows = []
    for name in names:
        values = [result.summary.get(name) for result in results]
        rows.append(
            [
                Cell(_words(name), name),
                *(Cell("" if value is None else _written(name, value), value) for value in values),
            ]
        )
    policies = [shown(result.policy) for result in results]
    return Table("figures", "Every figure, by policy", ["figure", *policies], ["figure", *policies], rows)


def group_tables(results: Sequence[Result]) -> list[Table]:
    """By user, queue, project, partition and size: jobs, core-hours, and the mean wait under each policy."""
    if not all(len(result.jobs) for result in results):
        return []
    return [_by(results, by) for by in _GROUPS if by == "size" or all(_says(result, by) for result in results)]


def _says(result: Result, column: str) -> bool:
    return column in result.jobs.columns and result.jobs[column].null_count() < len(result.jobs)


def _by(results: Sequence[Result], by: str) -> Table:
    tables = [_grouped(result, by) for result in results]
    frame = tables[0]
    columns = {
        "name": Column("cores of the job" if by == "size" else by),
        "jobs": Column("jobs", amount),
        "core_hours": Column("core-hours", amount, bar=True),
    }
    for at, (result, table) in enumerate(zip(results, tables, strict=True)):
        names = {
            "mean_wait_s": f"mean_wait_s_{at}",
            "longest_wait_s": f"longest_wait_s_{at}",
            "mean_slowdown": f"mean_slowdown_{at}",
        }
        frame = frame.join(
            table.select("name", **{new: old for old, new in names.items()}),
            on="name",
            how="left",
            maintain_order="left",
        )
        under = "" if len(results) == 1 else f" under {shown(result.policy, 20)}"
        columns[names["mean_wait_s"]] = Column(f"mean wait{under}", duration, bar=len(results) == 1)
        if len(results) == 1:
            columns[names["longest_wait_s"]] = Column("longest wait", duration)
            columns[names["mean_slowdown"]] = Column("mean bounded slowdown", amount)
    return table_of(frame, columns, f"by_{by}", f"By {by}", rest="jobs.parquet")


def _grouped(result: Result, by: str) -> pl.DataFrame:
    names, numbers = grouped(result.jobs, by)
    table = result.jobs.select(
        "wait_time",
        "bounded_slowdown",
        number=pl.Series(numbers),
        core_hours=pl.col("cores") * pl.col("run_time") / 3600.0,
    )
    sums = table.group_by("number").agg(
        jobs=pl.len().cast(pl.Int64),
        core_hours=pl.col("core_hours").sum(),
        mean_wait_s=pl.col("wait_time").mean(),
        longest_wait_s=pl.col("wait_time").max(),
        mean_slowdown=pl.col("bounded_slowdown").mean(),
    )
    order = "number" if by == "size" else "core_hours"
    named = sums.with_columns(name=pl.Series(names, dtype=pl.String).gather(sums["number"]))
    return named.sort(order, "name", descending=[by != "size", False])


def longest_waits(result: Result) -> Table:
    """The jobs that wait longest."""
    kept = [name for name in ("user", "queue") if name in result.jobs.columns]
    columns: dict[str, Column] = {
        "job_id": Column("job"),
        **{name: Column(name) for name in kept},
        "cores": Column("cores", amount),
        "run_time": Column("run time", duration),
        "wait_time": Column("wait", duration, bar=True),
        "bounded_slowdown": Column("bounded slowdown", amount),
        "state": Column("ended"),
    }
    jobs = (
        result.jobs.select(*columns)
        .top_k(_LONGEST, by="wait_time")
        .sort("wait_time", "job_id", descending=[True, False])
    )
    return table_of(jobs, columns, "longest_waits", f"The longest waits under {shown(result.policy)}")


def links_table(result: Result) -> Table:
    """The links of which most was used."""
    columns = {
        "resource": Column("link"),
        "mean_use": Column("used on average", percent, bar=True),
        "most_use": Column("at most", percent),
        "amount": Column("carried", lambda size: decimal(size, "B")),
        "capacity": Column("bandwidth", lambda size: decimal(size, "B/s")),
    }
    heading = f"The busiest links under {shown(result.policy)}"
    return table_of(busiest(result), columns, "links", heading, rest="network_use.parquet")
