"""Forecasts: what is known gives one start, what is not gives a spread, and nothing after the time is read."""

import numpy as np
import polars as pl
import pytest
from tests.build import workload

import unspool
from unspool.analysis.uncertainty import DAY_S, Arrivals, _product_limit
from unspool.errors import InputError
from unspool.model.platform import Platform
from unspool.model.workload import Workload
from unspool.policies.base import Start
from unspool.simulation.engine import Engine
from unspool.workloads.generators import lublin

HOUR = 3600


def busy(jobs=600, seed=3, **options):
    return lublin(jobs, cores=64, load=0.95, seed=seed, **options)


def middle(log):
    return float(log.table["submit_time"][len(log) * 3 // 4])


def true_starts(log, platform, policy, ids):
    start = unspool.run(log, platform, policy).jobs.select("job_id", "start_time")
    return ids.to_frame().join(start, on="job_id", maintain_order="left")["start_time"].to_list()


@pytest.mark.parametrize(
    ("ran_h", "starts_h"), [(0.5, {1, 3}), (1, {3}), (2, {3}), (3.2, {3.24 + 0.04 * k for k in range(20)})]
)
def test_a_job_that_runs_is_drawn_from_those_that_lasted_longer_than_it_has(ran_h, starts_h):
    # One core, ten days of jobs that ask for 4 h and run for 1 h and 3 h in turn. Then one runs, and one waits for it.
    past = [(DAY_S * at, HOUR * (1 + 2 * (at % 2)), 1, 4 * HOUR) for at in range(10)]
    begin = 10 * DAY_S
    jobs = workload([*past, (begin, 4 * HOUR, 1, 4 * HOUR), (begin + 60, HOUR, 1, 4 * HOUR)])
    told = unspool.forecast(jobs, 1, "fcfs", at=begin + ran_h * HOUR, replicas=300)
    assert sorted(set(told.starts[0])) == pytest.approx([begin + hours * HOUR for hours in sorted(starts_h)])


def test_who_knows_all_run_times_forecasts_the_true_start_without_width():
    rng = np.random.default_rng(1)
    rows = [
        (1200.0 * at, run, int(cores), run)
        for at, (run, cores) in enumerate(zip(rng.integers(600, 7200, 400), rng.integers(1, 5, 400), strict=True))
    ]
    log = workload(rows)
    told = unspool.forecast(log, 5, "fcfs", at=middle(log), replicas=7, horizon="30d")
    assert len(told.jobs) > 10
    true = true_starts(log, 5, "fcfs", told.jobs["job_id"])
    for name in ("start_p10", "start_p50", "start_p90", "start_mean"):
        assert told.jobs[name].to_list() == pytest.approx(true, abs=1e-6)


@pytest.mark.parametrize("policy", ["easy", "conservative"])
def test_nothing_after_the_time_is_read(policy):
    log = busy()
    at = middle(log)
    told = unspool.forecast(log, 64, policy, at=at, replicas=8)
    assert len(told.jobs) > 3
    ran = unspool.run(log, 64, policy).jobs
    is_over = ran["finish_time"] <= at
    table = log.table.with_columns(
        run_time=pl.when(is_over).then("run_time").otherwise(pl.col("walltime") * 0.9 + 1.0).round()
    )
    other = Workload.of(table.filter(pl.col("submit_time") <= at).vstack(_others_later(table, at)), name=log.name)
    again = unspool.forecast(other, 64, policy, at=at, replicas=8)
    assert again.jobs.equals(told.jobs)
    assert (again.starts == told.starts).all()


def _others_later(table, at):
    """Jobs that the log does not have, after the time."""
    later = table.filter(pl.col("submit_time") > at).head(5)
    return later.with_columns(cores=pl.lit(64, pl.Int64), job_id=pl.col("job_id") + "x")


def test_futures_are_drawn_by_seed_and_number_whatever_their_order():
    log = busy()
    few, many, other = (
        unspool.forecast(log, 64, "easy", at=middle(log), replicas=replicas, seed=seed)
        for replicas, seed in ((3, 1), (6, 1), (3, 2))
    )
    assert (few.starts == many.starts[:, :3]).all()
    assert (few.starts != other.starts).any()


def patient(view):
    free = view.free_cores
    for job in view.queue:
        if job.cores > free:
            return
        free -= job.cores
        yield Start(job)


def test_a_policy_in_python_forecasts_as_the_built_in_one():
    log = busy(300)
    ours, built_in = (unspool.forecast(log, 64, policy, at=middle(log), replicas=3) for policy in (patient, "fcfs"))
    assert ours.policy == "patient"
    assert len(ours.jobs)
    assert ours.jobs.equals(built_in.jobs)


def test_jobs_that_do_not_start_within_the_horizon_have_no_quantile():
    log = busy()
    told = unspool.forecast(log, 64, "easy", at=middle(log), replicas=9, horizon=60)
    row = told.jobs.filter(pl.col("share_not_started") == 1.0)
    assert len(row)
    assert row.select("start_p10", "start_p50", "start_p90", "start_mean").null_count().row(0) == (len(row),) * 4
    assert told.summary["share_not_started"] > 0


def test_the_intervals_hold_about_what_they_say():
    log = lublin(2000, cores=128, load=0.9, seed=5)
    true = unspool.run(log, 128, "easy").jobs.select("job_id", "start_time")
    held = []
    for number in range(1000, 1950, 100):
        at = float(log.table["submit_time"][number])
        told = unspool.forecast(log, 128, "easy", at=at, replicas=25).jobs.join(true, on="job_id")
        held += told.select(pl.col("start_time").is_between("start_p10", "start_p90")).to_series().to_list()
    assert len(held) > 100
    assert 0.65 < np.mean(held) < 0.95


def test_a_queue_without_jobs_has_an_empty_forecast():
    told = unspool.forecast(workload([(0, 10, 1, 10)]), 4, "easy", at="2d")
    assert (len(told.jobs), told.summary["waiting"], told.summary["mean_wait_left_s"]) == (0, 0, None)
    assert "0 jobs wait" in told._repr_html_()


def test_long_jobs_that_still_run_count_among_the_run_times():
    # Of 4 jobs, those of 0.1 and 0.3 of their walltime ended, one has run for 0.2 and one for 0.4 of it.
    # Up to 0.1: 1/4 have ended; up to 0.3: half of the 3/4 that are left; the others end between 0.4 and 1.
    values, weights = _product_limit(np.array([0.3, 0.1, 0.2, 0.4]), np.array([True, True, False, False]))
    assert values.tolist() == pytest.approx([0.1, 0.3, *(0.43 + 0.03 * step for step in range(20))])
    assert weights.tolist() == pytest.approx([1 / 4, 3 / 8, *[3 / 160] * 20])


def test_days_come_again_at_the_same_time_of_day_weekends_as_weekends():
    # From Thursday, 1970-01-01, a job every six hours for three weeks; the queue is looked at on a Thursday at 5 h.
    jobs = workload([(6 * HOUR * at, 1, 1, 1) for at in range(4 * 21 + 1)])
    engine = Engine(jobs, Platform.pool(1))
    at = 21 * DAY_S + 5 * HOUR
    like, submit = Arrivals(engine, at, 7 * DAY_S).draw(np.random.default_rng(0))
    came = engine.core.jobs["submit"][like]
    assert submit.tolist() == [at + HOUR + 6 * HOUR * number for number in range(28)]
    assert ((submit - came) % DAY_S == 0).all()
    weekday = ((submit - HOUR) // DAY_S).astype(int) % 7, ((came - HOUR) // DAY_S).astype(int) % 7  # 0 is Thursday
    # Days from 5 h on: one that begins on Friday ends on Saturday, and so do all that it is drawn from.
    kinds = [np.select([day == 1, day == 2, day == 3], [1, 2, 3], 0) for day in weekday]
    assert kinds[0].tolist() == kinds[1].tolist()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"at": "yesterday"}, "its origin is not known"),
        ({"at": 5 * HOUR}, "the log has none before 18000 s"),
        ({"replicas": 0}, "0 replicas; expected at least 1"),
        ({"quantiles": (0.5, 1.0)}, "a quantile of 1; expected more than 0 and less than 1"),
        ({"horizon": 0}, "the horizon is 0"),
        ({"seed": -1}, "the seed is -1"),
        ({"policy": "easy:predictor=exact"}, "knows the future"),
    ],
)
def test_what_cannot_be_forecast_is_refused(options, complaint):
    jobs = workload([(0, 10 * HOUR, 1, 10 * HOUR), (HOUR, 1, 1, 1), (40 * HOUR, 1, 1, 1)])
    with pytest.raises(InputError, match=complaint):
        unspool.forecast(jobs, 1, **options)


def test_a_time_before_the_first_job_is_refused():
    with pytest.raises(InputError, match="no job is submitted by 5 s"):
        unspool.forecast(workload([(10, 1, 1, 1)]), 1, at=5)
