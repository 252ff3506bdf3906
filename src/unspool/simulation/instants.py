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
    Guess,
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
_GO_ON = -1
_NOTHING = -1  # no event is due


@inlined
def to_next_decision(state: State) -> int:
    """Let time pass until schedulers must decide (`DECIDE`), nothing is left (`DONE`), or Python is needed."""
    core = state.core
    course = core.course
    status = broken_off(core, state.place, state.elastic)
    turns = 0
    while status < 0:
        stops, instant = course[0]["amid"] == _AMID_STOPS, course[0]["instant"]
        if course[0]["amid"] == 0:
            status, instant = _next_instant(state)
        course[0]["amid"] = 0
        if status < 0:
            status, turns = _take_events(state, instant, stops, turns)
        if status < 0:
            status = _take_arrivals(core, state.links, state.guess, instant)
    return status


@inlined
def _take_events(state: State, instant: float, stops: bool, turns: int) -> tuple[int, int]:
    """All that is due by an instant but submissions, in the order of `engine/jobs/events.py`; events so far, counted.

    Machines are lost after jobs end, and before anything else. Stops of idle machines are taken all together, when
    schedulers have nothing new to see.
    """
    core = state.core
    course = core.course
    status = _GO_ON
    while status == _GO_ON:
        turns += 1
        if turns & _LOOKS_AT_CLOCK == 0 and is_out_of_breath(course):
            status = PAUSE
            break
        over = take_finished(core, state.place, state.fluid)  # before walltimes end: who ends with one is done
        if over < NOBODY:
            status = PAUSE if over == OUT_OF_BREATH else ROOM
            break
        kind, subject = _next_event(core, instant, over)
        if kind != END and next_change(core, state.outage) <= instant:
            change_machine(
                core, state.place, state.plan, state.links, state.order, state.guess, state.outage, state.elastic,
                state.fluid,
            )  # fmt: skip
            continue
        if kind == _NOTHING or (kind == STOP and not stops and _must_wait(core)):
            break
        stops = kind == STOP
        if kind == ARRIVAL and not _is_predicted(core, state.guess, subject):
            status = PREDICT
            break
        if over < 0:
            pop_event(course, core.events)
        if kind == END:
            if over >= 0 or not is_stale_fluid_end(core, state.fluid, subject):
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
            course[0]["deferred"] = subject
            status = DEFER
    if status == PAUSE:  # nothing may come between, or results would hang on the wall clock
        course[0]["amid"] = _AMID_STOPS if stops else _AMID
        course[0]["instant"] = instant
    return status, turns


@inlined
def _next_event(core: Core, instant: float, over: int) -> tuple[int, int]:
    """Kind and subject of the next event that is due: the job that is over, if one is, else what is on the heap."""
    if over >= 0:
        return END, over
    events = core.events
    if core.course[0]["events"] == 0 or events[0]["time"] > instant:
        return _NOTHING, _NOTHING
    return events[0]["order"] >> KIND_SHIFT, events[0]["subject"]


@inlined
def _take_arrivals(core: Core, links: Links | None, guess: Guess | None, instant: float) -> int:
    """Jobs that are submitted by an instant queue, unless they wait for others."""
    course, jobs = core.course, core.jobs
    while course[0]["next_arrival"] < len(jobs) and jobs[course[0]["next_arrival"]]["submit"] <= instant:
        job = course[0]["next_arrival"]
        if _may_queue(links, job):
            if not _is_predicted(core, guess, job):
                return PREDICT
            arrive(core, job)
        course[0]["next_arrival"] = job + 1
    return _GO_ON


@inlined
def _is_predicted(core: Core, guess: Guess | None, job: int) -> bool:
    """Whether the job's estimate is known; if not, Python is to say it."""
    if predict(core, guess, job):
        return True
    core.course[0]["deferred"] = job
    return False


@inlined
def _next_instant(state: State) -> tuple[int, float]:
    """Go to the next instant at which something happens, or find out (with a status) that it is not time to."""
    core = state.core
    course, events, jobs = core.course, core.events, core.jobs
    if not launch(core, state.place, state.fluid) or not room_to_note(state.fluid, state.meter):
        return ROOM, NEVER
    status = find_rates(core, state.fluid)
    if status >= 0:
        return status, NEVER
    instant = next_activity(core, state.fluid)
    note_loads(core, state.fluid, state.meter)
    if course[0]["next_arrival"] < len(jobs):
        instant = min(instant, jobs[course[0]["next_arrival"]]["submit"])
    instant = min(instant, next_change(core, state.outage))
    if course[0]["events"] > 0 and events[0]["time"] < instant:
        instant = events[0]["time"]
    if instant > course[0]["now"] or only_stops_are_left(core, state.elastic):
        if course[0]["dirty"] != 0:
            if _each_start_sees_to_room(state.elastic) or (
                _has_room(core)
                and room_for_stops(core, state.elastic)
                and _room_for_rows(core, state.place)
                and room_to_plan(core, state.place, state.later, state.plan)
            ):
                course[0]["dirty"] = 0
                return STALLED if _is_stalled(core) else DECIDE, instant
            return ROOM, instant
        due = _next_plan(core, state.plan)
        is_due = due <= instant and due < NEVER  # a start that was promised
        instant = due if is_due else instant
        if instant == NEVER:
            return DONE, instant
        if instant > course[0]["until"]:
            return UNTIL, instant
        if _is_beyond_known_outages(state.outage, instant):
            return OUTAGES, instant
        course[0]["now"] = instant
        course[0]["dirty"] = 1 if is_due else 0
    return -1, instant


@compiled
def _is_stalled(core: Core) -> bool:
    """Whether decision follows decision at one instant, and no job arrives, starts or ends between them.

    No rule of ours means that; a policy that never stops asking to be woken does it.
    """
    course = core.course
    # Each arrival, start, end, loss and rejection raises this.
    progress = (
        4 * course[0]["attempts"] - 2 * course[0]["running"] + 3 * course[0]["next_arrival"] - course[0]["queued"]
    )
    if course[0]["stalled_at"] != course[0]["now"] or course[0]["stalled_with"] != progress:
        course[0]["stalled_at"] = course[0]["now"]
        course[0]["stalled_with"] = progress
        course[0]["stalled"] = 0
    course[0]["stalled"] += 1
    return bool(course[0]["stalled"] > MOST_ROUNDS)


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
    if plan is None or core.course[0]["plans"] == 0:
        return NEVER
    return plan.plans[0]["start"]  # type: ignore[no-any-return]


@inlined
def _must_wait(core: Core) -> bool:
    """Whether something has happened, or is about to, that schedulers must see before a machine is stopped."""
    at = core.course[0]["next_arrival"]
    return bool(
        core.course[0]["dirty"] != 0 or (at < len(core.jobs) and core.jobs[at]["submit"] <= core.course[0]["now"])
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
    course = core.course
    starts = min(course[0]["queued"], course[0]["free"])
    return bool(
        course[0]["attempts"] + starts <= len(core.attempts)
        and course[0]["events"] + starts <= len(core.events)
        and course[0]["running"] + starts <= len(core.running)
    )


@compiled
def _room_for_rows(core: Core, place: Place | None) -> bool:
    """The same for rows of machines: each holds at least one core that is free now."""
    if place is None:
        return True
    return bool(core.course[0]["rows"] + core.course[0]["free"] <= len(place.rows))
