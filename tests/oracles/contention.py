"""The parallel-task model in plain Python, from its description and not from our engine: one function a rule.

A task has one rate, the fraction of it that is done in a second; all its flops and bytes move at this pace. Every
event solves all tasks anew. `sharing` is "simgrid", with the two side effects that SimGrid's rounds have, or "clean".
"""

import math
from typing import NamedTuple

WORK_CUT = 1e-5  # flop/s or B/s: less than this is nothing
TIME_CUT = 1e-9  # seconds of latency
LEFT_CUT = WORK_CUT * TIME_CUT  # of a task


class Step(NamedTuple):
    """What the tasks did between two events: rate by position in the list of tasks."""

    begin: float
    end: float
    rates: dict
    speeds: list


class Running:
    """A task that has started."""

    def __init__(self, network, task, gamma):
        self.task = task
        self.weights = elements(network, task)
        self.latency, self.window = latency_and_window(network, task, gamma)
        self.left = 1.0 if any(weight > 0 for _, weight in self.weights) else 0.0


def messages(network, task):
    """(bytes, links of the route) for each positive entry of the matrix; a task on one host has no matrix."""
    size = len(task.hosts)
    if size == 1 or not task.com:
        return []
    found = []
    for p in range(size):
        for q in range(size):
            if task.com[p * size + q] > 0:
                found.append((task.com[p * size + q], network.route(task.hosts[p], task.hosts[q])))
    return found


def elements(network, task):
    """[(resource, weight)]: one for each entry of the host list, one for each link that a message uses."""
    found = [(("host", host), task.cpu[p] if task.cpu else 0.0) for p, host in enumerate(task.hosts)]
    carried = {}
    for amount, route in messages(network, task):
        for link in route:
            carried.setdefault(link, []).append(amount)
    for link, amounts in carried.items():
        found.append((("link", link), max(amounts) if network.links[link].is_fat else sum(amounts)))
    return found


def latency_and_window(network, task, gamma):
    """The latency, paid once and by the slowest route; and the bound of the rate that TCP's window sets."""
    slowest, most = 0.0, 0.0
    for amount, route in messages(network, task):
        latency = sum(network.links[link].latency for link in route)
        slowest = max(slowest, latency)
        most = max(most, latency * amount)
    return slowest, gamma / (2 * most) if most > 0 else math.inf


def bound(running, speeds):
    """The highest rate: one core for each entry of the host list, and what the window lets through."""
    task = running.task
    cores = [speeds[host] / flops for host, flops in zip(task.hosts, task.cpu, strict=False) if flops > 0]
    return min([*cores, running.window])


def capacity(network, speeds, resource):
    kind, at = resource
    return network.hosts[at].cores * speeds[at] if kind == "host" else network.links[at].bandwidth


def is_fat(network, resource):
    kind, at = resource
    return kind == "link" and network.links[at].is_fat


def cut(value):
    return 0.0 if value < WORK_CUT else value


def rates(network, speeds, tasks, sharing):
    """{key: rate} of the tasks {key: Running}, none of which waits for its latency: the fair-bottleneck rounds."""
    clean = sharing == "clean"
    bounds = {key: bound(task, speeds) for key, task in tasks.items()}
    users = {}  # resource: [(task, weight)]
    for key, task in tasks.items():
        for resource, weight in task.weights:
            if clean and is_fat(network, resource):
                bounds[key] = min(bounds[key], capacity(network, speeds, resource) / weight)
            else:
                users.setdefault(resource, []).append((key, weight))
    remaining = {resource: capacity(network, speeds, resource) for resource in users}
    rate = dict.fromkeys(tasks, 0.0)
    grown = dict.fromkeys(tasks, 0.0)
    is_open = set(tasks)
    while is_open:
        shares = equal_shares(network, users, remaining, is_open)
        remaining = {resource: remaining[resource] for resource in shares}
        took_part = set(is_open)
        for key in sorted(is_open):
            offers = [shares[r] / weight for r, weight in tasks[key].weights if r in shares and weight > 0]
            grown[key] = min([*offers, bounds[key] - rate[key]])
            rate[key] += grown[key]
            if rate[key] == bounds[key]:
                is_open.discard(key)
        for resource in list(remaining):
            takers = [(key, weight) for key, weight in users[resource] if not clean or key in took_part]
            if is_fat(network, resource):
                least = min(weight * grown[key] for key, weight in takers)
                remaining[resource] = cut(remaining[resource] - min(shares[resource], least))
            else:
                for key, weight in takers:
                    remaining[resource] = cut(remaining[resource] - weight * grown[key])
            if remaining[resource] == 0:
                del remaining[resource]
                is_open -= {key for key, weight in users[resource] if weight > 0}
    return rate


def equal_shares(network, users, remaining, is_open):
    """What one element of an open task may have of each resource; resources that none uses are left out."""
    shares = {}
    for resource, left in remaining.items():
        count = sum(weight > 0 and key in is_open for key, weight in users[resource])
        if count:
            shares[resource] = left / (1 if is_fat(network, resource) else count)
    return shares


def replay(network, tasks, changes=(), *, sharing="simgrid", gamma=4194304.0):
    """Finish times in the order of the tasks, and the steps between events."""
    speeds = [host.speed for host in network.hosts]
    ahead = sorted(range(len(tasks)), key=lambda at: tasks[at].start)
    turns = sorted(changes, key=lambda change: change.time)
    running, finish, steps = {}, [math.nan] * len(tasks), []
    now = 0.0
    while ahead or running:
        while turns and turns[0].time <= now:
            change = turns.pop(0)
            speeds[change.host] = change.speed
        while ahead and tasks[ahead[0]].start <= now:
            at = ahead.pop(0)
            running[at] = Running(network, tasks[at], gamma)
        for at in [at for at, task in running.items() if task.left == 0 and task.latency == 0]:
            finish[at] = now
            del running[at]
        coming = [tasks[at].start for at in ahead[:1]] + [change.time for change in turns[:1]]
        if running or ahead:
            end = advance(network, speeds, running, now, min(coming, default=math.inf), sharing, steps)
            assert end < math.inf, "nothing moves and nothing is to come"
            now = end
    return finish, steps


def advance(network, speeds, running, now, coming, sharing, steps):
    """Lets all go on until the first of them ends, has paid its latency, or something comes; returns that time."""
    ready = {at: task for at, task in running.items() if task.latency == 0}
    rate = rates(network, speeds, ready, sharing)
    spans = [task.latency for task in running.values() if task.latency > 0]
    spans += [task.left / rate[at] for at, task in ready.items() if rate[at] > 0]
    span = min(spans, default=math.inf)
    end = now + span
    if coming - now <= span:
        span, end = coming - now, coming
    for at, task in running.items():
        if at in ready:
            task.left -= rate[at] * span
            task.left = 0.0 if task.left < LEFT_CUT else task.left
        else:
            task.latency -= span
            task.latency = 0.0 if task.latency < TIME_CUT else task.latency
    steps.append(Step(now, end, rate, list(speeds)))
    return end


def finish_times(network, tasks, changes=(), *, sharing="simgrid", gamma=4194304.0):
    return replay(network, tasks, changes, sharing=sharing, gamma=gamma)[0]
