"""Choosing machines, instances and workers: each episode is the run that everybody else makes."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.build import workload

from unspool.analysis.conformity import check_policy
from unspool.errors import InputError
from unspool.faces.dispatch.drive import Parts, simulation_of
from unspool.faces.dispatch.simdex import jobs_of
from unspool.model.cloud import Cloud, InstanceType
from unspool.model.platform import Platform
from unspool.platforms import read_platform
from unspool.results.run import run
from unspool.workloads.generators import lublin
from unspool.workloads.sample import read_recodex_sample
from unspool.workloads.transform import filter as kept

gymnasium = pytest.importorskip("gymnasium", reason="the environments need gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from unspool.rl import (  # noqa: E402
    Chooser,
    InstanceChoice,
    InstanceEnv,
    MachineChoice,
    MachineEnv,
    WorkerChooser,
    WorkerEnv,
)

GIB = 1 << 30
LOG = kept(lublin(300, 64, 0.9, 3), "cores <= 32")
SMALL = InstanceType("small", "a", 4, 4, 16 * GIB, on_demand_usd_per_hour=0.4, spot_usd_per_hour=0.1)
LARGE = InstanceType("large", "b", 32, 32, 128 * GIB, on_demand_usd_per_hour=3.0)
CLOUD = Platform((), cloud=Cloud((SMALL, LARGE), boot_s=60.0, idle_s=120.0), name="cloud")


def sometimes(seen, mask):
    """Any allowed action, decided by what is seen alone."""
    allowed = np.flatnonzero(mask)
    return int(allowed[int(seen.sum() * 1000.0) % len(allowed)])


def played(env, agent, **reset):
    seen, info = env.reset(**reset)
    paid, is_over = 0.0, False
    while not is_over:
        assert ((seen >= 0.0) & (seen <= 1.0)).all()
        seen, reward, is_over, _, info = env.step(agent(seen, info["action_mask"]))
        paid += reward
    return paid, info


def test_machines_are_chosen_as_in_a_run():
    env = MachineEnv(LOG, "8x8", jobs=60)
    check_env(env, skip_render_check=True)
    paid, _ = played(env, sometimes, seed=2)
    where = replace(read_platform("8x8"), selection="best")
    result = run(env.workload, where, Chooser(sometimes, MachineChoice()))
    assert result.attempts["start_time"].to_list() == env.engine.attempts["start"].tolist()
    assert -paid == pytest.approx(result.jobs["bounded_slowdown"].mean() - 1.0)
    assert check_policy(Chooser(sometimes, MachineChoice()), platform=replace(where, name="m"), workloads=5).ok


def test_each_way_to_choose_machines_is_an_action():
    # On two machines of four cores, two jobs of two: packed on the first, or spread over both.
    jobs = workload([(0, 9, 2, 9), (1, 9, 2, 9)])
    for action, machines in ((0, [[0], [0]]), (2, [[0], [1]]), (4, [[0, 1], [0, 1]])):
        env = MachineEnv(jobs, "2x4", jobs=2)
        _, info = env.reset()
        assert info["action_mask"].tolist() == [True] * 6 + [False] * 3  # two ask for a network
        env.step(action)
        env.step(action)
        rows = [
            env.engine.place.rows[int(one["first_row"]) : int(one["first_row"] + one["row_count"])]
            for one in env.engine.attempts
        ]
        held = [[m for row in part for m in range(row["first"], row["last"] + 1)] for part in rows]
        assert held == machines


def test_a_pool_has_no_machines_to_choose():
    with pytest.raises(InputError, match="an agent that chooses machines needs some"):
        MachineEnv(LOG, 64)


def test_instances_are_started_as_in_a_run_and_cost_what_they_cost():
    env = InstanceEnv(LOG, CLOUD, jobs=40, reward="cost")
    check_env(env, skip_render_check=True)
    paid, info = played(env, sometimes, seed=2)
    result = run(env.workload, CLOUD, Chooser(sometimes, InstanceChoice(2)))
    assert result.attempts["start_time"].to_list() == env.engine.attempts["start"].tolist()
    assert -paid == pytest.approx(info["figures"]["cost"])
    prices = {("small", "on-demand"): 0.4, ("small", "spot"): 0.1, ("large", "on-demand"): 3.0}
    instances = result.machines.filter(pl.col("start_time").is_not_null())
    bill = sum(
        prices[row["type"], row["plan"]] * (row["stop_time"] - row["start_time"]) / 3600.0
        for row in instances.iter_rows(named=True)
    )
    assert -paid == pytest.approx(bill)


def test_what_is_too_small_or_not_sold_so_is_masked():
    env = InstanceEnv(workload([(0, 3600, 8, 3600)]), CLOUD, jobs=1, reward="cost")
    _, info = env.reset()
    assert info["action_mask"].tolist() == [False, False, True, False, False]
    _, paid, terminated, _, _ = env.step(2)
    assert terminated
    assert paid == pytest.approx(-3.0 * (60 + 3600 + 120) / 3600)  # boot, run, idle


def test_workers_are_chosen_as_in_an_experiment():
    log, _ = read_recodex_sample()
    env = WorkerEnv(log, workers=[{"active": True, "limit": 30}, {"active": True}, {"active": False}], jobs=300)
    check_env(env, skip_render_check=True)
    paid, _ = played(env, sometimes, options={"window": (0, len(log))})
    workers = [{"active": True, "limit": 30}, {"active": True}, {"active": False}]
    outcome = simulation_of(Parts(WorkerChooser(sometimes)), workers).run(jobs_of(log), len(log))
    assert list(outcome.worker) == env.desk.jobs["worker"].tolist()
    assert list(outcome.start) == pytest.approx(env.desk.jobs["start"].tolist())
    waits = env.desk.jobs["start"] - env.desk.jobs["spawn"]
    run_times = env.desk.jobs["duration"]
    slowdowns = np.maximum((waits + run_times) / np.maximum(run_times, 10.0), 1.0)
    assert -paid == pytest.approx(slowdowns.mean() - 1.0)


def test_workers_that_are_always_there_earn_nothing_for_standing_idle():
    with pytest.raises(InputError, match="give weights to bounded_slowdown, log_slowdown and wait only"):
        WorkerEnv(reward="energy")
