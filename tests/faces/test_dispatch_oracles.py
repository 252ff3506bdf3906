"""What Simdex printed and did, original and fork, digit for digit: every recorded text, trace, event and result."""

from __future__ import annotations

import csv

import pytest
from tests.faces.dispatch_cases import CASES, files, logs, need_cases, ran, split

from unspool.faces.dispatch.drive import simulation_of
from unspool.faces.dispatch.experiment import read_experiment
from unspool.faces.dispatch.outputs import metrics_text, results_yaml
from unspool.faces.dispatch.simdex import hash_converters, jobs_of, refs_of
from unspool.workloads.recodex import shared_ids

TEXTS = [*files("oracle_*/*.txt"), *files("edge/*.out.txt")]
TRACES = [*files("oracle_*/*.trace.csv"), *files("edge/*.trace.csv")]
EVENTS = [*files("oracle_*/*.events.csv"), *files("edge/*.events.csv")]
RESULTS = files("oracle_fork/*.results.yaml")


def test_all_cases_are_looked_at():
    need_cases()
    assert len(TEXTS) >= 37
    assert len(TRACES) >= 27
    assert len(EVENTS) >= 13
    assert len(RESULTS) >= 12


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "python"])
@pytest.mark.parametrize("file", TEXTS)
def test_text_is_that_of_the_tool(file, compiled):
    text = metrics_text(ran(file, compiled))
    assert text == (CASES / file).read_text()


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "python"])
@pytest.mark.parametrize("file", TRACES)
def test_every_job_goes_where_it_went_in_the_tool(file, compiled):
    outcome, log = ran(file, compiled).outcome, ran(file, compiled).log
    with open(CASES / file, newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == len(log)
    for row in rows:
        at = int(row["row"])
        told = [outcome.worker[at], outcome.order[at], repr(outcome.start[at]), repr(outcome.finish[at])]
        assert told == [int(row["worker"]), int(row["finish_order"]), row["start_ts"], row["finish_ts"]]
        assert repr(float(log.spawn[at])) == row["spawn_ts"]
        if "estimate" in row:
            assert repr(outcome.estimate[at]) == repr(float(row["estimate"]))


class Recorder:
    """Writes down what happens, as a metric and around a dispatcher."""

    def __init__(self, dispatcher, kind):
        self.inner = dispatcher
        self.events = []
        self.simulation = None
        self.add_ref_job = getattr(dispatcher, "add_ref_job", None)
        self.dispatch = self.dispatch_in_fork if kind == "fork" else self.dispatch_in_original

    def note(self, event, row="", detail=""):
        self.events.append([str(len(self.events)), event, repr(self.simulation.ts), str(row), str(detail)])

    def dispatch_in_fork(self, job, workers, simulation):
        self.inner.dispatch(job, workers, simulation)
        self.note("dispatched", job.row, next(at for at, each in enumerate(workers) if job in each.jobs))

    def dispatch_in_original(self, job, workers):
        self.inner.dispatch(job, workers)
        self.note("dispatched", job.row, next(at for at, each in enumerate(workers) if job in each.jobs))

    def snapshot(self, ts, workers):
        assert ts == self.simulation.ts
        counts = " ".join(str(worker.jobs_count()) for worker in workers)
        active = " ".join(str(int(bool(worker.get_attribute("active")))) for worker in workers)
        self.note("snapshot", detail=f"{counts}|{active}")

    def job_finished(self, job):
        self.note("finished", job.row)


@pytest.mark.parametrize("file", EVENTS)
def test_events_come_in_the_order_of_the_tool(file):
    dataset, config, kind = split(file)
    experiment = read_experiment(CASES / config, compat=kind)
    jobs, refs = logs(dataset)
    if kind == "fork":
        refs, jobs = shared_ids(refs, jobs)
    known = refs_of(refs)
    parts = experiment.parts(known, hash_converters(jobs))
    recorder = parts.dispatcher = Recorder(parts.dispatcher, kind)
    parts.metrics = [recorder, *parts.metrics]
    simulation = simulation_of(parts, experiment.workers, period=experiment.period_s, compat=kind)
    recorder.simulation = simulation
    simulation.run(jobs_of(jobs), len(jobs), known)
    with open(CASES / file, newline="") as lines:
        expected = list(csv.reader(lines))[1:]
    assert recorder.events == expected


@pytest.mark.parametrize("file", RESULTS)
def test_results_are_those_of_the_fork(file):
    assert results_yaml(ran(file)) == (CASES / file).read_text()
