"""Jobs of a partition that is local are in one zone, chosen when they start: on paper."""

import json
from dataclasses import replace

import pytest
from tests.build import placements, workload
from tests.faces.batsim_build import networked

from unspool.errors import DecisionError
from unspool.model.platform import MachineGroup, Partition
from unspool.platforms.cluster import describe, read_cluster
from unspool.policies.base import Start
from unspool.results.run import run

EVERY = pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "filler"])


def zones(*sizes, selection="first", cores=1):
    """Zones of so many machines each; jobs of the partition `zone` must be in one."""
    platform = networked({f"z{at}": [{}] * size for at, size in enumerate(sizes)})
    groups = tuple(MachineGroup(replace(group.machine, cores=cores), group.count) for group in platform.groups)
    names = tuple(group.machine.name for group in groups)
    partitions = (Partition("any", names, default=True), Partition("zone", names, local=True))
    return replace(platform, groups=groups, partitions=partitions, selection=selection)


def jobs(*rows):
    """Jobs of (submit, run, machines, walltime), and True for those that must be in one zone."""
    partition = ["zone" if len(row) > 4 else None for row in rows]
    return workload([row[:4] for row in rows], machines=[row[2] for row in rows], partition=partition)


def placed(rows, platform, policy="fcfs"):
    return {job: sorted(held) for job, held in placements(run(jobs(*rows), platform, policy)).items()}


def starts(rows, platform, policy):
    return run(jobs(*rows), platform, policy).jobs["start_time"].to_list()


@EVERY
def test_a_local_job_starts_in_the_zone_that_is_idle(policy):
    rows = [(0, 9, 1, 9), (0, 9, 2, 9, True), (0, 9, 2, 9)]
    assert placed(rows, zones(2, 2), policy) == {"a": [0], "b": [2, 3], "c": [0, 1]}
    assert starts(rows, zones(2, 2), policy) == [0.0, 0.0, 9.0]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("fcfs", [0, 0, 0, 6, 6]),  # e waits behind d
        ("easy", [0, 0, 0, 6, 4]),  # e would have kept machine 3 until 7; machine 1, free at 4, d does not need
        ("conservative", [0, 0, 0, 6, 4]),
        ("filler", [0, 0, 0, 7, 2]),  # e takes machine 3 at 2, and d the second zone when e ends
    ],
)
def test_a_local_job_is_promised_the_zone_that_is_free_first(policy, expected):
    # Zones of 2: machine 0 is taken until 10, 1 until 4, 2 until 6. Two are free at 4, but in one zone at 6.
    rows = [(0, 10, 1, 10), (0, 4, 1, 4), (0, 6, 1, 6), (1, 3, 2, 3, True), (2, 5, 1, 5)]
    assert starts(rows, zones(2, 2), policy) == expected
    assert placed(rows, zones(2, 2), policy)["d"] == [2, 3]


@EVERY
def test_of_several_zones_the_one_with_the_least_room_is_taken(policy):
    assert placed([(0, 9, 2, 9, True), (0, 9, 4, 9, True)], zones(4, 2), policy) == {"a": [4, 5], "b": [0, 1, 2, 3]}


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ("worst", {"a": [0, 1], "b": [2, 3], "c": [0, 1], "d": [2, 3]}),  # the least used machines first
        ("spread", {"a": [0, 1], "b": [2, 3], "c": [0, 1], "d": [2, 3]}),
        ("best", {"a": [0, 1], "b": [0, 1], "c": [0, 1], "d": [0, 1]}),  # the fullest first
        ("pack", {"a": [0, 1], "b": [0, 1], "c": [0, 1], "d": [0, 1]}),
        ("contiguous", {"a": [0, 1], "b": [0, 1], "c": [0, 1], "d": [0, 1]}),
        ("nearby", {"a": [0, 1], "b": [0, 1], "c": [0, 1], "d": [0, 1]}),
        ("local", {"a": [0, 1], "b": [0, 1], "c": [0, 1], "d": [0, 1]}),
    ],
)
def test_within_a_zone_machines_are_chosen_as_ever(selection, expected):
    # Machines of 4 cores that jobs share.
    platform = zones(2, 2, selection=selection, cores=4)
    assert placed([(0, 9, 2, 9, True)] * 4, platform) == expected


@EVERY
def test_neighbours_are_neighbours_within_a_zone(policy):
    # Machines 2 and 3 are neighbours, and in two zones.
    rows = [(0, 9, 2, 9), (0, 9, 2, 9, True)]
    assert placed(rows, zones(3, 3, selection="contiguous"), policy) == {"a": [0, 1], "b": [3, 4]}


def test_a_job_that_no_zone_holds_is_rejected():
    result = run(jobs((0, 9, 3, 9, True), (0, 9, 2, 9, True)), zones(2, 2), "easy")
    assert result.rejected.select("job_id", "reason").rows() == [
        ("a", "asks for 3 machines in one part of the network; an empty one has room for 2 at most")
    ]


@EVERY
def test_with_a_single_zone_nothing_is_different(policy):
    assert placed([(0, 9, 1, 9), (0, 9, 3, 9, True)], zones(4), policy) == {"a": [0], "b": [1, 2, 3]}


def test_a_policy_of_ones_own_cannot_put_a_local_job_into_two_zones():
    def across(view):
        return [Start(job, [1, 2]) for job in view.queue]

    with pytest.raises(DecisionError, match="its machines are in 2 parts of the network; its partition allows one"):
        run(jobs((0, 9, 2, 9, True)), zones(2, 2), across)


def test_a_partition_that_is_local_is_written_and_read(tmp_path):
    platform = zones(2, 2)
    (tmp_path / "platform.json").write_text(json.dumps(describe(platform)))
    assert read_cluster(tmp_path / "platform.json").partitions == platform.partitions
