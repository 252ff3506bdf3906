"""Jobs that share a network, as outside deciders see them: where executors sit, messages, and how far a job is."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from unspool.engine.jobs.starts import start_on_each
from unspool.engine.kernel.state import RUNNING, Array, Fluid, longer
from unspool.engine.network.activities import TIMER, done_fraction
from unspool.engine.programs.programs import deliver
from unspool.engine.programs.work import EACH, HOMOGENEOUS, RECEIVE, REPLAY, SEQUENCE
from unspool.errors import DecisionError
from unspool.model.profile import Profile, Sequence
from unspool.policies.base import Start
from unspool.workloads.references import Span, spans_of

if TYPE_CHECKING:
    from unspool.simulation.engine import Engine

__all__ = ["may_differ", "progress_of", "seat_executors", "start_plainly", "tell"]


def may_differ(engine: Engine, job: int, decision: Start) -> bool:
    """Whether a job may be given more or fewer machines than it asks for: by a mapping, or if amounts are totals."""
    fluid = engine.state.fluid
    if fluid is None or fluid.program_of[job] < 0:
        return False
    return decision.mapping is not None or _is_total(fluid, int(fluid.program_of[job]))


def _is_total(fluid: Fluid, program: int) -> bool:
    """Whether a program spreads amounts over however many executors there are."""
    row = fluid.programs[program]
    if row["kind"] == SEQUENCE:
        members = fluid.members[row["first"] : row["first"] + row["count"]]
        return all(_is_total(fluid, int(member)) for member in members)
    return bool(row["kind"] == HOMOGENEOUS and row["spread"] != EACH)


def seat_executors(engine: Engine, job: int, decision: Start) -> None:
    """Say where executors sit, once the machines of a start are picked, and what of its size a job does not take."""
    fluid, place = engine.state.fluid, engine.place
    if decision.mapping is not None and (fluid is None or fluid.program_of[job] < 0):
        raise DecisionError(f"{decision!r}: only a job that computes or communicates has executors to map")
    if fluid is None or place is None or not may_differ(engine, job, decision):
        return
    rows = place.picked[: int(engine.core.course[0]["picked"])]
    machines = np.concatenate([np.arange(row["first"], row["last"] + 1) for row in rows])
    shape = int(engine.core.jobs[job]["shape"])
    cores = int(place.shapes[shape]["cores"])
    given = cores * int(sum(int(row["units"]) * (int(row["last"]) - int(row["first"]) + 1) for row in rows))
    seats = machines
    if decision.mapping is not None:
        mapping = np.asarray(decision.mapping, np.int64)
        units = int(place.shapes[shape]["units"])
        program = int(fluid.program_of[job])
        may_be_any = fluid.programs[program]["kind"] == REPLAY or _is_total(fluid, program)
        if len(mapping) != units and not may_be_any:
            raise DecisionError(f"{decision!r}: {len(mapping)} executors are mapped; the job has {units}")
        if not len(mapping) or mapping.min() < 0 or mapping.max() >= len(machines):
            raise DecisionError(f"{decision!r}: the mapping names a place outside of its {len(machines)} machines")
        seats = machines[mapping]
    first = int(fluid.rule[0]["seated"])
    fluid.rule[0]["seated"] += len(seats)
    fluid.seats[job] = (first, len(seats), int(engine.core.jobs[job]["size"]) - given)
    engine.core.course[0]["free"] += fluid.seats[job]["spare"]
    executors, routes = longer(fluid.executors, first + len(seats)), fluid.routes
    executors[first : first + len(seats)] = seats
    if len(seats) + 2 > len(routes.crew):
        more = np.zeros(2 * len(seats), np.int64)
        routes = routes._replace(crew=more, flops=np.zeros(len(more)))
        fluid.rule[0]["elements"] += 2 * len(seats)
    engine.state = engine.state._replace(fluid=fluid._replace(executors=executors, routes=routes))


def start_plainly(engine: Engine, job: int, machines: Collection[int]) -> bool:
    """Start a job on machines, one unit on each, or say no: then a decision is made the long way, and told why not."""
    return engine.place is not None and start_on_each(
        engine.core, engine.place, job, np.array(list(machines), np.int64)
    )


def tell(engine: Engine, job: int, text: str) -> None:
    """Put a message into a job's box."""
    fluid = engine.state.fluid
    if fluid is None:
        raise DecisionError(f"Tell('{engine.id_of(job)}'): no job of this run waits for messages")
    engine.grow()
    fluid = engine.state.fluid
    assert fluid is not None
    mask = 0
    for program in np.flatnonzero(fluid.programs["kind"] == RECEIVE).tolist():
        if re.fullmatch(engine.profile_of(program).pattern, text):
            mask |= 1 << int(fluid.programs[program]["bit"])
    deliver(engine.core, fluid, job, mask)


def progress_of(engine: Engine, job: int) -> dict[str, Any] | None:
    """How far a running job is: of a profile the fraction done, of a sequence its place and how far that is."""
    if engine.core.fate[job]["state"] != RUNNING:
        return None
    fluid = engine.state.fluid
    if fluid is None or fluid.program_of[job] < 0:
        name = engine.workload.column("profile")[int(engine.used[job])]
        started = float(engine.attempts["start"][int(engine.core.fate[job]["attempt"])])
        if name is None:
            return None
        profiles = engine.workload.profiles
        return _timed_progress(profiles, spans_of(profiles), name, engine.now - started)
    frame = int(fluid.top[job])
    below: dict[str, Any] | None = None
    while frame >= 0:
        below = _progress_of_frame(engine, fluid, fluid.frames[frame], below)
        frame = int(fluid.frames[frame]["parent"])
    return below


def _progress_of_frame(engine: Engine, fluid: Fluid, frame: Array, below: dict[str, Any] | None) -> dict[str, Any]:
    name = engine.name_of_program(int(frame["program"]))
    if below is not None:
        return {"profile_name": name, "current_task_index": int(frame["member"]), "current_task": below}
    slot = int(frame["activity"])
    seconds = float(fluid.programs[frame["program"]]["seconds"])
    if slot < 0 or fluid.sharing.activities[slot]["kind"] == TIMER:
        return {"profile_name": name, "progress": (engine.now - float(frame["since"])) / seconds if seconds else 0.0}
    return {"profile_name": name, "progress": done_fraction(fluid.sharing.activities, slot, engine.now)}


def _timed_progress(
    profiles: Mapping[str, Profile], spans: Mapping[str, Span], name: str, elapsed: float
) -> dict[str, Any]:
    """The same of a profile that is made of delays, and of which nothing is written down while it runs."""
    profile = profiles[name]
    if isinstance(profile, Sequence):
        each = [spans[member].seconds for member in profile.members]
        # Between two members the first is done and the second has not begun.
        rounds = min(max(math.ceil(elapsed / sum(each)) - 1, 0), profile.repeat - 1) if sum(each) > 0.0 else 0
        elapsed -= rounds * sum(each)
        at = 0
        while at < len(each) - 1 and elapsed > each[at]:
            elapsed -= each[at]
            at += 1
        below = _timed_progress(profiles, spans, profile.members[at], elapsed)
        return {"profile_name": name, "current_task_index": rounds * len(each) + at, "current_task": below}
    seconds = spans[name].seconds
    return {"profile_name": name, "progress": elapsed / seconds if seconds > 0.0 else 0.0}
