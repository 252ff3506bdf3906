"""Ranks go through their actions: each until it must wait, and on when what it waits for has happened."""

from __future__ import annotations

from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import Mpi, Routes, Sharing
from unspool.engine.kernel.turns import is_out_of_breath
from unspool.engine.network.activities import block_of, drop_activity, has_slots, start_timer
from unspool.engine.programs.collectives import END, PAUSE, PUT, SKIP, TAKE, step_of
from unspool.engine.programs.messages import (
    A_RANK,
    COMPUTES,
    DONE,
    ENDED,
    FLYING,
    LOOKS,
    MESSAGE,
    NEEDS_ALL,
    NEEDS_ONE,
    NEEDS_OPEN,
    POLL_S,
    READY,
    TESTED,
    arrive,
    compute,
    drop_request,
    is_sent,
    post,
    release,
    wake,
)
from unspool.engine.programs.mpi import COMPUTE, IRECV, ISEND, NOWHERE, SEND, SENDRECV, SLEEP, TEST, WAIT, WAITALL

__all__ = [
    "ALL_WAIT", "NO_SPACE", "NO_WAY", "STUCK", "TIRED", "begin_replay", "end_replay", "go_on", "has_ready",
    "is_of_replay", "room_to_begin", "take_up",
]  # fmt: skip

# What going on leads to, besides the owner of a replay that is over.
ALL_WAIT, NO_SPACE, NO_WAY, STUCK, TIRED = -1, -2, -3, -4, -5
_AT_ONCE = 4096  # steps of a rank before others have their turn
_LOOKS_AT_CLOCK = 63  # after so many steps of a rank and one more: each may search all that the rank has not waited for


@compiled
def has_ready(mpi: Mpi | None) -> bool:
    """Whether some rank can go on at once."""
    if mpi is None:
        return False
    return bool(mpi.rule[0]["ready"] > 0)


@compiled
def is_of_replay(owner: int) -> bool:
    """Whether an activity is that of a rank, or a message."""
    return owner >= A_RANK


@compiled
def room_to_begin(mpi: Mpi | None) -> bool:
    """Whether a job can begin the replays that it may begin at one instant."""
    if mpi is None:
        return True
    rule = mpi.rule
    return bool(
        rule[0]["ranks"] + rule[0]["most"] <= len(mpi.ranks)
        and rule[0]["replays"] + rule[0]["most"] <= len(mpi.replays)
    )


@compiled
def begin_replay(mpi: Mpi, trace: int, owner: int) -> int:
    """The ranks of a trace begin; returns the replay. Their hosts are still to be written."""
    rule, replays = mpi.rule, mpi.replays
    replay: int = rule[0]["spare_replay"]
    if replay >= 0:
        rule[0]["spare_replay"] = replays[replay]["next"]
    else:
        replay = rule[0]["replays"]
        rule[0]["replays"] = replay + 1
    count = mpi.traces[trace]["ranks"]
    kind = block_of(count)
    first: int = mpi.blocks[kind]
    if first >= 0:
        mpi.blocks[kind] = mpi.ranks[first]["next"]
    else:
        first = rule[0]["ranks"]
        rule[0]["ranks"] = first + (1 << kind)
    replays[replay]["owner"] = owner
    replays[replay]["trace"] = trace
    replays[replay]["first"] = first
    replays[replay]["ranks"] = count
    replays[replay]["unfinished"] = count
    replays[replay]["busy"] = 0
    replays[replay]["live"] = 0
    for number in range(count - 1, -1, -1):  # the last that is ready is the first to go on
        _begin_rank(mpi, replay, first + number, number, mpi.traces[trace]["first"] + number)
    return replay


@compiled
def _begin_rank(mpi: Mpi, replay: int, rank: int, number: int, script: int) -> None:
    ranks = mpi.ranks
    ranks[rank]["replay"] = replay
    ranks[rank]["number"] = number
    ranks[rank]["action"] = mpi.scripts[script]["first"]
    ranks[rank]["last"] = mpi.scripts[script]["last"]
    ranks[rank]["step"] = ranks[rank]["open"] = ranks[rank]["pending"] = 0
    ranks[rank]["held"] = ranks[rank]["last_held"] = ranks[rank]["awaited"] = ranks[rank]["activity"] = NOWHERE
    ranks[rank]["tries"] = 1
    wake(mpi, rank)


@compiled
def end_replay(sharing: Sharing, mpi: Mpi | None, replay: int, now: float) -> None:
    """A replay is over, by itself or before its time: nothing of it is left."""
    if mpi is None:
        return
    replays, ranks, requests = mpi.replays, mpi.ranks, mpi.requests
    first, count = replays[replay]["first"], replays[replay]["ranks"]
    if replays[replay]["busy"] > 0:
        kept = 0
        for at in range(mpi.rule[0]["ready"]):
            if not first <= mpi.ready[at] < first + count:
                mpi.ready[kept] = mpi.ready[at]
                kept += 1
        mpi.rule[0]["ready"] = kept
        for rank in range(first, first + count):
            if ranks[rank]["activity"] >= 0:
                drop_activity(sharing, ranks[rank]["activity"], now)
    for request in range(mpi.rule[0]["requests"] if replays[replay]["live"] > 0 else 0):
        if requests[request]["state"] != 0 and requests[request]["replay"] == replay:
            if requests[request]["state"] == FLYING and requests[request]["activity"] >= 0:
                drop_activity(sharing, requests[request]["activity"], now)
            if requests[request]["is_send"] != 0 and replays[replay]["unfinished"] == 0:
                mpi.rule[0]["unread"] += 1
            drop_request(mpi.rule, replays, requests, mpi.buckets, request)
    kind = block_of(count)
    ranks[first]["next"] = mpi.blocks[kind]
    mpi.blocks[kind] = first
    replays[replay]["next"] = mpi.rule[0]["spare_replay"]
    mpi.rule[0]["spare_replay"] = replay


@compiled
def take_up(mpi: Mpi | None, owner: int) -> None:
    """An activity of a replay is over."""
    if mpi is None:
        return
    if owner >= MESSAGE:
        mpi.requests[owner - MESSAGE]["activity"] = NOWHERE
        arrive(mpi, owner - MESSAGE)
    else:
        rank = owner - A_RANK
        mpi.ranks[rank]["activity"] = NOWHERE
        wake(mpi, rank)
        mpi.replays[mpi.ranks[rank]["replay"]]["busy"] -= 1


@compiled
def go_on(sharing: Sharing, routes: Routes, mpi: Mpi | None, now: float, elements: int) -> tuple[int, int]:
    """Let a rank that can go on do so. What came of it, and the replay: `ALL_WAIT` where none can, `NO_SPACE` where an
    array is full, `NO_WAY` where hosts have no route, `TIRED` where Python must have a turn; `ENDED` where the replay
    is over, `STUCK` where all its ranks wait for one another; else `READY`."""
    if mpi is None:
        return ALL_WAIT, NOWHERE
    rule, ranks, replays = mpi.rule, mpi.ranks, mpi.replays
    if rule[0]["ready"] == 0:
        return ALL_WAIT, NOWHERE
    rank = mpi.ready[rule[0]["ready"] - 1]
    replay = ranks[rank]["replay"]
    rule[0]["ready"] -= 1
    for at in range(_AT_ONCE):
        if not (
            has_slots(sharing.rule, sharing.activities, 1)
            and sharing.rule[0]["top"] + 2 * elements <= len(sharing.uses)
            and rule[0]["requests"] + 2 <= len(mpi.requests)
        ):
            _put_back(mpi, rank)
            return NO_SPACE, replay
        if ranks[rank]["action"] >= ranks[rank]["last"]:
            if ranks[rank]["pending"] > 0:  # whatever it has not waited for, it waits for at the end
                ranks[rank]["state"] = NEEDS_ALL
            else:
                _release_all(mpi, rank)
                ranks[rank]["state"] = ENDED
                ranks[rank]["end"] = now
                replays[replay]["unfinished"] -= 1
        elif not _step(sharing, routes, mpi, now, rank):
            return NO_WAY, replay
        if ranks[rank]["state"] != READY:
            break
        if at & _LOOKS_AT_CLOCK == _LOOKS_AT_CLOCK and is_out_of_breath(sharing.rule):
            _put_back(mpi, rank)
            return TIRED, replay
    if ranks[rank]["state"] == READY:
        _put_back(mpi, rank)
        return READY, replay
    replays[replay]["busy"] -= 1
    if replays[replay]["unfinished"] == 0:
        return ENDED, replay
    if replays[replay]["busy"] == 0:
        _note_deadlock(mpi, replay, now)
        return STUCK, replay
    return READY, replay


@compiled
def _put_back(mpi: Mpi, rank: int) -> None:
    mpi.ready[mpi.rule[0]["ready"]] = rank
    mpi.rule[0]["ready"] += 1


@compiled
def _next_action(mpi: Mpi, rank: int) -> None:
    mpi.ranks[rank]["action"] += 1
    mpi.ranks[rank]["step"] = 0


@inlined
def _step(sharing: Sharing, routes: Routes, mpi: Mpi, now: float, rank: int) -> bool:
    """A rank does a step of its action, and is READY still or waits; False where a message has no way."""
    ranks, actions = mpi.ranks, mpi.actions
    at, step = ranks[rank]["action"], ranks[rank]["step"]
    kind = actions[at]["kind"]
    if kind in (COMPUTE, SLEEP):
        if step == 0:
            ranks[rank]["step"] = 1
            if kind == SLEEP:
                _sleep(sharing, mpi, now, rank, actions[at]["work"])
            else:
                compute(sharing, routes, mpi, now, rank, actions[at]["work"])
        else:
            _next_action(mpi, rank)
        return True
    if kind in (WAIT, TEST, WAITALL):
        _await(sharing, mpi, now, rank)
        return True
    if kind <= SENDRECV:
        return _exchange(sharing, routes, mpi, now, rank)
    number, count = ranks[rank]["number"], mpi.replays[ranks[rank]["replay"]]["ranks"]
    op, peer, amount = step_of(actions, at, mpi.lists, number, count, step)
    ranks[rank]["step"] = step + 1
    if op in (PUT, TAKE):
        return post(sharing, routes, mpi, now, rank, peer, actions[at]["tag"], amount, op == PUT, False)
    if op == SKIP:
        ranks[rank]["step"] = step + peer
    elif op == PAUSE:
        if ranks[rank]["open"] > 0:
            ranks[rank]["state"] = NEEDS_OPEN
    elif op == END:
        _next_action(mpi, rank)
    else:
        compute(sharing, routes, mpi, now, rank, amount)
    return True


@compiled
def _sleep(sharing: Sharing, mpi: Mpi, now: float, rank: int, seconds: float) -> None:
    if seconds > 0.0:
        mpi.replays[mpi.ranks[rank]["replay"]]["busy"] += 1
        mpi.ranks[rank]["activity"] = start_timer(sharing, A_RANK + rank, now + seconds)
        mpi.ranks[rank]["state"] = COMPUTES


@inlined
def _exchange(sharing: Sharing, routes: Routes, mpi: Mpi, now: float, rank: int) -> bool:
    """Messages of a rank's own: post, and wait unless it need not."""
    ranks, actions = mpi.ranks, mpi.actions
    at, step = ranks[rank]["action"], ranks[rank]["step"]
    kind, peer, tag, amount = actions[at]["kind"], actions[at]["peer"], actions[at]["tag"], actions[at]["bytes"]
    if kind == SENDRECV:
        ranks[rank]["step"] = step + 1
        if step == 0:
            return post(sharing, routes, mpi, now, rank, peer, tag, amount, True, False)
        if step == 1:
            source = actions[at]["other"]
            return post(sharing, routes, mpi, now, rank, source, tag, amount, False, False)
    elif step == 0:
        if amount < 0.0:
            return _look(sharing, mpi, now, rank, peer, tag)
        ranks[rank]["step"] = 2
        is_send = kind in (SEND, ISEND)
        is_held = kind in (ISEND, IRECV)
        return post(sharing, routes, mpi, now, rank, peer, tag, amount, is_send, is_held)
    elif step == 1:  # it has looked, and the message is there
        ranks[rank]["step"] = 2
        return post(sharing, routes, mpi, now, rank, peer, tag, amount, False, kind == IRECV)
    if ranks[rank]["open"] > 0:
        ranks[rank]["state"] = NEEDS_OPEN
    else:
        _next_action(mpi, rank)
    return True


@compiled
def _look(sharing: Sharing, mpi: Mpi, now: float, rank: int, peer: int, tag: int) -> bool:
    """A rank that does not know how much comes looks now and then whether something does."""
    ranks = mpi.ranks
    ranks[rank]["step"] = 1
    ranks[rank]["state"] = LOOKS
    ranks[rank]["since"] = now
    if is_sent(mpi, rank, peer, tag):
        mpi.replays[ranks[rank]["replay"]]["busy"] += 1
        ranks[rank]["activity"] = start_timer(sharing, A_RANK + rank, now + POLL_S)
    return True


@compiled
def _await(sharing: Sharing, mpi: Mpi, now: float, rank: int) -> None:
    """Wait for requests of a rank's own, or test one."""
    ranks, requests, actions = mpi.ranks, mpi.requests, mpi.actions
    at, step = ranks[rank]["action"], ranks[rank]["step"]
    kind = actions[at]["kind"]
    if kind == WAITALL:
        if ranks[rank]["pending"] > 0:
            ranks[rank]["state"] = NEEDS_ALL
        else:
            _release_all(mpi, rank)
            _next_action(mpi, rank)
        return
    request = _held(mpi, rank, actions[at]["peer"], actions[at]["other"], actions[at]["tag"])
    if request < 0:  # there is nothing to wait for
        _next_action(mpi, rank)
    elif kind == WAIT:
        if requests[request]["state"] >= DONE:
            release(mpi, request)
            _next_action(mpi, rank)
        else:
            ranks[rank]["awaited"] = request
            ranks[rank]["state"] = NEEDS_ONE
    elif step == 0 and requests[request]["state"] != TESTED:
        ranks[rank]["step"] = 1
        _sleep(sharing, mpi, now, rank, ranks[rank]["tries"] * POLL_S)
    else:
        if requests[request]["state"] >= DONE:
            requests[request]["state"] = TESTED
            ranks[rank]["tries"] = 1
        else:
            ranks[rank]["tries"] += 1
        _next_action(mpi, rank)


@compiled
def _held(mpi: Mpi, rank: int, source: int, target: int, tag: int) -> int:
    """The oldest request of a rank's own for such a message."""
    requests = mpi.requests
    request = mpi.ranks[rank]["held"]
    while request >= 0:
        if (
            requests[request]["source"] == source
            and requests[request]["target"] == target
            and requests[request]["tag"] == tag
        ):
            break
        request = requests[request]["later"]
    return request  # type: ignore[no-any-return]


@compiled
def _release_all(mpi: Mpi, rank: int) -> None:
    while mpi.ranks[rank]["held"] >= 0:
        release(mpi, mpi.ranks[rank]["held"])


@compiled
def _note_deadlock(mpi: Mpi, replay: int, now: float) -> None:
    """Keep which rank waits for ever, and at what."""
    ranks, replays = mpi.ranks, mpi.replays
    at = mpi.rule[0]["deadlocks"]
    mpi.rule[0]["deadlocks"] = at + 1
    if at >= len(mpi.deadlocks):
        return
    first = replays[replay]["first"]
    rank = first
    while ranks[rank]["state"] == ENDED:
        rank += 1
    mpi.deadlocks[at]["owner"] = replays[replay]["owner"]
    mpi.deadlocks[at]["trace"] = replays[replay]["trace"]
    mpi.deadlocks[at]["rank"] = rank - first
    mpi.deadlocks[at]["action"] = ranks[rank]["action"]
    mpi.deadlocks[at]["count"] = replays[replay]["unfinished"]
    mpi.deadlocks[at]["time"] = now
