"""What is learnt on, what checkpoints are chosen by, and what is held out: weeks of a machine of 256 cores."""

from dataclasses import replace

import polars as pl

from unspool.model.platform import Platform
from unspool.rl import Windows
from unspool.workloads.generators import lublin
from unspool.workloads.transform import window as cut

CORES = 256
WEEK_S = 7 * 86400.0
LEARNT_WEEKS = 26
CHECKED_WEEKS = 8
HELD_OUT_WEEKS = 12
SQUEEZED = 0.75
WINDOW = 32


def log():
    """30,000 jobs as Lublin and Feitelson draw them, at a load of 0.8, with walltimes that users overstate."""
    return lublin(30_000, CORES, 0.8, seed=12)


def to_learn_from():
    """Weeks that begin anywhere in the first 26, each squeezed into three quarters of its time.

    At a load of 0.8 something nearly always fits, and which job is started seldom matters; where more jobs wait, more
    is to be learnt from a decision.
    """
    weeks = cut(log(), end=LEARNT_WEEKS * WEEK_S)
    squeezed = replace(weeks, table=weeks.table.with_columns(submit_time=pl.col("submit_time") * SQUEEZED))
    return Windows(squeezed, Platform.pool(CORES), seconds=SQUEEZED * WEEK_S)


def to_check_on():
    """The 8 weeks after those, as they are: the best agent of a training is chosen on them."""
    first, last = LEARNT_WEEKS, LEARNT_WEEKS + CHECKED_WEEKS
    return Windows(cut(log(), start=first * WEEK_S, end=last * WEEK_S), Platform.pool(CORES), seconds=WEEK_S)


def held_out():
    """The first 12 whole weeks after those, each a log of its own that begins with an empty machine."""
    windows = Windows(cut(log(), start=(LEARNT_WEEKS + CHECKED_WEEKS) * WEEK_S), Platform.pool(CORES), seconds=WEEK_S)
    return [windows.workload(week) for week in windows.in_turn()[:HELD_OUT_WEEKS]]
