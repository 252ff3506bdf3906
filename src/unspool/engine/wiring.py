"""From a network to the arrays that tasks are started on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unspool.engine.state import (
    ACTIVITY,
    BESIDE,
    CROWD,
    DUE,
    ELEMENT,
    NEVER,
    RESOURCE,
    SHARING,
    WAY,
    Array,
    Routes,
    Sharing,
    longer,
)
from unspool.engine.usage import BINS, LEAST_BIN_S
from unspool.model.network import Contention, Network

__all__ = ["grow_sharing", "routes_of", "sharing_on"]

_BLOCKS = 48
_ACTIVITIES = 64
_ELEMENTS = 1024


def sharing_on(network: Network, contention: Contention) -> Sharing:
    """Resources that nobody uses yet."""
    hosts, links = network.hosts, network.links
    resources = np.zeros(len(hosts) + len(links), RESOURCE)
    resources["first"] = resources["twin"] = -1
    of_host, of_link = resources[: len(hosts)], resources[len(hosts) :]
    of_host["speed"] = [host.speed for host in hosts]
    of_host["cores"] = [host.cores for host in hosts]
    of_host["capacity"] = of_host["speed"] * of_host["cores"]
    of_link["capacity"] = [link.bandwidth for link in links]
    of_link["is_fat"] = [link.is_fat for link in links]
    _pair_twins(network, resources)
    rule = np.zeros(1, SHARING)
    rule["clean"] = contention.sharing == "clean"
    rule["has_fat"] = of_link["is_fat"].any()
    rule["gamma"] = contention.tcp_gamma
    rule["hosts"] = len(hosts)
    rule["spare"] = -1
    rule["bin_s"] = LEAST_BIN_S if contention.records_use else 0.0
    rule["use_from"] = NEVER
    return Sharing(
        rule, resources, np.zeros(len(resources)), np.zeros(len(resources), np.int64), np.zeros(len(resources)),
        np.zeros(len(resources)), np.zeros(len(resources), np.int64), np.zeros(_ACTIVITIES, ACTIVITY),
        np.zeros(_ELEMENTS, ELEMENT), np.zeros(_ELEMENTS, np.uint32), np.zeros(_ELEMENTS, BESIDE),
        np.full(_BLOCKS, -1, np.int64), np.zeros(_ACTIVITIES, DUE), np.zeros(len(resources), np.uint32),
        np.zeros(len(resources), np.uint32),
        np.zeros(2 * _ACTIVITIES, np.int64), np.zeros(_ACTIVITIES + 1, np.int64),
        np.zeros((len(resources), BINS if contention.records_use else 0)),
    )  # fmt: skip


def _pair_twins(network: Network, resources: Array) -> None:
    """A host's one way out and its one way in, where they are of equal capacity and nobody else's."""
    first = len(network.hosts)
    uses = np.zeros(len(network.links), np.int64)
    for ways in (network.leaving, network.arriving):
        for way in ways:
            np.add.at(uses, list(way), 1)
    for way in network.between.values():
        np.add.at(uses, list(way), 2)
    for leaving, arriving in zip(network.leaving, network.arriving, strict=True):
        if len(leaving) == len(arriving) == 1 and leaving != arriving:
            up, down = first + leaving[0], first + arriving[0]
            if (
                uses[leaving[0]] == uses[arriving[0]] == 1
                and resources[up]["capacity"] == resources[down]["capacity"]
                and not resources[up]["is_fat"]
                and not resources[down]["is_fat"]
            ):
                resources[up]["twin"], resources[down]["twin"] = down, up


def routes_of(network: Network, most_executors: int) -> Routes:
    """Routes as lists of resources, and scratch for tasks of up to so many executors."""
    latency = np.array([link.latency for link in network.links])
    links: list[int] = []
    groups = max(network.group, default=-1) + 1
    between = np.zeros((groups, groups), WAY)
    between["count"] = -1
    leaving, arriving, itself = (
        _ways(parts, links, latency) for parts in (network.leaving, network.arriving, network.itself)
    )
    for (one, other), way in network.between.items():
        between[one, other] = _way(way, links, latency)
    count = len(network.hosts) + len(network.links)
    return Routes(
        np.array(network.group, np.int64), leaving, arriving, itself, between,
        np.array(links, np.int64) + len(network.hosts), np.zeros(count), np.zeros(len(network.links), np.int64),
        np.zeros(most_executors, np.int64), np.zeros(most_executors), np.zeros(len(network.hosts), np.int64),
        np.zeros(groups, CROWD), np.zeros(groups, np.int64),
    )  # fmt: skip


def _ways(parts: Sequence[tuple[int, ...]], links: list[int], latency: Array) -> Array:
    ways = np.zeros(len(parts), WAY)
    for at, part in enumerate(parts):
        ways[at] = _way(part, links, latency)
    return ways


def _way(part: tuple[int, ...], links: list[int], latency: Array) -> tuple[int, int, float]:
    first = len(links)
    links.extend(part)
    total = 0.0
    for link in part:
        total += float(latency[link])
    return first, len(part), total


def grow_sharing(sharing: Sharing, activities: int, elements: int) -> Sharing:
    """Room for so many more activities and elements; where one array grows, it doubles."""
    slots = int(sharing.rule[0]["slots"]) + activities
    if slots > len(sharing.activities):
        slots = max(slots, 2 * len(sharing.activities))
    top = int(sharing.rule[0]["top"]) + elements
    return sharing._replace(
        activities=longer(sharing.activities, slots),
        heap=longer(sharing.heap, slots),
        members=longer(sharing.members, 2 * slots),
        dirty=longer(sharing.dirty, slots + 1),
        elements=longer(sharing.elements, top),
        uses=longer(sharing.uses, top),
        beside=longer(sharing.beside, top),
    )
