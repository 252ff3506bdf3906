"""`unspool cost compare`: the log, our own machines and several set-ups in the cloud, beside each other."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from cyclopts import Parameter

from unspool.analysis.costs import costs_of
from unspool.analysis.setups import AS_LOGGED, COST_PARTS, SetUp, set_ups_table
from unspool.cli.comparison import shown_time
from unspool.cli.config import RunConfig
from unspool.cli.files import read_log
from unspool.cli.options import Flag, Seed, Untrusted
from unspool.cli.output import (
    Announcement,
    Progress,
    compiling_announcement,
    counted,
    note,
    print_json,
    print_table,
    print_text,
    where_written,
)
from unspool.errors import InputError, shown
from unspool.faces.cloud.config import CostConfig, fixed_only, read_config
from unspool.faces.cloud.jobs import refuse_options, selected, unix_time
from unspool.faces.cloud.outputs import write_set_ups
from unspool.model.workload import Workload
from unspool.platforms.catalogue import Catalogue, read_catalogue
from unspool.report.setups import set_ups_headline
from unspool.report.shown import amount, money
from unspool.results.rejection import warnings_of
from unspool.results.run import run as simulate
from unspool.results.store import check_free
from unspool.trust import vet

__all__ = ["compare"]

_ON_PREMISES = "on-premises"
# Names in the folder that are not those of set-ups.
_TAKEN = ("comparison.json", "comparison.csv", "report.html", AS_LOGGED)

Given = Parameter(allow_leading_hyphen=True)


@dataclass(frozen=True)
class _Plan:
    """A set-up before it is run: the configuration, and the words that name it to `unspool cost`."""

    name: str
    settings: CostConfig
    words: tuple[str, ...]


def compare(
    jobs: Path,
    /,
    *,
    config: Annotated[list[Path], Parameter(name=["--config", "-c"], negative=())],
    on_premises: Annotated[Path | None, Parameter(name="--on-premises")] = None,
    catalogue: Annotated[list[Path] | None, Parameter(negative=())] = None,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    force: Annotated[bool, Flag] = False,
    starttime: Annotated[str | None, Given] = None,
    endtime: Annotated[str | None, Given] = None,
    queues: Annotated[str | None, Given] = None,
    projects: Annotated[str | None, Given] = None,
    format: str | None = None,
    columns: Annotated[list[str] | None, Parameter(negative=())] = None,
    policy: str | None = None,
    seed: Seed | None = None,
    json: Annotated[bool, Flag] = False,
    no_report: Annotated[bool, Parameter(name="--no-report", negative=(), show_default=False)] = False,
    untrusted: Untrusted = False,
) -> int:
    """Hold several set-ups against each other, and against the log: one table, one page.

    For example: unspool cost compare sacct.txt -c a.yml -c b.yml -o OUT

    Rows are the log as it is, the configured machines on premises alone where there are any, and each configuration.

    Parameters
    ----------
    jobs
        The log of a scheduler, in any format that unspool reads.
    config
        A configuration; once for each set-up, which is named after its file.
    on_premises
        The configuration whose machines on premises and reserved instances, alone, are a row. Without it, the first of
        those given that has machines on premises.
    catalogue
        Instance types and prices; once for each file, built-in for those that ship. Without it, those that ship.
    out
        Folder for the results: comparison.csv, comparison.json, report.html, and the results of each set-up.
    force
        Replace the results that are there. A folder with anything else in it never is.
    starttime
        Leave out jobs that ended before this and hours before that of this.
    endtime
        Leave out jobs submitted after this, and hours after that of this.
    queues
        Only jobs of these queues: regular expressions separated by commas. For every set-up, in place of its own.
    projects
        The same for projects.
    format
        Format of the log, where its name and content do not tell (see: unspool plugins formats).
    columns
        For CSV and Parquet, our column = the file's, as in run_time=duration.
    policy
        How jobs are placed on machines, in every set-up. Without it, as each is configured.
    seed
        For the reclaims of spot instances, in every set-up. Without it, as each is configured.
    json
        Print the rows as JSON.
    no_report
        Do not write report.html, of the comparison and of each set-up.
    """
    if policy is not None:
        vet("schedulers", policy, None, untrusted=untrusted)
    refuse_options(starttime, endtime, queues, projects)
    if out is not None:
        check_free(out, force=force)
    shared = {
        "--catalogue": catalogue, "--starttime": starttime, "--endtime": endtime, "--queues": queues,
        "--projects": projects, "--format": format, "--columns": columns, "--policy": policy, "--seed": seed,
    }  # fmt: skip
    plans = _plans(config, on_premises)
    settings = [
        replace(plan.settings, placement=policy or plan.settings.placement,
                seed=plan.settings.seed if seed is None else seed)
        for plan in plans
    ]  # fmt: skip
    types = read_catalogue(*catalogue or ())
    for each in settings:
        each.platform(types)  # what is wrong with any of them is said before anything runs
    log = read_log(jobs, format, RunConfig(columns=columns or []).column_map())
    kept = selected(log, _same_jobs(settings, queues, projects), starttime, endtime, queues, projects)
    for text in kept.notes[len(log.notes) :]:
        note(text)
    window = {
        "starttime": None if starttime is None else unix_time(starttime, "--starttime"),
        "endtime": None if endtime is None else unix_time(endtime, "--endtime"),
    }
    words = _words(shared)
    set_ups = [
        _billed(plan.name, kept, each, types, window, shlex.join(["unspool", "cost", str(jobs), *plan.words, *words]))
        for plan, each in zip(plans, settings, strict=True)
    ]
    table = set_ups_table(kept, set_ups)
    has_report = not (no_report or json)
    if out is not None:
        own = [word for path in config for word in ("-c", str(path))]
        own += [] if on_premises is None else ["--on-premises", str(on_premises)]
        command = shlex.join(["unspool", "cost", "compare", str(jobs), *own, *words])
        with Announcement(f"writing {out} …"):
            write_set_ups(table, set_ups, kept, out, command=command, force=force, report=has_report)
    warning = warnings_of({each.name: each.costs.summary for each in set_ups})
    if json:
        told = {} if warning is None else {"warning": warning}
        print_json({"workload": kept.name, "jobs": len(kept), **told, "set_ups": table.to_dicts()})
    else:
        if warning is not None:
            print_text(shown(warning, 1000))
        _print(table, kept)
    if out is not None:
        note(where_written(out, report=has_report))
    return 0


def _plans(configs: Sequence[Path], on_premises: Path | None) -> list[_Plan]:
    """The set-ups in their order: our own machines alone, if any, then each configuration by the name of its file."""
    settings = [(path, read_config(path)) for path in configs]
    fixed = [(on_premises, read_config(on_premises))] if on_premises is not None else settings
    own = next(((path, each) for path, each in fixed if each.on_premises), None)
    if own is None and on_premises is not None:
        raise InputError(f"--on-premises {on_premises}: it has no machines on premises; give OnPremises in it")
    plans: list[_Plan] = []
    if own is not None and not any(_is_that(each, own[1]) for _, each in settings):
        plans.append(_Plan(_ON_PREMISES, fixed_only(own[1]), ("-c", str(own[0]), "--on-premises")))
    for path, each in settings:
        names = {*_TAKEN, *(plan.name for plan in plans)}
        name = next(name for at in range(1, len(names) + 2) if (name := path.stem + f"-{at}" * (at > 1)) not in names)
        plans.append(_Plan(name, each, ("-c", str(path))))
    return plans


def _is_that(each: CostConfig, own: CostConfig) -> bool:
    """Whether a configuration is the row of our own machines already: it has the same, and never bursts."""
    return math.isinf(each.burst_after_s) and (each.on_premises, each.reserved) == (own.on_premises, own.reserved)


def _same_jobs(settings: Sequence[CostConfig], queues: str | None, projects: str | None) -> CostConfig:
    """A configuration that chooses the jobs; set-ups that choose others cannot be compared."""
    first = settings[0]
    for each in settings[1:]:
        is_same = queues is not None or each.queues == first.queues
        if not (is_same and (projects is not None or each.projects == first.projects)):
            raise InputError(
                f"{first.where} and {each.where} choose other jobs (key Jobs); give both the same, or say "
                "--queues and --projects"
            )
    return first


def _words(shared: dict[str, Any]) -> list[str]:
    """Options as words of a command, those that were given."""
    words: list[str] = []
    for option, value in shared.items():
        values = value if isinstance(value, list) else [value]
        words += [f"{option}={each}" for each in values if each is not None]
    return words


def _billed(
    name: str, log: Workload, settings: CostConfig, types: Catalogue, window: dict[str, Any], command: str
) -> SetUp:
    """Run one set-up and bill it."""
    notes = settings.notes(types)
    for text in notes:
        note(f"{name}: {text}")
    with Progress(name) as progress:
        result = simulate(
            log, settings.platform(types), settings.placement, seed=settings.seed, progress=progress,
            compiling=compiling_announcement,
        )  # fmt: skip
    with Announcement(f"{name}: billing …"):
        costs = costs_of(
            result, log, memory_bins_gib=settings.memory_bins_gib, run_time_bins_min=settings.run_time_bins_min,
            notes=notes, **window,
        )  # fmt: skip
    for text in costs.notes:
        if text not in (*notes, *log.notes):
            note(f"{name}: {text}")
    if left := len(log) - len(result.jobs):
        reason = result.rejected["reason"][-1] if len(result.rejected) else "unknown"
        note(f"{name}: {counted(left, 'job')} not run, such as: {reason}")
    return SetUp(name, costs, command)


def _print(table: pl.DataFrame, log: Workload) -> None:
    """The table, what costs are made of, the answer, and the command of each row."""
    rows = table.to_dicts()
    told = [
        (
            f"{'* ' if row['is_best'] else '  '}{shown(row['set_up'], 40)}",
            _known(row["total_cost_usd"], money),
            _known(row["mean_wait_s"], shown_time),
            _known(row["p95_wait_s"], shown_time),
            _known(row["wait_saved_hours"], lambda hours: f"{amount(hours)} h"),
            _known(row["instance_hours"], amount),
            amount(row["jobs_not_run"]),
        )
        for row in rows
    ]
    header = ("", "cost", "mean wait", "p95 wait", "waiting saved", "instance-hours", "jobs not run")
    print_table(header, told, f"{shown(log.name)}: {counted(len(log), 'job')}")
    parts = [part for part in COST_PARTS if (table[f"{part}_cost_usd"].sum() or 0.0) > 0.0]
    if len(parts) > 1:
        print_text("")
        print_table(
            ("", *(part.replace("_", " ") for part in parts)),
            [
                (f"  {shown(row['set_up'], 40)}", *(money(row[f"{part}_cost_usd"]) for part in parts))
                for row in rows[1:]
            ],
        )
    print_text(f"\n* no other is better in both cost and mean wait\n{set_ups_headline(table)}\n")
    for row in rows[1:]:
        print_text(row["command"])


def _known(value: Any, shown_as: Callable[[Any], str]) -> str:
    return "-" if value is None else shown_as(value)
