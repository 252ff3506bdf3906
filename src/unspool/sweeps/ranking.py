"""Which point of a sweep is best: means with intervals, paired differences, the Pareto front, and what matters.

Runs with the same seed and window meet the same draws, so that points are compared pair by pair: Student's paired t,
with Holm's correction for as many comparisons as there are (S. Holm: "A simple sequentially rejective multiple test
procedure", Scandinavian Journal of Statistics 6(2), 1979). The share of a parameter is the correlation ratio: the
variance of the means over its values, by the variance of all (K. Pearson, 1905), which for a full grid is the
first-order index of Sobol.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from unspool.errors import InputError, UnknownName
from unspool.sweeps.unrun import JOBS_NOT_RUN, RUNS_FEWER, mark_fewer, not_run_of_points
from unspool.sweeps.work import ELAPSED, ERROR, KEY

__all__ = ["alike", "figures_of", "pareto_front", "ranking", "sensitivity"]

_NO_FIGURE = {KEY, ERROR, ELAPSED, "host", "schedule", "workload_digest", "seed"}


def figures_of(runs: pl.DataFrame, design: Sequence[str], blocks: Sequence[str] = ()) -> list[str]:
    """The columns that hold figures: numbers that are no settings."""
    without = _NO_FIGURE.union(design, blocks)
    return [name for name, kind in runs.schema.items() if kind.is_numeric() and name not in without]


def ranking(
    runs: pl.DataFrame,
    by: str,
    design: Sequence[str],
    blocks: Sequence[str] = ("seed",),
    *,
    maximise: bool = False,
    confidence: float = 0.95,
) -> pl.DataFrame:
    """One row a point, the best first: `runs`, `mean`, its interval, and the difference to the best with its own.

    `p_value` is of that difference being none, corrected; `is_as_good` says that it is not told from none. A difference
    that is the same in all pairs has no p value: nothing in it is drawn. A figure of one run has no interval.

    Points that leave out more jobs (`jobs_not_run`, the mean of a run) than the point that leaves out the fewest have
    `runs_fewer_jobs`: they come after the others, by how many they leave out, and are not compared with the best,
    because theirs is a figure of other jobs. Points of which a run failed, or that lack the figure, come last.

    >>> runs = pl.DataFrame({"policy": ["a", "a", "b", "b"], "seed": [0, 1, 0, 1], "wait": [1.0, 3.0, 4.0, 6.1],
    ...                      "error": [None] * 4}, schema_overrides={"error": pl.String})
    >>> ranking(runs, "wait", ["policy"]).select("policy", "mean", "difference", "is_as_good").rows()
    [('a', 2.0, None, None), ('b', 5.05, 3.05, False)]
    """
    _refuse_unknown(runs, by)
    keys = [name for name in design if name in runs.columns]
    if not keys:
        runs, keys = runs.with_columns(pl.lit("all runs").alias("point")), ["point"]
    order = runs.select(keys).unique(maintain_order=True)
    pairing = [name for name in blocks if name in runs.columns]
    good = runs.filter(pl.col(ERROR).is_null(), pl.col(by).is_not_null())
    columns = [*dict.fromkeys([*keys, *pairing, by])]
    parts = good.select(columns).partition_by(keys, as_dict=True)
    failed = dict(zip(*_failures(runs, keys), strict=True))
    series = {
        point: _series(parts[point], by, pairing) if point in parts else _series(good.head(0), by, pairing)
        for point in order.iter_rows()
    }
    told = [
        _row(dict(zip(keys, point, strict=True)), each["value"].to_numpy(), failed.get(point, 0), confidence)
        for point, each in series.items()
    ]
    sign = -1.0 if maximise else 1.0
    not_run = not_run_of_points(runs.filter(pl.col(ERROR).is_null()), keys)
    for row, point in zip(told, series, strict=True):
        row[JOBS_NOT_RUN] = not_run.get(point)
    mark_fewer(told)
    told.sort(key=lambda row: _place(row, sign))
    best = told[0]
    first = series[tuple(best[key] for key in keys)]
    for row in told[1:]:
        if not row[RUNS_FEWER]:
            row.update(_difference(series[tuple(row[key] for key in keys)], first, confidence))
    _correct(told, confidence)
    for place, row in enumerate(told, 1):
        row["rank"] = place
    return pl.DataFrame(told, schema={"rank": pl.Int64, **{name: runs.schema[name] for name in keys}, **_SCHEMA})


_SCHEMA = {
    "runs": pl.Int64, "failed": pl.Int64, "mean": pl.Float64, "low": pl.Float64, "high": pl.Float64, "sd": pl.Float64,
    "difference": pl.Float64, "difference_low": pl.Float64, "difference_high": pl.Float64, "p_value": pl.Float64,
    "is_as_good": pl.Boolean, JOBS_NOT_RUN: pl.Float64, RUNS_FEWER: pl.Boolean,
}  # fmt: skip


def _place(row: Mapping[str, Any], sign: float) -> tuple[bool, float, float]:
    """Points with all runs first, of these such that run the most jobs, of these the best."""
    left_out = row[JOBS_NOT_RUN] if row[RUNS_FEWER] else 0.0
    return row["failed"] > 0 or row["mean"] is None, left_out, sign * (row["mean"] or 0.0)


def _refuse_unknown(runs: pl.DataFrame, figure: str) -> None:
    # A figure that no run has, such as the wait of jobs that none started, is a column without a type.
    known = [name for name, kind in runs.schema.items() if kind.is_numeric() or kind == pl.Null]
    if figure not in known:
        raise UnknownName("figure", figure, known)


def _failures(runs: pl.DataFrame, keys: list[str]) -> tuple[list[tuple[Any, ...]], list[int]]:
    """The points of which runs failed, and how many of each."""
    counts = runs.filter(pl.col(ERROR).is_not_null()).group_by(keys).agg(pl.len().alias("how many runs failed"))
    return counts.select(keys).rows(), counts["how many runs failed"].to_list()


def _row(point: dict[str, Any], values: np.ndarray[Any, Any], failed: int, confidence: float) -> dict[str, Any]:
    mean, low, high, sd = _interval(values, confidence)
    return {**dict.fromkeys(_SCHEMA), **point, "runs": len(values), "failed": failed,
            "mean": mean, "low": low, "high": high, "sd": sd}  # fmt: skip


def _interval(values: np.ndarray[Any, Any], confidence: float) -> tuple[float | None, ...]:
    """Mean, both ends of Student's interval, and the standard deviation."""
    from scipy.stats import t

    if not len(values):
        return None, None, None, None
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, None, None, None
    if np.ptp(values) == 0.0:
        return (float(values[0]),) * 3 + (0.0,)
    sd = float(values.std(ddof=1))
    half = float(t.ppf((1.0 + confidence) / 2.0, len(values) - 1)) * sd / math.sqrt(len(values))
    return mean, mean - half, mean + half, sd


def _series(good: pl.DataFrame, by: str, pairing: list[str]) -> pl.DataFrame:
    return good.select(*pairing, value=pl.col(by).cast(pl.Float64))


def _difference(mine: pl.DataFrame, first: pl.DataFrame, confidence: float) -> dict[str, Any]:
    """How much a point differs from the best, over the pairs that both have."""
    from scipy.stats import t

    pairing = [name for name in mine.columns if name != "value"]
    if pairing:
        both = mine.join(first, on=pairing, how="inner", suffix="_first", nulls_equal=True)
        change = (both["value"] - both["value_first"]).to_numpy()
    else:
        change = np.array([])
    mean, low, high, sd = _interval(change, confidence)
    if sd is None:
        return {"difference": mean}
    assert mean is not None
    if sd == 0.0:
        p_value = 1.0 if mean == 0.0 else None
    else:
        p_value = 2.0 * float(t.sf(abs(mean) / (sd / math.sqrt(len(change))), len(change) - 1))
    return {"difference": mean, "difference_low": low, "difference_high": high, "p_value": p_value}


def _correct(told: list[dict[str, Any]], confidence: float) -> None:
    """Holm: the smallest of n times n, the next times n - 1, and none below the one before."""
    for row in told:
        row["is_as_good"] = False if row["difference_low"] is not None or row[RUNS_FEWER] else None
    tested = sorted((row for row in told if row["p_value"] is not None), key=lambda row: row["p_value"])
    largest = 0.0
    for at, row in enumerate(tested):
        largest = max(largest, min(1.0, row["p_value"] * (len(tested) - at)))
        row["p_value"] = largest
        row["is_as_good"] = largest >= 1.0 - confidence


def pareto_front(table: pl.DataFrame, figures: Sequence[str], maximised: Sequence[str] = ()) -> pl.Series:
    """For each row whether no other is as good in all figures and better in one.

    Rows that lack a figure are on no front, nor are those that `runs_fewer_jobs` of a ranking marks; they beat none.

    >>> table = pl.DataFrame({"cost": [1.0, 2.0, 3.0], "wait": [9.0, 5.0, 6.0]})
    >>> pareto_front(table, ["cost", "wait"]).to_list()
    [True, True, False]
    """
    for name in figures:
        _refuse_unknown(table, name)
    values = np.column_stack([
        table[name].cast(pl.Float64).fill_null(math.inf if name not in maximised else -math.inf).to_numpy()
        * (-1.0 if name in maximised else 1.0)
        for name in figures
    ])  # fmt: skip
    is_best = np.array([bool(np.isfinite(row).all()) for row in values])
    if RUNS_FEWER in table.columns:
        is_best &= ~table[RUNS_FEWER].fill_null(False).to_numpy()
    # By the first figure, then the next: only those that came before can be better.
    kept: list[np.ndarray[Any, Any]] = []
    for at in np.lexsort(values.T[::-1]):
        mine = values[at]
        if is_best[at] and any((other <= mine).all() and (other < mine).any() for other in kept):
            is_best[at] = False
        elif is_best[at]:
            kept.append(mine)
    return pl.Series("is_best", is_best)


def sensitivity(runs: pl.DataFrame, by: str, parameters: Sequence[str]) -> pl.DataFrame:
    """How much of the variance of a figure each parameter explains alone, the largest first.

    Columns: `parameter`, `share`, `values`, `lowest` and `highest`, the means over its best and worst value. A number
    with more than twenty values, such as a drawn one, is put into ten classes of equally many runs.

    >>> runs = pl.DataFrame({"a": [1, 1, 2, 2], "b": [1, 2, 1, 2], "f": [0.0, 1.0, 4.0, 5.0], "error": [None] * 4},
    ...                     schema_overrides={"error": pl.String})
    >>> sensitivity(runs, "f", ["b", "a"]).select("parameter", pl.col("share").round(3)).rows()
    [('a', 0.941), ('b', 0.059)]
    """
    _refuse_unknown(runs, by)
    good = runs.filter(pl.col(ERROR).is_null(), pl.col(by).is_not_null())
    if not len(good):
        raise InputError(f"{by}: no run has it; nothing can be said of what it depends on")
    value = good[by].cast(pl.Float64)
    total = float(value.var(ddof=0) or 0.0)  # type: ignore[arg-type]
    rows = []
    for name in parameters:
        if name not in good.columns:
            continue
        group = good[name]
        if group.dtype.is_numeric() and group.n_unique() > 20:
            group = (group.rank("ordinal") * 10 // (len(group) + 1)).alias(name)
        means = pl.DataFrame({"group": group, "value": value}).group_by("group").agg(
            mean=pl.col("value").mean(), runs=pl.len()
        )  # fmt: skip
        overall = float(value.mean() or 0.0)  # type: ignore[arg-type]
        between = float(((means["mean"] - overall) ** 2 * means["runs"]).sum()) / len(good)
        rows.append({"parameter": name, "share": between / total if total else 0.0, "values": len(means),
                     "lowest": means["mean"].min(), "highest": means["mean"].max()})  # fmt: skip
    schema = {"parameter": pl.String, "share": pl.Float64, "values": pl.Int64, "lowest": pl.Float64,
              "highest": pl.Float64}  # fmt: skip
    return pl.DataFrame(rows, schema=schema).sort("share", descending=True, maintain_order=True)


def alike(runs: pl.DataFrame, design: Sequence[str], blocks: Sequence[str]) -> bool:
    """Whether seeds made no difference anywhere, although there were several: nothing in the runs is drawn."""
    others = [name for name in (*design, *blocks) if name in runs.columns and name != "seed"]
    good = runs.filter(pl.col(ERROR).is_null())
    if "schedule" not in good.columns or "seed" not in good.columns or good["seed"].n_unique() < 2:
        return False
    grouped = good.group_by(others) if others else good.group_by(pl.lit(1))
    return bool((grouped.agg(pl.col("schedule").n_unique())["schedule"] == 1).all())
