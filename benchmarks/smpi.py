"""Ranks that talk to each other, all to all: `python -m benchmarks.smpi [--quick]`.

Each row is a process of its own, for its memory: the trace is written and read outside of the clock, and the compiled
loop is there before. Messages are counted from the pattern: each to each, in turns, or Bruck's.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.contention import SPEED, star

from unspool.simulation.ranks import rank_ends
from unspool.workloads.smpi_traces import read_smpi_trace

BACKBONE = 2.25e9
ROWS = ((64, 10_000, 0), (256, 10_000, 0), (512, 300_000, 0), (1024, 400, 0), (1024, 10_000, 0), (256, 10_000, 1))
PATTERNS = {(512, 300_000): "in turns", (1024, 400): "Bruck"}
SETTINGS = ("batsim", "smpirun")


def trace(folder, ranks, size, apart):
    """An all-to-all of so many bytes a pair, to which ranks come so many milliseconds after one another."""
    for rank in range(ranks):
        late = f"{rank} compute {rank * apart * SPEED / 1000}\n"
        (folder / f"{rank}.txt").write_text(f"{rank} init\n{late}{rank} alltoall {size} {size}\n{rank} finalize\n")
    (folder / "traces.txt").write_text("".join(f"{rank}.txt\n" for rank in range(ranks)))
    return read_smpi_trace(folder / "traces.txt")


def measure(ranks, size, apart, setting):
    """CPU seconds, the last end, and megabytes that the process has had at the most, and had before."""
    with tempfile.TemporaryDirectory() as folder:
        few = trace(Path(folder), 4, size, apart)
        rank_ends(star(4, BACKBONE), few, range(4), smpi_network=setting)
        network, many = star(ranks, BACKBONE), trace(Path(folder), ranks, size, apart)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        began = time.process_time()
        ends = rank_ends(network, many, range(ranks), smpi_network=setting)
        took = time.process_time() - began
    return took, max(ends), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, before


def messages(ranks, size):
    if PATTERNS.get((ranks, size)) == "Bruck":
        return ranks * (ranks - 1).bit_length()
    return ranks * (ranks - 1)


def main():
    if sys.argv[1:2] == ["--one"]:
        print(*measure(*map(int, sys.argv[2:5]), sys.argv[5]))
        return
    header = (
        "ranks",
        "bytes a pair",
        "ms apart",
        "pattern",
        "network",
        "messages",
        "CPU s",
        "messages a s",
        "MB, before",
        "last end",
    )
    print("| " + " | ".join(header) + " |")
    print("|" + " --- |" * len(header))
    for ranks, size, apart in ROWS[:2] if "--quick" in sys.argv else ROWS:
        for setting in SETTINGS:
            command = [sys.executable, "-m", "benchmarks.smpi", "--one", *map(str, (ranks, size, apart)), setting]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            took, last, most, before = (float(word) for word in done.stdout.split())
            count = messages(ranks, size)
            cells = (
                f"{ranks:,}", f"{size:,}", str(apart), PATTERNS.get((ranks, size), "all at once"), setting,
                f"{count:,}", f"{took:.2f}", f"{count / took:,.0f}", f"{most:,.0f}, {before:,.0f}", f"{last:.6f}",
            )  # fmt: skip
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
