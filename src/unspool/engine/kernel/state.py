"""The engine's whole state: a tuple of structured arrays, and nothing else.

`jobs`, `need`, `allowed`, `licence_need`, `links` and `dependents` are input: never written, shared by forks (but for
the run times of jobs that resume from checkpoints, which then are the run's own). All else is what happened so far; a
copy of it is a snapshot. Compiled code never makes or grows an array: it returns `ROOM`, and `grow` doubles what is
short.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "COMPLETED",
    "COURSE",
    "DECIDE",
    "DEFER",
    "DONE",
    "FAILED",
    "KEEP",
    "KEPT",
    "KILL",
    "KILLED",
    "LOST",
    "NEVER",
    "NOT_NEEDED",
    "OUTAGES",
    "PAUSE",
    "PREDICT",
    "QUEUED",
    "REJECTED",
    "REQUEUE",
    "RESUME",
    "ROOM",
    "RUNNING",
    "SPOILT",
    "STALLED",
    "TIMED_OUT",
    "UNSEEN",
    "UNTIL",
    "Array",
    "Core",
    "Elastic",
    "Fluid",
    "Guess",
    "Later",
    "Links",
    "Meter",
    "Mpi",
    "Order",
    "Outage",
    "Place",
    "Plan",
    "Routes",
    "Sharing",
    "State",
    "longer",
]


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

# How far a run is, and what its loop was told: one row.
COURSE = np.dtype(
    [
        # Time.
        ("now", "f8"),
        ("until", "f8"),  # a run stops before the first instant after this
        ("instant", "f8"),  # amid which Python has a turn,
        ("amid", "i8"),  # 1: it has; 2: amid machines that stop at it
        ("second", "i8"),  # on the wall clock, when Python last had a turn
        ("pause_at", "i8"),  # number of attempts at which a compiled run returns to Python for a moment
        ("stalled", "i8"),  # decisions at one instant that changed nothing for any job:
        ("stalled_at", "f8"),  # at this instant,
        ("stalled_with", "i8"),  # with this count of what jobs did
        # What a scheduler has to see.
        ("dirty", "i8"),  # 1: something happened at this instant that a scheduler has not seen
        ("releases", "i8"),  # counts everything that can make room: ends, kills
        ("deferred", "i8"),  # which deferred decisions are due
        # How many records of each array are in use.
        ("next_arrival", "i8"),  # of `jobs`: position of the next job to arrive
        ("attempts", "i8"),
        ("events", "i8"),
        ("sequence", "i8"),  # events that ever were
        ("running", "i8"),
        ("noted", "i8"),  # attempts whose start is counted in the usage of their users
        ("next_change", "i8"),  # position in the list of machines that are lost or come back
        # The queue.
        ("queued", "i8"),
        ("first", "i8"),  # slot of the head of the queue; past the last slot where nobody waits
        ("fresh", "i8"),  # least queue slot that was filled since the scheduler last looked
        ("next_slot", "i8"),  # where the order changes with time: the slot of the next arrival; else -1
        ("has_minima", "i8"),  # 1: somebody asks for the next job that fits, so words of the queue know their minima
        # Machines.
        ("free", "i8"),  # cores, over all machines
        ("rows", "i8"),
        ("picked", "i8"),
        ("selection", "i8"),
        ("one_core", "i8"),  # 1: every machine has one core, and any will do for every job
        ("watched", "i8"),  # shape of the blocked head, of which the units that fit now are kept count of; -1: none
        ("watched_units", "i8"),
        ("touched", "i8"),  # machines in the list of those that differ later
        # Conservative backfilling.
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


class Core(NamedTuple):
    """Time, jobs, what waits and what runs."""

    course: Array
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


class Mpi(NamedTuple):
    """Traces, and the replays of them."""

    rule: Array  # `MPI`
    traces: Array  # `TRACE`
    scripts: Array  # `SCRIPT` of each rank of each trace
    actions: Array  # `ACTION`
    lists: Array  # bytes
    mapped: Array  # [job, 2] where the places of its ranks stand in `places`, and how many; 0: round the machines
    places: Array
    trace_of: Array  # of each program; -1: it is no replay
    replays: Array  # `REPLAY`
    ranks: Array  # `RANK`, those of a replay in one block whose length is a power of two
    blocks: Array  # the first free block of each length
    requests: Array  # `REQUEST`
    buckets: Array  # [bucket, 2] the first and the last request that waits for its partner, -1 for none
    ready: Array  # ranks
    deadlocks: Array  # `DEADLOCK`, the first few


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
