"""Whether so much of a log was rejected that a result says little of it: the one rule, and the one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from unspool.model.workload import Workload
from unspool.units import counted

__all__ = ["LARGE_SHARE", "SHARES", "rejected_shares", "warning_of", "warnings_of", "with_warning"]

LARGE_SHARE = 0.05
"""A larger share of the records, or of the core-hours, is not to be overlooked."""

SHARES: tuple[str, ...] = ("rejected_share", "rejected_work_share")
"""The shares that a summary has: of records, and of core-hours."""


def rejected_shares(log: Workload, rejected: pl.DataFrame) -> dict[str, float]:
    """Which share of a log's records, and of its core-hours, was not used; `rejected` are the jobs that cannot run.

    Nobody knows what a record was that could not be read, so core-hours are those of jobs; where these have none, the
    share is absent. Records count against all jobs that were read, also where some of these were chosen.
    """
    read, unread = log.jobs_read or 0, len(log.rejected)
    used = read * (len(log) - len(rejected))
    whole = (read + unread) * len(log)
    work = log.table["cores"] * log.table["run_time"]
    total = float(work.sum())
    lost = float(work.filter(log.table["job_id"].is_in(rejected["job_id"].implode())).sum()) if len(rejected) else 0.0
    shares = {SHARES[0]: (whole - used) / whole if whole else 0.0}
    return {**shares, SHARES[1]: lost / total} if total else shares


def warning_of(summary: Mapping[str, Any]) -> str | None:
    """What a summary says first if a large share was rejected, else None.

    >>> warning_of({"rejected": 467, "rejected_records": 467, "rejected_jobs": 0, "rejected_share": 467 / 483})
    '467 records were rejected: 96.7% of the log.'
    >>> told = {"rejected": 3, "rejected_records": 0, "rejected_jobs": 3, "rejected_share": 0.01}
    >>> warning_of({**told, "rejected_work_share": 0.42}), warning_of(told)
    ('3 jobs were rejected: 1% of the log, with 42% of its core-hours.', None)
    """
    records, work = (summary.get(name) or 0.0 for name in SHARES)
    if max(records, work) <= LARGE_SHARE:
        return None
    kinds = {"record": summary.get("rejected_records", 0), "job": summary.get("rejected_jobs", 0)}
    told = " and ".join(counted(count, kind) for kind, count in kinds.items() if count)
    were = "was" if summary["rejected"] == 1 else "were"
    more = f", with {_percent(work)} of its core-hours" if work > LARGE_SHARE else ""
    return f"{told} {were} rejected: {_percent(records)} of the log{more}."


def warnings_of(summaries: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The warnings of several results by name: one if they are alike, else each after its name."""
    found = {name: warning_of(summary) for name, summary in summaries.items()}
    if len(set(found.values())) == 1:
        return next(iter(found.values()))
    return " ".join(f"{name}: {text}" for name, text in found.items() if text) or None


def with_warning(text: str, warning: str | None) -> str:
    """A headline, after the warning if there is one.

    >>> with_warning("They would wait", None), with_warning("They would wait", "1 job was rejected: 50% of the log.")
    ('They would wait', '1 job was rejected: 50% of the log. They would wait')
    """
    return text if warning is None else f"{warning} {text}"


def _percent(share: float) -> str:
    """A share to a tenth of a percent; what is not quite all does not read as all, nor what is little as nothing."""
    text = f"{100.0 * share:.1f}".removesuffix(".0") + "%"
    return {"0%": "below 0.1%", "100%": text if share == 1.0 else "over 99.9%"}.get(text, text)
