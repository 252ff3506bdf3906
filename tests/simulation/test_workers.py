"""Workers with queues of their own, and workers that take jobs when they are free."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.workers import late

from unspool.errors import RunError
from unspool.metrics.experience import METER, judge, sum_in_order, uptime
from unspool.policies.dispatchers.queues import (
    CATEGORY,
    FILTER,
    LIMITS,
    ORACLE,
    SHORTEST,
    SIMPLE,
    STATISTICS,
    ZERO,
)
from unspool.simulation.desk import MODES, Columns, WorkersRun
from unspool.simulation.latebinding import CENTRAL_FIFO, CENTRAL_SHORTEST

OPEN = math.inf
LATE = {"fifo": CENTRAL_FIFO, "shortest": CENTRAL_SHORTEST}


def columns(*rows):
    """Jobs of (spawn, duration), or with (limits, exercise, runtime, compiled) as well."""
    filled = [(*row, *(10.0, 1, 1, True)[len(row) - 2 :]) for row in rows]
    spawn, duration, limits, exercise, runtime, ok = (np.array(column) for column in zip(*filled, strict=True))
    return Columns(spawn.astype(float), duration.astype(float), ok, exercise, runtime, limits.astype(float))


def run_workers(jobs, references, workers, at_once=2, **rules):
    """A run whose jobs come so many at once: jobs in the order of arrival, and numbers in that of being seen to end."""
    run = WorkersRun(references, workers, **rules)
    stretches = [run.give(jobs[at : at + at_once]) for at in range(0, len(jobs), at_once)]
    stretches.append(run.end())
    finished = np.concatenate([stretch.finished for stretch in stretches])
    return SimpleNamespace(
        jobs=finished[np.argsort(finished["number"])], finished=finished, seen=finished["number"], run=run,
        turns=np.concatenate([stretch.turns for stretch in stretches]), ticks=stretches[-1].ticks,
    )  # fmt: skip


def placed(found):
    return list(zip(found.jobs["worker"].tolist(), found.jobs["start"].tolist(), strict=True))


def test_job_joins_the_shortest_queue_and_of_equals_the_first():
    found = run_workers(columns((0, 9), (0, 5), (1, 5), (6, 1)), None, [(True, OPEN)] * 2, dispatcher=SHORTEST)
    assert placed(found) == [(0, 0.0), (1, 0.0), (0, 9.0), (1, 6.0)]


def test_job_that_ends_leaves_before_one_that_arrives_at_that_instant_looks():
    found = run_workers(columns((0, 5), (0, 9), (5, 1)), None, [(True, OPEN)] * 2, dispatcher=SHORTEST)
    assert placed(found)[2] == (0, 5.0)


def test_limit_keeps_long_jobs_from_a_worker_unless_all_are_limited():
    jobs = columns((0, 40), (1, 40), (2, 5))
    found = run_workers(jobs, None, [(True, 30.0), (True, OPEN)], dispatcher=FILTER, predictor=ORACLE)
    assert [worker for worker, _ in placed(found)] == [1, 1, 0]
    found = run_workers(jobs, None, [(True, 3.0), (True, 4.0)], dispatcher=FILTER, predictor=ORACLE)
    assert [worker for worker, _ in placed(found)] == [0, 1, 0]


def test_without_an_active_worker_the_job_is_named():
    with pytest.raises(RunError, match="job 1 found no active worker"):
        run_workers(columns((0, 1)), None, [(False, OPEN)], dispatcher=SHORTEST)


def test_statistics_are_those_of_the_exercise_with_its_runtime_then_of_the_exercise_then_half_the_limits():
    jobs = columns((0, 4, 10, 1, 1), (10, 6, 10, 1, 1), (20, 1, 10, 1, 2), (30, 1, 10, 2, 1), (40, 1, 10, 1, 1))
    found = run_workers(jobs, None, [(True, OPEN)], dispatcher=FILTER, predictor=STATISTICS)
    assert found.jobs["estimate"].tolist() == [5.0, 4.0, 5.0, 5.0, 5.0]


def test_learning_is_causal_but_for_the_digits_of_the_original():
    jobs = columns((0, 4, 10, 1, 1), (1, 6, 10, 1, 1))
    causal = run_workers(jobs, None, [(True, OPEN)], dispatcher=FILTER, predictor=STATISTICS)
    assert causal.jobs["estimate"].tolist() == [5.0, 5.0]
    leaking = run_workers(
        jobs, None, [(True, OPEN)], dispatcher=FILTER, predictor=STATISTICS, strategy=CATEGORY, mode=MODES["original"]
    )
    assert leaking.jobs["estimate"].tolist() == [4.0, 5.0]


def test_references_are_known_when_they_have_ended_and_in_the_fork_none_passes_a_longer_one():
    references = columns((0, 100, 0, 1, 1), (0, 2, 0, 2, 1))
    jobs = columns((50, 1, 10, 2, 1), (150, 1, 10, 1, 1))
    run = {"dispatcher": FILTER, "predictor": STATISTICS}
    exact = run_workers(jobs, references, [(True, OPEN)], **run)
    fork = run_workers(jobs, references, [(True, OPEN)], mode=MODES["fork"], **run)
    assert exact.jobs["estimate"].tolist() == [2.0, 100.0]
    assert fork.jobs["estimate"].tolist() == [5.0, 100.0]


def test_jobs_are_seen_to_finish_in_order_or_at_steps_worker_by_worker():
    jobs = columns((0, 9), (0, 5), (20, 1))
    run = {"dispatcher": SHORTEST, "has_ticks": False}
    assert run_workers(jobs, None, [(True, OPEN)] * 2, **run).seen.tolist() == [1, 0, 2]
    assert run_workers(jobs, None, [(True, OPEN)] * 2, mode=MODES["fork"], **run).seen.tolist() == [0, 1, 2]


def test_simple_strategy_switches_a_worker_on_when_one_is_crowded_and_off_when_two_idle():
    jobs = columns((0, 50), (1, 50), (2, 50), (400, 1))
    found = run_workers(jobs, None, [(True, OPEN)] * 2, dispatcher=SHORTEST, strategy=SIMPLE, mode=MODES["original"])
    assert [worker for worker, _ in placed(found)] == [0, 0, 1, 1]
    assert [(turn["ticks"], turn["worker"], turn["active"]) for turn in found.turns] == [
        (0, 1, 0),
        (0, 1, 1),
        (2, 0, 0),
    ]
    meter = np.zeros(1, METER)
    meter["active"] = 2
    assert uptime(meter, 60.0, 1, found.turns) == 2  # the third is after the first tick
    uptime(meter, 60.0, found.ticks, found.turns[2:])
    assert meter["passed"] == 60.0 * found.ticks
    assert meter["uptime"] == 60.0 * (2 * 2 + (found.ticks - 2))


def test_ticks_cost_nothing_but_their_number():
    jobs = columns((0, 1), (6e7, 1))
    found = run_workers(jobs, None, [(True, OPEN)], dispatcher=SHORTEST, period=30.0)
    assert found.ticks == 2_000_001


def test_judgement_goes_by_what_finished_before():
    jobs = columns((0, 20, 10, 1, 1), (0, 5, 10, 1, 1), (0, 100, 10, 2, 1, False))
    found = run_workers(jobs, None, [(True, OPEN)], dispatcher=SHORTEST, predictor=ZERO)
    verdicts = np.zeros(3, np.int64)
    judge(found.finished, np.zeros((4, 2)), 1.0, 2.0, verdicts)
    assert verdicts.tolist() == [0, 0, 1]  # waits 0, 20 (as long as the first took), 25 (limits of 10: 10, then 30)
    assert sum_in_order(np.array([0.1] * 9), 0.1) == 0.9999999999999999


rows = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), min_size=1, max_size=25)


@settings(max_examples=60)
@given(rows=rows, workers=st.integers(1, 3), ageing=st.sampled_from([0.0, 0.5, 2.0]))
@pytest.mark.parametrize("policy", LATE)
def test_late_binding_and_its_twin_agree(policy, rows, workers, ageing):
    spawn = np.cumsum([gap for gap, _ in rows]).astype(float)
    duration = np.array([float(length) for _, length in rows])
    found = run_workers(
        columns(*zip(spawn, duration, strict=True)), None, [(True, OPEN)] * workers,
        dispatcher=SHORTEST, predictor=ORACLE, late_binding=LATE[policy], ageing=ageing,
    )  # fmt: skip
    expected, ended = late(spawn, duration, duration, workers, policy, ageing)
    assert placed(found) == expected
    assert found.seen.tolist() == ended


@settings(max_examples=60)
@given(rows=rows, workers=st.integers(1, 3), mode=st.sampled_from(sorted(MODES)))
def test_queues_are_first_come_first_served_and_never_idle(rows, workers, mode):
    spawn = np.cumsum([gap for gap, _ in rows]).astype(float)
    jobs = columns(*((at, length) for at, (_, length) in zip(spawn, rows, strict=True)))
    found = run_workers(jobs, None, [(True, OPEN)] * workers, dispatcher=SHORTEST, predictor=LIMITS, mode=MODES[mode])
    for worker in range(workers):
        free = 0.0
        for job in found.jobs[found.jobs["worker"] == worker]:
            assert job["start"] == max(job["spawn"], free)
            free = job["finish"]
    assert sorted(found.seen.tolist()) == list(range(len(rows)))


def overloaded(count):
    """Jobs that come faster than they are served, of exercises that keep turning up."""
    return columns(*((at, 2 + at % 3, 10 + at % 7, 1 + at * at % (1 + at // 9), 1 + at % 3) for at in range(count)))


RUNS = {
    "shortest": {"dispatcher": SHORTEST},
    "statistics": {"dispatcher": FILTER, "predictor": STATISTICS, "period": 3.0},
    "fork": {"dispatcher": FILTER, "predictor": STATISTICS, "mode": MODES["fork"], "period": 3.0},
    "original": {"dispatcher": SHORTEST, "strategy": SIMPLE, "mode": MODES["original"], "period": 3.0},
    "category": {"dispatcher": FILTER, "predictor": STATISTICS, "strategy": CATEGORY, "mode": MODES["original"]},
    "central": {"dispatcher": SHORTEST, "late_binding": CENTRAL_FIFO},
    "central-shortest": {
        "dispatcher": SHORTEST, "predictor": STATISTICS, "late_binding": CENTRAL_SHORTEST, "ageing": 0.3,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
@settings(max_examples=30)
@given(rows=rows, at_once=st.integers(1, 9), workers=st.integers(1, 3))
def test_however_a_log_is_cut_all_comes_out_the_same(name, rows, at_once, workers):
    spawn = np.cumsum([gap for gap, _ in rows]).astype(float)
    jobs = columns(*((at, long, 10, 1 + long % 4, 1 + long % 2) for at, (_, long) in zip(spawn, rows, strict=True)))
    references = columns((0, 30, 0, 3, 1), (1, 4, 0, 9, 1), (2, 5, 0, 1, 2, False))
    staff = [(True, 4.0), *[(True, OPEN)] * workers]
    whole = run_workers(jobs, references, staff, at_once=len(rows), **RUNS[name])
    cut = run_workers(jobs, references, staff, at_once=at_once, **RUNS[name])
    for field in ("spawn", "worker", "start", "finish", "estimate", "number"):
        assert np.array_equal(cut.finished[field], whole.finished[field]), field
    assert np.array_equal(cut.turns, whole.turns)
    assert cut.ticks == whole.ticks


@pytest.mark.parametrize("name", RUNS)
def test_a_long_queue_is_carried_from_piece_to_piece(name):
    jobs, staff = overloaded(600), [(True, 4.0), (True, OPEN)]
    whole = run_workers(jobs, None, staff, at_once=600, **RUNS[name])
    cut = run_workers(jobs, None, staff, at_once=7, **RUNS[name])
    for field in ("worker", "start", "finish", "estimate", "number"):
        assert np.array_equal(cut.finished[field], whole.finished[field]), field
    assert len(whole.jobs) == 600


def test_no_more_room_is_kept_than_for_what_waits_and_comes():
    run = WorkersRun(None, [(True, OPEN)], dispatcher=SHORTEST)
    for at in range(0, 5000, 10):
        run.give(columns(*((at + more, 0.5) for more in range(10))))
    assert len(run._state.jobs) <= 4 * 1 + 10


def test_without_an_active_worker_the_job_that_waits_is_named_by_its_place_in_the_log():
    run = {"dispatcher": SHORTEST, "late_binding": CENTRAL_FIFO}
    with pytest.raises(RunError, match="job 1 found no active worker"):
        run_workers(columns((0, 1), (1, 1), (2, 1)), None, [(False, OPEN)], at_once=1, **run)
