"""What is learnt on and what is held out: 47 generated weeks of a machine of 256 cores, by the week."""

from unspool.model.platform import Platform
from unspool.rl import Windows
from unspool.workloads.generators import lublin
from unspool.workloads.transform import window as cut

CORES = 256
WEEK_S = 7 * 86400.0
LEARNT_WEEKS = 30
HELD_OUT_WEEKS = 12
WINDOW = 32


def log():
    """30,000 jobs as Lublin and Feitelson draw them, at a load of 0.8, with walltimes that users overstate."""
    return lublin(30_000, CORES, 0.8, seed=12)


def to_learn_from():
    """Windows of a week anywhere in the first 30 weeks."""
    return Windows(cut(log(), end=LEARNT_WEEKS * WEEK_S), Platform.pool(CORES), seconds=WEEK_S)


def held_out():
    """The last 12 whole weeks, each a log of its own that begins with an empty machine."""
    windows = Windows(cut(log(), start=(LEARNT_WEEKS + 4) * WEEK_S), Platform.pool(CORES), seconds=WEEK_S)
    return [windows.workload(week) for week in windows.in_turn()[:HELD_OUT_WEEKS]]
