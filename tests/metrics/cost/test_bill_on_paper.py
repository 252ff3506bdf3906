import polars as pl
import pytest
from tests.metrics.cost.tables import fixed, instance, tables

from unspool.metrics.cost import bill, hourly, window_of


def billed(machines, attempts, memory=None, *, minimum=0.0, origin=0.0, starttime=None, endtime=None):
    run = tables(machines, attempts, memory)
    window = window_of(run[0], run[3], origin, starttime=starttime, endtime=endtime)
    made = bill(*run, window, minimum_billed_s=minimum)
    return made, hourly(made, run[1])


def split(made):
    return made.machines.select("boot_cost_usd", "run_cost_usd", "idle_cost_usd").rows()


def costs(made):
    return dict(made.jobs.select("job_id", "cost_usd").rows())


def test_sixteen_minutes_of_six_cents_an_hour_are_two_of_boot_ten_of_run_and_four_of_idle():
    made, _ = billed([instance(0, 120, 960, usd=0.06)], [("a", 0, 120, 720, 1, [0])], {"a": 4}, minimum=60)
    assert made.total_usd == 0.016
    assert split(made)[0] == pytest.approx((0.002, 0.01, 0.004), rel=1e-15)
    assert costs(made) == {"a": pytest.approx(0.012, rel=1e-12)}
    assert made.unallocated_usd == pytest.approx(0.004, rel=1e-12)


def test_memory_limits_and_eight_of_twelve_gib_pay_eight_twelfths():
    machine = instance(0, 0, 3600, usd=12.0, cores=4, gib=16)
    made, _ = billed([machine], [("a", 0, 0, 3600, 1, [0]), ("b", 0, 0, 3600, 1, [0])], {"a": 8, "b": 4})
    assert costs(made) == {"a": pytest.approx(8.0, rel=1e-15), "b": pytest.approx(4.0, rel=1e-15)}


def test_the_limiting_resource_changes_when_a_job_ends():
    machine = instance(0, 0, 3600, usd=12.0, cores=4, gib=16)
    attempts = [("a", 0, 0, 1800, 1, [0]), ("b", 0, 0, 3600, 2, [0]), ("c", 0, 1800, 3600, 1, [0])]
    made, _ = billed([machine], attempts, {"a": 14, "b": 1, "c": 1})
    # First half hour, $6: memory 15/16 limits, a pays 14/15. Second: cores 3/4 limit, b pays 2/3.
    assert costs(made) == pytest.approx({"a": 5.6, "b": 0.4 + 4.0, "c": 2.0}, rel=1e-12)


def test_equal_shares_of_cores_and_memory_are_paid_by_cores():
    machine = instance(0, 0, 3600, usd=4.0, cores=4, gib=16)
    made, _ = billed([machine], [("a", 0, 0, 3600, 1, [0]), ("b", 0, 0, 3600, 1, [0])], {"a": 1, "b": 7})
    assert costs(made) == {"a": 2.0, "b": 2.0}


def test_jobs_without_memory_share_by_cores():
    machine = instance(0, 0, 3600, usd=4.0, cores=4, gib=16)
    made, _ = billed([machine], [("a", 0, 0, 3600, 1, [0]), ("b", 0, 0, 3600, 3, [0])])
    assert costs(made) == {"a": 1.0, "b": 3.0}


def test_a_machine_whose_memory_is_not_modelled_is_shared_by_cores():
    made, _ = billed(
        [fixed(usd=4.0, gib=0)], [("a", 0, 0, 3600, 1, [0]), ("b", 0, 0, 3600, 3, [0])], {"a": 100, "b": 1}
    )
    assert costs(made) == {"a": 1.0, "b": 3.0}


def test_a_job_on_two_hosts_pays_for_both_and_waiting_for_its_partner_is_idle_time():
    machines = [instance(0, 600, 3600, usd=6.0), instance(600, 1800, 3600, usd=6.0)]
    made, _ = billed(machines, [("a", 0, 1800, 3600, 3, [0, 1])])
    assert split(made) == [(1.0, 3.0, 2.0), (2.0, 3.0, 0.0)]
    assert costs(made) == {"a": 9.0}


def test_seconds_below_the_minimum_are_idle_cost_in_the_hour_of_the_stop_and_no_core_hours():
    machine = instance(3595, 3595, 3605, usd=3600.0, plan="spot", cause="reclaimed")
    made, hours = billed([machine], [("a", 3595, 3595, 3605, 1, [0])], minimum=60)
    assert split(made) == [(0.0, 10.0, 50.0)]
    assert hours["Spot Costs"].to_list() == [5.0, 55.0]
    assert (hours["Spot Core Hours"] * 3600).to_list() == [20.0, 20.0]
    assert made.unallocated_usd == 50.0


def test_boot_is_charged_to_the_job_that_it_was_for_also_if_that_was_reclaimed_meanwhile():
    machines = [
        instance(0, 120, 60, usd=60.0, plan="spot", cause="reclaimed", job="a"),
        instance(60, 180, 3600, usd=60.0, job="a"),
    ]
    made, _ = billed(machines, [("a", 0, 60, 60, 1, [0], "lost"), ("a", 0, 180, 240, 1, [1])])
    assert split(made)[0] == (1.0, 0.0, 0.0)
    assert costs(made) == {"a": 1.0 + 2.0 + 1.0}


def test_hours_without_anything_are_rows_of_zeros():
    machines = [instance(0, 0, 600), instance(3 * 3600 + 1, 3 * 3600 + 1, 3 * 3600 + 601, job="b")]
    _, hours = billed(machines, [("a", 0, 0, 600, 1, [0]), ("b", 10801, 10801, 11401, 1, [1])])
    assert hours["Relative Hour"].to_list() == [0, 1, 2, 3]
    assert hours["Total Costs"].to_list() == pytest.approx([1 / 6, 0.0, 0.0, 1 / 6])
    assert hours["Total Costs"][1] == 0.0
    assert hours["Running Jobs"].to_list() == pytest.approx([1 / 6, 0, 0, 1 / 6])
    assert hours["Live Instances"].to_list() == pytest.approx([1 / 6, 0, 0, 1 / 6])


def test_hour_0_is_the_utc_hour_of_the_first_eligible_job():
    _, hours = billed([instance(0, 0, 1200)], [("a", 0, 0, 900, 1, [0])], origin=1_700_000_000.0)
    # 1,700,000,000 is 22:13:20 UTC: 1,200 s do not reach 23:00, 3,000 s do.
    assert len(hours) == 1
    _, hours = billed([instance(0, 0, 3000)], [("a", 0, 0, 900, 1, [0])], origin=1_700_000_000.0)
    assert hours["OnDemand Core Hours"].to_list() == pytest.approx([4 * 2800 / 3600, 4 * 200 / 3600])


def test_reserved_and_always_paid_machines_cost_every_whole_hour():
    machines = [fixed(plan="reserved", family="c7i", usd=2.0), fixed(usd=1.0, family="old"), instance(600, 600, 7800)]
    made, hours = billed(machines, [("a", 600, 600, 4200, 4, [0]), ("b", 600, 600, 900, 1, [2])])
    assert hours["Reserved Costs"].to_list() == [2.0, 2.0, 2.0]
    assert hours["OnPremises Costs"].to_list() == [1.0, 1.0, 1.0]
    assert hours["Reserved Core Hours"].to_list() == [4.0, 4.0, 4.0]
    assert split(made)[:2] == [(0.0, pytest.approx(2.0), pytest.approx(4.0)), (0.0, 0.0, 3.0)]
    assert costs(made)["a"] == pytest.approx(2.0)
    assert hours["Live Instances"].to_list() == pytest.approx([1 + 3000 / 3600, 2.0, 1 + 600 / 3600])


def test_a_machine_paid_when_used_costs_nothing_while_no_job_runs():
    attempts = [("a", 0, 0, 1800, 1, [0]), ("b", 0, 900, 2700, 1, [0]), ("c", 0, 5400, 7200, 1, [0])]
    made, hours = billed([fixed(billing="used", usd=4.0)], attempts)
    assert split(made) == [(0.0, 5.0, 0.0)]
    assert hours["OnPremises Costs"].to_list() == [3.0, 2.0]
    assert made.unallocated_usd == 0.0


def test_what_ends_on_the_hour_ends_in_the_hour_before():
    _, hours = billed([fixed(plan="reserved", family="c7i")], [("a", 0, 0, 3600, 1, [0])])
    assert hours["Reserved Costs"].to_list() == [1.0]


def test_hours_outside_the_window_are_not_paid():
    attempts = [("a", 0, 0, 9000, 1, [0])]
    made, hours = billed([instance(0, 0, 9000)], attempts, starttime=4000.0, endtime=7199.0)
    assert hours["Relative Hour"].to_list() == [0]
    assert made.total_usd == hours["Total Costs"].sum() == 1.0
    assert costs(made) == {"a": 1.0}
    made, hours = billed([fixed()], attempts, starttime=-3600.0, endtime=3700.0)
    assert hours["OnPremises Costs"].to_list() == [1.0, 1.0, 1.0]
    assert split(made) == [(0.0, 2.0, 1.0)]


def test_columns_of_the_aws_tool_come_first_and_families_are_sorted():
    machines = [
        instance(0, 0, 3600, family="m5"), instance(0, 0, 3600, family="c6i"),
        instance(0, 0, 3600, family="r5", plan="spot"),
    ]  # fmt: skip
    _, hours = billed(machines, [("a", 0, 0, 3600, 1, [0]), ("b", 0, 0, 3600, 1, [1]), ("c", 0, 0, 3600, 1, [2])])
    assert hours.columns[:9] == [
        "Relative Hour", "OnDemand Core Hours", "Total OnDemand Costs", "Spot Core Hours", "Spot Costs",
        "c6i Core Hours", "c6i OnDemand Costs", "m5 Core Hours", "m5 OnDemand Costs",
    ]  # fmt: skip
    assert hours.row(0)[:9] == (0, 8.0, 2.0, 4.0, 1.0, 4.0, 1.0, 4.0, 1.0)
    assert hours["r5 Spot Costs"].to_list() == [1.0]


def test_a_run_without_jobs_has_no_hours_and_costs_nothing():
    made, hours = billed([fixed()], [])
    assert (len(hours), made.total_usd, made.unallocated_usd) == (0, 0.0, 0.0)
    assert hours.schema["Relative Hour"] == pl.Int64


def test_boot_for_a_job_that_is_not_in_the_table_is_unallocated():
    made, _ = billed([instance(0, 1800, 3600, job="gone")], [("a", 0, 1800, 3600, 1, [0])])
    assert costs(made) == {"a": 0.5}
    assert made.unallocated_usd == 0.5


def test_a_row_of_neighbours_is_a_host_on_each_of_them():
    machines = [instance(0, 0, 3600), instance(0, 0, 3600)]
    given, attempts, hosts, jobs = tables(machines, [("a", 0, 0, 3600, 4, [0, 1])])
    neighbours = hosts.head(1).with_columns(last_machine=pl.lit(1, pl.Int64))
    window = window_of(given, jobs)
    for rows in (hosts, neighbours):
        made = bill(given, attempts, rows, jobs, window)
        assert made.machines["run_cost_usd"].to_list() == [1.0, 1.0]
        assert made.jobs["cost_usd"].to_list() == [2.0]


def test_two_units_on_a_machine_pay_for_two():
    given, attempts, hosts, jobs = tables(
        [instance(0, 0, 3600)], [("a", 0, 0, 3600, 3, [0]), ("b", 0, 0, 3600, 1, [0])]
    )
    both = hosts.with_columns(units=pl.Series([3, 1]))
    made = bill(given, attempts, both, jobs, window_of(given, jobs))
    assert made.jobs["cost_usd"].to_list() == [0.75, 0.25]


def test_seconds_up_to_the_minimum_of_a_stop_on_the_hour_stay_out_of_a_table_that_begins_then():
    lives = [instance(3590, 3590, 3600), instance(4000, 4000, 4600, job="b")]
    run = tables(lives, [("a", 3590, 3590, 3600, 1, [0]), ("b", 4000, 4000, 4600, 1, [1])])
    whole = bill(*run, window_of(run[0], run[3]), minimum_billed_s=60.0)
    later = bill(*run, window_of(run[0], run[3], starttime=3600.0), minimum_billed_s=60.0)
    assert whole.cost_usd.sum(axis=(0, 1)).tolist() == pytest.approx([60 / 3600, 600 / 3600])
    assert later.cost_usd.sum(axis=(0, 1)).tolist() == pytest.approx([600 / 3600])
