"""Jobs that share a network: the same source, not compiled, gives the same journal to the last bit."""

import random

from tests.fluid_build import cluster, fluid_jobs, outcome
from tests.uncompiled import tell, uncompiled_and_compiled

from unspool.model.network import Contention
from unspool.model.profile import Delay, ForkJoin, HomogeneousTask, Merge, Send, Sequence, StorageTask, Task
from unspool.results.run import run

RUNS = 12
JOBS = 25


def random_profiles(draw):
    """Profiles of most kinds, with amounts that are no round numbers."""
    made = {
        "each": HomogeneousTask(draw.uniform(1e8, 5e9), draw.uniform(1e5, 1e8)),
        "total": HomogeneousTask(draw.uniform(1e8, 5e9), draw.uniform(1e5, 1e8), "total"),
        "delay": Delay(draw.uniform(0.1, 5)),
        "send": Send({}, draw.uniform(0.1, 1)),
        "read": StorageTask(draw.uniform(1e6, 1e9), draw.uniform(0, 1e8)),
        "fails": HomogeneousTask(draw.uniform(1e8, 1e9), 0.0, code=3),
        "sequence": Sequence(("delay", "each", "send"), repeat=2),
        "fork": ForkJoin(("read", "sequence", "fails")),
        "merge": Merge(("each", "read", "total")),
    }
    for size in (1, 2, 3, 4):
        amounts = tuple(draw.uniform(0, 5e7) for _ in range(size * size))
        made[f"task{size}"] = Task(tuple(draw.uniform(1e8, 2e9) for _ in range(size)), amounts)
    return made


def journals():
    """What happened in some random runs, under both ways of sharing."""
    found = []
    for seed in range(RUNS):
        draw = random.Random(seed)
        profiles = random_profiles(draw)
        rows = []
        for at in sorted(draw.uniform(0, 30) for _ in range(JOBS)):
            size = draw.randint(1, 4)
            name = draw.choice([*(name for name in profiles if not name.startswith("task")), f"task{size}"])
            rows.append((at, size, draw.choice([None, draw.uniform(1, 9)]), name))
        where = cluster(
            6, speeds=[draw.uniform(5e8, 2e9) for _ in range(6)], cores=draw.choice([1, 4]), latency=1e-3,
            storages=(2e8,), backbone=draw.choice([None, 3e8]),
        )  # fmt: skip
        rules = Contention(sharing=("simgrid", "clean")[seed % 2], strict=seed % 3 == 0, records_use=seed % 4 < 2)
        policy = ("fcfs", "filler")[seed // 2 % 2]
        result = run(fluid_jobs(rows, profiles), where, policy, kill_at_walltime=True, contention=rules)
        found.append([outcome(result), result.allocations.rows(), result.network_use.rows()])
    return found


def test_uncompiled_run_gives_the_same_journal_bit_for_bit():
    there, here = uncompiled_and_compiled("tests.simulation.test_uncompiled_fluid", journals)
    assert there == here
    assert sum(len(jobs) for jobs, _, _ in there) == RUNS * JOBS


if __name__ == "__main__":
    tell(journals)
