"""A real cluster: a Dask scheduler and two workers, each in a network namespace with an address of its own."""

import os
import signal
from contextlib import ExitStack

import pytest
from tests.sweeps.namespaces import Net, reason_against, scheduler_command, worker_command
from tests.sweeps.tiny import same, thread_place, write_longer_log

distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'unspool[cluster]'")

from unspool.errors import InputError  # noqa: E402
from unspool.sweeps import dask_place, grid_of, run_sweep  # noqa: E402

pytestmark = [pytest.mark.netns, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def net():
    if why := reason_against():
        pytest.skip(why)
    with Net() as made:
        yield made


def grid(log, replicas):
    return grid_of({
        "replicas": replicas, "run": {"workload": log, "platform": 16, "thin": 0.8},
        "grid": {"policy": ["fcfs", "easy"]},
    })  # fmt: skip


@pytest.mark.slow
def test_a_worker_killed_and_a_link_cut_change_no_bit_of_the_results(net, tmp_path):
    log, folder = write_longer_log(tmp_path), tmp_path / "s"
    folder.mkdir()
    address = f"tcp://{net.address('scheduler')}:8786"
    with ExitStack() as running:
        running.enter_context(net.running("scheduler", scheduler_command(net), tmp_path, folder))
        for name in ("one", "two"):
            running.enter_context(net.running(name, worker_command(net, name, tmp_path), tmp_path, folder))
        with distributed.Client(address, timeout="60s", set_as_default=False) as client:
            client.wait_for_workers(2, timeout=90)
            workers = {worker.split("//")[1].split(":")[0]: pid for worker, pid in client.run(os.getpid).items()}
        assert set(workers) == {net.address("one"), net.address("two")}
        done = {}

        def disturb(count, rows):
            if count.done >= 40 and "killed" not in done:
                os.kill(workers[net.address("one")], signal.SIGKILL)
                done["killed"] = count.done
            elif count.done >= 100 and "cut" not in done:
                net.cut("two")
                done["cut"] = count.done

        runs = run_sweep(grid(log, 300), folder, dask_place(address), told=disturb)
    assert done["killed"] < 590
    assert done["cut"] < 590
    assert runs["error"].is_null().all()
    assert len(runs) == 600
    assert (tmp_path / "one").is_dir()
    assert same(runs, run_sweep(grid(log, 300), tmp_path / "local", thread_place()))


def test_a_scheduler_that_does_not_answer_is_named(tmp_path):
    log = write_longer_log(tmp_path)
    with pytest.raises(InputError, match="no scheduler answers"):
        run_sweep(grid(log, 1), tmp_path / "s", dask_place("tcp://127.0.0.1:1", "1s"))
