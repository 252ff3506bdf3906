"""What holds of every sharing of hosts and links, as functions of `finish_times`: the twin's or the engine's."""

from dataclasses import replace

import pytest
from tests.oracles.contention import elements, latency_and_window
from tests.strategies_fluid import mesh

from unspool.simulation.tasks import FluidTask

GAMMA = 4194304.0
NEAR = {"rel": 1e-9, "abs": 1e-9}


def resources(network, task):
    """{resource: weight}, what is listed twice added up, without what has no weight."""
    total = {}
    for resource, weight in elements(network, task):
        if weight > 0:
            total[resource] = total.get(resource, 0.0) + weight
    return total


def most(network, resource, changes=()):
    """The highest capacity that a resource ever has."""
    kind, at = resource
    if kind == "link":
        return network.links[at].bandwidth
    host = network.hosts[at]
    return host.cores * max([host.speed, *(change.speed for change in changes if change.host == at)])


def fat(network, resource):
    return resource[0] == "link" and network.links[resource[1]].is_fat


def alone(network, task):
    """The finish of a task that shares with nobody, in closed form."""
    needs = resources(network, task)
    if not needs:
        return task.start
    latency, window = latency_and_window(network, task, GAMMA)
    cores = [network.hosts[h].speed / flops for h, flops in zip(task.hosts, task.cpu, strict=False) if flops > 0]
    rate = min([window, *cores, *(most(network, resource) / weight for resource, weight in needs.items())])
    return task.start + latency + 1 / rate


def task_alone_matches_its_closed_form(finish_times, network, tasks, sharing):
    for task in tasks:
        assert finish_times(network, [task], sharing=sharing) == pytest.approx([alone(network, task)], **NEAR)


def no_task_is_faster_than_alone(finish_times, network, tasks, sharing="clean"):
    """No rate is negative, or above what the task may have: with others it never ends before it would alone."""
    for task, finish in zip(tasks, finish_times(network, tasks, sharing=sharing), strict=True):
        assert finish >= alone(network, task) * (1 - 1e-9) - 1e-9


def no_resource_does_more_than_it_can(finish_times, network, tasks, changes):
    """What began and ended in an interval was done in it: of no resource more than capacity times length."""
    finish = finish_times(network, tasks, changes, sharing="clean")
    used = [resources(network, task) for task in tasks]
    for begin in {task.start for task in tasks}:
        for end in set(finish):
            inside = [
                needs for task, needs, at in zip(tasks, used, finish, strict=True) if task.start >= begin and at <= end
            ]
            for resource in {resource for needs in inside for resource in needs}:
                if not fat(network, resource):
                    done = sum(needs.get(resource, 0.0) for needs in inside)
                    can = most(network, resource, changes) * (end - begin)
                    assert done <= can * (1 + 1e-9) + 1.0


def one_core_is_never_idle_while_there_is_work(finish_times, host_speed, work, sharing):
    """Work is conserved: tasks of (start, flops) on one core end with its last busy period."""
    network = mesh([(host_speed, 1)], [], {})
    tasks = [FluidTask(f"t{at}", start, (0,), (flops,), ()) for at, (start, flops) in enumerate(work)]
    free_at = 0.0
    for start, flops in sorted(work):
        free_at = max(free_at, start) + flops / host_speed
    assert max(finish_times(network, tasks, sharing=sharing)) == pytest.approx(free_at, **NEAR)


def other_names_and_places_change_nothing(finish_times, network, tasks, changes, order, sharing="clean"):
    """Hosts in another order, under other names; `order[at]` is the new place of host `at`.

    SimGrid's rounds hang on equalities that the order of sums can break, so this is a law of `clean` only.
    """
    there = [replace(task, hosts=tuple(order[host] for host in task.hosts)) for task in tasks]
    then = [replace(change, host=order[change.host]) for change in changes]
    found = finish_times(moved(network, order), there, then, sharing=sharing)
    assert found == pytest.approx(finish_times(network, tasks, changes, sharing=sharing), **NEAR)


def components_can_be_solved_apart(finish_times, network, tasks, changes, sharing):
    whole = finish_times(network, tasks, changes, sharing=sharing)
    for part in components(network, tasks):
        apart = finish_times(network, [tasks[at] for at in part], changes, sharing=sharing)
        assert apart == pytest.approx([whole[at] for at in part], **NEAR)


def moved(network, order):
    """The same network with its hosts elsewhere; links keep their places and get other names."""
    back = [order.index(at) for at in range(len(order))]

    def of(values):
        return tuple(values[at] for at in back)

    return replace(
        network,
        hosts=tuple(replace(network.hosts[at], name=f"moved{at}") for at in back),
        links=tuple(replace(link, name=f"other{at}") for at, link in enumerate(network.links)),
        group=of(network.group),
        leaving=of(network.leaving),
        arriving=of(network.arriving),
        itself=of(network.itself),
    )


def components(network, tasks):
    """Positions of the tasks that use a resource together, directly or over others."""
    parts = []
    for at, task in enumerate(tasks):
        needs = set(resources(network, task))
        joined = [part for part in parts if part[1] & needs]
        parts = [part for part in parts if not part[1] & needs]
        parts.append(([at, *(other for part in joined for other in part[0])], needs.union(*(p[1] for p in joined))))
    return [sorted(part) for part, _ in parts]
