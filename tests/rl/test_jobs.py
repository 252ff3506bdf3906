"""Choosing the next job: what is seen, what is paid, and that it is the run that `unspool.run` makes."""

import math

import numpy as np
import pytest
from tests.build import workload

from unspool.analysis.conformity import check_policy
from unspool.errors import InputError, RunError
from unspool.results.run import run
from unspool.simulation.choosing import GLOBALS, PER_JOB
from unspool.simulation.engine import Engine
from unspool.workloads.generators import lublin

gymnasium = pytest.importorskip("gymnasium", reason="the environments need gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from unspool.rl import Chooser, JobChoice, JobEnv, JobVectorEnv, Reward, Windows  # noqa: E402

LOG = lublin(600, 64, 0.9, 3)
# On four cores: a runs 0-10 on three; b needs all four; c and d need one.
THREE = workload([(0, 10, 3, 10), (1, 20, 4, 20), (2, 100, 1, 100), (3, 5, 1, 5)])


def shortest(seen, mask):
    """The shortest of the jobs that fit, by estimate."""
    estimates = seen[GLOBALS:].reshape(-1, PER_JOB)[:, 3]
    return int(np.where(mask[:-1], estimates, 2.0).argmin())


def sometimes(seen, mask):
    """Any allowed action, one after the other, decided by what is seen alone."""
    allowed = np.flatnonzero(mask)
    return int(allowed[int(seen.sum() * 1000.0) % len(allowed)])


def played(env, agent, **reset):
    """What an agent is paid in all, how often it chose, and the last info."""
    seen, info = env.reset(**reset)
    paid, steps, is_over = 0.0, 0, False
    while not is_over:
        seen, reward, terminated, truncated, info = env.step(agent(seen, info["action_mask"]))
        paid, steps, is_over = paid + reward, steps + 1, terminated or truncated
    return paid, steps, info


@pytest.mark.parametrize("platform", [64, "8x8"])
def test_gymnasium_finds_nothing_wrong(platform):
    check_env(JobEnv(LOG, platform, window=8, jobs=20), skip_render_check=True)


def test_what_is_seen_and_allowed_is_this():
    env = JobEnv(THREE, 4, window=3, jobs=4)
    seen, info = env.reset()
    assert info["time"] == 0.0
    assert info["action_mask"].tolist() == [True, False, False, False]  # nothing runs, so nobody may wait
    assert seen[0] == 1.0
    seen, _, terminated, _, info = env.step(0)
    assert info["time"] == 2.0  # at 1 came b, which does not fit: nobody is asked
    assert not terminated
    assert info["action_mask"].tolist() == [False, True, False, True]
    assert seen[0] == pytest.approx(1 / 4)
    assert seen[3] == pytest.approx(8 / 3608)  # b can start at 10, in 8 s
    head, short = seen[GLOBALS : GLOBALS + PER_JOB], seen[GLOBALS + PER_JOB : GLOBALS + 2 * PER_JOB]
    assert head[[0, 1, 2, 6, 7]].tolist() == [1.0, 0.0, 1.0, 1.0, 1.0]
    assert short[[0, 1, 2, 6]].tolist() == [1.0, 1.0, 0.25, 0.0]  # c would hold b up
    assert short[7] == pytest.approx(math.log(2) / math.log(5))  # one core of four
    assert seen[GLOBALS + 2 * PER_JOB :].tolist() == [0.0] * PER_JOB


def test_waiting_lets_the_next_job_come_and_it_may_be_chosen():
    env = JobEnv(THREE, 4, window=3, jobs=4)
    env.reset()
    env.step(0)
    _, paid, _, _, info = env.step(3)
    assert info["time"] == 3.0
    assert info["action_mask"].tolist() == [False, True, True, True]
    assert paid == pytest.approx(-((3 - 1) / 20 - (2 - 1) / 20 + 1 / 100) / 4)  # b and c waited a second
    env.step(2)
    assert [(int(job), float(start)) for job, start in env.engine.attempts[["job", "start"]]] == [(0, 0.0), (3, 3.0)]


@pytest.mark.parametrize("agent", [shortest, sometimes])
@pytest.mark.parametrize("platform", [64, "8x8"])
def test_an_episode_is_the_journal_of_a_run_and_its_rewards_are_the_figures_of_that(agent, platform):
    env = JobEnv(LOG, platform, window=16, jobs=150)
    paid, _, info = played(env, agent, seed=5)
    result = run(env.workload, platform, Chooser(agent, JobChoice(16)))
    attempts = env.engine.attempts
    assert result.attempts["start_time"].to_list() == attempts["start"].tolist()
    assert result.attempts["job_id"].to_list() == [env.engine.id_of(int(job)) for job in attempts["job"]]
    assert -paid == pytest.approx(result.jobs["bounded_slowdown"].mean() - 1.0)
    assert info["figures"]["wait"] * 3600 == pytest.approx(result.jobs["wait_time"].mean())


def test_the_logarithm_of_slowdown_is_paid_as_it_grows():
    # On one core: a runs from 0 to 20, b waits from 0 to 20 and runs for 10 s: its slowdown is 3.
    env = JobEnv(workload([(0, 20, 1, 20), (0, 10, 1, 10)]), 1, reward="log_slowdown", jobs=2, window=2)
    env.reset()
    _, paid, _, _, _ = env.step(0)
    assert paid == pytest.approx(-math.log(3) / 2)
    _, paid, terminated, _, info = env.step(0)
    assert terminated
    assert paid == 0.0
    assert info["figures"]["log_slowdown"] == pytest.approx(math.log(3) / 2)


@pytest.mark.parametrize("platform", [64, "8x8"])
def test_a_window_that_is_cut_from_the_log_runs_as_one_that_is_set_up_alone(platform):
    windows = JobEnv(LOG, platform, window=16, jobs=120).windows
    for window in ((0, 120), (37, 120)):
        cut, alone = windows.engine(window), Engine(windows.workload(window), windows.platform)
        for engine in (cut, alone):
            engine.run(Chooser(sometimes, JobChoice(16)))
        assert cut.attempts.tolist() == alone.attempts.tolist()
        assert [cut.id_of(job) for job in range(120)] == windows.workload(window).table["job_id"].to_list()


def test_rewards_of_cores_are_idle_hours_dollars_and_kilowatt_hours():
    # One job of one core for an hour on two cores: half of it idle.
    mix = {"utilisation": 1, "cost": 1, "energy": 1, "usd_per_core_hour": 3, "idle_w_per_core": 100,
           "busy_w_per_core": 400}  # fmt: skip
    env = JobEnv(workload([(0, 3600, 1, 3600)]), 2, reward=mix, jobs=1)
    paid, steps, info = played(env, shortest)
    assert steps == 1
    assert info["figures"] == {
        "bounded_slowdown": 0.0, "wait": 0.0, "utilisation": 0.5, "cost": 6.0, "energy": pytest.approx(0.5),
        "log_slowdown": 0.0,
    }  # fmt: skip
    assert paid == pytest.approx(-(0.5 + 6.0 + 0.5))


def test_the_same_seed_gives_the_same_episode_and_another_seed_another_one():
    env = JobEnv(LOG, 64, window=8, jobs=40)
    one = [(played(env, sometimes, seed=seed), env.workload.table["job_id"][0]) for seed in (1, 1, 2)]
    assert one[0][0][:2] == one[1][0][:2]
    assert one[0][1] == one[1][1] != one[2][1]


def test_an_episode_that_is_cut_short_is_truncated_and_one_that_ended_is_terminated():
    env = JobEnv(LOG, 64, window=8, jobs=40, most_steps=7)
    seen, info = env.reset(seed=1)
    for step in range(7):
        seen, _, terminated, truncated, info = env.step(sometimes(seen, info["action_mask"]))
        assert (terminated, truncated) == (False, step == 6)
    assert "figures" in info


def test_what_is_not_allowed_counts_as_the_first_that_is():
    env = JobEnv(THREE, 4, window=3, jobs=4)
    env.reset()
    _, _, _, _, info = env.step(3)
    assert info["forbidden"] == 3
    assert len(env.engine.attempts) == 1


def test_environments_side_by_side_play_what_each_plays_alone():
    many = JobVectorEnv(3, LOG, 64, window=8, jobs=40, threads=2)
    alone = JobEnv(LOG, 64, window=8, jobs=40)
    seen_by_all, info_of_all = many.reset(seed=4)
    seen, info = alone.reset(seed=5)
    ended = 0
    for _ in range(200):
        assert (seen_by_all[1] == seen).all()
        assert (info_of_all["action_mask"][1] == info["action_mask"]).all()
        actions = [sometimes(*row) for row in zip(seen_by_all, info_of_all["action_mask"], strict=True)]
        seen, paid, terminated, _, info = alone.step(actions[1])
        seen_by_all, all_paid, all_terminated, _, info_of_all = many.step(actions)
        assert all_paid[1] == pytest.approx(paid, abs=1e-12)
        assert all_terminated[1] == terminated
        if terminated:
            ended += 1
            assert (info_of_all["final_obs"][1] == seen).all()
            assert info_of_all["figures"][1] == info["figures"]
            seen, info = alone.reset()
    assert ended >= 2
    many.close()


def test_a_chooser_keeps_what_every_policy_must():
    report = check_policy(Chooser(sometimes, JobChoice(4)), workloads=15)
    assert report.ok, report


def test_windows_are_jobs_in_a_row_or_what_came_within_a_time():
    by_time = Windows(THREE, JobEnv(THREE, 4).windows.platform, seconds=2.0)
    assert by_time.in_turn() == [(0, 2)]
    assert by_time.most_jobs == 2
    assert [by_time.draw(np.random.default_rng(seed))[1] for seed in range(5)] == [2] * 5
    wide = workload([(0, 1, 1, 1), (1, 1, 9, 1), (2, 1, 1, 1)])
    windows = JobEnv(wide, 4).windows
    assert (windows.left_out, len(windows.log)) == (1, 2)


def test_wrong_use_is_told_in_a_sentence():
    with pytest.raises(InputError, match="unknown part of a reward 'bounded_slow'; did you mean 'bounded_slowdown'"):
        Reward.parse("bounded_slow")
    with pytest.raises(InputError, match="nothing counts"):
        Reward(wait=0.0)
    with pytest.raises(InputError, match="window is 0; expected 1 job or more"):
        JobEnv(THREE, 4, window=0)
    with pytest.raises(InputError, match="no job can run on 1"):
        JobEnv(workload([(0, 1, 2, 1)]), 1)
    with pytest.raises(RunError, match="before reset"):
        JobEnv(THREE, 4).step(0)
    dependent = workload([(0, 1, 1, 1), (0, 1, 1, 1)], depends_on=[None, "a"])
    with pytest.raises(InputError, match="cannot be run side by side; use JobEnv"):
        JobVectorEnv(2, dependent, 4)
