"""Messages a second with a scheduler over a socket, beside a bare ping-pong of messages of the same sizes.

Both in one run, with the same other program in the same place, which does as little as can be: it has its answers ready.
"""

import json
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from time import perf_counter

from unspool.faces.batsim.protocol.outside import Outside
from unspool.faces.batsim.protocol.process import free_endpoint
from unspool.faces.batsim.running import Settings, run_batsim

PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="all" routing="Full">
<cluster id="c" prefix="h" suffix="" radical="0-63" speed="1Gf" bw="1GBps" lat="0s"/></zone></platform>
"""

# Starts each job on a machine of its own in turn; jobs are so far apart that it is free.
SCHEDULER = """
import json, re, sys, zmq
socket = zmq.Context().socket(zmq.REP)
socket.bind(sys.argv[-1])
find = re.compile(rb'"JOB_SUBMITTED","data":{"job_id":"(w0!([0-9]+))"').search
now = re.compile(rb'{"now":([0-9.]+)').match
while True:
    text = socket.recv()
    time = now(text)[1]
    found = find(text)
    start = b''
    if found:
        at = b'%d' % (int(found[2]) % 64)
        start = b'{"timestamp":%b,"type":"EXECUTE_JOB","data":{"job_id":"%b","alloc":"%b"}}' % (time, found[1], at)
    socket.send(b'{"now":%b,"events":[%b]}' % (time, start))
    if b'"SIMULATION_ENDS"' in text:
        break
"""

ECHO = """
import sys, zmq
sizes = [int(size) for size in open(sys.argv[1]).read().split()]
socket = zmq.Context().socket(zmq.REP)
socket.bind(sys.argv[-1])
for size in sizes:
    socket.recv()
    socket.send(b"x" * size)
"""


def simulated(folder: Path, jobs: int) -> tuple[float, int, list[tuple[int, int]]]:
    """Messages a second of a whole simulation, from the second message on, and the sizes of all."""
    work = [{"id": str(n), "subtime": 10 * n, "res": 1, "profile": "nap", "walltime": 100} for n in range(jobs)]
    (folder / "work.json").write_text(
        json.dumps({"nb_res": 64, "profiles": {"nap": {"type": "delay", "delay": 5}}, "jobs": work})
    )
    (folder / "platform.xml").write_text(PLATFORM)
    (folder / "scheduler.py").write_text(textwrap.dedent(SCHEDULER))
    outside = Outside(command=f"{sys.executable} {folder / 'scheduler.py'}")
    watched = _Watched(outside)
    found = run_batsim(
        Settings(str(folder / "platform.xml"), [str(folder / "work.json")], outside=watched), states=False
    )
    assert found.fault is None, found.fault
    assert len(found.outputs.jobs) == jobs
    return (len(watched.sizes) - 1) / (watched.ended - watched.began), len(watched.sizes), watched.sizes


class _Watched:
    """An outside scheduler, of whose messages the sizes and the time of the first and of the last are kept."""

    def __init__(self, outside):
        self._outside, self.name, self.terms = outside, outside.name, outside.terms
        self.sizes, self.began, self.ended = [], 0.0, 0.0

    def open_line(self, stack):
        line = self._outside.open_line(stack)
        ask = line.ask

        def watched(text):
            answer = ask(text)
            self.ended = perf_counter()
            self.began = self.began or self.ended  # the first waits for the other program to start
            self.sizes.append((len(text), len(answer)))
            return answer

        line.ask = watched
        return line


def ping_pong(folder: Path, sizes: list[tuple[int, int]]) -> float:
    """Messages a second of a pair of sockets that do nothing else."""
    import zmq

    (folder / "echo.py").write_text(textwrap.dedent(ECHO))
    (folder / "sizes.txt").write_text(" ".join(str(back) for _, back in sizes))
    endpoint = free_endpoint()
    other = subprocess.Popen([sys.executable, str(folder / "echo.py"), str(folder / "sizes.txt"), endpoint])
    context = zmq.Context()
    socket = context.socket(zmq.REQ)
    socket.connect(endpoint)
    texts = [b"x" * there for there, _ in sizes]
    socket.send(texts[0])
    socket.recv()
    began = perf_counter()
    for text in texts[1:]:
        socket.send(text)
        socket.recv()
    took = perf_counter() - began
    socket.close()
    context.term()
    other.wait()
    return (len(sizes) - 1) / took


def main(jobs: int = 5000, rounds: int = 3) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        simulated(folder, 10)  # compiles
        for _ in range(rounds):
            ours, count, sizes = simulated(folder, jobs)
            bare = ping_pong(folder, sizes)
            print(f"{count} messages: {ours:,.0f} a second, bare ping-pong {bare:,.0f}: {ours / bare:.2f} of it")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
