"""SimGrid itself on the same tasks, from C++, where it and a compiler are installed (Debian: libsimgrid-dev, g++)."""

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).with_name("simgrid_peer.cpp")


@cache
def program():
    """The path of the compiled peer, or None where it cannot be compiled."""
    if shutil.which("g++") is None:
        return None
    made = Path(tempfile.mkdtemp(prefix="unspool-simgrid-")) / "peer"
    done = subprocess.run(["g++", "-O2", "-o", made, SOURCE, "-lsimgrid"], capture_output=True)
    return made if done.returncode == 0 else None


def written(tasks):
    """The tasks as the peer reads them."""
    parts = [np.int64(len(tasks[0])).tobytes()]
    for first, count, cpu, com in zip(tasks[0], tasks[1], tasks[3], tasks[4], strict=True):
        hosts = tasks[2][first : first + count].astype(np.int64)
        parts += [np.int64(count).tobytes(), hosts.tobytes(), np.array([cpu, com]).tobytes()]
    return b"".join(parts)


def run_simgrid(hosts, tasks, at_once):
    """(CPU seconds, finish times), or None where SimGrid is not installed."""
    if program() is None:
        return None
    told = subprocess.run(
        [program(), str(hosts), str(at_once)], input=written(tasks), capture_output=True, check=True
    )  # fmt: skip
    return float(told.stderr.split()[-1]), np.frombuffer(told.stdout)
