"""Finished schedules, ours or another tool's: what started when, until when and where.

Four kinds are told by their content: a folder of results of ours, SWF (start = submission + wait), the jobs file of
Batsim (`PREFIX_jobs.csv`), and any CSV with columns `id` and `start`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from unspool.errors import InputError, shown
from unspool.model.platform import Platform
from unspool.model.workload import MOST_SECONDS
from unspool.results.result import Result
from unspool.results.store import load
from unspool.workloads.cells import tidied, to_number
from unspool.workloads.delimited import Cells, read_cells
from unspool.workloads.files import AnyPath, opened
from unspool.workloads.lines import first_record
from unspool.workloads.swf import read_swf

__all__ = ["Schedule", "read_schedule", "schedule_of"]

_HELD = {"row": pl.Int64, "first_machine": pl.Int64, "last_machine": pl.Int64, "units": pl.Int64}
_ID, _START, _FINISH = ("id", "job_id"), ("start", "start_time", "starting_time"), ("finish", "finish_time")
_EXPECTED = "a folder of results, SWF, the jobs file of Batsim, or CSV with the columns id and start"
_INTERVAL = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_KILLED = "COMPLETED_KILLED"


@dataclass(frozen=True)
class Schedule:
    """Starts, ends and machines of jobs.

    `rows` has job_id, start_time, finish_time (null where the schedule does not say) and killed, one row a start.
    `held` has the machines of a row where they are known: row, first_machine, last_machine, units on each (null: one
    machine for each unit of the job). `turned_away` are the ids of jobs of which the schedule says that they did not
    run. `has_attempts`: a job with several rows was started several times, which is no mistake. `workload_names` and
    `submit_times` are those of the rows, where a file has its own.
    """

    name: str
    kind: str
    rows: pl.DataFrame
    held: pl.DataFrame | None = None
    turned_away: frozenset[str] = frozenset()
    has_attempts: bool = False
    policy: str | None = None
    platform: Platform | None = None
    workload_names: pl.Series | None = None
    submit_times: pl.Series | None = None


def read_schedule(path: AnyPath) -> Schedule:
    """The schedule in a file or folder, told by its content.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "mine.csv")
    ...     _ = file.write_text("id,start\\na,0\\nb,12.5\\n")
    ...     read_schedule(file).rows.select("job_id", "start_time").rows()
    [('a', 0.0), ('b', 12.5)]
    """
    if Path(path).is_dir():
        return schedule_of(load(path))
    with opened(path) as file:
        start = file.read(1 << 16)
    first = first_record(start)
    if first.startswith(b";") or len(first.split()) == 18:
        return _from_swf(path)
    if b"," in first and b"\0" not in start:
        cells = read_cells(path, ",")
        return _from_batsim(cells, path) if "allocated_resources" in cells.header else _from_csv(cells, path)
    raise InputError(f"{path}: is no schedule that can be read; expected {_EXPECTED}")


def schedule_of(result: Result) -> Schedule:
    """What a result of ours says, attempt by attempt."""
    attempts = result.attempts
    held = None
    if len(result.allocations) and not result.platform.is_pool:
        held = result.allocations.rename({"attempt": "row"}).cast(_HELD)  # type: ignore[arg-type]
    how = pl.col("how").cast(pl.String)
    # A job that resumes from a checkpoint does not run as long as the log says in any of its attempts.
    resumed = (how == "lost").any().over("job_id") & pl.lit(str(result.config.get("on_loss", "")).startswith("resume"))
    rows = attempts.select("job_id", "start_time", "finish_time", killed=how.is_in(["killed", "lost"]) | resumed)
    return Schedule(
        name=f"{result.workload} under {result.policy}",
        kind="result",
        rows=rows,
        held=held,
        turned_away=frozenset(result.rejected["job_id"].drop_nulls()),
        has_attempts=True,
        policy=result.policy,
        platform=result.platform,
    )


def _from_swf(path: AnyPath) -> Schedule:
    log = read_swf(path)
    start = log.table["submit_time"] + log.column("logged_wait")
    table = log.table.select("job_id", "submit_time", start_time=start, finish_time=start + log.table["run_time"])
    ran = table.drop_nulls("start_time").with_columns(killed=pl.lit(False))
    return Schedule(Path(path).name, "swf", ran.drop("submit_time"), submit_times=ran["submit_time"])


def _from_csv(cells: Cells, path: AnyPath) -> Schedule:
    _refuse_ragged(cells, path)
    ids = _named(cells, _ID, path)
    start = _seconds(cells, _START, path)
    finish = _seconds(cells, _FINISH, path) if set(cells.header) & set(_FINISH) else None
    unknown = pl.lit(None, pl.Float64) if finish is None else finish
    rows = pl.DataFrame({"job_id": ids, "start_time": start}).with_columns(finish_time=unknown, killed=pl.lit(False))
    return Schedule(Path(path).name, "csv", rows.drop_nulls("start_time"))


def _from_batsim(cells: Cells, path: AnyPath) -> Schedule:
    _refuse_ragged(cells, path)
    table = pl.DataFrame(
        {
            "job_id": _named(cells, _ID, path),
            "workload": _named(cells, ("workload_name",), path),
            "start_time": _seconds(cells, _START, path),
            "finish_time": _seconds(cells, _FINISH, path),
            "submit_time": _seconds(cells, ("submission_time",), path),
            "killed": _named(cells, ("final_state",), path) == _KILLED,
            "machines": _named(cells, ("allocated_resources",), path),
            "line": cells.lines,
        }
    )
    if table["workload"].n_unique() > 1:
        table = table.with_columns(job_id=pl.col("workload") + "!" + pl.col("job_id"))
    ran = table.drop_nulls("start_time")
    rejected = table.filter(pl.col("start_time").is_null())["job_id"]
    held = [
        (row, first, last, None)
        for row, (text, line) in enumerate(ran.select("machines", "line").iter_rows())
        for first, last in _intervals(text, path, line)
    ]
    return Schedule(
        name=Path(path).name,
        kind="batsim",
        rows=ran.select("job_id", "start_time", "finish_time", "killed"),
        held=pl.DataFrame(held, schema=_HELD, orient="row"),
        turned_away=frozenset(rejected),
        workload_names=ran["workload"],
        submit_times=ran["submit_time"],
    )


def _intervals(text: str, path: AnyPath, line: int) -> list[tuple[int, int]]:
    """An interval set as Batsim writes it: `0-3 5`."""
    found = []
    for part in re.split(r"[ ,]+", text.strip()):
        match = _INTERVAL.fullmatch(part)
        if match is None:
            raise InputError(
                f"{path}, line {line}: allocated_resources is '{shown(text)}'; expected machine numbers such as 0-3 5"
            )
        found.append((int(match[1]), int(match[2] or match[1])))
    return found


def _refuse_ragged(cells: Cells, path: AnyPath) -> None:
    if len(cells.rejected):
        line, _, reason = cells.rejected.row(0)
        raise InputError(f"{path}, line {line}: {reason}; mend this line")


def _position(cells: Cells, names: tuple[str, ...], path: AnyPath) -> int:
    for name in names:
        if name in cells.header:
            return cells.header.index(name)
    there = ", ".join(shown(name) for name in cells.header[:20])
    raise InputError(f"{path}: no column {' or '.join(names)}; the file has {there}; expected {_EXPECTED}")


def _named(cells: Cells, names: tuple[str, ...], path: AnyPath) -> pl.Series:
    return cells.columns[_position(cells, names, path)].fill_null("").str.strip_chars()


def _seconds(cells: Cells, names: tuple[str, ...], path: AnyPath) -> pl.Series:
    """A column of times; an empty cell is null."""
    position = _position(cells, names, path)
    text = tidied(cells.columns[position])
    numbers = to_number(text)
    numbers = numbers.set(numbers.abs() > MOST_SECONDS, None)
    wrong = (numbers.is_null() & text.is_not_null()).to_numpy()
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"{path}, line {cells.lines[at]}: {cells.header[position]} is '{shown(str(text[at]))}'; expected seconds, "
            f"up to {MOST_SECONDS:g}"
        )
    return numbers
