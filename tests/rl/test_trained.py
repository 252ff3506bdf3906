"""Models that Stable-Baselines3 saved, run by name; skipped where the extra `rl` is not installed."""

import base64
import copy
import json
import os
import pickle
import zipfile

import numpy as np
import polars as pl
import pytest
from tests.sweeps.tiny import thread_place

from unspool.analysis.conformity import check_policy
from unspool.cli.app import run_command
from unspool.errors import InputError
from unspool.plugins import build
from unspool.results.run import run
from unspool.rl.trained import load_model, most_likely
from unspool.workloads import write_workload
from unspool.workloads.generators import lublin

LOG = lublin(400, 64, 0.9, 3)


def test_a_model_that_is_not_there_is_told():
    with pytest.raises(InputError, match=r"nowhere\.zip: no such file"):
        build("schedulers", "rl:nowhere.zip")
    with pytest.raises(InputError, match="unknown algorithm 'pqo'; did you mean 'ppo'"):
        build("schedulers", "rl:nowhere.zip,algorithm=pqo")
    with pytest.raises(InputError, match="the parameter model is missing; give it, as in rl:model=VALUE"):
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


@pytest.fixture(scope="module")
def played(model):
    """An environment in which a trained agent has played an episode."""
    from sb3_contrib import MaskablePPO

    from unspool.rl import JobEnv

    agent = MaskablePPO.load(model)
    env = JobEnv(LOG, 64, window=8, jobs=100)
    seen, _ = env.reset(seed=3)
    is_over = False
    while not is_over:
        action, _ = agent.predict(seen, action_masks=env.action_masks(), deterministic=True)
        seen, _, is_over, _, _ = env.step(action)
    return env


def test_an_episode_of_a_trained_agent_is_the_journal_of_a_run(model, played):
    result = run(played.workload, 64, f"rl:{model}")
    assert result.attempts["start_time"].to_list() == played.engine.attempts["start"].tolist()


def test_an_episode_of_a_trained_agent_is_the_journal_of_unspool_run(model, played, tmp_path, capsys):
    log, out = tmp_path / "log.csv", tmp_path / "out"
    write_workload(played.workload, log)
    words = ["run", log, "-p", 64, "--policy", f"rl:{model}", "-o", out, "--json"]
    assert run_command([str(word) for word in words]) == 0, capsys.readouterr().err
    journal = pl.read_parquet(out / "attempts.parquet")
    attempts = played.engine.attempts
    # The command counts time from the first submission.
    since = journal["start_time"] - journal["start_time"][0]
    assert since.to_list() == pytest.approx((attempts["start"] - attempts["start"][0]).tolist())
    assert journal["job_id"].to_list() == [played.engine.id_of(int(job)) for job in attempts["job"]]
    assert json.loads(capsys.readouterr().out)["jobs"] == 100


def test_a_trained_policy_is_a_point_of_a_sweep(model, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("unspool.cli.sweep.local_place", lambda processes: thread_place())
    monkeypatch.chdir(tmp_path)
    write_workload(LOG[:80], "log.csv")
    grid = f'[run]\nworkload = "log.csv"\nplatform = 64\n[grid]\npolicy = ["fcfs", "rl:{model}"]\n'
    (tmp_path / "grid.toml").write_text(grid)
    assert run_command(["sweep", "grid.toml", "-o", "out", "--no-report"]) == 0, capsys.readouterr().err
    found = pl.read_parquet(tmp_path / "out" / "runs" / "*.parquet")
    alone = run(LOG[:80], 64, f"rl:{model}").summary["mean_wait_s"]
    assert found.filter(pl.col("policy") == f"rl:{model}")["mean_wait_s"].to_list() == [pytest.approx(alone)]


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


@pytest.mark.parametrize("algorithm", ["ppo", "a2c", "dqn", "maskable-ppo"])
def test_a_policy_of_weights_alone_decides_as_the_whole_model(algorithm, tmp_path):
    pytest.importorskip("torch", reason="models need torch")
    baselines = pytest.importorskip("stable_baselines3", reason="models need stable-baselines3")
    contrib = pytest.importorskip("sb3_contrib", reason="models need sb3-contrib")
    from unspool.rl import JobEnv

    env = JobEnv(LOG, 64, window=8, jobs=40)
    given = {"dqn": {"learning_starts": 4, "buffer_size": 99}, "a2c": {"n_steps": 8}}
    made = {"ppo": baselines.PPO, "a2c": baselines.A2C, "dqn": baselines.DQN, "maskable-ppo": contrib.MaskablePPO}
    how = given.get(algorithm, {"n_steps": 8, "batch_size": 8})
    agent = made[algorithm]("MlpPolicy", env, seed=2, policy_kwargs={"net_arch": [8]}, **how)
    agent.learn(16)
    agent.save(tmp_path / "model.zip")
    light, whole = (load_model(str(tmp_path / "model.zip"), algorithm, pickle=way) for way in (False, True))
    draw = np.random.default_rng(1)
    mask = np.ones(9, bool)
    for seen in draw.random((50, whole.observation_space.shape[0]), np.float32):
        assert most_likely(light, algorithm)(seen, mask) == most_likely(whole, algorithm)(seen, mask)


def changed(model, path, **others):
    """The model with other pickles among its data."""
    with zipfile.ZipFile(model) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "data":
                data = json.loads(content)
                pickles = {key: base64.b64encode(pickle.dumps(value)).decode() for key, value in others.items()}
                data |= {
                    key: {**data.get(key, {}), ":type:": "x", ":serialized:": text} for key, text in pickles.items()
                }
                content = json.dumps(data)
            new.writestr(name, content)
    return str(path)


class Marks:
    """Leaves a mark where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("key", ["observation_space", "lr_schedule", "clip_range", "anything"])
def test_nothing_of_a_model_is_unpickled(key, model, tmp_path):
    marker = tmp_path / "marker"
    path = changed(model, tmp_path / "evil.zip", **{key: Marks(str(marker))})
    assert build("schedulers", f"rl:{path}").name == f"rl:{path}"
    assert not marker.exists()


def test_a_policy_class_that_only_pickle_can_make_is_refused_unless_it_is_asked_for(model, tmp_path):
    marker = tmp_path / "marker"
    path = changed(model, tmp_path / "evil.zip", policy_class=Marks(str(marker)))
    with pytest.raises(InputError, match=r"its policy class can only be loaded by pickle, .*say pickle=true"):
        build("schedulers", f"rl:{path}")
    assert not marker.exists()
    with pytest.raises(InputError, match="no model of MaskablePPO can be read"):
        build("schedulers", f"rl:{path},pickle=true")
    assert marker.exists()


def test_a_policy_class_of_somebodys_own_needs_pickle_and_is_not_imported(model, tmp_path):
    path = changed(model, tmp_path / "own.zip", policy_class=zipfile.ZipFile)
    with pytest.raises(InputError, match=r"its policy class zipfile\.ZipFile can only be loaded by pickle"):
        build("schedulers", f"rl:{path}")
