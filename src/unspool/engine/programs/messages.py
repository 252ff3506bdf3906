"""Messages between ranks: who posts first waits for the other, and then the bytes go over the network.

Rules: `spec/contention.md` 4.2 and 4.4. Under smpirun's rules a message has factors by its size, and loads the way
back too; it then shares links by level (`levels.py`) as long as it meets only its like.
"""

from __future__ import annotations

import math

from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import Array, Mpi, Routes, Sharing
from unspool.engine.network.activities import start_timer
from unspool.engine.network.tasks import NO_WORK, begin_task, clear_task, send
from unspool.engine.programs.mpi import NOWHERE

__all__ = [
    "A_RANK", "COMPUTES", "DONE", "ENDED", "FLYING", "LOOKS", "MESSAGE", "NEEDS_ALL", "NEEDS_ONE", "NEEDS_OPEN",
    "POLL_S", "READY", "TESTED", "arrive", "chain", "compute", "drop_request", "is_sent", "post", "release", "wake",
]  # fmt: skip

# States of a rank: it can go on, or what it waits for.
READY, COMPUTES, NEEDS_OPEN, NEEDS_ONE, NEEDS_ALL, LOOKS, ENDED = 0, 1, 2, 3, 4, 5, 6

# States of a request.
UNUSED, POSTED, FLYING, DONE, TESTED = 0, 1, 2, 3, 4

# Owners of activities: those of programs are below.
A_RANK, MESSAGE = 1 << 40, 1 << 41

POLL_S = 1e-4  # between two looks for a message whose size is unknown, and what a test takes
_SAME_LOOK = 1e-6  # of that time: what is sent so shortly after a look is found by it
_ENVELOPE = 16.0  # bytes that each message has besides its own
_DETACHED = 65536.0  # a sender does not wait for messages of fewer bytes

_PER_LINK = 8775.0  # by how much a link weighs in a message's penalty, times its bandwidth
_ON_THE_WAY_BACK = 0.05
_STEPS = (0.0, 257.0, 732.0, 1426.0, 3484.0, 5776.0, 9376.0, 15424.0, 65472.0)
_BANDWIDTH_FACTORS = (0.812084, 0.338112, 0.341987, 0.608902, 0.77493, 1.08739, 0.58729, 0.697866, 0.940694)
_LATENCY_FACTORS = (2.01467, 1.95341, 1.9503, 1.61075, 1.88101, 2.18796, 2.59299, 3.48845, 11.6436)


@compiled
def post(
    sharing: Sharing, routes: Routes, mpi: Mpi, now: float,
    rank: int, peer: int, tag: int, amount: float, is_send: bool, is_held: bool,
) -> bool:  # fmt: skip
    """A rank sends, or is ready to receive; False where the message then has no way. There is room for two requests."""
    ranks, requests = mpi.ranks, mpi.requests
    first = rank - ranks[rank]["number"]
    receiver = first + peer if is_send else rank
    source = ranks[rank]["number"] if is_send else peer
    is_waited_for = not is_send or amount >= _DETACHED
    if is_held and not is_waited_for:  # the rank may ask for it, and it is done; the message goes its own way
        handle = _new_request(mpi.rule, mpi.replays, ranks, requests, rank, receiver, source, tag)
        requests[handle]["state"] = DONE
        _hold(ranks, requests, rank, handle)
        is_held = False
    request = _new_request(mpi.rule, mpi.replays, ranks, requests, rank, receiver, source, tag)
    requests[request]["bytes"] = amount
    requests[request]["is_send"] = 1 if is_send else 0
    requests[request]["is_waited_for"] = 1 if is_waited_for else 0
    requests[request]["state"] = POSTED
    if is_held:
        _hold(ranks, requests, rank, request)
        ranks[rank]["pending"] += 1
    elif is_waited_for:
        ranks[rank]["open"] += 1
    other = _oldest(requests, mpi.buckets, receiver, source, tag)
    if other >= 0 and requests[other]["is_send"] != requests[request]["is_send"]:
        _unchain(requests, mpi.buckets, other)
        return _fly(sharing, routes, mpi, now, request if is_send else other, other if is_send else request)
    chain(requests, mpi.buckets, request)
    if is_send and ranks[receiver]["state"] == LOOKS and ranks[receiver]["activity"] < 0:
        _notice(sharing, mpi, receiver, source, tag, now)
    return True


@compiled
def _new_request(
    rule: Array, replays: Array, ranks: Array, requests: Array, rank: int, receiver: int, source: int, tag: int
) -> int:
    request: int = rule[0]["spare_request"]
    if request >= 0:
        rule[0]["spare_request"] = requests[request]["next"]
    else:
        request = rule[0]["requests"]
        rule[0]["requests"] = request + 1
    replay = ranks[rank]["replay"]
    replays[replay]["live"] += 1
    requests[request]["replay"] = replay
    requests[request]["rank"] = rank
    requests[request]["receiver"] = receiver
    requests[request]["source"] = source
    requests[request]["target"] = ranks[receiver]["number"]
    requests[request]["tag"] = tag
    requests[request]["is_send"] = requests[request]["is_held"] = 0
    requests[request]["partner"] = NOWHERE
    requests[request]["activity"] = NOWHERE
    return request


@compiled
def drop_request(rule: Array, replays: Array, requests: Array, buckets: Array, request: int) -> None:
    """A request is needed no more; one that waits for its partner waits no more."""
    if requests[request]["state"] == POSTED:
        _unchain(requests, buckets, request)
    replays[requests[request]["replay"]]["live"] -= 1
    requests[request]["state"] = UNUSED
    requests[request]["next"] = rule[0]["spare_request"]
    rule[0]["spare_request"] = request


# What a rank holds: requests that it may wait for, the oldest first.


@compiled
def _hold(ranks: Array, requests: Array, rank: int, request: int) -> None:
    last = ranks[rank]["last_held"]
    requests[request]["is_held"] = 1
    requests[request]["earlier"] = last
    requests[request]["later"] = NOWHERE
    if last >= 0:
        requests[last]["later"] = request
    else:
        ranks[rank]["held"] = request
    ranks[rank]["last_held"] = request


@compiled
def release(mpi: Mpi, request: int) -> None:
    """A rank has waited for a request of its own, which is over."""
    ranks, requests = mpi.ranks, mpi.requests
    rank = requests[request]["rank"]
    earlier, later = requests[request]["earlier"], requests[request]["later"]
    if earlier >= 0:
        requests[earlier]["later"] = later
    else:
        ranks[rank]["held"] = later
    if later >= 0:
        requests[later]["earlier"] = earlier
    else:
        ranks[rank]["last_held"] = earlier
    drop_request(mpi.rule, mpi.replays, requests, mpi.buckets, request)


# Chains: requests whose partner is not there yet, the oldest first.


@compiled
def _bucket(count: int, receiver: int, source: int, tag: int) -> int:
    mixed = (receiver * 73856093 + source * 19349663 + tag * 40503) & 0x7FFFFFFFFFFF
    return (mixed ^ (mixed >> 17)) & (count - 1)


@compiled
def is_sent(mpi: Mpi, receiver: int, source: int, tag: int) -> bool:
    """Whether a message to a rank waits for it."""
    request = _oldest(mpi.requests, mpi.buckets, receiver, source, tag)
    return bool(request >= 0 and mpi.requests[request]["is_send"] != 0)


@compiled
def _oldest(requests: Array, buckets: Array, receiver: int, source: int, tag: int) -> int:
    """The oldest request for such a message that waits; all that do are of one side."""
    request: int = buckets[_bucket(len(buckets), receiver, source, tag), 0]
    while request >= 0:
        if (
            requests[request]["receiver"] == receiver
            and requests[request]["source"] == source
            and requests[request]["tag"] == tag
        ):
            break
        request = requests[request]["next"]
    return request


@compiled
def chain(requests: Array, buckets: Array, request: int) -> None:
    """A request waits for its partner, behind all that do."""
    at = _bucket(len(buckets), requests[request]["receiver"], requests[request]["source"], requests[request]["tag"])
    last = buckets[at, 1]
    requests[request]["before"] = last
    requests[request]["next"] = NOWHERE
    if last >= 0:
        requests[last]["next"] = request
    else:
        buckets[at, 0] = request
    buckets[at, 1] = request


@compiled
def _unchain(requests: Array, buckets: Array, request: int) -> None:
    at = _bucket(len(buckets), requests[request]["receiver"], requests[request]["source"], requests[request]["tag"])
    before, after = requests[request]["before"], requests[request]["next"]
    if before >= 0:
        requests[before]["next"] = after
    else:
        buckets[at, 0] = after
    if after >= 0:
        requests[after]["before"] = before
    else:
        buckets[at, 1] = before


# The way of a message.


@inlined
def _fly(sharing: Sharing, routes: Routes, mpi: Mpi, now: float, sent: int, taken: int) -> bool:
    """Both are there: the bytes go. What the sender does not wait for is kept by the receiver's request alone."""
    requests = mpi.requests
    source, target = mpi.ranks[requests[sent]["rank"]]["host"], mpi.ranks[requests[taken]["rank"]]["host"]
    amount = requests[sent]["bytes"] + _ENVELOPE
    requests[taken]["state"] = FLYING
    requests[sent]["state"] = FLYING
    if requests[sent]["is_waited_for"] != 0:
        requests[taken]["partner"] = sent
    else:
        drop_request(mpi.rule, mpi.replays, requests, mpi.buckets, sent)
    clear_task(sharing, routes)
    worth = 0.0
    if mpi.rule[0]["smpirun"] != 0:
        has_way, worth = _load_as_smpirun(sharing, routes, source, target, amount)
    else:
        has_way = send(sharing, routes, source, target, amount)
    mpi.replays[requests[taken]["replay"]]["busy"] += 1
    slot = begin_task(sharing, routes, MESSAGE + taken, 0, now) if has_way else NO_WORK
    if slot == NO_WORK:
        arrive(mpi, taken)
    else:
        requests[taken]["activity"] = slot
        sharing.activities[slot]["worth"] = worth
    return has_way


@compiled
def _load_as_smpirun(sharing: Sharing, routes: Routes, source: int, target: int, amount: float) -> tuple[bool, float]:
    """Load a message's links with what it takes of them at a factor, and the way back with a part; and its worth."""
    rule, resources = sharing.rule, sharing.resources
    step = 0
    while step + 1 < len(_STEPS) and _STEPS[step + 1] < amount:
        step += 1
    taken = amount / _BANDWIDTH_FACTORS[step]
    if not send(sharing, routes, source, target, taken):
        return False, 0.0
    latency = rule[0]["latency"]
    penalty = latency
    for at in range(rule[0]["touched"]):
        link = routes.touched[at]
        penalty += _PER_LINK / sharing.capacity[resources[link]["bundle"], resources[link]["lane"]]
    send(sharing, routes, target, source, taken * _ON_THE_WAY_BACK)
    rule[0]["latency"] = latency * _LATENCY_FACTORS[step]
    rule[0]["window"] = latency * taken
    return True, penalty * taken


@compiled
def arrive(mpi: Mpi, taken: int) -> None:
    """A message has arrived: who waits for it goes on."""
    partner = mpi.requests[taken]["partner"]
    replay = mpi.requests[taken]["replay"]
    _finish(mpi, taken)
    if partner >= 0:
        _finish(mpi, partner)
    mpi.replays[replay]["busy"] -= 1


@compiled
def _finish(mpi: Mpi, request: int) -> None:
    ranks, requests = mpi.ranks, mpi.requests
    rank = requests[request]["rank"]
    if requests[request]["is_held"] == 0:
        ranks[rank]["open"] -= 1
        drop_request(mpi.rule, mpi.replays, requests, mpi.buckets, request)
        if ranks[rank]["state"] == NEEDS_OPEN and ranks[rank]["open"] == 0:
            wake(mpi, rank)
        return
    requests[request]["state"] = DONE
    requests[request]["activity"] = NOWHERE
    ranks[rank]["pending"] -= 1
    is_awaited = ranks[rank]["state"] == NEEDS_ONE and ranks[rank]["awaited"] == request
    if is_awaited or (ranks[rank]["state"] == NEEDS_ALL and ranks[rank]["pending"] == 0):
        wake(mpi, rank)


@compiled
def wake(mpi: Mpi, rank: int) -> None:
    """A rank can go on."""
    mpi.ranks[rank]["state"] = READY
    mpi.replays[mpi.ranks[rank]["replay"]]["busy"] += 1
    mpi.ready[mpi.rule[0]["ready"]] = rank
    mpi.rule[0]["ready"] += 1


@compiled
def _notice(sharing: Sharing, mpi: Mpi, rank: int, source: int, tag: int, now: float) -> None:
    """A rank that looks for a message now and then finds it at the next of its looks."""
    ranks, actions = mpi.ranks, mpi.actions
    at = ranks[rank]["action"]
    if actions[at]["peer"] != source or actions[at]["tag"] != tag:
        return
    since = ranks[rank]["since"]
    looks = max(math.ceil((now - since) / POLL_S - _SAME_LOOK), 1)
    mpi.replays[ranks[rank]["replay"]]["busy"] += 1
    ranks[rank]["activity"] = start_timer(sharing, A_RANK + rank, max(since + looks * POLL_S, now))


@compiled
def compute(sharing: Sharing, routes: Routes, mpi: Mpi, now: float, rank: int, flops: float) -> bool:
    """A rank computes; False where there is nothing to compute."""
    ranks = mpi.ranks
    clear_task(sharing, routes)
    routes.crew[0] = ranks[rank]["host"]
    routes.flops[0] = flops
    slot = begin_task(sharing, routes, A_RANK + rank, 1, now)
    if slot == NO_WORK:
        return False
    if mpi.rule[0]["smpirun"] != 0:
        sharing.activities[slot]["worth"] = flops
    mpi.replays[ranks[rank]["replay"]]["busy"] += 1
    ranks[rank]["activity"] = slot
    ranks[rank]["state"] = COMPUTES
    return True
