"""What a run of an experiment leaves behind: the text of its metrics, a table of jobs, a series, a summary."""

from __future__ import annotations

import io
import json
import os
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from unspool.errors import RunError, shown
from unspool.faces.dispatch.blame import asked, definition
from unspool.faces.dispatch.calls import takes, wants_keyword
from unspool.faces.dispatch.metrics.experience import UserExperience
from unspool.faces.dispatch.running import Dispatched, values_of
from unspool.report.dispatch import write_dispatch_report
from unspool.results.store import REPORT, versions, write_folder, write_json, write_table
from unspool.storage import write_text
from unspool.workloads.recodex import JobFile, JobLog

__all__ = [
    "jobs_table",
    "json_summary",
    "metrics_text",
    "results_yaml",
    "series_table",
    "settings_of",
    "summary_of",
    "times_of",
    "write_dispatched",
]

_IDS = ("submission", "solution", "group", "tlgroup", "exercise", "runtime", "user")
_VERDICTS = ["on time", "delayed", "late"]
_ROWS = 2000  # of a series, at most
_EACH_WORKER = 64  # with more workers than this the series has no column for each
_RESULTS = {
    "jobs_total", "delay_avg", "delay_max",
    *(f"jobs_{name}{end}" for name in ("on_time", "delayed", "late") for end in ("", "_percentage")),
}  # fmt: skip


def metrics_text(run: Dispatched, *, machine: bool = False, verbose: bool = False) -> str:
    """What the metrics print, in the order of the experiment; the original begins with an empty line (spec B2.8)."""
    written = io.StringIO("\n" if run.experiment.compat == "original" else "")
    written.seek(0, io.SEEK_END)
    flags = {"machine": machine, "verbose": verbose}
    for metric in run.simulation.metrics:
        failing = f"the metric {type(metric).__name__} cannot be printed: "
        named = {name: flag for name, flag in flags.items() if wants_keyword(metric.print, name)}
        positional = () if named or not takes(metric.print, 2) else (machine, verbose)
        with redirect_stdout(written):
            asked(metric.print, *positional, failing=failing, **named)
    return written.getvalue()


def results_yaml(run: Dispatched) -> str:
    """`results.yaml` of the fork: the keys that do not depend on the machine, sorted, floats with six decimals."""
    values = {key: value for each in run.simulation.metrics for key, value in values_of(each).items()}
    return "".join(
        f"{key}: {value:.6f}\n" if isinstance(value, float) else f"{key}: {value}\n"
        for key, value in sorted(values.items())
        if key in _RESULTS
    )


def summary_of(run: Dispatched) -> dict[str, Any]:
    """The figures of all metrics, with what was run."""
    experiment, outcome = run.experiment, run.outcome
    figures: dict[str, Any] = {}
    for metric in run.simulation.metrics:
        for name, value in values_of(metric).items():
            figures[_free(name, value, figures)] = value
    figures.update(values_of(run.simulation.duration_predictor))
    return {
        "experiment": experiment.path.name,
        "workload": run.log.name,
        "compat": experiment.compat,
        "seed": run.simulation.seed,
        "period_s": experiment.period_s,
        "workers": len(experiment.workers),
        "jobs": run.jobs,
        "jobs_never_dispatched": run.jobs - outcome.finished,
        **figures,
    }


def json_summary(run: Dispatched) -> dict[str, Any]:
    """The same, and the component named of which JSON cannot have the figures."""
    summary = summary_of(run)
    try:
        json.dumps(summary, allow_nan=False)
    except (TypeError, ValueError):
        for part in (*run.simulation.metrics, run.simulation.duration_predictor):
            _check_figures(part)
    return summary


def _check_figures(part: Any) -> None:
    for name, value in values_of(part).items():
        try:
            json.dumps({name: value}, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise RunError(
                f"{definition(part.values)}: {shown(str(name))} is {shown(repr(value))}, which JSON cannot have; "
                "expected numbers, texts, lists and dictionaries"
            ) from error


def times_of(run: Dispatched) -> dict[str, dict[str, float]]:
    """For each component that learns how often it was asked and trained, and the real time of that in seconds.

    It is no part of the summary: two runs with one seed have the same figures, and never the same times.
    """
    simulation = run.simulation
    parts = {
        "duration_predictor": simulation.duration_predictor,
        "worker_selector": simulation.worker_selector,
        "sa_strategy": simulation.sa_strategy,
    }
    return {
        name: asked(part.spent, failing=f"{type(part).__name__}.spent: ")
        for name, part in parts.items()
        if callable(getattr(part, "spent", None))
    }


def _free(name: str, value: Any, figures: dict[str, Any]) -> str:
    """A name for a figure: its own, or with a number where another metric has given that one another value."""
    number = 2
    free = name
    while free in figures and figures[free] != value:
        free = f"{name}_{number}"
        number += 1
    return free


def jobs_table(run: Dispatched) -> pl.DataFrame:
    """A row for each job in the order of the log: where it went, when, what was predicted, how it was felt."""
    log, outcome = _kept(run).whole(), run.outcome
    order = np.asarray(outcome.order)
    columns: dict[str, Any] = {
        "job": np.arange(len(log)),
        **{f"{name}_id": log.texts[name].gather(getattr(log, name) - 1) for name in _IDS},
        "worker_group_id": log.worker_group,
        "worker": np.asarray(outcome.worker),
        "spawn_ts": log.spawn,
        "start_ts": np.asarray(outcome.start),
        "finish_ts": np.asarray(outcome.finish),
        "delay_s": np.asarray(outcome.start) - log.spawn,
        "duration": log.duration,
        "limits": log.limits,
        "estimate": np.asarray(outcome.estimate),
        "finish_order": order,
    }
    if quantiles := getattr(run.simulation.dispatcher, "quantiles", None):
        columns["quantile"] = [quantiles.get(row) for row in range(len(log))]
    verdicts = _verdicts(run)
    if verdicts is not None:
        columns["experience"] = pl.Series(np.asarray(_VERDICTS)[verdicts[np.maximum(order, 0)]])
    table = pl.DataFrame(columns).with_columns(pl.selectors.float().fill_nan(None))
    is_known = pl.col("finish_order") >= 0
    late = [name for name in ("worker", "finish_order", "experience") if name in table.columns]
    return table.with_columns(pl.when(is_known).then(pl.col(name)).alias(name) for name in late)


def series_table(run: Dispatched) -> pl.DataFrame:
    """At even times how many jobs wait and run, how many each worker has, and which share so far was on time."""
    log, outcome = _kept(run), run.outcome
    done = np.asarray(outcome.order) >= 0
    spawn, start, finish = log.spawn[done], np.asarray(outcome.start)[done], np.asarray(outcome.finish)[done]
    if not len(spawn):
        return pl.DataFrame({"time_s": [], "waiting": [], "running": []})
    began, ended = float(spawn.min()), float(finish.max())
    step = max(run.experiment.period_s, (ended - began) / _ROWS)
    times = began + step * np.arange(int((ended - began) // step) + 2)
    arrived, started, gone = (np.searchsorted(np.sort(each), times, "right") for each in (spawn, start, finish))
    columns: dict[str, Any] = {"time_s": times, "waiting": arrived - started, "running": started - gone}
    workers = np.asarray(outcome.worker)[done]
    for index in range(len(run.simulation.workers)) if len(run.simulation.workers) <= _EACH_WORKER else ():
        own = workers == index
        here, left = (np.searchsorted(np.sort(each[own]), times, "right") for each in (spawn, finish))
        columns[f"worker_{index}"] = here - left
    verdicts = _verdicts(run)
    if verdicts is not None:
        by_finish = np.argsort(finish, kind="stable")
        is_on_time = (verdicts[np.asarray(outcome.order)[done]] == 0)[by_finish]
        so_far = np.concatenate([[0], np.cumsum(is_on_time)])[gone]
        columns["on_time_share"] = np.where(gone > 0, so_far / np.maximum(gone, 1), np.nan)
    return pl.DataFrame(columns).with_columns(pl.selectors.float().fill_nan(None))


def settings_of(run: Dispatched, command: str = "") -> dict[str, Any]:
    """How a run came about: the text of its experiment, the command, versions, and whether workers take jobs late."""
    try:
        text = run.experiment.path.read_text(encoding="utf-8", errors="replace")
    except OSError:  # moved since it was read
        text = ""
    is_late = bool(getattr(run.simulation.dispatcher, "is_late", False))
    return {
        "command": command, "is_late": is_late, "has_predictor": run.simulation.duration_predictor is not None,
        "experiment": text, "versions": versions(),
    }  # fmt: skip


def write_dispatched(
    run: Dispatched,
    folder: str | os.PathLike[str],
    text: str,
    *,
    force: bool = False,
    report: bool = True,
    command: str = "",
) -> Path:
    """Write everything into a folder of its own, beside and renamed when whole; `command` is what repeats the run."""

    def fill(into: Path) -> None:
        for name, table in {"jobs": jobs_table(run), "series": series_table(run)}.items():
            write_table(table, into / f"{name}.csv")
            write_table(table, into / f"{name}.parquet")
        write_json(into / "summary.json", json_summary(run))
        write_text(into / "metrics.txt", text)
        if run.experiment.compat == "fork":
            write_text(into / "results.yaml", results_yaml(run))
        write_json(into / "run.json", settings_of(run, command))
        if times := times_of(run):
            write_json(into / "times.json", times)
        if report:
            write_dispatch_report(into, into / REPORT)

    return write_folder(folder, fill, force=force)


def _kept(run: Dispatched) -> JobLog:
    """The log of a run of which it is known what became of each job."""
    if isinstance(run.log, JobFile):
        raise RunError(f"{run.log.path}: what became of each job was not kept; run it on read_jobs(), not on JobFile()")
    return run.log


def _verdicts(run: Dispatched) -> Any:
    """How each job was felt, in the order of the callbacks; None without a metric that says it."""
    found = next((each for each in run.simulation.metrics if isinstance(each, UserExperience)), None)
    return None if found is None or not found.verdicts else np.asarray(found.verdicts)
