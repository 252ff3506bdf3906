"""From one instant to the next: what every family's loop does between two decisions."""

from __future__ import annotations

from unspool.engine.compiled import compiled, inlined
from unspool.engine.events import ARRIVAL, DEFERRED, END, KIND_SHIFT, WAKE, pop_event
from unspool.engine.journal import arrive, end_attempt, how_it_ends, release_dependents
from unspool.engine.machines import give_back_rows
from unspool.engine.plans import rows_to_plan
from unspool.engine.profile import give_back_time
from unspool.engine.state import DECIDE, DEFER, DONE, NEVER, ROOM, State

__all__ = ["to_next_decision"]


@inlined
def to_next_decision(state: State, plans_ahead: bool) -> int:
    """Let time pass until schedulers must decide (`DECIDE`), nothing is left (`DONE`), or Python is needed."""
    core = state.core
    clock, events, jobs = core.clock, core.events, core.jobs
    status = -1
    while status < 0:
        instant = NEVER
        if clock[0]["next_arrival"] < len(jobs):
            instant = jobs[clock[0]["next_arrival"]]["submit"]
        if clock[0]["events"] > 0 and events[0]["time"] < instant:
            instant = events[0]["time"]
        if instant > clock[0]["now"]:
            if clock[0]["dirty"] != 0:
                if _has_room(state) and (not plans_ahead or _has_room_to_plan(state)):
                    clock[0]["dirty"] = 0
                    status = DECIDE
                else:
                    status = ROOM
                break
            if clock[0]["plans"] > 0 and state.plan.plans[0]["start"] <= instant:
                instant = state.plan.plans[0]["start"]  # a start that was promised is due
                clock[0]["dirty"] = 1
            if instant == NEVER:
                status = DONE
                break
            clock[0]["now"] = instant
        while clock[0]["events"] > 0 and events[0]["time"] <= instant:
            kind = events[0]["order"] >> KIND_SHIFT
            subject = events[0]["subject"]
            pop_event(clock, events)
            if kind == END:
                if core.attempts[core.fate[subject]["attempt"]]["row_count"] > 0:
                    give_back_rows(core, state.place, subject)
                if clock[0]["planning"] != 0:
                    give_back_time(core, state.plan, subject)
                end_attempt(core, subject, how_it_ends(core, subject))
                if clock[0]["linked"] != 0:
                    release_dependents(core, state.links, subject)
            elif kind == ARRIVAL:
                arrive(core, subject)
            elif kind == WAKE:
                clock[0]["dirty"] = 1
            elif kind == DEFERRED:
                status = DEFER
                break
        if status < 0:
            while clock[0]["next_arrival"] < len(jobs) and jobs[clock[0]["next_arrival"]]["submit"] <= instant:
                job = clock[0]["next_arrival"]
                clock[0]["next_arrival"] = job + 1
                if clock[0]["linked"] == 0 or state.links.open[job] == 0:
                    arrive(core, job)
    return status


@inlined
def _has_room(state: State) -> bool:
    """Whether every array holds what one round of decisions can add at the most."""
    core = state.core
    clock = core.clock
    starts = min(clock[0]["queued"], clock[0]["free"])
    return bool(
        clock[0]["attempts"] + starts <= len(core.attempts)
        and clock[0]["events"] + starts <= len(core.events)
        and clock[0]["running"] + starts <= len(core.running)
        and clock[0]["rows"] + clock[0]["free"] <= len(state.place.rows)
    )


@inlined
def _has_room_to_plan(state: State) -> bool:
    """The same for the arrays of conservative backfilling; a job has two ends in the profile, old ones
    are dropped when they are half of it, and every job that runs may end before the next round."""
    clock = state.core.clock
    return bool(
        6 * (clock[0]["running"] + clock[0]["queued"]) + 16 <= len(state.plan.segments)
        and clock[0]["queued"] <= len(state.plan.plans)
        and (
            clock[0]["countable"] != 0
            or (clock[0]["queued"] <= len(state.plan.ends) and rows_to_plan(state) <= len(state.plan.rows))
        )
    )
