"""Rounds on fat links that never end, in SimGrid as here: they are told, and the clean variant has none."""

import polars as pl
import pytest

from unspool import RunError, Workload
from unspool.model.network import Contention, Host, Link, Network
from unspool.model.platform import MachineGroup, MachineType, Platform
from unspool.model.profile import Task
from unspool.results.run import run
from unspool.simulation.tasks import FluidTask, finish_times

# Two hosts with one fat link between them. The slow task closes at its bound of 1e-7 a second, with which it takes
# 1e-7 B/s of the link's 1e10: too little to change them. So the fast one, which has no other bound, rises for ever.
FAT = Network(
    (Host("a", (1e9,)), Host("b", (1e9,))), (Link("fat", 1e10, 0.0, is_fat=True),), (0, 0),
    ((), ()), ((), ()), ((), ()), {(0, 0): (0,)},
)  # fmt: skip
SLOW = FluidTask("slow", 0.0, (0, 1), (1e16, 0.0), (0.0, 1.0, 0.0, 0.0))
FAST = FluidTask("fast", 0.0, (0, 1), (), (0.0, 1e9, 0.0, 0.0))


def test_tasks_that_rise_for_ever_are_told():
    with pytest.raises(RunError, match=r"fat links .* rise for ever"):
        finish_times(FAT, [SLOW, FAST])


def test_the_clean_variant_has_a_fat_link_as_a_bound():
    assert finish_times(FAT, [SLOW, FAST], sharing="clean") == [1e7, 0.1]


def test_each_alone_ends():
    assert finish_times(FAT, [FAST]) == [0.1]
    assert finish_times(FAT, [SLOW]) == [1e7]


def test_a_run_that_meets_them_fails_and_says_so():
    platform = Platform((MachineGroup(MachineType("host", 2), 2),), network=FAT)
    profiles = {"slow": Task((1e16, 0.0), (0.0, 1.0, 0.0, 0.0)), "fast": Task((), (0.0, 1e9, 0.0, 0.0))}
    table = pl.DataFrame(
        {
            "job_id": ["1", "2"], "submit_time": [0.0, 0.0], "run_time": [0.0, 0.0], "walltime": [1e9, 1e9],
            "cores": [2, 2], "machines": [2, 2], "profile": ["slow", "fast"],
        }
    )  # fmt: skip
    jobs = Workload.of(table, profiles=profiles)
    with pytest.raises(RunError, match="--sharing clean"):
        run(jobs, platform, "fcfs")
    ends = run(jobs, platform, "fcfs", contention=Contention(sharing="clean")).jobs["finish_time"].to_list()
    assert ends == [1e7, 0.1]
