"""`unspool why`: what a job waited for, interval by interval."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unspool.analysis.reasons import told_time
from unspool.analysis.why import Explanation, Interval
from unspool.analysis.why import why as explain
from unspool.cli.options import Untrusted
from unspool.cli.output import Progress, compiling_announcement, counted, note, print_json, print_table, print_text
from unspool.errors import shown
from unspool.results.store import load
from unspool.trust import vet
from unspool.units import format_duration

__all__ = ["why"]

_ROWS = 20  # intervals that are printed


def why(
    result: Path,
    job: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    workload: str | None = None,
    all: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    json: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    untrusted: Untrusted = False,
) -> None:
    """Say what a job waited for, interval by interval.

    Parameters
    ----------
    result
        A folder of results, of one policy.
    job
        The id of the job, as in the log.
    workload
        The log, where it is no longer where the run read it.
    all
        Print every interval; otherwise the first and the last ten.
    json
        Print JSON, with every interval and every figure.
    """
    found = load(result)
    vet("schedulers", found.policy, str(result), untrusted=untrusted, note=note)
    with Progress("replaying") as progress:
        explained = explain(
            found,
            job,
            workload=workload,
            progress=progress,
            compiling=compiling_announcement,
        )
    if json:
        print_json(explained.as_dict())
    else:
        _print(explained, all=all)


def _print(explained: Explanation, *, all: bool) -> None:
    name = f"job {shown(explained.job, 40)}, {counted(explained.cores, 'core')}"
    title = f"{name}: {shown(explained.workload)} under {shown(explained.policy)} on {shown(explained.platform)}"
    submitted, started = told_time(explained.submit_time), told_time(explained.start_time)
    if not explained.intervals:
        print_text(f"{title}\nsubmitted and started at {submitted} s: it did not wait")
        return
    print_text(
        f"{title}\nsubmitted at {submitted} s, started at {started} s, waited {format_duration(explained.wait_s)}; "
        f"estimate {format_duration(explained.estimate or 0.0)}\n"
    )
    intervals = explained.intervals
    rows = [_row(interval) for interval in intervals]
    left_out = 0 if all else len(rows) - _ROWS
    if left_out > 0:
        rows[_ROWS // 2 : -_ROWS // 2] = [("…", "", "", "", f"{counted(left_out, 'interval')} not shown: --all")]
    print_table(("from", "to", "length", "ahead", "waited because it"), rows, justify="left")
    print_text("")
    _print_totals(explained)
    if explained.overtaken_by:
        print_text(f"\n{counted(explained.overtaken_by, 'job')} behind it in the log started while it waited")


def _row(interval: Interval) -> tuple[str, ...]:
    return (
        told_time(interval.begin),
        told_time(interval.end),
        format_duration(interval.length_s),
        f"{interval.ahead:,}",
        shown(str(interval.reason), 400),
    )


def _print_totals(explained: Explanation) -> None:
    counts: dict[str, int] = {}
    for interval in explained.intervals:
        counts[interval.reason.key] = counts.get(interval.reason.key, 0) + 1
    rows = [
        (shown(key), format_duration(seconds), f"{seconds / explained.wait_s:.1%}", f"{counts[key]:,}")
        for key, seconds in explained.totals.items()
    ]
    rows.append(("in all", format_duration(explained.wait_s), "100.0%", f"{len(explained.intervals):,}"))
    print_table(("reason", "time", "share", "intervals"), rows)
