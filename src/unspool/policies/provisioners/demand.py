"""Machines on demand, for schedulers that know of them only when they are up: one for each host of a waiting job."""

from __future__ import annotations

from unspool.engine.cloud.instances import (
    cheapest_kind,
    fixed_that_fit,
    has_room_for,
    next_tick,
    release_kept,
    start_instance,
)
from unspool.engine.jobs.events import WAKE, push_event
from unspool.engine.jobs.queue import next_waiting
from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import Core, Elastic, Place
from unspool.engine.place.machines import licences_suffice
from unspool.engine.place.selection import pick

__all__ = ["provide"]


@compiled
def provide(core: Core, place: Place | None, elastic: Elastic | None) -> None:
    """Start machines for the jobs that wait, in queue order, and that nothing was started for.

    A job for which there is room waits because its scheduler wants it so; one without its licences waits for them, and
    no machine is started for it before they are free. Which job gets a machine when it is up, the
    scheduler says; if that is another one, the job that it was started for is looked at again, and else the machine is
    kept for it. Where limits leave a job without, those behind it get none, and nothing is kept for them or for it.
    """
    if place is None or elastic is None or elastic.rule[0]["may_start"] == 0:
        return
    _provide_all(core, place, elastic)
    if elastic.rule[0]["kept"] != 0 and elastic.rule[0]["short"] == 0:
        release_kept(core, place, elastic)


@compiled
def _provide_all(core: Core, place: Place, elastic: Elastic) -> None:
    course, rule, lots = core.course, elastic.rule, elastic.lots
    rule[0]["short"] = rule[0]["starved"] = 0
    now = course[0]["now"]
    slot = next_waiting(core, 0)
    while slot >= 0:
        job = core.waiting[slot]["job"]
        if lots[job]["waits"] == 0:
            when = lots[job]["burst_at"]
            if rule[0]["frequency"] > 0.0:
                when = next_tick(rule, max(when, now))
            if when > now:
                lots[job]["waits"] = 1
                push_event(course, core.events, when, WAKE, job + 1)
            elif _has_licences(core, place, job) and not pick(core, place, job):
                hosts = place.shapes[core.jobs[job]["shape"]]["units"]
                if not has_room_for(core, place, elastic, hosts):
                    rule[0]["short"] = hosts
                    return
                if not _start(core, place, elastic, job, hosts):
                    rule[0]["starved"] = job + 1
                    return
        slot = next_waiting(core, slot + 1)


@inlined
def _has_licences(core: Core, place: Place, job: int) -> bool:
    """Whether the licences of a job are free: without them no machine helps it."""
    shape = core.jobs[job]["shape"]
    return licences_suffice(place.licence, place.licence, place.licence_need, shape, False)


@compiled
def _start(core: Core, place: Place, elastic: Elastic, job: int, hosts: int) -> bool:
    """Start the machines of a job, all of the least expensive type that fits.

    Where limits do not allow all, only those that the machines of the platform cannot stand in for, once they are free,
    and those that were started for it before. If they can for all, it waits for them; if limits do not allow the rest,
    none is started.
    """
    plan = elastic.lots[job]["plan"]
    shape = core.jobs[job]["shape"]
    kind = cheapest_kind(place, elastic, shape, plan, hosts)
    if kind < 0:
        own = elastic.lots[job]["own"]
        hosts = hosts - own - fixed_that_fit(place, elastic, shape)
        if own == 0:
            hosts = max(hosts, 1)
        if hosts > 0:
            kind = cheapest_kind(place, elastic, shape, plan, hosts)
    if kind < 0 and hosts > 0:
        return False
    elastic.lots[job]["waits"] = 1
    for _ in range(hosts):
        start_instance(core, place, elastic, kind, plan, job)
    return True
