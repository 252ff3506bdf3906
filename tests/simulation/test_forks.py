"""A run can be forked at any instant: both branches equal a run that was never interrupted, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.build import workload
from tests.strategies import as_workload, platforms, requests

from unspool.errors import RunError
from unspool.model.platform import Platform
from unspool.plugins import build
from unspool.policies.base import Start, WakeAt
from unspool.policies.predictors.lasttwo import LastTwo
from unspool.policies.schedulers.easy import Easy
from unspool.simulation.engine import Engine

ON_A_POOL = ("fcfs", "easy", "conservative", "multifactor", "easy:order=wfp3,predictor=last-two")


class PatientPolicy:
    """Starts what fits, each job one instant after it was first seen; remembers jobs, and asks to be called again."""

    def __init__(self):
        self.seen = []

    def decide(self, view):
        for job in [job for job in self.seen if job in set(view.queue)]:
            if view.fits(job):
                self.seen.remove(job)
                yield Start(job)
                return
        new = [job for job in view.queue if job not in self.seen]
        self.seen += new
        if new or len(view.queue):
            yield WakeAt(view.now + 5)


class TwoJobMemory(LastTwo):
    """The same predictor, by Python."""

    kind = 0


def journal(engine):
    return engine.attempts.tobytes(), None if engine.place is None else engine.place.rows[
        : len(engine.attempts)
    ].tobytes()


def branches_equal_the_whole(jobs, platform, name, at):
    policy = build("schedulers", name)
    whole, first = (Engine(jobs, platform) for _ in range(2))
    whole.run(policy)
    first.run(policy, until=float(at))
    second = first.fork()
    second.run(policy)
    first.run(policy)
    return journal(first) == journal(second) == journal(whole)


@settings(max_examples=40)
@given(jobs=requests(), name=st.sampled_from(ON_A_POOL), at=st.integers(0, 120))
def test_both_branches_of_a_fork_equal_an_uninterrupted_run(jobs, name, at):
    assert branches_equal_the_whole(as_workload(jobs), Platform.pool(7), name, at)


@settings(max_examples=25)
@given(jobs=requests(), platform=platforms(), name=st.sampled_from(["easy", "conservative"]), at=st.integers(0, 120))
def test_they_do_so_on_machines(jobs, platform, name, at):
    assert branches_equal_the_whole(as_workload(jobs), platform, name, at)


@pytest.mark.parametrize("policy", [PatientPolicy(), Easy(predictor=TwoJobMemory())], ids=["policy", "predictor"])
def test_what_python_remembers_is_forked_too(policy):
    rows = [(10 * at, 7 + 3 * (at % 4), 1 + at % 3, 40) for at in range(20)]
    jobs = workload(rows, user=["u" if at % 2 else "v" for at in range(20)])
    whole, _ = Engine(jobs, Platform.pool(3)), None
    _, fresh = whole.fork_with(policy)
    whole.run(fresh)
    first = Engine(jobs, Platform.pool(3))
    _, own = first.fork_with(policy)
    first.run(own, until=95.0)
    second, other = first.fork_with(own)
    second.run(other)
    first.run(own)
    assert first.now == second.now == whole.now
    assert journal(first) == journal(second) == journal(whole)


def test_a_policy_with_a_copy_method_is_forked_by_it():
    class Counting:
        def __init__(self, copies=0):
            self.copies = copies

        def copy(self):
            return Counting(self.copies + 1)

        def decide(self, view):
            return [Start(job) for job in view.queue if view.fits(job)]

    engine = Engine(workload([(0, 1, 1, 1)]), Platform.pool(1))
    assert engine.fork_with(Counting())[1].copies == 1


def test_a_snapshot_can_be_restored_again_and_again():
    jobs = workload([(0, 10, 2, 10), (1, 10, 2, 10), (2, 5, 1, 5)])
    engine = Engine(jobs, Platform.pool(2))
    easy = build("schedulers", "easy")
    engine.run(easy, until=1.0)
    snapshot = engine.snapshot()
    for _ in range(2):
        engine.run(easy)
        assert engine.attempts["start"].tolist() == [0.0, 10.0, 20.0]
        engine.restore(snapshot)
        assert (engine.now, engine.attempts["start"].tolist()) == (1.0, [0.0])


def test_branches_may_differ_in_their_policy():
    jobs = workload([(0, 10, 1, 10), (1, 10, 2, 10), (2, 5, 1, 5)])
    engine = Engine(jobs, Platform.pool(2))
    engine.run(build("schedulers", "fcfs"), until=1.0)
    branch = engine.fork()
    engine.run(build("schedulers", "fcfs"))
    branch.run(build("schedulers", "easy"))
    assert engine.attempts["start"].tolist() == [0.0, 10.0, 20.0]
    assert branch.attempts["start"].tolist() == [0.0, 2.0, 10.0]


def first_come(view):
    free = view.free_cores
    for job in sorted(view.queue, key=lambda job: job.index):  # the queue is in the order of the last built-in
        free -= job.cores
        if free < 0:
            return
        yield Start(job)


@settings(max_examples=60)
@given(jobs=requests(), at=st.integers(0, 60), name=st.sampled_from(["easy", "filler", "wfp3", "easy:order=wfp3"]))
def test_a_policy_that_is_back_finds_the_queue_as_if_it_had_been_there_all_along(jobs, at, name):
    log, policy = as_workload(jobs), build("schedulers", name)
    there, away = (Engine(log, Platform.pool(7)) for _ in range(2))
    for engine, meanwhile in ((there, first_come), (away, build("schedulers", "fcfs"))):
        engine.run(policy, until=float(at))
        engine.run(meanwhile, until=float(at + 30))
        engine.run(policy)
    assert journal(there) == journal(away)


def test_a_policy_that_is_back_sees_narrow_jobs_that_came_meanwhile():
    jobs = workload([(0, 100, 3, 100), (1, 50, 4, 50), (2, 10, 1, 10), (5, 10, 2, 10)])
    engine = Engine(jobs, Platform.pool(4))
    engine.run(build("schedulers", "easy"), until=1.0)
    engine.run(build("schedulers", "fcfs"), until=2.0)
    engine.run(build("schedulers", "easy"))
    assert engine.attempts["job"].tolist() == [0, 2, 1, 3]
    assert engine.attempts["start"].tolist() == [0.0, 5.0, 100.0, 150.0]


def test_a_snapshot_of_another_run_is_refused():
    jobs = workload([(0, 1, 1, 1)])
    with pytest.raises(RunError, match="only in the run that it was taken of"):
        Engine(jobs, Platform.pool(1)).restore(Engine(jobs, Platform.pool(1)).snapshot())


def test_a_run_stops_after_all_that_happens_at_the_given_time():
    jobs = workload([(0, 5, 1, 5), (5, 5, 1, 5), (6, 5, 1, 5)])
    engine = Engine(jobs, Platform.pool(1))
    engine.run(build("schedulers", "fcfs"), until=5.0)
    assert engine.attempts["start"].tolist() == [0.0, 5.0]
    assert np.isclose(engine.now, 5.0)
