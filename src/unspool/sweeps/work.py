"""What a worker does: some runs in a row, each of which is a row of the dataset, whatever becomes of it."""

from __future__ import annotations

import json
import math
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from socket import gethostname
from time import perf_counter
from typing import Any

from unspool.analysis.costs import costs_of
from unspool.errors import InputError, RunError, UnspoolError, shown
from unspool.faces.cloud.changes import parse_changes
from unspool.faces.cloud.config import CostConfig, fixed_only, read_config
from unspool.faces.cloud.jobs import selected
from unspool.model.platform import Platform
from unspool.model.workload import Workload
from unspool.platforms import pool_of_log, read_platform
from unspool.platforms.catalogue import Catalogue, read_catalogue
from unspool.results.result import Result
from unspool.results.run import run
from unspool.results.store import versions
from unspool.sweeps.inputs import Ref, Task, located, read_log_ref
from unspool.sweeps.settings import OWN_COLUMNS, RunSettings, column_of, policy_of, settings_of
from unspool.workloads import transform
from unspool.workloads.clock import window_edges

__all__ = ["DIGEST", "ELAPSED", "ERROR", "HOST", "KEY", "REJECTED", "SCHEDULE", "be_ready", "run_batch", "run_task"]

KEY, ERROR, ELAPSED, HOST, SCHEDULE, DIGEST = OWN_COLUMNS
REJECTED = "rejected_jobs"  # the figure that counts jobs that were not run
_LONGEST = 500  # characters of an error
_LOGS, _PLATFORMS = 4, 32  # that a worker keeps


def be_ready() -> None:
    """In a worker that waits for the first run of another: load what compiled loops need, and compile nothing."""
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


def run_batch(tasks: Sequence[Task], made_by: Mapping[str, str]) -> list[dict[str, Any]]:
    """The rows of some runs; `made_by` are the versions that the sweep was started with."""
    mine = versions()
    if mine != dict(made_by):
        other = [f"{name} {mine.get(name)}, not {text}" for name, text in made_by.items() if mine.get(name) != text]
        raise RunError(f"{gethostname()} has {', '.join(other)}; results could differ, so install the same there")
    return [run_task(task) for task in tasks]


def run_task(task: Task) -> dict[str, Any]:
    """One row: settings, figures, and the error where there is one."""
    began = perf_counter()
    row = {column_of(key): _plain(key, value) for key, value in task.settings.items()}
    row |= {KEY: task.key, DIGEST: task.digest, HOST: gethostname()}
    try:
        settings = settings_of(task.settings)
        figures = _of_cost(task, settings) if settings.config is not None else _of_run(task, settings)
        row = {**figures, **row, ERROR: None}
    # A policy of somebody's own may raise anything, and leave.
    except (Exception, SystemExit) as error:
        row[ERROR] = shown(_told(error), _LONGEST)
    return {**row, ELAPSED: perf_counter() - began}


def _told(error: BaseException) -> str:
    if isinstance(error, UnspoolError):
        return str(error)
    at = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({at.filename.rpartition('/')[2]}, line {at.lineno})"


def _plain(key: str, value: Any) -> Any:
    """A setting as a cell: a number, a text or true and false; what has parts, as JSON."""
    if key == "platform" and isinstance(value, int):
        return str(value)
    return json.dumps(value) if isinstance(value, list | dict) else value


def _of_run(task: Task, settings: RunSettings) -> dict[str, Any]:
    log = _log(task.log, *_log_settings(settings))
    platform = _platform(_first(task, "platform"), settings.platform, settings.missing_routes) or pool_of_log(log)
    if settings.selection:
        platform = replace(platform, selection=settings.selection)
    outages = _first(task, "outages")
    result = run(
        log, platform, policy_of(settings, "easy"), seed=settings.seed, kill_at_walltime=settings.kill_at_walltime,
        outages=settings.outages if outages is None else located(outages), on_loss=settings.on_loss,
        energy=settings.energy,
    )  # fmt: skip
    return _figures(result.summary, result)


def _of_cost(task: Task, settings: RunSettings) -> dict[str, Any]:
    config = _first(task, "config")
    assert config is not None
    changes = json.dumps({name: value for name, value in settings.set.items() if value is not None}, sort_keys=True)
    catalogues = iter(task.files.get("catalogue", ()))
    given = [settings.catalogue] if isinstance(settings.catalogue, str) else settings.catalogue or []
    refs = tuple(None if path == "built-in" else next(catalogues) for path in given)
    told, platform = _cloud(config, changes, refs, settings.on_premises)
    log = selected(_log(task.log, *_log_settings(settings)), told, None, None, settings.queues, settings.projects)
    result = run(log, platform, policy_of(settings, told.placement), seed=settings.seed)
    # A bill counts records that could not be read among the rejected; these are jobs that were not run.
    return _figures({**costs_of(result, log).summary, REJECTED: len(log) - len(result.jobs)}, result)


def _figures(summary: Mapping[str, Any], result: Result) -> dict[str, Any]:
    """The numbers of a summary, and a fingerprint of when each job began and ended."""
    mark = blake2b(digest_size=8)
    for name in ("start_time", "finish_time"):
        mark.update(result.jobs[name].to_numpy().astype("<f8", copy=False).tobytes())
    found = {
        name: value
        for name, value in summary.items()
        if value is None or (isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value))
    }
    return {**found, SCHEDULE: mark.hexdigest()}


def _first(task: Task, key: str) -> Ref | None:
    return next(iter(task.files.get(key, ())), None)


def _log_settings(settings: RunSettings) -> tuple[Any, ...]:
    """What makes one log of another; the seed only where something is drawn."""
    is_drawn = settings.thin is not None or settings.scale_load is not None
    return (
        settings.format, tuple(settings.columns), settings.window, settings.where, settings.thin, settings.scale_load,
        settings.scale_run_times, settings.seed if is_drawn else 0,
    )  # fmt: skip


@lru_cache(maxsize=_LOGS)
def _read(ref: Ref, format: str | None, columns: tuple[str, ...]) -> Workload:
    return read_log_ref(ref, format, RunSettings(columns=list(columns)).column_map())


@lru_cache(maxsize=_LOGS)
def _log(
    ref: Ref, format: str | None, columns: tuple[str, ...], window: str | None, where: str | None,
    thin: float | None, scale_load: float | None, scale_run_times: float | None, seed: int,
) -> Workload:  # fmt: skip
    """The jobs of a run, changed in the order of `unspool convert`."""
    log = _read(ref, format, columns)
    if window is not None:
        log = transform.window(log, *window_edges(window))
    if where is not None:
        log = transform.filter(log, where)
    if thin is not None:
        log = transform.thin(log, thin, seed)
    if scale_load is not None:
        log = transform.scale_load(log, scale_load, seed)
    if scale_run_times is not None:
        log = transform.scale_run_times(log, scale_run_times)
    if not len(log):
        raise InputError(f"{log.name}: no job is left ({log.notes[-1] if log.notes else 'none to begin with'})")
    return log


@lru_cache(maxsize=_PLATFORMS)
def _platform(ref: Ref | None, given: str | int | None, missing_routes: str | None) -> Platform | None:
    if given is None:
        return None
    if ref is None:
        return read_platform(str(given), missing_routes=missing_routes)
    platform = read_platform(located(ref), missing_routes=missing_routes)
    own = ref.name.partition("-")[2]  # the name that the file had, which a platform without one is called by
    stem = ref.name.rpartition(".")[0]
    return replace(platform, name=own.rpartition(".")[0]) if platform.name == stem else platform


@lru_cache(maxsize=2)
def _catalogue(refs: tuple[Ref | None, ...]) -> Catalogue:
    return read_catalogue(*("built-in" if ref is None else located(ref) for ref in refs))


@lru_cache(maxsize=_PLATFORMS)
def _cloud(
    config: Ref, changes: str, catalogues: tuple[Ref | None, ...], on_premises: bool
) -> tuple[CostConfig, Platform]:
    given = parse_changes(f"{name}={json.dumps(value)}" for name, value in json.loads(changes).items())
    told = read_config(located(config), given)
    told = fixed_only(told) if on_premises else told
    return told, told.platform(_catalogue(catalogues))
