"""From flops and bytes to what a task takes of each resource.

Bytes are summed up by link when a task is made. For equal messages between all executors that needs the number of
executors on each host and in each group of hosts only; other tasks sum up their messages one by one.
"""

from __future__ import annotations

from typing import Any

from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.simd import as_bits, load, same, store
from unspool.engine.kernel.state import NEVER, Array, Routes, Sharing
from unspool.engine.network.activities import LATENT, block_of, new_slot, start_flow

__all__ = ["NO_WORK", "begin_task", "clear_task", "send", "send_to_all"]

NO_WORK = -1


@inlined
def clear_task(sharing: Sharing, routes: Routes) -> None:
    """Nothing is asked for yet by the task in the making."""
    rule, load = sharing.rule, routes.load
    for at in range(rule[0]["touched"]):
        load[routes.touched[at]] = 0.0
    rule[0]["touched"] = 0
    rule[0]["latency"] = 0.0
    rule[0]["window"] = 0.0


@compiled
def _load(
    rule: Array, resources: Array, links: Array, load: Array, touched: Array,
    first: int, count: int, total: float, largest: float,
) -> None:  # fmt: skip
    """Put bytes on links of a route: the sum on those that are shared, the largest message on fat ones."""
    for at in range(first, first + count):
        link = links[at]
        if load[link] == 0.0:
            touched[rule[0]["touched"]] = link
            rule[0]["touched"] += 1
        if resources[link]["is_fat"] != 0:
            load[link] = max(load[link], largest)
        else:
            load[link] += total


@inlined
def _note_latency(rule: Array, latency: float, largest: float) -> None:
    rule[0]["latency"] = max(rule[0]["latency"], latency)
    rule[0]["window"] = max(rule[0]["window"], latency * largest)


@inlined
def _load_way(sharing: Sharing, routes: Routes, way: Any, total: float, largest: float) -> None:
    """Put bytes on the links of a part of a route. A call copies what it passes: it is given no more than it needs."""
    _load(
        sharing.rule, sharing.resources, routes.links, routes.load, routes.touched,
        way["first"], way["count"], total, largest,
    )  # fmt: skip


@compiled
def send(sharing: Sharing, routes: Routes, source: int, target: int, amount: float) -> bool:
    """A message from a host to another, or to itself; False where there is no way."""
    leaving, arriving, between = routes.leaving, routes.arriving, routes.between
    if source == target:
        if routes.itself[source]["count"] < 0:
            return False
        _load_way(sharing, routes, routes.itself[source], amount, amount)
        _note_latency(sharing.rule, routes.itself[source]["latency"], amount)
        return True
    one, other = routes.group[source], routes.group[target]
    if between[one, other]["count"] < 0:
        return False
    _load_way(sharing, routes, leaving[source], amount, amount)
    _load_way(sharing, routes, between[one, other], amount, amount)
    _load_way(sharing, routes, arriving[target], amount, amount)
    latency = leaving[source]["latency"] + between[one, other]["latency"] + arriving[target]["latency"]
    _note_latency(sharing.rule, latency, amount)
    return True


@compiled
def send_to_all(sharing: Sharing, routes: Routes, count: int, amount: float) -> bool:
    """The same message from each executor to each other; False where there is no way."""
    found = _count_executors(routes, count)
    has_way = True
    for at in range(count):
        has_way = _send_of_host(sharing, routes, routes.crew[at], count, amount) and has_way
    for at in range(found):
        for k in range(found):
            has_way = _send_between(sharing, routes, routes.groups[at], routes.groups[k], amount) and has_way
    for at in range(found):
        routes.crowds[routes.groups[at]]["executors"] = 0
    return has_way


@inlined
def _count_executors(routes: Routes, count: int) -> int:
    """Count executors by host and by group; returns how many groups have some."""
    crowds = routes.crowds
    found = 0
    for at in range(count):
        host = routes.crew[at]
        routes.tally[host] += 1
        group = routes.group[host]
        if crowds[group]["executors"] == 0:
            crowds[group]["squares"] = 0
            crowds[group]["out"] = crowds[group]["home"] = -1.0
            crowds[group]["pair_out"] = crowds[group]["pair_home"] = 0.0
            routes.groups[found] = group
            found += 1
        crowds[group]["executors"] += 1
    return found


@inlined
def _send_of_host(sharing: Sharing, routes: Routes, host: int, count: int, amount: float) -> bool:
    """Load the links of a host itself, once: with what its executors send to others, and get, and tell one another."""
    here = routes.tally[host]
    if here == 0:
        return True
    routes.tally[host] = 0
    routes.crowds[routes.group[host]]["squares"] += here * here
    _note_host(routes.crowds, routes.group[host], routes.leaving[host]["latency"], routes.arriving[host]["latency"])
    if here < count:
        outside = amount * (here * (count - here))
        _load_way(sharing, routes, routes.leaving[host], outside, amount)
        _load_way(sharing, routes, routes.arriving[host], outside, amount)
    if here > 1:
        if routes.itself[host]["count"] < 0:
            return False
        _load_way(sharing, routes, routes.itself[host], amount * (here * (here - 1)), amount)
        _note_latency(sharing.rule, routes.itself[host]["latency"], amount)
    return True


@inlined
def _note_host(crowds: Array, group: int, out: float, home: float) -> None:
    """Note the latencies of one more host of a group: the slowest ways, and the slowest from a host to another."""
    if crowds[group]["out"] >= 0.0:
        if out + crowds[group]["home"] > crowds[group]["pair_out"] + crowds[group]["pair_home"]:
            crowds[group]["pair_out"] = out
            crowds[group]["pair_home"] = crowds[group]["home"]
        if crowds[group]["out"] + home > crowds[group]["pair_out"] + crowds[group]["pair_home"]:
            crowds[group]["pair_out"] = crowds[group]["out"]
            crowds[group]["pair_home"] = home
    crowds[group]["out"] = max(crowds[group]["out"], out)
    crowds[group]["home"] = max(crowds[group]["home"], home)


@compiled
def _send_between(sharing: Sharing, routes: Routes, one: int, other: int, amount: float) -> bool:
    """Load the links between two groups, or within one."""
    crowds, between = routes.crowds, routes.between
    pairs = crowds[one]["executors"] * crowds[other]["executors"]
    if one == other:
        pairs -= crowds[one]["squares"]
    if pairs == 0:
        return True
    if between[one, other]["count"] < 0:
        return False
    _load_way(sharing, routes, between[one, other], amount * pairs, amount)
    out, home = crowds[one]["out"], crowds[other]["home"]
    if one == other:
        out, home = crowds[one]["pair_out"], crowds[one]["pair_home"]
    _note_latency(sharing.rule, out + between[one, other]["latency"] + home, amount)
    return True


@compiled
def begin_task(sharing: Sharing, routes: Routes, owner: int, count: int, now: float) -> int:
    """Start the task in the making on its executors, for which there is room; returns its slot, or `NO_WORK`."""
    rule, activities, resources = sharing.rule, sharing.activities, sharing.resources
    is_plain = 1
    shared = fat = 0
    wire_bound = NEVER
    if rule[0]["window"] > 0.0:
        wire_bound = rule[0]["gamma"] / (2.0 * rule[0]["window"])
    rule[0]["mark"] += 1
    for at in range(count):
        if routes.flops[at] > 0.0:
            shared += 1
            if sharing.bundles[routes.crew[at]]["mark"] == rule[0]["mark"]:
                is_plain = 0
            sharing.bundles[routes.crew[at]]["mark"] = rule[0]["mark"]
    for at in range(rule[0]["touched"]):
        link = routes.touched[at]
        bundle = resources[link]["bundle"]
        if resources[link]["is_fat"] == 0:
            if sharing.bundles[bundle]["mark"] != rule[0]["mark"]:
                sharing.bundles[bundle]["mark"] = rule[0]["mark"]
                shared += 1
        elif rule[0]["clean"] != 0:  # a fat link is no more than a bound
            wire_bound = min(wire_bound, sharing.capacity[bundle, 0] / routes.load[link])
        else:
            fat += 1
    if shared + fat == 0 and wire_bound == NEVER:
        return NO_WORK
    first = _new_block(rule, sharing.beside, sharing.blocks, shared + fat)
    slot = new_slot(rule, activities, LATENT, owner)
    activities[slot]["element"] = first
    activities[slot]["shared"] = shared
    activities[slot]["elements"] = shared + fat
    activities[slot]["wire_bound"] = wire_bound
    activities[slot]["is_plain"] = is_plain
    _write_elements(sharing, routes, count, first, shared)
    _mark_runs(rule, sharing.weights, sharing.runs, sharing.uses, sharing.beside, first, first + shared)
    _mark_runs(rule, sharing.weights, sharing.runs, sharing.uses, sharing.beside, first + shared, first + shared + fat)
    start_flow(sharing, slot, now, rule[0]["latency"])
    return slot


@inlined
def _new_block(rule: Array, beside: Array, blocks: Array, count: int) -> int:
    """Room for so many elements in a row."""
    kind = block_of(count)
    first: int = blocks[kind]
    if first >= 0:
        blocks[kind] = beside[first]["next"]
    else:
        first = rule[0]["top"]
        rule[0]["top"] = first + (1 << kind)
    return first


@inlined
def _write_elements(sharing: Sharing, routes: Routes, count: int, first: int, shared: int) -> None:
    """Write what a task takes: of bundles, then of fat links.

    What an executor computes is an element each; what the task sends over links of a bundle goes with the first of
    them there, or is an element of its own.
    """
    rule, weights, uses, resources = sharing.rule, sharing.weights, sharing.uses, sharing.resources
    rule[0]["mark"] += 1
    k, fat = first, first + shared
    for at in range(count):
        if routes.flops[at] > 0.0:
            _add_element(sharing, k, routes.crew[at])
            weights[k, 0] = routes.flops[at]
            k += 1
    for at in range(rule[0]["touched"]):
        link = routes.touched[at]
        bundle = resources[link]["bundle"]
        if resources[link]["is_fat"] == 0:
            if sharing.bundles[bundle]["mark"] != rule[0]["mark"]:
                _add_element(sharing, k, bundle)
                k += 1
            weights[sharing.bundles[bundle]["spot"], resources[link]["lane"]] = routes.load[link]
        elif rule[0]["clean"] == 0:
            store(weights, fat, same(0.0))
            uses[fat] = bundle
            weights[fat, 0] = routes.load[link]
            fat += 1


@inlined
def _add_element(sharing: Sharing, element: int, bundle: int) -> None:
    """An element that takes nothing yet; the first on a bundle is remembered there."""
    store(sharing.weights, element, same(0.0))
    sharing.uses[element] = bundle
    if sharing.bundles[bundle]["mark"] != sharing.rule[0]["mark"]:
        sharing.bundles[bundle]["mark"] = sharing.rule[0]["mark"]
        sharing.bundles[bundle]["spot"] = element


@inlined
def _mark_runs(rule: Array, weights: Array, runs: Array, uses: Array, beside: Array, first: int, last: int) -> None:
    """Say at the first of neighbours that weigh the same how many they are, and of all in which lanes they do.

    Hosts and other links are not neighbours: what a host computes bounds the rate, and is in the same lane.
    """
    hosts = rule[0]["hosts"]
    start = first
    for k in range(first, last):
        if not _weighs_the_same(weights, k, start) or (uses[k] < hosts) != (uses[start] < hosts):
            start = k
        runs[start] = k - start + 1
        beside[k]["lanes"] = as_bits(load(weights, k))


@inlined
def _weighs_the_same(weights: Array, one: int, other: int) -> bool:
    return bool(
        weights[one, 0] == weights[other, 0]
        and weights[one, 1] == weights[other, 1]
        and weights[one, 2] == weights[other, 2]
        and weights[one, 3] == weights[other, 3]
    )
