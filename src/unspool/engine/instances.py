"""Machines that are brought up and down: their start, what holds them, their reclaim and their idle stop.

A machine's number is its place in the order of starts, behind those of the platform; it is never used again. Plans by
code are those of `model.cloud.PLANS`.
"""

from __future__ import annotations

import math

from unspool.engine.compiled import compiled, inlined
from unspool.engine.draws import RECLAIMS, draw
from unspool.engine.events import KIND_SHIFT, RECLAIM, STOP, push_event
from unspool.engine.fullest import put_in, take_out
from unspool.engine.journal import arrive, end_attempt
from unspool.engine.machines import free_machines, set_machine
from unspool.engine.state import DECIDE, LOST, ROOM, Core, Elastic, Place

__all__ = [
    "ANYWAY", "ON_DEMAND", "RESERVED", "SERVER", "SPOT", "arm_stop", "broken_off", "has_room_for", "hold_machines",
    "index_machine", "is_stale_end", "leave_machines", "lose_instance", "only_stops_are_left", "start_instance",
    "start_is_allowed", "stop_if_idle", "tree_of",
]  # fmt: skip

SERVER, RESERVED, ON_DEMAND, SPOT = 0, 1, 2, 3
# The trees of the index: machines that are paid anyway, and the instances of each plan.
ANYWAY = 0
_SPARE = 64  # events beyond those that are counted: ticks, wakes


@inlined
def tree_of(plan: int) -> int:
    """The tree that machines of a plan stand in."""
    return max(plan - RESERVED, ANYWAY)


@compiled
def start_is_allowed(elastic: Elastic, kind: int, count: int) -> bool:
    """Whether the limits leave room for so many instances of a kind."""
    quotas, kinds = elastic.quotas, elastic.kinds
    for at in (0, kinds[kind]["quota"]):
        if quotas[at]["instances"] + count > quotas[at]["most_instances"]:
            return False
        if quotas[at]["vcpus"] + count * kinds[kind]["vcpus"] > quotas[at]["most_vcpus"]:
            return False
    return True


@compiled
def start_instance(core: Core, place: Place, elastic: Elastic, kind: int, plan: int, job: int) -> int:
    """Start an instance for a job: it can be used, or planned with, from now on. Returns its number."""
    rule, kinds, instances = elastic.rule, elastic.kinds, elastic.instances
    now = core.clock[0]["now"]
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
    elastic.nodes[machine]["tree"] = -1
    place.machines[machine]["group"] = kinds[kind]["group"]
    for resource in range(place.free.shape[1]):
        elastic.capacity[machine, resource] = elastic.room[kind, resource]
    _count(elastic, kind, 1)
    if plan == SPOT and rule[0]["reclaims"] > 0.0:
        chance = draw(rule[0]["seed"], RECLAIMS, kind, kinds[kind]["ordinal"])
        kinds[kind]["ordinal"] += 1
        after = -math.log1p(-chance) / rule[0]["reclaims"] * 60.0
        push_event(core.clock, core.events, now + after, RECLAIM, machine)
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
def _end_instance(core: Core, place: Place, elastic: Elastic, machine: int) -> None:
    """An instance that nobody holds is gone."""
    take_out(elastic.nodes, elastic.roots, place.free, machine)
    set_machine(core, place, elastic.capacity, machine, 0.0)
    elastic.instances[machine]["stop"] = core.clock[0]["now"]
    _count(elastic, elastic.instances[machine]["kind"], -1)
    core.clock[0]["releases"] += 1  # where limits are reached, others may be started now
    core.clock[0]["dirty"] = 1


@compiled
def index_machine(core: Core, place: Place, elastic: Elastic, machine: int) -> None:
    """What a machine has free changed: put it where it now belongs among those that are to be filled."""
    nodes, capacity, free = elastic.nodes, elastic.capacity, place.free
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
    nodes[machine]["changed"] = core.clock[0]["now"]
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
def leave_machines(core: Core, place: Place | None, elastic: Elastic | None, job: int) -> None:
    """A job whose machines were just freed leaves them; those that are empty now are stopped unless somebody comes."""
    if elastic is None or place is None:
        return
    holds, instances = elastic.holds, elastic.instances
    attempt = core.fate[job]["attempt"]
    first_row = core.attempts[attempt]["first_row"]
    for row in range(first_row, first_row + core.attempts[attempt]["row_count"]):
        machine = int(place.rows[row]["first"])
        before, following = holds[row]["before"], holds[row]["next"]
        if before >= 0:
            holds[before]["next"] = following
        else:
            instances[machine]["hold"] = following
        if following >= 0:
            holds[following]["before"] = before
        index_machine(core, place, elastic, machine)
        if instances[machine]["hold"] < 0:
            arm_stop(core, elastic, machine)


@compiled
def arm_stop(core: Core, elastic: Elastic, machine: int) -> None:
    """A machine is empty from now on: see to it that it is stopped in time. The heap holds one stop of it at most."""
    instances = elastic.instances
    if instances[machine]["kind"] < 0:
        return
    now = core.clock[0]["now"]
    instances[machine]["empty_since"] = now
    if instances[machine]["stop_armed"] == 0:
        instances[machine]["stop_armed"] = 1
        push_event(core.clock, core.events, now + elastic.rule[0]["idle"], STOP, machine)


@compiled
def stop_if_idle(core: Core, place: Place | None, elastic: Elastic | None, machine: int) -> None:
    """Stop an instance if it has been empty for so long; arm the stop anew if it has been so for a shorter time."""
    if elastic is None or place is None:
        return
    instances = elastic.instances
    if instances[machine]["stop"] >= 0.0:
        return
    instances[machine]["stop_armed"] = 0
    if instances[machine]["hold"] >= 0:
        return
    due = instances[machine]["empty_since"] + elastic.rule[0]["idle"]
    if due <= core.clock[0]["now"]:
        _end_instance(core, place, elastic, machine)
    else:
        instances[machine]["stop_armed"] = 1
        push_event(core.clock, core.events, due, STOP, machine)


@compiled
def lose_instance(core: Core, place: Place | None, elastic: Elastic | None, machine: int) -> None:
    """An instance is reclaimed: the jobs on it are requeued, on whatever other machines they were, and it is gone."""
    if elastic is None or place is None or elastic.instances[machine]["stop"] >= 0.0:
        return
    while elastic.instances[machine]["hold"] >= 0:
        _lose_attempt(core, place, elastic, elastic.holds[elastic.instances[machine]["hold"]]["job"])
    elastic.instances[machine]["reclaimed"] = 1
    _end_instance(core, place, elastic, machine)


@compiled
def _lose_attempt(core: Core, place: Place, elastic: Elastic, job: int) -> None:
    """A job loses what it did since its last checkpoint, and waits again. Its end stays on the heap, and is stale."""
    lots, attempts = elastic.lots, core.attempts
    now = core.clock[0]["now"]
    attempt = core.fate[job]["attempt"]
    attempts[attempt]["start"] = min(attempts[attempt]["start"], now)
    every = elastic.rule[0]["checkpoint"]
    if every > 0.0:
        core.jobs[job]["run_time"] -= math.floor((now - attempts[attempt]["start"]) / every) * every
    free_machines(core, place, job)
    leave_machines(core, place, elastic, job)
    end_attempt(core, job, LOST)
    lots[job]["losses"] += 1
    lots[job]["waits"] = 0
    if lots[job]["losses"] >= elastic.rule[0]["retries"]:
        lots[job]["plan"] = ON_DEMAND
    arrive(core, job)


@compiled
def is_stale_end(core: Core, elastic: Elastic | None, job: int, time: float) -> bool:
    """Whether an end on the heap is that of an attempt that was lost before."""
    if elastic is None:
        return False
    attempt = core.attempts[core.fate[job]["attempt"]]
    if core.attempts[core.fate[job]["attempt"]]["finish"] >= 0.0:
        return True
    return bool(attempt["start"] + min(core.jobs[job]["run_time"], core.jobs[job]["walltime"]) != time)


@compiled
def only_stops_are_left(core: Core, elastic: Elastic | None) -> bool:
    """Whether nothing is left to happen at this instant but stops, so that it is time to decide."""
    if elastic is None:
        return False
    clock = core.clock
    if clock[0]["events"] == 0 or core.events[0]["time"] > clock[0]["now"]:
        return False
    at = clock[0]["next_arrival"]
    if at < len(core.jobs) and core.jobs[at]["submit"] <= clock[0]["now"]:
        return False
    return bool(core.events[0]["order"] >> KIND_SHIFT == STOP)


@compiled
def has_room_for(core: Core, place: Place, elastic: Elastic, machines: int) -> bool:
    """Whether every array holds what one job on so many machines can add, and the stop of every live instance."""
    clock, rule = core.clock, elastic.rule
    return bool(
        clock[0]["attempts"] < len(core.attempts)
        and clock[0]["rows"] + machines <= len(place.rows)
        and rule[0]["machines"] + machines <= len(elastic.instances)
        and clock[0]["events"] + rule[0]["live"] + clock[0]["queued"] + 2 * machines + _SPARE <= len(core.events)
    )


@compiled
def broken_off(core: Core, place: Place | None, elastic: Elastic | None) -> int:
    """What a round of decisions that was broken off for want of room needs: `ROOM`, or to go on; -1 if none was."""
    if elastic is None or place is None or elastic.rule[0]["short"] == 0:
        return -1
    return DECIDE if has_room_for(core, place, elastic, elastic.rule[0]["short"]) else ROOM
