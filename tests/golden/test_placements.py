"""Placements other than cheapest-fit, on paper: a core costs $0.06 an hour, boot takes 2 minutes, idle time is 4."""

import pytest
from tests.golden.test_cloud import GIB, cloud, hosts, jobs, starts

from unspool.analysis.costs import costs_of
from unspool.errors import InputError
from unspool.model.cloud import InstanceType, Limits
from unspool.results.run import run

SMALL = InstanceType("c.small", "c", 1, 2, 4 * GIB, on_demand_usd_per_hour=0.06)
LARGE = InstanceType("c.large", "c", 4, 8, 16 * GIB, on_demand_usd_per_hour=0.24)
WEIGHTLESS = "least-added-cost:wait_usd=0,room_share=0,idle_usd=0"
# a holds 3 of the 4 cores of a large one until 720; b is short of that, c outlives it by 3,180 s.
THREE = jobs((0, 600, 3, 3), (300, 420, 1, 1), (300, 3600, 1, 1))


def kinds(result):
    return result.machines["type"].to_list()


def total(result, log):
    return costs_of(result, log).summary["total_cost_usd"]


def test_a_long_job_gets_a_machine_of_its_own_where_it_would_keep_a_large_one_alive():
    log = jobs((0, 600, 3, 3), (300, 3600, 1, 1))
    result = run(log, cloud(SMALL, LARGE), WEIGHTLESS)
    # 3,180 s more of the large one are $0.212, a small one is 120 + 3,600 + 240 s: $0.066.
    assert hosts(result) == {"a": [0], "b": [1]}
    assert kinds(result) == ["c.large", "c.small"]
    assert starts(result) == {"a": 120.0, "b": 420.0}
    assert total(result, log) == pytest.approx((960 * 0.24 + 3960 * 0.06) / 3600)
    joined = run(log, cloud(SMALL, LARGE), "cheapest-fit")
    assert hosts(joined) == {"a": [0], "b": [0]}
    assert total(joined, log) == pytest.approx(4140 * 0.24 / 3600)


def test_a_job_that_ends_with_the_others_joins_them_and_waits_for_nothing():
    result = run(THREE, cloud(SMALL, LARGE), WEIGHTLESS)
    assert hosts(result) == {"a": [0], "b": [0], "c": [1]}
    assert starts(result)["b"] == 300.0


def test_two_minutes_of_waiting_at_a_hundred_dollars_an_hour_are_worth_a_longer_life():
    # $0.212 are less than $0.066 and 120 s at $100 an hour.
    log = jobs((0, 600, 3, 3), (300, 3600, 1, 1))
    assert hosts(run(log, cloud(SMALL, LARGE), "least-added-cost:room_share=0,idle_usd=0"))["b"] == [0]
    # At $4 an hour they are $0.133: together $0.199, which is less.
    assert hosts(run(log, cloud(SMALL, LARGE), "least-added-cost:wait_usd=4,room_share=0,idle_usd=0"))["b"] == [1]


@pytest.mark.parametrize(("share", "kind"), [(1.0, "c.small"), (1.2, "c.large")])
def test_room_for_others_makes_a_larger_machine_worth_its_price(share, kind):
    # An hour on a small one: $0.066. On a large one $0.264, less 3 core-hours at $0.06 times the share.
    result = run(jobs((0, 3600, 1, 1)), cloud(SMALL, LARGE), f"least-added-cost:room_share={share},idle_usd=0")
    assert kinds(result) == [kind]


def test_memory_that_is_taken_leaves_no_room():
    # All of the memory of the large one: its three cores are of no use to others.
    result = run(jobs((0, 3600, 1, 4)), cloud(SMALL, LARGE), "least-added-cost:room_share=1.2,idle_usd=0")
    assert kinds(result) == ["c.large"]  # a quarter of it is taken
    thin = InstanceType("c.large", "c", 4, 8, 4 * GIB, on_demand_usd_per_hour=0.24)
    result = run(jobs((0, 3600, 1, 4)), cloud(SMALL, thin), "least-added-cost:room_share=1.2,idle_usd=0")
    assert kinds(result) == ["c.small"]


def test_the_less_a_machine_costs_the_longer_it_is_kept():
    log = jobs((0, 600, 1, 1), (0, 600, 3, 3))
    result = run(log, cloud(SMALL, LARGE, frequency_s=60.0), "least-added-cost:wait_usd=0,room_share=0,idle_usd=0.12")
    # 240 s at $0.12 an hour: 120 s of the large one, which both share.
    assert result.machines.select("type", "stop_time").rows() == [("c.large", 840.0)]
    small = run(jobs((0, 600, 1, 1)), cloud(SMALL), "least-added-cost:idle_usd=0.12")
    assert small.machines["stop_time"].to_list() == [720.0 + 480.0]
    free = InstanceType("c.free", "c", 1, 2, 4 * GIB, on_demand_usd_per_hour=0.0)
    kept = run(jobs((0, 600, 1, 1)), cloud(free), "least-added-cost")
    assert kept.machines["stop_time"].to_list() == [720.0 + 48 * 240.0]


def test_where_limits_forbid_what_would_add_less_a_job_joins_what_is_there():
    log = jobs((0, 600, 3, 3), (300, 3600, 1, 1))
    result = run(log, cloud(SMALL, LARGE, max_instances=Limits(1)), WEIGHTLESS)
    assert hosts(result) == {"a": [0], "b": [0]}


def test_a_predictor_is_believed_until_jobs_end():
    # Nothing is known of the user's jobs but the walltime, which says that a long job is short.
    log = jobs((0, 600, 3, 3), (300, 3600, 1, 1), user=["u", "v"], walltime=[600.0, 400.0])
    platform = cloud(SMALL, LARGE)
    guessed = run(log, platform, f"{WEIGHTLESS},predictor=last-two", kill_at_walltime=False)
    assert hosts(guessed)["b"] == [0]
    assert hosts(run(log, platform, WEIGHTLESS, kill_at_walltime=False))["b"] == [1]


def test_largest_size_starts_the_largest_of_the_family_that_cheapest_fit_would_take():
    other = InstanceType("m.huge", "m", 8, 16, 64 * GIB, on_demand_usd_per_hour=9.0)
    result = run(jobs((0, 600, 1, 1), (0, 600, 3, 3)), cloud(SMALL, LARGE, other), "largest-size")
    assert kinds(result) == ["c.large"]
    assert hosts(result) == {"a": [0], "b": [0]}
    limited = run(jobs((0, 600, 1, 1)), cloud(SMALL, LARGE, other, max_vcpus=Limits(4)), "largest-size")
    assert kinds(limited) == ["c.small"]


@pytest.mark.parametrize("weight", ["wait_usd=-1", "room_share=-0.5", "idle_usd=-2", "wait_usd=inf"])
def test_weights_below_nothing_are_refused(weight):
    with pytest.raises(InputError, match=r"least-added-cost: .* expected a number, 0 or more"):
        run(jobs((0, 600, 1, 1)), cloud(SMALL), f"least-added-cost:{weight}")


@pytest.mark.parametrize("name", ["largest-size", "least-added-cost"])
def test_a_placement_without_a_cloud_is_an_error_that_names_it(name):
    from unspool.platforms import read_platform

    with pytest.raises(InputError, match=f"{name} starts machines"):
        run(jobs((0, 600, 1, 1)), read_platform("4"), name)
