"""The page about a run: how some jobs fare on a platform under one policy, or under several, side by side."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unspool.errors import shown
from unspool.report.content import Page, Section, Tile, rejected_table
from unspool.report.figures.contention import contention, contention_of
from unspool.report.figures.gantt import gantt, has_machines, widest_window
from unspool.report.figures.links import has_links, link_use
from unspool.report.figures.load import groupings, occupancy, queue_length, queued_work, utilisation
from unspool.report.figures.machines import busy_machines
from unspool.report.figures.pair import most_slowed, slowed_pair
from unspool.report.figures.power import power
from unspool.report.figures.waits import slowdown_ecdf, wait_by_size, wait_classes, wait_ecdf
from unspool.report.page import filled, write_page
from unspool.report.runtables import figures_of, group_tables, links_table, longest_waits, policies_table
from unspool.report.shown import amount, change, duration, energy, money, percent
from unspool.results.rejection import warnings_of, with_warning
from unspool.results.result import Result
from unspool.results.store import versions
from unspool.units import counted

__all__ = ["COMMAND", "run_command", "run_page", "run_report", "write_run_report"]

_FEW = 48  # jobs and machines that a Gantt chart alone tells enough of
_MOST_EACH = 3  # policies that have a figure of their own, of those that cannot be laid over each other
COMMAND = "command"
"""The setting that has the command which repeats a run, where that is not `unspool run`."""

_OPTIONS = {
    "platform": "-p", "catalogue": "--catalogue", "policy": "--policy", "seed": "--seed", "selection": "--select",
    "outages": "--outages", "on_loss": "--on-loss", "format": "--format",
}  # fmt: skip
_DEFAULTS: dict[str, Any] = {"seed": 0, "on_loss": "requeue", "kill_at_walltime": False}


def write_run_report(results: Sequence[Result], path: Path, *, told: Mapping[str, Any] | None = None) -> None:
    """Write the page to a file."""
    write_page(run_page(results, told=told), path)


def run_report(results: Sequence[Result], *, told: Mapping[str, Any] | None = None) -> str:
    """The page as HTML, whole in itself; `told` are the versions that made the results, those of now if not given."""
    return filled(run_page(results, told=told))


def run_page(results: Sequence[Result], *, told: Mapping[str, Any] | None = None) -> Page:
    """What stands on the page."""
    figures, sections = _figures(results)
    first = results[0]
    sections.append(Section("All figures", pairs=figures_of(first)) if len(results) == 1 else _all_figures(results))
    tables = [*group_tables(results), *([longest_waits(first)] if len(first.jobs) else [])]
    sections.append(Section("By group, and the longest waits", tables=tables))
    return Page(
        title=f"unspool: {shown(first.workload)} on {shown(first.platform.name)}",
        question=question(results),
        answer=answer(results),
        tiles=_tiles(results),
        figures=figures,
        picture=next(iter(figures)),
        about=_about(first),
        summary=policies_table(results) if len(results) > 1 else None,
        sections=sections,
        rejected=rejected_table(first.rejected, "rejected.parquet"),
        notes=list(dict.fromkeys(text for result in results for text in result.notes)),
        settings=_settings(results),
        versions=[(name, str(text)) for name, text in (versions() if told is None else told).items()],
        commands=[run_command(results)],
    )


def question(results: Sequence[Result]) -> str:
    """What the page answers."""
    first = results[0]
    jobs = f"{'this' if len(first.jobs) == 1 else 'these'} {counted(len(first.jobs))} of {shown(first.workload)}"
    names = [shown(result.policy) for result in results]
    policies = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"How would {jobs} fare on {_where(first)} under {policies}?"


def answer(results: Sequence[Result]) -> str:
    """The answer in one sentence: of one policy what it is like, of several which has the shortest mean wait.

    A warning stands before it if a large share of the log was rejected.
    """
    warning = warnings_of({shown(result.policy): result.summary for result in results})
    return with_warning(_answer(results), warning)


def _answer(results: Sequence[Result]) -> str:
    results = [result for result in results if len(result.jobs)]
    means = [result.summary["mean_wait_s"] for result in results]
    if not results:
        return "No job ran"
    if len(results) == 1:
        busy = f"with {percent(results[0].summary['utilisation'])} of the cores' time used"
        return f"They would wait {duration(means[0])} on average, {busy}" if means[0] else f"None would wait, {busy}"
    if len(set(means)) == 1:
        return f"No difference: jobs would wait {duration(means[0])} on average under each"
    best = means.index(min(means))
    against = 0 if best else means.index(max(means))
    other = f"{duration(means[against])} under {shown(results[against].policy)}"
    text = f"Shortest waits under {shown(results[best].policy)}: {duration(means[best])} on average"
    less = percent(1.0 - means[best] / means[against])
    return f"{text}, {less} less than the {other}"


def _size(result: Result) -> str:
    platform = result.platform
    told = [counted(platform.cores, "core")] if platform.groups else []
    return ", ".join([*told, *(["cloud"] if platform.cloud is not None else [])])


def _where(result: Result) -> str:
    """The platform and its size, which is also the name of a pool."""
    name, size = shown(result.platform.name), _size(result)
    return size if name == str(result.platform.cores) else f"{name} ({size})"


def _rejected(count: int) -> str:
    return f"{counted(count, 'record or job', 'records and jobs')} rejected" if count else "none rejected"


def _about(first: Result) -> list[tuple[str, str]]:
    told = [("log", first.workload), ("platform", _where(first))]
    told.append(("jobs", f"{len(first.jobs):,} ran, {_rejected(first.counts['rejected'])}"))
    return [(name, shown(text, 200)) for name, text in told]


_TILES = (
    ("mean_wait_s", "mean wait", duration, "p95_wait_s", "95% wait at most", min),
    ("mean_bounded_slowdown", "mean bounded slowdown", amount, "p95_bounded_slowdown", "95% have at most", min),
    ("utilisation", "of the cores' time used", percent, "core_hours", "core-hours of jobs:", max),
    ("makespan_s", "from first submission to last end", duration, "throughput_per_hour", "jobs an hour:", min),
    ("total_cost_usd", "cost of instances", money, "idle_cost_usd", "paid while idle:", min),
    ("energy_j", "energy of machines", energy, "peak_power_w", "W at the most:", min),
)


def _tiles(results: Sequence[Result]) -> list[Tile]:
    summaries = [result.summary for result in results]
    tiles = []
    for name, what, text, other, beside, best in _TILES:
        if not all(name in summary for summary in summaries):
            continue
        values = [summary[name] for summary in summaries]
        if len(results) == 1:
            more = text(summaries[0][other]) if other.endswith(("_s", "_usd")) else amount(summaries[0][other])
            tiles.append(Tile(text(values[0]), what, f"{beside} {more}"))
            continue
        known = [value for value in values if value is not None]
        if len(set(known)) <= 1:
            tiles.append(Tile(text(known[0] if known else None), what, "the same under each"))
            continue
        at = values.index(best(known))
        first = values.index(known[0])
        against = first if at != first else next(values.index(value) for value in known if value != known[0])
        held = f"{shown(results[against].policy)}: {text(values[against])} ({change(values[at], values[against])})"
        tiles.append(Tile(text(values[at]), f"{what}, under {shown(results[at].policy)}", held))
    return tiles


def _figures(results: Sequence[Result]) -> tuple[dict[str, Any], list[Section]]:
    """The figures by the name that they have on the page, the one of the first screen first, and where they stand."""
    first, each = results[0], list(results)[:_MOST_EACH]
    if len(results) == 1:
        figures = {"occupancy": occupancy(first)} if groupings(first) else {"utilisation": utilisation(first)}
        busy = {"utilisation": utilisation(first)} if groupings(first) else {}
        waits = {"wait_classes": wait_classes(first)}
    else:
        figures = {"wait_classes": wait_classes(*results)}
        busy, waits = {"utilisation": utilisation(*results)}, {}
    window = widest_window(first) if len(results) > 1 else None
    numbers = [f"-{at}" if len(results) > 1 else "" for at in range(1, len(each) + 1)]
    for number, result in zip(numbers, each, strict=True):
        busy[f"gantt{number}"] = gantt(result, begin=window[0], end=window[1]) if window else gantt(result)
        if has_machines(result) and (window or len(result.attempts) > _FEW or len(result.machines) > _FEW):
            busy[f"busy_machines{number}"] = busy_machines(result)
    queue = {"queue_length": queue_length(*results), "queued_work": queued_work(*results)}
    waits |= {"wait_ecdf": wait_ecdf(*results), "slowdown_ecdf": slowdown_ecdf(*results)}
    waits |= {f"wait_by_size{number}": wait_by_size(result) for number, result in zip(numbers, each, strict=True)}
    left = len(results) - len(each)
    note = f"{left:,} more policies have no figure of their own here." if left else ""
    sections = [
        Section("What is busy", list(busy), note=note),
        Section("What waits", list(queue)),
        Section("How long jobs wait", list(waits), note=note),
    ]
    figures |= busy | queue | waits
    if any(len(contention_of(result)) for result in results):
        figures["contention"] = contention(*results)
        pairs = {
            f"slowed_pair{number}": slowed_pair(one)
            for number, one in zip(numbers, each, strict=True)
            if most_slowed(one)
        }
        figures |= pairs
        sections.append(Section("Slow-down by contention", ["contention", *pairs]))
    links = {f"link_use{number}": link_use(one) for number, one in zip(numbers, each, strict=True) if has_links(one)}
    if links:
        figures |= links
        tables = [links_table(one) for one in each[:1] if has_links(one)]
        sections.append(Section("How busy the network is", list(links), tables=tables, note=note))
    if any(result.power is not None for result in results):
        figures["power"] = power(*results)
        sections.append(Section("What machines draw", ["power"]))
    return figures, sections


def _all_figures(results: Sequence[Result]) -> Section:
    from unspool.report.runtables import figures_table

    return Section("All figures", tables=[figures_table(results)])


def _settings(results: Sequence[Result]) -> list[tuple[str, str]]:
    """The settings of all results; those of a policy after its name where they differ."""
    names = list(dict.fromkeys(name for result in results for name in result.config if name != COMMAND))
    told = []
    for name in names:
        values = [str(result.config.get(name, "")) for result in results]
        text = values[0] if len(set(values)) == 1 else ", ".join(values)
        told.append((name, shown(text, 400)))
    return told


def run_command(results: Sequence[Result]) -> str:
    """The command that repeats the runs, where log and platform are files or names that it knows."""
    config = results[0].config
    if COMMAND in config:
        return str(config[COMMAND])
    words = ["unspool", "run"]
    words += [str(config["workload"])] if "workload" in config else []
    for name, option in _OPTIONS.items():
        values = [result.config.get(name) for result in (results if name == "policy" else results[:1])]
        words += [word for value in values if value not in (None, _DEFAULTS.get(name)) for word in (option, str(value))]
    words += ["--energy"] if config.get("energy") else []
    words += ["--kill-at-walltime"] if config.get("kill_at_walltime") else []
    words += [word for column in config.get("columns", ()) for word in ("--columns", str(column))]
    return shlex.join(words)
