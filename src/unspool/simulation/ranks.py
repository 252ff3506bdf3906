"""A trace of SMPI on a network without jobs or schedulers: all ranks begin at 0, and each ends when its last action is
over."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.state import NEVER, Array, Mpi, Routes, Sharing
from unspool.engine.kernel.turns import is_out_of_breath
from unspool.engine.network.activities import settle, take_due
from unspool.engine.network.activity_heap import next_due
from unspool.engine.network.network_build import grow_sharing, refuse_endless, routes_of, sharing_on
from unspool.engine.programs.messages import ENDED
from unspool.engine.programs.replay import NO_SPACE, NO_WAY, TIRED, begin_replay, go_on, has_ready, take_up
from unspool.engine.programs.traces import grow_mpi, mpi_of
from unspool.errors import InputError
from unspool.model.network import TCP_GAMMA, Contention, Network
from unspool.workloads.smpi_traces import SmpiTrace

__all__ = ["rank_ends"]

_OVER, _SHORT, _NO_ROUTE, _PAUSED = 0, 1, 2, 3
_LOOKS_AT_CLOCK = 63  # after so many activities and one more


def rank_ends(
    network: Network,
    trace: SmpiTrace,
    hosts: Sequence[int],
    *,
    smpi_network: str = "batsim",
    sharing: str = "simgrid",
    gamma: float = TCP_GAMMA,
) -> list[float]:
    """When each rank ends, infinite where it waits for ever; rank r is on host `hosts[r]`.

    The other settings are those of `Contention`.
    """
    if len(hosts) != trace.ranks:
        raise InputError(f"{trace.path}: has {trace.ranks} ranks, and {len(hosts)} hosts are given; expected one each")
    rules = Contention(sharing, gamma, smpi_network=smpi_network)
    routes, flowing = routes_of(network, 2), sharing_on(network, rules)
    elements = len(network.links) + 2
    flowing = grow_sharing(flowing, 1, 2 * elements)
    mpi = mpi_of([trace], smpirun=smpi_network == "smpirun")
    begin_replay(mpi, 0, 0)
    mpi.ranks["host"][: trace.ranks] = hosts
    mpi.ranks["end"] = NEVER
    now = np.zeros(1)
    while (status := _run(flowing, routes, mpi, now, elements)) in (_SHORT, _PAUSED):
        refuse_endless(flowing)
        if status == _SHORT:
            flowing, mpi = grow_sharing(flowing, 1, 2 * elements), grow_mpi(mpi)
    if status == _NO_ROUTE:
        raise InputError(
            f"{trace.path}: two ranks exchange messages, but their hosts have no route; give them one, or "
            "read the platform with missing_routes='free'"
        )
    return [float(time) for time in mpi.ranks["end"][: trace.ranks]]


@compiled
def _run(sharing: Sharing, routes: Routes, mpi: Mpi, clock: Array, elements: int) -> int:
    """Let everything happen, from the time on the clock on, until nothing is left or an array is full.

    `_PAUSED` where Python must have a turn, or there are no rates.
    """
    turns = 0
    while True:
        turns += 1
        if turns & _LOOKS_AT_CLOCK == 0 and is_out_of_breath(sharing.rule):
            return _PAUSED
        while has_ready(mpi):
            came, _ = go_on(sharing, routes, mpi, clock[0], elements)
            if came == NO_SPACE:
                return _SHORT
            if came == TIRED:
                return _PAUSED
            if came == NO_WAY:
                return _NO_ROUTE
            if came == ENDED:
                return _OVER
        owner = take_due(sharing, clock[0])
        if owner >= 0:
            take_up(mpi, owner)
            continue
        if not settle(sharing, clock[0]) or sharing.rule[0]["endless"] != 0:
            return _PAUSED
        due = next_due(sharing.rule, sharing.heap)
        if due == NEVER:
            return _OVER
        clock[0] = due
