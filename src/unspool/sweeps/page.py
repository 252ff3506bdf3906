"""`sweep.html`: which point is best, how sure that is, what it costs otherwise, and what matters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from unspool.errors import shown
from unspool.report.content import Column, Page, Section, Table, Tile, table_of
from unspool.report.page import write_page
from unspool.report.shown import amount, duration, money, percent
from unspool.results.rejection import with_warning
from unspool.sweeps.figures import front_figure, ranking_figure, sensitivity_figure, spoken
from unspool.sweeps.ranking import alike, figures_of, pareto_front, ranking, sensitivity
from unspool.sweeps.unrun import JOBS_NOT_RUN, RUNS_FEWER, told_unrun, warning_of_runs
from unspool.sweeps.work import ERROR
from unspool.units import counted

__all__ = ["USUAL_FIGURES", "main_figures", "point_names", "shown_as", "sweep_page", "write_sweep_page"]

USUAL_FIGURES = ("mean_wait_s", "total_cost_usd", "mean_bounded_slowdown", "utilisation")
_LARGE_IS_GOOD = ("utilisation", "throughput_per_hour", "jain_index_of_users", "wait_saved_hours")
_NOTE = (
    "Points are compared pair by pair, under the same seeds and windows (Student's paired t, Holm's correction). "
    "Intervals hold for the seeds and windows of this sweep; they say nothing of other logs."
)

_NOT_DRAWN = (
    "The seeds made no difference: nothing in these runs is drawn, so there are no intervals and no p values. Outages, "
    "thin, scale_load, a distribution or a policy that draws would make seeds differ; windows of the log would, too."
)
_MOST_COLUMNS = 5  # that the settings of points have in the table; more are put into one


def shown_as(figure: str) -> Callable[[Any], str]:
    """How the values of a figure are written, by the unit at the end of its name."""
    if figure.endswith("_usd"):
        return money
    if figure.endswith("_s"):
        return duration
    return percent if figure == "utilisation" else amount


def main_figures(runs: pl.DataFrame, facts: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """The figures that matter most, and whether large is good: those that were searched for, or the usual ones."""
    if facts["objectives"]:
        return [(each["figure"], each["is_maximised"]) for each in facts["objectives"]]
    known = figures_of(runs, facts["design"], facts["blocks"])
    found = [(name, name in _LARGE_IS_GOOD) for name in USUAL_FIGURES if name in known]
    varied = [(name, large) for name, large in found if runs[name].n_unique() > 1]
    return varied or found


def write_sweep_page(runs: pl.DataFrame, facts: Mapping[str, Any], path: Path, command: str = "") -> None:
    """Write the page."""
    write_page(sweep_page(runs, facts, command), path)


def sweep_page(runs: pl.DataFrame, facts: Mapping[str, Any], command: str = "") -> Page:
    """What stands on the page."""
    main = main_figures(runs, facts)
    (by, is_maximised), *others = main or [("elapsed_s", False)]
    table = ranking(runs, by, facts["design"], facts["blocks"], maximise=is_maximised)
    names = point_names(table, facts["design"])
    matters = sensitivity(runs, by, _parameters(runs, facts)) if table["mean"].is_not_null().any() else None
    is_drawn = not alike(runs, facts["design"], facts["blocks"])
    figures = {"ranking": ranking_figure(table, names, by, shown_as(by))}
    sections = []
    if others and len(table) > 1:
        second, second_large = others[0]
        both = _with_mean(table, runs, facts["design"], second).with_columns(pl.col("mean").alias(by))
        large = [name for name, is_large in ((by, is_maximised), (second, second_large)) if is_large]
        both = both.with_columns(pareto_front(both, [by, second], large))
        figures["front"] = front_figure(both, names, (second, by))
        sections.append(Section(figures["front"].layout.meta["heading"], ["front"]))
    if matters is not None and len(matters):
        figures["sensitivity"] = sensitivity_figure(matters, by)
        sections.append(Section(figures["sensitivity"].layout.meta["heading"], ["sensitivity"]))
    if failures := _failures(runs):
        sections.append(failures)
    return Page(
        title=f"unspool: a sweep of {counted(len(table), 'point')}",
        question=f"Which of {counted(len(table), 'point')} has the {'highest' if is_maximised else 'lowest'} "
        f"{spoken(by)}?",
        answer=with_warning(_answer(table, names, by), warning_of_runs(runs)),
        tiles=_tiles(runs, table, by, is_drawn=is_drawn),
        figures=figures,
        picture="ranking",
        about=[("runs", amount(len(runs))), ("points", amount(len(table))), ("figure", by)],
        summary=_summary(table, names, by, facts["design"]),
        sections=sections,
        notes=[*([f"{unrun}."] if (unrun := told_unrun(table)) else []), _NOTE if is_drawn else _NOT_DRAWN],
        versions=[(name, str(text)) for name, text in facts["versions"].items()],
        commands=[command] if command else [],
        files=[("the grid", facts["grid"])] if facts["grid"] else [],
    )


def point_names(table: pl.DataFrame, design: Sequence[str]) -> list[str]:
    """A name for each point: the values of what differs."""
    keys = [name for name in design if name in table.columns] or ["point"]
    return [
        shown(", ".join(_value(value) if key in ("policy", "point") else f"{key} {_value(value)}"
                        for key, value in row.items()), 120)
        for row in table.select(keys).iter_rows(named=True)
    ]  # fmt: skip


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _parameters(runs: pl.DataFrame, facts: Mapping[str, Any]) -> list[str]:
    drawn = [key.rpartition(".")[2] for key in facts["drawn"]]
    names = dict.fromkeys([*facts["design"], *facts["blocks"], *drawn])
    return [name for name in names if name in runs.columns and runs[name].n_unique() > 1]


def _answer(table: pl.DataFrame, names: list[str], by: str) -> str:
    best = table.row(0, named=True)
    if best["mean"] is None:
        return "No run gave this figure"
    text = f"{names[0]}: {spoken(by)} {shown_as(by)(best['mean'])}"
    near = int(table["is_as_good"].fill_null(False).sum())
    if near:
        return f"{text}; {counted(near, 'other point')} may be as good"
    others = "all others that run as many jobs" if table[RUNS_FEWER].any() else "all others"
    return f"{text}; {others} are worse" if table["p_value"].is_not_null().any() else text


def _tiles(runs: pl.DataFrame, table: pl.DataFrame, by: str, *, is_drawn: bool) -> list[Tile]:
    best = table.row(0, named=True)
    failed = int(runs[ERROR].is_not_null().sum())
    tell = shown_as(by)
    between = f"{tell(best['low'])} to {tell(best['high'])} (95 %)" if best["low"] is not None else "of one run"
    tiles = [
        Tile(tell(best["mean"]), f"{spoken(by)} of the best", between if is_drawn else "the same under all seeds"),
        Tile(amount(len(runs)), "runs", f"{amount(best['runs'])} of the best point"),
        Tile(amount(failed), "runs failed", "" if not failed else "see below"),
    ]
    second = table.row(min(1, len(table) - 1), named=True)
    if second["difference"] is not None:
        p_value = second["p_value"]
        beside = "" if p_value is None else "p below 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"
        tiles.insert(1, Tile(tell(second["difference"]), "the next differs by", beside))
    if few := int(table[RUNS_FEWER].sum()):
        tiles.append(Tile(amount(few), "points that leave out jobs", "they come last"))
    return tiles


def _p(value: float) -> str:
    return "below 0.001" if value < 0.001 else f"{value:.3f}"


def _said(is_so: bool | None) -> str:
    return "runs fewer jobs" if is_so else ""


def _summary(table: pl.DataFrame, names: list[str], by: str, design: Sequence[str]) -> Table:
    """The points, and what there is to say of them: columns that say nothing are left out."""
    tell = shown_as(by)
    keys = [name for name in design if name in table.columns]
    settings = {key: Column(key, _value) for key in keys} if keys and len(keys) <= _MOST_COLUMNS else {}
    columns = {
        "rank": Column("rank", amount), **(settings or {"point": Column("point")}),
        "mean": Column(spoken(by), tell, bar=True), "low": Column("95 % from", tell), "high": Column("to", tell),
        "difference": Column("more than the best", tell), "p_value": Column("p, corrected", _p),
        JOBS_NOT_RUN: Column("jobs not run", amount), RUNS_FEWER: Column("comes last", _said),
        "runs": Column("runs", amount), "failed": Column("failed", amount),
    }  # fmt: skip
    shown_table = table.with_columns(point=pl.Series(names, dtype=pl.String))
    empty = [name for name in columns if shown_table[name].is_null().all() and name not in settings]
    empty += [name for name in ("failed", JOBS_NOT_RUN, RUNS_FEWER) if not table[name].sum()]
    if (table["low"] == table["high"]).fill_null(True).all():
        empty += ["low", "high"]
    kept = {name: column for name, column in columns.items() if name not in empty}
    return table_of(shown_table, kept, "ranking", "The points", rest="ranking.csv")


def _with_mean(table: pl.DataFrame, runs: pl.DataFrame, design: Sequence[str], figure: str) -> pl.DataFrame:
    keys = [name for name in design if name in runs.columns]
    means = runs.filter(pl.col(ERROR).is_null()).group_by(keys).agg(pl.col(figure).cast(pl.Float64).mean())
    return table.join(means, on=keys, how="left", maintain_order="left", nulls_equal=True)


def _failures(runs: pl.DataFrame) -> Section | None:
    failed = runs.filter(pl.col(ERROR).is_not_null())
    if not len(failed):
        return None
    told = failed.group_by(ERROR, maintain_order=True).agg(runs=pl.len()).sort("runs", descending=True)
    columns = {ERROR: Column("error"), "runs": Column("runs", amount)}
    return Section("Runs that failed", tables=[table_of(told, columns, "failures", "Why runs failed")])
