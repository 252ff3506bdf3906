"""Network namespaces with addresses of their own, joined by a bridge; and a Dask cluster in them."""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"


def reason_against():
    """Why there can be no namespaces here; empty where there can."""
    if shutil.which("ip") is None:
        return "needs the command ip (iproute2)"
    if os.geteuid() != 0:
        return "needs root, to make network namespaces"
    name = f"us{os.getpid() % 100000}t"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode:
        return f"network namespaces cannot be made here: {made.stderr.strip()[:100]}"
    pair = ["ip", "link", "add", f"{name}a", "type", "veth", "peer", "name", f"{name}b"]
    linked = subprocess.run(pair, capture_output=True, text=True, check=False)
    bridge = subprocess.run(["ip", "link", "add", f"{name}c", "type", "bridge"], capture_output=True, check=False)
    for link in (f"{name}a", f"{name}c"):
        subprocess.run(["ip", "link", "del", link], capture_output=True, check=False)
    subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    return "links between namespaces cannot be made here" if linked.returncode or bridge.returncode else ""


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Net:
    """Namespaces `scheduler`, `one` and `two`, each with an address, and this one as a fourth on the same bridge."""

    def __init__(self):
        number = os.getpid() % 100000
        self.bridge = f"us{number}"
        self.part = f"10.{200 + number % 50}.{number // 50 % 250}"
        self.names = {"scheduler": 2, "one": 3, "two": 4}

    def space(self, name):
        return f"us{os.getpid() % 100000}{name[0]}"

    def address(self, name):
        return f"{self.part}.{self.names[name]}"

    def __enter__(self):
        ip("link", "add", self.bridge, "type", "bridge")
        ip("addr", "add", f"{self.part}.1/24", "dev", self.bridge)
        ip("link", "set", self.bridge, "up")
        for name in self.names:
            space = self.space(name)
            ip("netns", "add", space)
            ip("link", "add", f"{space}h", "type", "veth", "peer", "name", "eth0", "netns", space)
            ip("link", "set", f"{space}h", "master", self.bridge, "up")
            ip("-n", space, "addr", "add", f"{self.address(name)}/24", "dev", "eth0")
            ip("-n", space, "link", "set", "eth0", "up")
            ip("-n", space, "link", "set", "lo", "up")
        return self

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", self.space(name)], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", self.bridge], capture_output=True, check=False)

    def cut(self, name):
        """Take the cable out."""
        ip("link", "set", f"{self.space(name)}h", "down")

    @contextmanager
    def running(self, name, command, folder, hidden=None):
        """A command in a namespace, with a folder hidden from it: what is not brought there is not there."""
        environment = {
            **os.environ, "PYTHONPATH": str(SOURCE),
            "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12s", "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "12s",
        }  # fmt: skip
        hide = "" if hidden is None else f"mount -t tmpfs none '{hidden}' && "
        with (folder / f"{name}.txt").open("wb") as said:
            process = subprocess.Popen(
                ["ip", "netns", "exec", self.space(name), "sh", "-c", f"{hide}exec {command}"], cwd=folder,
                stdout=said, stderr=said, env=environment, start_new_session=True,
            )  # fmt: skip
            try:
                yield process
            finally:
                os.killpg(process.pid, 9)
                process.wait()


def scheduler_command(net):
    host = net.address("scheduler")
    return f"{sys.executable} -m distributed.cli.dask_scheduler --host {host} --port 8786 --no-dashboard"


def worker_command(net, name, folder):
    return (
        f"{sys.executable} -m distributed.cli.dask_worker tcp://{net.address('scheduler')}:8786 "
        f"--host {net.address(name)} --nthreads 1 --nworkers 1 --no-dashboard --local-directory {folder}/{name}"
    )
