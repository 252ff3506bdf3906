"""Components of activities: what is out of date is dealt out anew, however much happens at one instant."""

import numpy as np
import pytest
from tests.fluid_build import cluster

from unspool.engine.activities import drop_activity, settle, take_due
from unspool.engine.due import next_due
from unspool.engine.tasks import begin_task, clear_task
from unspool.engine.wiring import grow_sharing, routes_of, sharing_on
from unspool.model.network import Contention


def begin(sharing, routes, owner, host, flops):
    clear_task(sharing, routes)
    routes.crew[0], routes.flops[0] = host, flops
    return begin_task(sharing, routes, owner, 1, 0.0)


def ends(sharing):
    """{owner: time} of all that is under way."""
    found, now = {}, 0.0
    while True:
        settle(sharing, now)
        now = next_due(sharing.rule, sharing.heap)
        if now == np.inf:
            return found
        while (owner := take_due(sharing, now)) >= 0:
            found[owner] = now


def test_tasks_keep_their_ends_while_others_come_and_go_at_one_instant():
    network = cluster(8).network
    sharing = grow_sharing(sharing_on(network, Contention()), 8, 64)
    routes = routes_of(network, 1)
    for host in range(4):
        begin(sharing, routes, host, host, (host + 1) * 1e9)
    for _ in range(5 * len(sharing.dirty)):  # each fills the list of what is out of date by one
        drop_activity(sharing, begin(sharing, routes, 99, 7, 1e9), 0.0)
    assert ends(sharing) == {0: 1.0, 1: 2.0, 2: 3.0, 3: 4.0}


def test_parts_of_a_component_that_falls_apart_are_all_dealt_out_anew():
    # Twenty tasks on ten hosts, two on each, that a task on all hosts holds together until it is dropped.
    network = cluster(10).network
    sharing = grow_sharing(sharing_on(network, Contention()), 64, 1024)
    routes = routes_of(network, 10)
    for at in range(20):
        begin(sharing, routes, at, at % 10, 1e9)
    clear_task(sharing, routes)
    routes.crew[:10], routes.flops[:10] = np.arange(10), 1e9
    over_all = begin_task(sharing, routes, 99, 10, 0.0)
    settle(sharing, 0.0)
    for _ in range(len(sharing.dirty) - 1):
        drop_activity(sharing, begin(sharing, routes, 98, 0, 1e9), 0.0)
    drop_activity(sharing, over_all, 0.0)
    assert ends(sharing) == {at: pytest.approx(2.0) for at in range(20)}
