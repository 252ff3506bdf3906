"""The twin of the cloud against paper, and against the AWS tool's hourly table where the two models agree."""

import csv
import gzip
import json
import math
import os
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from tests.oracles.cloud import drawn, replay
from tests.oracles.cloud_money import bill

from unspool.conform.cloud import compare_hours
from unspool.model.cloud import Cloud, InstanceType, Limits, SpotRule
from unspool.model.platform import MachineGroup, MachineType, Platform
from unspool.model.prices import Price
from unspool.model.workload import Workload

CASES = Path(os.environ.get("UNSPOOL_CASES", Path(__file__).parents[3] / "shared" / "cases")) / "cloud"
GIB = 1 << 30
SPOT = (SpotRule(),)


def kind(name, cores, memory_gib, price, spot=None, **more):
    family = name.partition(".")[0]
    return InstanceType(
        name, family, cores, 2 * cores, memory_gib * GIB, on_demand_usd_per_hour=price, spot_usd_per_hour=spot, **more
    )


SMALL, MIDDLE, LARGE = (
    kind("c5.large", 1, 4, 0.06, 0.03),
    kind("c5.xlarge", 2, 8, 0.12, 0.06),
    kind("c5.2xlarge", 4, 16, 0.24, 0.12),
)


def cloud(*types, groups=(), **rules):
    """A platform of these types: boots in 120 s, stops after 240 s, shares, places at once."""
    rules = {"boot_s": 120.0, "idle_s": 240.0, "shares": True, "minimum_billed_s": 0.0, **rules}
    return Platform(groups, cloud=Cloud(types or (SMALL, MIDDLE, LARGE), **rules))


def servers(name, count, cores, price, memory_gib=0, billing="always", plan="on-premises"):
    return MachineGroup(MachineType(name, cores, memory_gib * GIB, 0, {}, (Price(price, plan),), plan, billing), count)


def jobs(*rows, origin=0.0):
    """Jobs 'a', 'b', ... of (eligible, run time, cores, GiB, hosts)."""
    submit, run, cores, memory, hosts = zip(*((*row, 1)[:5] for row in rows), strict=True)
    table = {
        "job_id": [chr(ord("a") + at) for at in range(len(rows))],
        "submit_time": submit,
        "run_time": run,
        "cores": cores,
        "memory_bytes": [gib * GIB for gib in memory],
        "machines": hosts,
    }
    return Workload.of(pl.DataFrame(table), origin_unix_s=origin)


def times(run):
    """{job id: [(start, finish, how, machines) of each attempt]}"""
    found = {}
    for job_id, *rest in run.attempts:
        found.setdefault(job_id, []).append(tuple(rest))
    return found


def lives(run):
    """(type, start, up, stop) of each instance."""
    return [(m.type, m.start_time, m.up_time, m.stop_time) for m in run.machines if m.billing == "life"]


def after(*seconds):
    """The n-th spot instance of a job is reclaimed so long after its start; those after the last never."""
    return lambda _, ordinal: seconds[ordinal] if ordinal < len(seconds) else math.inf


def test_ten_minute_job_costs_sixteen_minutes_and_waits_for_the_boot():
    log, platform = jobs((0, 600, 1, 4)), cloud()
    run = replay(log, platform)
    assert lives(run) == [("c5.large", 0, 120, 960)]
    assert times(run) == {"a": [(120, 720, "completed", (0,))]}
    assert run.jobs[0].wait_time == 120
    money = bill(run, log, platform)
    assert money.total == pytest.approx(0.016, abs=1e-15)
    assert money.parts[0] == pytest.approx({"boot": 0.002, "run": 0.01, "idle": 0.004})
    assert money.jobs["a"] == pytest.approx(0.012)
    assert money.unallocated == pytest.approx(0.004)


def test_limiting_resource_decides_what_each_job_pays():
    # Memory limits (12 of 16 GiB against 2 of 4 cores): 8/12 and 4/12 of the hour.
    log, platform = jobs((0, 3600, 1, 8), (0, 3600, 1, 4)), cloud(LARGE, boot_s=0, idle_s=0)
    run = replay(log, platform)
    assert times(run) == {name: [(0, 3600, "completed", (0,))] for name in "ab"}
    assert bill(run, log, platform).jobs == pytest.approx({"a": 0.24 * 8 / 12, "b": 0.24 * 4 / 12})


def test_shares_change_when_a_job_leaves():
    log, platform = jobs((0, 3600, 1, 8), (0, 1800, 1, 4)), cloud(LARGE, boot_s=0, idle_s=0)
    money = bill(replay(log, platform), log, platform)
    assert money.jobs == pytest.approx({"a": 0.12 * 8 / 12 + 0.12, "b": 0.12 * 4 / 12})


def test_arrival_at_the_instant_of_an_idle_stop_cancels_it():
    run = replay(jobs((0, 600, 1, 4), (960, 60, 1, 4), (1261, 60, 1, 4)), cloud())
    assert times(run)["b"] == [(960, 1020, "completed", (0,))]
    assert lives(run) == [("c5.large", 0, 120, 1260), ("c5.large", 1261, 1381, 1681)]


def test_job_that_ends_frees_its_room_for_an_arrival_at_that_instant():
    run = replay(jobs((0, 600, 1, 4), (720, 60, 1, 4)), cloud())
    assert times(run)["b"] == [(720, 780, "completed", (0,))]


def test_fullest_machine_is_taken_and_then_the_one_that_changed_longest_ago():
    # a and b fill a machine each (4 cores); c and d find 1 core free on the first, 2 on the second.
    rows = ((0, 900, 3, 1), (0, 900, 2, 1), (10, 900, 1, 1), (20, 900, 1, 1), (30, 900, 1, 1))
    run = replay(jobs(*rows), cloud(LARGE))
    assert [attempt.machines for attempt in run.attempts] == [(0,), (1,), (0,), (1,), (1,)]
    # Two machines as full: the first changed first, until it is taken.
    rows = ((0, 900, 3, 1), (0, 900, 3, 1), (10, 100, 1, 1), (10, 900, 1, 1))
    run = replay(jobs(*rows, (300, 9, 1, 1)), cloud(LARGE))
    assert [attempt.machines for attempt in run.attempts] == [(0,), (1,), (0,), (1,), (0,)]


def test_without_sharing_an_idle_machine_is_reused_the_least_expensive_first():
    run = replay(jobs((0, 60, 2, 1), (0, 60, 1, 1), (200, 60, 1, 1), (200, 60, 1, 1)), cloud(shares=False))
    assert [machine for machine, *_ in lives(run)] == ["c5.xlarge", "c5.large"]
    assert times(run)["c"] == [(200, 260, "completed", (1,))]
    assert times(run)["d"] == [(200, 260, "completed", (0,))]


def test_equal_prices_start_the_first_name():
    run = replay(jobs((0, 60, 1, 1)), cloud(kind("b.large", 1, 4, 0.06), kind("a.large", 2, 8, 0.06)))
    assert [machine for machine, *_ in lives(run)] == ["a.large"]


def test_jobs_that_wait_for_a_tick_are_packed_the_largest_share_first():
    # The first multiple of 120 s since the epoch is 60 s after the origin. c has the largest share and starts a
    # machine for its three cores; a takes the core that is left, and b, at last, starts the smallest.
    run = replay(jobs((0, 600, 1, 1), (1, 600, 1, 1), (2, 600, 3, 1), origin=60.0), cloud(frequency_s=120.0))
    assert lives(run) == [("c5.2xlarge", 60, 180, 1020), ("c5.large", 60, 180, 1020)]
    assert [(attempt.job_id, attempt.machines) for attempt in run.attempts] == [("c", (0,)), ("a", (0,)), ("b", (1,))]


def test_arrival_between_ticks_takes_what_is_there_and_waits_otherwise():
    run = replay(jobs((0, 600, 1, 1), (130, 60, 1, 1), (140, 60, 2, 1)), cloud(MIDDLE, LARGE, frequency_s=60.0))
    assert times(run) == {
        "a": [(120, 720, "completed", (0,))],
        "b": [(130, 190, "completed", (0,))],
        "c": [(300, 360, "completed", (1,))],
    }
    assert lives(run) == [("c5.xlarge", 0, 120, 960), ("c5.xlarge", 180, 300, 600)]


def test_tick_takes_an_arrival_of_that_instant_and_comes_once():
    # At 60 a runs for no time on what is started for it, and b waits for the next tick though a left at once.
    platform = cloud(SMALL, boot_s=0.0, frequency_s=60.0, max_instances=Limits(1))
    run = replay(jobs((60, 0, 1, 1), (60, 30, 1, 1)), platform)
    assert times(run) == {"a": [(60, 60, "completed", (0,))], "b": [(120, 150, "completed", (0,))]}


def test_job_of_two_hosts_starts_when_the_last_is_up_and_its_place_is_held():
    # a runs from 120 to 180 on the first machine; b holds a place there from 100 and waits for its second host.
    log, platform = jobs((0, 60, 1, 1), (100, 600, 4, 4, 2)), cloud(LARGE)
    run = replay(log, platform)
    assert times(run)["b"] == [(220, 820, "completed", (0, 1))]
    assert lives(run) == [("c5.2xlarge", 0, 120, 1060), ("c5.2xlarge", 100, 220, 1060)]
    first = bill(run, log, platform).parts[0]
    assert first == pytest.approx({"boot": 0.008, "run": 660 / 3600 * 0.24, "idle": 280 / 3600 * 0.24})


def test_reclaim_of_one_host_ends_the_attempt_on_all_and_the_others_stay():
    platform = cloud(SMALL, spot_rules=SPOT)
    run = replay(jobs((0, 600, 2, 2, 2)), platform, reclaim_after=after(math.inf, 300))
    assert times(run)["a"] == [(120, 300, "lost", (0, 1)), (420, 1020, "completed", (0, 2))]
    assert lives(run) == [("c5.large", 0, 120, 1260), ("c5.large", 0, 120, 300), ("c5.large", 300, 420, 1260)]
    assert [machine.cause for machine in run.machines] == ["idle", "reclaimed", "idle"]
    assert run.jobs[0].wait_time == 420


def test_checkpoints_keep_whole_intervals_and_retries_end_on_demand():
    platform = cloud(SMALL, spot_rules=SPOT, checkpoint_s=100.0, max_spot_retries=2)
    run = replay(jobs((0, 600, 1, 1)), platform, reclaim_after=after(370, 60))
    # 250 s ran and 200 are kept; the second is reclaimed in its boot; then 400 s are left, on demand.
    assert times(run)["a"] == [(120, 370, "lost", (0,)), (430, 430, "lost", (1,)), (550, 950, "completed", (2,))]
    assert [machine.plan for machine in run.machines] == ["spot", "spot", "on-demand"]
    assert [machine.up_time for machine in run.machines] == [120, None, 550]


@pytest.mark.parametrize(
    ("retries", "attempts", "plans"),
    [
        (0, [(120, 720, "completed", (0,))], ["on-demand"]),
        (1, [(120, 300, "lost", (0,)), (420, 1020, "completed", (1,))], ["spot", "on-demand"]),
        (
            2,
            [(120, 300, "lost", (0,)), (420, 500, "lost", (1,)), (620, 1220, "completed", (2,))],
            ["spot", "spot", "on-demand"],
        ),
    ],
)
def test_so_many_reclaims_are_the_last_on_spot(retries, attempts, plans):
    platform = cloud(SMALL, spot_rules=SPOT, max_spot_retries=retries)
    run = replay(jobs((0, 600, 1, 1)), platform, reclaim_after=after(300, 200))
    assert times(run)["a"] == attempts
    assert [machine.plan for machine in run.machines] == plans


def test_spot_is_for_run_times_strictly_below_the_threshold():
    platform = cloud(SMALL, spot_rules=(SpotRule(max_minutes=10),), reclaim_per_minute=0.0)
    run = replay(jobs((0, 599, 1, 1), (0, 600, 1, 1)), platform)
    assert [machine.plan for machine in run.machines] == ["spot", "on-demand"]


def test_spot_job_that_no_spot_type_fits_is_on_demand():
    run = replay(jobs((0, 60, 2, 1)), cloud(SMALL, kind("m5.xlarge", 2, 16, 0.18), spot_rules=SPOT))
    assert [(machine.type, machine.plan) for machine in run.machines] == [("m5.xlarge", "on-demand")]


def test_what_is_paid_anyway_goes_first_and_then_what_is_paid_when_used():
    groups = (
        servers("used", 1, 1, 0.01, billing="used"),
        servers("always", 1, 1, 9.0),
        servers("c5.large", 1, 1, 8.0, 4, plan="reserved"),
    )
    log, platform = jobs(*((at, 1800, 1, 1) for at in range(4))), cloud(groups=groups, boot_s=0, idle_s=0)
    run = replay(log, platform)
    assert [attempt.machines for attempt in run.attempts] == [(2,), (1,), (0,), (3,)]
    money = bill(run, log, platform)
    assert money.paid == pytest.approx([0.005, 9.0, 8.0, 0.03])
    assert money.parts[1] == pytest.approx({"boot": 0, "run": 4.5, "idle": 4.5})
    assert money.hours[0].cost == pytest.approx({"on-premises": 9.005, "reserved": 8, "on-demand": 0.03, "spot": 0})


def test_without_sharing_what_is_paid_always_still_goes_by_price_per_core_and_what_is_used_by_price_per_hour():
    groups = (servers("a", 1, 1, 3.0), servers("b", 1, 4, 4.0))
    used = (servers("c", 1, 1, 3.0, billing="used"), servers("d", 1, 4, 4.0, billing="used"))
    run = replay(jobs(*[(0, 60, 1, 1)] * 4), cloud(groups=(*groups, *used), shares=False))
    assert [attempt.machines for attempt in run.attempts] == [(1,), (0,), (2,), (3,)]


def test_job_bursts_after_it_has_waited_so_long():
    groups = (servers("rack", 1, 1, 0.0),)
    run = replay(jobs((0, 1000, 1, 1), (0, 60, 1, 1), (500, 60, 1, 1)), cloud(groups=groups, burst_after_s=600.0))
    assert times(run)["b"] == [(720, 780, "completed", (1,))]
    assert times(run)["c"] == [(1000, 1060, "completed", (0,))]


def test_without_bursting_jobs_queue_and_what_no_server_holds_is_rejected():
    groups = (servers("rack", 1, 2, 0.0),)
    log = jobs((0, 100, 1, 1), (1, 100, 2, 1), (2, 10, 1, 1), (3, 10, 3, 1), (3, 10, 2, 1, 2))
    run = replay(log, cloud(groups=groups, burst_after_s=math.inf))
    # c passes b, which does not fit.
    assert {name: rows[0][0] for name, rows in times(run).items()} == {"a": 0, "b": 100, "c": 2}
    assert run.rejected == [("d", "size"), ("e", "hosts")]


def test_jobs_over_the_limits_wait_for_a_stop():
    one = Limits(of_family={"c5": 1})
    run = replay(jobs((0, 60, 1, 1), (0, 60, 2, 1)), cloud(max_instances=one))
    assert lives(run) == [("c5.large", 0, 120, 420), ("c5.xlarge", 420, 540, 840)]
    run = replay(jobs((0, 60, 1, 1), (0, 60, 2, 1)), cloud(max_vcpus=Limits(in_all=6)))
    assert lives(run) == [("c5.large", 0, 120, 420), ("c5.xlarge", 0, 120, 420)]


def test_job_that_waits_goes_before_one_that_arrives_when_room_is_freed():
    run = replay(jobs((0, 100, 1, 1), (50, 60, 1, 1), (220, 60, 1, 1)), cloud(SMALL, max_instances=Limits(1)))
    assert times(run)["b"] == [(220, 280, "completed", (0,))]
    assert times(run)["c"] == [(280, 340, "completed", (0,))]


def test_limits_send_a_job_to_the_next_type_in_price():
    platform = cloud(SMALL, kind("m5.large", 1, 8, 0.09), shares=False, max_instances=Limits(of_family={"c5": 1}))
    assert [machine for machine, *_ in lives(replay(jobs((0, 60, 1, 1), (0, 60, 1, 1)), platform))] == [
        "c5.large",
        "m5.large",
    ]


def test_seconds_added_to_the_minimum_are_idle_in_the_hour_of_the_stop_and_add_no_core_hours():
    log, platform = jobs((3590, 6, 1, 1)), cloud(boot_s=0, idle_s=6, minimum_billed_s=60.0)
    money = bill(replay(log, platform), log, platform)
    assert money.total == pytest.approx(0.001)
    assert {at: hour.cost["on-demand"] for at, hour in money.hours.items()} == pytest.approx(
        {0: 10 / 60 * 0.001, 1: 50 / 60 * 0.001}
    )
    assert money.hours[1].core_hours["on-demand"] == pytest.approx(2 / 3600)
    assert money.unallocated == pytest.approx(54 / 60 * 0.001)


def test_hours_without_an_instance_stand_in_the_table():
    log, platform = jobs((0, 60, 1, 1), (9000, 60, 1, 1), origin=1800.0), cloud()
    hours = bill(replay(log, platform), log, platform).hours
    assert list(hours) == [0, 1, 2, 3]
    assert [hour.cost["on-demand"] > 0 for hour in hours.values()] == [True, False, False, True]
    assert list(bill(replay(log, platform), log, platform, start=-3600.0).hours) == [0, 1, 2, 3, 4]


def test_drawn_reclaims_meet_the_chance_in_five_hours():
    platform = cloud(SMALL, spot_rules=SPOT)
    draws = [drawn(platform.cloud, seed)(7, ordinal) for seed in range(20) for ordinal in range(1000)]
    assert len(set(draws)) == 20_000
    reclaimed = sum(seconds < 18_000 for seconds in draws)
    assert reclaimed / 20_000 == pytest.approx(0.05, abs=4 * math.sqrt(0.05 * 0.95 / 20_000))


def tie_free():
    """Workload, platform and the hours of the AWS tool."""
    folder = CASES / "tie-free"
    if not folder.exists():
        pytest.skip("the cloud cases are not here: no cloud/tie-free under UNSPOOL_CASES")
    with gzip.open(folder / "instance_type_info.json.gz") as file:
        known = json.load(file)["eu-west-1"]["instance_types"]
    types = [
        InstanceType(
            name,
            name.partition(".")[0],
            it.get("DefaultCores") or it["CoreCount"],
            it["DefaultVCpus"],
            it["MemoryInMiB"] << 20,
            on_demand_usd_per_hour=it["pricing"]["OnDemand"],
        )
        for name, it in known.items()
        if name.startswith(("c5.", "m5.", "r5.", "z1d", "c6i", "m6i", "r6i")) and it["Hypervisor"] == "nitro"
    ]
    with (folder / "jobs.csv").open() as file:
        rows = list(csv.DictReader(file))
    eligible = [datetime.fromisoformat(row["eligible_time"]).replace(tzinfo=UTC).timestamp() for row in rows]
    table = {
        "job_id": [row["job_id"] for row in rows],
        "submit_time": [at - min(eligible) for at in eligible],
        "run_time": [float(row["run_time"]) for row in rows],
        "cores": [int(row["num_cores"]) for row in rows],
        "machines": [int(row["num_hosts"]) for row in rows],
        "memory_bytes": [math.ceil(float(row["max_mem_gb"]) * GIB) for row in rows],
    }
    with (folder / "hourly_stats.csv").open() as file:
        hours = list(csv.DictReader(file))
    log = Workload.of(pl.DataFrame(table), origin_unix_s=min(eligible))
    return log, cloud(*types, boot_s=0.0, idle_s=240.0), hours


def test_hourly_table_equals_that_of_the_aws_tool_where_the_models_agree():
    log, platform, expected = tie_free()
    hours = bill(replay(log, platform), log, platform).hours
    assert list(hours) == [int(row["Relative Hour"]) for row in expected]
    for row, hour in zip(expected, hours.values(), strict=True):
        found = {
            "Relative Hour": row["Relative Hour"],
            "OnDemand Core Hours": hour.core_hours["on-demand"],
            "Total OnDemand Costs": hour.cost["on-demand"],
            "Spot Core Hours": hour.core_hours["spot"],
            "Spot Costs": hour.cost["spot"],
        }
        for family in {name.partition(" ")[0] for name in row} & {kind.family for kind in platform.cloud.types}:
            found[f"{family} Core Hours"] = hour.family_core_hours[family]
            found[f"{family} OnDemand Costs"] = hour.family_cost[family]
        recorded = {name: float(value) for name, value in row.items()}
        assert set(found) == set(recorded)
        assert compare_hours({name: float(value) for name, value in found.items()}, recorded) == ()
