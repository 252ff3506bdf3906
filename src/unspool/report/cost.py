"""The page about a bill: what these jobs would have cost, where the money goes, and what waiting it saves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from unspool.analysis.costs import Costs
from unspool.errors import shown
from unspool.metrics.cost import GROUPED, UNALLOCATED, cost_by, cost_by_provider, cost_by_type
from unspool.report.bands import bands_sections
from unspool.report.commitments import commitment_figures, commitment_sections
from unspool.report.content import Cell, Column, Page, Section, Split, Table, Tile, rejected_table, table_of
from unspool.report.figures import cost_over_time, waits_compared
from unspool.report.figures.instances import cost_against_wait, instance_states, waiting_saved
from unspool.report.figures.style import NOT_SAID
from unspool.report.page import filled
from unspool.report.shown import amount, duration, hours, money, percent
from unspool.results.rejection import warning_of, with_warning
from unspool.results.store import versions
from unspool.storage import replace_text
from unspool.units import format_moment

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["cost_page", "cost_report", "write_cost_report"]

_ON_SHARES = (
    "An instance is paid from its start to its stop. Boot is charged to the job that it was started for; while jobs "
    "run they share it by the resource, cores or memory, that is the most used; idle time is charged to no job: it is "
    "what is left unallocated."
)
_PRICINGS = {"on demand": "on_demand", "spot": "spot", "reserved": "reserved", "on premises": "on_premises"}
# Not the colours of the figure above them, which are those of families.
_SHADES = ("#4a5a7a", "#7b8cab", "#a9b6cd", "#d3dae6", "#b9a36f", "#8a6d3b")
_LONGEST_TEXT = 20_000  # characters of a configuration that are shown
_KINDS = {"running jobs": "run", "idle": "idle", "booting": "boot"}
_EXTRAS = {"disks": "disk", "licences": "licence"}


def write_cost_report(costs: Costs, path: Path) -> None:
    """Write the page to a file."""
    replace_text(path, cost_report(costs))


def cost_report(costs: Costs) -> str:
    """The page as HTML, whole in itself."""
    return filled(cost_page(costs))


def cost_page(costs: Costs) -> Page:
    """What stands on the page."""
    summary = costs.summary
    here = "here" if summary["on_premises_machines"] else "in the cloud"
    waits = waits_compared(costs.bill.jobs, here)
    groups = [table for column in GROUPED if (table := _group(costs, column)) is not None]
    types = _types(costs)
    more = [_instances(costs), _saved(costs), _pays(costs)]
    return Page(
        title=headline(summary),
        question=f"What would these jobs cost {here}, and what waiting would it save?",
        answer=headline(summary),
        tiles=_tiles(summary, here),
        figures={
            "cost": cost_over_time(costs.hourly, costs.bill.window.begin_unix_s),
            "waits": waits,
            **{name: figure for drawn in more for name, figure in drawn.items()},
            **commitment_figures(costs.commitments),
        },
        picture="cost",
        about=_about(costs),
        sections=[
            Section("Where the money goes", splits=_splits(summary)),
            Section(waits.layout.meta["heading"], ["waits"], note=_on_waits(summary)),
            *(Section(next(iter(drawn.values())).layout.meta["heading"], list(drawn)) for drawn in more if drawn),
            *commitment_sections(costs.commitments),
            Section("The main figures", pairs=_rows(summary)),
            *bands_sections(summary),
            *([Section("What it runs on", tables=[types, *_providers(costs)])] if types.rows else []),
            *(Section(f"Who pays: by {table.names[0]}", tables=[table]) for table in groups),
        ],
        rejected=rejected_table(costs.rejected, "rejected.csv"),
        notes=[_ON_SHARES, *costs.notes],
        settings=_settings(summary),
        versions=[(name, str(text)) for name, text in costs.origin.get("versions", versions()).items()],
        commands=[command] if (command := costs.origin.get("command")) else [],
        files=[(shown(name, 200), _cut(text)) for name, text in costs.origin.get("files", {}).items()],
    )


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}\n…"


def _instances(costs: Costs) -> dict[str, Figure]:
    """What instances do, if any was started in the hours that are paid."""
    has_any = costs.bill.window.hours and costs.bill.machines["start_time"].count()
    return {"instances": instance_states(costs)} if has_any else {}


def _saved(costs: Costs) -> dict[str, Figure]:
    return {"saved": waiting_saved(costs)} if costs.summary["jobs_with_logged_wait"] else {}


def _pays(costs: Costs) -> dict[str, Figure]:
    """Cost against wait, by the first of user, queue and project that has two values or more."""
    tables = ((column, table) for column in GROUPED if (table := cost_by(costs.bill, column)) is not None)
    column, table = next(((column, table) for column, table in tables if len(table) > 2), ("", None))
    return {} if table is None else {"pays": cost_against_wait(table.head(-1), column)}


def headline(summary: dict[str, Any]) -> str:
    """The answer in one sentence.

    >>> headline({"jobs": 12345, "total_cost_usd": 1234.0, "wait_saved_hours": 321.0})
    'These 12,345 jobs would have cost $1,234.00, saving 321 hours of waiting'
    """
    return with_warning(_answer(summary), warning_of(summary))


def _answer(summary: dict[str, Any]) -> str:
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
        begin, end = (format_moment(window.begin_unix_s + after * 3600.0) for after in (0, window.hours))
        told.append(("period billed", f"{begin} to {end} UTC"))
    told.append(("prices", " of ".join(filter(None, (summary["region"], summary["price_date"]))) or "as configured"))
    told.append(("placement", str(summary["policy"])))
    if "replicas" in summary:
        band = summary["bands"]["total_cost_usd"]
        told.append((f"{summary['replicas']} seeds", f"5-95% of the cost: {money(band['p5'])} to {money(band['p95'])}"))
    return told


def _tiles(summary: dict[str, Any], here: str) -> list[Tile]:
    total = summary["total_cost_usd"]
    idle = summary["idle_cost_usd"] / total if total else 0.0
    logged = summary["logged_mean_wait_s"]
    return [
        Tile(money(total), "in all", f"{money(summary['usd_per_core_hour'])} per core-hour of jobs"),
        Tile(
            duration(summary["mean_wait_s"]),
            f"mean wait {here}",
            "the log does not say how long jobs waited" if logged is None else f"{duration(logged)} in the log",
        ),
        Tile(
            amount(summary["peak_live_instances"]), "instances at the peak", f"{amount(summary['instances'])} started"
        ),
        Tile(percent(idle), "of the cost is idle time", f"{money(summary['idle_cost_usd'])} paid, no job running"),
    ]


def _settings(summary: dict[str, Any]) -> list[tuple[str, str]]:
    named = {"log": "workload", "placement": "policy", "seed": "seed", "region": "region", "prices of": "price_date"}
    return [(name, str(summary[key])) for name, key in named.items() if summary.get(key) is not None]


def _on_waits(summary: dict[str, Any]) -> str:
    if summary["jobs_with_logged_wait"]:
        return ""
    return "The log does not say how long its jobs waited, so what is saved is not known."


def _splits(summary: dict[str, Any]) -> list[Split]:
    return [
        Split("The cost by pricing", _split(summary, _PRICINGS | _EXTRAS)),
        Split("The cost by what was paid for", _split(summary, _KINDS | _EXTRAS)),
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
        *(
            (f"… {name}", money(summary[f"{key}_cost_usd"]))
            for name, key in _EXTRAS.items()
            if summary[f"{key}_cost_usd"]
        ),
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


_TYPES = {
    "type": Column("type"),
    "plan": Column("pricing"),
    "cost_usd": Column("cost", money, bar=True),
    "cost_share": Column("share", percent),
    "machines": Column("machines", amount),
    "core_hours": Column("core-hours paid", amount),
    "run_share": Column("cost while jobs run", percent),
}


def _types(costs: Costs) -> Table:
    """The types of machines that cost most."""
    return table_of(cost_by_type(costs.bill), _TYPES, "types", "Types of machines", rest="instances.csv")


_PROVIDERS = {
    "provider": Column("provider"),
    "cost_usd": Column("machines cost", money, bar=True),
    "disk_cost_usd": Column("disks", money),
    "licence_cost_usd": Column("licences", money),
    "cost_share": Column("share", percent),
    "machines": Column("machines", amount),
    "core_hours": Column("core-hours paid", amount),
}


def _providers(costs: Costs) -> list[Table]:
    table = cost_by_provider(costs.bill)
    return [] if table is None else [table_of(table, _PROVIDERS, "by_provider", "Providers")]


def _group(costs: Costs, column: str) -> Table | None:
    """The most expensive users, queues or projects, and what nobody pays."""
    table = cost_by(costs.bill, column)
    if table is None:
        return None
    named, rest = table.head(-1).with_columns(pl.col(column).fill_null(NOT_SAID)), table.tail(1)
    columns = {
        column: Column(column),
        "cost_usd": Column("cost", money, bar=True),
        "cost_share": Column("share", percent),
        "jobs": Column("jobs", amount),
        "core_hours": Column("core-hours", amount),
        "mean_wait_s": Column("mean wait", duration),
    }
    if costs.summary["jobs_with_logged_wait"]:
        columns["wait_saved_hours"] = Column("waiting saved", hours)
    idle = rest.row(0, named=True)
    last = [
        Cell(UNALLOCATED, UNALLOCATED),
        Cell(money(idle["cost_usd"]), idle["cost_usd"]),
        Cell(percent(idle["cost_share"]), idle["cost_share"]),
    ]
    last += [Cell("", None)] * (len(columns) - len(last))
    made = table_of(named, columns, f"by_{column}", f"By {column}", rest=f"by_{column}.csv")
    return replace(made, last=last)
