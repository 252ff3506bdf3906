"""Slurm through dask-jobqueue, with commands that do on this machine what Slurm does on a cluster; and Kubernetes."""

import os
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest
from tests.sweeps.tiny import same, thread_place, write_longer_log

distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'unspool[cluster]'")

from unspool.errors import InputError  # noqa: E402
from unspool.sweeps import grid_of, run_sweep  # noqa: E402
from unspool.sweeps.places import kubernetes_place, slurm_place  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

# A job is the script that was submitted, in a session of its own; its number is that of its process.
SBATCH = """#!/bin/sh
cp "$1" "$0.$$"
setsid sh "$0.$$" > "$0.$$.out" 2>&1 < /dev/null &
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
echo "$1" >> "$0.log"
kill -TERM -- "-$1"
"""
REFUSING = """#!/bin/sh
echo "sbatch: error: invalid partition specified: short" >&2
exit 1
"""
OPTIONS = {"cores": 1, "memory": "1GB", "queue": "short", "walltime": "00:05:00", "death_timeout": 60}


def commands(folder, monkeypatch, sbatch):
    for name, text in (("sbatch", sbatch), ("scancel", SCANCEL)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))


@pytest.fixture
def jobqueue():
    return pytest.importorskip("dask_jobqueue", reason="needs dask-jobqueue: pip install 'unspool[slurm]'")


def grid(log):
    return grid_of({
        "replicas": 3, "run": {"workload": log, "platform": 16, "thin": 0.8}, "grid": {"policy": ["fcfs", "easy"]},
    })  # fmt: skip


@pytest.mark.slow
def test_a_sweep_of_two_jobs_of_slurm_is_that_of_this_machine(jobqueue, tmp_path, monkeypatch):
    bin = tmp_path / "bin"
    bin.mkdir()
    commands(bin, monkeypatch, SBATCH)
    log = write_longer_log(tmp_path)
    runs = run_sweep(grid(log), tmp_path / "s", slurm_place(2, OPTIONS))
    assert same(runs, run_sweep(grid(log), tmp_path / "local", thread_place()))
    scripts = [path.read_text() for path in bin.glob("sbatch.*") if path.suffix != ".out"]
    assert len(scripts) == 2
    assert all("#SBATCH -p short\n" in script and "#SBATCH -t 00:05:00\n" in script for script in scripts)
    cancelled = (bin / "scancel.log").read_text().split()
    assert len(set(cancelled)) == 2
    deadline = time.monotonic() + 30
    while any(Path("/proc", job).exists() for job in cancelled) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(Path("/proc", job).exists() for job in cancelled)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sbatch", "options", "told"),
    [
        (REFUSING, ["cores=1", "memory=1GB"], "no worker can be started: sbatch: error: invalid partition specified"),
        (SBATCH, ["cores=1", "memory=1GB", "nonsense=3"], "the cluster cannot be started: Got unexpected keyword"),
        (SBATCH, [], "the cluster cannot be started: You must specify how much cores and memory"),
    ],
)
def test_what_slurm_refuses_is_told_in_a_sentence(jobqueue, tmp_path, monkeypatch, sbatch, options, told):
    """From the command line, because what is left of such a cluster complains when Python ends."""
    commands(tmp_path, monkeypatch, sbatch)
    (tmp_path / "g.toml").write_text(f'[run]\nworkload = "{write_longer_log(tmp_path)}"\nplatform = 16\n')
    words = [word for option in options for word in ("--option", option)]
    command = [sys.executable, "-c", "from unspool.cli import main; main()", "sweep", "g.toml", "--slurm", *words]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 2
    assert f"unspool: --slurm: {told}" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_where_there_is_no_sbatch_that_is_told(jobqueue, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="there is no sbatch here"):
        slurm_place(1, OPTIONS)


class FakeKube(distributed.LocalCluster):
    """Pods that are threads of this process."""

    asked = None

    def __init__(self, **options):
        FakeKube.asked = options
        super().__init__(n_workers=0, processes=False, threads_per_worker=1, dashboard_address=None)


class Unreachable:
    def __init__(self, **options):
        raise ConnectionError("no server answers at https://127.0.0.1:6443")


def with_kube(monkeypatch, cluster_class):
    module = ModuleType("dask_kubernetes.operator")
    module.KubeCluster = cluster_class
    monkeypatch.setitem(sys.modules, "dask_kubernetes", ModuleType("dask_kubernetes"))
    monkeypatch.setitem(sys.modules, "dask_kubernetes.operator", module)


def test_a_sweep_on_pods_is_that_of_this_machine(tmp_path, monkeypatch):
    """The class of the cluster is a stand-in; that a pod starts is not shown here."""
    with_kube(monkeypatch, FakeKube)
    log = write_longer_log(tmp_path)
    runs = run_sweep(grid(log), tmp_path / "s", kubernetes_place(2, {"image": "mine"}))
    assert FakeKube.asked == {"image": "mine"}
    assert same(runs, run_sweep(grid(log), tmp_path / "local", thread_place()))


def test_a_cluster_that_does_not_answer_is_told_in_a_sentence(tmp_path, monkeypatch):
    with_kube(monkeypatch, Unreachable)
    with pytest.raises(InputError, match="--kubernetes: the cluster cannot be started: no server answers at https"):
        run_sweep(grid(write_longer_log(tmp_path)), tmp_path / "s", kubernetes_place(2, {}))


@pytest.mark.parametrize(("place", "module"), [(slurm_place, "dask_jobqueue"), (kubernetes_place, "dask_kubernetes")])
def test_what_is_not_installed_is_named_with_its_extra(monkeypatch, place, module):
    for name in (module, "dask_kubernetes.operator"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=rf"this needs {module}; install it: pip install 'unspool\["):
        place(1, {})
