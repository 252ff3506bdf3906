"""Components that users wrote for Simdex run as they are, from a file beside the experiment."""

import random
import sys

import pytest
from tests.faces.dispatch_build import JOBS, REFS

from unspool.errors import InputError, RunError
from unspool.faces.dispatch.experiment import read_experiment
from unspool.faces.dispatch.outputs import metrics_text
from unspool.faces.dispatch.running import run_experiment
from unspool.workloads.recodex import read_jobs, read_refs

ORIGINAL_LAST_WORKER = '''\
from interfaces import AbstractDispatcher


class LastWorkerDispatcher(AbstractDispatcher):
    """Of equally short queues the last one."""

    def init(self, ts, workers):
        self.started = ts

    def dispatch(self, job, workers):
        active = [w for w in workers if w.get_attribute("active")]
        target = min(reversed(active), key=lambda w: w.jobs_count())
        assert job.start_ts == 0.0
        target.enqueue(job)
        assert target.get_finish_ts() == job.finish_ts
        assert target.jobs[-1] is job and target.jobs[:-1] == list(target.jobs)[:-1]
'''

ORIGINAL_STRATEGY = """\
from interfaces import AbstractMetricsCollector, AbstractSelfAdaptingStrategy
from metrics.default import JobDelayMetricsCollector


class SwitchAtNoon(AbstractSelfAdaptingStrategy):
    def __init__(self, ref_jobs, at):
        self.at = at
        self.refs = len(ref_jobs)

    def init(self, ts, dispatcher, workers):
        for worker in workers[1:]:
            worker.set_attribute("active", False)

    def do_adapt(self, ts, dispatcher, workers, job=None):
        if ts >= self.at:
            for worker in workers:
                worker.set_attribute("active", True)


class Longest(AbstractMetricsCollector):
    def __init__(self):
        self.longest = 0
        self.snapshots = 0
        self.inner = JobDelayMetricsCollector()

    def snapshot(self, ts, workers):
        self.snapshots += 1

    def job_finished(self, job):
        self.inner.job_finished(job)
        self.longest = max(self.longest, job.finish_ts - job.spawn_ts)

    def print(self):
        print("Longest:", self.longest, "ticks:", self.snapshots)
"""

FORK_DISPATCHER = """\
from interfaces import AbstractDispatcher, AbstractMetricsCollector


class LeastPredictedDispatcher(AbstractDispatcher):
    def __init__(self, configuration):
        self.configuration = configuration
        self.counts = {}

    def init(self, simulation):
        simulation.register_metrics(Counter(configuration=self.configuration))

    def dispatch(self, job, workers, simulation):
        job.estimated_duration = simulation.duration_predictor.predict_duration(job)
        self.counts[job] = len(self.counts)
        work = [sum(queued.estimated_duration for queued in worker.jobs) for worker in workers]
        workers[work.index(min(work))].enqueue(job)


class Counter(AbstractMetricsCollector):
    def __init__(self, configuration, **kwargs):
        self.finished = 0
        self.refs = len(configuration["ref_jobs"])

    def snapshot(self, ts, workers):
        pass

    def job_finished(self, job):
        self.finished += 1

    def print(self, machine=False, verbose=False):
        print(f"{self.finished} jobs, {self.refs} refs, machine {machine}")
"""

FORK_PREDICTOR = """\
from interfaces import AbstractDurationPredictor, AbstractSystemMonitor, AbstractWorkerSelector


class Monitor(AbstractSystemMonitor):
    def __init__(self):
        self.seen = []

    def periodic_monitoring(self, simulation):
        self.seen.append(("tick", simulation.ts))

    def job_dispatched(self, simulation, job):
        self.seen.append(("dispatched", simulation.ts, job.exercise_id))

    def job_finished(self, simulation, job):
        self.seen.append(("finished", simulation.ts, job.exercise_id))

    def ref_job_finished(self, simulation, ref):
        self.seen.append(("ref", simulation.ts, ref.exercise_id))


class LastDuration(AbstractDurationPredictor):
    def __init__(self, configuration=None, start=7):
        self.system_monitor = Monitor()
        self.start = start
        self.batches = []

    def init(self, simulation):
        self.simulation = simulation

    def precompute_batch(self, jobs):
        self.batches.append(len(jobs))

    def predict_duration(self, job):
        return self.start

    def end(self, simulation):
        self.ended = simulation.ts


class Alternate(AbstractWorkerSelector):
    def __init__(self, configuration):
        self.system_monitor = Monitor()
        self.next = -1

    def init(self, simulation):
        self.count = len(simulation.workers)

    def select_worker(self, simulation, job):
        self.next = (self.next + 1) % self.count
        return self.next

    def end(self, simulation):
        pass
"""


@pytest.fixture
def ran(tmp_path):
    """Runs an experiment of two workers with files beside it."""
    (tmp_path / "jobs.csv").write_text(JOBS)
    (tmp_path / "refs.csv").write_text(REFS)

    def run(content, *, compat=None, **files):
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
        (tmp_path / "experiment.yaml").write_text(content)
        experiment = read_experiment(tmp_path / "experiment.yaml", compat=compat)
        return run_experiment(experiment, read_jobs(tmp_path / "jobs.csv"), read_refs(tmp_path / "refs.csv"))

    return run


BOTH = "workers: [{active: true}, {active: true}]\n"


@pytest.mark.parametrize("compat", ["original", "none"])
def test_a_dispatcher_of_the_original_runs(ran, compat):
    run = ran(BOTH + "dispatcher: mine.LastWorkerDispatcher\n", compat=compat, mine=ORIGINAL_LAST_WORKER)
    assert list(run.outcome.worker) == [1, 0, 0, 1]
    assert list(run.outcome.start) == [100.0, 100.0, 110.0, 170.0]
    assert run.simulation.dispatcher.started == 100.0


@pytest.mark.parametrize("compat", ["original", "none"])
def test_a_strategy_and_a_metric_of_the_original_run(ran, compat):
    content = BOTH + (
        "dispatcher: experiments.simple.dispatcher.SimpleDispatcher\n"
        'sa_strategy: {class: "theirs:SwitchAtNoon", args: ["@@ref_jobs", 150]}\n'
        "metrics: [theirs.Longest]\n"
    )
    run = ran(content, compat=compat, theirs=ORIGINAL_STRATEGY)
    assert list(run.outcome.worker) == [0, 0, 0, 0]
    assert run.simulation.sa_strategy.refs == 2
    assert metrics_text(run).strip() == "Longest: 50.0 ticks: 3"


@pytest.mark.parametrize("compat", ["fork", "none"])
def test_a_dispatcher_of_the_fork_runs_and_registers_a_metric(ran, compat):
    content = BOTH + "dispatcher: forked.LeastPredictedDispatcher\nduration_predictor: oracle\n"
    run = ran(content, compat=compat, forked=FORK_DISPATCHER)
    assert list(run.outcome.worker) == [0, 1, 1, 0]
    assert metrics_text(run, machine=True) == "4 jobs, 2 refs, machine True\n"


def test_a_predictor_and_a_selector_of_the_fork_hear_of_everything(ran):
    content = BOTH + (
        "dispatcher: dispatchers.WorkerSelectorDispatcher\n"
        "duration_predictor: {class: learnt.LastDuration, args: {start: 3}}\n"
        "worker_selector: learnt.Alternate\ninference_batch_size: 3\n"
    )
    run = ran(content, compat="fork", learnt=FORK_PREDICTOR)
    assert list(run.outcome.worker) == [0, 1, 0, 1]
    assert list(run.outcome.estimate) == [3.0] * 4
    predictor, selector = run.simulation.duration_predictor, run.simulation.worker_selector
    assert predictor.batches == [3, 1]
    assert predictor.ended == 240.0
    assert predictor.system_monitor.seen == selector.system_monitor.seen
    assert predictor.system_monitor.seen == [
        ("ref", 100.0, 1), ("dispatched", 100.0, 1), ("dispatched", 100.0, 3), ("finished", 110.0, 3),
        ("dispatched", 110.0, 1), ("finished", 160.0, 1), ("finished", 160.0, 1), ("ref", 160.0, 2), ("tick", 160.0),
        ("dispatched", 170.0, 3), ("finished", 220.0, 3), ("tick", 220.0),
    ]  # fmt: skip


def test_without_compat_everything_is_heard_of_at_its_instant(ran):
    content = BOTH + (
        "dispatcher: selector\nduration_predictor: learnt.LastDuration\nworker_selector: learnt.Alternate\n"
    )
    run = ran(content, learnt=FORK_PREDICTOR)
    assert run.simulation.duration_predictor.system_monitor.seen == [
        ("ref", 100.0, 1), ("dispatched", 100.0, 1), ("dispatched", 100.0, 3), ("finished", 110.0, 3),
        ("dispatched", 110.0, 1), ("finished", 140.0, 1), ("finished", 150.0, 1), ("ref", 155.0, 2), ("tick", 160.0),
        ("dispatched", 170.0, 3), ("finished", 180.0, 3),
    ]  # fmt: skip


def test_two_experiments_with_a_file_of_one_name_find_their_own(ran):
    one = ran(BOTH + "dispatcher: mine.LastWorkerDispatcher\n", mine=ORIGINAL_LAST_WORKER)
    other = ran(BOTH + "dispatcher: mine.LastWorkerDispatcher\n", mine=ORIGINAL_LAST_WORKER.replace("reversed", ""))
    assert (one.outcome.worker[0], other.outcome.worker[0]) == (1, 0)


def test_a_module_that_is_named_like_one_of_simdex_is_the_users(ran):
    mine = "class JobFirst:\n    def dispatch(self, job, workers):\n        workers[0].enqueue(job)\n"
    run = ran(BOTH + "dispatcher: dispatchers.JobFirst\n", dispatchers=mine)
    assert set(run.outcome.worker) == {0}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("class D:\n    pass\n", "line 2, key dispatcher: D has no dispatch; expected dispatch(job, workers"),
        ("class D:\n    def dispatch(self, job): pass\n", "D.dispatch takes other arguments"),
        ("class D:\n    def __init__(self, x): pass\n", "D cannot be made: TypeError"),
        ("class Other:\n    pass\n", "unknown class 'D'"),
        ("import nothing_of_the_kind\n", "bad cannot be imported: No module named 'nothing_of_the_kind'"),
        ("class D(:\n", "bad cannot be imported: SyntaxError"),
    ],
)
def test_what_is_no_component_is_refused_when_it_is_loaded(ran, text, said):
    with pytest.raises(InputError, match=r"experiment\.yaml, line 2, key dispatcher") as told:
        ran(BOTH + "dispatcher: bad.D\n", bad=text)
    assert said in str(told.value)


def test_an_error_in_a_users_file_names_the_line(ran):
    text = "class D:\n    def dispatch(self, job, workers):\n        workers[9].enqueue(job)\n"
    with pytest.raises(RunError, match=r"bad.py, line 3: IndexError: list index out of range \(at 100.0 s"):
        ran(BOTH + "dispatcher: bad.D\n", bad=text)


def test_components_of_one_experiment_share_their_modules(ran):
    shared = "seen = []\n"
    mine = (
        "import shared\n\n\nclass D:\n    def dispatch(self, job, workers):\n        shared.seen.append(job.row)\n"
        "        workers[0].enqueue(job)\n\n\nclass M:\n    def job_finished(self, job):\n        import shared\n"
        "        assert job.row in shared.seen\n\n    def print(self):\n        print(len(shared.seen))\n"
    )
    run = ran(BOTH + "dispatcher: mine.D\nmetrics: [mine.M]\n", mine=mine, shared=shared)
    assert metrics_text(run) == "4\n"


def test_modules_are_afterwards_what_they_were(ran):
    before = dict(sys.modules)
    path = list(sys.path)
    ran(BOTH + "dispatcher: mine.LastWorkerDispatcher\n", mine=ORIGINAL_LAST_WORKER, metrics="x = 1\n")
    assert {name for name in sys.modules if name not in before} & {"mine", "metrics", "interfaces"} == set()
    assert (sys.path, [type(finder).__name__ for finder in sys.meta_path].count("_Finder")) == (path, 0)


def test_draws_of_a_users_component_begin_with_the_seed_and_leave_others_alone(ran):
    mine = (
        "import random\n\nimport numpy as np\n\n\nclass D:\n    def dispatch(self, job, workers):\n"
        "        job.estimated_duration = random.random() + np.random.rand()\n        workers[0].enqueue(job)\n"
    )
    random.seed(7)
    expected = random.random()
    random.seed(7)
    one, other = (ran(BOTH + "dispatcher: mine.D\n", mine=mine) for _ in range(2))
    assert list(one.outcome.estimate) == list(other.outcome.estimate)
    assert random.random() == expected
