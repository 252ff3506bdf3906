import polars as pl
import pytest

from unspool.metrics import measure
from unspool.metrics.waiting import job_times
from unspool.model.platform import MachineGroup, MachineType, Platform
from unspool.model.prices import Price


def jobs(*rows):
    """Rows of (submit, start, finish, cores)."""
    schema = {"submit_time": pl.Float64, "start_time": pl.Float64, "finish_time": pl.Float64, "cores": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(job_times())


def test_times_of_a_job_follow_from_submit_start_and_finish():
    told = jobs((100, 130, 150, 1)).row(0, named=True)
    assert (told["wait_time"], told["run_time"], told["response_time"], told["slowdown"]) == (30, 20, 50, 2.5)


@pytest.mark.parametrize(
    ("wait", "run", "expected"),
    [
        (30, 20, 2.5),  # longer than the bound: the slowdown itself
        (30, 5, 3.5),  # (30 + 5) / 10
        (30, 10, 4.0),
        (3, 2, 1.0),  # 5 / 10, but never below 1
        (0, 20, 1.0),
        (40, 0, 4.0),  # no length counts as 10 s as well
    ],
)
def test_bounded_slowdown_takes_shorter_jobs_for_ten_seconds_and_is_never_below_one(wait, run, expected):
    assert jobs((0, wait, wait + run, 1))["bounded_slowdown"][0] == expected


def test_a_job_of_no_length_has_no_slowdown_and_does_not_count_in_the_mean():
    table = jobs((0, 0, 0, 1), (0, 5, 5, 1), (0, 10, 20, 1))
    assert table["slowdown"].to_list() == [None, None, 2.0]
    assert measure(table, Platform.pool(1))["mean_slowdown"] == 2.0


def test_figures_of_four_jobs_on_paper():
    # waits 0, 10, 20, 90; runs 10, 20, 10, 10; cores 4, 2, 2, 4; first submission 5, last finish 105
    table = jobs((5, 5, 15, 4), (5, 15, 35, 2), (5, 25, 35, 2), (5, 95, 105, 4))
    assert measure(table, Platform.pool(4)) == {
        "mean_wait_s": 30.0,
        "median_wait_s": 15.0,
        # between the 3rd and the 4th of 4: at 0.95 * 3 = 2.85, that is 20 + 0.85 * 70
        "p95_wait_s": pytest.approx(79.5),
        "max_wait_s": 90.0,
        "mean_response_s": 42.5,
        "mean_slowdown": pytest.approx((1 + 1.5 + 3 + 10) / 4),
        "mean_bounded_slowdown": pytest.approx((1 + 1.5 + 3 + 10) / 4),
        "p95_bounded_slowdown": pytest.approx(3 + 0.85 * 7),
        # 40 + 40 + 20 + 40 core-seconds of 4 * 100
        "utilisation": 0.35,
        "makespan_s": 100.0,
        "throughput_per_hour": 144.0,
        "core_hours": pytest.approx(140 / 3600),
    }


def test_the_platform_costs_its_hourly_price_for_the_makespan():
    fat, thin = MachineType("fat", 4, prices=(Price(3.0), Price(1.0, "spot"))), MachineType("thin", 1)
    platform = Platform((MachineGroup(fat, 2), MachineGroup(thin, 5)))
    # two machines at 3 dollars an hour, from 0 to 1800 s; machines without a price cost nothing
    assert measure(jobs((0, 0, 1800, 1)), platform)["platform_cost_usd"] == 3.0


def test_without_prices_there_is_no_cost():
    assert "platform_cost_usd" not in measure(jobs((0, 0, 10, 1)), Platform.pool(1))


def test_without_jobs_nobody_waits_for_no_time_and_nothing_is_used():
    figures = measure(jobs(), Platform.pool(4))
    none = {name for name, value in figures.items() if value is None}
    assert none == {name for name in figures if "wait" in name or "slowdown" in name or "response" in name}
    assert {value for name, value in figures.items() if name not in none} == {0.0}


def test_a_run_that_takes_no_time_has_no_utilisation_and_no_throughput():
    figures = measure(jobs((3, 3, 3, 1)), Platform.pool(4))
    assert (figures["utilisation"], figures["makespan_s"], figures["throughput_per_hour"]) == (0.0, 0.0, 0.0)
