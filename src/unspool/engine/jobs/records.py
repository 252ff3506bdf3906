"""What is known of jobs, as rows of arrays: jobs, attempts, events, the queue, promises, orders and estimates."""

from __future__ import annotations

import numpy as np

__all__ = [
    "ATTEMPT",
    "CLASSES",
    "ENDING",
    "EVENT",
    "FATE",
    "GUESS",
    "HELD",
    "JOB",
    "LINK",
    "PLAN",
    "PLAN_ROW",
    "RULE",
    "SHADOW",
    "USAGE",
    "WAITING",
    "WORD",
]

SHADOW = np.dtype(
    [
        # Found at the last full look; true while the head and `releases` are the same.
        ("head", "i8"),
        ("releases", "i8"),
        ("attempts", "i8"),
        ("time", "f8"),  # -1: not computed
        ("extra", "i8"),
        ("units", "i8"),  # of the head that fit on machines at that time
    ],
    align=True,
)
JOB = np.dtype(
    [
        ("submit", "f8"),
        ("run_time", "f8"),
        ("walltime", "f8"),  # limit that is enforced; infinite where none is
        ("size", "i8"),  # cores in all
        ("shape", "i8"),
    ],
    align=True,
)
FATE = np.dtype(
    [
        ("estimate", "f8"),
        ("planned_end", "f8"),  # when a running job is taken to end, or a waiting one that has a plan
        ("attempt", "i8"),
        ("state", "i8"),
        ("slot", "i8"),  # place in the queue's order
    ],
    align=True,
)
ATTEMPT = np.dtype(
    [("job", "i8"), ("start", "f8"), ("finish", "f8"), ("how", "i8"), ("first_row", "i8"), ("row_count", "i8")],
    align=True,
)
EVENT = np.dtype([("time", "f8"), ("order", "i8"), ("subject", "i8")], align=True)
WAITING = np.dtype([("estimate", "f8"), ("size", "i8"), ("job", "i8")], align=True)
CLASSES = 6  # of sizes in the queue's index: up to 3, 7, 15, 31, 63, and any; a word then fills a cache line
WORD = np.dtype([("bits", "i8"), ("size", "i8"), ("least", "f8", (CLASSES,))], align=True)
ENDING = np.dtype([("time", "f8"), ("size", "i8"), ("job", "i8")], align=True)
PLAN = np.dtype([("start", "f8"), ("estimate", "f8"), ("size", "i8"), ("slot", "i8"), ("job", "i8")], align=True)
HELD = np.dtype([("start", "f8"), ("row", "i8")], align=True)  # of a job's plan: when, and the first row of machines
PLAN_ROW = np.dtype([("first", "i8"), ("last", "i8"), ("units", "i8"), ("next", "i8")], align=True)
LINK = np.dtype([("think_time", "f8"), ("first", "i8"), ("count", "i8"), ("open", "i8")], align=True)
RULE = np.dtype(
    [
        ("kind", "i8"),
        ("first_submit", "f8"),
        ("age", "f8"),  # weights of multifactor,
        ("fair_share", "f8"),
        ("longest_age", "f8"),  # and its times
        ("half_life", "f8"),
    ],
    align=True,
)
USAGE = np.dtype(
    [
        ("decayed", "f8"),
        ("since", "f8"),
        ("cores", "i8"),
        ("share", "f8"),
        ("fair_share", "f8"),  # the factor,
        ("as_of", "f8"),  # when it was computed
    ],
    align=True,
)
GUESS = np.dtype([("kind", "i8")], align=True)
