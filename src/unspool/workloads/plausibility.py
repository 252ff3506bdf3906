"""What makes one doubt a log: jobs beyond their walltimes, a load that no machine bears, times in another unit.

These are notes, and never refusals: a log may be as odd as it looks.
"""

from __future__ import annotations

from unspool.model.workload import Workload
from unspool.units import counted

__all__ = ["doubts", "offered_load", "on_load"]

_FEWEST = 5  # jobs of which shares and medians say anything
_MOST_OVER = 0.2  # of the jobs may run longer than they asked for
_MOST_LOAD = 3.0
_YEAR_10000_S = 253_402_300_800.0  # since 1970
_CENTURY_S = 100 * 365.25 * 86400
_SHORT_S = 1.0


def doubts(log: Workload) -> tuple[str, ...]:
    """Notes on what is hard to believe of a log, by itself and on the machine that its header names.

    >>> import polars as pl
    >>> jobs = pl.DataFrame({"job_id": [*"abcde"], "submit_time": 0, "run_time": 60, "cores": 4, "walltime": 1})
    >>> doubts(Workload.of(jobs))
    ('5 of 5 jobs ran longer than their walltimes. Check the unit of walltimes and run times.',)
    """
    if not len(log):
        return ()
    told = (*_on_span(log), *(() if len(log) < _FEWEST else (*_on_walltimes(log), *_on_run_times(log))))
    if log.max_cores is None:
        return told
    return (*told, *on_load(log, log.max_cores, "in the log header"), *_on_size(log, log.max_cores))


def on_load(log: Workload, cores: int, where: str) -> tuple[str, ...]:
    """A note on a load that is hard to believe on so many cores; `where` says whose they are.

    Of a log that is shorter than half of its jobs, the load says nothing.
    """
    load, median_s = offered_load(log, cores), log.table["run_time"].median()
    if load is None or load <= _MOST_LOAD or not isinstance(median_s, float) or median_s > _span_s(log):
        return ()
    text = f"The offered load on the {counted(cores, 'core')} {where} is {load:,.3g}."
    return (f"{text} Check the unit of times and the number of cores.",)


def offered_load(log: Workload, cores: int | None) -> float | None:
    """The work of all jobs over what so many cores can do from the first to the last submission."""
    span_s = _span_s(log)
    work_s = float((log.table["cores"] * log.table["run_time"]).sum())
    return work_s / (cores * span_s) if cores and span_s else None


def _span_s(log: Workload) -> float:
    times = log.table["submit_time"]
    return float(times[-1] - times[0]) if len(times) else 0.0


def _on_size(log: Workload, cores: int) -> list[str]:
    larger = int((log.table["cores"] > cores).sum())
    ask = counted(larger, "job asks", "jobs ask")
    return [f"{ask} for more than the {counted(cores, 'core')} in the log header."] if larger else []


def _on_walltimes(log: Workload) -> list[str]:
    over = int((log.column("run_time") > log.column("walltime")).sum())
    if over <= _MOST_OVER * len(log):
        return []
    return [
        f"{over:,} of {counted(len(log))} ran longer than their walltimes. Check the unit of walltimes and run times."
    ]


def _on_span(log: Workload) -> list[str]:
    years = _span_s(log) / _CENTURY_S * 100
    if years <= 100:
        begin = log.origin_unix_s + float(log.table["submit_time"][0])
        late = "The log begins after the year 9999. Its times may be milliseconds, not seconds."
        return [late] if begin >= _YEAR_10000_S else []
    return [f"The log spans {years:,.0f} years. Its times may be milliseconds, not seconds."]


def _on_run_times(log: Workload) -> list[str]:
    median_s = log.table["run_time"].median()
    if log.profiles or not isinstance(median_s, float) or not 0.0 < median_s < _SHORT_S:
        return []
    return [f"The median run time is {median_s:.2g} s. Run times may be minutes or hours, not seconds."]
