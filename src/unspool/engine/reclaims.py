"""Instances are taken away: the jobs on them wait again, and after so many losses go on demand."""

from __future__ import annotations

import math

from unspool.engine.cloud.instances import ON_DEMAND, end_instance
from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.state import LOST, Core, Elastic, Fluid, Guess, Links, Order, Outage, Place, Plan
from unspool.engine.leave import leave
from unspool.engine.place.machines import is_on_machine

__all__ = ["lose_instance"]


@compiled
def lose_instance(
    core: Core,
    place: Place | None,
    plan: Plan | None,
    links: Links | None,
    order: Order | None,
    guess: Guess | None,
    outage: Outage | None,
    elastic: Elastic | None,
    fluid: Fluid | None,
    machine: int,
) -> None:
    """An instance is reclaimed: the jobs on it are requeued, on whatever other machines they were, and it is gone."""
    if elastic is None or place is None or elastic.instances[machine]["stop"] >= 0.0:
        return
    while elastic.instances[machine]["hold"] >= 0:
        row = elastic.instances[machine]["hold"]
        while elastic.holds[row]["next"] >= 0:  # the one that came first is the last
            row = elastic.holds[row]["next"]
        _lose_attempt(core, place, plan, links, order, guess, outage, elastic, fluid, elastic.holds[row]["job"])
    at = core.course[0]["running"] - 1 if elastic.rule[0]["binds"] == 0 else -1
    while at >= 0:  # backwards, because those that end leave the list
        job = core.running[at]["job"]
        if is_on_machine(core, place, job, machine):
            _lose_attempt(core, place, plan, links, order, guess, outage, elastic, fluid, job)
        at -= 1
    elastic.instances[machine]["reclaimed"] = 1
    end_instance(core, place, elastic, machine)


@compiled
def _lose_attempt(
    core: Core,
    place: Place,
    plan: Plan | None,
    links: Links | None,
    order: Order | None,
    guess: Guess | None,
    outage: Outage | None,
    elastic: Elastic,
    fluid: Fluid | None,
    job: int,
) -> None:
    """A job loses what it did since its last checkpoint, and waits again."""
    lots = elastic.lots
    every = elastic.rule[0]["checkpoint"]
    if every > 0.0:
        start = core.attempts[core.fate[job]["attempt"]]["start"]
        ran = max(core.course[0]["now"] - start, 0.0)  # its machines may boot still
        core.jobs[job]["run_time"] -= math.floor(ran / every) * every
    lots[job]["losses"] += 1
    lots[job]["waits"] = 0
    if lots[job]["losses"] >= elastic.rule[0]["retries"]:
        lots[job]["plan"] = ON_DEMAND
    leave(core, place, plan, links, order, guess, outage, elastic, fluid, job, LOST, True)
