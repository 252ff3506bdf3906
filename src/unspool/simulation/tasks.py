"""Tasks on a network without jobs or schedulers: each starts at its time, and ends when its work is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.state import NEVER, Array, Routes, Sharing
from unspool.engine.kernel.turns import is_out_of_breath
from unspool.engine.network.activities import set_speed, settle, take_due
from unspool.engine.network.activity_heap import next_due
from unspool.engine.network.network_build import grow_sharing, refuse_endless, routes_of, sharing_on
from unspool.engine.network.tasks import NO_WORK, begin_task, clear_task, send
from unspool.errors import InputError
from unspool.model.network import TCP_GAMMA, Contention, Network

__all__ = ["FluidTask", "SpeedChange", "finish_times"]


@dataclass(frozen=True)
class FluidTask:
    """Flops for each host of a list, and bytes for each pair, by rows; either may be left out."""

    name: str
    start: float
    hosts: tuple[int, ...]
    cpu: tuple[float, ...] = ()
    com: tuple[float, ...] = ()


@dataclass(frozen=True)
class SpeedChange:
    """From a time on the cores of a host have another speed."""

    time: float
    host: int
    speed: float


def finish_times(
    network: Network,
    tasks: Sequence[FluidTask],
    changes: Sequence[SpeedChange] = (),
    *,
    sharing: str = "simgrid",
    gamma: float = TCP_GAMMA,
) -> list[float]:
    """When each task ends, infinite where it never does; `sharing` and `gamma` are as in `Contention`.

    >>> from unspool.model.network import Host, Network
    >>> one = Network((Host("h", (1e9,)),), (), (0,), ((),), ((),), ((),), {})
    >>> finish_times(one, [FluidTask("a", 0.0, (0,), (1e9,)), FluidTask("b", 0.0, (0,), (4e9,))])
    [2.0, 5.0]
    """
    most = max((len(task.hosts) for task in tasks), default=0)
    routes = routes_of(network, most)
    flowing = sharing_on(network, Contention(sharing, gamma))
    finish = np.full(len(tasks), NEVER)
    steps = sorted(
        [(task.start, 1, at) for at, task in enumerate(tasks)]
        + [(change.time, 0, at) for at, change in enumerate(changes)]
    )
    now = 0.0
    for time, kind, at in steps:
        if time > now:  # all that starts at one instant shares from then on, and not one before the other
            _run_until(flowing, finish, now, time)
        now = time
        if kind == 0:
            set_speed(flowing, changes[at].host, changes[at].speed)
            continue
        _prepare(flowing, routes, tasks[at])
        flowing = grow_sharing(flowing, 1, 2 * (most + len(network.links)))
        if begin_task(flowing, routes, at, len(tasks[at].hosts), time) == NO_WORK:
            finish[at] = time
    _run_until(flowing, finish, now, NEVER)
    return [float(time) for time in finish]


def _prepare(sharing: Sharing, routes: Routes, task: FluidTask) -> None:
    """Sum up what a task asks for. A task on a single host sends nothing, as in SimGrid."""
    count = len(task.hosts)
    clear_task(sharing, routes)
    routes.crew[:count] = task.hosts
    routes.flops[:count] = task.cpu or 0.0
    if count == 1:
        return
    for at, amount in enumerate(task.com):
        source, target = task.hosts[at // count], task.hosts[at % count]
        if amount > 0.0 and not send(sharing, routes, source, target, amount):
            raise InputError(f"task '{task.name}': there is no route from host {source} to host {target}")


def _run_until(sharing: Sharing, finish: Array, now: float, time: float) -> None:
    """Let everything happen that happens from now until a time, or at it."""
    clock = np.array([now])
    while not _went_until(sharing, finish, clock, time):
        refuse_endless(sharing)


@compiled
def _went_until(sharing: Sharing, finish: Array, clock: Array, time: float) -> bool:
    """The same from the time on the clock on; False where Python must have a turn before, or there are no rates."""
    while settle(sharing, clock[0]) and sharing.rule[0]["endless"] == 0:
        due = next_due(sharing.rule, sharing.heap)
        if due > time or due == NEVER:
            return True
        clock[0] = due
        while True:  # each turn takes an activity off the heap
            owner = take_due(sharing, clock[0])
            if owner < 0:
                break
            finish[owner] = clock[0]
        if is_out_of_breath(sharing.rule):
            break
    return False
