"""Multifactor priority, a factor at a time, on paper. Rows are (submit, run, cores, walltime)."""

from dataclasses import replace

import pytest
from tests.build import everywhere, starts, workload

from unspool.model.platform import MachineGroup, MachineType, Partition, Platform

WEIGHTS = ("age", "fair_share", "size", "partition", "qos")


def only(**parameters):
    """Multifactor with no other weights and times than these."""
    return "multifactor:" + ",".join(
        f"{key}={value}" for key, value in (dict.fromkeys(WEIGHTS, 0) | parameters).items()
    )


@everywhere
def test_without_weights_jobs_go_by_line(cluster):
    jobs = workload([(0, 10, 2, 10), (1, 5, 1, 5), (2, 5, 2, 5)], user=["ann", "ann", "bob"])
    assert starts(jobs, cluster(2), only()) == [0, 10, 15]


@everywhere
def test_by_age_alone_jobs_go_by_arrival(cluster):
    jobs = workload([(0, 10, 2, 10), (1, 9, 2, 9), (2, 5, 2, 5)])
    assert starts(jobs, cluster(2), only(age=1000)) == [0, 10, 19]


@everywhere
def test_largest_job_is_first_by_size(cluster):
    jobs = workload([(0, 10, 4, 10), (1, 5, 1, 5), (2, 5, 4, 5)])
    assert starts(jobs, cluster(4), "fcfs") == [0, 10, 15]
    assert starts(jobs, cluster(4), only(size=1000)) == [0, 15, 10]


@pytest.mark.parametrize(("until", "expected"), [(130, [0, 0, 130, 135]), (140, [0, 0, 145, 140])])
def test_age_counts_up_to_the_longest_age(until, expected):
    # After 100 s c has 1 + 2 / 8, and no more. d has (130 - 50) / 100 + 3 / 8 = 1.175, and 1.275 at 140 s.
    jobs = workload([(0, 999, 5, 999), (0, until, 3, until), (0, 5, 2, 5), (50, 5, 3, 5)])
    assert starts(jobs, Platform.pool(8), only(age=1000, size=1000, longest_age_s=100)) == expected


@everywhere
def test_user_who_has_used_less_is_first_by_fair_share(cluster):
    jobs = workload([(0, 10, 1, 10), (1, 5, 1, 5), (2, 5, 1, 5)], user=["ann", "ann", "bob"])
    assert starts(jobs, cluster(1), only(fair_share=1000)) == [0, 15, 10]


@pytest.mark.parametrize(("size", "expected"), [(850, [0, 11, 10]), (864, [0, 10, 15])])
def test_fair_share_is_two_to_the_minus_used_by_share(size, expected):
    # Of two users ann has used all: 2^(-1 / 0.5) = 1/4, and bob, with 0, has 1. So her job of 8 cores has 250 + size,
    # his of 1 core 1000 + size / 8: 1100 against 1106.25, or 1114 against 1108.
    jobs = workload([(0, 10, 8, 10), (1, 5, 8, 5), (2, 1, 1, 1)], user=["ann", "ann", "bob"])
    assert starts(jobs, Platform.pool(8), only(fair_share=1000, size=size)) == expected


@pytest.mark.parametrize(("half_life_s", "expected"), [(10, [0, 100, 115, 110]), (1e15, [0, 100, 110, 115])])
def test_usage_of_a_half_life_ago_counts_half(half_life_s, expected):
    # ann used 20 core seconds long ago, bob 10 just now. Hers are forgotten, unless the half-life is long.
    jobs = workload(
        [(0, 20, 1, 20), (100, 10, 1, 10), (101, 5, 1, 5), (102, 5, 1, 5)], user=["ann", "bob", "bob", "ann"]
    )
    assert starts(jobs, Platform.pool(1), only(fair_share=1000, half_life_s=half_life_s)) == expected


@pytest.mark.parametrize(("cores", "expected"), [(3, [0, 20, 35, 30]), (5, [0, 20, 30, 35])])
def test_usage_halves_with_every_half_life(cores, expected):
    # A core for 10 s, the half-life, leaves u behind: bob has u at 30, and what ann has, 3 u or 5 u, has halved twice.
    jobs = workload(
        [(0, 10, cores, 10), (20, 10, 1, 10), (21, 5, 5, 5), (22, 5, 5, 5)], user=["ann", "bob", "bob", "ann"]
    )
    assert starts(jobs, Platform.pool(5), only(fair_share=1000, half_life_s=10)) == expected


@everywhere
def test_running_jobs_count_as_they_run(cluster):
    # At 20 ann has used 10 core seconds, and bob 20 with a job that still runs.
    jobs = workload(
        [(0, 10, 1, 10), (0, 99, 1, 99), (10, 10, 1, 10), (11, 5, 1, 5), (12, 5, 1, 5)],
        user=["ann", "bob", "cyd", "bob", "ann"],
    )
    assert starts(jobs, cluster(2), only(fair_share=1000)) == [0, 0, 10, 25, 20]


def test_partition_counts_by_its_share_of_the_highest_priority():
    # 0, 1/2 and 1; a job without one is in the default partition.
    partitions = (
        Partition("slow", ("m",)),
        Partition("middle", ("m",), default=True, priority=5),
        Partition("fast", ("m",), priority=10),
    )
    platform = Platform((MachineGroup(MachineType("m", 4), 1),), partitions)
    jobs = workload([(0, 10, 4, 10)] + [(1, 5, 4, 5)] * 4, partition=["slow", "slow", None, "fast", "middle"])
    assert starts(jobs, platform, "fcfs") == [0, 10, 15, 20, 25]
    assert starts(jobs, platform, only(partition=1000)) == [0, 25, 15, 10, 20]


def test_quality_of_service_counts_by_its_share_of_the_highest_priority():
    platform = replace(Platform.pool(4), qos={"low": 1.0, "high": 4.0})
    jobs = workload([(0, 10, 4, 10)] + [(1, 5, 4, 5)] * 4, qos=[None, None, "low", "unknown", "high"])
    assert starts(jobs, platform, only(qos=1000)) == [0, 20, 15, 25, 10]
    # low is 1/4 of high: 250 against a size of 1/4 with weight 900 or 1100.
    for weight, expected in ((900, [0, 10, 15]), (1100, [0, 15, 10])):
        jobs = workload([(0, 10, 4, 10), (1, 5, 3, 5), (2, 5, 4, 5)], qos=[None, "low", None])
        assert starts(jobs, platform, only(qos=1000, size=weight)) == expected


@everywhere
def test_multifactor_is_an_order_for_backfilling(cluster):
    # By size c is the head, for all four cores at 10: b would delay it, d ends in time.
    jobs = workload([(0, 10, 3, 10), (1, 20, 1, 20), (1, 5, 4, 5), (3, 5, 1, 5)])
    assert starts(jobs, cluster(4), "easy") == [0, 1, 21, 10]
    by_size = only(size=1).replace("multifactor:", "easy:order=multifactor(") + ")"
    assert starts(jobs, cluster(4), by_size) == [0, 15, 10, 3]
