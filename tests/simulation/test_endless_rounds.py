"""Rounds on fat links that never end, in SimGrid as here: they are reported, and the clean variant has none."""

import time

import numpy as np
import polars as pl
import pytest
from tests.fluid_build import cluster, fluid_jobs
from tests.golden.test_endless_sharing import A, B, C

from unspool import RunError, Workload
from unspool.engine.network.activities import settle, take_due
from unspool.engine.network.activity_heap import next_due
from unspool.engine.network.network_build import grow_sharing, routes_of, sharing_on
from unspool.engine.network.tasks import begin_task, clear_task, send
from unspool.model.network import Contention, Host, Link, Network
from unspool.model.platform import MachineGroup, MachineType, Platform
from unspool.model.profile import HomogeneousTask, Sequence, Task
from unspool.plugins import build
from unspool.results.run import run
from unspool.simulation.engine import Engine
from unspool.simulation.tasks import FluidTask, finish_times

# Two hosts with one fat link between them. The slow task closes at its bound of 1e-7 a second, with which it takes
# 1e-7 B/s of the link's 1e10: too little to change them. So the fast one, which has no other bound, rises for ever.
FAT = Network(
    (Host("a", (1e9,)), Host("b", (1e9,))), (Link("fat", 1e10, 0.0, is_fat=True),), (0, 0),
    ((), ()), ((), ()), ((), ()), {(0, 0): (0,)},
)  # fmt: skip
SLOW = FluidTask("slow", 0.0, (0, 1), (1e16, 0.0), (0.0, 1.0, 0.0, 0.0))
FAST = FluidTask("fast", 0.0, (0, 1), (), (0.0, 1e9, 0.0, 0.0))


def test_tasks_that_rise_for_ever_are_told():
    with pytest.raises(RunError, match=r"fat links .* rise for ever"):
        finish_times(FAT, [SLOW, FAST])


def test_the_clean_variant_has_a_fat_link_as_a_bound():
    assert finish_times(FAT, [SLOW, FAST], sharing="clean") == [1e7, 0.1]


def test_each_alone_ends():
    assert finish_times(FAT, [FAST]) == [0.1]
    assert finish_times(FAT, [SLOW]) == [1e7]


def test_a_run_that_meets_them_fails_and_says_so():
    platform = Platform((MachineGroup(MachineType("host", 2), 2),), network=FAT)
    profiles = {"slow": Task((1e16, 0.0), (0.0, 1.0, 0.0, 0.0)), "fast": Task((), (0.0, 1e9, 0.0, 0.0))}
    table = pl.DataFrame(
        {
            "job_id": ["1", "2"], "submit_time": [0.0, 0.0], "run_time": [0.0, 0.0], "walltime": [1e9, 1e9],
            "cores": [2, 2], "machines": [2, 2], "profile": ["slow", "fast"],
        }
    )  # fmt: skip
    jobs = Workload.of(table, profiles=profiles)
    with pytest.raises(RunError, match="--sharing clean"):
        run(jobs, platform, "fcfs")
    ends = run(jobs, platform, "fcfs", contention=Contention(sharing="clean")).jobs["finish_time"].to_list()
    assert ends == [1e7, 0.1]


# Three hosts on one fat link, with loopbacks: host 0 has one of its own, the others have the last link in common.
THREE = Network(
    tuple(Host(f"h{at}", (1e9,)) for at in range(3)),
    (Link("fat", 1.25e9, 0.0, is_fat=True), Link("own", 1e7, 5e-5, is_fat=True), Link("last", 1e10, 0.0, is_fat=True)),
    (0, 1, 2), ((),) * 3, ((),) * 3, ((1,), (2,), (2,)), {(p, q): (0,) for p in range(3) for q in range(3) if p != q},
)  # fmt: skip
SLOW_A = FluidTask("A", 0.0, (0, 1, 2), tuple(A["cpu"]), tuple(A["com"]))
FAST_B = FluidTask("B", 0.0, (0, 2), tuple(B["cpu"]), tuple(B["com"]))
SHORT_C = FluidTask("C", 0.0, (0, 2), tuple(C["cpu"]), tuple(C["com"]))


def test_that_a_link_loses_next_to_nothing_in_a_round_is_foreseen_at_once():
    with pytest.raises(RunError, match="more than 10 million rounds"):  # which compiles, where nobody did before
        finish_times(THREE, [SLOW_A, FAST_B, SHORT_C])
    began = time.process_time()
    with pytest.raises(RunError, match="more than 10 million rounds"):
        finish_times(THREE, [SLOW_A, FAST_B, SHORT_C])
    assert time.process_time() - began < 0.1


def test_a_million_rounds_are_made():
    assert finish_times(THREE, [SLOW_A, FAST_B]) == [9.802072167288706, 3.56934678821042e-05]


def test_rates_that_are_found_in_parts_are_those_that_are_found_at_once():
    def ends(has_a_turn):
        sharing = grow_sharing(sharing_on(cluster(4, backbone=3e8).network, Contention()), 64, 1024)
        routes = routes_of(cluster(4, backbone=3e8).network, 2)
        for at in range(12):  # each on two of the hosts, with other amounts
            clear_task(sharing, routes)
            routes.crew[:2], routes.flops[:2] = (at % 4, (at + 1 + at // 4) % 4), (1e9 + 3e8 * at, 5e8 * (at % 3))
            assert send(sharing, routes, int(routes.crew[0]), int(routes.crew[1]), 1e7 * (at + 1))
            slot = begin_task(sharing, routes, at, 2, 0.0)
            sharing.activities[slot]["worth"] = has_a_turn["worth"] * (at + 1)
        found, turns, now = {}, 0, 0.0
        while now < np.inf:
            while True:
                if has_a_turn["often"]:  # as if a second had begun since the last round
                    sharing.rule[0]["work"], sharing.rule[0]["second"] = 1 << 60, 0
                if settle(sharing, now):
                    break
                turns += 1
            now = next_due(sharing.rule, sharing.heap)
            while (owner := take_due(sharing, now)) >= 0:
                found[owner] = now
        return found, turns

    for worth in (0.0, 1e3):  # by rounds, and by level
        at_once, in_parts = (ends({"worth": worth, "often": often}) for often in (False, True))
        assert at_once[1] == 0
        assert in_parts[1] > 12
        assert at_once[0] == in_parts[0]
        assert len(at_once[0]) == 12


def test_a_turn_of_python_amid_an_instant_changes_nothing():
    profiles = {
        "none": HomogeneousTask(0.0, 0.0),
        "some": HomogeneousTask(1e9, 1e7),
        "steps": Sequence(("none",), repeat=500),
        "mix": Sequence(("steps", "some", "steps"), repeat=2),
    }
    rows = [(at // 4, 1 + at % 3, None, ("steps", "mix", "some")[at % 3]) for at in range(30)]
    jobs, where = fluid_jobs(rows, profiles), cluster(6, backbone=3e7)
    turns = []

    def has_a_turn(engine):
        turns.append(engine.now)
        engine.core.course[0]["second"] = engine.state.fluid.sharing.rule[0]["second"] = 0

    def journal(progress):
        engine = Engine(jobs, where)
        engine.run(build("schedulers", "filler"), (lambda done, total: progress(engine)) if progress else None)
        return engine.attempts.tobytes()

    assert journal(has_a_turn) == journal(None)
    assert len(turns) > 200
