"""A running job leaves its machines: the one way out, whatever the reason.

An end, a walltime, a kill, an outage and a reclaim leave the same world behind. What differs by reason is a condition
here, with why; what becomes of a lost job afterwards is said where machines are lost.
"""

from __future__ import annotations

from unspool.engine.cloud.instances import release_instances
from unspool.engine.jobs.estimates import learn
from unspool.engine.jobs.free_cores import release_time
from unspool.engine.jobs.journal import arrive, cancel_end, end_attempt, release_dependents
from unspool.engine.jobs.order import release_share
from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import (
    KEEP,
    KILLED,
    LOST,
    Core,
    Elastic,
    Fluid,
    Guess,
    Links,
    Order,
    Outage,
    Place,
    Plan,
    State,
)
from unspool.engine.place.machines import release_machines, set_machine
from unspool.engine.programs.programs import release_program

__all__ = ["leave", "make_leave"]


@inlined
def leave(
    core: Core,
    place: Place | None,
    plan: Plan | None,
    links: Links | None,
    order: Order | None,
    guess: Guess | None,
    outage: Outage | None,
    elastic: Elastic | None,
    fluid: Fluid | None,
    job: int,
    how: int,
    comes_back: bool,
) -> None:
    """A running job ends now, as `how` says; one that comes back waits again."""
    is_cut_short = how in (KILLED, LOST)
    if is_cut_short:
        cancel_end(core, job)  # that of others is what ended them, or is ignored when it comes
        attempt = core.fate[job]["attempt"]
        core.attempts[attempt]["start"] = min(core.attempts[attempt]["start"], core.course[0]["now"])  # booting still
    release_program(core, fluid, job)
    release_machines(core, place, job)
    _keep_down(core, place, outage, job)
    release_instances(core, place, elastic, job)
    release_time(core, plan, job)
    release_share(core, order, job)
    if not is_cut_short:
        learn(core, guess, job)  # else its run time is only a lower bound, and predictors learn nothing
    end_attempt(core, job, how)
    if comes_back:
        arrive(core, job)  # and who depends on it goes on waiting
    else:
        release_dependents(core, links, job)


def make_leave(state: State, job: int, how: int) -> None:
    """The same from Python, for good."""
    plainly = getattr(leave, "py_func", leave)  # each step is compiled; together they need not be
    plainly(
        state.core, state.place, state.plan, state.links, state.order, state.guess, state.outage, state.elastic,
        state.fluid, job, how, False,
    )  # fmt: skip


@compiled
def _keep_down(core: Core, place: Place | None, outage: Outage | None, job: int) -> None:
    """Where jobs go on while their machines are down, nobody gets what one leaves there."""
    if place is None or outage is None or outage.rule[0]["fate"] != KEEP:
        return
    attempt = core.fate[job]["attempt"]
    first = core.attempts[attempt]["first_row"]
    for row in range(first, first + core.attempts[attempt]["row_count"]):
        for machine in range(place.rows[row]["first"], place.rows[row]["last"] + 1):
            if outage.down[machine] > 0:
                set_machine(core, place, outage.capacity, machine, 0.0)
