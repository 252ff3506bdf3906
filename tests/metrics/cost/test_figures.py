import math

import polars as pl
import pytest
from tests.metrics.cost.tables import fixed, instance, tables

from unspool.metrics.cost import (
    bands,
    bill,
    cost_by,
    cost_by_type,
    figures,
    losses,
    peak_live,
    wait_bins,
    wait_figures,
    window_of,
)
from unspool.model.cloud import Cloud, InstanceType

CLOUD = Cloud((InstanceType("c5.large", "c5", 1, 2, 2**32),), region="eu-west-1", price_date="2026-08-22")
PAPER = {
    "total_cost_usd", "on_demand_cost_usd", "spot_cost_usd", "reserved_cost_usd", "on_premises_cost_usd",
    "boot_cost_usd", "run_cost_usd", "idle_cost_usd", "jobs", "reclaimed", "lost_core_hours", "mean_wait_s",
    "logged_mean_wait_s", "wait_saved_hours", "price_date", "region", "hours", "peak_live_instances",
}  # fmt: skip


def billed(machines, attempts, memory=None, **columns):
    run = tables(machines, attempts, memory, **columns)
    return run, bill(*run, window_of(run[0], run[3]))


def test_the_figures_have_what_the_issue_names_and_costs_add_up_by_pricing_and_by_kind():
    machines = [instance(0, 60, 3600), instance(0, 60, 1800, plan="spot"), fixed(), fixed(plan="reserved", family="r5")]
    run, made = billed(machines, [("a", 0, 60, 900, 1, [0]), ("b", 0, 60, 900, 1, [1])])
    told = figures(made, run[1], run[2], cloud=CLOUD)
    assert told.keys() >= PAPER
    parts = ("on_demand", "spot", "reserved", "on_premises")
    assert [told[f"{part}_cost_usd"] for part in parts] == [1.0, 0.5, 1.0, 1.0]
    assert told["total_cost_usd"] == 3.5
    assert sum(told[f"{kind}_cost_usd"] for kind in ("boot", "run", "idle")) == pytest.approx(3.5, rel=1e-12)
    assert (told["region"], told["price_date"], told["hours"], told["instances"]) == ("eu-west-1", "2026-08-22", 1, 2)
    assert (told["logged_mean_wait_s"], told["wait_saved_hours"]) == (None, None)


def test_a_run_without_jobs_has_figures_too():
    run, made = billed([fixed()], [])
    told = figures(made, run[1], run[2], cloud=CLOUD)
    assert (told["total_cost_usd"], told["jobs"], told["mean_wait_s"], told["usd_per_core_hour"]) == (
        0.0,
        0,
        None,
        None,
    )
    assert len(wait_bins(run[3])) == 0


def test_waiting_saved_counts_the_jobs_whose_wait_was_logged():
    attempts = [("a", 0, 120, 900, 1, [0]), ("b", 0, 120, 900, 1, [0]), ("c", 0, 60, 900, 1, [0])]
    (*_, jobs), _ = billed([instance(0, 60, 900)], attempts, logged_wait={"a": 7320.0, "c": 0.0})
    told = wait_figures(jobs)
    assert told["wait_saved_hours"] == (7200 - 60) / 3600
    assert (told["jobs_with_logged_wait"], told["jobs_that_wait_longer"]) == (2, 1)
    assert (told["mean_wait_s"], told["logged_mean_wait_s"], told["logged_max_wait_s"]) == (100.0, 3660.0, 7320.0)


def test_a_job_is_in_the_first_bin_whose_upper_bound_is_not_below_it():
    attempts = [("a", 0, 0, 60, 8, [0]), ("b", 0, 0, 61, 9, [0]), ("c", 0, 30, 100_000, 10_000, [0, 1])]
    machines = [instance(0, 0, 100_000), instance(0, 0, 100_000)]
    (*_, jobs), _ = billed(machines, attempts, {"a": 1, "b": 1.5, "c": 16}, logged_wait={"c": 7230.0})
    found = wait_bins(jobs).rows()
    assert [row[:3] for row in found] == [(8.0, 1.0, 1), (32.0, 5.0, 1), (None, None, 1)]
    assert found[2][-1] == 2.0
    assert [row[:2] for row in wait_bins(jobs, "memory", [1, 4], [5]).rows()] == [(1.0, 5.0), (4.0, 5.0), (None, None)]


def test_lost_core_hours_are_those_of_every_host_without_what_a_checkpoint_kept():
    machines = [instance(0, 0, 3600, plan="spot", cause="reclaimed"), instance(0, 0, 9000), instance(0, 0, 9000)]
    attempts = [("a", 0, 0, 3600, 7, [0, 1], "lost"), ("a", 0, 3600, 9000, 7, [1, 2])]
    run = tables(machines, attempts)
    assert losses(*run[:3]) == {"reclaimed": 1, "retries": 1, "lost_core_hours": 8.0}
    assert losses(*run[:3], checkpoint_s=1500.0)["lost_core_hours"] == 8.0 * 600 / 3600


def test_costs_by_user_add_up_to_the_bill_with_what_nobody_pays():
    attempts = [("a", 0, 0, 900, 1, [0]), ("b", 0, 900, 2700, 1, [0]), ("c", 0, 2700, 3000, 1, [0])]
    _, made = billed(
        [instance(0, 0, 3600, usd=12.0)], attempts, user={"a": "ann", "b": "bob"}, queue={"a": "q", "b": "q"}
    )
    table = cost_by(made, "user")
    assert table["user"].to_list() == ["bob", "ann", None, "(unallocated)"]
    assert table["cost_usd"].to_list() == pytest.approx([6.0, 3.0, 1.0, 2.0])
    assert table["jobs"].to_list() == [1, 1, 1, 0]
    assert table["cost_share"].sum() == pytest.approx(1.0)
    assert cost_by(made, "project") is None


def test_the_peak_counts_an_instance_that_stops_as_gone_when_another_starts():
    lives = [instance(0, 0, 10), instance(10, 10, 20), instance(5, 5, 15), instance(7, 7, 7)]
    assert peak_live(tables(lives, [])[0]) == 2
    assert peak_live(tables([fixed()], [])[0]) == 0


def test_bands_are_of_numbers_that_every_summary_has():
    summaries = [{"a": at, "b": None if at else 1.0, "c": "x", "d": {"e": 2.0 * at}} for at in range(21)]
    assert bands(summaries) == {
        "a": {"p5": 1.0, "p95": 19.0, "mean": 10.0},
        "d": {"e": {"p5": 2.0, "p95": 38.0, "mean": 20.0}},
    }
    assert bands([]) == {}


def test_figures_can_be_written_as_json_numbers():
    run, made = billed([instance(0, 60, 3600)], [("a", 0, 60, 900, 1, [0])])
    told = figures(made, run[1], run[2])
    assert all(not isinstance(value, float) or math.isfinite(value) for value in told.values())
    assert not any(isinstance(value, pl.Series) for value in told.values())


def test_costs_by_type_and_pricing_add_up_to_the_bill_and_say_what_part_ran():
    machines = [instance(0, 900, 3600), instance(0, 0, 3600, plan="spot", usd=0.5), instance(0, 900, 3600)]
    run = tables(machines, [("a", 0, 900, 3600, 1, [0])])
    made = bill(*run, window_of(run[0], run[3]))
    assert cost_by_type(made).rows() == [
        ("c5.large", "on-demand", 2, 8.0, 2.0, 0.375, 0.8),
        ("c5.large", "spot", 1, 4.0, 0.5, 0.0, 0.2),
    ]
