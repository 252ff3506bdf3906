"""The table that `unspool run` prints: one row a policy."""

from __future__ import annotations

from collections.abc import Sequence

from unspool.cli.output import counted, print_table, print_text
from unspool.errors import shown
from unspool.results.rejection import warnings_of
from unspool.results.result import Result
from unspool.units import format_duration

__all__ = ["print_comparison", "shown_slowdown", "shown_time"]

_DAY_S = 86400


def print_comparison(results: Sequence[Result]) -> None:
    """Print the figures that matter most; of several policies also how far the mean wait is from the first one's."""
    summaries = [result.summary for result in results]
    first = summaries[0]
    columns = {"policy": [summary["policy"] for summary in summaries]}
    told = ""
    if all(summary["jobs"] == first["jobs"] for summary in summaries):
        told = f": {counted(first['jobs'], 'job')}, {first['rejected']:,} rejected"
    else:
        columns |= {name: [f"{summary[name]:,}" for summary in summaries] for name in ("jobs", "rejected")}
    columns["mean\nwait"] = [shown_time(summary["mean_wait_s"]) for summary in summaries]
    if len(results) > 1:
        columns["against\nfirst"] = [_against(summary["mean_wait_s"], first["mean_wait_s"]) for summary in summaries]
    columns |= {
        "p95\nwait": [shown_time(summary["p95_wait_s"]) for summary in summaries],
        "max\nwait": [shown_time(summary["max_wait_s"]) for summary in summaries],
        "bounded\nslowdown": [shown_slowdown(summary["mean_bounded_slowdown"]) for summary in summaries],
        "utili-\nsation": [f"{summary['utilisation']:.1%}" for summary in summaries],
        "makespan": [shown_time(summary["makespan_s"]) for summary in summaries],
    }
    if "total_cost_usd" in first:
        columns["cost"] = [f"${summary.get('total_cost_usd', 0.0):,.2f}" for summary in summaries]
    if any("energy_j" in summary for summary in summaries):
        columns["energy"] = [_energy(summary.get("energy_j")) for summary in summaries]
    platform = results[0].platform
    size = counted(platform.cores, "core") if platform.cloud is None or platform.groups else ""
    size += f"{', ' if size else ''}cloud" if platform.cloud is not None else ""
    where = f"{shown(first['platform'])} ({size})"
    warning = warnings_of({summary["policy"]: summary for summary in summaries})
    if warning is not None:
        print_text(shown(warning, 1000))
    print_table(
        list(columns), list(zip(*columns.values(), strict=True)), f"{shown(first['workload'])} on {where}{told}"
    )


def _against(wait_s: float | None, first_s: float | None) -> str:
    if wait_s == first_s:
        return "="
    if wait_s is None or first_s is None:
        return "-"
    return f"{wait_s / first_s - 1.0:+,.1%}" if first_s else "longer"


def shown_slowdown(value: float | None) -> str:
    """A slowdown in six characters or so."""
    if value is None:
        return "-"
    return f"{value:,.2f}" if value < 1000 else f"{value:,.0f}"


def shown_time(seconds: float | None) -> str:
    """A duration in eight characters or so, since eight columns must fit a terminal of eighty."""
    if seconds is None:
        return "-"
    if seconds < _DAY_S:
        return format_duration(round(seconds, 1 if seconds < 60 else 0))
    days, rest_s = divmod(seconds, _DAY_S)
    return f"{days:.0f}d {rest_s // 3600:02.0f}h"


def _energy(joules: float | None) -> str:
    """Kilowatt-hours from a tenth of one on, as on the page."""
    if joules is None:
        return ""
    amount, unit = (joules / 3.6e6, "kWh") if joules >= 3.6e5 else (joules, "J")
    return f"{amount:,.0f} {unit}" if amount >= 1000.0 else f"{amount:.4g} {unit}"
