"""From one instant to the next: what every run does between two decisions."""

from __future__ import annotations

from unspool.engine.cloud.instances import bring_up, broken_off, only_stops_are_left, room_for_stops, stop_if_idle, wake
from unspool.engine.jobs.estimates import predict
from unspool.engine.jobs.events import ARRIVAL, DEFERRED, END, KIND_SHIFT, RECLAIM, STOP, UP, WAKE, pop_event
from unspool.engine.jobs.journal import arrive, how_it_ends
from unspool.engine.jobs.plans import room_to_plan
from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import (
    DECIDE,
    DEFER,
    DONE,
    NEVER,
    OUTAGES,
    PAUSE,
    PREDICT,
    ROOM,
    STALLED,
    UNTIL,
    Core,
    Elastic,
    Links,
    Outage,
    Place,
    Plan,
    State,
)
from unspool.engine.kernel.turns import is_out_of_breath
from unspool.engine.leave import leave
from unspool.engine.outages import change_machine, next_change
from unspool.engine.programs.host_load import note_loads, room_to_note
from unspool.engine.programs.programs import (
    NOBODY,
    OUT_OF_BREATH,
    find_rates,
    fluid_outcome,
    is_stale_fluid_end,
    launch,
    next_activity,
    take_finished,
)
from unspool.engine.reclaims import lose_instance

__all__ = ["MOST_ROUNDS", "to_next_decision"]

MOST_ROUNDS = 100_000
"""So many decisions at one instant that change nothing for any job end the run."""
_LOOKS_AT_CLOCK = 255  # after so many events and one more: few take longer than some microseconds
_AMID, _AMID_STOPS = 1, 2


@inlined
def to_next_decision(state: State) -> int:
    """Let time pass until schedulers must decide (`DECIDE`), nothing is left (`DONE`), or Python is needed."""
    core = state.core
    clock, events, jobs = core.clock, core.events, core.jobs
    status = broken_off(core, state.place, state.elastic)
    turns = 0
    while status < 0:
        stops = False
        if clock[0]["amid"] == 0:
            status, instant = _next_instant(state)
            if status >= 0:
                break
        else:
            stops, instant = clock[0]["amid"] == _AMID_STOPS, clock[0]["instant"]
            clock[0]["amid"] = 0
        while True:
            turns += 1
            if turns & _LOOKS_AT_CLOCK == 0 and is_out_of_breath(clock):
                status = PAUSE
                break
            over = take_finished(core, state.place, state.fluid)  # before walltimes end: who ends with one is done
            if over < NOBODY:
                status = PAUSE if over == OUT_OF_BREATH else ROOM
                break
            is_event = over >= 0 or (clock[0]["events"] > 0 and events[0]["time"] <= instant)
            kind = events[0]["order"] >> KIND_SHIFT if is_event else WAKE
            subject = events[0]["subject"]
            if over >= 0:
                kind, subject = END, over
            if kind != END and next_change(core, state.outage) <= instant:
                # Machines are lost after jobs end, and before anything else.
                change_machine(
                    core, state.place, state.plan, state.links, state.order, state.guess, state.outage, state.elastic,
                    state.fluid,
                )  # fmt: skip
                continue
            if not is_event or (kind == STOP and not stops and _must_wait(core)):
                break
            stops = kind == STOP  # all of an instant together
            if kind == ARRIVAL and not predict(core, state.guess, subject):
                clock[0]["deferred"] = subject
                status = PREDICT
                break
            if over < 0:
                pop_event(clock, events)
            if kind == END:
                if over < 0 and is_stale_fluid_end(core, state.fluid, subject):
                    continue
                how = fluid_outcome(state.fluid, subject) if over >= 0 else how_it_ends(core, subject)
                leave(
                    core, state.place, state.plan, state.links, state.order, state.guess, state.outage, state.elastic,
                    state.fluid, subject, how, False,
                )  # fmt: skip
            elif kind == ARRIVAL:
                arrive(core, subject)
            elif kind == WAKE:
                wake(core, state.elastic, subject)
            elif kind == RECLAIM:
                lose_instance(
                    core, state.place, state.plan, state.links, state.order, state.guess, state.outage, state.elastic,
                    state.fluid, subject,
                )  # fmt: skip
            elif kind == UP:
                bring_up(core, state.place, state.elastic, subject)
            elif kind == STOP:
                stop_if_idle(core, state.place, state.elastic, subject)
            elif kind == DEFERRED:
                clock[0]["deferred"] = subject
                status = DEFER
                break
        if status == PAUSE:  # nothing may come between, or results would hang on the wall clock
            clock[0]["amid"] = _AMID_STOPS if stops else _AMID
            clock[0]["instant"] = instant
        if status < 0:
            while clock[0]["next_arrival"] < len(jobs) and jobs[clock[0]["next_arrival"]]["submit"] <= instant:
                job = clock[0]["next_arrival"]
                if _may_queue(state.links, job):
                    if not predict(core, state.guess, job):
                        clock[0]["deferred"] = job
                        status = PREDICT
                        break
                    arrive(core, job)
                clock[0]["next_arrival"] = job + 1
    return status


@inlined
def _next_instant(state: State) -> tuple[int, float]:
    """Go to the next instant at which something happens, or find out (with a status) that it is not time to."""
    core = state.core
    clock, events, jobs = core.clock, core.events, core.jobs
    if not launch(core, state.place, state.fluid) or not room_to_note(state.fluid, state.meter):
        return ROOM, NEVER
    status = find_rates(core, state.fluid)
    if status >= 0:
        return status, NEVER
    instant = next_activity(core, state.fluid)
    note_loads(core, state.fluid, state.meter)
    if clock[0]["next_arrival"] < len(jobs):
        instant = min(instant, jobs[clock[0]["next_arrival"]]["submit"])
    instant = min(instant, next_change(core, state.outage))
    if clock[0]["events"] > 0 and events[0]["time"] < instant:
        instant = events[0]["time"]
    if instant > clock[0]["now"] or only_stops_are_left(core, state.elastic):
        if clock[0]["dirty"] != 0:
            if _each_start_sees_to_room(state.elastic) or (
                _has_room(core)
                and room_for_stops(core, state.elastic)
                and _room_for_rows(core, state.place)
                and room_to_plan(core, state.place, state.later, state.plan)
            ):
                clock[0]["dirty"] = 0
                return STALLED if _is_stalled(core) else DECIDE, instant
            return ROOM, instant
        due = _next_plan(core, state.plan)
        is_due = due <= instant and due < NEVER  # a start that was promised
        instant = due if is_due else instant
        if instant == NEVER:
            return DONE, instant
        if instant > clock[0]["until"]:
            return UNTIL, instant
        if _is_beyond_known_outages(state.outage, instant):
            return OUTAGES, instant
        clock[0]["now"] = instant
        clock[0]["dirty"] = 1 if is_due else 0
    return -1, instant


@compiled
def _is_stalled(core: Core) -> bool:
    """Whether decision follows decision at one instant, and no job arrives, starts or ends between them.

    No rule of ours means that; a policy that never stops asking to be woken does it.
    """
    clock = core.clock
    # Each arrival, start, end, loss and rejection raises this.
    progress = 4 * clock[0]["attempts"] - 2 * clock[0]["running"] + 3 * clock[0]["next_arrival"] - clock[0]["queued"]
    if clock[0]["stalled_at"] != clock[0]["now"] or clock[0]["stalled_with"] != progress:
        clock[0]["stalled_at"] = clock[0]["now"]
        clock[0]["stalled_with"] = progress
        clock[0]["stalled"] = 0
    clock[0]["stalled"] += 1
    return bool(clock[0]["stalled"] > MOST_ROUNDS)


@compiled
def _is_beyond_known_outages(outage: Outage | None, instant: float) -> bool:
    """Whether outages are drawn, and not yet up to this time."""
    if outage is None:
        return False
    return bool(instant > outage.rule[0]["known_until"])


@compiled
def _may_queue(links: Links | None, job: int) -> bool:
    """Whether a job that is submitted waits for no other job."""
    if links is None:
        return True
    return bool(links.open[job] == 0)


@compiled
def _next_plan(core: Core, plan: Plan | None) -> float:
    """When the next promised start is due."""
    if plan is None or core.clock[0]["plans"] == 0:
        return NEVER
    return plan.plans[0]["start"]  # type: ignore[no-any-return]


@inlined
def _must_wait(core: Core) -> bool:
    """Whether something has happened, or is about to, that schedulers must see before a machine is stopped."""
    at = core.clock[0]["next_arrival"]
    return bool(
        core.clock[0]["dirty"] != 0 or (at < len(core.jobs) and core.jobs[at]["submit"] <= core.clock[0]["now"])
    )


@compiled
def _each_start_sees_to_room(elastic: Elastic | None) -> bool:
    """Whether jobs are placed on machines that are started for them, so that nobody knows beforehand what is added."""
    if elastic is None:
        return False
    return bool(elastic.rule[0]["binds"] != 0)


@inlined
def _has_room(core: Core) -> bool:
    """Whether every array holds what one round of decisions can add at the most."""
    clock = core.clock
    starts = min(clock[0]["queued"], clock[0]["free"])
    return bool(
        clock[0]["attempts"] + starts <= len(core.attempts)
        and clock[0]["events"] + starts <= len(core.events)
        and clock[0]["running"] + starts <= len(core.running)
    )


@compiled
def _room_for_rows(core: Core, place: Place | None) -> bool:
    """The same for rows of machines: each holds at least one core that is free now."""
    if place is None:
        return True
    return bool(core.clock[0]["rows"] + core.clock[0]["free"] <= len(place.rows))
