"""What jobs do once they run: programs of delays and tasks, one after the other, at the same time, or on a message.

A program in the course of its run has a frame. What is to be done next is a list of moves (begin a program under a
frame, or end a frame with a code), which is worked off at one instant, for one job.
"""

from __future__ import annotations

import math

from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import COMPLETED, FAILED, NEVER, PAUSE, RUNNING, STALLED, Core, Fluid, Mpi, Place
from unspool.engine.kernel.turns import is_out_of_breath
from unspool.engine.network.activities import drop_activity, has_slots, settle, start_timer, take_due
from unspool.engine.network.activity_heap import next_due
from unspool.engine.programs.messages import ENDED
from unspool.engine.programs.replay import (
    NO_SPACE,
    NO_WAY,
    STUCK,
    TIRED,
    begin_replay,
    end_replay,
    go_on,
    has_ready,
    is_of_replay,
    room_to_begin,
    take_up,
)
from unspool.engine.programs.work import (
    DELAY,
    FORK_JOIN,
    RECEIVE,
    REPLAY,
    SEND,
    SEQUENCE,
    USAGE,
    begin_phase,
    begin_work,
    pause,
    seat_crew,
)

__all__ = [
    "NOBODY",
    "NO_ROOM_LEFT",
    "OUT_OF_BREATH",
    "deliver",
    "find_rates",
    "fluid_outcome",
    "is_stale_fluid_end",
    "launch",
    "next_activity",
    "release_program",
    "room_to_go_on",
    "take_finished",
]  # fmt: skip

_MATCH, _NO_MATCH, _NO_MESSAGE = 0, 1, 2
_NONE = -1
NOBODY, NO_ROOM_LEFT, OUT_OF_BREATH = -1, -2, -3
_LOOKS_AT_CLOCK = 63  # after so many steps and one more: in each, a rank may take some thousand
_DEADLOCKED = 1  # the code of a job whose ranks wait for one another, and that no walltime ends


@compiled
def room_to_go_on(fluid: Fluid | None) -> bool:
    """Whether every array holds what one job can add at one instant."""
    if fluid is None:
        return True
    rule, sharing = fluid.rule, fluid.sharing
    return bool(
        has_slots(sharing.rule, sharing.activities, rule[0]["leaves"])
        and sharing.rule[0]["top"] + rule[0]["leaves"] * 2 * rule[0]["elements"] <= len(sharing.uses)
        and rule[0]["slots"] + rule[0]["nodes"] <= len(fluid.frames)
        and rule[0]["said"] + rule[0]["leaves"] <= len(fluid.said)
        and room_to_begin(fluid.mpi)
    )


@compiled
def launch(core: Core, place: Place | None, fluid: Fluid | None) -> bool:
    """Jobs that were started begin to do what they do; False where there is no room, and it must be called again."""
    if fluid is None or place is None:
        return True
    rule = fluid.rule
    while rule[0]["launched"] < core.course[0]["attempts"]:
        job = core.attempts[rule[0]["launched"]]["job"]
        is_running = core.attempts[rule[0]["launched"]]["how"] == RUNNING  # else it was killed at once
        if is_running and fluid.program_of[job] >= 0:
            if not room_to_go_on(fluid):
                return False
            _ask(fluid, _NONE, fluid.program_of[job], 0)
            _work_off(core, place, fluid, job)
        rule[0]["launched"] += 1
    return True


@compiled
def find_rates(core: Core, fluid: Fluid | None) -> int:
    """Bring rates up to date, unless some rank can go on; `PAUSE` where Python must have a turn before that is done,
    `STALLED` where there are none to be found, else -1."""
    if fluid is None or has_ready(fluid.mpi):
        return -1
    is_done = settle(fluid.sharing, core.course[0]["now"])
    if fluid.sharing.rule[0]["endless"] != 0:
        return STALLED
    return -1 if is_done else PAUSE


@compiled
def next_activity(core: Core, fluid: Fluid | None) -> float:
    """When an activity is over next; rates must be up to date (`find_rates`)."""
    if fluid is None:
        return NEVER
    if has_ready(fluid.mpi):
        return core.course[0]["now"]  # type: ignore[no-any-return]
    return next_due(fluid.sharing.rule, fluid.sharing.heap)


@compiled
def take_finished(core: Core, place: Place | None, fluid: Fluid | None) -> int:
    """Go on with all jobs of which an activity is over by now, up to one that is over as a whole, which is returned.

    `NOBODY`: none is; `NO_ROOM_LEFT`: there is no room to go on, and it must be called again; `OUT_OF_BREATH`: it must
    be called again after Python had a turn, and nothing else before.
    """
    if fluid is None or place is None:
        return NOBODY
    while room_to_go_on(fluid):
        fluid.rule[0]["steps"] += 1
        if fluid.rule[0]["steps"] & _LOOKS_AT_CLOCK == 0 and is_out_of_breath(fluid.sharing.rule):
            return OUT_OF_BREATH
        frame = _go_on_with_ranks(core, fluid)
        if frame in (NO_ROOM_LEFT, OUT_OF_BREATH):
            return frame
        if frame >= 0:
            over: int = fluid.frames[frame]["job"]
            if _work_off(core, place, fluid, over):
                return over
            continue
        if has_ready(fluid.mpi):
            continue
        frame = take_due(fluid.sharing, core.course[0]["now"])
        if frame < 0:
            return NOBODY
        if is_of_replay(frame):
            take_up(fluid.mpi, frame)
            continue
        fluid.frames[frame]["activity"] = _NONE
        job: int = fluid.frames[frame]["job"]
        program = fluid.frames[frame]["program"]
        if fluid.programs[program]["kind"] == RECEIVE:
            _read_letter(core, fluid, frame)
        elif (
            fluid.programs[program]["kind"] == USAGE
            and fluid.frames[frame]["member"] < fluid.programs[program]["count"]
        ):
            begin_phase(core, place, fluid, job, program, frame)
        else:
            _ask(fluid, frame, _NONE, fluid.programs[program]["code"])
        if _work_off(core, place, fluid, job):
            return job
    return NO_ROOM_LEFT


@compiled
def fluid_outcome(fluid: Fluid | None, job: int) -> int:
    """How a job ended whose program is over."""
    if fluid is None or fluid.codes[job] == 0:
        return COMPLETED
    return FAILED


@compiled
def is_stale_fluid_end(core: Core, fluid: Fluid | None, job: int) -> bool:
    """Whether the end of a walltime comes after the job is over."""
    if fluid is None:
        return False
    return bool(core.fate[job]["state"] != RUNNING)


# Moves.


@inlined
def _ask(fluid: Fluid, frame: int, program: int, code: int) -> None:
    """Put a move on the list: a program that begins under a frame, or, with none, the frame ends with a code."""
    at = fluid.rule[0]["todo"]
    fluid.todo[at]["frame"] = frame
    fluid.todo[at]["program"] = program
    fluid.todo[at]["code"] = code
    fluid.rule[0]["todo"] = at + 1


@compiled
def _work_off(core: Core, place: Place, fluid: Fluid, job: int) -> bool:
    """Make all moves, the last that was asked for first; True where the job is over.

    It ends: each way down a program, which is a tree, leads to an activity, or to a program that reads one of the
    job's messages, of which there are so many, or waits for one.
    """
    rule, todo = fluid.rule, fluid.todo
    is_over = False
    while rule[0]["todo"] > 0:
        rule[0]["todo"] -= 1
        at = rule[0]["todo"]
        frame, program, code = todo[at]["frame"], todo[at]["program"], todo[at]["code"]
        if program >= 0:
            _begin(core, place, fluid, job, program, frame)
        else:
            is_over = _end(fluid, job, frame, code) or is_over
    return is_over


@compiled
def _begin(core: Core, place: Place, fluid: Fluid, job: int, program: int, parent: int) -> None:
    """A program begins."""
    programs = fluid.programs
    frame = _new_frame(core, fluid, job, program, parent)
    kind = programs[program]["kind"]
    if kind == SEQUENCE:
        _ask(fluid, frame, fluid.members[programs[program]["first"]], 0)
    elif kind == FORK_JOIN:
        count = programs[program]["count"]
        fluid.frames[frame]["open"] = count
        for at in range(count):  # the last that is asked for is the first to be done
            _ask(fluid, frame, fluid.members[programs[program]["first"] + count - 1 - at], 0)
    elif kind == DELAY:
        pause(core, fluid, job, frame, programs[program]["seconds"])
    elif kind == SEND:
        at = fluid.rule[0]["said"]
        fluid.said[at]["time"] = core.course[0]["now"]
        fluid.said[at]["job"] = job
        fluid.said[at]["program"] = program
        fluid.rule[0]["said"] = at + 1
        core.course[0]["dirty"] = 1
        pause(core, fluid, job, frame, programs[program]["seconds"])
    elif kind == RECEIVE:
        _read_letter(core, fluid, frame)
    elif kind == REPLAY:
        _begin_replay(core, place, fluid, fluid.mpi, job, program, frame)
    elif kind == USAGE:
        begin_phase(core, place, fluid, job, program, frame)
    else:
        begin_work(core, place, fluid, job, program, frame)


@compiled
def _end(fluid: Fluid, job: int, frame: int, code: int) -> bool:
    """A frame ends with a code; True where it is the job's own."""
    frames, programs = fluid.frames, fluid.programs
    parent = frames[frame]["parent"]
    _drop_frame(fluid, job, frame)
    if parent < 0:
        fluid.codes[job] = code
        return True
    program = frames[parent]["program"]
    kind, own = programs[program]["kind"], programs[program]["code"]
    if kind == FORK_JOIN:
        frames[parent]["open"] -= 1
        if frames[parent]["code"] == 0:
            frames[parent]["code"] = code
        if frames[parent]["open"] == 0:
            _ask(fluid, parent, _NONE, frames[parent]["code"] if frames[parent]["code"] != 0 else own)
    elif code != 0:
        _ask(fluid, parent, _NONE, code)
    elif kind == SEQUENCE:
        frames[parent]["member"] += 1
        member, count = frames[parent]["member"], programs[program]["count"]
        if member == count * programs[program]["repeat"]:
            _ask(fluid, parent, _NONE, own)
        else:
            _ask(fluid, parent, fluid.members[programs[program]["first"] + member % count], 0)
    else:
        _ask(fluid, parent, _NONE, own)
    return False


@inlined
def _new_frame(core: Core, fluid: Fluid, job: int, program: int, parent: int) -> int:
    rule, frames = fluid.rule, fluid.frames
    frame: int = rule[0]["spare"]
    if frame >= 0:
        rule[0]["spare"] = frames[frame]["next"]
    else:
        frame = rule[0]["slots"]
        rule[0]["slots"] = frame + 1
    frames[frame]["program"] = program
    frames[frame]["job"] = job
    frames[frame]["parent"] = parent
    frames[frame]["member"] = 0
    frames[frame]["open"] = 0
    frames[frame]["code"] = 0
    frames[frame]["activity"] = _NONE
    frames[frame]["since"] = core.course[0]["now"]
    other = fluid.top[job]
    frames[frame]["next"] = other
    frames[frame]["before"] = _NONE
    if other >= 0:
        frames[other]["before"] = frame
    fluid.top[job] = frame
    return frame


@inlined
def _drop_frame(fluid: Fluid, job: int, frame: int) -> None:
    rule, frames = fluid.rule, fluid.frames
    before, after = frames[frame]["before"], frames[frame]["next"]
    if before >= 0:
        frames[before]["next"] = after
    else:
        fluid.top[job] = after
    if after >= 0:
        frames[after]["before"] = before
    frames[frame]["next"] = rule[0]["spare"]
    rule[0]["spare"] = frame


@compiled
def release_program(core: Core, fluid: Fluid | None, job: int) -> None:
    """A job is over, or an attempt of it: whatever it still does ends."""
    if fluid is None:
        return
    core.course[0]["free"] -= fluid.seats[job]["spare"]
    fluid.seats[job]["spare"] = 0
    fluid.seats[job]["first"] = _NONE  # started anew, it may sit elsewhere
    frame = fluid.top[job]
    while frame >= 0:
        if fluid.frames[frame]["activity"] >= 0:
            drop_activity(fluid.sharing, fluid.frames[frame]["activity"], core.course[0]["now"])
        if fluid.programs[fluid.frames[frame]["program"]]["kind"] == REPLAY:
            end_replay(fluid.sharing, fluid.mpi, fluid.frames[frame]["member"], core.course[0]["now"])
        _drop_frame(fluid, job, frame)
        frame = fluid.top[job]


# Replays.


@compiled
def _begin_replay(core: Core, place: Place, fluid: Fluid, mpi: Mpi | None, job: int, program: int, frame: int) -> None:
    """The ranks of a trace begin, each on the machine that it is mapped to, or round the job's machines."""
    if mpi is None:
        return
    replay = begin_replay(mpi, mpi.trace_of[program], frame)
    fluid.frames[frame]["member"] = replay
    count = seat_crew(core, place, fluid, job)
    crew = fluid.routes.crew
    first = mpi.mapped[job, 0]
    has_places = mpi.mapped[job, 1] > 0 and fluid.seats[job]["first"] < 0  # a start that maps has the last word
    for number in range(mpi.replays[replay]["ranks"]):
        seat = mpi.places[first + number] if has_places else number
        mpi.ranks[mpi.replays[replay]["first"] + number]["host"] = crew[seat % count]


@compiled
def _go_on_with_ranks(core: Core, fluid: Fluid) -> int:
    """Let a rank go on that can; returns the frame of a replay that is over, for which moves are asked."""
    came, replay = go_on(
        fluid.sharing, fluid.routes, fluid.mpi, core.course[0]["now"], fluid.rule[0]["elements"]
    )  # fmt: skip
    if came == NO_SPACE:
        return NO_ROOM_LEFT
    if came == TIRED:
        return OUT_OF_BREATH
    if came in (ENDED, STUCK, NO_WAY):
        return _end_replay(core, fluid, fluid.mpi, came, replay)
    return NOBODY


@compiled
def _end_replay(core: Core, fluid: Fluid, mpi: Mpi | None, came: int, replay: int) -> int:
    """A replay is over, or can never be. Where ranks wait for one another, the walltime ends the job; else it fails."""
    if mpi is None:
        return NOBODY
    frame: int = mpi.replays[replay]["owner"]
    job = fluid.frames[frame]["job"]
    if came == NO_WAY:
        fluid.rule[0]["stuck"] = job
        return NOBODY
    if came == STUCK:
        at = mpi.rule[0]["deadlocks"] - 1
        if at < len(mpi.deadlocks):
            mpi.deadlocks[at]["job"] = job
        if core.jobs[job]["walltime"] < NEVER:
            return NOBODY
    end_replay(fluid.sharing, mpi, replay, core.course[0]["now"])
    code = fluid.programs[fluid.frames[frame]["program"]]["code"]
    _ask(fluid, frame, _NONE, _DEADLOCKED if came == STUCK else code)
    return frame


# Messages.


@compiled
def _read_letter(core: Core, fluid: Fluid, frame: int) -> None:
    """A program looks for a message: what follows depends on it. With none, and nothing to do, it waits."""
    programs, mail = fluid.programs, fluid.mail
    job, program = fluid.frames[frame]["job"], fluid.frames[frame]["program"]
    letter = mail[job, 0]
    if letter >= 0:
        mail[job, 0] = fluid.letters[letter]["next"]
        matches = (fluid.letters[letter]["mask"] >> programs[program]["bit"]) & 1
        follows = programs[program]["follows"][_MATCH if matches != 0 else _NO_MATCH]
    else:
        follows = programs[program]["follows"][_NO_MESSAGE]
        if follows < 0:
            fluid.frames[frame]["open"] = 1  # it waits
            return
    if follows >= 0:
        _ask(fluid, frame, follows, 0)
    else:
        _ask(fluid, frame, _NONE, programs[program]["code"])


@compiled
def deliver(core: Core, fluid: Fluid, job: int, mask: int) -> None:
    """Put a message into a job's box; a program that waits for one looks at the next of its times. There is room."""
    frames, programs, mail = fluid.frames, fluid.programs, fluid.mail
    letter = fluid.rule[0]["letters"]
    fluid.rule[0]["letters"] = letter + 1
    fluid.letters[letter]["mask"] = mask
    fluid.letters[letter]["next"] = _NONE
    if mail[job, 0] >= 0:
        fluid.letters[mail[job, 1]]["next"] = letter
    else:
        mail[job, 0] = letter
    mail[job, 1] = letter
    now = core.course[0]["now"]
    frame = fluid.top[job]
    while frame >= 0:
        program = frames[frame]["program"]
        if programs[program]["kind"] == RECEIVE and frames[frame]["open"] != 0:
            frames[frame]["open"] = 0
            every = programs[program]["seconds"]
            looks = max(math.ceil((now - frames[frame]["since"]) / every), 1)
            frames[frame]["activity"] = start_timer(fluid.sharing, frame, frames[frame]["since"] + looks * every)
        frame = frames[frame]["next"]
