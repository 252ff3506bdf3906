import numpy as np
import polars as pl
import pytest
from tests.faces.test_cost_outputs import made_costs
from tests.metrics.cost.tables import fixed, instance

from unspool.metrics.cost import cost_by
from unspool.report.figures.instances import cost_against_wait, instance_states, instances_over, waiting_saved

# It boots for 10 minutes, runs two jobs that overlap from 600 to 1800, and is idle until the hour ends.
ONE = [instance(0, 600, 3600)]
TWO_JOBS = [("a", 0, 600, 1500, 1, [0]), ("b", 0, 900, 1800, 1, [0])]


def test_an_instance_is_in_one_state_at_a_time_however_many_jobs_it_runs():
    running, idle, booting = instances_over(made_costs(ONE, TWO_JOBS), np.linspace(0.0, 3600.0, 7))
    assert running == pytest.approx([0, 1, 1, 0, 0, 0])
    assert idle == pytest.approx([0, 0, 0, 1, 1, 1])
    assert booting == pytest.approx([1, 0, 0, 0, 0, 0])


def test_states_over_the_paid_hours_add_up_to_the_times_of_the_bill():
    machines = [*ONE, instance(100, None, 400, cause="reclaimed"), instance(50, 80, 7000), fixed()]
    costs = made_costs(machines, [*TWO_JOBS, ("c", 0, 80, 6000, 1, [2]), ("d", 0, 5, 50, 1, [3])])
    window = costs.bill.window
    edges = np.linspace(window.begin_s, window.end_s, 101)
    seconds = [row.sum() * (edges[1] - edges[0]) for row in instances_over(costs, edges)]
    paid = costs.bill.machines.filter(pl.col("start_time").is_not_null())
    assert seconds == pytest.approx([paid[name].sum() for name in ("run_s", "idle_s", "boot_s")])
    caption = instance_states(costs).layout.meta["caption"]
    assert caption.endswith("3 instances in all. Left out: 1 machine always there.")


def test_a_bill_without_instances_says_so():
    assert instance_states(made_costs([fixed()], [])).layout.meta["caption"] == "No instance was started."


def test_bars_of_waiting_saved_add_up_and_those_that_lose_are_told_apart():
    logged = {"a": 4200.0, "b": 180.0}
    jobs = [("a", 0, 600, 1500, 1, [0]), ("b", 100, 900, 1800, 1, [0]), ("c", 100, 900, 1800, 1, [0])]
    figure = waiting_saved(made_costs(ONE, jobs, logged_wait=logged))
    bars = figure.data[0]
    assert (bars.y[0], sum(bars.y[1:-1])) == (1.0, 0.0)
    assert bars.y[-1] == pytest.approx(-620 / 3600, abs=1e-4)
    assert bars.marker.color[0] != bars.marker.color[-1]
    assert "The log does not say it of 1 job, left out here." in figure.layout.meta["caption"]
    assert "does not say" in waiting_saved(made_costs(ONE, TWO_JOBS)).layout.meta["caption"]


def test_each_user_is_a_dot_at_its_cost_and_the_waiting_saved():
    costs = made_costs(ONE, TWO_JOBS, user={"a": "<b>", "b": "bob"}, logged_wait={"a": 4200.0, "b": 900.0})
    table = cost_by(costs.bill, "user").head(-1)
    dots = cost_against_wait(table, "user").data[0]
    assert list(dots.x) == pytest.approx(table["cost_usd"].to_list(), abs=1e-6)
    assert list(dots.y) == [1.0, 0.0]
    assert dots.hovertext[0].startswith("&lt;b&gt;: $")
    assert list(dots.text) == ["&lt;b&gt;", "bob"]


def test_without_logged_waits_the_dots_are_at_the_mean_wait():
    costs = made_costs(ONE, TWO_JOBS, user={"a": "ann", "b": "bob"})
    figure = cost_against_wait(cost_by(costs.bill, "user").head(-1), "user")
    assert sorted(figure.data[0].y) == [10.0, 15.0]
    assert figure.layout.yaxis.title.text == "mean wait (minutes)"
