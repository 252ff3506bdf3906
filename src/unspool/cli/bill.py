"""The table that `unspool cost` prints: the main figures of a bill."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from unspool.cli.comparison import shown_time
from unspool.cli.output import counted, print_table, print_text
from unspool.errors import shown
from unspool.report.shown import amount, hours, money, percent
from unspool.results.rejection import warning_of

__all__ = ["print_bill"]

_PLANS = {"on demand": "on_demand", "spot": "spot", "reserved": "reserved", "on premises": "on_premises"}
_EXTRAS = {"disks": "disk", "licences": "licence"}


def print_bill(summary: Mapping[str, Any]) -> None:
    """Print what the jobs cost by pricing and by what was paid for, and how long they wait; with bands if there are."""
    jobs = f"{counted(summary['jobs'], 'job')}, {summary['rejected']:,} rejected"
    if (warning := warning_of(summary)) is not None:
        print_text(warning)
    where = " of ".join(filter(None, (summary["region"], summary["price_date"])))
    print_table(
        ("", "cost", "share", *(["5% of seeds", "95%"] if "bands" in summary else [])),
        _costs(summary),
        f"{shown(str(summary['workload']))}: {jobs}" + f"; prices: {where}" * bool(where),
    )
    print_text("")
    print_table(
        ("wait", "here", *(["5% of seeds", "95%"] if "bands" in summary else []), "in the log"), _waits(summary)
    )
    print_text("")
    for line in _sentences(summary):
        print_text(line)


def _costs(summary: Mapping[str, Any]) -> list[tuple[str, ...]]:
    total = summary["total_cost_usd"]
    keys = {
        "total": "total",
        **{f"  {name}": key for name, key in _PLANS.items() if summary[f"{key}_cost_usd"] or key == "on_demand"},
        "  boot time": "boot",
        "  run time": "run",
        "  idle time": "idle",
        **{f"  {name}": key for name, key in _EXTRAS.items() if summary.get(f"{key}_cost_usd")},
    }
    return [
        (
            name,
            money(summary[f"{key}_cost_usd"]),
            percent(summary[f"{key}_cost_usd"] / total) if total else "-",
            *_band(summary, f"{key}_cost_usd"),
        )
        for name, key in keys.items()
    ]


def _band(summary: Mapping[str, Any], name: str, told: Callable[[float | None], str] = money) -> tuple[str, ...]:
    if "bands" not in summary:
        return ()
    band = summary["bands"].get(name, {"p5": None, "p95": None})
    return told(band["p5"]), told(band["p95"])


def _waits(summary: Mapping[str, Any]) -> list[tuple[str, ...]]:
    rows = {"mean": "mean_wait_s", "median": "median_wait_s", "p95": "p95_wait_s", "max": "max_wait_s"}
    return [
        (name, _time(summary[key]), *_band(summary, key, _time), _time(summary[f"logged_{key}"]))
        for name, key in rows.items()
    ]


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"-{shown_time(-seconds)}" if seconds < 0 else shown_time(seconds)


def _sentences(summary: Mapping[str, Any]) -> list[str]:
    saved = summary["wait_saved_hours"]
    told = f"{counted(summary['instances'], 'instance')} started, {summary['peak_live_instances']:,} live at the peak"
    sentences = [f"{told}; {money(summary['usd_per_core_hour'])} per core-hour of jobs"]
    if summary["reclaimed"] or summary["retries"]:
        lost = f"{amount(summary['lost_core_hours'])} core-hours lost"
        again = counted(summary["retries"], "attempt")
        sentences.append(f"{counted(summary['reclaimed'], 'spot instance')} reclaimed, {again} made again, {lost}")
    if providers := summary.get("provider_cost_usd"):
        sentences.append("by provider: " + ", ".join(f"{name} {money(usd)}" for name, usd in providers.items()))
    if saved is None:
        sentences.append("the log does not say how long its jobs waited")
    else:
        sentences.append(f"waiting saved: {hours(saved)}" if saved >= 0 else f"waiting added: {hours(-saved)}")
    return sentences
