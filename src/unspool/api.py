"""The verbs as functions: what `unspool cost`, `dispatch`, `batsim`, `sweep` and `generate` do, from Python."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from unspool.errors import InputError, UnknownName
from unspool.model.workload import Workload
from unspool.results.result import Result

if TYPE_CHECKING:
    import polars as pl

    from unspool.analysis.costs import Costs
    from unspool.faces.dispatch.experiment import Experiment
    from unspool.faces.dispatch.running import Dispatched
    from unspool.sweeps import Grid
    from unspool.workloads import Log
    from unspool.workloads.files import AnyPath
    from unspool.workloads.generators import Recodex
    from unspool.workloads.recodex import JobFile, JobLog, RefLog

__all__ = ["batsim", "cost", "dispatch", "generate", "save", "sweep"]


def cost(
    log: Log,
    config: AnyPath | None = None,
    *,
    changes: Mapping[str, Any] | None = None,
    catalogue: Sequence[AnyPath] = (),
    policy: str | None = None,
    on_premises: bool = False,
    seed: int | None = None,
    replicas: int = 1,
    starttime: str | float | None = None,
    endtime: str | float | None = None,
    queues: str | None = None,
    projects: str | None = None,
    commitments: bool = False,
) -> Costs:
    """What the jobs of a log would cost in the cloud, and what waiting that would save.

    `config` is the file that `unspool cost -c` reads; `changes` are other values for its keys, as in
    `{"IdleTime": 60}`. `summary` of what is returned has the figures, `hourly` the hours, `bill` the machines and jobs.
    With `commitments`, also the savings plans that would have made the bill least.
    """
    from unspool.faces.cloud.changes import with_sections
    from unspool.faces.cloud.commit import with_commitments
    from unspool.faces.cloud.costing import cost_set_up, with_bands
    from unspool.workloads import as_workload

    if replicas < 1:
        raise InputError(f"replicas is {replicas}; expected 1 or more")
    set_up = cost_set_up(
        config, changes=with_sections(changes or {}), catalogue=catalogue,
        policy=policy, on_premises=on_premises, seed=seed, starttime=starttime, endtime=endtime, queues=queues,
        projects=projects,
    )  # fmt: skip
    kept = set_up.selected(as_workload(log), queues, projects)
    found = set_up.costs(kept)
    if replicas > 1:
        others = [set_up.costs(kept, replica=at).summary for at in range(1, replicas)]
        found = with_bands(found, [found.summary, *others])
    return with_commitments(found, set_up.settings, set_up.catalogue) if commitments else found


def dispatch(
    jobs: JobLog | JobFile | AnyPath,
    experiment: Experiment | AnyPath,
    *,
    refs: RefLog | AnyPath | None = None,
    limit: int | None = None,
    seed: int = 42,
    compat: str | None = None,
    allow_undispatched: bool = False,
) -> Dispatched:
    """Replay jobs onto the queues of workers, under an experiment of Simdex's kind.

    Components that the experiment names and that are not ours are imported. `summary` of what is returned has the
    figures of its metrics, `table` a row for each job.
    """
    from unspool.faces.dispatch.experiment import Experiment, read_experiment
    from unspool.faces.dispatch.running import run_experiment
    from unspool.workloads.recodex import JobFile, JobLog, RefLog, read_jobs, read_refs

    if not isinstance(experiment, Experiment):
        experiment = read_experiment(Path(experiment), compat=compat)
    log = jobs if isinstance(jobs, JobLog | JobFile) else read_jobs(jobs, limit)
    known = refs if isinstance(refs, RefLog) or refs is None else read_refs(refs)
    return run_experiment(experiment, log, known, seed=seed, allow_undispatched=allow_undispatched)


def batsim(
    workload: AnyPath | Sequence[AnyPath],
    platform: AnyPath,
    policy: str | Any = "fcfs",
    *,
    export: AnyPath | None = None,
    **settings: Any,
) -> Result:
    """Simulate jobs on a platform, with Batsim's files; further settings are those of `Settings`, such as `energy`.

    With `export`, the files that Batsim writes are written with that prefix.
    """
    from unspool.faces.batsim.outputs import write_outputs
    from unspool.faces.batsim.running import Settings, run_batsim

    files = [workload] if isinstance(workload, str | os.PathLike) else list(workload)
    unknown = settings.keys() - Settings.__dataclass_fields__.keys()
    if unknown:
        raise UnknownName("setting", min(unknown), Settings.__dataclass_fields__)
    chosen = Settings(
        platform=os.fspath(platform), workloads=[os.fspath(file) for file in files], policy=policy, **settings
    )
    found = run_batsim(chosen)
    if export is not None:
        write_outputs(found.outputs, os.fspath(export))
    if found.fault is not None:
        raise found.fault
    return found.result


def sweep(
    grid: Grid | Mapping[str, Any] | AnyPath,
    folder: AnyPath,
    *,
    processes: int | None = None,
    resume: bool = False,
    retry_failed: bool = False,
) -> pl.DataFrame:
    """Make every run of a grid that is not in the folder yet; returns the dataset, one row a run.

    The grid is a TOML file, or the same as a dictionary.
    """
    from unspool.sweeps import Grid, cores_here, grid_of, local_place, read_grid, run_sweep

    if not isinstance(grid, Grid):
        grid = grid_of(grid) if isinstance(grid, Mapping) else read_grid(Path(grid))
    place = local_place(cores_here() if processes is None else processes)
    return run_sweep(grid, folder, place, resume=resume, retry_failed=retry_failed)


@overload
def generate(model: Literal["poisson", "lublin"], **parameters: Any) -> Workload: ...
@overload
def generate(model: Literal["recodex"], **parameters: Any) -> Recodex: ...
def generate(model: str, **parameters: Any) -> Workload | Recodex:
    """A log that nobody recorded, by a model and its parameters: those of `unspool.workloads.generators`.

    >>> generate("lublin", jobs=3, cores=4, load=0.5).max_cores
    4
    """
    from unspool.workloads import generators

    models: dict[str, Any] = {"poisson": generators.poisson, "lublin": generators.lublin, "recodex": generators.recodex}
    if model not in models:
        raise UnknownName("generator", model, models)
    made: Workload | Recodex = models[model](**parameters)
    return made


def save(found: Result | Costs | Dispatched, folder: AnyPath, *, force: bool = False, csv: bool = False) -> Path:
    """Write a result of any verb into a folder of its own, as the verb does with `-o`.

    With `csv`, the tables of a run are written as CSV too; those of the other verbs always are.
    """
    from unspool.results.store import save as save_result

    if isinstance(found, Result):
        return save_result(found, folder, force=force, csv=csv)
    from unspool.analysis.costs import Costs

    if isinstance(found, Costs):
        from unspool.faces.cloud.outputs import write_costs

        return write_costs(found, folder, force=force)
    from unspool.faces.dispatch.outputs import metrics_text, write_dispatched

    return write_dispatched(found, folder, metrics_text(found), force=force)
