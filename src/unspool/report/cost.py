"""The page about a bill: what these jobs would have cost, where the money goes, and what waiting it saves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from unspool.metrics.cost import GROUPED, UNALLOCATED, cost_by, cost_by_type
from unspool.report.figures import cost_over_time, waits_compared
from unspool.report.page import filled
from unspool.report.shown import amount, duration, hours, money, percent
from unspool.results.costs import Costs

__all__ = ["cost_report", "write_cost_report"]

_ROWS = 10
_REASONS = 5
_PRICINGS = {"on demand": "on_demand", "spot": "spot", "reserved": "reserved", "on premises": "on_premises"}
# Not the colours of the figure above them, which are those of families.
_SHADES = ("#4a5a7a", "#7b8cab", "#a9b6cd", "#d3dae6")
_KINDS = {"running jobs": "run", "idle": "idle", "booting": "boot"}


def write_cost_report(costs: Costs, path: Path) -> None:
    """Write the page to a file."""
    path.write_text(cost_report(costs), encoding="utf-8", errors="replace")


def cost_report(costs: Costs) -> str:
    """The page as HTML, whole in itself."""
    summary = costs.summary
    here = "here" if summary["on_premises_machines"] else "in the cloud"
    return filled(
        "cost.html",
        {
            "cost": cost_over_time(costs.hourly, costs.bill.window.begin_unix_s),
            "waits": waits_compared(costs.bill.jobs, here),
        },
        title=headline(summary),
        about=_about(costs),
        here=here,
        tiles=_tiles(summary, here),
        splits=[
            ("by pricing", _split(summary, _PRICINGS)),
            ("by what was paid for", _split(summary, _KINDS)),
        ],
        rows=_rows(summary),
        groups=[(column, table) for column in GROUPED if (table := _group(costs, column))],
        types=_types(costs),
        notes=costs.notes,
        rejected=costs.rejected.head(_REASONS).select("line", "job_id", "reason").rows(),
        rejected_count=len(costs.rejected),
        logged=bool(summary["jobs_with_logged_wait"]),
    )


def headline(summary: dict[str, Any]) -> str:
    """The answer in one sentence.

    >>> headline({"jobs": 12345, "total_cost_usd": 1234.0, "wait_saved_hours": 321.0})
    'These 12,345 jobs would have cost $1,234.00, saving 321 hours of waiting'
    """
    jobs, saved = summary["jobs"], summary["wait_saved_hours"]
    cost = f"{'This job' if jobs == 1 else f'These {jobs:,} jobs'} would have cost {money(summary['total_cost_usd'])}"
    if saved is None:
        return cost
    if saved == 0.0:
        return f"{cost}, and would have waited as long as they did"
    return f"{cost}, saving {hours(saved)} of waiting" if saved > 0 else f"{cost}, waiting {hours(-saved)} longer"


def _about(costs: Costs) -> list[tuple[str, str]]:
    summary, window = costs.summary, costs.bill.window
    told = [("log", str(summary["workload"]))]
    if window.hours:
        begin = datetime.fromtimestamp(window.begin_unix_s, UTC)
        end = begin + timedelta(hours=window.hours)
        told.append(("paid hours", f"{begin:%d %b %Y %H:%M} to {end:%d %b %Y %H:%M} UTC"))
    told.append(("prices", " of ".join(filter(None, (summary["region"], summary["price_date"]))) or "as configured"))
    told.append(("placement", str(summary["policy"])))
    if "replicas" in summary:
        band = summary["bands"]["total_cost_usd"]
        told.append((f"{summary['replicas']} seeds", f"5-95% of the cost: {money(band['p5'])} to {money(band['p95'])}"))
    return told


def _tiles(summary: dict[str, Any], here: str) -> list[tuple[str, str, str]]:
    """Figure, what it is, and what stands beside it."""
    total = summary["total_cost_usd"]
    idle = summary["idle_cost_usd"] / total if total else 0.0
    logged = summary["logged_mean_wait_s"]
    return [
        (money(total), "in all", f"{money(summary['usd_per_core_hour'])} per core-hour of jobs"),
        (
            duration(summary["mean_wait_s"]),
            f"mean wait {here}",
            "the log does not say how long jobs waited" if logged is None else f"{duration(logged)} in the log",
        ),
        (amount(summary["peak_live_instances"]), "instances at the peak", f"{amount(summary['instances'])} started"),
        (percent(idle), "of the cost is idle time", f"{money(summary['idle_cost_usd'])} paid, no job running"),
    ]


def _split(summary: dict[str, Any], names: dict[str, str]) -> list[tuple[str, str, str, float, str]]:
    """Name, dollars, share as text, percent and colour of each part that costs anything."""
    total = summary["total_cost_usd"]
    parts = [(name, summary[f"{key}_cost_usd"]) for name, key in names.items()]
    return [
        (name, money(usd), percent(usd / total), round(100.0 * usd / total, 3), _SHADES[at])
        for at, (name, usd) in enumerate(parts)
        if usd > 0.0
    ]


def _rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    told: list[tuple[str, str]] = [
        ("jobs that ran", amount(summary["jobs"])),
        ("records and jobs rejected", amount(summary["rejected"])),
        ("cost of all", money(summary["total_cost_usd"])),
        *((f"… {name}", money(summary[f"{key}_cost_usd"])) for name, key in (_PRICINGS | _KINDS).items()),
        ("mean cost of a job, without idle time", money(summary["mean_job_cost_usd"])),
        ("core-hours of jobs", amount(summary["job_core_hours"])),
        ("core-hours paid", amount(summary["machine_core_hours"])),
        ("wait, mean", _both(summary, "mean_wait_s")),
        ("wait, median", _both(summary, "median_wait_s")),
        ("wait, 95 % of jobs at most", _both(summary, "p95_wait_s")),
        ("wait, longest", _both(summary, "max_wait_s")),
        ("waiting saved", hours(summary["wait_saved_hours"])),
        ("jobs that wait longer than in the log", amount(summary["jobs_that_wait_longer"])),
        ("spot instances reclaimed", amount(summary["reclaimed"])),
        ("attempts made again", amount(summary["retries"])),
        ("core-hours lost", amount(summary["lost_core_hours"])),
    ]
    return told


def _both(summary: dict[str, Any], name: str) -> str:
    logged = summary[f"logged_{name}"]
    return duration(summary[name]) + ("" if logged is None else f" (log: {duration(logged)})")


def _types(costs: Costs) -> dict[str, Any]:
    """The types of machines that cost most, and how many more there are."""
    table = cost_by_type(costs.bill)
    largest = (table["cost_usd"][0] if len(table) else 0.0) or 1.0
    rows = [
        {
            "name": row["type"],
            "pricing": row["plan"],
            "cost": money(row["cost_usd"]),
            "share": percent(row["cost_share"]),
            "width": round(100.0 * row["cost_usd"] / largest, 2),
            "machines": amount(row["machines"]),
            "core_hours": amount(row["core_hours"]),
            "run": "" if row["run_share"] is None else percent(row["run_share"]),
        }
        for row in table.head(_ROWS).iter_rows(named=True)
    ]
    return {"rows": rows, "more": max(len(table) - _ROWS, 0)}


def _group(costs: Costs, column: str) -> dict[str, Any] | None:
    """The most expensive users, queues or projects; how many more there are, and what nobody pays."""
    table = cost_by(costs.bill, column)
    if table is None:
        return None
    named, rest = table.head(-1), table.tail(1)
    largest = named["cost_usd"][0] or 1.0
    rows = [
        {
            "name": "(not said)" if row[column] is None else row[column],
            "jobs": amount(row["jobs"]),
            "core_hours": amount(row["core_hours"]),
            "cost": money(row["cost_usd"]),
            "share": percent(row["cost_share"]),
            "width": round(100.0 * row["cost_usd"] / largest, 2),
            "wait": duration(row["mean_wait_s"]),
            "saved": None if row["wait_saved_hours"] is None else hours(row["wait_saved_hours"]),
        }
        for row in named.head(_ROWS).iter_rows(named=True)
    ]
    idle = rest.row(0, named=True)
    return {
        "rows": rows,
        "more": max(len(named) - _ROWS, 0),
        "rest": {"name": UNALLOCATED, "cost": money(idle["cost_usd"]), "share": percent(idle["cost_share"])},
    }
