"""Mistakes of users' components end a run with the file and the line of the mistake."""

import re

import pytest
from tests.faces.dispatch_build import JOBS, jobs_csv

from unspool.errors import InputError, RunError
from unspool.faces.dispatch.experiment import read_experiment
from unspool.faces.dispatch.outputs import jobs_table, json_summary, metrics_text, summary_of
from unspool.faces.dispatch.running import run_experiment
from unspool.workloads.recodex import read_jobs

BOTH = "workers: [{active: true}, {active: true}]\n"
MINE = BOTH + "dispatcher: mine.D\n"
COMPATS = pytest.mark.parametrize("compat", ["none", "original", "fork"])


@pytest.fixture
def ran(tmp_path):
    """Runs an experiment on four jobs of two workers, with `mine.py` beside it."""

    def run(content, mine="", *, jobs=JOBS, compat=None, **options):
        (tmp_path / "jobs.csv").write_text(jobs)
        (tmp_path / "mine.py").write_text(mine)
        (tmp_path / "e.yaml").write_text(content)
        experiment = read_experiment(tmp_path / "e.yaml", compat=compat)
        return run_experiment(experiment, read_jobs(tmp_path / "jobs.csv"), **options)

    return run


def dispatching(*lines, before="", more=""):
    """A dispatcher of these lines; the first one is line 3 where nothing stands before."""
    body = "".join(f"        {line}\n" for line in lines)
    return f"{before}class D:\n    def dispatch(self, job, workers):\n{body}{more}"


def refused(run, *arguments, error=RunError, **options):
    with pytest.raises(error) as told:
        run(*arguments, **options)
    return str(told.value)


# --- a job enqueued twice, elsewhere, or never


@COMPATS
@pytest.mark.parametrize("again", ["workers[0]", "workers[1]"])
def test_a_job_that_is_enqueued_twice_ends_the_run_with_the_line(ran, compat, again):
    said = refused(ran, MINE, dispatching("workers[0].enqueue(job)", f"{again}.enqueue(job)"), compat=compat)
    assert re.search(
        r"mine\.py, line 4: job 1 is already enqueued at worker 0; enqueue each job once \(at 100\.0 s", said
    )


@COMPATS
def test_a_job_that_is_enqueued_again_when_it_has_ended_ends_the_run(ran, compat):
    mine = dispatching(
        "self.first = getattr(self, 'first', job)", "workers[0].enqueue(job)",
        "if job.row == 3: workers[1].enqueue(self.first)",
    )  # fmt: skip
    assert "mine.py, line 5: job 1 is already enqueued at worker 0" in refused(ran, MINE, mine, compat=compat)


@COMPATS
def test_a_copy_of_a_job_counts_as_that_job(ran, compat):
    mine = dispatching("workers[0].enqueue(copy(job))", "workers[1].enqueue(job)", before="from copy import copy\n")
    assert "mine.py, line 5: job 1 is already enqueued at worker 0" in refused(ran, MINE, mine, compat=compat)


@COMPATS
@pytest.mark.parametrize("elsewhere", ["Worker(0, {'active': True})", "copy(workers[0])", "deepcopy(workers)[1]"])
def test_a_job_that_is_enqueued_at_a_worker_of_another_list_ends_the_run_with_the_line(ran, compat, elsewhere):
    before = "from copy import copy, deepcopy\nfrom workers import Worker\n"
    said = refused(ran, MINE, dispatching(f"{elsewhere}.enqueue(job)", before=before), compat=compat)
    assert "mine.py, line 5: job 1 is enqueued at a worker that is not in the list of workers; choose one" in said


@COMPATS
def test_a_copy_of_a_worker_takes_copies_of_jobs_to_try_out_what_would_be(ran, compat):
    mine = dispatching(
        "ends = []",
        "for worker in map(deepcopy, workers):",
        "    worker.enqueue(deepcopy(job))",
        "    ends.append(worker.get_finish_ts())",
        "workers[ends.index(min(ends))].enqueue(job)",
        before="from copy import deepcopy\n",
    )
    run = ran(MINE, mine, compat=compat)
    assert list(run.outcome.worker) == [0, 1, 1, 0]
    assert list(run.outcome.finish) == [140.0, 110.0, 120.0, 180.0]


@COMPATS
def test_jobs_that_are_never_enqueued_end_the_run_with_the_line_of_dispatch(ran, compat):
    mine = dispatching("if job.row in (0, 3): workers[0].enqueue(job)", before="# of mine\n\n")
    said = refused(ran, MINE, mine, compat=compat)
    assert re.search(
        r"mine\.py, line 4: D\.dispatch: 2 of 4 jobs were never enqueued, the first is job 2 \(line 3 of jobs\.csv\)",
        said,
    )
    assert "--allow-undispatched" in said


def test_one_job_that_is_never_enqueued_is_named(ran):
    said = refused(ran, MINE, dispatching("if job.row != 2: workers[0].enqueue(job)"))
    assert "D.dispatch: 1 of 4 jobs was never enqueued: job 3 (line 4 of jobs.csv); enqueue every job, or" in said


@COMPATS
def test_jobs_that_are_never_enqueued_are_counted_where_that_is_allowed(ran, compat):
    mine = dispatching("if job.row in (0, 3): workers[0].enqueue(job)")
    run = ran(MINE + "metrics: [delay]\n", mine, compat=compat, allow_undispatched=True)
    assert run.undispatched == [1, 2]
    assert (summary_of(run)["jobs"], summary_of(run)["jobs_never_dispatched"]) == (4, 2)
    assert jobs_table(run)["worker"].to_list() == [0, None, None, 0]
    assert metrics_text(run).strip() == "Total jobs: 2, avg. delay: 0.0, max. delay: 0.0"


HOLDING = """\
class D:
    def __init__(self):
        self.held = []

    def dispatch(self, job, workers, simulation):
        self.held.append(job)
"""
ALL = "        while self.held:\n            simulation.workers[0].enqueue(self.held.pop(0))\n"


@COMPATS
@pytest.mark.parametrize("owner", ["dispatcher", "predictor"])
def test_jobs_that_are_held_back_to_the_end_are_run(ran, compat, owner):
    if owner == "dispatcher":
        content, mine = MINE, f"{HOLDING}\n    def end(self, simulation):\n{ALL}"
    else:
        content = MINE + "duration_predictor: mine.P\n"
        after = ALL.replace("self.held", "simulation.dispatcher.held")
        mine = f"{HOLDING}\n\nclass P:\n    system_monitor = None\n\n    def predict_duration(self, job):\n" \
               f"        return 1.0\n\n    def end(self, simulation):\n{after}"  # fmt: skip
    run = ran(content + "metrics: [delay]\n", mine, compat=compat)
    assert list(run.outcome.worker) == [0, 0, 0, 0]
    assert run.outcome.finished == 4
    # Nothing starts before it is enqueued; in Simdex it starts when it arrived.
    starts = [170.0, 210.0, 220.0, 230.0] if compat == "none" else [100.0, 140.0, 150.0, 160.0]
    assert (run.outcome.start[0] >= 170.0) is (compat == "none")
    assert [start - run.outcome.start[0] for start in run.outcome.start] == [start - starts[0] for start in starts]


@COMPATS
def test_jobs_that_are_held_back_to_the_next_tick_are_run_also_the_last_ones(ran, compat):
    mine = f"{HOLDING}\n    def periodic_monitoring(self, simulation):\n{ALL}" + (
        "\n\nclass P:\n    def predict_duration(self, job):\n        return 1.0\n\n    def init(self, simulation):\n"
        "        self.system_monitor = simulation.dispatcher\n"
    )
    # The original has no ticks without a metric.
    run = ran(MINE + "duration_predictor: mine.P\nmetrics: [delay]\n", mine, compat=compat)
    assert run.outcome.finished == 4
    if compat == "none":  # ticks are at 160, 220
        assert list(run.outcome.start) == [160.0, 200.0, 210.0, 220.0]


LATE = """\
class D:
    is_late = True

    def __init__(self):
        self.held = []

    @property
    def waiting(self):
        return len(self.held)

    def dispatch(self, job, workers, simulation):
        self.held.append(job)

    def give_out(self, simulation):
        while simulation.ts >= 1000 and self.held:
            simulation.workers[0].enqueue(self.held.pop(0))


class S:
    def do_adapt(self, ts, dispatcher, workers, job=None):
        self.told = ts
"""


def test_a_dispatcher_that_says_what_waits_is_given_more_than_one_tick(ran):
    run = ran(MINE + "sa_strategy: mine.S\n", LATE)  # with ticks at 160, 220 and so on
    assert list(run.outcome.start) == [1000.0, 1040.0, 1050.0, 1060.0]


@pytest.mark.parametrize("name", ["central-fifo", "central-shortest", "work-stealing"])
def test_a_central_queue_that_no_worker_empties_ends_the_run_unless_that_is_allowed(ran, name):
    mine = "class S:\n    def do_adapt(self, ts, dispatcher, workers, job=None):\n"
    mine += "        for worker in workers: worker.set_attribute('active', ts < 105)\n"
    content = BOTH + f"dispatcher: {name}\nsa_strategy: mine.S\nperiod: 10\nmetrics: [delay]\n"
    jobs = jobs_csv((100, 40), (100, 40), (101, 10), (101, 10))
    said = refused(ran, content, mine, jobs=jobs)
    assert "2 of 4 jobs were never enqueued, the first is job 3 (line 4 of jobs.csv)" in said
    assert "no worker is active" in said
    run = ran(content, mine, jobs=jobs, allow_undispatched=True)
    assert run.undispatched == [2, 3]


def test_a_central_queue_without_an_active_worker_is_the_same_in_both_drives(ran):
    content = "workers: [{active: false}]\ndispatcher: central-fifo\nmetrics: [delay]\n"
    said = [refused(ran, content, compiled=compiled) for compiled in (False, True)]
    assert said[0] == said[1]
    assert "4 of 4 jobs were never enqueued, the first is job 1" in said[0]
    assert "no worker is active" in said[0]
    for compiled in (False, True):
        run = ran(content, compiled=compiled, allow_undispatched=True)
        assert (run.jobs, run.undispatched) == (4, [0, 1, 2, 3])


# --- what selectors and predictors return

SELECTING = BOTH + "dispatcher: selector\nworker_selector: mine.S\n"


@COMPATS
@pytest.mark.parametrize("chosen", ["17", "2", "-1", "'0'", "None", "0.5"])
def test_a_selector_that_names_no_worker_is_told_with_its_line(ran, compat, chosen):
    mine = f"class S:\n    x = None\n\n    def select_worker(self, simulation, job):\n        return {chosen}\n"
    said = refused(ran, SELECTING, mine, compat=compat)
    assert (
        f"mine.py, line 4: S.select_worker returned {chosen} for job 1; expected the number of a worker, 0 to 1" in said
    )


def test_a_selector_may_return_any_whole_number(ran):
    mine = (
        "import numpy as np\n\n\nclass S:\n    def select_worker(self, simulation, job):\n        return np.int64(1)\n"
    )
    assert list(ran(SELECTING, mine).outcome.worker) == [1, 1, 1, 1]


PREDICTED = {
    "duration-filter": "predict_duration", "least-work": "predict_duration", "central-shortest": "predict_duration",
    "{class: duration-filter, args: {quantile: 0.5}}": "predict_quantile",
}  # fmt: skip


@pytest.mark.parametrize("dispatcher", PREDICTED)
@pytest.mark.parametrize("told", ["'5'", "float('nan')", "None", "[1.0]"])
def test_a_predictor_that_returns_no_number_is_told_with_its_line(ran, dispatcher, told):
    wrong = PREDICTED[dispatcher]
    lines = ["class P:", "    system_monitor = None", ""]
    for name in ("predict_duration", "predict_quantile", "serve_quantile"):
        lines += [f"    def {name}(self, job):", f"        return {told if name == wrong else 1.0}"]
    line = lines.index(f"    def {wrong}(self, job):") + 1
    content = f"workers: [{{active: true, limit: 30}}]\ndispatcher: {dispatcher}\nduration_predictor: mine.P\n"
    said = refused(ran, content, "\n".join(lines))
    shown = "nan" if "nan" in told else told
    assert f"mine.py, line {line}: P.{wrong} returned {shown} for job 1; expected seconds, as a number" in said


@COMPATS
def test_predict_one_is_named_where_that_is_what_there_is(ran, compat):
    mine = "class P:\n    def predict_one(self, job):\n        return '5'\n"
    said = refused(ran, BOTH + "dispatcher: duration-filter\nduration_predictor: mine.P\n", mine, compat=compat)
    assert "mine.py, line 2: P.predict_one returned '5' for job 1" in said


@COMPATS
@pytest.mark.parametrize("told", ["'5'", "float('nan')"])
def test_an_estimate_that_only_the_users_own_dispatcher_has_seen_is_told_as_well(ran, compat, told):
    mine = (
        f"class P:\n    def predict_duration(self, job):\n        return {told}\n\n\nclass D:\n"
        "    def dispatch(self, job, workers, simulation):\n"
        "        job.estimated_duration = simulation.duration_predictor.predict_duration(job)\n"
        "        workers[0].enqueue(job)\n"
    )
    said = refused(ran, MINE + "duration_predictor: mine.P\n", mine, compat=compat)
    assert re.search(r"mine\.py, line 2: P\.predict_duration: .*estimated_duration of job \d is ('5'|nan)", said)


def test_numbers_of_other_kinds_are_predictions(ran):
    mine = "import numpy as np\n\n\nclass P:\n    def predict_duration(self, job):\n"
    mine += "        return [np.float32(2.5), 3, True, float('inf')][job.row]\n"
    run = ran(BOTH + "dispatcher: duration-filter\nduration_predictor: mine.P\n", mine)
    assert list(run.outcome.estimate) == [2.5, 3.0, 1.0, float("inf")]


# --- what users' code raises


@COMPATS
@pytest.mark.parametrize("raised", ["ValueError('so')", "SystemExit(3)", "OSError('so')", "MemoryError()"])
def test_whatever_users_code_raises_names_its_line(ran, compat, raised):
    said = refused(ran, MINE, dispatching(f"raise {raised}"), compat=compat)
    assert f"mine.py, line 3: {raised.partition('(')[0]}" in said


def test_a_refusal_of_ours_that_users_code_met_names_its_line(ran):
    mine = (
        "from unspool.faces.dispatch.dispatchers import active_workers\n\n\nclass D:\n"
        "    def dispatch(self, job, workers):\n        active_workers([])\n"
    )
    assert "mine.py, line 6: No active workers available" in refused(ran, MINE, mine)


def test_a_queue_that_a_component_empties_ends_the_run(ran):
    said = refused(ran, MINE, dispatching("workers[0].enqueue(job)", "workers[0].jobs.clear()"))
    assert "worker 0: a component took a job out of jobs; only read that list" in said


def test_what_a_component_leaves_behind_and_ours_cannot_use_is_told_with_its_file(ran):
    mine = "class S:\n    def do_adapt(self, ts, dispatcher, workers, job=None):\n"
    mine += "        workers[0].set_attribute('limit', 'long')\n"
    said = refused(ran, BOTH + "dispatcher: duration-filter\nduration_predictor: zero\nsa_strategy: mine.S\n", mine)
    assert "TypeError: '>=' not supported" in said
    assert re.search(r"look for a value or a change that cannot be used in S \(.*mine\.py\)", said)


def test_an_error_that_an_iterator_hides_names_its_line(ran):
    mine = "class P:\n    def predict_duration(self, job):\n        return 1\n\n"
    mine += "    def precompute_batch(self, jobs):\n        raise StopIteration\n"
    content = BOTH + "dispatcher: duration-filter\nduration_predictor: mine.P\ninference_batch_size: 2\n"
    assert "mine.py, line 6: RuntimeError: generator raised StopIteration" in refused(ran, content, mine)


METRIC = "class M:\n    def job_finished(self, job):\n        pass\n\n    def print(self):\n        print('so')\n"


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ("        raise ValueError('no')\n", 7),
        ("\n    def values(self):\n        raise ValueError('no')\n", 9),
        ("\n    def values(self):\n        return {'odd': {1, 2}}\n", 8),
        ("\n    def values(self):\n        return {'odd': float('nan')}\n", 8),
    ],
)
def test_a_metric_that_cannot_tell_its_figures_is_named_with_its_line(ran, more, line):
    run = ran(BOTH + "dispatcher: shortest-queue\nmetrics: [mine.M]\n", METRIC + more)
    with pytest.raises(RunError, match=rf"mine\.py, line {line}: .*M"):
        json_summary(run), metrics_text(run)


def test_a_predictor_that_cannot_serve_a_quantile_is_named_with_its_line(ran):
    mine = (
        "class P:\n    def predict_duration(self, job):\n        return 1\n\n    predict_quantile = predict_duration\n"
        "\n    def serve_quantile(self, quantile):\n        raise ValueError('no')\n"
    )
    content = BOTH + "dispatcher: {class: duration-filter, args: {quantile: 0.5}}\nduration_predictor: mine.P\n"
    assert re.search(r"ValueError: no \(.*mine\.py, line 8\)", refused(ran, content, mine, error=InputError))


# --- arguments


@pytest.mark.parametrize(
    ("component", "said"),
    [
        ("{class: mine.D, args: {x: 1, y: 2}}", "got an unexpected keyword argument 'y'; expected D(x, z=3)"),
        ("{class: mine.D, args: {z: 1}}", "missing a required argument: 'x'; expected D(x, z=3)"),
        ("{class: mine.D, args: [1, 2, 3]}", "too many positional arguments; expected D(x, z=3)"),
        ("mine.D", "missing a required argument: 'x'; expected D(x, z=3)"),
    ],
)
def test_wrong_arguments_are_told_with_the_line_of_the_file_and_the_class(ran, component, said):
    mine = dispatching("pass", more="\n    def __init__(self, x, z=3):\n        pass\n")
    found = refused(ran, f"workers: 1\ndispatcher: {component}\n", mine, error=InputError)
    assert found.endswith(f"e.yaml, line 2, key dispatcher: D cannot be made: TypeError: {said}")


def test_a_file_that_is_no_python_is_named_with_its_line(ran):
    said = refused(ran, MINE, "class D:\n    def (\n", error=InputError)
    assert re.search(r"mine cannot be imported: SyntaxError: invalid syntax \(/.*mine\.py, line 2\)$", said)


def test_what_a_constructor_raises_names_its_line(ran):
    mine = dispatching("pass", more="\n    def __init__(self):\n        self.x = {}['x']\n")
    found = refused(ran, MINE, mine, error=InputError)
    assert "e.yaml, line 2, key dispatcher: D cannot be made: KeyError: 'x' (" in found
    assert found.endswith("mine.py, line 6)")


@pytest.mark.parametrize(
    ("component", "said"),
    [
        ("duration_predictor: {class: limits, args: {factor: half}}", "Limits: factor is 'half'; expected a number"),
        ("duration_predictor: {class: limits, args: [.nan]}", "Limits: factor is nan; expected a number"),
        ("duration_predictor: {class: statistics, args: {failed: yes}}",
         "Statistics: failed is 'yes'; expected true or false"),
        ("duration_predictor: {class: statistics, args: [a, 3]}", "Statistics: statistic is 3; expected a text"),
        ("sa_strategy: {class: on-off, args: {queue: 1.5}}", "OnOff: queue is 1.5; expected a whole number"),
        ("sa_strategy: {class: pid-limits, args: {kp: x}}", "PidLimits: kp is 'x'; expected a number"),
        ("metrics: [{class: user-experience, args: {ref_jobs: [], thresholds: [a, b]}}]", "thresholds are ['a', 'b']"),
        ("sa_strategy: {class: on-off, args: {quue: 1}}", "OnOff cannot be made: TypeError: got an unexpected keyword "
         "argument 'quue'; expected OnOff(boot_s=60.0, idle_s=600.0, queue=0, least=1)"),
    ],
)  # fmt: skip
def test_arguments_of_the_wrong_kind_are_told_with_the_line(ran, component, said):
    content = f"workers: 1\ndispatcher: shortest-queue\n{component}\n"
    assert re.search(r"e\.yaml, line 3, key \w+(\[0\])?: " + re.escape(said), refused(ran, content, error=InputError))


@pytest.mark.parametrize("name", ["limit-min", "limit-max", "aggression", "watts_busy", "watts_off"])
def test_attributes_that_are_no_numbers_are_told_with_the_line(ran, name):
    content = f"workers:\n- {{active: true}}\n- {{active: true, {name}: many}}\ndispatcher: random\n"
    said = refused(ran, content, error=InputError)
    assert f"e.yaml, line 3, key workers[1]: {name} is many; expected a number" in said


def test_a_strategy_that_teaches_needs_a_dispatcher_that_learns(ran):
    said = refused(ran, BOTH + "dispatcher: shortest-queue\nsa_strategy: category\n", error=InputError)
    assert "e.yaml, line 3, key sa_strategy: this strategy needs the dispatcher job-category" in said


def test_a_whole_number_may_be_written_with_a_point(ran):
    run = ran("workers: 3\ndispatcher: {class: power-of-two, args: {choices: 1.0}}\n")
    assert run.simulation.dispatcher.choices == 1


@COMPATS
@pytest.mark.parametrize("args", ["[1, '@@ref_jobs']", "{ref_jobs: '@@ref_jobs'}"])
def test_reference_runs_that_are_asked_for_and_not_given_are_refused(ran, compat, args):
    content = BOTH + f"dispatcher: job-category\nsa_strategy: {{class: category, args: {args}}}\n"
    said = refused(ran, content, compat=compat, error=InputError)
    assert (
        "e.yaml, line 3, key sa_strategy: args ask for @@ref_jobs, and there are no reference runs; give --refs" in said
    )


def test_args_that_are_empty_are_no_arguments(ran):
    content = "workers: 2\ndispatcher:\n  class: shortest-queue\n  args:\nmetrics:\n- {class: delay, args: null}\n"
    assert summary_of(ran(content))["jobs_total"] == 4
