"""The indexed queue against a plain list."""

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.build import workload

from unspool.engine.jobs.queue import (
    dequeue,
    enqueue,
    first_waiting,
    list_fresh,
    list_waiting,
    next_fitting,
    next_waiting,
)  # fmt: skip
from unspool.engine.setup import pose
from unspool.model.platform import Platform


def queue_of(jobs):
    """The core of a run of (size, estimate) jobs, with nobody in the queue yet."""
    log = workload([(0, 1, size, estimate) for size, estimate in jobs])
    return pose(log, Platform.pool(max(size for size, _ in jobs))).state.core


def fitting(jobs, waiting, slot, free, extra, now, shadow):
    """What the rule says, read from a list."""
    for job in sorted(waiting):
        size, estimate = jobs[job]
        if job >= slot and size <= free and (size <= extra or now + estimate <= shadow):
            return job
    return -1


def waiting_jobs(core, slot=0):
    found = np.empty(len(core.jobs), np.int64)
    return found[: list_waiting(core, slot, found)].tolist()


job_shapes = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 99)), min_size=1, max_size=80)


@settings(max_examples=80)
@given(jobs=job_shapes, data=st.data())
def test_queue_is_a_list_in_queue_order(jobs, data):
    core = queue_of(jobs)
    waiting = set()
    for job in data.draw(st.lists(st.integers(0, len(jobs) - 1), max_size=40)):
        if job in waiting:
            dequeue(core, job)
            waiting.remove(job)
        else:
            enqueue(core, job)
            waiting.add(job)
        assert waiting_jobs(core) == sorted(waiting)
        assert first_waiting(core) == min(waiting, default=-1)
        assert core.course[0]["queued"] == len(waiting)


@settings(max_examples=80)
@given(jobs=job_shapes, data=st.data())
def test_next_job_that_fits_is_the_one_that_a_scan_finds(jobs, data):
    core = queue_of(jobs)
    core.course[0]["now"] = 100.0
    waiting = set()
    steps = st.tuples(st.integers(0, len(jobs) - 1), st.integers(0, 10), st.integers(-3, 10), st.integers(90, 210))
    for job, free, extra, shadow in data.draw(st.lists(steps, max_size=40)):
        (dequeue if job in waiting else enqueue)(core, job)
        waiting ^= {job}
        for slot in (0, job):
            expected = fitting(jobs, waiting, slot, free, extra, 100.0, shadow)
            assert next_fitting(core, slot, free, extra, float(shadow)) == expected


def test_index_of_three_levels_finds_what_a_scan_finds():
    draw = random.Random(7)
    jobs = [(draw.randint(1, 500), draw.randint(1, 10_000)) for _ in range(1_100)]
    core = queue_of(jobs)
    core.course[0]["now"] = 0.0
    waiting = set()
    for step in range(4_000):
        job = draw.randrange(len(jobs))
        if (job in waiting) == (draw.random() < (0.3 if step < 2_000 else 0.7)):  # fills up, then empties
            (dequeue if job in waiting else enqueue)(core, job)
            waiting ^= {job}
        if step % 4 == 0:
            slot, free, extra, shadow = (
                draw.randrange(1_100),
                draw.randint(0, 60),
                draw.randint(-5, 5),
                draw.randint(0, 500),
            )
            expected = fitting(jobs, waiting, slot, free, extra, 0.0, shadow)
            assert next_fitting(core, slot, free, extra, float(shadow)) == expected
    assert waiting_jobs(core) == sorted(waiting)
    assert waiting_jobs(core, 700) == sorted(job for job in waiting if job >= 700)


def test_shadow_time_is_compared_with_a_sum_and_not_with_a_difference():
    # 0.2 + 0.5 <= 0.7 in floating point, though 0.5 > 0.7 - 0.2.
    core = queue_of([(5, 0.5)])
    core.course[0]["now"] = 0.2
    enqueue(core, 0)
    assert next_fitting(core, 0, 9, 0, 0.7) == 0


def test_fresh_jobs_are_those_that_joined_since_they_were_last_forgotten():
    core = queue_of([(1, 1)] * 5)
    found = np.empty(5, np.int64)
    for job in (3, 1):
        enqueue(core, job)
    assert found[: list_fresh(core, found, False)].tolist() == [1, 3]
    assert list_fresh(core, found, True) == 2
    enqueue(core, 2)
    assert found[: list_fresh(core, found, False)].tolist() == [2]


def test_behind_the_last_slot_and_in_an_empty_queue_nobody_waits():
    core = queue_of([(1, 5)] * 32)
    assert next_waiting(core, 0) == next_waiting(core, 32) == -1
    enqueue(core, 31)
    assert next_waiting(core, 0) == 31
    assert next_waiting(core, 32) == next_waiting(core, 33) == -1
