"""A studio as people start it: `unspool studio` in a process, and workers that can be held so that they last."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

# Python runs this at its start. A worker that runs a verb writes its process id, and waits while it is held.
HOLDING = """
import os, sys, time
words, folder = sys.orig_argv, os.environ.get("UNSPOOL_TEST_HOLD", "")
if "-P" in words and "unspool.cli" in " ".join(words) and os.path.exists(os.path.join(folder, "hold")):
    mark = os.path.join(folder, str(os.getpid()))
    open(mark, "w").close()
    while os.path.exists(os.path.join(folder, "hold")):
        time.sleep(0.02)
    os.unlink(mark)
"""

LOG = "job_id,submit_time,run_time,cores,user\n1,0,100,4,ada\n2,5,soon,2,ada\n3,7,50,8,grace\n4,9,20,2,grace\n"


class Server:
    """A studio on a folder; the address has its token in it."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder, self.hooks = folder / "unspool-studio", folder / "hooks"
        self.hooks.mkdir(parents=True, exist_ok=True)
        (self.hooks / "sitecustomize.py").write_text(HOLDING)
        self._options = options
        self.process = None
        self.start()

    def start(self) -> None:
        """Start it, again on the same folder; the address is another each time."""
        paths = [str(self.hooks), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "UNSPOOL_TEST_HOLD": str(self.hooks)}
        command = [sys.executable, "-c", "from unspool.cli import main; main()", "studio", str(self.folder)]
        self.process = subprocess.Popen(
            [*command, *self._options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            umask=0,
        )
        self.address = self.process.stdout.readline().strip()
        assert self.address.startswith("http://127.0.0.1:"), self.process.stderr.read()

    def stop(self) -> str:
        """Stop it as Ctrl-C does; gives what it said."""
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, said
        return said

    def hold(self) -> None:
        """Let workers that start from now on wait."""
        (self.hooks / "hold").touch()

    def release(self) -> None:
        """Let them go on."""
        (self.hooks / "hold").unlink(missing_ok=True)

    def held(self, count: int) -> list[int]:
        """The process ids of workers that wait, once there are so many."""
        for _ in range(1200):
            found = [int(entry.name) for entry in self.hooks.iterdir() if entry.name.isdigit() and alive(entry.name)]
            if len(found) >= count:
                return sorted(found)
            time.sleep(0.05)
        raise AssertionError(f"{count} workers were never there")


def alive(pid: str) -> bool:
    """Whether a process is there."""
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    return True


def until(found, seconds=120):
    """What a function gives, once that is something; a failure if it stays nothing."""
    for _ in range(int(seconds / 0.1)):
        if value := found():
            return value
        time.sleep(0.1)
    raise AssertionError("it never came about")
