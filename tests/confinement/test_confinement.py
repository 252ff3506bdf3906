"""What a confined process can still do: each means alone, and all of them together."""

import json
import os
import socket
import subprocess
import sys

import pytest

from unspool.confinement import landlock
from unspool.confinement.worker import CONFINEMENT, Confinement, confine

LIMIT = 1 << 30
ATTEMPTS = """
import json, os, socket, subprocess, sys
from unspool.confinement.worker import confine
held = confine()
outside, port, parent = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

def forked():
    if (child := os.fork()) == 0:
        try:
            open(outside).read()
        except OSError:
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        raise PermissionError

def fetched():
    with socket.create_connection(("127.0.0.1", port), 5):
        pass

attempts = {
    "read inside": lambda: open("mine").read(),
    "write inside": lambda: (open("new", "w").close(), os.rename("new", "newer"), os.mkdir("d"), os.rmdir("d")),
    "import": lambda: __import__("colorsys"),
    "read outside": lambda: open(outside).read(),
    "read outside through a link": lambda: open("link").read(),
    "list outside": lambda: os.listdir(os.path.dirname(outside)),
    "write outside": lambda: open(outside, "a").close(),
    "create outside": lambda: open(outside + ".new", "w").close(),
    "write its library": lambda: open(json.__file__, "a").close(),
    "cut off outside": lambda: os.truncate(outside, 0),
    "remove outside": lambda: os.remove(outside),
    "move outside": lambda: os.rename("mine", outside + ".moved"),
    "link": lambda: os.symlink(outside, "another"),
    "hard link": lambda: os.link(outside, "hard"),
    "change modes outside": lambda: os.chmod(outside, 0o777),
    "environment of the parent": lambda: open(f"/proc/{parent}/environ").read(),
    "signal to the parent": lambda: os.kill(parent, 0),
    "connect": fetched,
    "look up": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"", ("127.0.0.1", port)),
    "start a program": lambda: subprocess.run(["/bin/sh", "-c", "true"], check=True),
    "start by the shell": lambda: os.system("true") and (_ for _ in ()).throw(OSError),
    "fork and read outside": forked,
    "take more memory": lambda: bytearray(2 << 30),
}
done = {}
for name, attempt in attempts.items():
    try:
        attempt()
        done[name] = "done"
    except (OSError, MemoryError, subprocess.SubprocessError) as error:
        done[name] = type(error).__name__
print(json.dumps([[held.files, held.network, *held.limits], done]))
"""
ALLOWED = {"read inside", "write inside", "import"}
FILES = {
    "read outside", "read outside through a link", "list outside", "write outside", "create outside",
    "write its library", "cut off outside", "remove outside", "move outside", "link", "hard link",
    "environment of the parent",
}  # fmt: skip
PROGRAMS = {"start a program", "start by the shell"}
NETWORK = {"connect"}
MEANS = {
    "all": ({}, FILES | PROGRAMS | NETWORK | {"change modes outside", "signal to the parent", "fork and read outside"}),
    "landlock": ({"hook": False, "namespace": False}, FILES | PROGRAMS | NETWORK | {"fork and read outside"}),
    "namespace": ({"hook": False, "landlock": False}, NETWORK),
    "hook": (
        {"landlock": False, "namespace": False},
        FILES | PROGRAMS | NETWORK | {"change modes outside", "signal to the parent", "look up",
                                      "fork and read outside"},
    ),
}  # fmt: skip


def has_namespaces():
    """Whether this kernel lets us have a network of our own."""
    program = "import ctypes, sys; sys.exit(0 if ctypes.CDLL(None).unshare(0x50000000) == 0 else 1)"
    return sys.platform == "linux" and subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def attempted(tmp_path, program, *arguments, **means):
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "mine").write_text("mine")
    (tmp_path / "outside").write_text("a secret")
    (inside / "link").symlink_to(tmp_path / "outside")
    rules = {"writes": [str(inside)], "memory_bytes": LIMIT, "cpu_s": 60, **means}
    environment = {**os.environ, CONFINEMENT: json.dumps(rules)}
    return subprocess.run(
        [sys.executable, "-P", "-c", program, *arguments], env=environment, cwd=inside, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


@pytest.mark.parametrize("means", MEANS)
def test_a_confined_process_can_do_what_it_must_and_nothing_that_is_refused(tmp_path, means):
    if means in ("all", "landlock") and landlock.abi() < landlock.LEAST_ABI:
        pytest.skip("this kernel has no Landlock, or too old a one")
    if means in ("all", "namespace") and not has_namespaces():
        pytest.skip("this kernel, or who runs it, lets nobody make a network namespace")
    options, refused = MEANS[means]
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        said = attempted(tmp_path, ATTEMPTS, str(tmp_path / "outside"), port, str(os.getpid()), **options)
    assert said.returncode == 0, said.stderr
    held, done = json.loads(said.stdout)
    assert held == [
        "Landlock" if means in ("all", "landlock") else "an audit hook",
        "a network namespace" if means in ("all", "namespace") else "an audit hook", "memory", "time",
    ]  # fmt: skip
    assert {name for name in ALLOWED if done[name] != "done"} == set()
    assert {name for name in refused if done[name] == "done"} == set()
    assert done["take more memory"] == "MemoryError"
    if means != "namespace":
        assert (tmp_path / "outside").read_text() == "a secret"


def test_a_process_that_nobody_confines_is_free(monkeypatch):
    monkeypatch.delenv(CONFINEMENT, raising=False)
    assert confine() is None


def test_a_confinement_without_limits_sets_none():
    assert Confinement() == Confinement(memory_bytes=0, cpu_s=0)


def test_what_a_confined_process_starts_takes_the_audit_hook_again(tmp_path):
    program = """
import sys
from unspool.confinement.worker import confine_child
confine_child()
open("mine").read()
try:
    open(sys.argv[1])
except PermissionError:
    print("refused")
"""
    said = attempted(tmp_path, program, str(tmp_path / "outside"), landlock=False, namespace=False)
    assert (said.stdout, said.stderr) == ("refused\n", "")


SPAWNED = """
import multiprocessing, os, sys
from unspool.confinement.worker import confine, confine_child
if __name__ == "__main__":
    confine()
    print(os.listdir("/dev/shm"))
    lock = multiprocessing.get_context("spawn").Lock()
    child = multiprocessing.get_context("spawn").Process(target=print, args=("child",))
    child.start()
    child.join()
"""


@pytest.mark.skipif(not has_namespaces(), reason="this kernel, or who runs it, lets nobody make a namespace")
def test_processes_share_memory_with_nobody_else(tmp_path):
    said = attempted(tmp_path, SPAWNED, processes=True)
    assert (said.stdout, said.stderr) == ("[]\nchild\n", "")
