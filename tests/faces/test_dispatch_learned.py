"""Predictors and selectors that learn, in experiments: causal, seeded, saved, masked, and better than others."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.extras import needs_sklearn, needs_torch
from tests.faces.dispatch_build import jobs_csv
from tests.faces.dispatch_cases import CASES, need_cases

from unspool.errors import InputError
from unspool.faces.dispatch.experiment import read_experiment
from unspool.faces.dispatch.outputs import jobs_table, metrics_text, summary_of, times_of, write_dispatched
from unspool.faces.dispatch.running import run_experiment
from unspool.workloads.generators import recodex, write_recodex
from unspool.workloads.recodex import read_jobs, read_refs

BASE = """\
workers: [{active: true, limit: 30}, {active: true}, {active: false}, {active: true}]
dispatcher: duration-filter
metrics: [delay, prediction-error]
"""
USERS = '[{class: user-experience, args: {ref_jobs: "@@ref_jobs", thresholds: [1.5, 3.0], yardstick: fixed}}]'
NETWORK = {"layer_widths": [8], "training_interval": 100, "batch_size": 200, "training_epochs": 1}
PREDICTORS = {
    "linear": {},
    "quantile": {"quantile": 0.8},
    "boosting": {"trees": 10, "interval": 200},
    "network": NETWORK,
    "embedding": {**NETWORK, "embedding_dim": 4},
}
SELECTORS = {
    "contextual-bandit": {"epsilon_initial": 0.3},
    "deep-q": {"epsilon_initial": 0.3},
}
MARKS = {"boosting": needs_sklearn, "network": needs_torch, "embedding": needs_torch}
EACH_PREDICTOR = [pytest.param(name, marks=MARKS.get(name, ())) for name in PREDICTORS]
AT = "at 0.2 "  # before the name of a predictor: the filter goes by its quantile 0.2
TOLD_AT = ("linear", "boosting", "network")  # by a model beside that learns at once, one that is grown, past errors
EACH_QUANTILE = [pytest.param(AT + name, marks=MARKS.get(name, ())) for name in TOLD_AT]
EACH_LEARNER = [*EACH_PREDICTOR, *EACH_QUANTILE, *(pytest.param(name, marks=needs_torch) for name in SELECTORS)]
FILTER_AT = {"class": "duration-filter", "args": {"quantile": 0.2}}
QNET = "worker_selectors.q_network_worker_selector.QNetworkWorkerSelector"


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("log")
    log = recodex(1500, seed=4, load=1.5)
    write_recodex(log.jobs, folder / "data.csv")
    write_recodex(log.refs, folder / "refs.csv")
    return read_jobs(folder / "data.csv"), read_refs(folder / "refs.csv")


@pytest.fixture
def base(tmp_path):
    (tmp_path / "e.yaml").write_text(BASE)
    return read_experiment(tmp_path / "e.yaml")


def with_parts(base, name, **more):
    """The experiment with a predictor, or with a selector and statistics."""
    if name in SELECTORS:
        given = {"class": name, "args": {**SELECTORS[name], **more}}
        chosen = {"dispatcher": "selector", "duration_predictor": "index", "worker_selector": given}
    else:
        given = {"class": name.removeprefix(AT), "args": {**PREDICTORS[name.removeprefix(AT)], **more}}
        chosen = {"duration_predictor": given, **({"dispatcher": FILTER_AT} if name.startswith(AT) else {})}
    return replace(base, content={**base.content, **chosen})


def decisions(run):
    return list(zip(run.outcome.worker, run.outcome.estimate, run.outcome.start, strict=True))


@pytest.mark.parametrize("name", EACH_LEARNER)
def test_two_runs_with_one_seed_have_the_same_bits(base, logs, name):
    one, two = (run_experiment(with_parts(base, name), *logs, seed=7) for _ in range(2))
    assert decisions(one) == decisions(two)
    assert summary_of(one) == summary_of(two)


@pytest.mark.parametrize("name", EACH_LEARNER)
def test_shuffling_the_future_changes_no_past_decision(base, logs, name):
    jobs, refs = logs
    past = 1000
    order = np.concatenate([np.arange(past), past + np.random.default_rng(1).permutation(len(jobs) - past)])
    ids = {key: numbers[order] for key, numbers in jobs.ids.items()}
    shuffled = replace(jobs, ids=ids, duration=jobs.duration[order], limits=jobs.limits[order])
    one, two = (decisions(run_experiment(with_parts(base, name), log, refs)) for log in (jobs, shuffled))
    assert one[:past] == two[:past]
    assert one[past:] != two[past:]


@pytest.mark.parametrize("name", [*EACH_PREDICTOR, *EACH_QUANTILE])
@pytest.mark.parametrize("size", [7, 256])
def test_batches_decide_as_single_jobs_do(base, logs, name, size):
    alone = with_parts(base, name)
    batched = replace(alone, content={**alone.content, "inference_batch_size": size})
    assert decisions(run_experiment(alone, *logs)) == decisions(run_experiment(batched, *logs))


@pytest.mark.parametrize("name", EACH_PREDICTOR)
def test_what_was_learnt_is_saved_and_serves_another_log(base, logs, name, tmp_path):
    kept = str(tmp_path / "kept.npz")
    jobs, refs = logs
    run_experiment(with_parts(base, name, save=kept), jobs, refs)
    fresh = run_experiment(with_parts(base, name), jobs, refs)
    taught = run_experiment(with_parts(base, name, load=kept), jobs, refs)
    errors = [summary_of(run)["prediction_log_error"] for run in (fresh, taught)]
    assert errors[1] < errors[0]  # it has seen these very jobs


@pytest.mark.parametrize(
    ("name", "alone"),
    [("linear", "quantile"), pytest.param("boosting", "boosting", marks=needs_sklearn)],
)
def test_a_filter_at_a_quantile_decides_as_a_model_of_it_does_and_tells_the_median(base, logs, name, alone):
    both = decisions(run_experiment(with_parts(base, AT + name), *logs))
    of_it = decisions(run_experiment(with_parts(base, alone, quantile=0.2), *logs))
    median = decisions(run_experiment(with_parts(base, name), *logs))
    (both_to, told, both_start), (to, low, start), (median_to, _, _) = (
        zip(*each, strict=True) for each in (both, of_it, median)
    )
    assert (both_to, both_start) == (to, start)
    assert to != median_to
    assert sum(told) > 1.1 * sum(low)


@needs_torch
def test_a_network_tells_a_low_quantile_by_how_wrong_it_was(base, logs):
    run = run_experiment(with_parts(base, AT + "network"), *logs)
    told, quantiles = np.asarray(run.outcome.estimate), jobs_table(run)["quantile"].to_numpy()
    assert (quantiles[200:] < told[200:]).mean() > 0.95
    assert 0.1 < (run.log.duration < quantiles)[200:].mean() < 0.3


@pytest.mark.parametrize("name", [EACH_QUANTILE[0], EACH_QUANTILE[1]])
def test_a_model_of_a_quantile_is_saved_beside_and_asked_for_by_its_quantile(base, logs, name, tmp_path):
    kept, plain = str(tmp_path / "kept.npz"), str(tmp_path / "plain.npz")
    run_experiment(with_parts(base, name, save=kept), *logs)
    run_experiment(with_parts(base, name.removeprefix(AT), save=plain), *logs)
    fresh, taught = (jobs_table(run_experiment(with_parts(base, name, load=file), *logs)) for file in (None, kept))
    assert fresh["quantile"][0] == pytest.approx(fresh["estimate"][0])  # nothing is known yet but half the limits
    assert taught["quantile"][0] < taught["estimate"][0]
    run_experiment(with_parts(base, name.removeprefix(AT), load=kept), *logs)
    with pytest.raises(InputError, match=r"plain\.npz: holds no model of the quantile 0\.2"):
        run_experiment(with_parts(base, name, load=plain), *logs)


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs_torch) for name in SELECTORS])
def test_a_saved_selector_chooses_the_same_without_learning(base, logs, name, tmp_path):
    kept = str(tmp_path / "kept.npz")
    run_experiment(with_parts(base, name, save=kept), *logs)
    frozen = with_parts(base, name, load=kept, learn=False)
    one, two = (run_experiment(frozen, *logs, seed=seed) for seed in (1, 2))
    assert decisions(one) == decisions(two)
    assert times_of(one)["worker_selector"]["trainings"] == 0
    with pytest.raises(InputError, match=r"holds .* with layers \[32\]"):
        run_experiment(with_parts(base, name, load=kept, layer_widths=[5]), *logs)


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs_torch) for name in SELECTORS])
def test_inactive_and_limited_workers_are_never_chosen(base, logs, name):
    outcome = run_experiment(with_parts(base, name, epsilon_final=0.3), *logs).outcome
    workers, estimates = np.asarray(outcome.worker), np.asarray(outcome.estimate)
    assert set(workers.tolist()) == {0, 1, 3}
    assert (estimates[workers == 0] <= 30).all()


@needs_torch
def test_a_selector_learns_that_a_job_that_outlived_its_estimate_holds_its_worker(tmp_path):
    # Exercise a is taken for 1 s, having run so once, and from then on takes 1000 s; b takes 20 s.
    rows = [(0, 1, "a"), (0, 20, "b")]
    for at in range(300):
        rows += [(2000 + 2000 * at, 1000, "a"), (2030 + 2000 * at, 20, "b")]
    (tmp_path / "data.csv").write_text(jobs_csv(*rows))
    text = "workers: 2\ndispatcher: selector\nduration_predictor: own.First\nworker_selector: {}\nmetrics: [delay]\n"
    (tmp_path / "own.py").write_text(
        "class First:\n    def predict_duration(self, job):\n        return 1.0 if job.duration > 20 else 20.0\n"
    )
    found = []
    for selector in (
        "greedy",
        "{class: contextual-bandit, args: {epsilon_initial: 0.3, epsilon_final_after_jobs: 300, training_interval: 1}}",
    ):
        (tmp_path / "e.yaml").write_text(text.replace("{}", selector))
        run = run_experiment(read_experiment(tmp_path / "e.yaml"), read_jobs(tmp_path / "data.csv"))
        waits = np.asarray(run.outcome.start) - run.log.spawn
        found.append(float(waits[-200:].mean()))
    # Of two workers that seem free by their estimates greedy takes the first, where a still runs.
    assert found[0] > 100
    assert found[1] < found[0] / 4


@needs_sklearn
def test_boosting_beats_limits_zero_and_statistics_on_the_second_half(base, tmp_path):
    log = recodex(4000, seed=1, load=1.5)
    write_recodex(log.jobs, tmp_path / "data.csv")
    write_recodex(log.refs, tmp_path / "refs.csv")
    jobs, refs = read_jobs(tmp_path / "data.csv"), read_refs(tmp_path / "refs.csv")
    median = {"class": "statistics", "args": {"statistic": "median", "failed": True}}
    boosting = {"class": "boosting", "args": {"trees": 50, "interval": 1000}}
    errors, delays = {}, {}
    # Four workers, a load of 1.5. With three of them, where the queue never ends, the limits give a shorter delay.
    four = replace(base, workers=tuple({"active": True} for _ in range(4)))
    for name, given in {"limits": "limits", "zero": "zero", "mean": "index", "median": median, "b": boosting}.items():
        chosen = {"dispatcher": "central-shortest", "duration_predictor": given}
        run = run_experiment(replace(four, content={**base.content, **chosen}), jobs, refs)
        estimates = np.maximum(np.asarray(run.outcome.estimate), 0.0)
        errors[name] = float(np.abs(np.log1p(estimates) - np.log1p(jobs.duration))[2000:].mean())
        delays[name] = summary_of(run)["delay_avg"]
    assert min(errors, key=errors.get) == "b"
    assert delays["b"] < min(delays["limits"], delays["zero"])


@pytest.mark.slow
@needs_sklearn
def test_one_model_predicts_best_and_decides_no_worse_on_the_clustered_jobs(tmp_path):
    need_cases()
    jobs = read_jobs(CASES / "data" / "release01-clustered_jobs.csv.gz")
    refs = read_refs(CASES / "data" / "release01-ref-solutions.csv")
    (tmp_path / "e.yaml").write_text(BASE.replace("[delay, prediction-error]", USERS).replace("false", "true"))
    base, half = read_experiment(tmp_path / "e.yaml"), len(jobs) // 2
    ways = {
        "limits": {"duration_predictor": "limits"},
        "zero": {"duration_predictor": "zero"},
        "mean": {"duration_predictor": "index"},
        "median": {"duration_predictor": {"class": "statistics", "args": {"statistic": "median", "failed": True}}},
        # The quantile was chosen on the first half. It is grown less often than usual, to be quick.
        "both": {"duration_predictor": {"class": "boosting", "args": {"interval": 1000}}, "dispatcher": FILTER_AT},
    }
    errors, delays, on_time = {}, {}, {}
    for name, chosen in ways.items():
        table = jobs_table(run_experiment(replace(base, content={**base.content, **chosen}), jobs, refs))[half:]
        estimates, durations = (np.log1p(table[column].to_numpy()) for column in ("estimate", "duration"))
        errors[name] = np.abs(estimates - durations).mean()
        delays[name], on_time[name] = table["delay_s"].mean(), (table["experience"] == "on time").mean()
    assert min(errors, key=errors.get) == min(delays, key=delays.get) == max(on_time, key=on_time.get) == "both"


@needs_torch
def test_names_and_arguments_of_simdex_stand_for_ours(base, logs):
    predictor = "duration_predictors.nn_embedding_duration_predictor.NNEmbeddingDurationPredictor"
    given = {"layer_widths": [16, 8], "training_interval": 500, "batch_size": 1000, "training_epochs": 5}
    more = {"hash_converters": "@@hash_converters", "embedding_dim": 10, "embedding_training_epochs": 2}
    q = {
        "epsilon_initial": 0.3, "epsilon_final": 0.001, "epsilon_final_after_jobs": 25_000, "batch_size": 1000,
        "replay_buffer_size": 100_000, "training_interval": 10, "layer_widths": [70], "gamma": 0.8,
    }  # fmt: skip
    chosen = {
        "dispatcher": "dispatchers.WorkerSelectorDispatcher",
        "duration_predictor": {"class": predictor, "args": {**given, **more}},
        "worker_selector": {"class": QNET, "args": q},
    }
    run = run_experiment(replace(base, content={**base.content, **chosen}), *logs)
    assert run.outcome.finished == 1500
    # 500 and 500 jobs ended after the first training; so many transitions were kept after the first thousand.
    assert times_of(run)["duration_predictor"]["trainings"] == 3
    assert 40 <= times_of(run)["worker_selector"]["trainings"] <= 51


@needs_torch
def test_pairs_of_courses_and_exercises_train_an_embedding_before(base, logs, tmp_path):
    jobs, refs = logs
    courses, exercises = (jobs.texts[name].gather(jobs.ids[name] - 1).to_list() for name in ("tlgroup", "exercise"))
    pairs = sorted(set(zip(courses, exercises, strict=True)))
    lines = ["tlgroup_id;exercise_id", *(f"{course};{exercise}" for course, exercise in pairs)]
    (tmp_path / "pairs.csv").write_text("\n".join(lines) + "\n")
    with_pairs = with_parts(base, "embedding", embedding_training_data=str(tmp_path / "pairs.csv"))
    one, two = (decisions(run_experiment(each, jobs, refs)) for each in (with_pairs, with_parts(base, "embedding")))
    assert one != two
    (tmp_path / "pairs.csv").write_text("a;b\n1;2\n")
    with pytest.raises(InputError, match=r"pairs\.csv: no column 'tlgroup_id'"):
        with_pairs.parts()


@needs_torch
def test_the_network_of_the_original_filters_by_what_it_learns(base, logs):
    chosen = {
        "dispatcher": "experiments.user_experience_nn.dispatcher.JobCategoryDispatcher",
        "sa_strategy": {
            "class": "experiments.user_experience_nn.sa_strategy.CategorySelfAdaptingStrategy",
            "args": {"layers_widths": [16], "batch_size": 300, "batch_epochs": 2, "ref_jobs": "@@ref_jobs"},
        },
    }
    run = run_experiment(replace(base, content={**base.content, **chosen}), *logs)
    limits = run_experiment(replace(base, content={**base.content, "duration_predictor": "limits"}), *logs)
    errors = [summary_of(each)["prediction_log_error"] for each in (run, limits)]
    assert errors[0] < errors[1]
    assert times_of(run)["sa_strategy"]["trainings"] >= 3
    wrong = {**chosen, "dispatcher": "shortest-queue"}
    with pytest.raises(InputError, match="needs the dispatcher predicted-category"):
        run_experiment(replace(base, content={**base.content, **wrong}), *logs)


def test_real_time_is_told_apart_from_the_figures(base, logs, tmp_path):
    run = run_experiment(with_parts(base, "linear"), *logs)
    write_dispatched(run, tmp_path / "out", metrics_text(run), report=False)
    times = json.loads((tmp_path / "out" / "times.json").read_text())["duration_predictor"]
    assert times["inferences"] == times["trainings"] == 1500
    assert times["inference_s"] > 0 < times["training_s"]
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert 0.7 < summary["interval_coverage"] < 0.9
    assert not any("inference" in key or "training" in key for key in summary)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("linear", {"learning_rate": 0}, "learning_rate is 0"),
        ("quantile", {"quantile": 1.5}, "quantile is 1.5"),
        pytest.param("boosting", {"trees": 0}, "boosting: trees 0", marks=needs_sklearn),
        pytest.param("network", {"layer_widths": 64}, "layer_widths is 64", marks=needs_torch),
        pytest.param("deep-q", {"gamma": 2}, "gamma is 2", marks=needs_torch),
        pytest.param("deep-q", {"batch_size": 0}, "batch_size is 0", marks=needs_torch),
    ],
)
def test_arguments_that_make_no_sense_are_refused_with_their_place(base, name, given, said):
    with pytest.raises(InputError, match=f"key .*: {said}"):
        with_parts(base, name, **given).parts()
