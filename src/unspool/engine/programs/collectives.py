"""What the ranks do in a collective, message by message: the patterns that SMPI has unless it is told otherwise.

Each pattern is a function of a rank and a step, so that nothing is written out: a thousand ranks that each send to each
other are a million messages. A step posts one message, or waits for all that were posted (`spec/contention.md` 4.3).
"""

from __future__ import annotations

from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import Array
from unspool.engine.programs.mpi import (
    ALLGATHER,
    ALLREDUCE,
    ALLTOALL,
    ALLTOALLV,
    BARRIER,
    BCAST,
    GATHER,
    REDUCE,
    REDUCESCATTER,
    SCAN,
    SCATTER,
    SCATTERV,
)

__all__ = ["BRUCK", "END", "LINEAR", "PAIR", "PAUSE", "PUT", "SKIP", "TAKE", "WORK", "pattern_of_alltoall", "step_of"]

PUT, TAKE, PAUSE, WORK, SKIP, END = 0, 1, 2, 3, 4, 5  # send, receive, wait for both, compute, nothing, it is over
LINEAR, PAIR, BRUCK = 0, 1, 2


@compiled
def step_of(actions: Array, at: int, lists: Array, rank: int, ranks: int, step: int) -> tuple[int, int, float]:
    """What a rank does at a step of a collective, with whom, and how many bytes it sends or flops it computes.

    Of `SKIP`, the second says how many steps it goes on.
    """
    kind, root, size = actions[at]["kind"], actions[at]["peer"], actions[at]["bytes"]
    first, flops = actions[at]["first"], actions[at]["work"]
    if kind == BCAST:
        return _bcast(rank, ranks, root, size, step)
    if kind == ALLTOALL:
        return _alltoall(rank, ranks, size, step)
    if kind == ALLGATHER:
        return _to_all(rank, ranks, size, step)
    if kind == ALLTOALLV:
        return _to_all_by_list(lists, first, rank, ranks, step)
    if kind == GATHER:
        return _fan_in(rank, ranks, root, size, step)
    if kind == SCATTER:
        return _fan_out(lists, -1, rank, ranks, root, size, step)
    if kind == SCATTERV:
        return _fan_out(lists, first, rank, ranks, root, size, step)
    if kind == SCAN:
        return _scan(rank, ranks, size, flops, step)
    if kind == REDUCE:
        length = _fan_length(rank, ranks, root)
        if step < length:
            return _fan_in(rank, ranks, root, size, step)
        return _work(flops, step - length)
    # The others gather at rank 0, and then give out from there.
    length = _fan_length(rank, ranks, 0)
    if step < length:
        return _fan_in(rank, ranks, 0, size, step)
    step -= length
    if kind == BARRIER:
        return _fan_out(lists, -1, rank, ranks, 0, 0.0, step)
    if kind == REDUCESCATTER:
        if step < length:
            return _fan_out(lists, first, rank, ranks, 0, 0.0, step)
        return _work(flops, step - length)
    if kind == ALLREDUCE:
        length = _bcast_length(rank, ranks)
        if step < length:
            return _bcast(rank, ranks, 0, size, step)
        return _work(flops, step - length)
    return END, 0, 0.0


@inlined
def _work(flops: float, step: int) -> tuple[int, int, float]:
    """Compute once."""
    return (WORK, 0, flops) if step == 0 and flops > 0.0 else (END, 0, 0.0)


@inlined
def _fan_length(rank: int, ranks: int, root: int) -> int:
    return ranks if rank == root else 2


@inlined
def _other(at: int, rank: int) -> int:
    """The ranks without one, in order."""
    return at if at < rank else at + 1


@compiled
def _fan_in(rank: int, ranks: int, root: int, size: float, step: int) -> tuple[int, int, float]:
    """All send to the root, which takes all at once."""
    if rank != root:
        if step == 0:
            return PUT, root, size
        return (PAUSE if step == 1 else END), 0, 0.0
    if step < ranks - 1:
        return TAKE, _other(step, root), 0.0
    return (PAUSE if step == ranks - 1 else END), 0, 0.0


@compiled
def _fan_out(
    lists: Array, first: int, rank: int, ranks: int, root: int, size: float, step: int
) -> tuple[int, int, float]:
    """The root sends to all at once, to each the same or what a list says."""
    if rank != root:
        if step == 0:
            return TAKE, root, 0.0
        return (PAUSE if step == 1 else END), 0, 0.0
    if step < ranks - 1:
        peer = _other(step, root)
        return PUT, peer, lists[first + peer] if first >= 0 else size
    return (PAUSE if step == ranks - 1 else END), 0, 0.0


@compiled
def _log_span(place: int, ranks: int) -> int:
    """Of a binomial tree: the power of two that is the distance to the parent; of the root, one that reaches all."""
    power = 0
    if place == 0:
        while (1 << power) < ranks:
            power += 1
    else:
        while place & (1 << power) == 0:
            power += 1
    return power


@compiled
def _bcast_length(rank: int, ranks: int) -> int:
    return 2 + 2 * _log_span(rank, ranks)


@compiled
def _bcast(rank: int, ranks: int, root: int, size: float, step: int) -> tuple[int, int, float]:
    """A binomial tree of ranks relative to the root: from the parent, then to the children, the farthest first."""
    place = (rank - root) % ranks
    span = 1 << _log_span(place, ranks)
    if step < 2:
        if place == 0:
            return SKIP, 1, 0.0
        return (TAKE, (place - span + root) % ranks, 0.0) if step == 0 else (PAUSE, 0, 0.0)
    child = span >> (step >> 1)
    if child == 0:
        return END, 0, 0.0
    if step & 1 == 1:
        return PAUSE, 0, 0.0
    if place + child >= ranks:
        return SKIP, 2, 0.0
    return PUT, (place + child + root) % ranks, size


@compiled
def _to_all(rank: int, ranks: int, size: float, step: int) -> tuple[int, int, float]:
    """Each sends to each other, all at once."""
    others = ranks - 1
    if step < others:
        return TAKE, (rank + 1 + step) % ranks, 0.0
    if step < 2 * others:
        return PUT, (rank + ranks - 1 - (step - others)) % ranks, size
    return (PAUSE if step == 2 * others else END), 0, 0.0


@compiled
def _to_all_by_list(lists: Array, first: int, rank: int, ranks: int, step: int) -> tuple[int, int, float]:
    """The same with as many bytes as a list says; nothing is no message."""
    op, peer, _ = _to_all(rank, ranks, 0.0, step)
    if op == TAKE and lists[first + ranks + peer] == 0.0:
        return SKIP, 1, 0.0
    if op == PUT:
        if lists[first + peer] == 0.0:
            return SKIP, 1, 0.0
        return op, peer, lists[first + peer]
    return op, peer, 0.0


@compiled
def _scan(rank: int, ranks: int, size: float, flops: float, step: int) -> tuple[int, int, float]:
    """Each sends to all higher ranks."""
    if step < rank:
        return TAKE, step, 0.0
    if step < ranks - 1:
        return PUT, step + 1, size
    if step == ranks - 1:
        return PAUSE, 0, 0.0
    return _work(flops, step - ranks)


@compiled
def pattern_of_alltoall(ranks: int, size: float) -> int:
    """Which pattern an all-to-all has, by the bytes of each pair: the table of Open MPI, as SMPI reads it."""
    if ranks == 2:
        is_pair = size < 2 or 4 <= size < 16 or 64 <= size < 256 or 4096 <= size < 32768 or size >= 1048576
        return PAIR if is_pair else LINEAR
    if ranks < 16:
        return PAIR if ranks < 8 and 524288 <= size < 1048576 else LINEAR
    if ranks < 64:
        return BRUCK if size < 512 and (ranks >= 32 or size >= 4) else LINEAR
    if ranks < 512:
        if size < 1024:
            return BRUCK
        return PAIR if size >= (262144 if ranks < 256 else 32768) else LINEAR
    if ranks < 2048:
        if size < 512:
            return BRUCK
        return PAIR if ranks < 1024 and size >= 262144 else LINEAR
    return BRUCK if size < (1024 if ranks < 4096 else 2048) else LINEAR


@compiled
def _alltoall(rank: int, ranks: int, size: float, step: int) -> tuple[int, int, float]:
    pattern = pattern_of_alltoall(ranks, size)
    if pattern == LINEAR:
        return _to_all(rank, ranks, size, step)
    turn, part = step // 3, step % 3
    if pattern == PAIR:
        if turn >= ranks - 1:
            return END, 0, 0.0
        # Exchanges within pairs need a power of two; else each sends one way round and takes from the other.
        is_power = ranks & (ranks - 1) == 0
        source = rank ^ (turn + 1) if is_power else (rank - turn - 1) % ranks
        target = rank ^ (turn + 1) if is_power else (rank + turn + 1) % ranks
    else:
        distance = 1 << turn
        if distance >= ranks:
            return END, 0, 0.0
        source, target = (rank - distance) % ranks, (rank + distance) % ranks
        size *= _with_bit(ranks, turn)
    if part == 0:
        return TAKE, source, 0.0
    return (PUT, target, size) if part == 1 else (PAUSE, 0, 0.0)


@compiled
def _with_bit(ranks: int, bit: int) -> int:
    """How many of the numbers below that of ranks have a bit set."""
    half = 1 << bit
    whole, rest = ranks // (2 * half), ranks % (2 * half)
    return whole * half + max(0, rest - half)
