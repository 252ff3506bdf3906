"""The engine's whole state: a tuple of structured arrays, and nothing else.

`jobs`, `need`, `allowed`, `licence_need`, `links` and `dependents` are input: never written, shared by forks (but for
the run times of jobs that resume from checkpoints, which then are the run's own). All else is what happened so far; a
copy of it is a snapshot. Compiled code never makes or grows an array: it returns `ROOM`, and `grow` doubles what is
short.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unspool.engine.programs.mpi import Mpi

__all__ = [
    "ACTIVITY", "ATTEMPT", "BESIDE", "BUNDLE", "CHANGE", "CLASSES", "CLOCK", "COMPLETED", "CROWD", "DECIDE", "DEFER",
    "DOMAIN", "DONE", "DUE", "ELASTIC", "ENDING", "EVENT", "FAILED", "FATE", "FLUID", "FRAME", "GUESS", "HELD", "HOLD",
    "INSTANCE", "JOB", "KEEP", "KEPT", "KILL", "KILLED", "KIND", "LETTER", "LINK", "LOAD", "LOST", "LOT", "MACHINE",
    "METER", "MOVE", "NEVER", "NODE", "NOTED", "NOT_NEEDED", "ON_LOSS", "OUTAGES", "PAUSE", "PLAN", "PLAN_ROW",
    "PREDICT", "PROGRAM", "QUEUED", "QUOTA", "REJECTED", "REQUEUE", "RESOURCE", "RESUME", "ROOM", "ROW", "RULE",
    "RUNNING", "SAID", "SEAT", "SHADOW", "SHAPE", "SHARING", "SIZES", "SPOILT", "STALLED", "TIMED_OUT", "UNSEEN",
    "UNTIL", "USAGE", "WAITING", "WAY", "WORD", "Array", "Core", "Elastic", "Fluid", "Guess", "Later", "Links", "Meter",
    "Order", "Outage", "Place", "Plan", "Routes", "Sharing", "State", "longer",
]  # fmt: skip


Array = np.ndarray[Any, Any]

# Why a compiled loop returned.
DONE, DECIDE, DEFER, ROOM, PAUSE, UNTIL, PREDICT, OUTAGES, STALLED = 0, 1, 2, 3, 4, 5, 6, 7, 8

# States of a job. An attempt ends in one of the last five.
UNSEEN, QUEUED, RUNNING, REJECTED, COMPLETED, TIMED_OUT, KILLED, LOST, FAILED = 0, 1, 2, 3, 4, 5, 6, 7, 8

# What becomes of jobs whose machine is lost: they wait again, are given up, resume from a checkpoint, or run on.
REQUEUE, KILL, RESUME, KEEP = 0, 1, 2, 3

# Profile and plans of conservative backfilling: to be made anew; up to date; or nobody waits, and no profile is kept.
SPOILT, KEPT, NOT_NEEDED = 0, 1, 2

NEVER = float("inf")

CLOCK = np.dtype(
    [
        ("now", "f8"),
        ("free", "i8"),  # cores, over all machines
        ("next_arrival", "i8"),  # position in `jobs` of the next job to arrive
        ("dirty", "i8"),  # 1: something happened at this instant that a scheduler has not seen
        ("releases", "i8"),  # counts everything that can make room: ends, kills
        ("sequence", "i8"),
        ("deferred", "i8"),  # which deferred decisions are due
        ("pause_at", "i8"),  # number of attempts at which a compiled run comes up for air
        ("queued", "i8"),
        ("first", "i8"),  # slot of the head of the queue; past the last slot where nobody waits
        ("fresh", "i8"),  # least queue slot that was filled since the scheduler last looked
        (
            "has_minima",
            "i8",
        ),  # 1: somebody asks for the next job that fits, so the words of the queue know their minima
        ("next_slot", "i8"),  # where the order changes with time: the slot of the next arrival; else -1
        ("next_change", "i8"),  # position in the list of machines that are lost or come back
        ("until", "f8"),  # a run stops before the first instant after this
        ("stalled", "i8"),  # decisions at one instant that changed nothing for any job:
        ("stalled_at", "f8"),  # at this instant,
        ("stalled_with", "i8"),  # with this count of what jobs did
        ("amid", "i8"),  # 1: Python has a turn amid an instant, 2: amid machines that stop at it
        ("instant", "f8"),  # that instant
        ("second", "i8"),  # on the wall clock, when it last had a turn
        ("noted", "i8"),  # attempts whose start is counted in the usage of their users
        ("events", "i8"),
        ("running", "i8"),
        ("attempts", "i8"),
        ("rows", "i8"),
        ("picked", "i8"),
        ("selection", "i8"),
        ("one_core", "i8"),  # 1: every machine has one core, and any will do for every job
        ("watched", "i8"),  # shape of the blocked head, of which the units that fit now are kept count of; -1: none
        ("watched_units", "i8"),
        ("touched", "i8"),  # machines in the list of those that differ later
        # Conservative.
        ("planning", "i8"),  # whether profile and plans are kept
        ("in_queue_order", "i8"),  # 1: plans move forward in queue order, not in that of their starts
        ("steps", "i8"),  # where the step of now stands in the profile
        ("plans", "i8"),
        ("freed_until", "f8"),  # the end of the time that became free since plans were last moved
        ("plan_ends", "i8"),
        ("plan_rows", "i8"),  # used so far
        ("spare_plan_row", "i8"),  # the first of those given back, -1 for none
    ],
    align=True,
)

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
MACHINE = np.dtype(
    [
        ("group", "i8"),
        ("mark", "i8"),  # 1: this machine stands in the list of touched ones
        ("touched", "i8"),  # that list: row k holds the k-th touched machine
        ("now", "i8"),  # units of the watched shape that fit now,
        ("later", "i8"),  # and for EASY at the shadow time, where the machine is touched
        ("fit", "i8"),  # selection: units that fit, units given,
        ("given", "i8"),
        ("order", "i8"),  # and the k-th machine to try
        ("domain", "i8"),  # which part of the network it is in
    ],
    align=True,
)
DOMAIN = np.dtype(
    [
        ("room", "i8"),  # selection: units that fit in this part of the network,
        ("taken", "i8"),  # and how many of them a job takes
        ("load", "i8"),  # units here of running jobs that are elsewhere too: they use what leads out of it
    ],
    align=True,
)
SHAPE = np.dtype(
    [
        ("units", "i8"),
        ("distinct", "i8"),  # 1: each unit on a machine of its own
        ("cores", "i8"),  # a unit's
        ("partition", "i8"),
        ("plain", "i8"),  # 1: asks for cores only and no licence
        ("failed", "i8"),  # value of `releases` at which it last found no room
        ("refused", "i8"),  # value of `releases` + `attempts` at which it would last have delayed the head
        ("parts", "i8"),  # of the network that it may be in at the most
        ("local", "i8"),  # 1: that is one, however machines are chosen
    ],
    align=True,
)
ROW = np.dtype([("first", "i4"), ("last", "i4"), ("units", "i4")])
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
CHANGE = np.dtype([("time", "f8"), ("machine", "i8"), ("step", "i8")], align=True)  # +1 it is lost, -1 it comes back
ON_LOSS = np.dtype([("fate", "i8"), ("checkpoint", "f8"), ("most", "i8"), ("known_until", "f8")], align=True)

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

# Work that shares processors and links.
SHARING = np.dtype(
    [
        ("clean", "i8"),  # 1: without the two side effects of SimGrid's rounds
        ("has_fat", "i8"),  # 1: some links are fat
        ("gamma", "f8"),  # bytes that a flow may have on the way, which bounds it where latency is long
        ("hosts", "i8"),  # resources and bundles below this are hosts, the others links
        ("slots", "i8"),  # of activities that were ever in use,
        ("spare", "i8"),  # and the first of those given back, -1 for none
        ("top", "i8"),  # elements that were ever in use
        ("due", "i8"),  # entries of the heap
        ("dirty", "i8"),  # components whose rates are out of date
        ("flows", "i8"),  # activities that share now,
        ("in_use", "i8"),  # and their elements
        ("mark", "i8"),  # counts searches, so that nothing need be unmarked
        ("endless", "i8"),  # 1: rounds on fat links did not end
        ("settled", "i8"),  # how many of the dirty have their rates, where Python has a turn before all do:
        ("phase", "i8"),  # how the next of them is being shared out, 0: not yet,
        ("rounds", "i8"),  # after so many rounds,
        ("open", "i8"),  # with so many members that still rise,
        ("listed", "i8"),  # bundles that they share,
        ("listed_fat", "i8"),  # and fat links
        ("work", "i8"),  # members and bundles that rounds came by since the last look at the clock
        ("second", "i8"),  # on the wall clock, when Python last had a turn
        ("touched", "i8"),  # links that the task in the making uses
        ("latency", "f8"),  # of the task in the making,
        ("window", "f8"),  # and the largest latency x bytes of its flows
        ("bin_s", "f8"),  # how wide the bins of what is used are, 0 where that is not written down,
        ("use_from", "f8"),  # and when they begin
    ],
    align=True,
)
RESOURCE = np.dtype(
    [
        ("speed", "f8"),  # of one core
        ("cores", "f8"),
        ("is_fat", "i8"),  # 1: each user may have all of it
        ("bundle", "i8"),  # where it is dealt out,
        ("lane", "i8"),  # and in which lane
    ],
    align=True,
)
# A host with up to three links of its own, which are dealt out at once, or another link; the host is in the first lane.
BUNDLE = np.dtype(
    [
        ("first", "i8"),  # element on it, -1 for none
        ("is_fat", "i8"),  # 1: a fat link, alone
        ("least", "f8"),  # in the rounds: of a fat one the least that a user takes
        ("mark", "i8"),  # the search that last came by,
        ("seen", "i8"),  # that for parts which last did, with the lanes in which it did,
        ("spot", "i8"),  # and the first element here of the task in the making
    ],
    align=True,
)
ACTIVITY = np.dtype(
    [
        ("kind", "i8"),
        ("owner", "i8"),
        ("left", "f8"),  # fraction still to be done at `since`
        ("since", "f8"),
        ("rate", "f8"),
        ("end", "f8"),
        ("bound", "f8"),
        ("wire_bound", "f8"),  # the part of it that does not depend on the speed of hosts
        ("step", "f8"),  # in the rounds: by how much its rate rose last
        ("worth", "f8"),  # what its rate is multiplied by where rates rise together to a level; 0: it shares in rounds
        ("element", "i8"),  # the first; first those of shared bundles, then of fat links
        ("shared", "i8"),
        ("elements", "i8"),
        ("is_plain", "i8"),  # 1: no resource stands twice among them
        ("leader", "i8"),  # of its component, which is a ring
        ("next", "i8"),
        ("before", "i8"),
        ("size", "i8"),  # of the leader: members of the component,
        ("gone", "i8"),  # those that left since it was last searched for parts,
        ("dirty", "i8"),
        ("place", "i8"),  # and its place in the heap, -1: in none
        ("mark", "i8"),
    ],
    align=True,
)
# Elements on one bundle; of each, the lanes in which it weighs something, as bits.
BESIDE = np.dtype([("activity", "i8"), ("next", "i8"), ("before", "i8"), ("lanes", "i8")], align=True)
DUE = np.dtype([("time", "f8"), ("activity", "i8")], align=True)
CROWD = np.dtype(
    [
        ("executors", "i8"),
        ("squares", "i8"),  # of executors on a host, summed over hosts
        ("out", "f8"),  # the largest latency of a way out of a host, -1 before the first,
        ("home", "f8"),  # and of one home
        ("pair_out", "f8"),  # the two, out of a host and home to another, that are the largest together
        ("pair_home", "f8"),
    ],
    align=True,
)
WAY = np.dtype([("first", "i8"), ("count", "i8"), ("latency", "f8")], align=True)  # part of a route, as links

# What jobs do once they run.
FLUID = np.dtype(
    [
        ("launched", "i8"),  # attempts whose jobs have begun to do what they do
        ("steps", "i8"),  # of jobs
        ("strict", "i8"),  # 1: a delay that ends with the walltime is cut by it, as in Batsim
        ("slots", "i8"),  # of frames that were ever in use,
        ("spare", "i8"),  # and the first of those given back, -1 for none
        ("todo", "i8"),  # moves that are to be made
        ("leaves", "i8"),  # the most activities that one job can have at once,
        ("nodes", "i8"),  # frames that it can need,
        ("elements", "i8"),  # and elements of a task
        ("said", "i8"),  # messages of jobs,
        ("letters", "i8"),  # and messages to them
        ("seated", "i8"),  # executors that were mapped
        ("stuck", "i8"),  # a job whose task has no way between two of its hosts; -1: none has
    ],
    align=True,
)
PROGRAM = np.dtype(
    [
        ("kind", "i8"),
        ("code", "i8"),
        ("first", "i8"),  # member, or amount: cpu, then com,
        ("count", "i8"),  # and how many members, or executors
        ("repeat", "i8"),
        ("spread", "i8"),
        ("seconds", "f8"),
        ("cpu", "f8"),
        ("com", "f8"),
        ("storage", "i8"),  # host,
        ("other", "i8"),  # and the one that data are moved to
        ("bit", "i8"),  # of those that wait for a message: its place in the masks of messages
        ("follows", "i8", (3,)),  # and what then follows: match, no match, no message; -1: nothing does
    ],
    align=True,
)
FRAME = np.dtype(
    [
        ("program", "i8"),
        ("job", "i8"),
        ("parent", "i8"),
        ("member", "i8"),  # that runs now, counted over repetitions
        ("open", "i8"),  # members that still run
        ("code", "i8"),
        ("activity", "i8"),  # -1: none
        ("since", "f8"),
        ("next", "i8"),  # frame of the same job
        ("before", "i8"),
    ],
    align=True,
)
MOVE = np.dtype([("frame", "i8"), ("program", "i8"), ("code", "i8")], align=True)  # begin a program, or end a frame
SEAT = np.dtype(
    [
        ("first", "i8"),
        ("count", "i8"),
        ("spare", "i8"),  # cores that the job asked for and was not given
    ],
    align=True,
)
SAID = np.dtype([("time", "f8"), ("job", "i8"), ("program", "i8")], align=True)
LETTER = np.dtype([("mask", "i8"), ("next", "i8")], align=True)

# What machines compute, for their power.
METER = np.dtype([("rows", "i8"), ("notes", "i8"), ("hosts", "i8")], align=True)
NOTED = np.dtype([("flops", "f8"), ("mix", "f8")], align=True)  # in all, and summed with weights that tell jobs apart
LOAD = np.dtype(
    [
        ("note", "i8"),  # rows of one note say all that its host computes from then on
        ("time", "f8"),
        ("host", "i8"),
        ("job", "i8"),  # -1: nobody's
        ("flops", "f8"),
    ],
    align=True,
)


class Core(NamedTuple):
    """Time, jobs, what waits and what runs."""

    clock: Array
    jobs: Array
    fate: Array
    attempts: Array
    events: Array
    running: Array
    waiting: Array
    words: Array


class Place(NamedTuple):
    """Machines and what is free on them."""

    machines: Array
    bits: Array  # bitset of the machines that have room for some unit
    least: Array  # of each resource the least that any unit asks for
    free: Array
    total: Array  # of each resource what is free on all machines
    shapes: Array
    need: Array
    allowed: Array  # [partition, group of machines]
    licence: Array
    licence_need: Array
    rows: Array
    picked: Array
    tally: Array | None  # scratch of the counting sort in selection; None where first fit or neighbours are chosen
    domains: Array | None = None  # `DOMAIN`, the parts of the network, where machines are chosen by them


class Later(NamedTuple):
    """What machines have free at a later time, on top of now; only where the number of cores does not decide."""

    gain: Array  # [machine, resource] at the shadow time, or all through a window of time
    level: Array  # the same at one time inside that window
    licence_gain: Array
    licence_level: Array
    extra: Array  # of each resource what is free on all machines at the shadow time beyond the head's need


class Plan(NamedTuple):
    """What conservative backfilling has promised."""

    times: Array  # of the steps of free cores over time
    gains: Array  # how many more are free from each of them on
    plans: Array  # sorted by (start, slot)
    ends: Array  # the same jobs by the end of their plan, as `running`; only where plans hold machines
    rows: Array  # machines of the plans, in lists
    held: Array  # `HELD` of each job that has a plan


class Order(NamedTuple):
    """How the queue is ordered where that changes while jobs wait."""

    rule: Array  # `RULE`
    fixed: Array  # the part of each job's key that does not change
    user: Array  # whose each job is
    usage: Array  # `USAGE` of each user, and at the end of all
    ranked: Array  # scratch: waiting jobs in order,
    keys: Array  # their keys,
    other_ranked: Array  # and both once more, to merge into
    other_keys: Array


class Guess(NamedTuple):
    """What a predictor knows of jobs."""

    rule: Array  # `GUESS`
    user: Array  # whose each job is
    last: Array  # [user, 2] the run times of the last two jobs of a user that ended, the later one first
    ended: Array  # how many have, up to two
    known: Array  # 1: this job's estimate was predicted


class Outage(NamedTuple):
    """Which machines are lost and come back, and when."""

    rule: Array  # `ON_LOSS`
    changes: Array  # `CHANGE`, by time; at one time those that are lost before those that come back
    down: Array  # outages that each machine is in
    losses: Array  # attempts that each job has lost
    capacity: Array  # [machine, resource]


class Elastic(NamedTuple):
    """Machines that are brought up and down: what can be started, what was, and what becomes of jobs."""

    rule: Array  # `ELASTIC`
    kinds: Array  # `KIND` of each type that can be started
    by_price: Array  # [plan, k] the kind that is k-th in price; -1 behind the last that is sold so
    quotas: Array  # `QUOTA` of all, then of each family
    room: Array  # [kind, resource] what an empty machine has
    instances: Array  # `INSTANCE` of each machine,
    capacity: Array  # [machine, resource] what it has when empty,
    nodes: Array  # `NODE`, and its place in the index
    roots: Array  # of the trees of that index
    holds: Array  # `HOLD` beside each row of machines
    lots: Array  # `LOT` of each job
    packed: Array  # jobs in the order of packing
    ranked: Array  # scratch: places of waiting jobs in that order
    weights: Array  # scratch: [at, k] dollars that a picked machine adds to the bill, then seconds that it lives longer


class Sharing(NamedTuple):
    """Activities that share processors and links, and at what rates they go on."""

    rule: Array  # `SHARING`
    resources: Array  # `RESOURCE` of each host, then of each link
    bundles: Array  # `BUNDLE` of each host, then of the links that are in none of those
    capacity: Array  # of bundles, in lanes: flop/s of all cores, or B/s,
    using: Array  # and elements on each;
    left: Array  # in the rounds: what is left of each,
    users: Array  # its elements of open activities,
    share: Array  # what each of them gets,
    stale: Array  # and what closed ones go on taking; of fat links, the least that one does
    activities: Array  # `ACTIVITY`
    weights: Array  # in lanes: what elements take, those of an activity in one block whose length is a power of two,
    runs: Array  # how many from each on weigh the same,
    uses: Array  # and the bundle that each is of; unsigned, so that no index need be looked at for its sign
    beside: Array  # `BESIDE` of each
    blocks: Array  # the first free block of each length
    heap: Array  # `DUE`: components and timers by when something happens to them next
    listed: Array  # scratch: shared bundles in the rounds,
    listed_fat: Array  # and fat links
    members: Array  # scratch: activities in the rounds
    dirty: Array  # leaders of components whose rates are out of date
    used: Array  # of each lane of each bundle, in each bin: flops or bytes; no bins where that is not written down


class Routes(NamedTuple):
    """The links on the way from any host to any other (see `model/network.py`), and scratch to sum up bytes on them."""

    group: Array
    leaving: Array  # `WAY` of each host
    arriving: Array
    itself: Array
    between: Array  # [group, group]; count -1: there is no way
    links: Array  # resources
    load: Array  # bytes of the task in the making on each resource,
    touched: Array  # those that have some,
    crew: Array  # the hosts of its executors,
    flops: Array  # and of each what it computes
    tally: Array  # executors on each host,
    crowds: Array  # `CROWD` of each group,
    groups: Array  # and those that have some


class Fluid(NamedTuple):
    """What jobs do once they run, and how far they are."""

    rule: Array  # `FLUID`
    programs: Array  # `PROGRAM` of each profile
    members: Array  # programs that programs are made of
    amounts: Array  # flops and bytes of tasks
    program_of: Array  # that each job runs; -1: it takes its run time
    frames: Array  # `FRAME`: a program in the course of its run
    top: Array  # the first frame of each job's, -1 for none
    codes: Array  # that each job returned
    seats: Array  # `SEAT` of each job: where its executors stand in `executors`; -1: one a unit of its machines
    executors: Array  # hosts
    todo: Array  # `MOVE`
    said: Array  # `SAID`
    letters: Array  # `LETTER`
    mail: Array  # [job, 2] the first and the last letter to each job, -1 for none
    sharing: Sharing
    routes: Routes
    mpi: Mpi | None = None  # replays of traces


class Meter(NamedTuple):
    """What each host computes, written down whenever it changes; only where energy is asked for."""

    rule: Array  # `METER`
    noted: Array  # `NOTED` of each host: what was last written down
    loads: Array  # `LOAD`


class Links(NamedTuple):
    """Which job waits for the end of which."""

    links: Array
    open: Array
    dependents: Array


class State(NamedTuple):
    """All of one run. Functions take the part that they use: a call copies what it passes.

    A part that a run does not need is None: on a pool there is no place, where any free cores will do no later, and
    the others only serve EASY, conservative backfilling, dependencies, orders that change with time, predictors,
    machines that come and go, those that are brought up and down, work that shares a network, and its power. Numba
    compiles a function for the types that it is given and leaves out the branch of `if place is None` that cannot be
    taken, so that a run compiles no more than it needs.
    """

    core: Core
    place: Place | None = None
    later: Later | None = None
    shadow: Array | None = None  # what EASY remembers (`SHADOW`)
    plan: Plan | None = None
    links: Links | None = None
    order: Order | None = None
    guess: Guess | None = None
    outage: Outage | None = None
    elastic: Elastic | None = None
    fluid: Fluid | None = None
    meter: Meter | None = None


def longer(array: Array, least: int) -> Array:
    """The array, or one that is twice as long and at least so long, with the same in front."""
    if len(array) >= least:
        return array
    grown = np.zeros((max(2 * len(array), least), *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown
