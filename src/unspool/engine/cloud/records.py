"""What is known of machines that come and go, as rows of arrays: types, quotas, instances and their index."""

from __future__ import annotations

import numpy as np

__all__ = ["ELASTIC", "HOLD", "INSTANCE", "KIND", "LOT", "NODE", "QUOTA", "SIZES"]

# Machines that are brought up and down.
ELASTIC = np.dtype(
    [
        ("machines", "i8"),  # that there are or were: those of the platform, then instances in the order of their start
        ("fixed", "i8"),  # how many of them belong to the platform
        ("live", "i8"),  # instances
        ("changes", "i8"),  # of the load of machines, counted
        ("short", "i8"),  # machines of a job for which an array had no room,
        ("resume", "i8"),  # and where the round of decisions goes on that it broke off
        ("boot", "f8"),
        ("idle", "f8"),
        ("frequency", "f8"),  # of ticks; 0: jobs are placed at once
        ("epoch", "f8"),  # where the workload's origin lies on the clock that ticks are whole multiples on
        ("tick", "f8"),  # when the next one is due; in the past: none is
        ("ticked", "f8"),  # when the last one was,
        ("has_new", "i8"),  # and whether a job has found no room since
        ("shares", "i8"),  # 1: several jobs may be on one machine
        ("reclaims", "f8"),  # rate, per minute
        ("retries", "i8"),  # reclaims after which a job goes on demand; with 0 it begins there
        ("checkpoint", "f8"),  # run time between two; 0: none are made
        ("seed", "u8"),
        ("looked", "i8"),  # value of `releases` when all waiting jobs were last looked at
        ("may_start", "i8"),  # 1: instances can be started at all
        ("starved", "i8"),  # by its number from 1, the job that limits leave without machines; 0: none
        ("kept", "i8"),  # by its number from 1, an idle machine that is kept for a job that waits still; 0: none
        ("guesses", "i8"),  # 1: a predictor says how long jobs run, and so which are spot jobs
        ("binds", "i8"),  # 1: jobs are bound to machines that still boot; 0: a machine is there when it is up
        ("placement", "i8"),  # how machines are chosen for jobs that are bound to them, by `engine/cloud/instances.py`
        ("core_usd", "f8", (2,)),  # the least price of a core for an hour, on demand and on spot
        ("room_share", "f8"),  # how much of that a core is worth that a new machine has left over,
        ("wait_usd", "f8"),  # what it is worth that a job waits an hour less,
        ("idle_usd", "f8"),  # and the price of an hour of a machine that is kept for `idle`; 0: all are
    ],
    align=True,
)
KIND = np.dtype(
    [
        ("vcpus", "i8"),
        ("quota", "i8"),  # of its family
        ("group", "i8"),
        ("rank", "i8", (2,)),  # where its machines stand among others, on demand and on spot: the lower, the sooner
        ("usd", "f8", (2,)),  # for an hour, on demand and on spot; infinite: not sold so
    ],
    align=True,
)
QUOTA = np.dtype([("instances", "i8"), ("vcpus", "i8"), ("most_instances", "i8"), ("most_vcpus", "i8")], align=True)
INSTANCE = np.dtype(
    [
        ("kind", "i8"),  # -1: a machine of the platform
        ("plan", "i8"),
        ("start", "f8"),
        ("up", "f8"),
        ("stop", "f8"),  # -1: it is live
        ("reclaimed", "i8"),
        ("job", "i8"),  # that it was started for
        ("empty_since", "f8"),
        ("stop_armed", "i8"),  # 1: an idle stop is on the heap; 2: it is kept for a job that waits
        ("next_kept", "i8"),  # another of those that are kept, by its number from 1; 0: none
        ("hold", "i8"),  # the first of the rows that hold it, -1 for none
        ("rank", "i8"),
        ("usd", "f8"),  # for an hour; 0 for a machine of the platform
        ("idle", "f8"),  # how long it is kept without a job
        ("ends", "f8"),  # when the last of the jobs that hold it is expected to end
    ],
    align=True,
)
SIZES = 8  # classes of free cores in the index of machines: 1, 2, 4, … 128 and more
NODE = np.dtype(
    [
        ("parent", "i8"),
        ("left", "i8"),
        ("right", "i8"),
        ("tree", "i8"),  # -1: in none
        ("priority", "i8"),
        ("rank", "i8"),
        ("fullness", "f8"),
        ("changed", "i8"),
        ("gpus", "f8"),  # the most that is free below,
        ("memory", "f8", (SIZES,)),  # and of machines with so many free cores the most memory
    ],
    align=True,
)
HOLD = np.dtype([("job", "i8"), ("next", "i8"), ("before", "i8")], align=True)
LOT = np.dtype(
    [
        ("plan", "i8"),
        ("spot_below", "f8"),  # a job that is expected to run shorter, in seconds, is a spot job; 0: it never is
        ("losses", "i8"),
        ("waits", "i8"),  # 1: it found no room, and waits until something changes or for a tick
        ("burst_at", "f8"),  # from when on instances may be used, or started, for it
        ("own", "i8"),  # live instances that were started for it
        ("pack", "i8"),  # its place in the order of packing
        ("line", "i8"),  # of the log,
        ("drawn", "i8"),  # and how many spot instances were started for it
        ("ends", "f8"),  # when it is expected to end, from its placing on
    ],
    align=True,
)
