"""`unspool validate`: check files, without running anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, NamedTuple

from cyclopts import Parameter

from unspool.cli.config import RunConfig, read_config
from unspool.cli.files import kind_of, platform_named, read_results
from unspool.cli.options import LogFormat
from unspool.cli.output import counted, print_text, reading
from unspool.errors import InputError, UnspoolError, shown
from unspool.plugins import build_built_in
from unspool.trust import Foreign, foreign
from unspool.workloads import read_workload
from unspool.workloads.recodex import read_refs

__all__ = ["validate"]

_REASONS = 3  # rejected records that are shown


def validate(
    *paths: Path,
    format: LogFormat = None,
    columns: Annotated[list[str] | None, Parameter(negative=())] = None,
    strict: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
) -> int:
    """Check logs, platforms, settings of any verb and folders of results, without running anything.

    Exits with 2 if any cannot be used, or is the result of a run that broke off; rejected records are counted, and
    count as an error with --strict.

    Parameters
    ----------
    paths
        What to check: logs, platforms, run.toml, configurations of cost, grids of sweep, experiments and reference
        runs of dispatch, folders of results.
    columns
        For CSV and Parquet, our column = the file's, as in run_time=duration.
    strict
        Rejected records are errors.
    """
    if not paths:
        raise InputError("nothing to validate; name one file or more")
    log = RunConfig(format=format, columns=columns or [])
    bad = 0
    for path in paths:
        try:
            found = _check(path, log)
        except UnspoolError as error:
            found = Verdict(f"NOT USABLE: {_without_path(str(error), path)}", is_bad=True)
        print_text(f"{shown(str(path), 200)}: {found.text}")
        bad += found.is_bad or (strict and found.rejected > 0)
    return 2 if bad else 0


class Verdict(NamedTuple):
    """What is said of a file."""

    text: str
    rejected: int = 0
    is_bad: bool = False


def _without_path(sentence: str, path: Path) -> str:
    """A complaint without the file, which stands before it; what is left of it begins with the line, or with what."""
    for name in (str(path), path.name):
        for between in (": ", ", "):
            if name and sentence.startswith(f"{name}{between}"):
                return sentence.removeprefix(f"{name}{between}")
    return sentence


def _check(path: Path, log: RunConfig) -> Verdict:
    check = _CHECKS.get("log" if log.format else kind_of(path))
    return _check_log(path, log) if check is None else check(path)


def _check_results(path: Path) -> Verdict:
    results = read_results(path)
    broken = [result for result in results if "partial" in result.config]
    if not broken:
        return Verdict(f"ok, results under {', '.join(result.policy for result in results)}")
    told = [
        f"PARTIAL: the run under {result.policy} broke off, and only jobs that had ended by then are told of "
        f"({result.config['partial']})"
        for result in broken
    ]
    return Verdict("\n  ".join(shown(text, 500) for text in told), is_bad=True)


def _check_bill(path: Path) -> Verdict:
    from unspool.faces.cloud.outputs import read_costs

    summary = read_costs(path).summary
    return Verdict(f"ok, a bill of {counted(summary['jobs'], 'job')} under {summary['policy']}")


def _check_dispatch(path: Path) -> Verdict:
    from unspool.report.dispatch import read_dispatch

    return Verdict(f"ok, a dispatch of {counted(len(read_dispatch(path).jobs), 'job')}")


def _check_platform(path: Path) -> Verdict:
    platform = platform_named(str(path))
    if platform.cloud is None:
        return Verdict(f"ok, a platform of {counted(platform.cores, 'core')}")
    cores = f"{counted(platform.cores, 'core')} and " if platform.cores else ""
    types = counted(len(platform.cloud.types), "type that can be started", "types that can be started")
    return Verdict(f"ok, a platform of {cores}{types}")


def _check_config(path: Path) -> Verdict:
    policies = read_config(path, [], {}).policies()
    told = [f"ok, settings of a run under {', '.join(policies)}"]
    for name in policies:
        if found := foreign("schedulers", name):
            told += [_not_loaded(name, each, "unspool run") for each in found]
        else:
            build_built_in("schedulers", name)
    return Verdict("\n  ".join(shown(text, 500) for text in told))


def _not_loaded(name: str, found: Foreign, verb: str) -> str:
    return f"'{shown(name, 100)}' names {found}; not checked, because only verbs such as {verb} load it"


def _check_grid(path: Path) -> Verdict:
    from unspool.sweeps.grid import read_grid

    grid = read_grid(path)
    loads = {str(found): (name, found) for name in grid.policy_texts() for found in foreign("schedulers", name)}
    size = f"a search of {counted(grid.search.trials, 'trial')}" if grid.search else counted(grid.total, "run")
    told = [f"ok, the grid of a sweep: {size}"]
    told += [_not_loaded(name, found, "unspool sweep") for name, found in loads.values()]
    return Verdict("\n  ".join(shown(text, 500) for text in told))


def _check_experiment(path: Path) -> Verdict:
    from unspool.faces.dispatch.experiment import read_experiment

    experiment = read_experiment(path)
    loads = experiment.foreign()
    names = ", ".join(name for _, name in experiment.named())
    told = [f"ok, an experiment of {counted(len(experiment.workers), 'worker')}: {names}"]
    told += [_not_loaded(name, found, "unspool dispatch") for _, name, found in loads]
    told += [_without_path(text, path) for text in experiment.notes]
    return Verdict("\n  ".join(shown(text, 500) for text in told))


def _check_refs(path: Path) -> Verdict:
    refs = read_refs(path)
    return Verdict(
        "\n  ".join([f"ok, {counted(len(refs), 'reference run')}, for unspool dispatch --refs", *refs.notes])
    )


def _check_log(path: Path, log: RunConfig) -> Verdict:
    with reading(path):
        workload = read_workload(path, log.format, log.column_map())
    told = [
        f"ok, {counted(len(workload), 'job')}, {counted(len(workload.rejected), 'record')} rejected",
        *workload.notes,
    ]
    told += [f"line {line}: {reason}" for line, _, reason in workload.rejected.head(_REASONS).rows()]
    if (more := len(workload.rejected) - _REASONS) > 0:
        told.append(f"… and {more:,} more; `unspool inspect` counts them by reason")
    return Verdict("\n  ".join(shown(text, 500) for text in told), len(workload.rejected))


_CHECKS: Mapping[str, Callable[[Path], Verdict]] = {
    "result": _check_results,
    "bill": _check_bill,
    "dispatch": _check_dispatch,
    "platform": _check_platform,
    "config": _check_config,
    "grid": _check_grid,
    "experiment": _check_experiment,
    "refs": _check_refs,
}
