"""Drawn cases of sharing that are hard to end: `python -m tests.properties.drawn_sharing [CASES] [FIRST]`.

Loopbacks, fat links, tasks that list a host twice, capacities from 1e-3 to 1e12, nothing to compute or to send, no
latency or a huge one. Each case is followed under both variants, and ends, or says that its rounds do not.
"""

import random
import signal
import sys
import time
from collections import Counter

import numpy as np
from tests import fluid_laws as laws

from unspool.engine.kernel.state import NEVER
from unspool.engine.network.activities import FLOWS, settle, take_due
from unspool.engine.network.activity_heap import next_due
from unspool.engine.network.network_build import grow_sharing, refuse_endless, routes_of, sharing_on
from unspool.engine.network.tasks import NO_WORK, begin_task, clear_task, send
from unspool.errors import RunError
from unspool.model.network import Contention, Host, Link, Network
from unspool.simulation.tasks import FluidTask

VARIANTS = ("simgrid", "clean")
HANGS_S = 20.0  # of CPU
ENDED, ENDLESS = "ended", "rounds that never end"


def draw_case(seed):
    """A network of one to four hosts, and up to six tasks on them."""
    draw = random.Random(seed)
    extreme = draw.random() < 0.5
    count = draw.randint(1, 4)
    hosts = tuple(Host(f"h{at}", (_capacity(draw, extreme),), cores=draw.choice((1, 1, 4))) for at in range(count))
    links = tuple(
        Link(f"l{at}", _capacity(draw, extreme), _latency(draw, extreme), draw.random() < 0.5)
        for at in range(draw.randint(1, 4))
    )
    every = range(len(links))
    routes = {
        (p, q): tuple(draw.sample(every, draw.randint(1, min(3, len(links)))))
        for p in range(count) for q in range(count) if p != q
    }  # fmt: skip
    loopback = (len(links),)  # of those that have none of their own, one and the same
    links += (Link("loopback", 1e10, 0.0, is_fat=True),)
    itself = tuple((draw.choice(every),) if draw.random() < 0.5 else loopback for _ in hosts)
    none = ((),) * count
    network = Network(hosts, links, tuple(range(count)), none, none, itself, routes)
    return network, tuple(_task(draw, f"t{at}", count, extreme) for at in range(draw.randint(1, 6)))


def _capacity(draw, extreme):
    return 10 ** draw.uniform(-3, 12) if extreme else draw.choice((1e7, 1e8, 1.25e8, 1e9, 3.3e9))


def _latency(draw, extreme):
    return draw.choice((0.0, 0.0, 1e-4, 10 ** draw.uniform(-12, 6) if extreme else 1e-3))


def _task(draw, name, hosts, extreme):
    size = draw.randint(1, 4)
    listed = tuple(draw.randrange(hosts) for _ in range(size))
    cpu = tuple(_amount(draw, extreme) for _ in range(size))
    com = tuple(_amount(draw, extreme) for _ in range(size * size)) if draw.random() < 0.8 else ()
    return FluidTask(name, draw.choice((0.0, 0.0, 0.5, draw.uniform(0, 3))), listed, cpu, com)


def _amount(draw, extreme):
    if draw.random() < 0.4:
        return 0.0
    return 10 ** draw.uniform(-2, 13) if extreme else draw.choice((1e3, 1e6, 5e7, 1e9, draw.uniform(1, 1e10)))


def follow(network, tasks, variant):
    """Run a case and hold its rates against the rules; returns when each task ends."""
    most = max(len(task.hosts) for task in tasks)
    routes, sharing = routes_of(network, most), sharing_on(network, Contention(variant))
    needs = [laws.resources(network, task) for task in tasks]
    finish = np.full(len(tasks), NEVER)
    ahead = sorted(range(len(tasks)), key=lambda at: tasks[at].start)
    now = 0.0
    while True:
        while ahead and tasks[ahead[0]].start <= now:
            at = ahead.pop(0)
            sharing = grow_sharing(sharing, 1, 2 * (most + len(network.links)))
            if _begin(sharing, routes, at, tasks[at], now) == NO_WORK:
                finish[at] = now
        while not settle(sharing, now):
            pass
        refuse_endless(sharing)
        _check_rates(network, needs, sharing, variant)
        coming = tasks[ahead[0]].start if ahead else NEVER
        now = min(next_due(sharing.rule, sharing.heap), coming)
        if now == NEVER:
            assert (finish < NEVER).all(), "a task never ends, and nobody says so"
            return finish.tolist()
        while (owner := take_due(sharing, now)) >= 0:
            finish[owner] = now


def _begin(sharing, routes, owner, task, now):
    count = len(task.hosts)
    clear_task(sharing, routes)
    routes.crew[:count], routes.flops[:count] = task.hosts, task.cpu
    for at, amount in enumerate(task.com if count > 1 else ()):
        if amount > 0.0:
            assert send(sharing, routes, task.hosts[at // count], task.hosts[at % count], amount)
    return begin_task(sharing, routes, owner, count, now)


def _check_rates(network, needs, sharing, variant):
    """Each task moves, and no resource does more than it can; of fat links that holds in the clean variant only."""
    used = {}
    activities = sharing.activities[: int(sharing.rule[0]["slots"])]
    for row in activities[activities["kind"] == FLOWS]:
        assert row["rate"] > 0.0, "a task stands still"
        for resource, weight in needs[int(row["owner"])].items():
            amount = weight * float(row["rate"])
            is_fat = laws.fat(network, resource)
            used[resource] = max(used.get(resource, 0.0), amount) if is_fat else used.get(resource, 0.0) + amount
    for resource, amount in used.items():
        if variant == "clean" or not laws.fat(network, resource):
            assert amount <= laws.most(network, resource) * (1 + 1e-9), f"{resource} does more than it can"


def outcome(seed, variant):
    """How a case goes: `ENDED`, or `ENDLESS`."""
    network, tasks = draw_case(seed)
    try:
        follow(network, tasks, variant)
    except RunError:
        assert variant == "simgrid", "the clean variant has no such rounds"
        return ENDLESS
    return ENDED


def _hangs(*_):
    raise TimeoutError


def _say(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main():
    given = [int(text) for text in sys.argv[1:]]
    cases, first = [*given, *(100_000, 0)[len(given) :]]
    outcome(first, "simgrid")  # what is compiled now does not count
    signal.signal(signal.SIGPROF, _hangs)
    counts, slowest, began = Counter(), (0.0, None), time.process_time()
    for seed in range(first, first + cases):
        for variant in VARIANTS:
            before = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, HANGS_S)
            try:
                counts[variant, outcome(seed, variant)] += 1
            except TimeoutError:
                counts[variant, "hangs"] += 1
                _say(f"seed {seed}, {variant}: hangs")
            except AssertionError as error:
                counts[variant, "broken rules"] += 1
                _say(f"seed {seed}, {variant}: {error}")
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            slowest = max(slowest, (time.process_time() - before, (seed, variant)))
    for (variant, what), count in sorted(counts.items()):
        _say(f"{variant}: {count:,} {what}")
    _say(f"{time.process_time() - began:.0f} s of CPU; the slowest case took {slowest[0]:.2f} s: {slowest[1]}")


if __name__ == "__main__":
    main()
