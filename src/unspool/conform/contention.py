"""Cases of contention: hosts, links, tasks on them, and the times at which SimGrid says that they end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from unspool.conform.checks import Check, Outcome, decoded, few, files_named
from unspool.errors import InputError
from unspool.model.network import Host, Link, Network
from unspool.simulation.tasks import FluidTask, SpeedChange, finish_times

__all__ = ["GAMMA", "TOLERANCE", "ContentionCase", "checks", "compare_times", "read_cases"]

TOLERANCE = 1e-9  # relative
GAMMA = 4194304.0  # bytes of TCP's window, unless the case's config says otherwise
_GAMMA_KEY, _LOOP_KEYS = "network/TCP-gamma", {"network/loopback-bw": 1e10, "network/loopback-lat": 0.0}


class _Host(msgspec.Struct):
    name: str
    speed: float
    cores: int = 1


class _Link(msgspec.Struct):
    name: str
    bandwidth: float
    latency: float = 0.0
    sharing: Literal["SHARED", "FATPIPE"] = "SHARED"


class _Route(msgspec.Struct):
    src: str
    dst: str
    links: list[str]


class _Platform(msgspec.Struct):
    hosts: list[_Host]
    links: list[_Link] = []
    routes: list[_Route] = []


class _Task(msgspec.Struct):
    name: str
    start: float
    hosts: list[str]
    cpu: list[float] = []
    com: list[float] = []


class _Event(msgspec.Struct):
    time: float
    host: str
    speed: float


class _Case(msgspec.Struct):
    name: str
    platform: _Platform
    tasks: list[_Task]
    finish: dict[str, float]
    config: dict[str, float] = {}
    events: list[_Event] = []


class _File(msgspec.Struct):
    cases: list[_Case]


@dataclass(frozen=True)
class ContentionCase:
    """A network, tasks on it, and the recorded finish of each in seconds."""

    name: str
    network: Network
    tasks: tuple[FluidTask, ...]
    changes: tuple[SpeedChange, ...]
    gamma: float
    finish: Mapping[str, float]


def checks(path: Path) -> list[Check]:
    """The cases of a file, or of all `ptask_*cases.json` of a folder."""
    found = files_named(path, "ptask_*cases.json", "ptask_cases.json or the like")
    return [Check(case.name, partial(_outcome, case)) for file in found for case in read_cases(file)]


def read_cases(path: Path) -> list[ContentionCase]:
    """The cases of one file."""
    return [_case(case, f"{path}: case '{case.name}'") for case in decoded(path, _File).cases]


def compare_times(case: ContentionCase, found: Sequence[float]) -> tuple[str, ...]:
    """Which tasks end at another time than was recorded."""
    return few(
        f"task {task.name} ends at {ours!r}, recorded {case.finish[task.name]!r}"
        for task, ours in zip(case.tasks, found, strict=True)
        if not math.isclose(ours, case.finish[task.name], rel_tol=TOLERANCE, abs_tol=1e-15)
    )


def _outcome(case: ContentionCase) -> Outcome:
    found = finish_times(case.network, case.tasks, case.changes, sharing="simgrid", gamma=case.gamma)
    return Outcome(compare_times(case, found))


def _case(case: _Case, where: str) -> ContentionCase:
    unknown = sorted(set(case.config) - {_GAMMA_KEY, *_LOOP_KEYS})
    if unknown:
        known = ", ".join([_GAMMA_KEY, *_LOOP_KEYS])
        raise InputError(f"{where}: config has '{unknown[0]}', which the model does not know; known: {known}")
    network = _network(case, where)
    number = {host.name: at for at, host in enumerate(network.hosts)}
    tasks = tuple(_task(task, number, where) for task in case.tasks)
    absent = [task.name for task in tasks if task.name not in case.finish]
    if absent:
        raise InputError(f"{where}: task '{absent[0]}' has no time under finish; every task needs one")
    changes = tuple(SpeedChange(event.time, _known(event.host, number, where), event.speed) for event in case.events)
    gamma = case.config.get(_GAMMA_KEY, GAMMA)
    return ContentionCase(case.name, network, tasks, changes, gamma, case.finish)


def _task(task: _Task, number: Mapping[str, int], where: str) -> FluidTask:
    size = len(task.hosts)
    for name, given, expected in (("cpu", task.cpu, size), ("com", task.com, size * size)):
        if given and len(given) != expected:
            raise InputError(f"{where}: {name} of task '{task.name}' has {len(given)} numbers, not {expected}")
    hosts = tuple(_known(host, number, where) for host in task.hosts)
    return FluidTask(task.name, task.start, hosts, tuple(task.cpu), tuple(task.com))


def _network(case: _Case, where: str) -> Network:
    """Every host is a group by itself: cases give a route for each ordered pair.

    Hosts without a route to themselves have one fat link in common.
    """
    platform = case.platform
    number = {host.name: at for at, host in enumerate(platform.hosts)}
    links = [Link(link.name, link.bandwidth, link.latency, link.sharing == "FATPIPE") for link in platform.links]
    position = {link.name: at for at, link in enumerate(links)}
    bandwidth, latency = (case.config.get(key, usual) for key, usual in _LOOP_KEYS.items())
    links.append(Link("__loopback__", bandwidth, latency, is_fat=True))
    between: dict[tuple[int, int], tuple[int, ...]] = {}
    for route in platform.routes:
        pair = _known(route.src, number, where), _known(route.dst, number, where)
        between[pair] = tuple(_known(link, position, where) for link in route.links)
    count = len(platform.hosts)
    return Network(
        hosts=tuple(Host(host.name, (host.speed,), cores=host.cores) for host in platform.hosts),
        links=tuple(links),
        group=tuple(range(count)),
        leaving=((),) * count,
        arriving=((),) * count,
        itself=tuple(between.get((at, at), (len(links) - 1,)) for at in range(count)),
        between=between,
    )


def _known(name: str, numbers: Mapping[str, int], where: str) -> int:
    if name not in numbers:
        raise InputError(f"{where}: no host or link is called '{name}'; known: {', '.join(numbers)}")
    return numbers[name]
