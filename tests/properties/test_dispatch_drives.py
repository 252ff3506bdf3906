"""Laws of both drives of an experiment, on drawn logs."""

from itertools import pairwise
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from unspool.faces.dispatch.central import CentralFifo, CentralShortest, WorkStealing
from unspool.faces.dispatch.dispatchers import DurationFilter, ShortestQueue
from unspool.faces.dispatch.drive import Exact, Lagging, Parts
from unspool.faces.dispatch.predictors import IndexPredictor, Oracle
from unspool.faces.dispatch.simdex import Job, RefJob

durations = st.sampled_from([0.0, 0.5, 1.0, 3.0, 7.25, 40.0])
gaps = st.sampled_from([0.0, 0.0, 0.5, 1.0, 10.0, 60.0, 500.0])
logs = st.lists(st.tuples(gaps, durations), min_size=1, max_size=40)
fleets = st.lists(st.sampled_from([None, 2.0, 10.0]), min_size=1, max_size=4)


def jobs_of(log, begin=0.0):
    ts = begin
    for row, (gap, duration) in enumerate(log):
        ts += gap
        yield Job(row, row + 1, 1, 1, 1, row % 3, 1, "default", row % 2, ts, duration * 2, False, 1.0, True, duration)


def workers_of(fleet):
    return [{"active": True, **({} if limit is None else {"limit": limit})} for limit in fleet]


class Heard:
    """A metric that hears of everything, or of nothing at ticks."""

    def __init__(self, *, ticks):
        self.finished = []
        if ticks:
            self.snapshot = lambda ts, workers: None if ts < 0 else workers

    def job_finished(self, job):
        self.finished.append((job.finish_ts, job.row))


def replay(drive, parts, log, fleet, begin=1.0, refs=(), **options):
    simulation = drive(parts, workers_of(fleet), **options)
    outcome = simulation.run(jobs_of(log, begin), len(log), refs)
    return SimpleNamespace(outcome=outcome, simulation=simulation)


@given(logs, fleets)
def test_both_drives_give_one_schedule_where_nobody_learns(log, fleet):
    schedules = []
    for drive, compat in ((Exact, "none"), (Lagging, "original"), (Lagging, "fork")):
        run = replay(drive, Parts(DurationFilter(), predictor=Oracle()), log, fleet, compat=compat)
        schedules.append((list(run.outcome.worker), list(run.outcome.start), list(run.outcome.finish)))
    assert schedules[0] == schedules[1] == schedules[2]


@given(logs, fleets)
def test_the_exact_drive_tells_of_jobs_in_the_order_of_time(log, fleet):
    heard = Heard(ticks=False)
    replay(Exact, Parts(ShortestQueue(), [heard]), log, fleet)
    assert [finish for finish, _ in heard.finished] == sorted(finish for finish, _ in heard.finished)
    assert sorted(row for _, row in heard.finished) == list(range(len(log)))


@given(logs, fleets, st.sampled_from([0.1, 0.25, 1.0, 7.0, 60.0]), logs, st.sampled_from([0.0, 1.0]))
def test_ticks_that_nobody_hears_change_nothing(log, fleet, period, taught, begin):
    refs = [
        RefJob(1, 1, job.exercise_id, 1, "default", job.spawn_ts, 1.0, True, job.duration) for job in jobs_of(taught)
    ]
    told = []
    for ticks in (True, False):
        heard = Heard(ticks=ticks)
        parts = Parts(DurationFilter(), [heard], predictor=IndexPredictor())
        run = replay(Lagging, parts, log, fleet, begin, refs, compat="fork", period=period)
        told.append((heard.finished, list(run.outcome.worker), list(run.outcome.order), list(run.outcome.estimate)))
    assert told[0] == told[1]


@given(logs, fleets, st.sampled_from([CentralFifo, CentralShortest, WorkStealing]))
def test_late_binding_never_leaves_a_worker_idle_while_a_job_waits(log, fleet, kind):
    outcome = replay(Exact, Parts(kind(), predictor=Oracle()), log, fleet).outcome
    jobs = list(jobs_of(log, 1.0))
    for job in jobs:
        start = outcome.start[job.row]
        assert start >= job.spawn_ts
        if start > job.spawn_ts:
            for worker in range(len(fleet)):
                own = [row for row in range(len(log)) if outcome.worker[row] == worker]
                busy = sorted((outcome.start[row], outcome.finish[row]) for row in own)
                assert _covers(busy, job.spawn_ts, start)


def _covers(busy, begin, end):
    """Whether intervals in order leave no gap between two times."""
    for start, finish in busy:
        if start <= begin < finish:
            begin = finish
    return begin >= end


@given(logs, fleets)
def test_a_worker_runs_one_job_at_a_time_in_the_order_of_its_queue(log, fleet):
    outcome = replay(Exact, Parts(ShortestQueue()), log, fleet, begin=0.0).outcome
    for worker in range(len(fleet)):
        own = [row for row in range(len(log)) if outcome.worker[row] == worker]
        for before, after in pairwise(own):
            assert outcome.finish[before] <= outcome.start[after]
