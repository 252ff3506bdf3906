"""The page about a dispatch: how long jobs were delayed, which were on time, and how well their workers were chosen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from unspool.confinement.roots import readable_folder
from unspool.errors import InputError, shown
from unspool.platforms.documents import read_json
from unspool.report.content import Column, Page, Section, Table, Tile, table_of
from unspool.report.figures.dispatching import VERDICTS, delay_ecdf, predictions, verdict_shares, worker_queues
from unspool.report.figures.style import counted
from unspool.report.page import filled, write_page
from unspool.report.shown import amount, duration, percent
from unspool.workloads.parquet import read_table

__all__ = ["DispatchTables", "dispatch_page", "dispatch_report", "read_dispatch", "write_dispatch_report"]

_LONGEST = 20
_LONGEST_TEXT = 20_000  # characters of an experiment that are shown
_ABOUT = {"experiment": "experiment", "workload": "log", "compat": "as which version of Simdex", "seed": "seed"}
_PARTS = {
    "period_s": ("period of the strategy", duration), "workers": ("workers", amount), "jobs": ("jobs", amount),
    "jobs_never_dispatched": ("jobs that no worker got", amount),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class DispatchTables:
    """What a folder of `unspool dispatch` holds, as far as the page tells it."""

    jobs: pl.DataFrame
    summary: dict[str, Any]
    settings: dict[str, Any]
    metrics: str

    @property
    def done(self) -> pl.DataFrame:
        """The jobs that a worker got."""
        return self.jobs.filter(pl.col("worker").is_not_null())

    @property
    def is_felt(self) -> bool:
        """Whether a metric says which jobs were on time."""
        return "experience" in self.jobs.columns


def read_dispatch(folder: Path) -> DispatchTables:
    """What a folder holds; settings are empty where an earlier version wrote it."""
    told = readable_folder(folder) / "run.json"
    try:
        return DispatchTables(
            jobs=read_table(folder / "jobs.parquet"),
            summary=read_json(folder / "summary.json"),
            settings=read_json(told) if told.is_file() else {},
            metrics=(folder / "metrics.txt").read_text(encoding="utf-8"),
        )
    except InputError as error:
        raise InputError(f"{folder}: the result is damaged: {error}") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{folder}: the result is damaged: {type(error).__name__}: {error}") from error


def write_dispatch_report(folder: Path, path: Path) -> None:
    """Write the page about what a folder holds to a file."""
    write_page(dispatch_page(read_dispatch(folder)), path)


def dispatch_report(folder: Path) -> str:
    """The page as HTML, whole in itself."""
    return filled(dispatch_page(read_dispatch(folder)))


def dispatch_page(tables: DispatchTables) -> Page:
    """What stands on the page."""
    summary, settings, jobs = tables.summary, tables.settings, tables.jobs
    figures = {
        **({"verdicts": verdict_shares(jobs)} if tables.is_felt else {}),
        "queues": worker_queues(jobs, int(summary["workers"]), is_late=bool(settings.get("is_late"))),
        "delays": delay_ecdf(jobs),
        "predictions": predictions(jobs),
    }
    picture, *others = figures
    return Page(
        title=f"unspool: {shown(str(summary['workload']))} dispatched by {shown(str(summary['experiment']))}",
        question=f"How long do jobs of {shown(str(summary['workload']))} wait for their worker under "
        f"{shown(str(summary['experiment']))}?",
        answer=answer(tables),
        tiles=_tiles(tables),
        figures=figures,
        picture=picture,
        about=[(what, shown(str(summary[name]), 200)) for name, what in _ABOUT.items()
               if summary.get(name, "none") != "none"],
        sections=[
            *(Section(figures[name].layout.meta["heading"], [name]) for name in others),
            Section("By worker, by exercise, and the longest delays", tables=_tables(tables)),
            Section("Every figure of the metrics", pairs=_figures(summary)),
        ],
        notes=_notes(tables),
        settings=[(what, text(summary[name])) for name, (what, text) in _PARTS.items() if name in summary],
        files=[(shown(str(summary["experiment"]), 200), text)] if (text := _text(settings)) else [],
        versions=[(name, str(text)) for name, text in settings.get("versions", {}).items()],
        commands=[command] if (command := settings.get("command")) else [],
    )  # fmt: skip


def answer(tables: DispatchTables) -> str:
    """The answer in one sentence."""
    done = tables.done
    if not len(done):
        return "No job was given to a worker"
    text = f"{counted(len(done))} were delayed by {duration(_mean(done))} on average"
    return f"{text}, and {percent(_share(done, 'on time'))} of them were on time" if tables.is_felt else text


def _mean(done: pl.DataFrame) -> float:
    return float(done["delay_s"].mean() or 0.0)  # type: ignore[arg-type]


def _share(done: pl.DataFrame, verdict: str) -> float:
    return float((done["experience"] == verdict).sum()) / max(len(done), 1)


def _tiles(tables: DispatchTables) -> list[Tile]:
    done = tables.done
    if not len(done):
        return [Tile("0", "jobs were given to a worker", f"of {len(tables.jobs):,}")]
    delays = done["delay_s"]
    high, most = delays.quantile(0.95, "linear"), delays.max()
    tiles = [
        Tile(duration(_mean(done)), "mean delay", f"median {duration(delays.median())}"),  # type: ignore[arg-type]
        Tile(duration(high), "95% are delayed at most", f"longest {duration(most)}"),  # type: ignore[arg-type]
    ]
    if tables.is_felt:
        delayed, late = (percent(_share(done, name)) for name in ("delayed", "late"))
        tiles.append(Tile(percent(_share(done, "on time")), "on time", f"{delayed} delayed, {late} late"))
    workers = int(tables.summary["workers"])
    took = float(done["finish_ts"].max()) - float(done["spawn_ts"].min())  # type: ignore[arg-type]
    busy = float(done["duration"].sum()) / (workers * took) if took else 0.0
    tiles.append(Tile(percent(busy), "of the workers' time used", f"{counted(workers, 'worker')} for {duration(took)}"))
    return tiles


_MEASURES: dict[str, pl.Expr] = {
    "jobs": pl.len().cast(pl.Int64),
    "busy_s": pl.col("duration").sum(),
    "mean_delay_s": pl.col("delay_s").mean(),
    "longest_delay_s": pl.col("delay_s").max(),
}
_COLUMNS = {
    "jobs": Column("jobs", amount),
    "busy_s": Column("time of jobs", duration, bar=True),
    "mean_delay_s": Column("mean delay", duration),
    "longest_delay_s": Column("longest delay", duration),
}


def _tables(tables: DispatchTables) -> list[Table]:
    done = tables.done
    if not len(done):
        return []
    # A worker that got no job is a row too: that is what one looks for.
    of_worker = _grouped(tables, "worker").with_columns(pl.col("worker").cast(pl.Int64))
    every = pl.DataFrame({"worker": range(int(tables.summary["workers"]))}, schema={"worker": pl.Int64})
    of_worker = every.join(of_worker, on="worker", how="left").sort("worker")
    of_worker = of_worker.with_columns(pl.col("jobs", "busy_s").fill_null(0))
    of_exercise = _grouped(tables, "exercise_id").sort("busy_s", "exercise_id", descending=[True, False])
    return [
        table_of(of_worker, {"worker": Column("worker", amount), **_measured(tables)}, "by_worker", "By worker",
                 rest="jobs.parquet"),
        table_of(of_exercise, {"exercise_id": Column("exercise"), **_measured(tables)}, "by_exercise",
                 "By exercise, the most work first", rest="jobs.parquet"),
        _longest(tables),
    ]  # fmt: skip


def _measured(tables: DispatchTables) -> dict[str, Column]:
    felt = {name.replace(" ", "_"): Column(name, percent) for name in VERDICTS} if tables.is_felt else {}
    return {**_COLUMNS, **felt}


def _grouped(tables: DispatchTables, by: str) -> pl.DataFrame:
    felt = {name.replace(" ", "_"): (pl.col("experience") == name).mean() for name in VERDICTS}
    return tables.done.group_by(by).agg(**_MEASURES, **(felt if tables.is_felt else {}))


def _longest(tables: DispatchTables) -> Table:
    columns = {
        "job": Column("job, by its row", amount),
        "exercise_id": Column("exercise"),
        "worker": Column("worker", amount),
        "delay_s": Column("delay", duration, bar=True),
        "duration": Column("duration", duration),
        "estimate": Column("predicted", duration),
        **({"experience": Column("felt")} if tables.is_felt else {}),
    }
    most = tables.done.top_k(_LONGEST, by="delay_s").sort("delay_s", "job", descending=[True, False])
    return table_of(most, columns, "longest_delays", "The longest delays")


def _figures(summary: dict[str, Any]) -> list[tuple[str, str]]:
    told = [name for name in summary if name not in _ABOUT and name not in _PARTS]
    return [(name.replace("_", " "), _written(name, summary[name])) for name in told]


def _written(name: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return shown(str(value), 200)
    if name.endswith("_percentage"):
        return percent(value)
    return duration(value) if name.startswith("delay") else amount(value)


def _notes(tables: DispatchTables) -> list[str]:
    never = tables.summary.get("jobs_never_dispatched", 0)
    notes = [f"{counted(never)} never given to a worker by the dispatcher; in no figure."] if never else []
    if not tables.is_felt:
        notes.append("No metric of this experiment says which jobs were on time: add user-experience to its metrics.")
    if tables.settings.get("has_predictor") is False and tables.jobs["estimate"].count():
        notes.append("The experiment has no duration_predictor: half the limits of a job count as its prediction.")
    return notes


def _text(settings: dict[str, Any]) -> str:
    text = str(settings.get("experiment", "")).strip()
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}\n…"
