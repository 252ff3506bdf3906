"""Models that Stable-Baselines3 saved, run by name; skipped where the extra `rl` is not installed."""

import copy
import pickle

import pytest

from unspool.errors import InputError
from unspool.plugins import build
from unspool.results.conformity import check_policy
from unspool.results.run import run
from unspool.workloads.generators import lublin

LOG = lublin(400, 64, 0.9, 3)


def test_a_model_that_is_not_there_is_told():
    with pytest.raises(InputError, match=r"nowhere\.zip: no such file"):
        build("schedulers", "rl:nowhere.zip")
    with pytest.raises(InputError, match="unknown algorithm 'pqo'; did you mean 'ppo'"):
        build("schedulers", "rl:nowhere.zip,algorithm=pqo")
    with pytest.raises(InputError, match="missing a required argument: 'model'"):
        build("schedulers", "rl")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model after a little training."""
    pytest.importorskip("torch", reason="models need torch")
    contrib = pytest.importorskip("sb3_contrib", reason="models need sb3-contrib")
    from unspool.model.platform import Platform
    from unspool.rl import JobPolicy, JobVecEnv, Windows

    env = JobVecEnv(4, Windows(LOG, Platform.pool(64), jobs=60), window=8, most_steps=50)
    agent = contrib.MaskablePPO(JobPolicy, env, seed=1, n_steps=32, batch_size=64, policy_kwargs={"width": 8})
    agent.learn(256)
    path = tmp_path_factory.mktemp("models") / "model.zip"
    agent.save(path)
    return str(path)


def test_an_episode_of_a_trained_agent_is_the_journal_of_unspool_run(model):
    from sb3_contrib import MaskablePPO

    from unspool.rl import JobEnv

    agent = MaskablePPO.load(model)
    env = JobEnv(LOG, 64, window=8, jobs=100)
    seen, _ = env.reset(seed=3)
    is_over = False
    while not is_over:
        action, _ = agent.predict(seen, action_masks=env.action_masks(), deterministic=True)
        seen, _, is_over, _, _ = env.step(action)
    result = run(env.workload, 64, f"rl:{model}")
    assert result.attempts["start_time"].to_list() == env.engine.attempts["start"].tolist()


def test_a_trained_policy_is_certified_and_goes_to_other_processes(model):
    report = check_policy(f"rl:{model}", workloads=5)
    assert report.ok, report
    policy = build("schedulers", f"rl:{model}")
    for twin in (copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))):
        assert twin.name == policy.name
        assert run(LOG[:50], 64, twin).attempts.equals(run(LOG[:50], 64, policy).attempts)


def test_what_is_no_model_is_told(tmp_path):
    pytest.importorskip("sb3_contrib", reason="models need sb3-contrib")
    (tmp_path / "text.zip").write_text("no model")
    with pytest.raises(InputError, match="no model of MaskablePPO can be read from it"):
        build("schedulers", f"rl:{tmp_path / 'text.zip'}")
