"""A sweep from grid to dataset: any executor, keys, resuming, failures, common random numbers."""

import json
from concurrent.futures import Future, ThreadPoolExecutor

import polars as pl
import pytest
from tests.sweeps.tiny import lasting, rows_of, same, thread_place, write_log, write_longer_log

import unspool
from unspool.errors import InputError, RunError
from unspool.sweeps import grid_of, read_runs, run_sweep
from unspool.sweeps.inputs import Inputs
from unspool.sweeps.places import Place
from unspool.sweeps.runner import Count, Runner
from unspool.sweeps.store import Store
from unspool.sweeps.work import run_task


def grid(log, replicas=1, run=(), **varied):
    return grid_of({"replicas": replicas, "run": {"workload": log, "platform": 4, **dict(run)}, "grid": varied})


def test_a_row_says_what_the_run_alone_says(tmp_path):
    log = write_log(tmp_path)
    runs = run_sweep(grid(log, policy=["fcfs", "easy"]), tmp_path / "s", thread_place())
    for policy, wait, jobs in rows_of(runs, "policy", "mean_wait_s", "jobs"):
        alone = unspool.run(log, "4", policy).summary
        assert (wait, jobs) == (alone["mean_wait_s"], alone["jobs"])


def test_one_worker_or_three_make_the_same_dataset(tmp_path):
    log = write_longer_log(tmp_path)
    wanted = grid(log, 3, {"platform": 16, "window": "0d..2d"}, policy=["fcfs", "easy"], scale_load=[0.5, 1.5])
    one = run_sweep(wanted, tmp_path / "one", thread_place(1))
    three = run_sweep(wanted, tmp_path / "three", thread_place(3))
    assert len(one) == 12
    assert same(one, three)


def test_what_is_there_is_not_run_again_and_what_is_new_is(tmp_path):
    log = write_log(tmp_path)
    run_sweep(grid(log, policy=["fcfs", "easy"]), tmp_path / "s", thread_place())
    opened, counts = [], []
    again = run_sweep(
        grid(log, policy=["fcfs", "easy"]), tmp_path / "s", thread_place(seen=opened), resume=True,
        told=lambda count, rows: counts.append((count.done, count.found)),
    )  # fmt: skip
    assert (opened, counts[-1], len(again)) == ([], (0, 2), 2)
    more = run_sweep(grid(log, policy=["fcfs", "easy", "sjf"]), tmp_path / "s", thread_place(), resume=True,
                     told=lambda count, rows: counts.append((count.done, count.found)))  # fmt: skip
    assert counts[-1] == (1, 2)
    assert more["policy"].to_list() == ["fcfs", "easy", "sjf"]


def test_the_key_changes_with_the_content_of_files_and_not_with_their_place(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    keys = []
    for folder, text in ((here, "pool: 4"), (there, "pool: 4"), (there, "pool: 5")):
        folder.mkdir(exist_ok=True)
        (folder / "p.yaml").write_text(text)
        inputs = Inputs(tmp_path / "inputs")
        flat = {"workload": write_log(folder), "platform": str(folder / "p.yaml"), "seed": 0}
        keys.append(inputs.task(flat).key)
        assert inputs.task({**flat, "seed": 1}).key != keys[-1]
    assert keys[0] == keys[1] != keys[2]
    other = Inputs(tmp_path / "inputs", versions={"unspool": "9"})
    assert other.task({"workload": write_log(there), "platform": str(there / "p.yaml"), "seed": 0}).key != keys[2]


def test_the_key_changes_with_the_code_of_ones_own_policy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keys = set()
    for text in ("def mine(view): return []", "def mine(view):\n    return []\n"):
        (tmp_path / "ownpolicy.py").write_text(text)
        keys.add(Inputs(tmp_path / "i").task({"workload": write_log(tmp_path), "policy": "ownpolicy:mine"}).key)
    assert len(keys) == 2


def test_a_failing_run_is_a_row_with_its_error_and_the_others_go_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text("def leave(view): raise SystemExit(3)\ndef fall(view): raise KeyError('x')\n")
    policies = ["fcfs", "bad:leave", "bad:fall", "bad:absent", "easy"]
    runs = run_sweep(grid(write_log(tmp_path), policy=policies), tmp_path / "s", thread_place())
    errors = dict(rows_of(runs, "policy", "error"))
    assert errors["fcfs"] is None
    assert errors["easy"] is None
    assert errors["bad:leave"].startswith("SystemExit: 3")
    assert "KeyError" in errors["bad:fall"]
    assert "cannot load absent from bad" in errors["bad:absent"]


def test_failed_runs_are_made_again_only_if_that_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log = write_log(tmp_path)
    run_sweep(grid(log, policy=["fcfs", "absent:policy"]), tmp_path / "s", thread_place())
    counts = []
    for retry in (False, True):
        run_sweep(grid(log, policy=["fcfs", "absent:policy"]), tmp_path / "s", thread_place(), resume=True,
                  retry_failed=retry, told=lambda count, rows: counts.append(count.done))  # fmt: skip
        assert counts[-1] == int(retry)
    assert len(read_runs(tmp_path / "s")) == 2


def test_points_with_one_seed_meet_the_same_draws(tmp_path):
    log = write_longer_log(tmp_path)
    run = {"platform": "16x1", "outages": "mtbf=5d,repair=2h", "thin": 0.5}
    runs = run_sweep(grid(log, 3, run, policy=["fcfs", "easy"]), tmp_path / "s", thread_place())
    assert runs["error"].is_null().all()
    assert runs.group_by("policy").agg(pl.col("schedule").n_unique())["schedule"].to_list() == [3, 3]
    assert runs["lost_attempts"].max() > 0
    hours = [rows_of(runs.filter(pl.col("policy") == policy), "seed", "core_hours") for policy in ("fcfs", "easy")]
    assert [seed for seed, _ in hours[0]] == [0, 1, 2]
    assert len({amount for _, amount in hours[0]}) == 3
    assert hours[0] == hours[1]


def test_a_bill_is_that_of_unspool_cost(tmp_path):
    from tests.cli.test_cli_cost import CATALOGUE, CONFIG

    from unspool.cli.app import run_command

    (tmp_path / "c.yml").write_text(CONFIG)
    (tmp_path / "prices.csv").write_text(CATALOGUE)
    log = write_longer_log(tmp_path, 40)
    run = {"workload": log, "config": str(tmp_path / "c.yml"), "catalogue": str(tmp_path / "prices.csv")}
    wanted = grid_of({"run": run, "grid": {"set": {"IdleTime": [0, 600]}}})
    runs = run_sweep(wanted, tmp_path / "s", thread_place())
    assert runs["error"].to_list() == [None, None]
    for idle, cost in rows_of(runs, "IdleTime", "total_cost_usd"):
        out = tmp_path / f"bill-{idle}"
        assert run_command(["cost", log, "-c", run["config"], "--catalogue", run["catalogue"], "--set",
                            f"IdleTime={idle:g}", "-o", str(out), "--no-report"]) == 0  # fmt: skip
        assert json.loads((out / "summary.json").read_text())["total_cost_usd"] == cost
    assert runs["total_cost_usd"][0] < runs["total_cost_usd"][1]


def test_a_log_that_is_not_there_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        run_sweep(grid(str(tmp_path / "no.csv")), tmp_path / "s", thread_place())
    assert not Store(tmp_path / "s").is_there


def test_a_worker_with_other_versions_is_not_trusted(tmp_path):
    wanted = grid(write_log(tmp_path))
    with Store(tmp_path / "s").opened() as store:
        inputs = Inputs(tmp_path / "i")
        runner = Runner(store, {**inputs.versions, "unspool": "0.0.0"}, Count(1))
        with ThreadPoolExecutor(1) as executor:
            runner.run(iter([inputs.task(wanted.run_at(0))]), executor, lambda: 1)
        assert "install the same there" in store.frame()["error"][0]


class Interrupting(ThreadPoolExecutor):
    """Ctrl-C when the third batch is handed over."""

    handed = 0

    def submit(self, *arguments):
        Interrupting.handed += 1
        if Interrupting.handed == 3:
            raise KeyboardInterrupt
        return super().submit(*arguments)


def test_ctrl_c_writes_what_is_under_way_and_resuming_makes_the_rest(tmp_path):
    wanted = grid(write_log(tmp_path), 6, policy=["fcfs"])

    def opened(inputs):
        return _opened(Interrupting(1))

    with pytest.raises(KeyboardInterrupt):
        run_sweep(wanted, tmp_path / "s", Place("x", opened))
    there = len(read_runs(tmp_path / "s"))
    assert 1 <= there < 6
    assert len(run_sweep(wanted, tmp_path / "s", thread_place(), resume=True)) == 6


class Lost(ThreadPoolExecutor):
    """A cluster whose scheduler goes away after two batches: futures are cancelled."""

    handed = 0

    def submit(self, *arguments):
        Lost.handed += 1
        future = super().submit(*arguments)
        if Lost.handed <= 2:
            return future
        gone = Future()
        gone.cancel()
        gone.set_running_or_notify_cancel()
        return gone


def test_a_lost_cluster_says_how_to_go_on_and_nothing_that_came_is_lost(tmp_path):
    wanted = grid(write_log(tmp_path), 6, policy=["fcfs"])
    with pytest.raises(RunError, match="--resume"):
        run_sweep(wanted, tmp_path / "s", Place("x", lambda inputs: _opened(Lost(1))))
    assert len(read_runs(tmp_path / "s")) >= 1
    whole = run_sweep(wanted, tmp_path / "s", thread_place(), resume=True)
    assert same(whole, run_sweep(wanted, tmp_path / "t", thread_place()))


class _opened:  # noqa: N801 (a context manager, used as a function)
    def __init__(self, executor):
        self.executor = executor

    def __enter__(self):
        return self.executor, lambda: 1

    def __exit__(self, *_):
        self.executor.shutdown(wait=True)


def test_runs_of_a_task_are_the_same_each_time(tmp_path):
    task = Inputs(tmp_path / "i").task(grid(write_log(tmp_path)).run_at(0))
    one, two = (pl.DataFrame([run_task(task)]) for _ in range(2))
    assert lasting(one).equals(lasting(two))
