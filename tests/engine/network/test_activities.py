"""Components of activities: what is out of date is dealt out anew, however much happens at one instant."""

import numpy as np
import pytest
from tests.fluid_build import cluster

from unspool.engine.network.activities import drop_activity, settle, take_due
from unspool.engine.network.activity_heap import next_due
from unspool.engine.network.network_build import grow_sharing, routes_of, sharing_on
from unspool.engine.network.tasks import begin_task, clear_task, send
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


def send_over(sharing, routes, owner, source, target):
    clear_task(sharing, routes)
    assert send(sharing, routes, source, target, 1e6)
    return begin_task(sharing, routes, owner, 0, 0.0)


def start_sharing(sharing):
    """Let latencies pass."""
    assert take_due(sharing, next_due(sharing.rule, sharing.heap)) == -1


def test_a_host_and_its_links_are_one_bundle_and_a_backbone_is_another():
    network = cluster(3, backbone=1e9).network
    sharing = sharing_on(network, Contention())
    placed = {
        name: (int(bundle), int(lane))
        for name, bundle, lane in zip(
            [host.name for host in network.hosts] + [link.name for link in network.links],
            sharing.resources["bundle"], sharing.resources["lane"], strict=True,
        )
    }  # fmt: skip
    for at, host in enumerate(network.hosts):
        own = [network.links[link].name for link in (*network.leaving[at], *network.arriving[at])]
        assert [placed[name] for name in (host.name, *own)] == [(at, 0), (at, 1), (at, 2)]
    others = [placed[network.links[link].name] for link in network.between[0, 0]]
    assert others == [(3, 0)]
    assert len(sharing.bundles) == 4


def test_lanes_of_one_bundle_are_not_shared():
    # Host 0 computes, sends to 1 and gets from 2: three lanes of its bundle, and the backbone joins the messages only.
    network = cluster(3, backbone=1e9).network
    sharing = grow_sharing(sharing_on(network, Contention()), 16, 256)
    routes = routes_of(network, 1)
    computes = begin(sharing, routes, 0, 0, 1e9)
    sends = send_over(sharing, routes, 1, 0, 1)
    gets = send_over(sharing, routes, 2, 2, 0)
    start_sharing(sharing)
    leader = sharing.activities["leader"]
    assert leader[sends] == leader[gets] != leader[computes]
    drop_activity(sharing, sends, 0.0)
    settle(sharing, 0.0)
    assert sharing.activities["size"][leader[gets]] == 1


def test_messages_on_other_lanes_of_one_host_are_components_of_their_own():
    network = cluster(3).network
    sharing = grow_sharing(sharing_on(network, Contention()), 16, 256)
    routes = routes_of(network, 1)
    sends, gets = send_over(sharing, routes, 1, 0, 1), send_over(sharing, routes, 2, 2, 0)
    start_sharing(sharing)
    leader = sharing.activities["leader"]
    assert leader[sends] != leader[gets]
    third = send_over(sharing, routes, 3, 2, 1)  # shares the way up of 2, and the way down of 1
    start_sharing(sharing)
    assert leader[sends] == leader[gets] == leader[third]
    drop_activity(sharing, third, 0.0)
    settle(sharing, 0.0)
    assert leader[sends] != leader[gets]
