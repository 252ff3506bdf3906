"""The page about a comparison: under which policy jobs wait less, by how much, and how sure that is."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from unspool.analysis.compare import Comparison, compare, compared_jobs, named_results
from unspool.errors import InputError, shown
from unspool.report.comparetables import (
    difference_tables,
    interval,
    results_table,
    settings_table,
    share_splits,
    whole,
)  # fmt: skip
from unspool.report.content import Page, Section, Tile
from unspool.report.figures.difference import (
    busy_difference,
    cost_against_wait,
    group_differences,
    paired_differences,
    signed,
)  # fmt: skip
from unspool.report.figures.load import queue_length, utilisation
from unspool.report.figures.waits import slowdown_ecdf, wait_ecdf
from unspool.report.page import filled, write_page
from unspool.report.run import run_command
from unspool.report.runtables import figures_table
from unspool.report.shown import change, duration, money, percent
from unspool.results.rejection import warnings_of, with_warning
from unspool.results.result import Result
from unspool.results.store import versions
from unspool.units import counted, format_duration

__all__ = ["compare_page", "compare_report", "write_compare_report"]

_MOST_EACH = 3  # results that have a figure of their own beside the baseline
_LONGEST_NOTE = 400

Results = Mapping[str, Result] | Sequence[Result] | str | os.PathLike[str]


def write_compare_report(
    results: Results, path: Path, found: Comparison | None = None, *, command: str | None = None
) -> None:
    """Write the page to a file."""
    write_page(compare_page(results, found, command=command), path)


def compare_report(results: Results, found: Comparison | None = None, *, command: str | None = None) -> str:
    """The page as HTML, whole in itself, of what `unspool.compare` takes and of what it found.

    Without `found` the results are compared with the first of them; `command` is told as what repeats the comparison.
    """
    return filled(compare_page(results, found, command=command))


def compare_page(results: Results, found: Comparison | None = None, *, command: str | None = None) -> Page:
    """What stands on the page."""
    given = named_results(results)
    found = compare(given) if found is None else found
    if set(given) != set(found.results["policy"]):
        raise InputError("the comparison is of other results than those given; compare these with unspool.compare")
    # The baseline first: it has the first colour of every figure. Names stand for policies, of which two may be alike.
    names = [found.baseline, *(name for name in given if name != found.baseline)]
    named = {name: _called(given[name], name) for name in names}
    figures, sections = _figures(named, found)
    sections += [
        Section("Differences, job by job", splits=share_splits(found), tables=difference_tables(found)),
        Section("All figures", tables=[figures_table(list(named.values()))],
                note="Of all jobs of each run, those of warm-up and cool-down too."),
        Section("Settings of each", tables=[settings_table(named)]),
    ]  # fmt: skip
    commands = [run_command([result]) for result in given.values()]
    return Page(
        title=f"unspool: {_listed([shown(name) for name in names], 'and')}",
        question=question(found),
        answer=with_warning(answer(found), warnings_of({shown(name): one.summary for name, one in named.items()})),
        tiles=_tiles(named, found),
        figures=figures,
        picture="wait_ecdf",
        about=_about(found),
        summary=results_table(named, found),
        sections=sections,
        notes=[shown(text, _LONGEST_NOTE) for text in dict.fromkeys([*found.notes, *_notes(named)])],
        settings=_settings(found),
        versions=[(name, str(text)) for name, text in versions().items()],
        commands=[*dict.fromkeys(commands), *([command] if command else [])],
    )


def _notes(named: Mapping[str, Result]) -> list[str]:
    return [text for result in named.values() for text in result.notes]


def _called(result: Result, name: str) -> Result:
    return result if result.policy == name else replace(result, policy=name)


def question(found: Comparison) -> str:
    """What the page answers."""
    names = [shown(name, 40) for name in found.results["policy"]]
    jobs = max(found.results["jobs"])
    logs, platforms = (
        _listed(list(dict.fromkeys(shown(name) for name in found.results[column])), "and")
        for column in ("workload", "platform")
    )
    cores = f"{platforms} cores" if platforms.isdecimal() else platforms  # which is what a pool is called
    less = "less" if len(names) == 2 else "least"
    do = "does" if jobs == 1 else "do"
    return f"Where {do} {counted(jobs)} of {logs} on {cores} wait {less}: under {_listed(names, 'or')}?"


def answer(found: Comparison) -> str:
    """The answer in one sentence: who waits less, by how much, and how sure that is."""
    waits = whole(found, "wait_time")
    row = _best(found)
    other, base = shown(row["policy"], 40), shown(found.baseline, 40)
    if not any(one["better"] or one["worse"] for one in waits):
        return "No difference: every job waits as long under each"
    if row["difference"] == 0.0:
        return f"No difference on average between {other} and {base}"
    is_less = row["difference"] < 0.0
    winner, loser = (other, base) if is_less else (base, other)
    less = f"{duration(abs(row['difference']))} less on average than under {loser}"
    text = f"Jobs wait {'less' if len(waits) == 1 else 'least'} under {winner}: {less}"
    low, high = row["difference_low"], row["difference_high"]
    sure = f"{100 * found.confidence:.4g}% interval"
    if low is None or high is None:
        return f"{text}; too few jobs for an interval"
    if low <= 0.0 <= high:
        near, far = (high, -low) if is_less else (-low, high)
        return (
            f"No clear difference: under {winner} jobs wait {less}, "
            f"but the {sure} goes from {duration(far)} less to {duration(near)} more"
        )
    ends = sorted((abs(low), abs(high)))
    return f"{text} ({sure}: {duration(ends[0])} to {duration(ends[1])})"


def _best(found: Comparison) -> dict[str, Any]:
    """The difference in wait of the result, but for the baseline, under which jobs wait least."""
    return min(whole(found, "wait_time"), key=lambda row: float(row["difference"]))


def _tiles(named: Mapping[str, Result], found: Comparison) -> list[Tile]:
    """The best result but for the baseline, against it."""
    wait = _best(found)
    name, base = wait["policy"], found.baseline
    slow = next(row for row in whole(found, "bounded_slowdown") if row["policy"] == name)
    under, against = shown(name, 40), shown(base, 40)
    tiles = [
        Tile(signed(wait["difference"], "wait_time"), f"mean wait, {under} against {against}", interval(found, wait)),
        Tile(signed(slow["difference"], "bounded_slowdown"), f"mean bounded slowdown, {under} against {against}",
             interval(found, slow)),
        Tile(percent(wait["better"]), f"of jobs wait less under {under}",
             f"{percent(wait['worse'])} wait longer, {percent(wait['equal'])} as long"),
    ]  # fmt: skip
    here, there = (named[one].summary for one in (name, base))
    if "total_cost_usd" in here and "total_cost_usd" in there:
        mine, theirs = here["total_cost_usd"], there["total_cost_usd"]
        beside = f"{against}: {money(theirs)} ({change(mine, theirs)})"
        return [*tiles, Tile(money(mine), f"cost under {under}", beside)]
    beside = f"{against}: {percent(there['utilisation'])}"
    return [*tiles, Tile(percent(here["utilisation"]), f"of the cores' time used under {under}", beside)]


def _about(found: Comparison) -> list[tuple[str, str]]:
    told = [("against", shown(found.baseline, 200))]
    best = _best(found)["policy"]
    pair = found.pairs.row(by_predicate=pl.col("policy") == best, named=True)
    told.append(("jobs in both", f"{pair['jobs']:,}"))
    base = found.results.row(by_predicate=pl.col("policy") == found.baseline, named=True)
    if found.warm_up_s + found.cool_down_s > 0.0:
        told.append(("left out", f"{base['warm_up_jobs']:,} of warm-up, {base['cool_down_jobs']:,} of cool-down"))
    alone = pair["only_in_baseline"] + pair["only_in_policy"]
    if alone:
        told.append(("beware", f"{counted(alone)} ran in one of the two only, in no difference: see the notes"))
    if pair["is_capped"]:
        told.append(("beware", "the interval is too narrow: see the notes"))
    return told


def _figures(named: Mapping[str, Result], found: Comparison) -> tuple[dict[str, Any], list[Section]]:
    """The figures by the name that they have on the page, and where they stand."""
    jobs = compared_jobs(named, found.warm_up_s, found.cool_down_s)
    is_cut = found.warm_up_s + found.cool_down_s > 0.0
    compared = [replace(result, jobs=jobs[name]) if is_cut else result for name, result in named.items()]
    base, *others = named.values()
    figures = {"wait_ecdf": wait_ecdf(*compared)}
    differ = {"paired": paired_differences(found)} | ({"groups": group_differences(found)} if found.by else {})
    slow = {"slowdown_ecdf": slowdown_ecdf(*compared)}
    busy = {f"busy_difference-{at}": busy_difference(base, other) for at, other in enumerate(others[:_MOST_EACH])}
    busy |= {"utilisation": utilisation(base, *others), "queue_length": queue_length(base, *others)}
    left = len(others) - _MOST_EACH
    note = f"{left:,} more results have no figure of their own here." if left > 0 else ""
    sections = [Section("How much jobs gain or lose", list(differ))]
    if sum("total_cost_usd" in one.summary for one in named.values()) > 1:
        differ["cost"] = cost_against_wait(base, *others)
        sections.append(Section("Cost against wait", ["cost"]))
    sections += [
        Section(slow["slowdown_ecdf"].layout.meta["heading"], list(slow)),
        Section("What is busy, and what waits", list(busy), note=note),
    ]
    return figures | differ | slow | busy, sections


def _settings(found: Comparison) -> list[tuple[str, str]]:
    return [
        ("baseline", shown(found.baseline, 400)), ("by", found.by or "all jobs"),
        ("confidence of the intervals", f"{100 * found.confidence:.4g}%"), ("seed of the intervals", str(found.seed)),
        ("warm-up", format_duration(found.warm_up_s)), ("cool-down", format_duration(found.cool_down_s)),
    ]  # fmt: skip


def _listed(names: Sequence[str], word: str) -> str:
    """Names in a sentence.

    >>> _listed(["a", "b", "c"], "or"), _listed(["a"], "or")
    ('a, b or c', 'a')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
