"""Replays of traces: the same source, not compiled, ends every rank at the same time to the last bit."""

import random
import tempfile
from pathlib import Path

from tests.fluid_build import cluster, fluid_jobs, outcome
from tests.smpi_build import ends, write_trace
from tests.uncompiled import tell, uncompiled_and_compiled

from unspool.model.network import Contention
from unspool.model.profile import HomogeneousTask, Trace
from unspool.results.run import run

RUNS = 6


def random_scripts(draw, ranks):
    """What ranks do, in one order for all, with sizes that are no round numbers."""
    lines = [[] for _ in range(ranks)]
    for _ in range(8):
        me, other = draw.sample(range(ranks), 2)
        size, flops = draw.choice((10, 40000, 300000)) + draw.random(), draw.uniform(1e6, 1e8)
        kind = draw.choice(("compute", "blocking", "later", "unknown", "all"))
        if kind == "compute":
            lines[me].append(f"compute {flops}")
        elif kind == "all":
            chosen = draw.choice(("barrier", f"bcast {size} {me}", f"allreduce {size} {flops}", f"alltoall {size} 0"))
            for each in lines:
                each.append(chosen)
        else:
            lines[me].append(f"{'isend' if kind == 'later' else 'send'} {other} 1 {size}")
            lines[other].append(f"recv {me} 1 {-1 if kind == 'unknown' else size}")
            if kind == "later":
                lines[me] += [f"test {me} {other} 1", f"wait {me} {other} 1"]
    return lines


def journals():
    """When ranks end without jobs, and what becomes of jobs that replay the same, some of them cut by a walltime."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(RUNS):
            draw = random.Random(seed)
            where = cluster(6, speeds=[draw.uniform(5e8, 2e9) for _ in range(6)], latency=1e-3, backbone=1.5e8)
            scripts = random_scripts(draw, draw.randint(2, 5))
            setting = ("batsim", "smpirun")[seed % 2]
            found.append(ends(Path(folder, str(seed)), where.network, scripts, smpi_network=setting))
            trace = Trace("smpi", str(write_trace(Path(folder, str(seed)), scripts)))
            stuck = Trace("smpi", str(write_trace(Path(folder, f"stuck{seed}"), [["recv 1 0 1"], ["compute 1e8"]])))
            profiles = {"t": trace, "task": HomogeneousTask(1e8, 1e6), "stuck": stuck}
            rows = [(draw.uniform(0, 0.1), 2, draw.choice([None, 0.05]), name) for name in ("t", "t", "task", "stuck")]
            rules = Contention(smpi_network=setting)
            jobs = fluid_jobs(sorted(rows), profiles)
            found.append(outcome(run(jobs, where, "fcfs", kill_at_walltime=True, contention=rules)))
    return found


def test_uncompiled_replays_give_the_same_times_bit_for_bit():
    there, here = uncompiled_and_compiled("tests.simulation.test_uncompiled_smpi", journals)
    assert there == here


if __name__ == "__main__":
    tell(journals)
