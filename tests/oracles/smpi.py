"""Replay of SMPI traces in plain Python, from its description and not from our engine: ranks are generators.

A rank yields what it does: it computes or sleeps, posts one side of a message, or waits for sides that it posted. The
network is the slow twin of the parallel-task model ("batsim"), or weighted max-min written out here ("smpirun").
"""

import math
from itertools import count

from tests.oracles.contention import Running, rates

from unspool.simulation.tasks import FluidTask

ENVELOPE, DETACHED, POLL = 16, 65536, 1e-4
SIZES = {0: 8, 1: 4, 2: 1, 5: 4, 6: 1, 26: 16}
FACTORS = [
    (65472, 0.940694, 11.6436), (15424, 0.697866, 3.48845), (9376, 0.58729, 2.59299), (5776, 1.08739, 2.18796),
    (3484, 0.77493, 1.88101), (1426, 0.608902, 1.61075), (732, 0.341987, 1.9503), (257, 0.338112, 1.95341),
    (0, 0.812084, 2.01467),
]  # fmt: skip


class Side:
    """What one rank posted of a message."""

    def __init__(self, is_send, source, target, tag, size):
        self.is_send, self.key, self.size = is_send, (source, target, tag), size
        self.is_done = is_send and size < DETACHED


def post(me, is_send, peer, tag, size=0):
    key = (me, peer) if is_send else (peer, me)
    return Side(is_send, *key, tag, size)


def exchange(me, sends, takes, tag):
    """Post everything, then wait for everything: lists of (peer, bytes), and of peers."""
    sides = [post(me, False, peer, tag) for peer in takes] + [post(me, True, peer, tag, size) for peer, size in sends]
    for side in sides:
        yield "post", side
    yield "wait", sides


def binomial(me, ranks, root, size):
    place = (me - root) % ranks
    mask = 1
    while mask < ranks and not place & mask:
        mask *= 2
    if place:
        yield from exchange(me, [], [(place - mask + root) % ranks], "bcast")
    while mask > 1:
        mask //= 2
        if place + mask < ranks:
            yield from exchange(me, [((place + mask + root) % ranks, size)], [], "bcast")


def fan_in(me, ranks, root, size, tag):
    others = [rank for rank in range(ranks) if rank != root]
    yield from exchange(me, [], others, tag) if me == root else exchange(me, [(root, size)], [], tag)


def fan_out(me, ranks, root, sizes, tag):
    sends = [(rank, sizes[rank]) for rank in range(ranks) if rank != root]
    yield from exchange(me, sends, [], tag) if me == root else exchange(me, [], [root], tag)


def alltoall(me, ranks, size):
    others = [rank for rank in range(ranks) if rank != me]
    pairs_of_two = ((0, 2), (4, 16), (64, 256), (4096, 32768), (1048576, math.inf))
    is_pair = any(low <= size < high for low, high in pairs_of_two) if ranks == 2 else 524288 <= size < 1048576
    if ranks < 8 and is_pair:
        for turn in range(1, ranks):
            both = me ^ turn, me ^ turn
            if ranks & (ranks - 1):
                both = (me + turn) % ranks, (me - turn) % ranks
            yield from exchange(me, [(both[0], size)], [both[1]], "alltoall")
    elif 16 <= ranks < 64 and (4 if ranks < 32 else 0) <= size < 512:
        distance = 1
        while distance < ranks:
            blocks = sum(1 for block in range(ranks) if block & distance)
            yield from exchange(
                me, [((me + distance) % ranks, blocks * size)], [(me - distance) % ranks], "alltoall"
            )  # fmt: skip
            distance *= 2
    else:
        yield from exchange(me, [(other, size) for other in others], others, "alltoall")


def collective(me, ranks, name, words, size_of):
    """The messages of a collective, and the flops that follow it."""
    numbers = [float(word) for word in words]
    others = [rank for rank in range(ranks) if rank != me]

    def typed(at, to):
        return numbers[at] * size_of(words, to)

    if name == "barrier":
        yield from fan_in(me, ranks, 0, 0, name)
        yield from fan_out(me, ranks, 0, [0] * ranks, name)
    elif name == "bcast":
        yield from binomial(me, ranks, int(numbers[1]) if len(numbers) > 1 else 0, typed(0, 2))
    elif name == "reduce":
        yield from fan_in(me, ranks, int(numbers[2]) if len(numbers) > 2 else 0, typed(0, 3), name)
        yield "compute", numbers[1]
    elif name == "allreduce":
        yield from fan_in(me, ranks, 0, typed(0, 2), name)
        yield from binomial(me, ranks, 0, typed(0, 2))
        yield "compute", numbers[1]
    elif name == "alltoall":
        yield from alltoall(me, ranks, typed(0, 2))
    elif name == "alltoallv":
        sends, takes = numbers[1 : ranks + 1], numbers[ranks + 2 : 2 * ranks + 2]
        each = size_of(words, 2 * ranks + 2)
        yield from exchange(
            me, [(other, sends[other] * each) for other in others if sends[other]],
            [other for other in others if takes[other]], name,
        )  # fmt: skip
    elif name in ("allgather", "allgatherv"):
        yield from exchange(me, [(other, typed(0, 2 if name == "allgather" else 99)) for other in others], others, name)
    elif name in ("gather", "gatherv"):
        at = 2 if name == "gather" else ranks + 1
        yield from fan_in(me, ranks, int(numbers[at]) if len(numbers) > at else 0, typed(0, at + 1), name)
    elif name == "scatter":
        yield from fan_out(me, ranks, int(numbers[2]) if len(numbers) > 2 else 0, [typed(0, 3)] * ranks, name)
    elif name == "scatterv":
        root = int(numbers[ranks + 1]) if len(numbers) > ranks + 1 else 0
        yield from fan_out(me, ranks, root, [numbers[at] * size_of(words, ranks + 2) for at in range(ranks)], name)
    elif name == "reducescatter":
        each = size_of(words, ranks + 1)
        yield from fan_in(me, ranks, 0, sum(numbers[:ranks]) * each, name)
        yield from fan_out(me, ranks, 0, [number * each for number in numbers[:ranks]], name)
        yield "compute", numbers[ranks]
    elif name in ("scan", "exscan"):
        yield from exchange(me, [(rank, typed(0, 2)) for rank in range(me + 1, ranks)], range(me), "scan")
        yield "compute", numbers[1]
    else:
        raise AssertionError(name)


def rank_of(me, ranks, lines):
    """A rank: what it does, line by line."""
    usual = 1
    mine = []  # requests of its own

    def size_of(words, at):
        return SIZES[int(words[at])] if at < len(words) else usual

    tries = 1
    for line in lines:
        _, name, *words = line.split()
        if name == "init":
            usual = 8 if words else 1
        elif name in ("finalize", "comm_size"):
            pass
        elif name in ("compute", "sleep"):
            yield name, float(words[0])
        elif name in ("send", "isend", "recv", "irecv"):
            is_send = name.endswith("send")
            if float(words[2]) < 0:
                yield "look", (int(words[0]), me, int(words[1]))
            side = post(me, is_send, int(words[0]), int(words[1]), float(words[2]) * size_of(words, 3))
            yield "post", side
            if name[0] == "i":
                mine.append(side)
            else:
                yield "wait", [side]
        elif name == "sendRecv":
            yield from exchange(
                me, [(int(words[1]), float(words[0]) * size_of(words, 4))], [int(words[3])], "sendrecv"
            )  # fmt: skip
        elif name in ("wait", "test"):
            key = tuple(int(word) for word in words)
            found = next((side for side in mine if side.key == key), None)
            if found and name == "wait":
                yield "wait", [found]
                mine.remove(found)
            elif found and not getattr(found, "was_found", False):
                yield "sleep", tries * POLL
                tries = 1 if found.is_done else tries + 1
                found.was_found = found.is_done
        elif name == "waitall":
            yield "wait", mine
            mine = []
        else:
            yield from collective(me, ranks, name, words, size_of)
    yield "wait", mine


class Message:
    """A message under way under smpirun's rules."""

    def __init__(self, network, source, target, size):
        route, back = network.route(source, target), network.route(target, source)
        bandwidth, factor = next((wide, late) for least, wide, late in FACTORS if least < size)
        latency = sum(network.links[link].latency for link in route)
        self.uses = dict.fromkeys(route, 1.0)
        for link in back:
            is_fat = network.links[link].is_fat
            self.uses[link] = max(self.uses.get(link, 0), 0.05) if is_fat else self.uses.get(link, 0) + 0.05
        self.penalty = latency + sum(8775 / network.links[link].bandwidth for link in route)
        self.bound = min(network.links[link].bandwidth for link in route)
        if latency > 0:
            self.bound = min(self.bound, 4194304 / (2 * latency))
        self.latency, self.scale, self.left = latency * factor, bandwidth / size, 1.0


def levels(network, flows):
    """{flow: v}: all levels penalty x v rise together until a link is full, or the flow is at its bound."""
    v, is_open = {}, set(flows)
    left = {link: network.links[link].bandwidth for flow in flows.values() for link in flow.uses}
    caps = {
        key: min([flow.bound, *(left[link] / use for link, use in flow.uses.items() if network.links[link].is_fat)])
        for key, flow in flows.items()
    }
    while is_open:
        asked = {}
        for key in is_open:
            for link, use in flows[key].uses.items():
                if not network.links[link].is_fat:
                    asked[link] = asked.get(link, 0) + use / flows[key].penalty
        full = {link: max(left[link], 0) / amount for link, amount in asked.items()}
        level = min([*full.values(), *(flows[key].penalty * caps[key] for key in is_open)])
        close = level * (1 + 1e-12)
        tops = {
            key: min([flows[key].penalty * caps[key], *(full.get(link, math.inf) for link in flows[key].uses)])
            for key in is_open
        }
        done = {key for key in is_open if tops[key] <= close}
        for key in done:
            v[key] = min(level / flows[key].penalty, caps[key])
            for link, use in flows[key].uses.items():
                left[link] -= use * v[key]
        is_open -= done
    return v


def replay(network, hosts, scripts, setting="batsim"):
    """When each rank ends; infinite where it never does."""
    ranks = [rank_of(me, len(scripts), lines) for me, lines in enumerate(scripts)]
    ends = [math.inf] * len(ranks)
    now, names = 0.0, count()
    ready, waits, looks = list(range(len(ranks))), {}, {}
    posted, timers, flows, pairs, speeds = [], {}, {}, {}, [host.speed for host in network.hosts]

    def work(rank, flops):
        flows[name := next(names)] = Running(network, FluidTask("", 0, (hosts[rank],), (flops,)), 4194304)
        pairs[name] = rank

    def match(side):
        other = next((each for each in posted if each.key == side.key and each.is_send != side.is_send), None)
        if other is None:
            posted.append(side)
            for rank, (key, since) in list(looks.items()):
                if key == side.key:
                    timers[rank] = max(since + max(math.ceil((now - since) / POLL - 1e-6), 1) * POLL, now)
                    del looks[rank]
            return
        posted.remove(other)
        size = (side if side.is_send else other).size + ENVELOPE
        source, target = hosts[side.key[0]], hosts[side.key[1]]
        if setting == "batsim":
            flow = Running(network, FluidTask("", 0, (source, target), (), (0.0, size, 0.0, 0.0)), 4194304)
        else:
            flow = Message(network, source, target, size)
        flows[name := next(names)] = flow
        pairs[name] = (side, other)

    while True:
        while ready:
            rank = ready.pop(0)
            while True:
                try:
                    what, value = next(ranks[rank])
                except StopIteration:
                    ends[rank] = now
                    break
                if what == "post":
                    match(value)
                elif what == "wait" and not all(side.is_done for side in value):
                    waits[rank] = list(value)
                    break
                elif what == "sleep" and value > 0:
                    timers[rank] = now + value
                    break
                elif what == "compute" and value > 0:
                    work(rank, value)
                    break
                elif what == "look":
                    if any(side.is_send and side.key == value for side in posted):
                        timers[rank] = now + POLL
                    else:
                        looks[rank] = (value, now)
                    break
        going = {name: flow for name, flow in flows.items() if flow.latency == 0}
        tasks = {name: flow for name, flow in going.items() if isinstance(flow, Running)}
        others = {name: flow for name, flow in going.items() if isinstance(flow, Message)}
        rate = rates(network, speeds, tasks, "simgrid")
        rate |= {name: value * others[name].scale for name, value in levels(network, others).items()}
        due = [timers[rank] - now for rank in timers]
        due += [flow.latency for flow in flows.values() if flow.latency > 0]
        due += [going[name].left / rate[name] for name in going if rate[name] > 0]
        if not due:
            return ends
        span = min(due)
        now += span
        for rank in [rank for rank, time in timers.items() if time <= now + 1e-12 * now]:
            del timers[rank]
            ready.append(rank)
        for name, flow in list(flows.items()):
            if name not in going:
                flow.latency = 0.0 if flow.latency - span < 1e-15 else flow.latency - span
                continue
            flow.left -= rate[name] * span
            if flow.left < 1e-13:
                del flows[name]
                if isinstance(pairs[name], int):
                    ready.append(pairs[name])
                else:
                    for side in pairs[name]:
                        side.is_done = True
        for rank, sides in list(waits.items()):
            if all(side.is_done for side in sides):
                del waits[rank]
                ready.append(rank)
