import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.metrics.cost.tables import fixed, instance, tables
from tests.metrics.cost.test_bill_laws import TIMES, runs

from unspool.metrics.cost import bill, cost_by, figures, hourly, window_of
from unspool.model.cloud import Cloud, Disk, Licence


def billed(machines, attempts, cloud, memory=None, *, minimum=0.0, starttime=None, endtime=None, **columns):
    run = tables(machines, attempts, memory, **columns)
    window = window_of(run[0], run[3], starttime=starttime, endtime=endtime)
    made = bill(*run, window, minimum_billed_s=minimum, cloud=cloud)
    return made, hourly(made, run[1]), figures(made, run[1], run[2], cloud=cloud)


def cloud(disks=(), licences=()):
    return Cloud((), disks=tuple(disks), licences=tuple(licences))


def test_a_disk_of_730_gib_at_a_dollar_a_month_costs_a_dollar_an_hour_while_the_instance_is_paid():
    made, hours, told = billed(
        [instance(0, 600, 5400, usd=2.0)], [("a", 0, 600, 4200, 1, [0])], cloud([Disk(1.0, gib=730.0)])
    )
    assert made.machines.select("cost_usd", "disk_cost_usd", "licence_cost_usd").rows() == [(3.0, 1.5, 0.0)]
    assert hours["Disk Costs"].to_list() == pytest.approx([1.0, 0.5], rel=1e-12)
    assert hours["Total OnDemand Costs"].to_list() == pytest.approx([2.0, 1.0], rel=1e-12)
    assert hours["Total Costs"].to_list() == pytest.approx([3.0, 1.5], rel=1e-12)
    # Boot is ten minutes, the job an hour, idle twenty minutes: of the disk's $1.50 the job pays $1/6 + $1.
    assert made.jobs["disk_cost_usd"].to_list() == pytest.approx([7 / 6], rel=1e-12)
    assert made.jobs["cost_usd"].to_list() == pytest.approx([3 * 7 / 6], rel=1e-12)
    assert made.unallocated_usd == pytest.approx(1.0, rel=1e-12)
    assert (told["total_cost_usd"], told["disk_cost_usd"], told["licence_cost_usd"]) == (4.5, 1.5, 0.0)
    assert told["on_demand_cost_usd"] == told["boot_cost_usd"] + told["run_cost_usd"] + told["idle_cost_usd"] == 3.0


def test_disks_add_up_and_grow_with_cores_and_only_matching_types_have_them():
    disks = [Disk(7.3, gib=100.0), Disk(3.65, gib_per_core=50.0, types="m5")]
    machines = [instance(0, 0, 3600, family="c5"), instance(0, 0, 3600, family="m5", cores=4)]
    made, _, _ = billed(machines, [("a", 0, 0, 3600, 1, [0]), ("b", 0, 0, 3600, 1, [1])], cloud(disks))
    assert made.machines["disk_cost_usd"].to_list() == pytest.approx([1.0, 1.0 + 1.0], rel=1e-12)


def test_jobs_share_a_disk_by_the_resource_that_limits():
    machine = instance(0, 0, 3600, cores=4, gib=16)
    attempts = [("a", 0, 0, 3600, 1, [0]), ("b", 0, 0, 3600, 1, [0])]
    made, _, _ = billed([machine], attempts, cloud([Disk(12.0, gib=730.0)]), {"a": 8, "b": 4})
    assert made.jobs["disk_cost_usd"].to_list() == pytest.approx([8.0, 4.0], rel=1e-12)


def test_licences_of_instances_are_paid_by_the_hour_and_by_the_core():
    licences = [Licence("os", usd_per_hour=0.5), Licence("cc", usd_per_core_hour=0.25, types="C5")]
    made, hours, told = billed([instance(0, 0, 7200, cores=4)], [("a", 0, 0, 7200, 4, [0])], cloud(licences=licences))
    assert made.machines["licence_cost_usd"].to_list() == [3.0]
    assert hours["Licence Costs"].to_list() == [1.5, 1.5]
    assert told["licence_cost_usd"] == made.jobs["licence_cost_usd"].sum() == 3.0


def test_a_job_pays_for_the_licences_that_it_holds_while_it_runs_on_whatever_machine():
    machines = [fixed(usd=0.0), instance(0, 0, 7200, usd=0.0, plan="spot", cause="reclaimed")]
    attempts = [("a", 0, 0, 1800, 1, [1], "lost"), ("a", 0, 3600, 9000, 1, [0]), ("b", 0, 0, 3600, 1, [0])]
    asked = {"a": "spice:2, vcs", "b": None}
    prices = [Licence("spice", usd_per_held_hour=1.5), Licence("vcs", usd_per_held_hour=4.0)]
    made, hours, told = billed(machines, attempts, cloud(licences=prices), licences=asked)
    # $7 an hour: half an hour in hour 0, all of hour 1, half an hour of hour 2.
    assert hours["Licence Costs"].to_list() == pytest.approx([3.5, 7.0, 3.5], rel=1e-12)
    assert made.jobs["licence_cost_usd"].to_list() == pytest.approx([14.0, 0.0], rel=1e-12)
    assert told["licence_cost_usd"] == told["total_cost_usd"] == pytest.approx(14.0, rel=1e-12)
    assert made.machines["licence_cost_usd"].sum() == 0.0


def test_machines_on_premises_have_neither_disks_nor_licences_of_ours_and_reserved_ones_have_both():
    made, _, _ = billed(
        [fixed(), fixed(plan="reserved", family="c5")], [("a", 0, 0, 3600, 1, [0])],
        cloud([Disk(7.3, gib=100.0)], [Licence("os", usd_per_hour=0.5)]),
    )  # fmt: skip
    assert made.machines.select("disk_cost_usd", "licence_cost_usd").rows() == [(0.0, 0.0), (1.0, 0.5)]


def test_disks_are_paid_for_the_least_time_that_is_billed():
    made, hours, _ = billed(
        [instance(0, 0, 6)], [("a", 0, 0, 6, 1, [0])], cloud([Disk(1.0, gib=730.0 * 3600)]), minimum=60
    )
    assert made.machines["disk_cost_usd"].to_list() == pytest.approx([60.0], rel=1e-12)
    assert hours["Disk Costs"].to_list() == pytest.approx([60.0], rel=1e-12)
    assert made.jobs["disk_cost_usd"].to_list() == pytest.approx([6.0], rel=1e-12)


EXTRAS = st.builds(
    cloud,
    st.lists(st.builds(Disk, st.sampled_from([0.1, 7.3]), st.sampled_from([0.0, 50.0]), st.just(3.0),
                       st.sampled_from(["", "m5"])), max_size=2),
    st.lists(st.builds(Licence, st.sampled_from(["x", "y"]), st.sampled_from([0.0, 0.07]), st.sampled_from([0.0, 0.01]),
                       st.sampled_from([0.0, 1.3])), max_size=3),
)  # fmt: skip


@settings(max_examples=100)
@given(runs(), EXTRAS, st.sampled_from([0.0, 60.0]), st.none() | TIMES, st.none() | TIMES)
def test_hours_and_jobs_add_up_to_the_bill_with_disks_and_licences(run, extras, minimum, starttime, endtime):
    asked = [("x:2,y", "y", None, "z:3,x")[at % 4] for at in range(len(run[3]))]
    jobs = run[3].with_columns(pl.Series("licences", asked, pl.String), pl.lit("me").alias("user"))
    window = window_of(run[0], jobs, starttime=starttime, endtime=endtime)
    made = bill(*run[:3], jobs, window, minimum_billed_s=minimum, cloud=extras)
    hours, told = hourly(made, run[1]), figures(made, run[1], run[2], cloud=extras)
    total = pytest.approx(made.total_usd, rel=1e-9, abs=1e-12)
    assert hours["Total Costs"].sum() == total
    assert hours["Disk Costs"].sum() == pytest.approx(told["disk_cost_usd"], rel=1e-9, abs=1e-12)
    assert hours["Licence Costs"].sum() == pytest.approx(told["licence_cost_usd"], rel=1e-9, abs=1e-12)
    plans = sum(told[f"{plan}_cost_usd"] for plan in ("on_demand", "spot", "reserved", "on_premises"))
    kinds = sum(told[f"{kind}_cost_usd"] for kind in ("boot", "run", "idle"))
    assert plans + told["disk_cost_usd"] + told["licence_cost_usd"] == total
    assert kinds + told["disk_cost_usd"] + told["licence_cost_usd"] == total
    parts = made.jobs.select(pl.sum_horizontal(f"{name}_cost_usd" for name in ("boot", "run", "disk", "licence")).sum())
    assert parts.item() == pytest.approx(made.jobs["cost_usd"].sum(), rel=1e-9, abs=1e-12)
    assert made.jobs["cost_usd"].sum() + made.unallocated_usd == pytest.approx(made.total_usd, rel=1e-6, abs=1e-9)
    if len(jobs):
        assert cost_by(made, "user")["cost_usd"].sum() == pytest.approx(made.total_usd, rel=1e-6, abs=1e-9)
