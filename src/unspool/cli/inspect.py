"""`unspool inspect`: say what is in a log, a platform or a result."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from cyclopts import Parameter

from unspool.cli.bill import print_bill
from unspool.cli.comparison import print_comparison
from unspool.cli.config import RunConfig, read_config
from unspool.cli.files import VERB_OF, kind_of, platform_named, read_results
from unspool.cli.options import LogFormat
from unspool.cli.output import print_json, print_table, print_text, reading
from unspool.errors import InputError, shown
from unspool.model.cloud import Cloud
from unspool.model.network import Network
from unspool.model.platform import Platform
from unspool.model.workload import Workload
from unspool.units import counted, format_bytes, format_duration, format_number
from unspool.workloads import read_workload
from unspool.workloads.plausibility import offered_load

__all__ = ["inspect", "log_facts", "platform_facts", "shown_fact"]

_EXPECTED = "a log, a platform, a folder of results or a run.toml"


def inspect(
    file: Path,
    /,
    *,
    format: LogFormat = None,
    columns: Annotated[list[str] | None, Parameter(negative=())] = None,
    json: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
) -> int:
    """Say what is in a log, a platform file or a folder of results.

    Parameters
    ----------
    file
        A log, a platform (YAML, TOML, JSON, XML, or a text such as 128x16), a folder that `run`, `batsim`, `cost` or
        `dispatch` wrote with -o, a run.toml.
    columns
        For CSV and Parquet, our column = the file's, as in run_time=duration.
    json
        Print JSON.
    """
    kind = "log" if format else kind_of(file)
    facts: Any
    if kind == "result":
        results = read_results(file)
        facts = results[0].summary if len(results) == 1 else [result.summary for result in results]
        if not json and len(results) > 1:
            print_comparison(results)
            return 0
    elif kind == "bill":
        from unspool.faces.cloud.outputs import read_costs

        facts = read_costs(file).summary
        if not json:
            print_bill(facts)
            return 0
    elif kind == "dispatch":
        from unspool.report.dispatch import read_dispatch

        found = read_dispatch(file)
        facts = found.summary
        if not json:
            print_text(found.metrics, end="")
            return 0
    elif kind == "platform":
        facts = platform_facts(platform_named(str(file)))
    elif kind == "config":
        facts = read_config(file, [], {}).resolved()
    elif kind in VERB_OF:
        raise InputError(f"{file}: is read by {VERB_OF[kind]} and by unspool validate, not here; expected {_EXPECTED}")
    else:
        with reading(file):
            facts = log_facts(read_workload(file, format, RunConfig(columns=columns or []).column_map()))
    if json:
        print_json(facts)
    else:
        print_table(
            ("", shown(str(file))), [(name, shown_fact(name, value)) for name, value in facts.items()], justify="left"
        )
    return 0


def log_facts(workload: Workload) -> dict[str, Any]:
    """What is in a log."""
    table = workload.table
    times = table["submit_time"]
    span = float(times[-1] - times[0]) if len(times) else 0.0
    work = float((table["cores"] * table["run_time"]).sum())
    facts: dict[str, Any] = {
        "jobs": len(table),
        "rejected_records": len(workload.rejected),
        "first_submit_utc": _utc(workload.origin_unix_s + float(table["submit_time"][0]))
        if workload.origin_unix_s and len(table)
        else None,
        "span_s": span,
        "cores_of_the_machine": workload.max_cores,
        "largest_job_cores": table["cores"].max(),
        "mean_cores": table["cores"].mean(),
        "mean_run_time_s": table["run_time"].mean(),
        "max_run_time_s": table["run_time"].max(),
        "core_hours": work / 3600,
        "offered_load": offered_load(workload, workload.max_cores),
        "jobs_without_walltime": workload.column("walltime").null_count(),
        "jobs_over_their_walltime": int((workload.column("run_time") > workload.column("walltime")).sum()),
        "users": _distinct(workload, "user"),
        "queues": _distinct(workload, "queue"),
        "partitions": _distinct(workload, "partition"),
        "columns": table.columns,
        "notes": list(workload.notes),
    }
    if workload.profiles:
        kinds = Counter(type(profile).__name__ for profile in workload.profiles.values())
        facts["machines_of_the_log"] = workload.max_machines
        facts["profiles"] = dict(kinds.most_common())
        facts["jobs_by_profile"] = _jobs_by_profile(workload)
    for reason, count in workload.rejected["reason"].value_counts(sort=True).head(5).rows():
        facts.setdefault("rejected_reasons", {})[reason] = count
    return facts


def _jobs_by_profile(workload: Workload) -> dict[str, int]:
    """How many jobs have a profile of each type."""
    counts: Counter[str] = Counter()
    for name, count in workload.column("profile").drop_nulls().value_counts().rows():
        counts[type(workload.profiles[name]).__name__ if name in workload.profiles else "unknown"] += count
    return dict(counts.most_common())


def platform_facts(platform: Platform) -> dict[str, Any]:
    """What a platform has."""
    return {
        "cores": platform.cores,
        "machines": "none: a pool of cores" if platform.is_pool else platform.machine_count,
        "types": {
            group.machine.name: f"{group.count} x {counted(group.machine.cores, 'core')}"
            + (f", {format_bytes(group.machine.memory_bytes)}" if group.machine.memory_bytes else "")
            + (f", {counted(group.machine.gpus, 'GPU')}" if group.machine.gpus else "")
            + "".join(f", {amount:g} {name}" for name, amount in group.machine.consumables.items())
            for group in platform.groups
        },
        "partitions": {partition.name: list(partition.groups) for partition in platform.partitions},
        "licences": dict(platform.licences),
        "selection": platform.selection,
        **({} if platform.cloud is None else {"cloud": _cloud_facts(platform.cloud)}),
        **({} if platform.network is None else {"network": _network_facts(platform.network)}),
    }


def _network_facts(network: Network) -> dict[str, Any]:
    speeds = [host.speed for host in network.hosts[: network.compute_count]]
    return {
        "flops": f"{min(speeds):.4g}" if min(speeds) == max(speeds) else f"{min(speeds):.4g} to {max(speeds):.4g}",
        "storage": [host.name for host in network.hosts if host.role == "storage"],
        "master": [host.name for host in network.hosts if host.role == "master"],
        "links": len(network.links),
    }


def _cloud_facts(cloud: Cloud) -> dict[str, Any]:
    return {
        "types_that_can_be_started": len(cloud.types),
        "region": cloud.region or None,
        "price_date": cloud.price_date or None,
        "boot_s": cloud.boot_s,
        "idle_s": cloud.idle_s,
        "frequency_s": cloud.frequency_s,
        "jobs_share_machines": cloud.shares,
    }


def _distinct(workload: Workload, column: str) -> int | None:
    if column not in workload.table.columns:
        return None
    return int(workload.table.select(pl.col(column).drop_nulls().n_unique()).item())


def _utc(unix_s: float) -> str:
    try:
        return datetime.fromtimestamp(unix_s, UTC).isoformat()
    except (ValueError, OverflowError, OSError):  # a stray date: no year of the calendar
        return f"{unix_s:.12g} s after 1970"


def shown_fact(name: str, value: Any) -> str:
    """A fact as people read it; the name tells its unit."""
    if value is None:
        return "not known"
    if isinstance(value, dict):
        return "\n".join(f"{key}: {shown_fact(key, item)}" for key, item in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_s"):
        return format_duration(round(float(value), 2))
    if isinstance(value, float):
        return format_number(value, 4)
    return f"{value:,}" if isinstance(value, int) else str(value)
