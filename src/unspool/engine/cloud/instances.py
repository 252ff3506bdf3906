"""Machines that are brought up and down: their start, what holds them, and their idle stop.

A machine's number is its place in the order of starts, behind those of the platform; it is never used again. Plans by
code are those of `model.cloud.PLANS`.
"""

from __future__ import annotations

import math

from unspool.engine.cloud.fill_order import put_in, take_out
from unspool.engine.jobs.events import KIND_SHIFT, RECLAIM, STOP, UP, push_event
from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.draws import RECLAIMS, draw
from unspool.engine.kernel.state import DECIDE, QUEUED, ROOM, Array, Core, Elastic, Place
from unspool.engine.place.machines import give_machine

__all__ = [
    "ANYWAY",
    "BY_PRICE",
    "LARGEST",
    "LEAST_ADDED",
    "ON_DEMAND",
    "SPOT",
    "arm_stop",
    "bring_up",
    "broken_off",
    "cheapest_kind",
    "end_instance",
    "fixed_that_fit",
    "has_room_for",
    "hold_machines",
    "idle_of",
    "index_machine",
    "is_allowed",
    "kind_fits",
    "may_start_one",
    "next_tick",
    "only_stops_are_left",
    "release_instances",
    "release_kept",
    "room_for_stops",
    "start_instance",
    "stop_if_idle",
    "tree_of",
    "wake",
]  # fmt: skip

_RESERVED, ON_DEMAND, SPOT = 1, 2, 3
# The trees of the index: machines that are paid anyway, and the instances of each plan.
ANYWAY = 0
# How machines are chosen for jobs that are bound to them.
BY_PRICE, LARGEST, LEAST_ADDED = 0, 1, 2
_KEPT = 2  # of `stop_armed`
_SPARE = 64  # events beyond those that are counted: ticks, wakes
_KEPT_MOST = 48.0  # times the idle time, however little a machine costs


@inlined
def tree_of(plan: int) -> int:
    """The tree that machines of a plan stand in."""
    return max(plan - _RESERVED, ANYWAY)


@inlined
def may_start_one(elastic: Elastic) -> bool:
    """Whether the limits in all leave room for another instance."""
    quotas = elastic.quotas
    has_room = quotas[0]["instances"] < quotas[0]["most_instances"] and quotas[0]["vcpus"] < quotas[0]["most_vcpus"]
    return bool(elastic.rule[0]["may_start"] != 0 and has_room)


@compiled
def is_allowed(elastic: Elastic, kind: int, count: int) -> bool:
    """Whether the limits leave room for so many instances of a kind."""
    quotas, kinds = elastic.quotas, elastic.kinds
    for at in (0, kinds[kind]["quota"]):
        if quotas[at]["instances"] + count > quotas[at]["most_instances"]:
            return False
        if quotas[at]["vcpus"] + count * kinds[kind]["vcpus"] > quotas[at]["most_vcpus"]:
            return False
    return True


@compiled
def cheapest_kind(place: Place, elastic: Elastic, shape: int, plan: int, count: int) -> int:
    """The least expensive type that fits and of which the limits allow so many, or -1."""
    by_price = elastic.by_price
    for at in range(by_price.shape[1]):
        kind = by_price[plan - ON_DEMAND, at]
        if kind < 0:
            return -1
        if kind_fits(place, elastic, shape, kind) and is_allowed(elastic, kind, count):
            return kind  # type: ignore[no-any-return]
    return -1


@inlined
def kind_fits(place: Place, elastic: Elastic, shape: int, kind: int) -> bool:
    """Whether an empty instance of a type has what a host needs."""
    return _fits(place.need, elastic.room, shape, kind)


@compiled
def fixed_that_fit(place: Place, elastic: Elastic, shape: int) -> int:
    """On how many machines of the platform a host would fit if they were empty."""
    count = 0
    for machine in range(elastic.rule[0]["fixed"]):
        if _fits(place.need, elastic.capacity, shape, machine):
            count += 1
    return count


@inlined
def _fits(need: Array, room: Array, shape: int, at: int) -> bool:
    """Whether an empty machine has what a host needs."""
    fits = True
    for resource in range(need.shape[1]):
        if need[shape, resource] > room[at, resource]:
            fits = False
    return fits


@inlined
def next_tick(rule: Array, time: float) -> float:
    """The first tick at a time or after it."""
    every = rule[0]["frequency"]
    return math.ceil((rule[0]["epoch"] + time) / every) * every - rule[0]["epoch"]  # type: ignore[no-any-return]


@inlined
def idle_of(elastic: Elastic, kind: int, plan: int) -> float:
    """How long an instance of a type is kept without a job: the less it costs, the longer, where that is asked for."""
    rule, usd = elastic.rule, elastic.kinds[kind]["usd"][plan - ON_DEMAND]
    times = 1.0
    if rule[0]["idle_usd"] > 0.0:
        times = _KEPT_MOST if usd * _KEPT_MOST <= rule[0]["idle_usd"] else rule[0]["idle_usd"] / usd
    return rule[0]["idle"] * times  # type: ignore[no-any-return]


@compiled
def start_instance(core: Core, place: Place, elastic: Elastic, kind: int, plan: int, job: int) -> int:
    """Start an instance for a job: it can be used, or planned with, from now on. Returns its number."""
    rule, kinds, instances = elastic.rule, elastic.kinds, elastic.instances
    now = core.course[0]["now"]
    machine: int = rule[0]["machines"]
    rule[0]["machines"] = machine + 1
    instances[machine]["kind"] = kind
    instances[machine]["plan"] = plan
    instances[machine]["start"] = now
    instances[machine]["up"] = now + rule[0]["boot"]
    instances[machine]["stop"] = -1.0
    instances[machine]["reclaimed"] = 0
    instances[machine]["job"] = job
    instances[machine]["empty_since"] = now
    instances[machine]["stop_armed"] = 0
    instances[machine]["hold"] = -1
    instances[machine]["rank"] = kinds[kind]["rank"][plan - ON_DEMAND]
    instances[machine]["usd"] = kinds[kind]["usd"][plan - ON_DEMAND]
    instances[machine]["idle"] = idle_of(elastic, kind, plan)
    instances[machine]["ends"] = now
    elastic.nodes[machine]["tree"] = -1
    place.machines[machine]["group"] = kinds[kind]["group"]
    for resource in range(place.free.shape[1]):
        elastic.capacity[machine, resource] = elastic.room[kind, resource]
    elastic.lots[job]["own"] += 1
    _count(elastic, kind, 1)
    if rule[0]["binds"] == 0:
        push_event(core.course, core.events, instances[machine]["up"], UP, machine)
    if plan == SPOT and rule[0]["reclaims"] > 0.0:
        chance = draw(rule[0]["seed"], RECLAIMS, elastic.lots[job]["line"], elastic.lots[job]["drawn"])
        elastic.lots[job]["drawn"] += 1
        after = -math.log1p(-chance) / rule[0]["reclaims"] * 60.0
        push_event(core.course, core.events, now + after, RECLAIM, machine)
    return machine


@compiled
def _count(elastic: Elastic, kind: int, step: int) -> None:
    """Count an instance in (1) or out (-1)."""
    quotas, kinds = elastic.quotas, elastic.kinds
    elastic.rule[0]["live"] += step
    for at in (0, kinds[kind]["quota"]):
        quotas[at]["instances"] += step
        quotas[at]["vcpus"] += step * kinds[kind]["vcpus"]


@compiled
def end_instance(core: Core, place: Place, elastic: Elastic, machine: int) -> None:
    """An instance that nobody holds is gone."""
    take_out(elastic.nodes, elastic.roots, place.free, machine)
    elastic.instances[machine]["stop"] = core.course[0]["now"]
    _count(elastic, elastic.instances[machine]["kind"], -1)
    elastic.lots[elastic.instances[machine]["job"]]["own"] -= 1
    if elastic.rule[0]["binds"] == 0:
        elastic.lots[elastic.instances[machine]["job"]]["waits"] = 0  # it is looked at again, if it waits still
    give_machine(core, place, elastic.capacity, machine, 0.0)


@compiled
def bring_up(core: Core, place: Place | None, elastic: Elastic | None, machine: int) -> None:
    """An instance has booted and can be used; if the job that it was started for goes on waiting, that is looked at."""
    if elastic is None or place is None or elastic.instances[machine]["stop"] >= 0.0:
        return
    give_machine(core, place, elastic.capacity, machine, 1.0)
    elastic.lots[elastic.instances[machine]["job"]]["waits"] = 0
    arm_stop(core, elastic, machine)


@compiled
def index_machine(place: Place, elastic: Elastic, machine: int) -> None:
    """What a machine has free changed: put it where it now belongs among those that are to be filled."""
    nodes, capacity, free = elastic.nodes, elastic.capacity, place.free
    elastic.rule[0]["changes"] += 1
    take_out(nodes, elastic.roots, free, machine)
    if free[machine, 0] < 1.0:
        return
    fullness = 0.0
    if elastic.rule[0]["shares"] != 0:
        fullness = (capacity[machine, 0] - free[machine, 0]) / capacity[machine, 0]
        fullness = max(fullness, (capacity[machine, 1] - free[machine, 1]) / capacity[machine, 1])
    elif free[machine, 0] < capacity[machine, 0]:
        return
    nodes[machine]["rank"] = elastic.instances[machine]["rank"]
    nodes[machine]["fullness"] = fullness
    nodes[machine]["changed"] = elastic.rule[0]["changes"]
    put_in(nodes, elastic.roots, free, tree_of(elastic.instances[machine]["plan"]), machine)


@compiled
def hold_machines(elastic: Elastic, place: Place, job: int, first_row: int, row_count: int) -> None:
    """Remember on each machine that a job holds it: one row is one machine."""
    holds, instances = elastic.holds, elastic.instances
    for row in range(first_row, first_row + row_count):
        machine = int(place.rows[row]["first"])
        following = instances[machine]["hold"]
        holds[row]["job"] = job
        holds[row]["next"] = following
        holds[row]["before"] = -1
        if following >= 0:
            holds[following]["before"] = row
        instances[machine]["hold"] = row


@compiled
def release_instances(core: Core, place: Place | None, elastic: Elastic | None, job: int) -> None:
    """A job whose machines were just freed leaves them; those that are empty now are stopped unless somebody comes."""
    if elastic is None or place is None:
        return
    holds, instances = elastic.holds, elastic.instances
    attempt = core.fate[job]["attempt"]
    first_row = core.attempts[attempt]["first_row"]
    for row in range(first_row, first_row + core.attempts[attempt]["row_count"]):
        machine = int(place.rows[row]["first"])
        if elastic.rule[0]["binds"] == 0:
            for one in range(machine, int(place.rows[row]["last"]) + 1):
                if _is_empty(place, elastic, one):
                    arm_stop(core, elastic, one)
            continue
        before, following = holds[row]["before"], holds[row]["next"]
        if before >= 0:
            holds[before]["next"] = following
        else:
            instances[machine]["hold"] = following
        if following >= 0:
            holds[following]["before"] = before
        if elastic.lots[job]["ends"] >= instances[machine]["ends"]:
            _expect_end(elastic, machine)
        index_machine(place, elastic, machine)
        if _is_empty(place, elastic, machine):
            arm_stop(core, elastic, machine)


@compiled
def _expect_end(elastic: Elastic, machine: int) -> None:
    """Note when the last of the jobs that hold a machine is expected to end, after one has left it."""
    last = -math.inf
    row = elastic.instances[machine]["hold"]
    while row >= 0:
        last = max(last, elastic.lots[elastic.holds[row]["job"]]["ends"])
        row = elastic.holds[row]["next"]
    elastic.instances[machine]["ends"] = last


@inlined
def _is_empty(place: Place, elastic: Elastic, machine: int) -> bool:
    """Whether nobody holds a machine that is there; every job holds a core at least."""
    return bool(place.free[machine, 0] == elastic.capacity[machine, 0])


@compiled
def wake(core: Core, elastic: Elastic | None, subject: int) -> None:
    """Somebody is to look at the queue: at all jobs that found no room or, by its number from 1, at one."""
    core.course[0]["dirty"] = 1
    if elastic is None:
        return
    if elastic.rule[0]["binds"] != 0 and subject == 0:
        return  # a tick: nothing was freed by it
    core.course[0]["releases"] += 1
    if elastic.rule[0]["binds"] == 0 and subject > 0:
        elastic.lots[subject - 1]["waits"] = 0


@compiled
def arm_stop(core: Core, elastic: Elastic, machine: int) -> None:
    """A machine is empty from now on: see to it that it is stopped in time. The heap holds one stop of it at most."""
    instances = elastic.instances
    if instances[machine]["kind"] < 0:
        return
    now = core.course[0]["now"]
    instances[machine]["empty_since"] = now
    if instances[machine]["stop_armed"] == 0:
        instances[machine]["stop_armed"] = 1
        push_event(core.course, core.events, now + instances[machine]["idle"], STOP, machine)


@compiled
def stop_if_idle(core: Core, place: Place | None, elastic: Elastic | None, machine: int) -> None:
    """Stop an instance if it has been empty for so long; arm the stop anew if it has been so for a shorter time."""
    if elastic is None or place is None:
        return
    instances = elastic.instances
    instances[machine]["stop_armed"] = 0
    if instances[machine]["stop"] >= 0.0 or not _is_empty(place, elastic, machine):
        return
    if _is_kept(core, elastic, machine):
        instances[machine]["stop_armed"] = _KEPT
        instances[machine]["next_kept"] = elastic.rule[0]["kept"]
        elastic.rule[0]["kept"] = machine + 1
    elif instances[machine]["empty_since"] + instances[machine]["idle"] <= core.course[0]["now"]:
        end_instance(core, place, elastic, machine)
    else:
        _arm_anew(core, elastic, machine)


@inlined
def _arm_anew(core: Core, elastic: Elastic, machine: int) -> None:
    """See to it that an empty machine is stopped when its idle time is over, or at once."""
    instances = elastic.instances
    instances[machine]["stop_armed"] = 1
    due = max(instances[machine]["empty_since"] + instances[machine]["idle"], core.course[0]["now"])
    push_event(core.course, core.events, due, STOP, machine)


@compiled
def release_kept(core: Core, place: Place, elastic: Elastic) -> None:
    """Stop the machines that were kept for jobs that do not need them any more."""
    instances = elastic.instances
    before = -1
    machine: int = elastic.rule[0]["kept"] - 1
    while machine >= 0:
        following = instances[machine]["next_kept"]
        is_idle = instances[machine]["stop"] < 0.0 and _is_empty(place, elastic, machine)
        if is_idle and _is_kept(core, elastic, machine):
            before = machine
        else:
            instances[machine]["stop_armed"] = 0
            if before < 0:
                elastic.rule[0]["kept"] = following
            else:
                instances[before]["next_kept"] = following
            if is_idle:
                _arm_anew(core, elastic, machine)
        machine = following - 1


@inlined
def _is_kept(core: Core, elastic: Elastic, machine: int) -> bool:
    """Whether the job that a machine was started for waits still, and comes before one that limits leave without.

    That one and those behind it keep nothing: what they give back may be all that it needs.
    """
    if elastic.rule[0]["binds"] != 0:
        return False
    job, starved = elastic.instances[machine]["job"], elastic.rule[0]["starved"] - 1
    is_waiting = core.fate[job]["state"] == QUEUED
    return bool(is_waiting and (starved < 0 or core.fate[job]["slot"] < core.fate[starved]["slot"]))


@compiled
def only_stops_are_left(core: Core, elastic: Elastic | None) -> bool:
    """Whether nothing is left to happen at this instant but stops, so that it is time to decide."""
    if elastic is None:
        return False
    course = core.course
    if course[0]["events"] == 0 or core.events[0]["time"] > course[0]["now"]:
        return False
    at = course[0]["next_arrival"]
    if at < len(core.jobs) and core.jobs[at]["submit"] <= course[0]["now"]:
        return False
    return bool(core.events[0]["order"] >> KIND_SHIFT == STOP)


@compiled
def has_room_for(core: Core, place: Place, elastic: Elastic, machines: int) -> bool:
    """Whether every array holds what one job on so many machines can add, and the stop of every live instance."""
    course, rule = core.course, elastic.rule
    return bool(
        course[0]["attempts"] < len(core.attempts)
        and course[0]["rows"] + machines <= len(place.rows)
        and rule[0]["machines"] + machines <= len(elastic.instances)
        and course[0]["events"] + rule[0]["live"] + course[0]["queued"] + 2 * machines + _SPARE <= len(core.events)
    )


@compiled
def broken_off(core: Core, place: Place | None, elastic: Elastic | None) -> int:
    """What a round of decisions that was broken off for want of room needs: `ROOM`, or to go on; -1 if none was."""
    if elastic is None or place is None or elastic.rule[0]["short"] == 0:
        return -1
    return DECIDE if has_room_for(core, place, elastic, elastic.rule[0]["short"]) else ROOM


@compiled
def room_for_stops(core: Core, elastic: Elastic | None) -> bool:
    """Whether the heap holds the stop of every live instance, beside what a round of decisions can add."""
    if elastic is None:
        return True
    starts = min(core.course[0]["queued"], core.course[0]["free"])
    return bool(core.course[0]["events"] + starts + elastic.rule[0]["live"] + _SPARE <= len(core.events))
