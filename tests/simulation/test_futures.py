"""A run that is given another future goes on as if the log had always been so: from its first job, bit for bit."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.build import workload
from tests.simulation.test_forks import ON_A_POOL, PatientPolicy, TwoJobMemory
from tests.strategies import as_workload, platforms, requests

from unspool.engine.kernel.state import RUNNING
from unspool.errors import RunError
from unspool.model.platform import Platform
from unspool.model.workload import Workload
from unspool.plugins import build
from unspool.policies.schedulers.easy import Easy
from unspool.simulation.engine import Engine
from unspool.simulation.futures import Future

SETTINGS = (*ON_A_POOL, "easy:order=sjf", "conservative:order=saf", "filler:order=random")


def starts(engine):
    return dict(zip(engine.attempts["job"].tolist(), engine.attempts["start"].tolist(), strict=True))


def drawn(engine, draw):
    """Some future: other run times for all that has not ended, and a few arrivals."""
    jobs = len(engine.core.jobs)
    fate, attempts = engine.core.fate, engine.attempts
    ran = np.zeros(jobs)
    for job in np.flatnonzero(fate["state"] == RUNNING):
        ran[job] = engine.now - attempts[fate[job]["attempt"]]["start"]
    count = int(draw.integers(0, 12)) if jobs else 0
    submit = max(engine.now, 0.0) + 1.0 + np.sort(draw.integers(0, 60, count))
    return Future(
        ran + 1.0 + draw.integers(0, 80, jobs), draw.integers(0, max(jobs, 1), count), submit,
        draw.integers(0, 80, count).astype(float),
    )  # fmt: skip


def told_from_the_start(engine, future):
    """The whole log in which the future is what the log says."""
    table = engine.workload.table
    run_time = table["run_time"].to_numpy().copy()
    is_open = np.flatnonzero(engine.core.fate["state"] <= RUNNING)
    run_time[engine.used[is_open]] = future.run_time[is_open]
    more = table[engine.used[future.like]].with_columns(
        job_id=pl.format("new{}", pl.int_range(pl.len())),
        submit_time=pl.Series(future.submit),
        run_time=pl.Series(future.arriving_run_time),
        line=pl.Series(len(table) + 1 + np.arange(len(future.like)), dtype=pl.Int64),
    )
    return Workload.of(pl.concat([table.with_columns(run_time=pl.Series(run_time)), more]))


def until(log, at):
    return Workload.of(log.table.filter(pl.col("submit_time") <= at))


@settings(max_examples=30)
@given(
    jobs=requests(), name=st.sampled_from(SETTINGS), at=st.integers(0, 120), seed=st.integers(0, 99), kill=st.booleans()
)
def test_a_given_future_equals_a_log_that_always_said_so(jobs, name, at, seed, kill):
    check_a_given_future(as_workload(jobs), Platform.pool(7), name, at, seed, kill)


@settings(max_examples=20)
@given(
    jobs=requests(), platform=platforms(), name=st.sampled_from(["easy", "conservative"]), at=st.integers(0, 120),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_it_does_so_on_machines(jobs, platform, name, at, seed):
    check_a_given_future(as_workload(jobs), platform, name, at, seed, kill=False)


def check_a_given_future(log, platform, name, at, seed, kill):
    past = until(log, at)
    if not len(past):
        return
    policy = build("schedulers", name)
    engine = Engine(past, platform, kill_at_walltime=kill)
    engine.run(policy, until=float(at))
    future = drawn(engine, np.random.default_rng(seed))
    whole = Engine(told_from_the_start(engine, future), platform, kill_at_walltime=kill)
    for _ in range(2):
        twin, own = engine.with_future(policy, future)
        twin.run(own)
        whole.run(policy)
        assert twin.attempts.tobytes() == whole.attempts.tobytes()


@pytest.mark.parametrize("policy", [PatientPolicy(), Easy(predictor=TwoJobMemory())], ids=["policy", "predictor"])
def test_policies_in_python_go_on_with_what_they_remember(policy):
    rows = [(10 * at, 7 + 3 * (at % 4), 1 + at % 3, 40) for at in range(20)]
    jobs = until(workload(rows, user=["u" if at % 2 else "v" for at in range(20)]), 95)
    engine = Engine(jobs, Platform.pool(3))
    own = engine.fork_with(policy)[1]
    engine.run(own, until=95.0)
    future = drawn(engine, np.random.default_rng(1))
    whole = Engine(told_from_the_start(engine, future), Platform.pool(3))
    whole.run(whole.fork_with(policy)[1])
    twin, theirs = engine.with_future(own, future)
    twin.run(theirs)
    assert starts(twin) == starts(whole)


def test_jobs_that_wait_for_others_arrive_when_those_end_in_the_new_future():
    jobs = workload([(0, 10, 1, 50), (1, 10, 1, 50)], depends_on=[None, "a"])
    engine = Engine(jobs, Platform.pool(1))
    fcfs = build("schedulers", "fcfs")
    engine.run(fcfs, until=5.0)
    future = Future(np.array([30.0, 5.0]), np.array([0]), np.array([6.0]), np.array([100.0]))
    twin, own = engine.with_future(fcfs, future)
    twin.run(own)
    assert starts(twin) == {0: 0.0, 1: 30.0, 2: 35.0}


def test_the_run_itself_and_its_jobs_stay_as_they_were():
    engine = Engine(workload([(0, 10, 1, 50), (1, 10, 1, 50)]), Platform.pool(1))
    fcfs = build("schedulers", "fcfs")
    engine.run(fcfs, until=5.0)
    future = Future(np.array([30.0, 5.0]), np.array([0]), np.array([6.0]), np.array([100.0]))
    twin, own = engine.with_future(fcfs, future)
    twin.run(own)
    engine.run(fcfs)
    assert (starts(engine), len(engine.workload)) == ({0: 0.0, 1: 10.0}, 2)


@pytest.mark.parametrize(
    ("future", "complaint"),
    [
        (Future(np.array([0.5, 5.0]), np.array([0]), np.array([6.0]), np.array([1.0])), "ended before now"),
        (Future(np.array([9.0, 5.0]), np.array([0]), np.array([0.5]), np.array([1.0])), "after now"),
    ],
)
def test_a_future_that_cannot_be_is_refused(future, complaint):
    engine = Engine(workload([(0, 10, 1, 50), (1, 10, 1, 50)]), Platform.pool(1))
    fcfs = build("schedulers", "fcfs")
    engine.run(fcfs, until=5.0)
    with pytest.raises(RunError, match=complaint):
        engine.with_future(fcfs, future)


def test_a_run_with_jobs_still_to_be_submitted_cannot_be_given_another_future():
    engine = Engine(workload([(0, 10, 1, 50), (9, 10, 1, 50)]), Platform.pool(1))
    fcfs = build("schedulers", "fcfs")
    engine.run(fcfs, until=5.0)
    nothing = np.empty(0)
    with pytest.raises(RunError, match="all been submitted"):
        engine.with_future(fcfs, Future(np.array([9.0, 9.0]), nothing.astype(np.int64), nothing, nothing))
