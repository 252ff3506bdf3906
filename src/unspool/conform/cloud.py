"""Recorded runs of the AWS HPC cost simulator: the bill hour by hour, and what it read out of accounting records."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

from unspool.analysis.costs import costs_of
from unspool.conform.checks import Check, Outcome, few
from unspool.errors import InputError
from unspool.faces.cloud.config import read_config
from unspool.model.workload import Workload
from unspool.platforms.catalogue import read_catalogue
from unspool.results.run import run
from unspool.units import parse_duration
from unspool.workloads import read_workload

__all__ = ["TOLERANCE", "checks", "compare_hours", "compare_jobs"]

TOLERANCE = 1e-6  # relative, or of a core hour or a dollar
_HOURS, _JOBS, _CONFIG = "hourly_stats.csv", "jobs.csv", "config.yml"
_PARSED, _RECORDS = "jobs_as_parsed_by_original.csv", "sacct.txt"
_TYPES = ("instance_type_info.json.gz", "instance_type_info.json")
_GIB = 1 << 30
_HOUR = "Relative Hour"
_SAME = ("ineligible_time", "run_time", "logged_wait", "cores", "machines", "memory_bytes", "queue")
# The tool's faults (spec B1.2): a step of an array task is a job of its own, memory is not multiplied by cores (100)
# and machines (101), and of a job with several steps the first memory used counts, not the largest.
_NO_JOBS = {"846_0.0"}
_MEMORY_GIB = {"100": 8.0, "101": 8.0}
_USED_BYTES = {"100": 914944 * 1024, "846_0": 214944 * 1024}


def checks(path: Path) -> list[Check]:
    """The hours of every bill and the jobs of every log below a folder: one that holds a case, or one of several."""
    if not path.is_dir():
        raise InputError(f"{path}: there is no such folder; give one with {_HOURS} in it, or with folders that have it")
    found = []
    for folder in sorted({path, *(child for child in path.iterdir() if child.is_dir())}):
        if (folder / _HOURS).is_file():
            hours = _recorded_hours(folder / _HOURS)
            bill = _Bill(folder)
            found += [
                Check(f"{folder.name}: hour {hour}", partial(bill.hour, hour, row)) for hour, row in hours.items()
            ]
            found.append(Check(f"{folder.name}: hours", partial(bill.count, set(hours))))
        if (folder / _PARSED).is_file():
            found.append(Check(f"{folder.name}: jobs", partial(_records, folder)))
    if not found:
        raise InputError(f"{path}: no {_HOURS} or {_PARSED} is here or one folder below; expected a recorded case")
    return found


def compare_hours(found: Mapping[str, float], recorded: Mapping[str, float]) -> tuple[str, ...]:
    """Which columns that were recorded of an hour differ; a family that ours has not started has 0 of everything.

    >>> compare_hours({"Spot Costs": 1.0}, {"Spot Costs": 1.5, "c5 Core Hours": 0.0})
    ('Spot Costs 1.0, recorded 1.5',)
    """
    return few(
        f"{name} {found.get(name, 0.0)!r}, recorded {value!r}"
        for name, value in recorded.items()
        if not math.isclose(found.get(name, 0.0), value, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    )


class _Bill:
    """The bill of one folder, made when its first hour is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._hours: dict[int, dict[str, float]] | None = None

    def hour(self, hour: int, recorded: Mapping[str, float]) -> Outcome:
        """One hour beside what was recorded of it."""
        hours = self._made()
        return Outcome(compare_hours(hours[hour], recorded) if hour in hours else (f"ours has no hour {hour}",))

    def count(self, recorded: set[int]) -> Outcome:
        """Whether ours has hours that were not recorded."""
        more = sorted(set(self._made()) - recorded)
        return Outcome((f"ours has hours that were not recorded: {', '.join(map(str, more))}",) if more else ())

    def _made(self) -> dict[int, dict[str, float]]:
        if self._hours is None:
            folder = self._folder
            # The tool knows no shortest time that is billed.
            config = replace(read_config(folder / _CONFIG), minimum_billed_s=0.0)
            types = next((folder / name for name in _TYPES if (folder / name).is_file()), None)
            log = read_workload(folder / _JOBS)
            result = run(log, config.platform(read_catalogue(types)), config.placement, seed=config.seed)
            self._hours = {int(row[_HOUR]): row for row in costs_of(result, log).hourly.rows(named=True)}
        return self._hours


def _recorded_hours(path: Path) -> dict[int, dict[str, float]]:
    hours = {}
    for at, row in enumerate(_rows(path), 2):
        try:
            hours[int(row[_HOUR])] = {name: float(value) for name, value in row.items()}
        except (KeyError, TypeError, ValueError):
            raise InputError(f"{path}, line {at}: expected a number in each column, '{_HOUR}' among them") from None
    return hours


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        return list(csv.DictReader(StringIO(path.read_text(encoding="utf-8"), newline="")))
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"{path}: is no CSV in UTF-8; give the file as it was recorded") from None


def _records(folder: Path) -> Outcome:
    """Each job that the tool made of the records beside ours, without the faults that the tool is known for."""
    recorded = {}
    for at, row in enumerate(_rows(folder / _PARSED), 2):
        try:
            if row["job_id"] not in _NO_JOBS:
                recorded[row["job_id"]] = _recorded_job(row)
        except (InputError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{folder / _PARSED}, line {at}: is no job as the tool writes it: {error}") from None
    log = read_workload(folder / _RECORDS)
    return Outcome(compare_jobs({job["job_id"]: _our_job(job, log) for job in log.table.rows(named=True)}, recorded))


def compare_jobs(found: Mapping[str, Mapping[str, Any]], recorded: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """Which jobs one has and the other has not, and which of their columns differ."""
    told = [f"job {job} is not ours" for job in recorded if job not in found]
    told += [f"job {job} was not recorded" for job in found if job not in recorded]
    for job in recorded:
        for name, value in recorded[job].items():
            if job in found and found[job][name] != value:
                told.append(f"job {job}: {name} {found[job][name]!r}, recorded {value!r}")
    return few(told)


def _recorded_job(row: Mapping[str, str]) -> dict[str, Any]:
    eligible, start = (datetime.fromisoformat(row[name] + "Z") for name in ("eligible_time", "start_time"))
    memory = _MEMORY_GIB.get(row["job_id"], float(row["max_mem_gb"]) if row["max_mem_gb"] else None)
    return {
        "eligible": eligible.timestamp(),
        "ineligible_time": parse_duration(row["ineligible_pend_time"]),
        "run_time": parse_duration(row["run_time"]),
        "logged_wait": (start - eligible).total_seconds(),
        "cores": int(row["num_cores"]),
        "machines": int(row["num_hosts"]),
        "memory_bytes": None if memory is None else memory * _GIB,
        "queue": row["queue"],
        "used": _USED_BYTES.get(row["job_id"]),
    }


def _our_job(job: Mapping[str, Any], log: Workload) -> dict[str, Any]:
    used = job["used_memory_bytes"]
    return {
        **{name: job[name] for name in _SAME},
        "eligible": (log.origin_unix_s or 0.0) + job["submit_time"],
        "used": None if used is None else used * job["cores"],
    }
