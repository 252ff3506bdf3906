"""kill -9 at any time, of the sweep or of a worker: nothing is lost but what was under way, and no run counts twice."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from tests.sweeps.sweeping import grid
from tests.sweeps.tiny import rows_of, same, thread_place, write_log, write_longer_log

from unspool.sweeps import grid_of, local_place, read_runs, run_sweep
from unspool.units import counted

ROOT = Path(__file__).parents[2]


def started(log, folder, runs, processes, *last):
    arguments = [log, str(folder), *map(str, (runs, processes, *last))]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.sweeps.sweeping", *arguments], cwd=ROOT,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip


def killed_again_and_again(tmp_path, kills, runs, processes):
    """A sweep that is killed so often, at a drawn change of its files, and then left to end; returns its dataset.

    A row is at least two changes: a sweep that is to be killed has more of them before it than its last one.
    """
    most = 2 * runs // (kills + 1)
    log, folder, draw = write_longer_log(tmp_path), tmp_path / "s", Random(13)
    for _ in range(kills):
        killed = started(log, folder, runs, processes, draw.randint(1, most))
        _, said = killed.communicate(timeout=500)
        assert killed.returncode == -signal.SIGKILL, said.decode()[-2000:]
    last = started(log, folder, runs, processes)
    _, said = last.communicate(timeout=500)
    assert last.returncode == 0, said.decode()[-2000:]
    return read_runs(folder), log


def test_a_sweep_killed_three_times_ends_with_the_same_dataset(tmp_path):
    found, log = killed_again_and_again(tmp_path, 3, 200, 0)
    assert len(found) == 200
    assert found["key"].n_unique() == 200
    assert same(found, run_sweep(grid(log, 200), tmp_path / "whole", thread_place()))


@pytest.mark.slow
def test_a_sweep_killed_twenty_times_ends_with_the_same_dataset(tmp_path):
    found, log = killed_again_and_again(tmp_path, 20, 420, 1)
    assert found["key"].n_unique() == len(found) == 420
    assert same(found, run_sweep(grid(log, 420), tmp_path / "whole", thread_place()))


def test_a_run_that_kills_its_worker_is_a_row_and_the_others_go_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deadly.py").write_text("import os, signal\ndef die(view): os.kill(os.getpid(), signal.SIGKILL)\n")
    log = write_log(tmp_path)
    wanted = grid_of({"run": {"workload": log, "platform": 4}, "grid": {"policy": ["fcfs", "deadly:die", "easy"]}})
    runs = run_sweep(wanted, tmp_path / "s", local_place(1))
    errors = dict(rows_of(runs, "policy", "error"))
    assert errors["fcfs"] is None
    assert errors["easy"] is None
    assert "killed, or out of memory" in errors["deadly:die"]


@pytest.mark.slow
def test_workers_that_cannot_start_are_given_up_soon(tmp_path):
    """As those of a program that Python reads from its standard input, which they cannot read again."""
    program = (
        "from unspool.sweeps import grid_of, local_place, run_sweep\n"
        f"run_sweep(grid_of({{'replicas': 9, 'run': {{'workload': {write_log(tmp_path)!r}, 'platform': 4}}}}), "
        f"{str(tmp_path / 's')!r}, local_place(1))\n"
    )
    ended = subprocess.run([sys.executable], input=program, capture_output=True, text=True, timeout=100, check=False)
    assert "workers end before they have made a run" in ended.stderr.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="children are found in /proc")
def test_workers_do_not_outlive_a_killed_sweep(tmp_path):
    process = started(write_longer_log(tmp_path), tmp_path / "s", 100_000, 1)
    workers = []
    while process.poll() is None and not list((tmp_path / "s" / "runs").glob("part-*")):
        time.sleep(0.1)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parts = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(parts[1]) == process.pid:
            workers.append(int(stat.parent.name))
    assert workers
    process.send_signal(signal.SIGKILL)
    process.communicate()
    deadline = time.monotonic() + 20
    while any(is_running(worker) for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(is_running(worker) for worker in workers)


def is_running(worker):
    try:
        os.kill(worker, 0)
        return Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
def test_ctrl_c_ends_a_sweep_whose_rows_are_written(tmp_path):
    log = write_longer_log(tmp_path)
    (tmp_path / "g.toml").write_text(
        f'replicas = 100000\n[run]\nworkload = "{log}"\nplatform = 16\nthin = 0.8\n[grid]\npolicy = ["fcfs", "easy"]\n'
    )
    code = "from unspool.cli import main; main()"
    command = [sys.executable, "-c", code, "sweep", "g.toml", "-o", "s", "-j", "1"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, start_new_session=True)
    while process.poll() is None and not list((tmp_path / "s" / "runs").glob("part-*")):
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the sweep and its workers
    _, said = process.communicate(timeout=100)
    assert process.returncode == 130, said.decode()
    assert b"go on with: unspool sweep g.toml -o s --resume" in said
    there = read_runs(tmp_path / "s")
    assert there["error"].is_null().all()
    assert f"interrupted: {counted(len(there), 'new run')} written" in said.decode()
