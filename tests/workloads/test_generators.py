import hashlib
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from tests.build import workload
from tests.strategies import rows

from unspool.errors import InputError
from unspool.model.workload import Workload
from unspool.workloads.clock import hours_of_week
from unspool.workloads.generators import Fitted, fit, lublin, poisson, recodex
from unspool.workloads.generators.busy import BusyClock, week_of
from unspool.workloads.generators.repeats import _mean_apart, folded
from unspool.workloads.sessions import in_sessions
from unspool.workloads.transform import shift

MONDAY = 1704067200.0
WHOLE_DAY = 86400.0
LOADS = "expected from 5.4e-08 to 5.4e+04 with this many jobs and cores"  # of lublin(10, 2)


def digest(log):
    table = log.table.with_columns(pl.col(pl.Float64).round(6))  # libraries of mathematics differ in the last digit
    return hashlib.sha256(table.write_csv().encode()).hexdigest()[:16]


def test_the_generators_give_what_they_always_gave():
    assert digest(lublin(5000, 480, 0.7, seed=1)) == "e6a50274a1699de3"
    assert digest(lublin(3000, 256, 0.9, seed=3, max_cores=128)) == "bf4df3853278ce28"
    assert digest(lublin(3000, 256, 0.9, seed=3, daily_cycle=False)) == "c24fe783966c36c5"
    assert digest(poisson(4000, 0.1, 5.0, cores=2, seed=5)) == "58be39bdc096d907"


def test_poisson_has_the_rate_and_the_mean_that_were_asked_for():
    table = poisson(200_000, rate_per_s=0.5, mean_run_time_s=30.0, cores=4, seed=1).table
    assert table["run_time"].mean() == pytest.approx(30.0, rel=0.01)
    assert table["submit_time"][-1] / 200_000 == pytest.approx(2.0, rel=0.01)
    assert table["run_time"].std() == pytest.approx(30.0, rel=0.01)
    assert table["cores"].unique().to_list() == [4]


def test_lublin_meets_the_load_and_favours_powers_of_two():
    log = lublin(20_000, cores=256, load=0.6, seed=2)
    table = log.table
    load = (table["cores"] * table["run_time"]).sum() / (256 * table["submit_time"][-1])
    assert load == pytest.approx(0.6, rel=1e-6)
    are_powers = table["cores"].is_in([1, 2, 4, 8, 16, 32, 64, 128, 256])
    assert are_powers.mean() > 0.8
    assert (table["run_time"] <= table["walltime"]).all()


@pytest.mark.parametrize(("origin", "daily_cycle"), [(0.0, True), (MONDAY, True), (MONDAY + 2 * WHOLE_DAY, False)])
def test_weekends_of_lublin_lie_on_saturdays_and_sundays(origin, daily_cycle):
    log = lublin(20_000, 256, 0.6, seed=2, daily_cycle=daily_cycle, weekend_weight=0.25, origin_unix_s=origin)
    days = np.bincount(hours_of_week(log.table["submit_time"].to_numpy(), origin, "UTC") // 24, minlength=7)
    assert days[5:].mean() / days[:5].mean() == pytest.approx(0.25, rel=0.15)


def test_the_weekend_leaves_the_hours_of_the_day_as_they_were():
    plain, weekly = (lublin(50_000, 256, 0.6, weekend_weight=weight, origin_unix_s=MONDAY) for weight in (1.0, 0.25))
    shares = [
        np.bincount(hours_of_week(log.table["submit_time"].to_numpy(), MONDAY, "UTC") % 24, minlength=24) / 50_000
        for log in (plain, weekly)
    ]
    assert np.abs(shares[0] - shares[1]).sum() / 2 < 0.06


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: poisson(0, 1.0, 1.0), "generator: jobs is 0; expected at least 1"),
        (lambda: poisson(1, float("nan"), 1.0), "generator: rate_per_s is nan; expected more than 0, up to 1e+09"),
        (lambda: poisson(1, 1.0, float("inf")), "generator: mean_run_time_s is inf; expected more than 0"),
        (
            lambda: lublin(10, 2, 1e308),
            f"generator: load is 1e+308; {LOADS}",
        ),
        (
            lambda: lublin(10, 2, 1e-300),
            f"generator: load is 1e-300; {LOADS}",
        ),
        (lambda: recodex(10, 0, 1e-300), "generator: load is 1e-300; expected 5.03e-11 or more with this many jobs"),
        (lambda: lublin(1, 8, 0.5), "generator: jobs is 1; expected at least 2"),
        (lambda: lublin(10, 8, 0.5, max_cores=9), "generator: max_cores is 9; expected 1 to 8"),
        (lambda: lublin(10, 8, 0.5, seed=-1), "generator: seed is -1; expected 0 or more"),
        (lambda: lublin(10, 8, 0.5, weekend_weight=0), "generator: weekend_weight is 0; expected more than 0"),
        (
            lambda: lublin(10, 8, 0.5, origin_unix_s=60.0),
            "generator: origin_unix_s is 60.0; expected a midnight in UTC, a multiple of 86400",
        ),
    ],
)
def test_impossible_parameters_are_refused(call, sentence):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == sentence


def test_sessions_end_where_a_user_is_silent_for_twenty_minutes():
    log = workload([(0, 1, 1, 1), (10, 1, 1, 1), (1200, 1, 1, 1), (1300, 1, 1, 1), (2501, 1, 1, 1)], user=list("xyxyy"))
    by_user = in_sessions(log)
    assert by_user["at"].to_list() == [0, 2, 1, 3, 4]
    assert by_user["gap"].to_list() == [None, 1200.0, None, 1290.0, 1201.0]
    assert by_user["session"].to_list() == [1, 1, 2, 3, 4]


def test_the_busy_clock_stands_still_at_night():
    week = ([0.0] * 8 + [3.0] * 8 + [0.0] * 8) * 7
    clock = BusyClock(2 * WHOLE_DAY, MONDAY, "UTC", week)
    assert clock.busy_s == 48.0
    assert clock.busy(np.array([0.0, 8 * 3600.0, 9 * 3600.0, WHOLE_DAY])).tolist() == [0.0, 0.0, 3.0, 24.0]
    assert clock.wall(np.array([1.5, 25.5])).tolist() == [8.5 * 3600.0, WHOLE_DAY + 8.5 * 3600.0]


def test_hours_that_a_log_did_not_live_to_see_are_like_those_it_did():
    week = week_of(np.array([0.0, 10.0, 3600.0]), 5400.0, MONDAY, "UTC")
    assert week[:2] == (2.0, 2.0)  # two in the first hour, one in half an hour
    assert week[24:26] == (2.0, 2.0)
    assert week[2] == 2.0  # three jobs in an hour and a half


def test_folding_keeps_levels_uniform_and_a_spread_of_one_forgets():
    levels = folded(np.linspace(0, 1, 1001)[:, None] + 0.3 * np.linspace(-1, 1, 101)[None, :])
    assert levels.min() >= 0
    assert levels.max() <= 1
    assert np.histogram(levels, 10, (0, 1))[0] / levels.size == pytest.approx(np.full(10, 0.1), abs=0.01)
    assert _mean_apart(0.0) == 0.0
    assert _mean_apart(0.1) == pytest.approx(0.2 / 3, rel=0.1)
    assert _mean_apart(1.0) == pytest.approx(1 / 3, rel=0.01)


def test_a_fit_says_what_is_in_the_log():
    jobs = [(0, 30, 2, 60), (60, 15, 2, 60), (120, 60, 4, 600), (90_000, 30, 2, 60)]
    model = fit(workload(jobs, user=["ann"] * 4, group=["g"] * 4, queue=["q", "q", "r", "q"]))
    assert model.users.rows() == [("ann", "g")]
    assert model.sessions.rows() == [(0, 1, 1), (0, 3, 1)]
    assert model.requests.select("cores", "walltime", "queue").rows() == [(2, 60.0, "q"), (4, 600.0, "r")]
    assert model.repertoires.rows() == [(0, 0, 3), (0, 1, 1)]
    assert model.gaps["least_jobs"].to_list() == [2]
    assert (model.gaps["quantiles_s"][0] == 60.0).all()
    assert sorted(set(model.run_times["quantiles"][0])) == [0.1, 0.25, 0.5]
    assert (model.jobs, model.span_s, model.are_seconds_whole, model.least_run_time_s) == (4, 90_000.0, True, 15.0)


def test_a_log_of_one_kind_of_job_gives_jobs_of_that_kind():
    jobs = [(3600 * at, 30, 2, 60) for at in range(50)]
    drawn = fit(workload(jobs, user=["ann"] * 50)).generate(jobs=80, seed=1)
    assert len(drawn) == 80
    assert drawn.table.select("run_time", "cores", "walltime", "user").unique().rows() == [(30.0, 2, 60.0, "ann")]
    assert drawn.table["job_id"].to_list() == [str(at) for at in range(1, 81)]


def test_users_repeat_themselves_as_in_the_log():
    stream = np.random.default_rng(1)
    cores = np.repeat(2 ** stream.integers(0, 7, 300), 10)  # ten jobs of one size, then ten of another
    run_time = np.repeat(stream.integers(60, 3600, 300), 10)
    jobs = [(1000 * at, int(run), int(size), 3600) for at, (run, size) in enumerate(zip(run_time, cores, strict=True))]
    log = workload(jobs, user=["ann"] * 3000)
    model = fit(log)
    assert model.repeats.request_in_session == pytest.approx(0.9, abs=0.01)
    assert model.repeats.run_spread < 0.02
    drawn = in_sessions(model.generate(seed=2))
    same = drawn.filter(pl.col("gap").is_not_null())["cores"].diff().fill_null(0) == 0
    assert same.mean() == pytest.approx(0.9 + 0.1 / 7, abs=0.02)


def test_the_seed_fixes_a_generated_log_and_another_gives_another():
    model = fit(lublin(2000, cores=64, load=0.8))
    assert model.generate(seed=5).table.equals(model.generate(seed=5).table)
    assert not model.generate(seed=5).table.equals(model.generate(seed=6).table)


def test_a_log_that_begins_late_gives_one_that_does():
    log = lublin(3000, cores=64, load=0.8, origin_unix_s=MONDAY)
    early, late = fit(log), fit(shift(log, 7 * WHOLE_DAY))
    assert (late.first_s, late.span_s, late.week) == (7 * WHOLE_DAY, early.span_s, early.week)
    submit_time = late.generate(seed=1).table["submit_time"]
    assert submit_time.equals(early.generate(seed=1).table["submit_time"] + 7 * WHOLE_DAY)


def test_jobs_of_nobody_known_are_fitted_as_those_of_one():
    jobs = [(5000 * at, 30, 2, None) for at in range(20)]
    some = fit(workload(jobs, user=["ann", None] * 10)).generate(seed=1)
    assert some.table["user"].null_count() == pytest.approx(10, abs=5)
    assert fit(workload(jobs)).generate(seed=1).table.columns == ["job_id", "submit_time", "run_time", "cores", "line"]


def test_a_duration_gives_jobs_at_the_rate_of_the_log():
    log = lublin(2000, cores=64, load=0.8)
    model = fit(log)
    drawn = model.generate(duration_s=model.span_s / 4, seed=1)
    assert len(drawn) == 500
    assert drawn.table["submit_time"][-1] == pytest.approx(model.span_s / 4, rel=0.1)
    assert len(model.generate()) == 2000
    with pytest.raises(InputError, match="both jobs and duration_s are given; expected one of them"):
        model.generate(jobs=3, duration_s=3.0)
    with pytest.raises(InputError, match="duration_s is 0; expected more than 0"):
        model.generate(duration_s=0)
    with pytest.raises(InputError, match="jobs is 0; expected at least 1"):
        model.generate(jobs=0)


def test_a_model_is_kept_in_a_file(tmp_path):
    log = lublin(1000, cores=64, load=0.8, seed=3)
    model = fit(log)
    model.save(tmp_path / "model.json")
    again = Fitted.load(tmp_path / "model.json")
    assert again == model
    assert again.generate(seed=4).table.equals(model.generate(seed=4).table)
    with pytest.raises(InputError, match="exists and is not overwritten"):
        model.save(tmp_path / "model.json")


@pytest.mark.parametrize(
    "damage",
    [
        lambda model: "no JSON",
        lambda model: json.dumps([1]),
        lambda model: json.dumps({**model, "unspool_fitted": 99}),
        lambda model: json.dumps({**model, "surprise": 1}),
        lambda model: json.dumps({**model, "week": [1.0]}),
        lambda model: json.dumps({**model, "jobs": 0}),
        lambda model: json.dumps({**model, "sessions": {"user": [99], "jobs": [1], "count": [1]}}),
        lambda model: json.dumps({**model, "requests": {"cores": ["many"]}}),
        lambda model: json.dumps({**model, "thinks": [1.0]}),
        lambda model: json.dumps({**model, "run_times": {"jobs": [50], "quantiles": [[0.5]]}}),
        lambda model: json.dumps({**model, "repertoires": {"user": [0], "request": [None], "count": [1]}}),
        lambda model: json.dumps({**model, "sessions": {}}),
        lambda model: json.dumps({name: value for name, value in model.items() if name != "repeats"}),
    ],
)
def test_a_file_that_is_no_model_is_refused(tmp_path, damage):
    model = json.loads(fit(lublin(50, cores=64, load=0.8)).to_json())
    (tmp_path / "model.json").write_text(damage(model))
    with pytest.raises(InputError, match=r"model\.json: is not a fitted model \(.*\); make one with"):
        Fitted.load(tmp_path / "model.json")


def test_a_log_at_one_instant_cannot_be_fitted():
    with pytest.raises(InputError, match="all its jobs are submitted at one time; a fit needs jobs submitted apart"):
        fit(workload([(5, 1, 1, 1), (5, 1, 1, 1)]))


def test_walltimes_without_round_values_make_no_larger_model():
    stream = np.random.default_rng(1)
    run_time = stream.integers(1, 100_000, 5000)
    jobs = [(60 * at, int(run), 1, int(run) + 7) for at, run in enumerate(run_time)]
    model = fit(workload(jobs))
    assert len(model.requests) <= 101
    assert (model.generate(seed=1).table["run_time"] <= model.requests["walltime"].max()).all()


@settings(max_examples=40)
@given(log=rows(8))
def test_any_log_that_can_be_fitted_gives_a_log_that_holds(log):
    log = workload(log)
    if log.table["submit_time"].n_unique() < 2:
        return
    drawn = fit(log).generate(jobs=30, seed=1)
    assert Workload.of(drawn.table).table.equals(drawn.table)
    assert len(drawn) == 30
    assert set(drawn.table["cores"]) <= set(log.table["cores"])
    assert set(drawn.table["walltime"]) <= set(log.table["walltime"])
