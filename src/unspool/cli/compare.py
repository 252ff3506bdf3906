"""`unspool compare`: what differs between results, job by job, with confidence intervals."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from cyclopts import Parameter

from unspool.analysis.compare import Comparison
from unspool.analysis.compare import compare as compare_results
from unspool.cli.comparison import shown_slowdown, shown_time
from unspool.cli.files import read_results
from unspool.cli.options import Seed
from unspool.cli.output import Announcement, counted, note, print_json, print_table, print_text
from unspool.errors import InputError, shown
from unspool.results.rejection import warnings_of
from unspool.results.result import Result
from unspool.results.series import POINTS, series, span_of
from unspool.results.spreadsheet import write_csv
from unspool.workloads.files import refuse_existing, replaced

__all__ = ["compare"]

_TITLES = {"wait_time": "wait", "response_time": "response time", "bounded_slowdown": "bounded slowdown"}
_GROUPS = 20  # that are shown for each policy
_ROUNDING_S = 1e-3
_NAME = 40  # characters of a policy's name that are shown


def compare(
    *folders: Path,
    baseline: str | None = None,
    by: str | None = None,
    warm_up: str = "0",
    cool_down: str = "0",
    confidence: float = 0.95,
    seed: Seed = 0,
    series: Annotated[Path | None, Parameter(name="--series")] = None,
    points: int = POINTS,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    force: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    json: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
) -> int:
    """Compare results job by job with one of them, with confidence intervals.

    For example: unspool compare OUT --baseline easy --by size --warm-up 7d

    An interval says how much a figure varies over stretches of this log; it says nothing of other logs.

    Parameters
    ----------
    folders
        Folders that `run -o` wrote: one with several policies in it, or two or more.
    baseline
        The result that the others are compared with, by policy. Default: the first.
    by
        Also tell each group of jobs: user, group, project, queue, partition, application or size
        (1, 2-8, 9-32, 33-128 cores and so on).
    warm_up
        Leave out jobs submitted in the first part of the log: a duration such as 7d, or a percentage.
    cool_down
        Leave out jobs submitted in the last part.
    confidence
        How sure the intervals are: 0.5 to 0.999.
    seed
        For the random numbers of the intervals.
    series
        Write queue length, queued work and busy cores over time to this file, .csv or .parquet.
    points
        Bins of the series.
    out
        Write a page for people to this file, .html: the same with figures, whole in itself.
    force
        Replace those files if they exist.
    json
        Print JSON.
    """
    if not folders:
        raise InputError("nothing to compare; name a folder with several results, or two folders")
    if series is not None and series.suffix not in (".csv", ".parquet"):
        raise InputError(f"{series}: a series is written as .csv or .parquet; name such a file")
    if out is not None:
        if out.suffix.lower() not in (".html", ".htm"):
            raise InputError(f"{out}: the page is written as .html; name such a file")
        refuse_existing(out, force=force)
    with Announcement(f"reading {', '.join(map(str, folders))} …"):
        named = _named(folders)
    with Announcement("comparing …"):
        found = compare_results(
            named, baseline, by=by, warm_up=warm_up, cool_down=cool_down, confidence=confidence, seed=seed
        )
    if series is not None:
        with Announcement(f"writing {series} …"):
            _write_series(named, series, points, force=force)
    if out is not None:
        with Announcement(f"writing {out} …"), replaced(out, force=force) as file:
            file.write(_page(named, found, folders, out).encode("utf-8", "replace"))
    for text in found.notes:
        note(text)
    if json:
        print_json(found.to_dict())
    else:
        if (warning := warnings_of({name: one.summary for name, one in named.items()})) is not None:
            print_text(shown(warning, 1000))
        _print(found)
    if series is not None:
        note(f"series: {series}")
    if out is not None:
        note(f"for people: {out}")
    return 0


def _page(named: Mapping[str, Result], found: Comparison, folders: tuple[Path, ...], out: Path) -> str:
    """The page, with the command that made it."""
    from unspool.report.compare import compare_report

    options = {
        "--baseline": found.baseline if found.baseline != next(iter(named)) else None, "--by": found.by,
        "--warm-up": f"{found.warm_up_s:.10g}" if found.warm_up_s else None,
        "--cool-down": f"{found.cool_down_s:.10g}" if found.cool_down_s else None,
        "--confidence": f"{found.confidence:g}" if found.confidence != 0.95 else None,
        "--seed": str(found.seed) if found.seed else None, "-o": str(out),
    }  # fmt: skip
    words = [word for name, value in options.items() if value is not None for word in (name, value)]
    return compare_report(named, found, command=shlex.join(["unspool", "compare", *map(str, folders), *words]))


def _named(folders: tuple[Path, ...]) -> dict[str, Result]:
    """Results by policy, or where that is not enough by folder, or by both."""
    read = [(folder, result) for folder in folders for result in read_results(folder)]
    policies = [result.policy for _, result in read]
    paths = [os.path.normpath(folder) for folder, _ in read]
    both = [f"{path}/{policy}" for path, policy in zip(paths, policies, strict=True)]
    for names in (policies, paths, both):
        if len(set(names)) == len(names):
            return {name: result for name, (_, result) in zip(names, read, strict=True)}
    raise InputError(f"a folder is named twice among {', '.join(paths)}; name each once")


def _write_series(named: Mapping[str, Result], path: Path, points: int, *, force: bool) -> None:
    """All results over the same bins, one below the other."""
    begin, end = span_of(list(named.values()))
    table = pl.concat(
        series(result, points, begin=begin, end=end).select(pl.lit(name).alias("policy"), pl.all())
        for name, result in named.items()
    )
    with replaced(path, force=force) as file:
        write_csv(table, file) if path.suffix == ".csv" else table.write_parquet(file)


def _print(found: Comparison) -> None:
    facts = found.results.rows(named=True)
    logs, platforms = (
        " and ".join(dict.fromkeys(shown(row[name]) for row in facts)) for name in ("workload", "platform")
    )
    first = next(row for row in facts if row["policy"] == found.baseline)
    cut = f"left out: {first['warm_up_jobs']:,} of warm-up, {first['cool_down_jobs']:,} of cool-down"
    rows = [
        (
            shown(row["policy"], _NAME),
            f"{row['jobs']:,}",
            f"{row['rejected']:,}",
            _shown(row["mean_wait_time"], "wait_time"),
            _shown(row["mean_bounded_slowdown"], "bounded_slowdown"),
            "-" if row["jain_index_of_users"] is None else f"{row['jain_index_of_users']:.3f}",
        )
        for row in facts
    ]
    header = ("policy", "jobs", "rejected", "mean\nwait", "bounded\nslowdown", "Jain's index\nof users")
    print_table(header, rows, f"{logs} on {platforms}" + f"; {cut}" * (found.warm_up_s + found.cool_down_s > 0))
    for measure in _TITLES:
        if measure != "response_time" or _response_differs(found):
            _print_differences(found, measure)
    print_text("")
    for row in found.pairs.iter_rows(named=True):
        print_text(
            f"{shown(row['policy'], _NAME)}: {counted(row['jobs'], 'job')} in both, in {row['blocks']:,} blocks "
            f"of {row['block_jobs']:,.0f} ({shown_time(row['block_s'])})"
        )


def _response_differs(found: Comparison) -> bool:
    """Whether any job runs for another time than under the baseline: else waits say all about responses."""
    wait, response = (
        found.differences.filter(pl.col("measure") == name)["difference"] for name in ("wait_time", "response_time")
    )
    return bool(((wait - response).abs() > _ROUNDING_S).any())


def _print_differences(found: Comparison, measure: str) -> None:
    """One row a policy, and below it one for each of its largest groups."""
    table = found.differences.filter(pl.col("measure") == measure)
    rows, most = [], 0
    for _, part in table.group_by("policy", maintain_order=True):
        most = max(most, len(part) - 1)
        rows += [_difference_row(row, measure) for row in part.head(1 + _GROUPS).iter_rows(named=True)]
    header = ("", "jobs", "mean", "differ-\nence", f"{100 * found.confidence:.4g}%\nfrom", "\nto", "better", "worse")
    print_text("")
    print_table(header, rows, f"{_TITLES[measure]}, against {shown(found.baseline, _NAME)}")
    if most > _GROUPS:
        print_text(f"… and {counted(most - _GROUPS, 'smaller group')}; --json tells all")


def _difference_row(row: Mapping[str, Any], measure: str) -> tuple[str, ...]:
    ends = [row["difference_low"], row["difference_high"]]
    return (
        shown(row["policy"], _NAME) if row["group"] is None else f"  {shown(row['group'], _NAME - 2)}",
        f"{row['jobs']:,}",
        _shown(row["mean"], measure),
        _signed(row["difference"], measure),
        *(("too few", "blocks") if None in ends else (_signed(end, measure) for end in ends)),
        f"{row['better']:.1%}",
        f"{row['worse']:.1%}",
    )


def _signed(value: float, measure: str) -> str:
    return "=" if value == 0 else f"{'-' if value < 0 else '+'}{_shown(abs(value), measure)}"


def _shown(value: float, measure: str) -> str:
    return shown_slowdown(value) if measure == "bounded_slowdown" else shown_time(value)
