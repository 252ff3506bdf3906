"""`unspool cost advise`: which set-up would be cheaper, and how long would jobs wait?"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from unspool.analysis.costs import costs_of
from unspool.cli.comparison import shown_time
from unspool.cli.config import RunConfig
from unspool.cli.files import read_log
from unspool.cli.options import Flag, Seed
from unspool.cli.output import Progress, compiling_announcement, counted, note, print_json, print_table, print_text
from unspool.errors import InputError, shown
from unspool.faces.cloud.advice import Advice, Trial, advise, knobs
from unspool.faces.cloud.changes import parse_changes, shown_change
from unspool.faces.cloud.config import read_config
from unspool.faces.cloud.jobs import refuse_options, selected, unix_time
from unspool.metrics.cost import bands
from unspool.model.workload import Workload
from unspool.platforms.catalogue import read_catalogue
from unspool.report.shown import money
from unspool.results.run import run

__all__ = ["advise_on"]


def advise_on(
    jobs: Path,
    /,
    *,
    config: Annotated[Path | None, Parameter(name=["--config", "-c"])] = None,
    catalogue: Path | None = None,
    starttime: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    endtime: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    queues: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    projects: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    format: str | None = None,
    columns: Annotated[list[str] | None, Parameter(negative=())] = None,
    set: Annotated[list[str] | None, Parameter(negative=())] = None,
    seed: Seed | None = None,
    replicas: int = 1,
    budget: int = 100,
    json: Annotated[bool, Flag] = False,
) -> int:
    """Try other set-ups, and tell the cheapest for each wait, with the command that gives it.

    For example: unspool cost advise sacct.txt -c config.yml

    Placement, sharing, the threshold of spot jobs, idle time, ticks, families, sizes, and with machines on premises
    their number and when to burst, are changed one after another, for money, for waits and for both.

    Parameters
    ----------
    jobs
        The log of a scheduler, in any format that unspool reads.
    config
        The configuration to begin with. Without it, the defaults.
    catalogue
        Instance types and prices. Without it, those that ship.
    starttime
        Leave out jobs that ended before this: 2026-03-01T08:00:00 in UTC, or seconds since 1970.
    endtime
        Leave out jobs submitted after this.
    queues
        Only jobs of these queues: regular expressions separated by commas.
    projects
        The same for projects.
    format
        Format of the log, where its name and content do not tell (see: unspool plugins formats).
    columns
        For CSV and Parquet, our column = the file's, as in run_time=duration.
    set
        Another value for a key of the configuration, as in IdleTime=60; it is not tried otherwise.
    seed
        For the reclaims of spot instances. Without it, as configured: 0.
    replicas
        Judge by the means over so many seeds, the same for all set-ups.
    budget
        The most set-ups to try.
    json
        Print what was found as JSON.
    """
    for name, number in (("--replicas", replicas), ("--budget", budget)):
        if number < 1:
            raise InputError(f"{name} {number}: expected 1 or more")
    refuse_options(starttime, endtime, queues, projects)
    given = parse_changes(set or [])
    settings, types = read_config(config, given), read_catalogue(catalogue)
    settings.platform(types)
    log = selected(
        read_log(jobs, format, RunConfig(columns=columns or []).column_map()),
        settings, starttime, endtime, queues, projects,
    )  # fmt: skip
    window: dict[str, Any] = {
        "starttime": None if starttime is None else unix_time(starttime, "--starttime"),
        "endtime": None if endtime is None else unix_time(endtime, "--endtime"),
    }
    first_seed = settings.seed if seed is None else seed
    compiling = compiling_announcement()

    def evaluate(changes: Mapping[str, Any]) -> Trial | None:
        try:
            tried = read_config(config, {**given, **changes})
            platform = tried.platform(types)
        except InputError:
            return None  # no type is left, or no machine
        summaries = [
            costs_of(run(log, platform, tried.placement, seed=at, compiling=lambda: compiling), log, **window).summary
            for at in range(first_seed, first_seed + replicas)
        ]
        return _trial(changes, summaries)

    keys = {key: values for key, values in knobs(settings).items() if key not in given}
    with Progress("trying", "set-ups") as progress:
        found = advise(evaluate, keys, budget, progress)
    options = {
        "-c": config, "--catalogue": catalogue, "--starttime": starttime, "--endtime": endtime, "--queues": queues,
        "--projects": projects, "--format": format, "--seed": seed, "--replicas": replicas if replicas > 1 else None,
    }  # fmt: skip
    words = ["unspool", "cost", str(jobs)]
    words += [word for name, value in options.items() if value is not None for word in (name, str(value))]
    words += [word for column in columns or [] for word in ("--columns", column)]
    _tell(found, words, given, log, as_json=json)
    return 0


def _trial(changes: Mapping[str, Any], summaries: list[dict[str, Any]]) -> Trial | None:
    """The figures of one seed, or the means over several; None where no job could run."""
    if not summaries[0]["jobs"]:
        return None
    one = summaries[0]
    names = ("total_cost_usd", "mean_wait_s", "p95_wait_s")
    cost_usd, mean_s, p95_s = (one[name] for name in names)
    if len(summaries) > 1:
        band = bands(summaries)
        cost_usd, mean_s, p95_s = (band[name]["mean"] for name in names)
    return Trial(dict(changes), cost_usd, mean_s, p95_s, one["jobs"], one["rejected"])


def _command(words: list[str], given: Mapping[str, Any], trial: Trial) -> str:
    changes = [shown_change(key, value) for key, value in {**given, **trial.changes}.items()]
    return shlex.join([*words, *(word for change in changes for word in ("--set", change))])


def _tell(found: Advice, words: list[str], given: Mapping[str, Any], log: Workload, *, as_json: bool) -> None:
    if as_json:
        rows = [{**_figures(trial), "command": _command(words, given, trial)} for trial in found.best]
        configured = {**_figures(found.configured), "command": _command(words, given, found.configured)}
        print_json({"workload": log.name, "tried": found.tried, "left_out": found.left_out,
                    "configured": configured, "best": rows})  # fmt: skip
        return
    rows_shown = [(f"{at}", *_row(trial, found.configured)) for at, trial in enumerate(found.best, 1)]
    if found.configured not in found.best:
        rows_shown.append(("-", *_row(found.configured, found.configured)))
    title = f"{shown(log.name)}: {counted(found.configured.jobs, 'job')}; {found.tried} set-ups tried"
    print_table(("", "cost", "", "wait, mean", "p95", "what is changed"), rows_shown, title)
    print_text("")
    for at, trial in enumerate(found.best, 1):
        print_text(f"{at}: {_command(words, given, trial)}")
    if found.configured.rejected:
        jobs = counted(found.configured.rejected, "job")
        note(f"{jobs} not run by any of these set-ups, nor paid for; unspool cost lists them with reasons")
    if found.left_out:
        note(f"{counted(found.left_out, 'set-up')} left out: no machine is left, or jobs that run as configured do not")


def _figures(trial: Trial) -> dict[str, Any]:
    return {
        "changes": dict(trial.changes),
        "total_cost_usd": trial.cost_usd,
        "mean_wait_s": trial.mean_wait_s,
        "p95_wait_s": trial.p95_wait_s,
        "rejected": trial.rejected,
    }


def _row(trial: Trial, configured: Trial) -> tuple[str, ...]:
    against = f"{trial.cost_usd / configured.cost_usd - 1.0:+.1%}" if configured.cost_usd else "-"
    changes = ", ".join(shown_change(key, value) for key, value in trial.changes.items())
    return (
        money(trial.cost_usd),
        "" if trial is configured else against,
        shown_time(trial.mean_wait_s),
        shown_time(trial.p95_wait_s),
        changes or "as configured",
    )
