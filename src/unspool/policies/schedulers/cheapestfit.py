"""Each job on the least expensive machine that has room, and else on the least expensive instance that can be started.

The model of "cloud-cost", A1: scheduler and provisioner in one, because a job is bound to its machines when it is
placed, also to those that still boot. Other ways to choose machines have their own modules; rounds, ticks and what
holds for all hosts of a job are here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unspool.engine.cloud.fill_order import first_with_room, next_with_room
from unspool.engine.cloud.instances import (
    ANYWAY,
    BY_PRICE,
    LARGEST,
    LEAST_ADDED,
    ON_DEMAND,
    SPOT,
    cheapest_kind,
    has_room_for,
    hold_machines,
    index_machine,
    may_start_one,
    next_tick,
    tree_of,
)
from unspool.engine.jobs.events import WAKE, push_event
from unspool.engine.jobs.journal import begin_when_up
from unspool.engine.jobs.queue import next_fitting
from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import NEVER, Array, Core, Elastic, Place
from unspool.engine.place.machines import licences_suffice, take_picked
from unspool.policies.base import BindingScheduler
from unspool.policies.schedulers.largestsize import largest_kind
from unspool.policies.schedulers.leastaddedcost import pick_and_start
from unspool.policies.schedulers.picking import append_machine, expected_run_s, start_machines

__all__ = ["CheapestFit", "cheapest_fit"]

_HUGE = 1 << 62


@dataclass(frozen=True)
class CheapestFit(BindingScheduler):
    """Every job on the least expensive machine with room, else on an instance that is started for it."""

    title: ClassVar[str] = "cheapest-fit"
    placement: ClassVar[int] = BY_PRICE


@compiled
def cheapest_fit(core: Core, place: Place | None, elastic: Elastic | None) -> None:
    """One round: jobs that are new, or all that wait where something was freed, and at a tick all in packing order."""
    if place is None or elastic is None:
        return
    elastic.rule[0]["short"] = 0
    if _look_at_queue(core, place, elastic) and elastic.rule[0]["frequency"] > 0.0:
        _tick(core, place, elastic)


@compiled
def _look_at_queue(core: Core, place: Place, elastic: Elastic) -> bool:
    """Jobs in queue order, each on what is there or, where there are no ticks, on what can be started.

    False if an array had no room: then the round is repeated.
    """
    course, rule, lots = core.course, elastic.rule, elastic.lots
    at_once = rule[0]["frequency"] == 0.0
    again = at_once and rule[0]["looked"] != course[0]["releases"]
    slot = max(course[0]["first"] if again else course[0]["fresh"], rule[0]["resume"])
    while slot < len(core.waiting):
        # With ticks also those who cannot fit are looked at, once: they are new no longer.
        most = course[0]["free"] if at_once and not may_start_one(elastic) else _HUGE
        slot = next_fitting(core, slot, most, most, NEVER)
        if slot < 0:
            break
        job = core.waiting[slot]["job"]
        if again or lots[job]["waits"] == 0:
            if not _has_room(core, place, elastic, job, slot):
                return False
            _choose_plan(core, elastic, job)
            if not _place(core, place, elastic, job, at_once):
                _let_wait(core, elastic, job)
        slot += 1
    rule[0]["resume"] = 0
    course[0]["fresh"] = len(core.waiting)
    if at_once:
        rule[0]["looked"] = course[0]["releases"]
    return True


@inlined
def _choose_plan(core: Core, elastic: Elastic, job: int) -> None:
    """Whether a job that is looked at for the first time is a spot job, where a predictor is to say so."""
    lots = elastic.lots
    if elastic.rule[0]["guesses"] != 0 and lots[job]["waits"] == 0 and lots[job]["losses"] <= 0:
        is_short = core.fate[job]["estimate"] < lots[job]["spot_below"]
        lots[job]["plan"] = SPOT if is_short else ON_DEMAND


@compiled
def _let_wait(core: Core, elastic: Elastic, job: int) -> None:
    """A job found no room; if it is only later that it may go to the cloud, somebody must look at it then."""
    lots = elastic.lots
    if lots[job]["waits"] == 0 and core.course[0]["now"] < lots[job]["burst_at"] < NEVER:
        push_event(core.course, core.events, lots[job]["burst_at"], WAKE, job + 1)
    lots[job]["waits"] = 1
    elastic.rule[0]["has_new"] = 1


@compiled
def _tick(core: Core, place: Place, elastic: Elastic) -> None:
    """At a tick place all that wait; see to it that there is a next one while somebody waits."""
    course, rule = core.course, elastic.rule
    now = course[0]["now"]
    is_tick = next_tick(rule, now) == now
    if is_tick and rule[0]["ticked"] != now:  # once an instant
        if rule[0]["has_new"] != 0 or rule[0]["looked"] != course[0]["releases"]:
            if not _pack(core, place, elastic):
                return
            rule[0]["has_new"] = 0
            rule[0]["looked"] = course[0]["releases"]
        rule[0]["ticked"] = now
    if course[0]["queued"] > 0 and rule[0]["tick"] <= now and (not is_tick or _can_change(core)):
        following = next_tick(rule, now)
        if following <= now:
            following = next_tick(rule, now + rule[0]["frequency"])
        rule[0]["tick"] = following
        push_event(course, core.events, following, WAKE, 0)


@inlined
def _can_change(core: Core) -> bool:
    """Whether anything can still happen that makes room, so that nobody waits for ticks for ever."""
    return bool(core.course[0]["events"] > 0 or core.course[0]["next_arrival"] < len(core.jobs))


@compiled
def _pack(core: Core, place: Place, elastic: Elastic) -> bool:
    """Place all waiting jobs, the largest first. False if an array had no room: then the round is repeated."""
    ranked, rule = elastic.ranked, elastic.rule
    count = 0
    slot = next_fitting(core, 0, _HUGE, _HUGE, NEVER)
    while slot >= 0:
        ranked[count] = elastic.lots[core.waiting[slot]["job"]]["pack"]
        count += 1
        slot = next_fitting(core, slot + 1, _HUGE, _HUGE, NEVER)
    _sort(ranked, count)
    for at in range(count):
        if ranked[at] >= rule[0]["resume"]:
            job = elastic.packed[ranked[at]]
            if not may_start_one(elastic) and core.jobs[job]["size"] > core.course[0]["free"]:
                continue
            if not _has_room(core, place, elastic, job, ranked[at]):
                return False
            _place(core, place, elastic, job, True)
    rule[0]["resume"] = 0
    return True


@compiled
def _has_room(core: Core, place: Place, elastic: Elastic, job: int, at: int) -> bool:
    """Whether arrays have room for one more start; if not, it is asked for, and the round goes on from here."""
    hosts = place.shapes[core.jobs[job]["shape"]]["units"]
    if has_room_for(core, place, elastic, hosts):
        return True
    elastic.rule[0]["short"] = hosts
    elastic.rule[0]["resume"] = at
    return False


@compiled
def _place(core: Core, place: Place, elastic: Elastic, job: int, may_start: bool) -> bool:
    """Place a job on what is there and, where it may, on what is started for it; all of it or nothing."""
    course, shape, lots = core.course, core.jobs[job]["shape"], elastic.lots
    hosts = place.shapes[shape]["units"]
    plan = lots[job]["plan"]
    # What a job of this shape and plan found out holds for others until something is freed, or started.
    stamp = course[0]["releases"] + elastic.rule[0]["machines"]
    if (place.shapes[shape]["failed"] if plan == ON_DEMAND else place.shapes[shape]["refused"]) == stamp:
        return False
    course[0]["picked"] = 0
    if not licences_suffice(place.licence, place.licence, place.licence_need, shape, False):
        return False
    _pick(core, place, elastic, shape, hosts, ANYWAY)
    if course[0]["now"] >= lots[job]["burst_at"]:
        if elastic.rule[0]["placement"] == LEAST_ADDED:
            pick_and_start(core, place, elastic, job, plan, may_start)
        else:
            _pick(core, place, elastic, shape, hosts, tree_of(plan))
            missing = hosts - course[0]["picked"]
            if missing > 0 and may_start:
                start_machines(core, place, elastic, _kind(place, elastic, shape, plan, missing), plan, job, missing)
    if course[0]["picked"] < hosts:
        if may_start and course[0]["now"] >= lots[job]["burst_at"]:
            if plan == ON_DEMAND:
                place.shapes[shape]["failed"] = stamp
            else:
                place.shapes[shape]["refused"] = stamp
        return False
    _begin(core, place, elastic, job)
    return True


@compiled
def _pick(core: Core, place: Place, elastic: Elastic, shape: int, hosts: int, tree: int) -> None:
    """Add machines of a tree that have room for a host, in their order, until there are enough."""
    need, nodes, free = place.need, elastic.nodes, place.free
    cores, memory, gpus = place.shapes[shape]["cores"], need[shape, 1], need[shape, 2]
    if core.course[0]["picked"] == hosts:
        return
    machine = first_with_room(nodes, free, elastic.roots[tree], cores, memory, gpus)
    while machine >= 0:
        append_machine(core, place, machine)
        if core.course[0]["picked"] == hosts:
            return
        machine = next_with_room(nodes, free, machine, cores, memory, gpus)


@inlined
def _kind(place: Place, elastic: Elastic, shape: int, plan: int, count: int) -> int:
    """The type that is started, or -1."""
    kind = cheapest_kind(place, elastic, shape, plan, count)
    if elastic.rule[0]["placement"] == LARGEST:
        kind = largest_kind(place, elastic, shape, plan, count, kind)
    return kind


@compiled
def _begin(core: Core, place: Place, elastic: Elastic, job: int) -> None:
    """Take the machines that were picked; the job starts when the last of them is up."""
    count = core.course[0]["picked"]
    start = core.course[0]["now"]
    for at in range(count):
        start = max(start, elastic.instances[int(place.picked[at]["first"])]["up"])
    first_row = take_picked(core, place, job)
    ends = start + expected_run_s(core, elastic, job)
    elastic.lots[job]["ends"] = ends
    for at in range(count):
        machine = int(place.picked[at]["first"])
        elastic.instances[machine]["ends"] = max(elastic.instances[machine]["ends"], ends)
        index_machine(place, elastic, machine)
    hold_machines(elastic, place, job, first_row, count)
    begin_when_up(core, job, first_row, count, start)


@compiled
def _sort(values: Array, count: int) -> None:
    """Sort in place, ascending (heapsort: there is no room for another array)."""
    for first in range(count // 2 - 1, -1, -1):
        _sift(values, first, count)
    for last in range(count - 1, 0, -1):
        values[0], values[last] = values[last], values[0]
        _sift(values, 0, last)


@compiled
def _sift(values: Array, at: int, count: int) -> None:
    while True:
        child = 2 * at + 1
        if child >= count:
            return
        if child + 1 < count and values[child + 1] > values[child]:
            child += 1
        if values[at] >= values[child]:
            return
        values[at], values[child] = values[child], values[at]
        at = child
