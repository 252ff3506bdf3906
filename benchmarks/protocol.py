"""Messages a second with a scheduler over a socket, beside a bare ping-pong of messages of the same sizes.

Both in one run and in turns, with the same other program, which does as little as can be: it has its answers ready.
What counts is the median, as others on the same machine come between the threads of either.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from unspool.faces.batsim.protocol.outside import Outside
from unspool.faces.batsim.protocol.process import free_endpoint
from unspool.faces.batsim.running import Settings, run_batsim

PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="all" routing="Full">
<cluster id="c" prefix="h" suffix="" radical="0-63" speed="1Gf" bw="1GBps" lat="0s"/></zone></platform>
"""

# The other program in both: it sends so many answers, which it has ready.
PEER = """
import sys, zmq
answers = [line.encode() for line in open(sys.argv[1]).read().splitlines()]
socket = zmq.Context().socket(zmq.REP)
socket.bind(sys.argv[-1])
for answer in answers:
    socket.recv()
    socket.send(answer)
"""


def answers(jobs: int) -> list[str]:
    """What a scheduler says that starts each job on the next machine; jobs are so far apart that it is free."""
    said = [reply(0.0)]
    for number in range(jobs):
        now = max(10.0 * number, 1e-6)
        start = {"timestamp": now, "type": "EXECUTE_JOB", "data": {"job_id": f"w0!{number}", "alloc": str(number % 64)}}
        said += [reply(now, start), reply(now + 5.0)]
    return [*said, reply(10.0 * jobs)]


def reply(now: float, *events: dict) -> str:
    return json.dumps({"now": now, "events": events})


class Watched:
    """An outside scheduler, of whose messages the sizes and the time of the first and of the last are kept."""

    def __init__(self, command: str) -> None:
        self._outside = Outside(command=command)
        self.name, self.terms = self._outside.name, self._outside.terms
        self.sizes, self.began, self.ended = [], 0.0, 0.0

    def open_line(self, stack):
        line = self._outside.open_line(stack)
        ask = line.ask

        def watched(text):
            answer = ask(text)
            self.ended = perf_counter()
            self.began = self.began or self.ended  # the first waits for the other program to start
            self.sizes.append(len(text))
            return answer

        line.ask = watched
        return line


def simulated(folder: Path, jobs: int) -> tuple[float, list[int]]:
    """Messages a second of a whole simulation, from the second message on, and the sizes of ours."""
    work = [
        {"id": str(number), "subtime": 10 * number, "res": 1, "profile": "nap", "walltime": 100}
        for number in range(jobs)
    ]
    content = {"nb_res": 64, "profiles": {"nap": {"type": "delay", "delay": 5}}, "jobs": work}
    (folder / "work.json").write_text(json.dumps(content))
    (folder / "platform.xml").write_text(PLATFORM)
    (folder / "answers.txt").write_text("\n".join(answers(jobs)))
    (folder / "peer.py").write_text(PEER)
    watched = Watched(f"{sys.executable} {folder / 'peer.py'} {folder / 'answers.txt'}")
    settings = Settings(str(folder / "platform.xml"), [str(folder / "work.json")], outside=watched)
    found = run_batsim(settings, states=False)
    assert found.fault is None, found.fault
    assert len(found.outputs.jobs) == jobs
    return (len(watched.sizes) - 1) / (watched.ended - watched.began), watched.sizes


def ping_pong(folder: Path, sizes: list[int]) -> float:
    """Messages a second of a pair of sockets that do nothing else, with the same answers."""
    import zmq

    endpoint = free_endpoint()
    other = subprocess.Popen([sys.executable, str(folder / "peer.py"), str(folder / "answers.txt"), endpoint])
    context = zmq.Context()
    socket = context.socket(zmq.REQ)
    socket.connect(endpoint)
    texts = [b"x" * size for size in sizes]
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


def main(jobs: int = 2000, rounds: int = 9) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        simulated(folder, 10)  # compiles
        found = []
        for _ in range(rounds):
            ours, sizes = simulated(folder, jobs)
            assert len(sizes) == 2 * jobs + 2
            found.append((ours, ping_pong(folder, sizes)))
        parts = sorted(ours / bare for ours, bare in found)
        print(
            f"{2 * jobs + 2:,} messages, {rounds} times: {median(ours for ours, _ in found):,.0f} a second, bare "
            f"ping-pong {median(bare for _, bare in found):,.0f}; {median(parts):.2f} of it, from {parts[0]:.2f} to "
            f"{parts[-1]:.2f}"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
