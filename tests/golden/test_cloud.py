"""Runs in a cloud that can be checked on paper: a small instance costs $0.06 an hour, twice its size twice that."""

import math
from dataclasses import replace

import polars as pl
import pytest

from unspool.analysis.costs import costs_of
from unspool.errors import InputError, RunError
from unspool.model.cloud import Cloud, InstanceType, Limits, SpotRule
from unspool.model.outages import Outages
from unspool.model.platform import MachineGroup, MachineType, Platform
from unspool.model.prices import Price
from unspool.model.workload import Workload
from unspool.policies.base import Start, WakeAt
from unspool.results.run import run

GIB = 1 << 30
SMALL = InstanceType("c5.large", "c5", 1, 2, 4 * GIB, on_demand_usd_per_hour=0.06, spot_usd_per_hour=0.03)
LARGE = InstanceType("c5.xlarge", "c5", 2, 4, 8 * GIB, on_demand_usd_per_hour=0.12, spot_usd_per_hour=0.06)
WIDE = InstanceType("m5.xlarge", "m5", 4, 8, 16 * GIB, on_demand_usd_per_hour=0.40)


def jobs(*rows, **more):
    """Jobs of (submit, run time, cores, GiB), named a, b, c, …"""
    submit, run_time, cores, memory = zip(*rows, strict=True)
    table = {
        "job_id": list("abcdefghij"[: len(rows)]),
        "submit_time": submit,
        "run_time": run_time,
        "cores": cores,
        "memory_bytes": [int(gib * GIB) for gib in memory],
        **more,
    }
    return Workload.of(pl.DataFrame(table))


def cloud(*types, groups=(), **rules):
    rules = {"idle_s": 240.0, "shares": True, **rules}
    return Platform(groups, cloud=Cloud(types or (SMALL, LARGE), **rules), name="cloud")


def starts(result):
    return dict(result.attempts.select("job_id", "start_time").rows())


def hosts(result):
    found = {}
    rows = result.attempts.select(pl.col("attempt").cast(pl.Int64), "job_id").join(
        result.allocations.select(pl.col("attempt").cast(pl.Int64), "first_machine"), on="attempt"
    )
    for _, job_id, machine in rows.rows():
        found.setdefault(job_id, []).append(machine)
    return found


def test_sixteen_minutes_of_an_instance_for_a_job_of_ten():
    log = jobs((0, 600, 1, 4))
    result = run(log, cloud(), "cheapest-fit")
    assert starts(result) == {"a": 120.0}
    assert result.machines.select("start_time", "up_time", "stop_time", "cause").rows() == [(0.0, 120.0, 960.0, "idle")]
    summary = costs_of(result, log).summary
    assert summary["total_cost_usd"] == pytest.approx(0.016, abs=1e-15)
    assert [summary[f"{part}_cost_usd"] for part in ("boot", "run", "idle")] == pytest.approx([0.002, 0.01, 0.004])


def test_instance_that_starts_and_stops_on_the_hour_is_paid_in_the_hour_before_like_all_that_stops_then():
    log = jobs((90, 0, 1, 4))
    platform = cloud(boot_s=0.0, idle_s=0.0, frequency_s=30.0, minimum_billed_s=60.0)
    log = replace(log, origin_unix_s=3500.0)  # it comes at 0:59:50; the tick at 1:00:00 starts the instance
    costs = costs_of(run(log, platform, "cheapest-fit"), log)
    assert costs.hourly["Total OnDemand Costs"].to_list() == pytest.approx([0.001])
    assert costs.summary["total_cost_usd"] == pytest.approx(0.001)


def test_two_jobs_on_one_machine_pay_by_the_resource_that_limits_it():
    types = (InstanceType("x", "x", 4, 4, 16 * GIB, on_demand_usd_per_hour=3.6),)
    log = jobs((0, 600, 1, 8), (0, 600, 1, 4))
    result = run(log, cloud(*types, boot_s=0.0, idle_s=0.0), "cheapest-fit")
    paid = dict(costs_of(result, log).bill.jobs.select("job_id", "cost_usd").rows())
    assert hosts(result) == {"a": [0], "b": [0]}
    assert paid == pytest.approx({"a": 0.6 * 8 / 12, "b": 0.6 * 4 / 12}, abs=1e-12)


def test_job_is_placed_on_what_is_left_of_an_instance_that_boots():
    result = run(jobs((0, 600, 2, 4), (60, 600, 1, 1)), cloud(LARGE, WIDE), "cheapest-fit")
    assert hosts(result) == {"a": [0], "b": [1]}  # all cores of the first are taken
    result = run(jobs((0, 600, 3, 4), (60, 600, 1, 1)), cloud(LARGE, WIDE), "cheapest-fit")
    assert (hosts(result), starts(result)) == ({"a": [0], "b": [0]}, {"a": 120.0, "b": 120.0})


def test_arrival_at_the_instant_of_an_idle_stop_cancels_it():
    result = run(jobs((0, 60, 1, 1), (420, 60, 1, 1), (901, 60, 1, 1)), cloud(SMALL), "cheapest-fit")
    assert hosts(result) == {"a": [0], "b": [0], "c": [1]}
    assert result.machines["stop_time"].to_list() == [720.0, 1321.0]


def test_without_sharing_an_idle_machine_is_reused_and_a_busy_one_is_not():
    result = run(jobs((0, 60, 1, 1), (10, 60, 1, 1), (200, 60, 1, 1)), cloud(WIDE, shares=False), "cheapest-fit")
    assert hosts(result) == {"a": [0], "b": [1], "c": [0]}


def test_several_hosts_wait_for_the_last_of_them():
    log = jobs((0, 600, 1, 1), (300, 60, 3, 3), machines=[1, 3])
    result = run(log, cloud(LARGE), "cheapest-fit")
    assert hosts(result) == {"a": [0], "b": [0, 1, 2]}
    assert starts(result) == {"a": 120.0, "b": 420.0}


def test_at_a_tick_the_largest_job_goes_first_and_small_ones_fill_what_is_left():
    log = jobs((10, 60, 1, 1), (20, 60, 3, 3))
    result = run(log, cloud(WIDE, SMALL, frequency_s=120.0), "cheapest-fit")
    assert (hosts(result), starts(result)) == ({"b": [0], "a": [0]}, {"b": 240.0, "a": 240.0})
    assert result.machines["started_for"].to_list() == ["b"]


def test_ticks_are_whole_multiples_since_1970():
    log = jobs((10, 60, 1, 1))
    late = Workload(log.table, origin_unix_s=100.0)
    assert starts(run(late, cloud(frequency_s=120.0, boot_s=0.0), "cheapest-fit")) == {"a": 20.0}


def test_reserved_instances_come_before_those_that_are_started():
    reserved = MachineGroup(MachineType("c5.xlarge", 2, 8 * GIB, prices=(Price(9.0),), plan="reserved"), 1)
    result = run(jobs((0, 600, 1, 1), (0, 600, 2, 1)), cloud(groups=(reserved,)), "cheapest-fit")
    assert hosts(result) == {"a": [0], "b": [1]}
    assert starts(result) == {"a": 0.0, "b": 120.0}


def servers(count=1, **more):
    return (MachineGroup(MachineType("rack", 1, 4 * GIB, prices=(Price(0.01),), **more), count),)


def test_without_bursting_jobs_queue_for_the_servers():
    platform = cloud(groups=servers(), burst_after_s=math.inf)
    assert starts(run(jobs((0, 600, 1, 1), (0, 60, 1, 1)), platform, "cheapest-fit")) == {"a": 0.0, "b": 600.0}
    assert starts(run(jobs((0, 600, 1, 1), (0, 60, 1, 1)), platform, "easy")) == {"a": 0.0, "b": 600.0}


def test_job_bursts_only_after_it_has_waited_so_long():
    platform = cloud(groups=servers(), burst_after_s=300.0)
    assert starts(run(jobs((0, 900, 1, 1), (0, 60, 1, 1)), platform, "cheapest-fit")) == {"a": 0.0, "b": 420.0}


def test_over_a_limit_jobs_queue():
    platform = cloud(SMALL, max_instances=Limits(1))
    assert starts(run(jobs((0, 60, 1, 1), (0, 60, 1, 1)), platform, "cheapest-fit")) == {"a": 120.0, "b": 180.0}


@pytest.mark.parametrize(("frequency_s", "start"), [(0.0, 120.0), (120.0, 240.0)])
def test_what_an_idle_stop_frees_under_a_limit_waits_for_the_next_tick_where_there_are_ticks(frequency_s, start):
    """The small instance of a is stopped at 120, an instant that is a tick; jobs are placed before machines stop."""
    platform = cloud(SMALL, WIDE, max_instances=Limits(1), boot_s=0.0, idle_s=60.0, frequency_s=frequency_s)
    result = run(jobs((0, 60, 1, 1), (1, 60, 4, 1)), platform, "cheapest-fit")
    assert starts(result) == {"a": 0.0, "b": start}


def test_under_a_limit_of_a_family_the_next_type_in_price_is_started():
    platform = cloud(SMALL, WIDE, max_vcpus=Limits(None, {"c5": 2}))
    result = run(jobs((0, 60, 1, 4), (0, 60, 1, 4)), platform, "cheapest-fit")
    assert result.machines["type"].to_list() == ["c5.large", "m5.xlarge"]


def test_reclaim_ends_the_attempt_on_all_hosts_and_the_others_stay():
    """With this chance an instance lives for some minutes; what happened to each is read off the run."""
    rules = {"spot_rules": (SpotRule(),), "reclaim_per_minute": 0.2, "boot_s": 0.0, "idle_s": 86400.0}
    log = jobs((0, 1800, 2, 2), machines=[2])
    result = run(log, cloud(SMALL, max_spot_retries=1, **rules), "cheapest-fit", seed=3)
    first, second = result.attempts.select("start_time", "finish_time", "how").rows()
    lost = result.machines.filter(pl.col("cause") == "reclaimed")
    assert first == (0.0, lost["stop_time"][0], "lost")
    assert second == (first[1], first[1] + 1800.0, "completed")
    assert result.machines["plan"].to_list() == ["spot", "spot", "on-demand", "on-demand"]
    summary = costs_of(result, log).summary
    assert summary["lost_core_hours"] == pytest.approx(2 * first[1] / 3600)
    assert (summary["reclaimed"], summary["retries"]) == (len(lost), 1)


@pytest.mark.parametrize(
    ("retries", "plans"),
    [(0, ["on-demand"]), (1, ["spot", "on-demand"]), (2, ["spot", "spot", "on-demand"])],
)
def test_job_goes_on_demand_after_so_many_reclaims(retries, plans):
    """Half an hour is longer than any of these spot instances lives; after none, one or two of them it runs through."""
    rules = {"spot_rules": (SpotRule(),), "reclaim_per_minute": 0.2, "boot_s": 0.0, "frequency_s": 0.0, "idle_s": 0.0}
    platform = cloud(SMALL, max_spot_retries=retries, **rules)
    result = run(jobs((0, 1800, 1, 1)), platform, "cheapest-fit", seed=3)
    assert result.machines["plan"].to_list() == plans
    assert result.attempts["how"].to_list() == ["lost"] * retries + ["completed"]
    lost_s = max(result.attempts["finish_time"][:retries], default=0.0)
    assert result.jobs.select("start_time", "finish_time").row(0) == (lost_s, lost_s + 1800.0)


def test_without_retries_nothing_that_could_be_reclaimed_runs_on_spot_if_it_can_run_on_demand():
    only_spot = InstanceType("x1.huge", "x1", 8, 16, 64 * GIB, spot_usd_per_hour=0.5)
    log = jobs((0, 60, 1, 1), (0, 60, 8, 8))
    plans = {}
    for rate in (1e-6, 0.0):
        platform = cloud(SMALL, only_spot, max_spot_retries=0, spot_rules=(SpotRule(),), reclaim_per_minute=rate)
        machines = run(log, platform, "cheapest-fit").machines
        plans[rate] = dict(machines.select("started_for", "plan").rows())
    assert plans == {1e-6: {"a": "on-demand", "b": "spot"}, 0.0: {"a": "spot", "b": "spot"}}


def test_without_retries_no_predictor_says_that_a_job_runs_on_spot():
    platform = cloud(SMALL, max_spot_retries=0, spot_rules=(SpotRule(),))
    machines = run(jobs((0, 60, 1, 1)), platform, "cheapest-fit:predictor=last-two").machines
    assert machines["plan"].to_list() == ["on-demand"]


def test_job_that_was_looked_at_when_it_came_is_not_new_because_another_comes_back():
    """The first job takes all there may be. Its instance is reclaimed between two ticks, and the other one, which would
    fit on the rack, waits for the tick: then the larger of the two goes first.
    """
    rules = {"spot_rules": (SpotRule(),), "reclaim_per_minute": 0.2, "boot_s": 0.0, "frequency_s": 600.0}
    rack = MachineGroup(MachineType("rack", cores=1, memory_bytes=4 * GIB), 1)
    log = jobs((0, 1800, 2, 2), (60, 60, 1, 1), machines=[2, 1])
    platform = cloud(SMALL, groups=(rack,), max_instances=Limits(1), max_spot_retries=1, **rules)
    attempts = run(log, platform, "cheapest-fit", seed=3).attempts.sort("attempt")
    (_, first, lost, _), (_, again, end, _), (job, start, _, _) = attempts.select(
        "job_id", "start_time", "finish_time", "how"
    ).rows()
    assert lost % 600.0 > 60.0
    assert (first, again, end) == (0.0, (lost // 600.0 + 1.0) * 600.0, again + 1800.0)
    assert (job, start) == ("b", end)


def test_checkpoints_keep_what_was_done_up_to_them():
    rules = {"spot_rules": (SpotRule(),), "reclaim_per_minute": 0.2, "boot_s": 0.0, "checkpoint_s": 60.0}
    result = run(jobs((0, 1800, 1, 1)), cloud(SMALL, max_spot_retries=1, **rules), "cheapest-fit", seed=3)
    (_, lost, _), (again, end, _) = result.attempts.select("start_time", "finish_time", "how").rows()
    assert end - again == 1800.0 - lost // 60.0 * 60.0


def test_five_hour_spot_job_is_reclaimed_in_five_percent_of_draws():
    draws = 20_000
    table = {"job_id": [str(at) for at in range(draws)], "submit_time": [0.0] * draws, "run_time": [5 * 3600.0] * draws,
             "cores": [1] * draws}  # fmt: skip
    platform = cloud(SMALL, spot_rules=(SpotRule(),), boot_s=0.0, idle_s=0.0, max_spot_retries=1)
    attempts = run(Workload.of(pl.DataFrame(table)), platform, "cheapest-fit", seed=1).attempts
    share = int((attempts["how"] == "lost").sum()) / draws
    assert share == pytest.approx(0.05, abs=3 * math.sqrt(0.05 * 0.95 / draws))


def test_predictor_says_which_jobs_run_on_spot():
    log = jobs((0, 60, 1, 1), (0, 6000, 1, 1), (9000, 60, 1, 1), user=["u", "v", "v"], walltime=[7200.0] * 3)
    rules = {"spot_rules": (SpotRule(max_minutes=30.0),), "reclaim_per_minute": 0.0}
    plans = {}
    for policy in ("cheapest-fit", "cheapest-fit:predictor=last-two", "cheapest-fit:predictor=statistics(by=user)"):
        machines = run(log, cloud(SMALL, **rules), policy).machines
        plans[policy] = dict(machines.select("started_for", "plan").rows())
    assert plans["cheapest-fit"] == {"a": "spot", "b": "on-demand", "c": "spot"}  # by the log
    assert plans["cheapest-fit:predictor=last-two"] == {"a": "on-demand", "b": "on-demand", "c": "on-demand"}
    assert plans["cheapest-fit:predictor=statistics(by=user)"] == plans["cheapest-fit:predictor=last-two"]


def test_job_that_fits_nowhere_is_told_what_it_asked_for_and_what_there_is():
    result = run(jobs((0, 60, 1, 1), (0, 60, 9, 2)), cloud(), "cheapest-fit")
    assert result.rejected["reason"].to_list() == [
        "asks for 9 cores, 2 GiB on a machine; the largest there is: c5.xlarge (2 cores, 8 GiB)"
    ]


def test_job_that_only_limits_keep_out_is_told_so_and_one_that_asks_for_gpus_too():
    log = jobs((0, 60, 2, 1), (0, 60, 1, 1), gpus=[0, 1])
    told = run(log, cloud(max_vcpus=Limits(2)), "cheapest-fit").rejected["reason"].to_list()
    assert told == [
        "asks for 2 cores, 1 GiB on a machine; limits allow no instance of a type that has them",
        "asks for 1 core, 1 GiB, 1 GPU on a machine; no machine that there is, or that can be started, has GPUs",
    ]


def test_job_that_limits_forbid_is_rejected():
    log = jobs((0, 60, 3, 1), machines=[3])
    assert run(log, cloud(max_instances=Limits(2)), "cheapest-fit").rejected["reason"].to_list() == [
        "asks for 3 machines of 1 core, 0.333333 GiB; servers and limits allow 2 at once"
    ]


def test_other_schedulers_use_machines_that_are_up():
    result = run(jobs((0, 600, 1, 4), (700, 60, 1, 4)), cloud(SMALL), "fcfs")
    assert (hosts(result), starts(result)) == ({"a": [0], "b": [0]}, {"a": 120.0, "b": 720.0})


def test_own_scheduler_drives_a_cloud():
    def shortest_first(view):
        return [Start(job) for job in sorted(view.queue, key=lambda job: job.estimate) if view.fits(job)][:1]

    log = jobs((0, 600, 1, 4), (0, 60, 1, 4), walltime=[600, 60])
    result = run(log, cloud(SMALL, max_instances=Limits(1)), shortest_first)
    assert starts(result) == {"b": 120.0, "a": 180.0}


@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"boot_s": 0.0, "idle_s": 0.0},
        {"boot_s": 0.0, "max_instances": Limits(1)},
        {"spot_rules": (SpotRule(),), "reclaim_per_minute": 0.3},
    ],
)
def test_scheduler_that_starts_nobody_is_told_so_though_machines_come_and_go(rules):
    with pytest.raises(RunError, match=r"the policy let 2 jobs wait for ever: a, b"):
        run(jobs((0, 600, 1, 4), (0, 600, 1, 4)), cloud(**rules), lambda view: [])


def test_scheduler_that_wakes_up_at_last_is_waited_for():
    def late(view):
        return list(map(Start, view.queue)) if view.now >= 1e6 else [WakeAt(view.now + 100.0)]

    assert starts(run(jobs((0, 600, 1, 4)), cloud(), late)) == {"a": 1e6}


def test_cheapest_fit_needs_a_cloud_and_a_whole_run():
    with pytest.raises(InputError, match="needs a platform with a cloud"):
        run(jobs((0, 1, 1, 1)), 4, "cheapest-fit")

    def leaves_it(view):
        from unspool.policies.schedulers.cheapestfit import CheapestFit

        return CheapestFit().decide(view)

    with pytest.raises(RunError, match="decides whole runs only"):
        run(jobs((0, 1, 1, 1)), cloud(), leaves_it)


def test_outages_are_not_drawn_in_a_cloud():
    with pytest.raises(InputError, match="brought up and down"):
        run(jobs((0, 1, 1, 1)), cloud(), "cheapest-fit", outages=Outages())
