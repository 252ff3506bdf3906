"""The oracles against paper, against each other, against closed formulas and against the reference logs."""

import gzip
import os
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import pytest
from benchmarks import bare
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import erlang, machines, simpy_model, twin

from unspool.workloads.generators import lublin, poisson

CASES = Path(os.environ.get("UNSPOOL_CASES", Path(__file__).parents[3] / "shared" / "cases"))
CORES = 8


def small_logs():
    """A few jobs with many ties; some run for no time, some beyond their estimate."""
    submit = st.integers(0, 12).map(lambda tens: 10 * tens)
    job = st.tuples(submit, st.integers(0, 200), st.integers(1, CORES), st.integers(1, 200))
    return st.lists(job, min_size=1, max_size=25).map(lambda jobs: sorted(jobs, key=lambda job: job[0]))


def on_machines(jobs):
    keys = ("submit", "run", "units", "estimate")
    return [dict(zip(keys, job, strict=True), need=(1, 0, 0), distinct=False) for job in jobs]


def times(schedule):
    return [(start, finish) for start, finish, *_ in schedule]


# On paper: (submit, run time, size, estimate) in, (start, finish) out.


def test_fcfs_never_overtakes():
    jobs = [(0, 10, 2, 10), (1, 5, 3, 5), (2, 3, 1, 3)]
    assert twin.simulate(jobs, 4, "fcfs") == [(0, 10), (10, 15), (10, 13)]


def test_easy_lets_a_short_job_pass_the_head():
    jobs = [(0, 10, 2, 10), (1, 5, 3, 5), (2, 3, 1, 3)]
    assert twin.simulate(jobs, 4, "easy") == [(0, 10), (10, 15), (2, 5)]


def test_easy_lets_a_job_end_exactly_at_the_shadow_time():
    jobs = [(0, 10, 3, 10), (1, 5, 4, 5), (2, 8, 1, 8)]
    assert twin.simulate(jobs, 4, "easy") == [(0, 10), (10, 15), (2, 10)]


def test_easy_counts_every_end_at_the_shadow_time_as_extra():
    jobs = [(0, 10, 2, 10), (0, 10, 2, 10), (1, 5, 3, 5), (2, 20, 1, 20), (3, 20, 1, 20)]
    assert twin.simulate(jobs, 5, "easy") == [(0, 10), (0, 10), (10, 15), (2, 22), (10, 30)]


def test_easy_uses_extra_up():
    jobs = [(0, 10, 2, 10), (1, 10, 3, 10), (2, 30, 1, 30), (2, 30, 1, 30)]
    assert twin.simulate(jobs, 4, "easy") == [(0, 10), (10, 20), (2, 32), (20, 50)]


def test_easy_may_delay_the_second_in_the_queue_and_conservative_may_not():
    jobs = [(0, 10, 2, 10), (1, 10, 2, 10), (2, 10, 3, 10), (3, 25, 1, 25)]
    assert twin.simulate(jobs, 3, "easy") == [(0, 10), (10, 20), (28, 38), (3, 28)]
    assert twin.simulate(jobs, 3, "conservative") == [(0, 10), (10, 20), (20, 30), (30, 55)]


def test_conservative_pulls_plans_forward_when_a_job_ends_early():
    jobs = [(0, 10, 1, 20), (0, 10, 2, 10), (0, 5, 1, 25)]
    assert twin.simulate(jobs, 2, "conservative") == [(0, 10), (10, 20), (20, 25)]


def test_easy_takes_an_overdue_job_to_run_on_for_a_minute():
    jobs = [(0, 100, 1, 10), (0, 5, 2, 5), (5, 20, 1, 20), (12, 30, 1, 40)]
    assert twin.simulate(jobs, 2, "easy") == [(0, 100), (100, 105), (12, 32), (32, 62)]


def test_conservative_plans_anew_at_a_planned_start_that_an_overrun_spoils():
    jobs = [(0, 100, 1, 10), (1, 10, 2, 5), (2, 50, 1, 50)]
    assert twin.simulate(jobs, 2, "conservative") == [(0, 100), (100, 110), (10, 60)]


def test_walltime_kill_cuts_the_run():
    assert twin.simulate([(0, 100, 1, 10), (1, 5, 1, 5)], 1, "fcfs", kill_at_walltime=True) == [(0, 10), (10, 15)]


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
def test_jobs_of_no_length_repeat_the_round_at_their_instant(policy):
    jobs = [(0, 0, 1, 5), (0, 0, 1, 5), (0, 3, 1, 3)]
    assert twin.simulate(jobs, 1, policy) == [(0, 0), (0, 0), (0, 3)]


def unit(submit, run, units, cores, distinct=False, memory=0):
    need = (cores, memory, 0)
    return {"submit": submit, "run": run, "estimate": run, "units": units, "need": need, "distinct": distinct}


def test_units_go_to_the_first_machines_with_room():
    jobs = [unit(0, 10, 3, 2), unit(0, 10, 2, 1, distinct=True), unit(1, 5, 1, 1)]
    fleet = [(4, 0, 0), (4, 0, 0), (2, 0, 0)]
    assert machines.simulate(jobs, fleet, "fcfs") == [
        (0, 10, {0: 2, 1: 1}),
        (0, 10, {1: 1, 2: 1}),
        (1, 6, {1: 1}),
    ]


def test_memory_binds_as_cores_do():
    jobs = [unit(0, 10, 1, 1, memory=6), unit(0, 10, 1, 1, memory=3), unit(1, 5, 1, 1, memory=8)]
    assert machines.simulate(jobs, [(4, 8, 0)], "fcfs") == [(0, 10, {0: 1}), (10, 20, {0: 1}), (20, 25, {0: 1})]


def test_easy_on_machines_refuses_a_job_that_takes_the_heads_machine():
    jobs = [unit(0, 10, 1, 2), unit(1, 10, 2, 2, distinct=True), unit(2, 20, 1, 1), unit(2, 5, 1, 1)]
    assert times(machines.simulate(jobs, [(2, 0, 0)] * 2, "easy")) == [(0, 10), (10, 20), (20, 40), (2, 7)]
    assert machines.simulate(jobs, [(2, 0, 0)] * 3, "easy")[1:3] == [(1, 11, {1: 1, 2: 1}), (10, 30, {0: 1})]


def test_conservative_on_machines_keeps_the_machines_of_a_plan():
    jobs = [unit(0, 10, 1, 2), unit(0, 20, 1, 2), unit(0, 10, 2, 2), unit(0, 5, 1, 2)]
    assert machines.simulate(jobs, [(2, 0, 0)] * 2, "conservative") == [
        (0, 10, {0: 1}),
        (0, 20, {1: 1}),
        (20, 30, {0: 1, 1: 1}),
        (10, 15, {0: 1}),
    ]


@settings(max_examples=150)
@given(small_logs())
def test_twin_and_simpy_agree(jobs):
    for policy in ("fcfs", "easy"):
        assert twin.simulate(jobs, CORES, policy) == simpy_model.simulate(jobs, CORES, policy)


@settings(max_examples=150)
@given(small_logs())
def test_pool_and_one_large_machine_agree(jobs):
    for policy in ("fcfs", "easy", "conservative"):
        on_one = machines.simulate(on_machines(jobs), [(CORES, 0, 0)], policy)
        assert twin.simulate(jobs, CORES, policy) == times(on_one)


@settings(max_examples=100)
@given(small_logs())
def test_pool_and_one_core_machines_agree_where_nothing_is_planned_ahead(jobs):
    for policy in ("fcfs", "easy"):
        on_many = machines.simulate(on_machines(jobs), [(1, 0, 0)] * CORES, policy)
        assert twin.simulate(jobs, CORES, policy) == times(on_many)


@settings(max_examples=100)
@given(small_logs())
def test_bare_loop_and_twin_agree(jobs):
    columns = [np.array(column, dtype=np.float64) for column in zip(*jobs, strict=True)]
    waits = bare.easy_waits(columns[0], columns[1], columns[2].astype(np.int64), columns[3], CORES)
    schedule = twin.simulate(jobs, CORES, "easy")
    assert waits.tolist() == [start - job[0] for (start, _), job in zip(schedule, jobs, strict=True)]


def test_bare_loop_and_twin_agree_on_a_busy_log():
    log = lublin(5_000, cores=480, load=1.05, seed=3, max_cores=128)
    submit, run_time, size, estimate = bare.columns(log)
    jobs = list(zip(submit.tolist(), run_time.tolist(), size.tolist(), estimate.tolist(), strict=True))
    schedule = twin.simulate(jobs, 480, "easy")
    waits = [start - job[0] for (start, _), job in zip(schedule, jobs, strict=True)]
    assert bare.easy_waits(submit, run_time, size, estimate, 480).tolist() == waits


def test_erlang_c_on_one_server_is_the_formula_of_m_m_1():
    assert erlang.mean_wait(0.5, 1.0, 1) == pytest.approx(1.0)
    assert erlang.mean_wait(0.9, 1.0, 1) == pytest.approx(9.0)


def test_erlang_c_on_two_servers_is_rho_squared_over_one_minus_rho_squared():
    assert erlang.mean_wait(1.0, 1.0, 2) == pytest.approx(1 / 3)


def test_fcfs_twin_meets_erlang_c():
    waits = []
    for seed in range(16):
        table = poisson(8_000, rate_per_s=3.2, mean_run_time_s=1.0, seed=seed).table
        jobs = [(submit, run, 1, 1.0) for submit, run in table.select("submit_time", "run_time").iter_rows()]
        schedule = twin.simulate(jobs, 4, "fcfs")
        waits.append(fmean(start - job[0] for (start, _), job in list(zip(schedule, jobs, strict=True))[1_000:]))
    half_width = 3.7 * stdev(waits) / 4  # Student's t with 15 degrees of freedom, 99.8 %
    assert abs(fmean(waits) - erlang.mean_wait(3.2, 1.0, 4)) < half_width


def read_reference(name):
    path = CASES / "swf" / f"{name}.swf.gz"
    if not path.exists():
        pytest.skip(f"the reference logs are not here: no {path.name} under UNSPOOL_CASES")
    with gzip.open(path, "rt") as file:
        records = [[int(field) for field in line.split()] for line in file if not line.startswith(";")]
    return [(r[1], r[3], r[7], r[8]) for r in sorted(records, key=lambda r: r[1])]


@pytest.mark.parametrize(
    ("name", "cores", "policy", "mean_wait", "max_wait"),
    [
        ("theta-2022", 4360, "fcfs", 162_612.20375559365, 817_634),
        ("theta-2022", 4360, "easy", 44_663.77725732926, 657_662),
        ("seth-like-50k", 480, "fcfs", 25_839.2231, 144_495),
        ("seth-like-50k", 480, "easy", 3_504.89818, 145_970),
    ],
)
def test_twin_meets_the_reference_waits(name, cores, policy, mean_wait, max_wait):
    jobs = read_reference(name)
    waits = [start - job[0] for (start, _), job in zip(twin.simulate(jobs, cores, policy), jobs, strict=True)]
    assert fmean(waits) == pytest.approx(mean_wait, rel=1e-9)
    assert max(waits) == max_wait
    if policy == "easy":
        columns = [np.array(column, dtype=np.float64) for column in zip(*jobs, strict=True)]
        fast = bare.easy_waits(columns[0], columns[1], columns[2].astype(np.int64), columns[3], cores)
        assert fast.tolist() == waits
