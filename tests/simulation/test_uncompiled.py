"""The same source, not compiled, gives the same journal to the last bit."""

import random

from tests.strategies import as_platform, as_workload
from tests.uncompiled import tell, uncompiled_and_compiled

from unspool.model.cloud import Cloud, InstanceType, SpotRule
from unspool.model.platform import SELECTIONS, Platform
from unspool.results.run import run

WORKLOADS = 30
POLICIES = ("fcfs", "easy", "conservative", "filler")
SPECIAL = (
    "f1",
    "wfp3",
    "multifactor:half_life_s=100,longest_age_s=200",
    "easy:order=unicef",
    "easy:predictor=last-two",
    "easy:order=sjf,predictor=exact",
    "conservative:order=wfp3",
)


def random_jobs(draw):
    """Jobs with times that are no round numbers; some outlive their walltime, some have none."""
    jobs = []
    for at in sorted(draw.choice([draw.uniform(0, 300), 10.0 * draw.randrange(30)]) for _ in range(25)):
        jobs.append(
            {
                "submit": at,
                "run": draw.choice([0.0, draw.expovariate(1 / 60), 60.0]),
                "walltime": draw.choice([None, draw.uniform(1, 200), 60.0]),
                "cores": draw.randint(1, 6),
                "machines": draw.choice([None, None, 1, 2]),
                "memory": draw.choice([None, draw.randint(1, 9)]),
                "gpus": draw.choice([None, None, 1, 2]),
                "user": draw.choice("abc"),
            }
        )
    return jobs


def journals():
    """What happened in each of some random runs, on pools and on machines, under every policy."""
    found = []
    for seed in range(WORKLOADS):
        draw = random.Random(seed)
        jobs = random_jobs(draw)
        platform = Platform.pool(8)
        if seed % 2:
            fleet = [(draw.randint(1, 3), draw.randint(1, 4), draw.choice([0, 8]), draw.randint(0, 2)) for _ in "ab"]
            platform = as_platform(fleet, selection=SELECTIONS[seed % len(SELECTIONS)])
        # Each of these is compiled for itself, so only where that is quick.
        special = SPECIAL[seed // 2 % len(SPECIAL)] if platform.is_pool else "f1"
        for policy in (*POLICIES, special):
            result = run(as_workload(jobs), platform, policy, kill_at_walltime=seed % 3 == 0)
            found.append([result.attempts.rows(), result.allocations.rows(), result.rejected.rows()])
        found.append(_in_cloud(as_workload(jobs), draw, seed))
    return found


def _in_cloud(log, draw, seed):
    """The same in a cloud with spot instances that are reclaimed."""
    sizes = [(cores, draw.choice([8, 16])) for cores in (2, 4, 8)]
    types = [InstanceType(f"f.{c}", "f", c, c, 10 * m, 2, "", 0.0, 0.1 * c, 0.03 * c) for c, m in sizes]
    rules = {"spot_rules": (SpotRule(),), "reclaim_per_minute": 0.3, "boot_s": draw.choice([0.0, 45.5])}
    cloud = Cloud(tuple(types), shares=seed % 2 == 0, frequency_s=draw.choice([0.0, 60.0]), checkpoint_s=7.5, **rules)
    policy = "fcfs" if seed % 3 == 0 else "cheapest-fit"
    result = run(log, Platform((), cloud=cloud), policy, seed=seed)
    return [result.attempts.rows(), result.machines.rows(), result.rejected.rows()]


def test_uncompiled_run_gives_the_same_journal_bit_for_bit():
    there, here = uncompiled_and_compiled("tests.simulation.test_uncompiled", journals)
    assert there == here
    assert sum(len(attempts) for attempts, _, _ in there) > 40 * WORKLOADS


if __name__ == "__main__":
    tell(journals)
