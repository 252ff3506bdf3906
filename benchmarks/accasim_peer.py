"""AccaSim, a peer from PyPI, on an SWF log: CPU seconds and jobs done, measured in a process of its own.

python -m benchmarks.accasim_peer LOG.swf CORES [fcfs|easy] [JOBS] [CORES_PER_NODE]
"""

import gzip
import json
import multiprocessing
import resource
import sys
import tempfile
from contextlib import redirect_stdout
from importlib.util import find_spec
from os import devnull
from pathlib import Path
from typing import NamedTuple

TIME_LIMIT_S = 120.0


class PeerRun(NamedTuple):
    """What a peer did; `cpu_s` is without importing it and without preparing its files."""

    cpu_s: float
    jobs: int
    mean_wait_s: float

    @property
    def jobs_per_cpu_s(self):
        return self.jobs / self.cpu_s


def run_accasim(log, cores, policy="easy", jobs=2_000, cores_per_node=1, time_limit_s=TIME_LIMIT_S):
    """The first `jobs` jobs of an SWF log on `cores` cores: (PeerRun, "") or (None, why not).

    AccaSim is the slower the more nodes there are, at the same waits: compare `480x1` with one core a node and
    a pool with one node.
    """
    if cores % cores_per_node:
        return None, f"{cores} cores are not a whole number of nodes of {cores_per_node}"
    if find_spec("accasim") is None:
        return None, "accasim is not installed"
    spawning = multiprocessing.get_context("spawn")
    receiver, sender = spawning.Pipe(duplex=False)
    child = spawning.Process(target=_child, args=(sender, str(log), cores, policy, jobs, cores_per_node))
    child.start()
    sender.close()
    try:
        if not receiver.poll(time_limit_s):
            return None, f"accasim did not finish {jobs} jobs in {time_limit_s:g} s"
        answer = receiver.recv()
    except EOFError:
        return None, "accasim ended without a result"
    finally:
        if child.is_alive():
            child.join(1.0)
        child.kill()
        child.join()
    return (None, answer) if isinstance(answer, str) else (PeerRun(*answer), "")


def _child(sender, *case):
    try:
        with tempfile.TemporaryDirectory() as folder:
            sender.send(_simulate(Path(folder), *case))
    except Exception as error:
        sender.send(f"accasim failed: {type(error).__name__}: {error}")


def _simulate(folder, log, cores, policy, jobs, cores_per_node):
    import collections
    import collections.abc

    # AccaSim 1.1.3 imports this name from where it stood before Python 3.10.
    collections.Mapping = collections.abc.Mapping
    from accasim.base.allocator_class import FirstFit
    from accasim.base.scheduler_class import EASYBackfilling, FirstInFirstOut
    from accasim.base.simulator_class import Simulator

    workload = folder / "log.swf"
    workload.write_text("\n".join(_records(log, jobs)) + "\n")
    platform = folder / "platform.json"
    platform.write_text(
        json.dumps(
            {
                "groups": {"all": {"core": cores_per_node}},
                "resources": {"all": cores // cores_per_node},
                "equivalence": {"processor": {"core": 1}},
                "start_time": 0,
            }
        )
    )
    dispatcher = {"fcfs": FirstInFirstOut, "easy": EASYBackfilling}[policy](FirstFit())
    # Its writers are off: only the simulation is measured.
    simulator = Simulator(
        str(workload),
        str(platform),
        dispatcher,
        scheduling_output=False,
        statistics_output=False,
        show_statistics=False,
        RESULTS_FOLDER_PATH=str(folder),
        LOG_LEVEL="ERROR",
    )
    began = _cpu_s()
    with open(devnull, "w") as nowhere, redirect_stdout(nowhere):
        simulator.start_simulation()
    cpu_s = _cpu_s() - began
    waits = simulator.mapper.wtimes
    return cpu_s, len(waits), sum(waits) / len(waits)


def _records(log, jobs):
    """The first records, in order of submission; the parser of AccaSim wants fields separated by blanks."""
    open_text = gzip.open if str(log).endswith(".gz") else open
    with open_text(log, "rt") as file:
        records = [line.split() for line in file if line.strip() and not line.startswith(";")]
    records.sort(key=lambda fields: float(fields[1]))
    return [" ".join(fields) for fields in records[:jobs]]


def _cpu_s():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main():
    log, cores, *rest = sys.argv[1:]
    policy = rest[0] if rest else "easy"
    run, reason = run_accasim(log, int(cores), policy, *map(int, rest[1:]))
    if run is None:
        sys.exit(reason)
    print(f"{run.jobs} jobs in {run.cpu_s:.2f} CPU s: {run.jobs_per_cpu_s:,.0f} jobs/s, wait {run.mean_wait_s:,.1f} s")


if __name__ == "__main__":
    main()
