"""From a network to the arrays that tasks are started on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unspool.engine.kernel.simd import LANES, rows_of_lanes
from unspool.engine.kernel.state import NEVER, Array, Routes, Sharing, longer
from unspool.engine.network.records import ACTIVITY, BESIDE, BUNDLE, CROWD, DUE, RESOURCE, SHARING, WAY
from unspool.engine.network.usage import BINS, LEAST_BIN_S
from unspool.errors import RunError
from unspool.model.network import Contention, Network

__all__ = ["grow_sharing", "refuse_endless", "routes_of", "sharing_on"]

_BLOCKS = 48
_ACTIVITIES = 64
_ELEMENTS = 1024


def sharing_on(network: Network, contention: Contention) -> Sharing:
    """Resources that nobody uses yet."""
    hosts, links = network.hosts, network.links
    resources = np.zeros(len(hosts) + len(links), RESOURCE)
    of_host, of_link = resources[: len(hosts)], resources[len(hosts) :]
    of_host["speed"] = [host.speed for host in hosts]
    of_host["cores"] = [host.cores for host in hosts]
    of_link["is_fat"] = [link.is_fat for link in links]
    count = _place(network, resources)
    bundles = np.zeros(count, BUNDLE)
    bundles["first"] = -1
    bundles["is_fat"][of_link["bundle"]] = of_link["is_fat"]
    capacity, using, left, users, share, stale = (rows_of_lanes(count) for _ in range(6))
    capacity[of_host["bundle"], of_host["lane"]] = of_host["speed"] * of_host["cores"]
    capacity[of_link["bundle"], of_link["lane"]] = [link.bandwidth for link in links]
    rule = np.zeros(1, SHARING)
    rule["clean"] = contention.sharing == "clean"
    rule["has_fat"] = of_link["is_fat"].any()
    rule["gamma"] = contention.tcp_gamma
    rule["hosts"] = len(hosts)
    rule["spare"] = -1
    rule["bin_s"] = LEAST_BIN_S if contention.records_use else 0.0
    rule["use_from"] = NEVER
    return Sharing(
        rule, resources, bundles, capacity, using, left, users, share, stale,
        np.zeros(_ACTIVITIES, ACTIVITY),
        np.zeros((_ELEMENTS, LANES)), np.zeros(_ELEMENTS, np.int64), np.zeros(_ELEMENTS, np.uint32),
        np.zeros(_ELEMENTS, BESIDE), np.full(_BLOCKS, -1, np.int64), np.zeros(_ACTIVITIES, DUE),
        np.zeros(count, np.uint32), np.zeros(count, np.uint32),
        np.zeros(2 * _ACTIVITIES, np.int64), np.zeros(_ACTIVITIES + 1, np.int64),
        np.zeros((count * LANES, BINS if contention.records_use else 0)),
    )  # fmt: skip


def _place(network: Network, resources: Array) -> int:
    """Say where each resource is dealt out; returns in how many bundles.

    A host takes the first lane of its own bundle, and links of its ways out and in that can be shared the others, for
    tasks mostly use those together. Who else uses such a link does not matter.
    """
    hosts = len(network.hosts)
    resources["bundle"][:hosts] = np.arange(hosts)
    resources["bundle"][hosts:] = -1
    for host, ways in enumerate(zip(network.leaving, network.arriving, strict=True)):
        lane = 1
        for link in (hosts + link for way in ways for link in way):
            if lane < LANES and resources[link]["bundle"] < 0 and not resources[link]["is_fat"]:
                resources[link]["bundle"], resources[link]["lane"] = host, lane
                lane += 1
    elsewhere = np.flatnonzero(resources["bundle"] < 0)
    resources["bundle"][elsewhere] = hosts + np.arange(len(elsewhere))
    return hosts + len(elsewhere)


def routes_of(network: Network, most_executors: int) -> Routes:
    """Routes as lists of resources, and scratch for tasks of up to so many executors."""
    latency = np.array([link.latency for link in network.links])
    links: list[int] = []
    groups = max(network.group, default=-1) + 1
    between = np.zeros((groups, groups), WAY)
    between["count"] = 0 if network.missing_is_free else -1
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
        weights=longer(sharing.weights, top),
        runs=longer(sharing.runs, top),
        uses=longer(sharing.uses, top),
        beside=longer(sharing.beside, top),
    )


def refuse_endless(sharing: Sharing) -> None:
    """Complain of rates that could not be found."""
    if sharing.rule[0]["endless"] != 0:
        raise RunError(
            "tasks on fat links (FATPIPE) rise for ever, or for more than 10 million rounds, because a slow task takes "
            "next to nothing of a link; SimGrid does not end either. "
            "Use the clean variant (--sharing clean, Contention(sharing='clean'))."
        )
