"""`unspool dispatch`: which worker should each job go to?"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unspool.cli.options import Flag, Seed, Untrusted
from unspool.cli.output import (
    Announcement,
    Progress,
    compiling_announcement,
    counted,
    note,
    print_json,
    print_text,
    reading,
    where_written,
)
from unspool.errors import InputError
from unspool.faces.dispatch.compiled import is_compiled
from unspool.faces.dispatch.experiment import Experiment, read_experiment
from unspool.faces.dispatch.outputs import json_summary, metrics_text, times_of, write_dispatched
from unspool.faces.dispatch.running import Dispatched, run_experiment
from unspool.results.store import check_free
from unspool.trust import Foreign, refusal
from unspool.workloads.files import opened, told_of_reading
from unspool.workloads.recodex import JobFile, JobLog, read_refs

__all__ = ["dispatch"]

_LISTED = 20


def dispatch(
    data: Path | None = None,
    /,
    *,
    config: Annotated[Path | None, Parameter(name=["--config", "-c"])] = None,
    refs: Path | None = None,
    limit: Annotated[int | None, Parameter(allow_leading_hyphen=True)] = None,
    seed: Seed = 42,
    compat: str | None = None,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    force: Annotated[bool, Flag] = False,
    json: Annotated[bool, Flag] = False,
    machine: Annotated[bool, Flag] = False,
    verbose: Annotated[bool, Flag] = False,
    no_report: Annotated[bool, Parameter(name="--no-report", negative=(), show_default=False)] = False,
    allow_undispatched: Annotated[bool, Flag] = False,
    untrusted: Untrusted = False,
) -> int:
    """Replay a log of jobs under a dispatcher, with predictors, selectors, strategies and metrics from a file.

    For example: unspool dispatch -c experiment.yaml data.csv.gz --refs ref-solutions.csv -o OUT

    Parameters
    ----------
    data
        The jobs, data.csv or data.csv.gz as ReCodEx and Simdex have them.
    config
        The experiment: a YAML file of components, as Simdex has it, with more names.
    refs
        Runs of reference solutions, for an experiment whose args ask for @@ref_jobs.
    limit
        Only so many jobs, the first ones.
    seed
        For components that draw.
    compat
        original or fork: number ids, call back and print as that version of Simdex does. none: the right way. Without
        it, as the experiment says.
    out
        Folder for the results: jobs.csv, series.csv, both as parquet too, summary.json, metrics.txt, run.json, and
        report.html, a page for people (none with --json).
    force
        Replace the results that are there. A folder with anything else in it never is.
    json
        Print the figures as JSON instead of the metrics' text.
    machine
        Print the metrics as key=value, one a line.
    verbose
        Print the metrics with more detail, such as that of each worker.
    no_report
        Do not write report.html.
    allow_undispatched
        Count and list the jobs that the dispatcher never enqueued, instead of failing.
    """
    if data is None or config is None:
        raise InputError("no log or no experiment given; say: unspool dispatch -c EXPERIMENT.yaml DATA [--refs REFS]")
    if limit is not None and limit < 1:
        raise InputError(f"--limit {limit}: expected 1 or more")
    if json and machine:
        raise InputError("--json and --machine both say how the figures are printed; give one of them")
    if out is not None:
        check_free(out, force=force)
    experiment = read_experiment(config, compat=compat)
    for text in experiment.notes:
        note(text)
    _vet(experiment, untrusted=untrusted)
    with opened(data):  # a log that is not there is said first, though it is read last
        jobs: JobLog | JobFile = JobFile(data, limit)
    if out is not None or not is_compiled(experiment):
        with reading(data):
            jobs = jobs.whole()
    known = None if refs is None else read_refs(refs)
    with (
        Progress("dispatching") as progress,
        Progress(f"dispatching {data}", "MB", 1_000_000) as of_file,
        told_of_reading(of_file),
    ):
        run = run_experiment(
            experiment, jobs, known, seed=seed, progress=progress, compiling=compiling_announcement,
            allow_undispatched=allow_undispatched,
        )  # fmt: skip
    if never := run.undispatched:
        note(_never_enqueued(run, never))
    for part, times in times_of(run).items():
        note(
            f"{part}: {counted(int(times['inferences']), 'question')}, {times['inference_s_mean'] * 1e6:.0f} µs each; "
            f"{counted(int(times['trainings']), 'training')} in {times['training_s']:.1f} s of real time"
        )
    text = metrics_text(run, machine=machine, verbose=verbose)
    has_report = not (no_report or json)
    if out is not None:
        command = _command(data, config, refs, limit, seed, compat, allow_undispatched=allow_undispatched)
        with Announcement(f"writing {out} …"):
            write_dispatched(run, out, text, force=force, report=has_report, command=command)
    if json:
        print_json(json_summary(run))
    else:
        print_text(text, end="")
    if out is not None:
        note(where_written(out, report=has_report))
    return 0


def _vet(experiment: Experiment, *, untrusted: bool) -> None:
    """Say once of each module, model and file what loads or writes it, before that is done, or refuse it."""
    told: set[Foreign] = set()
    for where, name, found in experiment.foreign():
        if untrusted:
            raise refusal(where, name, found)
        if found not in told:
            note(f"{where}: {name} {'writes' if found.kind == 'file' else 'loads'} {found}")
        told.add(found)


def _never_enqueued(run: Dispatched, rows: list[int]) -> str:
    """How many jobs were never enqueued, and where the first of them are in the log."""
    lines = run.log.whole().line[rows[:_LISTED]].tolist()
    more = f" and {len(rows) - _LISTED:,} more" if len(rows) > _LISTED else ""
    told = "line" if len(rows) == 1 else "lines"
    return (
        f"{counted(len(rows), 'job')} never enqueued by the dispatcher: "
        f"{told} {', '.join(map(str, lines))}{more} of {run.log.name}"
    )


def _command(
    data: Path, config: Path, refs: Path | None, limit: int | None, seed: int, compat: str | None, *,
    allow_undispatched: bool,
) -> str:  # fmt: skip
    """The command that repeats a run."""
    options = {"--refs": refs, "--limit": limit, "--seed": seed, "--compat": compat}
    given = [word for name, value in options.items() if value is not None for word in (name, str(value))]
    flags = ["--allow-undispatched"] if allow_undispatched else []
    return shlex.join(["unspool", "dispatch", str(data), "-c", str(config), *given, *flags])
