"""`unspool check`: hold a finished schedule against the laws of a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unspool.analysis.audit.laws import Report, Verdict
from unspool.analysis.audit.schedule import read_schedule
from unspool.analysis.check import check_schedule, policy_of
from unspool.cli.config import RunConfig
from unspool.cli.files import read_log
from unspool.cli.options import LogFormat, Untrusted
from unspool.cli.output import Progress, note, print_json, print_table, print_text, reading
from unspool.platforms import read_platform

__all__ = ["check"]

VIOLATED = 1


def check(
    schedule: Path,
    log: str,
    /,
    *,
    platform: Annotated[str | None, Parameter(name=["--platform", "-p"], allow_leading_hyphen=True)] = None,
    policy: str | None = None,
    tolerance: float = 1e-6,
    format: LogFormat = None,
    columns: Annotated[list[str] | None, Parameter(negative=())] = None,
    json: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    untrusted: Untrusted = False,
) -> int:
    """Hold a finished schedule, ours or another tool's, against the laws of a policy.

    Parameters
    ----------
    schedule
        A folder of results, SWF (start = submit time + wait), the jobs file of Batsim, or CSV with id,start.
    log
        The log that it is a schedule of, of any format (see: unspool plugins formats), packed with gzip or not.
    platform
        What it ran on: 480, 128x16, 128x16:64GiB:2gpu, or a YAML, TOML, JSON or XML file.
        Without it, that of the result, or as many cores as the log says its machine had.
    policy
        Whose laws: fcfs, easy, conservative, or none (only those of every schedule).
        Without it, the policy of the result if it is one of these, else none.
    tolerance
        Seconds by which times may differ and still be the same.
    columns
        For CSV and Parquet, our column = the file's, as in run_time=duration.
    json
        Print JSON.
    untrusted
        As for other verbs; nothing that a file names is ever loaded here.
    """
    if policy is not None:
        policy_of(policy)
    where = None if platform is None else read_platform(platform)
    jobs = read_log(log, format, RunConfig(columns=columns or []).column_map())
    with reading(schedule):
        made = read_schedule(schedule)
    with Progress("checking") as progress:
        report = check_schedule(made, jobs, where, policy, tolerance=tolerance, progress=progress)
    for text in report.notes:
        note(text)
    if json:
        print_json(report.as_dict())
    else:
        _print(report)
    return 0 if report.ok else VIOLATED


def _print(report: Report) -> None:
    rows = [
        (
            verdict.law,
            _kind(verdict),
            f"{verdict.checked:,} {verdict.of}",
            f"{verdict.violations:,}",
            verdict.worst_text,
        )
        for verdict in report.verdicts
    ]
    print_table(("law", "binds", "checked", "violations", "worst"), rows, report.subject)
    examples = [f"{verdict.law}: {verdict.example}" for verdict in report.verdicts if verdict.example]
    reasons: dict[str, list[str]] = {}
    for verdict in report.verdicts:
        for reason in verdict.reasons:
            reasons.setdefault(reason, []).append(verdict.law)
    if examples:
        print_text("\n" + "\n".join(examples))
    if reasons:
        print_text("\n" + "\n".join(f"information, {', '.join(laws)}: {reason}" for reason, laws in reasons.items()))
    broken = ", ".join(verdict.law for verdict in report.violations)
    print_text("\n" + (f"VIOLATED: {broken}" if broken else "no law that binds is violated"))


def _kind(verdict: Verdict) -> str:
    return "yes" if verdict.binds else "information"
