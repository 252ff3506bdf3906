"""Sessions: the bursts in which a user submits jobs.

A session ends where its user submits nothing for a while. It is told by submissions alone, not by when jobs end, after
N. Zakay, D. G. Feitelson: "On identifying user session boundaries in parallel workload logs", JSSPP 2012.
"""

from __future__ import annotations

import polars as pl

from unspool.model.workload import Workload

__all__ = ["SESSION_GAP_S", "in_sessions"]

SESSION_GAP_S = 1_200.0
"""A user who submits nothing for longer has begun another session with the next job."""


def in_sessions(workload: Workload, session_gap_s: float = SESSION_GAP_S) -> pl.DataFrame:
    """The jobs by user and submission: `gap` since the user's last job (null for the first) and number of `session`.

    `at` is the place of a job in the workload. Jobs without a user count as those of one.

    >>> jobs = {"job_id": ["a", "b", "c"], "submit_time": [0, 60, 9000], "run_time": [1, 1, 1], "cores": [1, 1, 1]}
    >>> in_sessions(Workload.of(pl.DataFrame(jobs))).select("gap", "session").rows()
    [(None, 1), (60.0, 1), (8940.0, 2)]
    """
    jobs = pl.DataFrame([workload.column(name) for name in ("user", "submit_time", "run_time", "cores", "walltime")])
    by_user = jobs.with_row_index("at").sort("user", "submit_time", maintain_order=True)
    gap = pl.col("submit_time").diff().over("user")
    return by_user.with_columns(gap=gap).with_columns(
        session=((pl.col("gap") > session_gap_s) | pl.col("gap").is_null()).cast(pl.Int64).cum_sum()
    )
