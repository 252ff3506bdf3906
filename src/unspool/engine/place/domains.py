"""Parts of a network whose machines reach one another without what leads out of them, and which of them a job gets.

A part is what hangs on one switch: an innermost zone of a SimGrid platform, the machines of a switch in our own files,
or, where a network says neither, the hosts that leave it by the same links. A job is put into one part if any has room
for it, into the one with the least room; else into as few as will do, those with the most room first and the last one
as before. Between parts with as much room the one decides where fewer units are of running jobs that are elsewhere
too, for those use what leads out of it; then the first. With `local` a job waits until it needs no more parts than on
the empty platform. A job of a partition that is local waits until one part has room, whatever the selection.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import Array
from unspool.engine.place.shapes import Asked, capacity_of, consumable_names
from unspool.model.platform import Platform
from unspool.units import counted

__all__ = ["domains_of", "fewest_parts", "local_shapes", "next_domain", "note_spanning", "within_parts"]


def domains_of(platform: Platform) -> Array:
    """The number of the part of the network that each machine is in; all are in one where the network tells no parts.

    >>> domains_of(Platform.pool(4)).tolist()
    [0]
    """
    network, count = platform.network, platform.machine_count
    if network is None:
        return np.zeros(count, np.int64)
    keys: Sequence[Hashable] = [host.zone for host in network.hosts[:count]]
    if len(set(keys)) == 1:
        # The first link is a host's own; what follows it is shared by those on the same switch.
        keys = [(network.group[host], network.leaving[host][1:]) for host in range(count)]
        if len(set(keys)) == count:
            return np.zeros(count, np.int64)
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)


def local_shapes(asked: Asked, platform: Platform) -> Array:
    """Which shapes must be in one part of the network, as their partition says; none where all machines are in one."""
    default = next((partition.local for partition in platform.partitions if partition.default), False)
    says_so: Array = np.array([default, *(partition.local for partition in platform.partitions)])[asked.partition]
    return says_so if says_so.any() and domains_of(platform).any() else np.zeros_like(says_so)


def within_parts(asked: Asked, platform: Platform) -> Asked:
    """The shapes, of which those say why they can never run that must be in one part and fit into none."""
    local = local_shapes(asked, platform)
    if not local.any():
        return asked
    most = _room_in_parts(asked, platform).max(axis=1)
    unusable = list(asked.unusable)
    for shape in np.flatnonzero(local & (most < asked.units)).tolist():
        what = counted(int(asked.units[shape]), "machine" if asked.distinct[shape] else "unit")
        most_told = f"an empty one has room for {most[shape]:,} at most"
        unusable[shape] = unusable[shape] or f"asks for {what} in one part of the network; {most_told}"
    return replace(asked, unusable=tuple(unusable))


def fewest_parts(asked: Asked, platform: Platform) -> Array:
    """How many parts of the empty network each shape needs, at least 1; those that fit nowhere do not matter."""
    room = _room_in_parts(asked, platform)
    in_all = np.cumsum(-np.sort(-room, axis=1), axis=1)
    needed: Array = np.minimum((in_all < asked.units[:, None]).sum(axis=1) + 1, room.shape[1])
    return needed


def _room_in_parts(asked: Asked, platform: Platform) -> Array:
    """How many units of each shape fit into each part of the empty network."""
    domains = domains_of(platform)
    groups = np.repeat(np.arange(len(platform.groups)), [group.count for group in platform.groups])
    counts = np.zeros((len(platform.groups), int(domains.max(initial=0)) + 1), np.int64)
    np.add.at(counts, (groups, domains), 1)
    capacity = np.array([capacity_of(group.machine, consumable_names(platform)) for group in platform.groups])
    with np.errstate(divide="ignore", invalid="ignore"):
        fit = np.where(asked.need[:, None, :] > 0, capacity[None] // asked.need[:, None, :], np.inf).min(axis=2)
    fit = np.minimum(fit, np.where(asked.distinct, 1, asked.units)[:, None]) * asked.allowed[asked.partition]
    room: Array = fit.astype(np.int64) @ counts
    return room


@inlined
def next_domain(domains: Array, wanted: int) -> int:
    """The part of the network that a job with so many units yet to be placed goes on in; -1 where none has room."""
    best = -1
    for domain in range(len(domains)):
        room = domains[domain]["room"]
        if room > 0 and best < 0:
            best = domain
        elif room > 0:
            other = domains[best]["room"]
            if (room >= wanted) != (other >= wanted):
                is_better = room >= wanted
            elif room != other:
                is_better = (room < other) == (room >= wanted)
            else:
                is_better = domains[domain]["load"] < domains[best]["load"]
            if is_better:
                best = domain
    return best


@compiled
def note_spanning(domains: Array | None, machines: Array, rows: Array, first: int, count: int, sign: int) -> None:
    """A job takes (1) or leaves (-1) machines: one that is in several parts of the network is load on each."""
    if domains is None:
        return
    if count == 0:
        return
    home = machines[rows[first]["first"]]["domain"]
    spans = False
    for row in range(first, first + count):
        for machine in range(rows[row]["first"], rows[row]["last"] + 1):
            if machines[machine]["domain"] != home:
                spans = True
    if not spans:
        return
    for row in range(first, first + count):
        for machine in range(rows[row]["first"], rows[row]["last"] + 1):
            domains[machines[machine]["domain"]]["load"] += sign * rows[row]["units"]
