"""What somebody who chooses the instance to start is shown: the job that it is for, and every type in every plan.

Jobs start, in queue order, wherever they fit on machines that are up. The first one that does not fit, that nothing was
started for and that need not wait any longer for machines that are there, is the one that is asked for.
"""

from __future__ import annotations

import math

from unspool.engine.cloud.instances import ON_DEMAND, has_room_for, is_allowed, kind_fits, start_instance
from unspool.engine.jobs.queue import next_waiting
from unspool.engine.jobs.starts import start_on_picked
from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.state import NEVER, Array, Core, Elastic, Place
from unspool.engine.place.selection import pick

__all__ = [
    "PER_OFFER",
    "PLANS",
    "SIGHT",
    "ask_again",
    "look_at_offers",
    "spent",
    "start_fitting",
    "start_for",
    "unserved",
]

PLANS = 2  # on demand, and spot
# Queue, running jobs, instances, free cores; the job's hosts, cores a host, memory a host, estimate, wait, losses.
SIGHT = 10
# Of a type in a plan: it may be started, its price beside the dearest, its share of cores and memory that is used.
PER_OFFER = 4

_SERVED, _ASKED = 1, 2  # what `waits` of a job says: something is on its way, or nothing was wanted for it
_LONGEST = math.log1p(7 * 86400.0)
_SOME = 32.0
_MEMORY = 64.0 * (1 << 30)


@compiled
def start_fitting(core: Core, place: Place) -> None:
    """Start every job that fits, in queue order."""
    slot = next_waiting(core, 0)
    while slot >= 0:
        job = core.waiting[slot]["job"]
        if pick(core, place, job):
            start_on_picked(core, place, job)
        slot = next_waiting(core, slot + 1)


@compiled
def ask_again(core: Core, elastic: Elastic) -> None:
    """At a new instant: jobs for which nothing was wanted are asked for again."""
    slot = next_waiting(core, 0)
    while slot >= 0:
        job = core.waiting[slot]["job"]
        if elastic.lots[job]["waits"] == _ASKED:
            elastic.lots[job]["waits"] = 0
        slot = next_waiting(core, slot + 1)


@compiled
def unserved(core: Core, place: Place, elastic: Elastic) -> int:
    """The first waiting job to start an instance for, of which some type may be had; -1: there is none."""
    slot = next_waiting(core, 0)
    while slot >= 0:
        job = core.waiting[slot]["job"]
        if elastic.lots[job]["waits"] == 0 and elastic.lots[job]["burst_at"] <= core.course[0]["now"]:
            for offer in range(PLANS * len(elastic.kinds)):
                if _may_have(core, place, elastic, job, offer):
                    return job  # type: ignore[no-any-return]
            elastic.lots[job]["waits"] = _ASKED
        slot = next_waiting(core, slot + 1)
    return -1


@compiled
def _may_have(core: Core, place: Place, elastic: Elastic, job: int, offer: int) -> bool:
    """Whether the hosts of a job can be instances of a type in a plan: sold so, large enough, within limits."""
    kind, plan = offer // PLANS, offer % PLANS
    shape = core.jobs[job]["shape"]
    return bool(
        elastic.kinds[kind]["usd"][plan] < NEVER
        and kind_fits(place, elastic, shape, kind)
        and is_allowed(elastic, kind, place.shapes[shape]["units"])
    )


@compiled
def start_for(core: Core, place: Place, elastic: Elastic, job: int, offer: int) -> bool:
    """Start the hosts of a job as instances of a type in a plan; with no offer (-1), none. False: there is no room."""
    if offer < 0:
        elastic.lots[job]["waits"] = _ASKED
        return True
    hosts = place.shapes[core.jobs[job]["shape"]]["units"]
    if not has_room_for(core, place, elastic, hosts):
        elastic.rule[0]["short"] = hosts
        return False
    elastic.rule[0]["short"] = 0
    elastic.lots[job]["waits"] = _SERVED
    for _ in range(hosts):
        start_instance(core, place, elastic, offer // PLANS, ON_DEMAND + offer % PLANS, job)
    return True


@compiled
def spent(core: Core, elastic: Elastic) -> float:
    """Dollars for the instances so far: from their start to their stop, or to now."""
    instances = elastic.instances
    dollars = 0.0
    for machine in range(elastic.rule[0]["fixed"], elastic.rule[0]["machines"]):
        end = instances[machine]["stop"] if instances[machine]["stop"] >= 0.0 else core.course[0]["now"]
        dollars += instances[machine]["usd"] * (end - instances[machine]["start"]) / 3600.0
    return dollars


@compiled
def look_at_offers(core: Core, place: Place, elastic: Elastic, job: int, seen: Array, mask: Array) -> None:
    """Write what is seen in numbers from 0 to 1, and what may be started; at the end, whether to wait is allowed.

    It is while a job runs: then something will happen.
    """
    course, kinds = core.course, elastic.kinds
    for at in range(len(seen)):
        seen[at] = 0.0
    for at in range(len(mask)):
        mask[at] = False
    seen[0] = course[0]["queued"] / (course[0]["queued"] + _SOME)
    seen[1] = course[0]["running"] / (course[0]["running"] + _SOME)
    seen[2] = elastic.rule[0]["live"] / (elastic.rule[0]["live"] + _SOME)
    seen[3] = course[0]["free"] / (course[0]["free"] + 4.0 * _SOME)
    mask[PLANS * len(kinds)] = course[0]["running"] > 0
    if job < 0:
        return
    shape = core.jobs[job]["shape"]
    hosts = place.shapes[shape]["units"]
    seen[4] = hosts / (hosts + _SOME)
    seen[5] = place.need[shape, 0] / (place.need[shape, 0] + _SOME)
    seen[6] = place.need[shape, 1] / (place.need[shape, 1] + _MEMORY)
    seen[7] = min(math.log1p(core.fate[job]["estimate"]) / _LONGEST, 1.0)
    seen[8] = min(math.log1p(max(course[0]["now"] - core.jobs[job]["submit"], 0.0)) / _LONGEST, 1.0)
    seen[9] = elastic.lots[job]["losses"] / (elastic.lots[job]["losses"] + 1.0)
    dearest = 0.0
    for offer in range(PLANS * len(kinds)):
        if kinds[offer // PLANS]["usd"][offer % PLANS] < NEVER:
            dearest = max(dearest, kinds[offer // PLANS]["usd"][offer % PLANS])
    for offer in range(PLANS * len(kinds)):
        kind = offer // PLANS
        mask[offer] = _may_have(core, place, elastic, job, offer)
        if mask[offer]:
            at = SIGHT + PER_OFFER * offer
            seen[at] = 1.0
            seen[at + 1] = kinds[kind]["usd"][offer % PLANS] / max(dearest, 1e-9)
            seen[at + 2] = place.need[shape, 0] / max(elastic.room[kind, 0], 1.0)
            seen[at + 3] = place.need[shape, 1] / max(elastic.room[kind, 1], 1.0)
