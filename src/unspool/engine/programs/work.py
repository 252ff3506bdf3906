"""What a program does that is not made of others: nothing for a time, a task, a phase of a usage trace."""

from __future__ import annotations

import math

from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import Core, Fluid, Place, Routes
from unspool.engine.network.activities import start_timer
from unspool.engine.network.tasks import NO_WORK, begin_task, clear_task, send, send_to_all

__all__ = [
    "DELAY", "EACH", "FORK_JOIN", "HOMOGENEOUS", "MATRIX", "RECEIVE", "REPLAY", "SEND", "SEQUENCE", "STAGING",
    "STORAGE", "TOTAL", "TOTAL_V4", "USAGE", "begin_phase", "begin_work", "pause", "seat_crew",
]  # fmt: skip

# Kinds of programs.
DELAY, HOMOGENEOUS, MATRIX, STORAGE, STAGING, SEQUENCE, FORK_JOIN, SEND, RECEIVE, REPLAY = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
USAGE = 10  # one rank of a usage trace
EACH, TOTAL, TOTAL_V4 = 0, 1, 2  # how amounts are spread over executors


@compiled
def pause(core: Core, fluid: Fluid, job: int, frame: int, seconds: float) -> None:
    """Nothing happens for a time; where rules are strict, what the walltime cuts does not end."""
    now = core.course[0]["now"]
    start = core.attempts[core.fate[job]["attempt"]]["start"]
    if fluid.rule[0]["strict"] == 0 or now + seconds < start + core.jobs[job]["walltime"]:
        fluid.frames[frame]["activity"] = start_timer(fluid.sharing, frame, now + seconds)


@compiled
def begin_work(core: Core, place: Place, fluid: Fluid, job: int, program: int, frame: int) -> None:
    """Sum up what a task asks for, and start it."""
    programs, sharing, routes = fluid.programs, fluid.sharing, fluid.routes
    clear_task(sharing, routes)
    kind = programs[program]["kind"]
    storage = programs[program]["storage"]
    count = seat_crew(core, place, fluid, job) if kind != STAGING else 0
    has_way = True
    if kind == HOMOGENEOUS:
        cpu, com = programs[program]["cpu"], programs[program]["com"]
        if programs[program]["spread"] != EACH:
            cpu /= count
            com /= count if programs[program]["spread"] == TOTAL_V4 else max(count * (count - 1), 1)
        for at in range(count):
            routes.flops[at] = cpu
        if com > 0.0 and count > 1:
            has_way = send_to_all(sharing, routes, count, com)
    elif kind == MATRIX:
        count = _add_extra_host(routes, count, storage)
        has_way = _send_matrix(fluid, programs[program]["first"], count)
    elif kind == STORAGE:
        read, written = programs[program]["cpu"], programs[program]["com"]
        if programs[program]["spread"] != EACH:
            read /= count
            written /= count
        for at in range(count):
            has_way = (read <= 0.0 or send(sharing, routes, storage, routes.crew[at], read)) and has_way
            has_way = (written <= 0.0 or send(sharing, routes, routes.crew[at], storage, written)) and has_way
            routes.flops[at] = 0.0
    elif programs[program]["com"] > 0.0:
        has_way = send(sharing, routes, storage, programs[program]["other"], programs[program]["com"])
    if not has_way:
        fluid.rule[0]["stuck"] = job
    now = core.course[0]["now"]
    slot = begin_task(sharing, routes, frame, count, now)
    fluid.frames[frame]["activity"] = slot if slot != NO_WORK else start_timer(sharing, frame, now)


@compiled
def begin_phase(core: Core, place: Place, fluid: Fluid, job: int, program: int, frame: int) -> None:
    """The next phase of a rank: so many flops on each of the cores that it uses, at least one. `other` is its seat."""
    sharing, routes, programs = fluid.sharing, fluid.routes, fluid.programs
    now = core.course[0]["now"]
    at = fluid.frames[frame]["member"]
    fluid.frames[frame]["member"] = at + 1
    slot = NO_WORK
    if at < programs[program]["count"]:
        clear_task(sharing, routes)
        host = routes.crew[programs[program]["other"] % seat_crew(core, place, fluid, job)]
        usage = fluid.amounts[programs[program]["first"] + 2 * at]
        flops = fluid.amounts[programs[program]["first"] + 2 * at + 1]
        cores = max(1, math.floor(usage * sharing.resources[host]["cores"] + 0.5))
        for k in range(cores):
            routes.crew[k] = host
            routes.flops[k] = flops
        slot = begin_task(sharing, routes, frame, cores, now)
    fluid.frames[frame]["activity"] = slot if slot != NO_WORK else start_timer(sharing, frame, now)


@inlined
def _add_extra_host(routes: Routes, count: int, host: int) -> int:
    """A storage takes part as one more executor, the last."""
    if host >= 0:
        routes.crew[count] = host
        count += 1
    return count


@compiled
def _send_matrix(fluid: Fluid, first: int, count: int) -> bool:
    """Flops of each executor, and bytes of each pair."""
    amounts, sharing, routes = fluid.amounts, fluid.sharing, fluid.routes
    has_way = True
    for at in range(count):
        routes.flops[at] = amounts[first + at]
    if count > 1:
        k = first + count
        for at in range(count):
            for other in range(count):
                if amounts[k] > 0.0:
                    has_way = send(sharing, routes, routes.crew[at], routes.crew[other], amounts[k]) and has_way
                k += 1
    return has_way


@compiled
def seat_crew(core: Core, place: Place, fluid: Fluid, job: int) -> int:
    """Write the hosts of a job's executors; returns how many there are."""
    crew, rows = fluid.routes.crew, place.rows
    count = 0
    if fluid.seats[job]["first"] >= 0:
        first = fluid.seats[job]["first"]
        for at in range(first, first + fluid.seats[job]["count"]):
            crew[count] = fluid.executors[at]
            count += 1
        return count
    attempt = core.fate[job]["attempt"]
    first_row = core.attempts[attempt]["first_row"]
    for row in range(first_row, first_row + core.attempts[attempt]["row_count"]):
        for machine in range(rows[row]["first"], rows[row]["last"] + 1):
            for _ in range(rows[row]["units"]):
                crew[count] = machine
                count += 1
    return count
