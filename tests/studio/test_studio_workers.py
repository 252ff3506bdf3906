import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.studio_server import until

from unspool.studio.workers import Workers, told_by


@pytest.fixture
def workers():
    workers = Workers(1, None)
    yield workers
    workers.close()


def outcome(workers, folder, program, *arguments):
    ended, codes = threading.Event(), []
    workers.start("one", arguments, folder, lambda code: (codes.append(code), ended.set()), program)
    assert ended.wait(60)
    return codes[0]


def test_modules_are_found_from_another_folder_as_they_are_from_here(workers, tmp_path, monkeypatch):
    (tmp_path / "here" / "modules").mkdir(parents=True)
    (tmp_path / "here" / "modules" / "told.py").write_text("text = 'found'\n")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["modules", os.environ.get("PYTHONPATH", "")]))
    assert outcome(workers, tmp_path, "import told; print(told.text)") == 0
    assert (tmp_path / "stdout.txt").read_text() == "found\n"


def test_modules_in_the_folder_of_a_run_are_not_found(workers, tmp_path):
    (tmp_path / "json.py").write_text("raise SystemExit(7)\n")
    assert outcome(workers, tmp_path, "import json") == 0


def test_a_failure_is_told_in_the_words_of_the_worker_or_by_its_signal(workers, tmp_path):
    code = outcome(workers, tmp_path, "import sys; sys.exit('a note\\nunspool: x.csv: no such file\\n  line 3: why')")
    assert told_by(tmp_path, code) == "x.csv: no such file\n  line 3: why"
    assert outcome(workers, tmp_path, "raise ValueError('odd')") == 1
    assert told_by(tmp_path, 1) == "the worker ended with code 1: ValueError: odd"
    code = outcome(workers, tmp_path, "import os; os.kill(os.getpid(), 11)")
    assert told_by(tmp_path, code) == "the worker was killed by signal 11 (SIGSEGV)"


def test_a_worker_that_will_not_end_is_made_to(workers, tmp_path, monkeypatch):
    monkeypatch.setattr("unspool.studio.workers._GRACE_S", 0.2)
    ended, codes = threading.Event(), []
    stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(99)"
    workers.start("one", [], tmp_path, lambda code: (codes.append(code), ended.set()), stubborn)
    while not (tmp_path / "stdout.txt").exists() or not (tmp_path / "stdout.txt").read_text():
        assert not ended.wait(0.02)
    assert workers.state("one") == "running"
    assert workers.end("one")
    assert ended.wait(60)
    assert codes == [None]


STUDIO = """
import sys, time
from pathlib import Path
from unspool.studio.workers import Workers
child = "import os, subprocess, time; other = subprocess.Popen(['sleep', '99']);"
child += "print(os.getpid(), other.pid, flush=True); time.sleep(99)"
Workers(1, None).start("one", [], Path(sys.argv[1]), print, child)
time.sleep(99)
"""


@pytest.mark.parametrize("asks_the_kernel", [True, False])
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked for in /proc")
def test_workers_do_not_outlive_a_studio_that_is_killed(tmp_path, monkeypatch, asks_the_kernel):
    """With what Linux offers, and with the pipe alone, through which what the worker started ends, too."""
    if not asks_the_kernel:
        (tmp_path / "sitecustomize.py").write_text("import sys; sys.platform = 'other'\n")
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    studio = subprocess.Popen([sys.executable, "-c", STUDIO, str(tmp_path)])
    told = tmp_path / "stdout.txt"
    workers = until(lambda: told.exists() and told.read_text().endswith("\n") and told.read_text().split())
    assert all(is_running(worker) for worker in workers)
    studio.kill()
    studio.wait()
    if asks_the_kernel:  # for the worker alone
        os.kill(int(workers.pop()), signal.SIGKILL)
    until(lambda: not any(is_running(worker) for worker in workers))


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
