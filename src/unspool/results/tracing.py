"""A run as a trace for Perfetto and Chrome: jobs as spans on machines, the queue and busy cores as counters.

The format is that of "Trace Event Format" (Google, 2016), as JSON: complete events (`X`), counters (`C`) and names
(`M`), with times in microseconds since the origin of the log.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import count as counting
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from unspool.metrics.cost.hosts import hosts_of
from unspool.results.result import Result
from unspool.results.series import series, steps

__all__ = ["MOST_SPANS", "write_trace"]

MOST_SPANS = 250_000
"""Spans of a trace, at most; a job on several machines is one on each."""

_MOST_STEPS = 20_000  # of a counter; with more changes there are means over equal times
_TOLD = ("user", "group", "project", "queue", "partition")
_COUNTERS = {"queue_length": ("jobs that wait", "jobs"), "busy_cores": ("busy cores", "cores")}
_MICRO = 1e6

Integers = npt.NDArray[np.int64]


def write_trace(
    results: Sequence[Result],
    file: IO[bytes],
    *,
    begin: float | None = None,
    end: float | None = None,
    most: int = MOST_SPANS,
) -> tuple[int, int]:
    """Write a trace of runs, each a process; how many attempts are in it, and how many of the time asked for are not.

    Those that run between `begin` and `end`, by when they start, as long as no more than `most` spans are needed.
    """
    written = left = 0
    file.write(b'{"displayTimeUnit":"ms",\n"otherData":')
    file.write(json.dumps({"origin_unix_s": [result.origin_unix_s for result in results]}).encode())
    file.write(b',\n"traceEvents":[\n')
    separator = b""
    for process, result in enumerate(results, 1):
        asked = _asked(result.attempts, begin, end)
        kept = _kept(result, asked, most // len(results))
        written, left = written + len(kept), left + len(asked) - len(kept)
        for event in _events(result, kept, process, begin, end):
            file.write(separator + json.dumps(event, separators=(",", ":"), allow_nan=False).encode())
            separator = b",\n"
    file.write(b"\n]}\n")
    return written, left


def _asked(attempts: pl.DataFrame, begin: float | None, end: float | None) -> pl.DataFrame:
    is_in = pl.lit(True)
    if begin is not None:
        is_in &= pl.col("finish_time") > begin
    if end is not None:
        is_in &= pl.col("start_time") < end
    return attempts.filter(is_in).sort("start_time", "attempt")


def _kept(result: Result, asked: pl.DataFrame, most: int) -> pl.DataFrame:
    """The first attempts, as many as have no more spans than may be."""
    if not _has_machines(result):
        return asked.head(most)
    machines = pl.col("last_machine").cast(pl.Int64) - pl.col("first_machine") + 1
    spans = result.allocations.group_by("attempt").agg(spans=machines.sum())
    counted = asked.join(spans.cast(pl.Int64), on="attempt", how="left", maintain_order="left")
    return asked.filter(counted["spans"].fill_null(1).cum_sum() <= most)


def _has_machines(result: Result) -> bool:
    return not result.platform.is_pool and len(result.allocations) > 0


def _events(
    result: Result, attempts: pl.DataFrame, process: int, begin: float | None, end: float | None
) -> Iterator[dict[str, Any]]:
    where = f"{result.policy}: {result.workload} on {result.platform.name}"
    yield {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": where}}
    yield from _counters(result, process, begin, end)
    spans = _spans(result, attempts)
    rows = spans["row"].to_numpy()
    starts, ends = _microseconds(spans["start_time"]), _microseconds(spans["finish_time"])
    lanes = _lanes(rows, starts, ends)
    tracks = {pair: at for at, pair in enumerate(sorted(set(zip(rows.tolist(), lanes, strict=True))), 1)}
    yield from _names(result, process, tracks)
    told = [name for name in spans.columns if name not in ("job_id", "row", "start_time", "finish_time")]
    arguments = spans.select(told).iter_rows(named=True)
    each = zip(spans["job_id"], rows.tolist(), lanes, starts.tolist(), ends.tolist(), arguments, strict=True)
    for job_id, row, lane, start, stop, known in each:
        yield {
            "ph": "X", "name": job_id, "cat": known["state"], "pid": process, "tid": tracks[row, lane], "ts": start,
            "dur": stop - start, "args": {name: value for name, value in known.items() if value is not None},
        }  # fmt: skip


def _spans(result: Result, attempts: pl.DataFrame) -> pl.DataFrame:
    """A row for each attempt on each of its machines, in the order of starts."""
    known = [name for name in _TOLD if name in result.jobs.columns]
    spans = attempts.with_columns(
        state=pl.col("how").cast(pl.String), wait_s=pl.col("start_time") - pl.col("submit_time")
    )
    spans = spans.select("job_id", "start_time", "finish_time", "cores", "state", "wait_s", "attempt")
    if known:
        spans = spans.join(result.jobs.select("job_id", *known), on="job_id", how="left", maintain_order="left")
    if not _has_machines(result):
        return spans.with_columns(row=pl.lit(0, pl.Int64))
    held = result.allocations.filter(pl.col("attempt").is_in(attempts["attempt"].cast(pl.Int32).implode()))
    machines = hosts_of(held).select("attempt", row="machine").sort("attempt", "row")
    return spans.join(machines, on="attempt", how="inner", maintain_order="left_right")


def _microseconds(seconds: pl.Series) -> Integers:
    # Ends are rounded, not lengths: what follows upon another begins where that ends.
    return np.round(seconds.cast(pl.Float64).to_numpy() * _MICRO).astype(np.int64)


def _lanes(rows: Integers, starts: Integers, ends: Integers) -> list[int]:
    """The lowest place of its row that is free at its start, for each span, as spans of one track must not cross.

    >>> _lanes(np.array([0, 0, 0, 7]), np.array([0, 1, 5, 6]), np.array([5, 9, 6, 7]))
    [0, 1, 0, 0]
    """
    free: dict[int, list[int]] = {}
    running: dict[int, list[tuple[int, int]]] = {}
    new: dict[int, Iterator[int]] = {}
    lanes = []
    for row, start, end in zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True):
        open_, spare = running.setdefault(row, []), free.setdefault(row, [])
        while open_ and open_[0][0] <= start:
            heappush(spare, heappop(open_)[1])
        lane = heappop(spare) if spare else next(new.setdefault(row, counting()))
        heappush(open_, (end, lane))
        lanes.append(lane)
    return lanes


def _names(result: Result, process: int, tracks: dict[tuple[int, int], int]) -> Iterator[dict[str, Any]]:
    types = result.machines["type"].to_list()
    for (row, lane), track in tracks.items():
        if _has_machines(result):
            name = f"machine {row} ({types[row]})" + (f", place {lane + 1}" if lane else "")
        else:
            name = f"place {lane + 1}"
        yield {"ph": "M", "name": "thread_name", "pid": process, "tid": track, "args": {"name": name}}
        yield {"ph": "M", "name": "thread_sort_index", "pid": process, "tid": track, "args": {"sort_index": track}}


def _counters(result: Result, process: int, begin: float | None, end: float | None) -> Iterator[dict[str, Any]]:
    """What changes, when it does; or means over equal times, where that is too often."""
    table = _between(steps(result), begin, end)
    is_mean = len(table) > _MOST_STEPS
    if is_mean:
        table = series(result, _MOST_STEPS, begin=begin, end=end)
    times = _microseconds(table["time"]).tolist()
    for column, (name, unit) in _COUNTERS.items():
        told = f"{name} (means)" if is_mean else name
        for time, value in zip(times, table[column].to_list(), strict=True):
            yield {"ph": "C", "name": told, "pid": process, "tid": 0, "ts": time, "args": {unit: round(value, 6)}}


def _between(table: pl.DataFrame, begin: float | None, end: float | None) -> pl.DataFrame:
    """The steps of a time, of which the first is what was there when it began."""
    if end is not None:
        table = table.filter(pl.col("time") < end)
    if begin is None:
        return table
    before = table.filter(pl.col("time") < begin).tail(1).with_columns(time=pl.lit(begin))
    return pl.concat([before, table.filter(pl.col("time") >= begin)])
