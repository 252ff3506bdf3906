"""The compiled loop and the drive in Python: the same outcome and the same text, for every experiment both know."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.faces.dispatch_build import jobs_csv, refs_csv
from tests.faces.dispatch_cases import CASES, files, logs, need_cases, split

from unspool.errors import InputError, RunError
from unspool.faces.dispatch.compiled import ids_needed, run_compiled
from unspool.faces.dispatch.experiment import read_experiment
from unspool.faces.dispatch.outputs import jobs_table, metrics_text, summary_of
from unspool.faces.dispatch.running import run_experiment
from unspool.workloads.files import read_blocks
from unspool.workloads.recodex import JOB_IDS, JobFile, read_jobs, read_refs

METRICS = """
metrics:
  - delay
  - quantiles
  - response
  - slowdown
  - utilisation
  - {class: user-experience, args: {ref_jobs: '@@ref_jobs', thresholds: [1.0, 2.0]}}
  - {class: experience-history, args: {ref_jobs: '@@ref_jobs', history_step: 3}}
  - power
"""
WORKERS = "workers: [{active: true, limit: 5}, {active: true}, {active: false}]\n"
EXPERIMENTS = {
    "shortest": "dispatcher: shortest-queue\n",
    "simple": "dispatcher: shortest-queue\nsa_strategy: simple\nperiod: 4\n",
    "filter": "dispatcher: duration-filter\nduration_predictor: {class: limits, args: {factor: 0.3}}\n",
    "oracle": "dispatcher: duration-filter\nduration_predictor: oracle\n",
    "zero": "dispatcher: duration-filter\nduration_predictor: zero\n",
    "statistics": "dispatcher: duration-filter\nduration_predictor: index\nperiod: 3\n",
    "category": "dispatcher: job-category\nsa_strategy: {class: category, args: [2, '@@ref_jobs']}\nperiod: 3\n",
    "central": "dispatcher: central-fifo\n",
    "central-shortest": "dispatcher: {class: central-shortest, args: {ageing: 0.5}}\nduration_predictor: index\n",
}
KNOWN = {  # what the compiled loop knows of these, by compat
    "none": {"shortest", "filter", "oracle", "zero", "statistics", "central", "central-shortest"},
    "original": {"shortest", "simple", "category"},
    "fork": {"shortest", "filter", "oracle", "zero", "statistics"},
}

jobs = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from([0.5, 1, 2, 3, 7, 20]), st.sampled_from("abc"), st.integers(0, 30),
              st.just("u"), st.integers(0, 1)),
    min_size=1, max_size=20,
)  # fmt: skip
refs = st.lists(st.tuples(st.integers(90, 140), st.sampled_from([1, 5, 20]), st.sampled_from("abcd")), max_size=5)


def outcome(run):
    found = run.outcome
    return [list(getattr(found, name)) for name in ("worker", "start", "finish", "order")]


@pytest.mark.parametrize(("compat", "name"), [(compat, name) for compat in KNOWN for name in sorted(KNOWN[compat])])
@settings(max_examples=25)
@given(rows=jobs, runs=refs)
def test_both_drives_agree(tmp_path_factory, compat, name, rows, runs):
    folder = tmp_path_factory.mktemp("case")
    now, arrivals = 100, []
    for gap, *rest in rows:
        now += gap
        arrivals.append((now, *rest))
    (folder / "e.yaml").write_text(WORKERS + EXPERIMENTS[name] + METRICS)
    (folder / "jobs.csv").write_text(jobs_csv(*arrivals))
    (folder / "refs.csv").write_text(refs_csv(*sorted(runs)))
    experiment = read_experiment(folder / "e.yaml", compat=compat)
    log = read_jobs(folder / "jobs.csv"), read_refs(folder / "refs.csv") if runs else None
    if not runs:
        return
    slow, fast = (run_experiment(experiment, *log, compiled=compiled) for compiled in (False, True))
    assert outcome(fast) == outcome(slow)
    assert metrics_text(fast) == metrics_text(slow)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read_blocks, "__defaults__", (200,))
        pieces = run_experiment(experiment, JobFile(folder / "jobs.csv"), log[1])
    assert isinstance(pieces.log, JobFile), "never read as a whole"
    assert metrics_text(pieces, verbose=True) == metrics_text(fast, verbose=True)
    assert summary_of(pieces) == summary_of(fast)


def test_the_compiled_loop_is_taken_where_it_is_known(tmp_path):
    (tmp_path / "jobs.csv").write_text(jobs_csv((100, 4), (101, 4)))
    (tmp_path / "refs.csv").write_text(refs_csv((50, 5, "a")))
    log, known = read_jobs(tmp_path / "jobs.csv"), read_refs(tmp_path / "refs.csv")
    for compat, names in KNOWN.items():
        for name in names:
            (tmp_path / "e.yaml").write_text(WORKERS + EXPERIMENTS[name] + METRICS)
            run = run_experiment(read_experiment(tmp_path / "e.yaml", compat=compat), log, known, compiled=False)
            assert run_compiled(run.simulation, log, known) is not None, (compat, name)


@pytest.mark.parametrize("file", files("oracle_*/*.txt"))
def test_python_prints_what_the_tool_did_as_well(file):
    need_cases()
    dataset, experiment, kind = split(file)
    if dataset == "load1" and "simple" in experiment:
        pytest.skip("long in Python; the compiled loop has it")
    run = run_experiment(read_experiment(CASES / experiment, compat=kind), *logs(dataset), compiled=False)
    assert metrics_text(run) == (CASES / file).read_text()


TIES = "dispatcher: {class: shortest-queue, args: {ties: random}}\n"
FIXED = "metrics: [{class: user-experience, args: {ref_jobs: '@@ref_jobs', yardstick: fixed}}]\n"


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        (EXPERIMENTS["statistics"] + METRICS, ("exercise", "runtime")),
        ("dispatcher: dispatchers.DurationFilterDispatcher\nduration_predictor: index\n", ("exercise", "runtime")),
        (TIES + METRICS, ("exercise", "runtime")),  # not compiled after all, so that the rest is read then
        (EXPERIMENTS["shortest"] + FIXED, ("exercise", "runtime")),
        ("dispatcher: least-work\nduration_predictor: index\n" + METRICS, JOB_IDS),
        ("dispatcher: shortest-queue\nmetrics: [{class: by-class, args: {by: worker_group}}]\n", JOB_IDS),
        ("dispatcher: mine.Mine\n", JOB_IDS),
    ],
)
def test_a_log_with_the_needed_ids_alone_gives_the_same_results(tmp_path, text, needed):
    (tmp_path / "mine.py").write_text(
        "class Mine:\n    def dispatch(self, job, workers):\n        workers[job.user_id % 2].enqueue(job)\n"
    )
    (tmp_path / "e.yaml").write_text(WORKERS + text)
    rows = [(100 + 3 * at, 4 + at % 5, "abcab"[at % 5], 20, f"u{at % 3}", 1, f"w{at % 2}") for at in range(30)]
    (tmp_path / "jobs.csv").write_text(jobs_csv(*rows))
    (tmp_path / "refs.csv").write_text(refs_csv((90, 5, "c"), (95, 9, "b")))
    experiment, refs = read_experiment(tmp_path / "e.yaml"), read_refs(tmp_path / "refs.csv")
    assert ids_needed(experiment) == needed
    runs = [
        run_experiment(experiment, read_jobs(tmp_path / "jobs.csv", ids=ids), refs)
        for ids in (JOB_IDS, needed, ("exercise",))
    ]
    from_file = run_experiment(experiment, JobFile(tmp_path / "jobs.csv"), refs)
    assert summary_of(from_file) == summary_of(runs[0])
    assert metrics_text(from_file, verbose=True) == metrics_text(runs[0], verbose=True)
    for few in runs[1:]:
        assert (outcome(few), summary_of(few)) == (outcome(runs[0]), summary_of(runs[0]))
        assert metrics_text(few, verbose=True) == metrics_text(runs[0], verbose=True)
        assert jobs_table(few).equals(jobs_table(runs[0]))


def test_what_became_of_each_job_is_not_kept_where_a_file_is_read_piece_by_piece(tmp_path):
    (tmp_path / "jobs.csv").write_text(jobs_csv((100, 4), (101, 4)))
    (tmp_path / "e.yaml").write_text("workers: 1\n" + EXPERIMENTS["shortest"] + "metrics: [delay]\n")
    experiment, jobs = read_experiment(tmp_path / "e.yaml"), JobFile(tmp_path / "jobs.csv")
    run = run_experiment(experiment, jobs)
    assert (run.jobs, summary_of(run)["delay_avg"]) == (2, 1.5)
    with pytest.raises(RunError, match=r"was not kept; run it on read_jobs\(\)"):
        jobs_table(run)
    assert run_experiment(experiment, JobFile(tmp_path / "jobs.csv", limit=1)).jobs == 1
    assert jobs_table(run_experiment(experiment, jobs, compiled=False)).height == 2


@pytest.mark.parametrize(
    ("last", "says"),
    [
        ("j;s;g;t;a;r;w;u;50;0;9;0;1;1;5", "line 32: spawn_ts is 50, before"),
        ("j;s;g;t;a;r;w;u;500;0;9;0;1;1;soon", "line 32: duration is 'soon'"),
        ("j;s;g;t;a;r;w;u;500", "line 32: 9 cells; expected 15"),
    ],
)
def test_a_bad_row_behind_many_good_ones_ends_a_run_with_its_line(tmp_path, monkeypatch, last, says):
    monkeypatch.setattr(read_blocks, "__defaults__", (200,))
    (tmp_path / "jobs.csv").write_text(jobs_csv(*((100 + at, 4) for at in range(30))) + last + "\n")
    (tmp_path / "e.yaml").write_text("workers: 1\n" + EXPERIMENTS["shortest"] + "metrics: [delay]\n")
    experiment = read_experiment(tmp_path / "e.yaml")
    with pytest.raises(InputError, match=says):
        run_experiment(experiment, JobFile(tmp_path / "jobs.csv"))
    assert run_experiment(experiment, JobFile(tmp_path / "jobs.csv", limit=30)).jobs == 30


@pytest.mark.parametrize("file", files("oracle_*/*.txt"))
def test_pieces_of_a_file_print_what_the_tool_did_as_well(file, monkeypatch):
    need_cases()
    monkeypatch.setattr(read_blocks, "__defaults__", (1 << 14,))
    dataset, experiment, kind = split(file)
    jobs, refs = logs(dataset)
    run = run_experiment(read_experiment(CASES / experiment, compat=kind), JobFile(jobs.path), refs)
    assert metrics_text(run) == (CASES / file).read_text()
