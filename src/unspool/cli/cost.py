"""`unspool cost`: what would these jobs cost in the cloud, and what waiting would it save?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from unspool.analysis.costs import Costs
from unspool.cli.bill import print_bill
from unspool.cli.config import RunConfig
from unspool.cli.files import in_results, read_log, tell_reasons
from unspool.cli.options import Flag, Seed, Untrusted, command_of
from unspool.cli.output import (
    Announcement,
    Progress,
    compiling_announcement,
    note,
    print_json,
    print_text,
    where_written,
)
from unspool.errors import InputError
from unspool.faces.cloud.changes import parse_changes
from unspool.faces.cloud.commit import with_commitments
from unspool.faces.cloud.costing import CostSetUp, cost_set_up, with_bands
from unspool.faces.cloud.outputs import write_costs
from unspool.faces.cloud.template import commented_config
from unspool.faces.cloud.workbook import needs_xlsxwriter
from unspool.model.workload import Workload
from unspool.results.store import check_free, versions
from unspool.trust import vet
from unspool.units import counted
from unspool.workloads.files import replaced

__all__ = ["app", "cost"]

_ADVISE = "Try other set-ups, and tell the cheapest for each wait, with the command that gives it."
_COMMIT = "Say which savings plans and reserved instances would have made a bill least."
_COMPARE = """Hold several set-ups against each other, and against the log: one table, one page.

For example: unspool cost compare sacct.txt -c a.yml -c b.yml -o OUT"""


app = App(name="cost", help_format="plaintext")
app.command("unspool.cli.advise:advise_on", name="advise", help=_ADVISE)
app.command("unspool.cli.commit:commit", name="commit", help=_COMMIT)
app.command("unspool.cli.costcompare:compare", name="compare", help=_COMPARE)


@app.default
def cost(
    jobs: Path | None = None,
    /,
    *,
    config: Annotated[Path | None, Parameter(name=["--config", "-c"])] = None,
    catalogue: Annotated[list[Path] | None, Parameter(negative=())] = None,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    force: Annotated[bool, Flag] = False,
    init: Annotated[bool, Flag] = False,
    starttime: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    endtime: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    queues: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    projects: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    format: str | None = None,
    columns: Annotated[list[str] | None, Parameter(negative=())] = None,
    policy: str | None = None,
    on_premises: Annotated[bool, Parameter(name="--on-premises", negative=(), show_default=False)] = False,
    set: Annotated[list[str] | None, Parameter(negative=())] = None,
    seed: Seed | None = None,
    replicas: int = 1,
    json: Annotated[bool, Flag] = False,
    strict: Annotated[bool, Flag] = False,
    no_report: Annotated[bool, Parameter(name="--no-report", negative=(), show_default=False)] = False,
    excel: Annotated[bool, Flag] = False,
    untrusted: Untrusted = False,
) -> int:
    """Say what the jobs of a log would cost in the cloud, and what waiting it would save.

    For example: unspool cost sacct.txt -c config.yml -o OUT

    Write a configuration to begin with: unspool cost --init config.yml

    Parameters
    ----------
    jobs
        The log of a scheduler, in any format that unspool reads. With --init, the file to write.
    config
        The configuration, config.yml as the AWS tool has it, with more keys. Without it, the defaults.
    catalogue
        Instance types and prices: CSV, or instance_type_info.json, packed with gzip or not; once for each
        file, built-in for those that ship. Without it, those that ship.
    out
        Folder for the results: hourly_stats.csv, summary.json, jobs.csv, instances.csv, report.html and more.
    force
        Replace the results (with --init, the file) that are there. A folder with anything else in it never is.
    init
        Write a commented configuration to the file named, or to stdout, and do nothing else.
    starttime
        Leave out jobs that ended before this and hours before that of this: 2026-03-01T08:00:00 in UTC, or seconds
        since 1970.
    endtime
        Leave out jobs submitted after this, and hours after that of this.
    queues
        Only jobs of these queues: regular expressions separated by commas; one after - leaves out; the first that
        matches decides.
    projects
        The same for projects.
    format
        Format of the log, where its name and content do not tell (see: unspool plugins formats).
    columns
        For CSV and Parquet, our column = the file's, as in run_time=duration.
    policy
        How jobs are placed on machines. Without it, as configured: cheapest-fit.
    on_premises
        Start nothing in the cloud, as with Burst: never: jobs run on the configured machines on premises and on
        reserved instances.
    set
        Another value for a key of the configuration, as in IdleTime=60.
    seed
        For the reclaims of spot instances. Without it, as configured: 0.
    replicas
        Repeat with so many seeds, and tell the 5-95 % band of every figure.
    json
        Print the summary as JSON.
    strict
        Exit with 2 if any record or job was rejected.
    no_report
        Do not write report.html.
    excel
        Also write hourly_stats.xlsx, the workbook of the AWS tool with formulas and charts. Needs the extra excel.
    """
    command = command_of(cost, dict(locals()), without=("out", "force", "json", "strict", "no_report", "untrusted"))
    if init:
        return _write_config(jobs, force=force)
    if jobs is None:
        raise InputError("no log given; name one, as in unspool cost sacct.txt -c config.yml -o OUT")
    if replicas < 1:
        raise InputError(f"--replicas {replicas}: expected 1 or more")
    if excel:
        needs_xlsxwriter()
        if out is None:
            raise InputError("--excel writes a workbook into the folder of results; name one, as in -o OUT")
    if policy is not None:
        vet("schedulers", policy, None, untrusted=untrusted)
    has_report = not (no_report or json)
    if out is not None:
        check_free(out, force=force)
    set_up = cost_set_up(
        config, changes=parse_changes(set or []), catalogue=catalogue or (), policy=policy, on_premises=on_premises,
        seed=seed, starttime=starttime, endtime=endtime, queues=queues, projects=projects,
    )  # fmt: skip
    for text in set_up.notes:
        note(text)
    log = read_log(jobs, format, RunConfig(columns=columns or []).column_map())
    kept = set_up.selected(log, queues, projects)
    for text in kept.notes[len(log.notes) :]:
        note(text)
    found = _costs(kept, set_up, replicas)
    text = commented_config() if config is None else config.read_text(encoding="utf-8", errors="replace")
    files = {"the default configuration" if config is None else config.name: text}
    found = replace(found, origin={"command": command, "versions": versions(), "files": files})
    if out is not None:
        with Announcement("solving …"):
            found = with_commitments(found, set_up.settings, set_up.catalogue)
        with Announcement(f"writing {out} …"):
            write_costs(found, out, force=force, report=has_report, workbook=set_up.settings if excel else None)
    for text in found.notes:
        if text not in (*set_up.notes, *kept.notes):
            note(text)
    if count := len(found.rejected):
        note(f"rejected: {counted(count, 'record or job', 'records or jobs')}")
        tell_reasons(found.rejected, in_results("rejected.csv"))
    if json:
        print_json(found.summary)
    else:
        print_bill(found.summary)
    if out is not None:
        note(where_written(out, report=has_report))
    return 2 if strict and count else 0


def _costs(log: Workload, set_up: CostSetUp, replicas: int) -> Costs:
    """The costs with the seed that was given; with replicas, the bands over as many seeds from that on."""
    compiling = compiling_announcement()
    first: Costs | None = None
    summaries = []
    with Progress("repeating", "replicas") as repeating:
        for at in range(replicas):
            if at:
                repeating(at, replicas)
            with Progress(set_up.settings.placement) as progress:
                costs = set_up.costs(
                    log, replica=at, progress=None if at else progress, compiling=lambda: compiling,
                    billing=lambda: Announcement("billing …"),
                )  # fmt: skip
            first = first or costs
            summaries.append(costs.summary)
    assert first is not None
    return first if replicas == 1 else with_bands(first, summaries)


def _write_config(path: Path | None, *, force: bool) -> int:
    if path is None:
        print_text(commented_config().rstrip("\n"))
        return 0
    with replaced(path, force=force) as file:
        file.write(commented_config().encode())
    note(f"configuration: {path}")
    return 0
