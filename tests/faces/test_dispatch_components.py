"""Components on paper: a few jobs each, and where they go."""

import pytest
from tests.faces.dispatch_build import jobs_csv, refs_csv

from unspool.engine.kernel import draws as compiled_draws
from unspool.faces.dispatch.draws import CHOICE, uniform
from unspool.faces.dispatch.experiment import read_experiment
from unspool.faces.dispatch.outputs import jobs_table, metrics_text
from unspool.faces.dispatch.running import run_experiment, values_of
from unspool.workloads.recodex import read_jobs, read_refs


@pytest.fixture
def ran(tmp_path):
    """Runs an experiment on rows of (arrival, duration, exercise, limits, user, compiles, group)."""

    def run(content, *rows, refs=None, **options):
        (tmp_path / "jobs.csv").write_text(jobs_csv(*rows))
        (tmp_path / "e.yaml").write_text(content)
        known = None
        if refs is not None:
            (tmp_path / "refs.csv").write_text(refs_csv(*refs))
            known = read_refs(tmp_path / "refs.csv")
        return run_experiment(read_experiment(tmp_path / "e.yaml", **options), read_jobs(tmp_path / "jobs.csv"), known)

    return run


def workers_of(run):
    return list(run.outcome.worker)


def starts_of(run):
    return list(run.outcome.start)


def figures(run):
    return {key: value for metric in run.simulation.metrics for key, value in values_of(metric).items()}


def test_shortest_queue_looks_at_active_workers_and_takes_the_first_of_equals(ran):
    run = ran("workers: [{active: false}, {active: true}, {active: true}]\ndispatcher: shortest-queue\n",
              (0, 10), (0, 10), (0, 10), (5, 1), (20, 1))  # fmt: skip
    assert workers_of(run) == [1, 2, 1, 2, 1]
    assert starts_of(run) == [0.0, 0.0, 10.0, 10.0, 20.0]


def test_ties_may_go_to_the_most_constrained_worker(ran):
    text = "workers: [{active: true}, {active: true, limit: 30}]\ndispatcher: {class: shortest-queue, args: [%s]}\n"
    assert workers_of(ran(text % "lowest", (0, 1))) == [0]
    assert workers_of(ran(text % "constrained", (0, 1))) == [1]


def test_duration_filter_keeps_long_jobs_off_a_limited_worker(ran):
    workers = "workers: [{active: true, limit: 30}, {active: true}]\n"
    text = workers + "dispatcher: duration-filter\nduration_predictor: oracle\n"
    assert workers_of(ran(text, (0, 31), (0, 30), (0, 31))) == [1, 0, 1]


def test_duration_filter_at_a_quantile_decides_by_it_and_tells_the_prediction(ran):
    workers = "workers: [{active: true, limit: 30}, {active: true}]\nmetrics: [prediction-error]\n"
    text = workers + "dispatcher: {class: duration-filter, args: {%s}}\nduration_predictor: "
    text += "{class: statistics, args: {statistic: median}}\n"
    # Half the limits are 10. Then the medians of 10, of 10 and 100, of 10 and twice 100; a tenth of the way up from 10
    # these are 10, 10 + 0.1 * 90 and 10 + 0.2 * 90. The last job finds one before it on the first worker.
    rows = [(0, 10), (20, 100), (200, 100), (400, 100), (400, 5)]
    plain, low = ran(text % "", *rows), ran(text % "quantile: 0.1", *rows)
    assert workers_of(plain) == [0, 0, 1, 1, 1]
    assert starts_of(plain) == [0.0, 20.0, 200.0, 400.0, 500.0]
    assert workers_of(low) == [0, 0, 0, 0, 1]
    assert starts_of(low) == [0.0, 20.0, 200.0, 400.0, 400.0]
    assert list(plain.outcome.estimate) == list(low.outcome.estimate) == [10.0, 10.0, 55.0, 100.0, 100.0]
    assert figures(plain)["prediction_mae_s"] == figures(low)["prediction_mae_s"] == (90 + 45 + 95) / 5
    assert jobs_table(low)["quantile"].to_list() == pytest.approx([10.0, 10.0, 19.0, 28.0, 28.0])
    assert "quantile" not in jobs_table(plain).columns


def test_a_mean_is_told_beside_a_quantile_of_the_same_durations(ran):
    text = "workers: [{active: true, limit: 30}, {active: true}]\nduration_predictor: statistics\n"
    text += "dispatcher: {class: duration-filter, args: {quantile: 0.5}}\n"
    run = ran(text, (0, 20), (100, 25), (200, 90), (400, 1))
    assert run.outcome.estimate[3] == 45.0
    assert jobs_table(run)["quantile"][3] == 25.0
    assert run.outcome.worker[3] == 0


def test_a_predictor_of_ones_own_may_tell_quantiles(ran, tmp_path):
    (tmp_path / "own.py").write_text(
        "class Half:\n"
        "    def predict_one(self, job):\n        return job.limits\n"
        "    def serve_quantile(self, quantile):\n        self.share = quantile\n"
        "    def predict_quantile(self, job):\n        return job.limits * self.share\n"
    )
    text = "workers: [{active: true, limit: 30}, {active: true}]\nduration_predictor: own.Half\n"
    text += "dispatcher: {class: duration-filter, args: {quantile: 0.25}}\n"
    run = ran(text, (0, 1, "a", 120), (0, 1, "a", 121))
    assert workers_of(run) == [0, 1]
    assert list(run.outcome.estimate) == [120.0, 121.0]


def test_least_work_counts_seconds_and_not_jobs(ran):
    text = "workers: 2\ndispatcher: least-work\nduration_predictor: oracle\n"
    assert workers_of(ran(text, (0, 100), (0, 10), (0, 10), (0, 10), (150, 1))) == [0, 1, 1, 1, 0]


def test_round_robin_passes_over_inactive_workers(ran):
    text = "workers: [{active: true}, {active: false}, {active: true}]\ndispatcher: round-robin\n"
    assert workers_of(ran(text, (0, 1), (0, 1), (0, 1), (0, 1))) == [0, 2, 0, 2]


def test_random_draws_are_those_of_the_engine_whatever_happened_before(ran):
    rows = [(at, 1) for at in range(30)]
    run = ran("workers: 3\ndispatcher: random\n", *rows)
    drawn = compiled_draws.uniform(42, CHOICE, list(range(30)))
    assert workers_of(run) == [int(share * 3) for share in drawn]
    assert uniform(42, CHOICE, 7) == drawn[7]


def test_power_of_two_choices_draws_two_different_workers(ran):
    run = ran("workers: 2\ndispatcher: power-of-two\n", *[(0, 100)] * 6)
    assert sorted(workers_of(run)) == [0, 0, 0, 1, 1, 1]


def test_group_aware_sends_a_job_to_a_worker_of_its_group(ran):
    text = "workers: [{active: true, worker_group_id: default}, {active: true, worker_group_id: [long, special1]}]\n"
    rows = [(0, 9, "a", 1, "u", 1, group) for group in ("long", "long", "default", "special1")]
    assert workers_of(ran(text + "dispatcher: group-aware\n", *rows)) == [1, 1, 0, 1]


def test_a_central_queue_starts_jobs_in_the_order_of_arrival(ran):
    run = ran("workers: 2\ndispatcher: central-fifo\n", (0, 100), (0, 10), (1, 5), (2, 5))
    assert workers_of(run) == [0, 1, 1, 1]
    assert starts_of(run) == [0.0, 0.0, 10.0, 15.0]


def test_a_central_queue_starts_the_shortest_first_unless_another_aged(ran):
    text = "workers: 1\ndispatcher: {class: central-shortest, args: [%s]}\nduration_predictor: oracle\n"
    rows = [(0, 100), (1, 50), (90, 10)]
    assert starts_of(ran(text % 0, *rows)) == [0.0, 110.0, 100.0]
    assert starts_of(ran(text % 1, *rows)) == [0.0, 100.0, 150.0]


def test_a_free_worker_steals_the_last_job_of_the_longest_queue(ran):
    run = ran("workers: 2\ndispatcher: work-stealing\n", (0, 100), (0, 10), (1, 7), (1, 3), (1, 5))
    assert workers_of(run) == [0, 1, 1, 1, 1]
    assert starts_of(run) == [0.0, 0.0, 18.0, 10.0, 13.0]


def test_greedy_takes_off_what_the_running_job_has_done(ran):
    text = "workers: 2\ndispatcher: selector\nduration_predictor: oracle\nworker_selector: greedy\n"
    assert workers_of(ran(text, (0, 100), (0, 80), (90, 20), (91, 30))) == [0, 1, 1, 0]


@pytest.mark.parametrize("name", ["ucb", "thompson"])
def test_bandits_never_choose_what_is_off_and_are_the_same_for_a_seed(ran, name):
    text = (
        "workers: [{active: true}, {active: false}, {active: true, limit: 5}]\ndispatcher: selector\n"
        f"duration_predictor: oracle\nworker_selector: {name}\n"
    )
    rows = [(at, 10 if at % 3 else 2) for at in range(40)]
    once = workers_of(ran(text, *rows))
    assert set(once) == {0, 2}
    assert all(worker == 0 for at, worker in enumerate(once) if at % 3)
    assert workers_of(ran(text, *rows)) == once


def test_limits_times_a_factor(ran):
    text = "workers: 1\ndispatcher: duration-filter\nduration_predictor: {class: limits, args: {factor: 0.25}}\n"
    assert list(ran(text, (0, 1, "a", 40)).outcome.estimate) == [10.0]


def test_statistics_know_what_ended_and_nothing_else(ran):
    text = "workers: 9\ndispatcher: duration-filter\nduration_predictor: statistics\n"
    assert list(ran(text, (0, 10), (5, 30), (10, 12), (22, 1)).outcome.estimate) == [10.0, 10.0, 10.0, 11.0]


def test_statistics_by_mean_median_quantile_and_decay(ran):
    text = "workers: 9\ndispatcher: duration-filter\nduration_predictor: {class: statistics, args: {%s}}\n"
    rows = [(0, 10), (0, 20), (0, 60), (100, 1)]
    last = {args: ran(text % args, *rows).outcome.estimate[3] for args in (
        "", "statistic: median", "statistic: quantile, quantile: 0.75", "statistic: decayed, decay: 0.5",
    )}  # fmt: skip
    assert list(last.values()) == [30.0, 20.0, 40.0, (10 * 0.25 + 20 * 0.5 + 60) / 1.75]


def test_statistics_fall_back_to_fewer_keys_and_leave_failed_compilations_out(ran):
    text = "workers: 9\ndispatcher: central-fifo\nduration_predictor: {class: statistics, args: [[exercise, user]]}\n"
    past = [(0, 10, "a", 8, "x"), (0, 90, "a", 8, "x", 0), (0, 30, "a", 8, "y")]
    rows = [*past, (100, 1, "a", 8, "x"), (100, 1, "a", 8, "z")]
    assert list(ran(text, *rows).outcome.estimate)[3:] == [10.0, 20.0]


def test_statistics_learn_reference_runs_that_ended_though_a_longer_one_began_before(ran):
    text = "workers: [{active: true}]\ndispatcher: duration-filter\nduration_predictor: %s\ncompat: %s\n"
    refs = [(0, 5000, "b"), (10, 7, "a")]
    assert ran(text % ("index", "none"), (100, 1), refs=refs).outcome.estimate[0] == 7.0
    assert ran(text % ("index", "fork"), (100, 1), refs=refs).outcome.estimate[0] == 10.0


def test_the_strategy_of_the_original_learns_a_job_before_it_runs_only_with_compat(ran):
    text = (
        "workers: [{active: true}]\ndispatcher: job-category\n"
        'sa_strategy: {class: category, args: [2, "@@ref_jobs"]}\ncompat: %s\n'
    )
    # There each file numbers its ids, so that the run of z is taken for one of a: (7 + 1 + 1) / 3.
    assert list(ran(text % "original", (0, 7), (100, 1), refs=[(0, 1, "z")]).outcome.estimate) == [7.0, 3.0]
    assert list(ran(text % "none", (0, 7), (100, 1), refs=[(0, 1, "z")]).outcome.estimate) == [10.0, 7.0]


def test_a_worker_that_is_switched_on_boots_before_it_runs(ran):
    text = (
        "workers: [{active: true, watts_busy: 10, watts_idle: 2, watts_off: 0}, "
        "{active: true, watts_busy: 10, watts_idle: 2, watts_boot: 4, watts_off: 1}]\n"
        "dispatcher: shortest-queue\nsa_strategy: {class: on-off, args: {boot_s: 30, idle_s: 40}}\n"
        "period: 10\nmetrics: [energy, power]\n"
    )
    run = ran(text, (0, 100), (10, 20), (205, 1))
    assert workers_of(run) == [0, 1, 0]
    assert starts_of(run) == [0.0, 40.0, 205.0]
    # Worker 1: off until 10, boots until 40, runs until 60, idles until 100, off until 206.
    assert run.simulation.workers[1].periods == [[0.0, 0.0], [10.0, 100.0]]
    joules = (101 * 10 + 105 * 2) + (10 * 1 + 30 * 4 + 20 * 10 + 40 * 2 + 106 * 1)
    assert figures(run)["energy_j"] == joules
    assert figures(run)["relative_uptime"] == (206 + 90) / 206


def test_limits_move_within_their_bounds(ran):
    text = (
        "workers: [{active: true, dynamic-limit: true, limit: 10, limit-min: 5, limit-max: 20, aggression: 6}, "
        "{active: true}]\ndispatcher: duration-filter\nduration_predictor: oracle\nsa_strategy: %s\nperiod: 10\n"
    )
    rows = [(0, 100), (0, 100), (35, 1)]
    assert ran(text % "heuristic-limits", *rows, (1000, 1)).simulation.workers[0].attributes["limit"] == 5
    for name in ("heuristic-limits", "pid-limits"):
        assert ran(text % name, *rows).simulation.workers[0].attributes["limit"] <= 20


def test_yardsticks_differ_in_what_they_know(ran):
    text = (
        "workers: 1\ndispatcher: shortest-queue\n"
        'metrics: [{class: user-experience, args: {ref_jobs: "@@ref_jobs", yardstick: %s}}]\n'
    )
    rows = [(0, 50, "b"), (0, 12, "a")]
    late_ref = [(10_000, 60, "a")]
    assert figures(ran(text % "all-refs", *rows, refs=late_ref))["jobs_on_time"] == 2
    assert figures(ran(text % "causal", *rows, refs=late_ref))["jobs_on_time"] == 1
    assert figures(ran(text % "fixed", *rows, refs=late_ref))["jobs_late"] == 0


def test_figures_of_a_small_run(ran):
    text = (
        "workers: 1\ndispatcher: duration-filter\nduration_predictor: limits\n"
        "metrics: [delay, response, {class: slowdown, args: [1]}, utilisation, {class: prediction-error, args: [15]}, "
        "{class: by-class, args: [user]}, {class: quantiles, args: [[0.25, 1]]}]\n"
    )
    run = ran(text, (0, 10, "a", 20, "x"), (0, 20, "a", 20, "y"), (40, 10, "a", 60, "x"))
    found = figures(run)
    assert (found["delay_avg"], found["response_s_max"], found["bounded_slowdown_max"]) == (10 / 3, 30.0, 1.5)
    assert found["utilisation"] == 40 / 50
    assert (found["prediction_mae_s"], found["predicted_short_is_long"], found["predicted_long_is_short"]) == (10, 1, 1)
    assert found["by_user"] == {
        "x": {"jobs": 2, "delay_avg": 0.0, "delay_max": 0.0}, "y": {"jobs": 1, "delay_avg": 10.0, "delay_max": 10.0},
    }  # fmt: skip
    assert found["fairness_of_users"] == 0.5
    assert (found["delay_q0.25"], found["delay_q1"]) == (0.0, 10.0)
    assert "    0.25: 0.00\n    1   : 10.00\n" in metrics_text(run)


def test_a_log_that_begins_at_zero_is_timed_from_there(ran):
    run = ran("workers: 1\ndispatcher: shortest-queue\nmetrics: [power]\n", (0, 3), (0, 3), (9, 3))
    assert figures(run) == {"simulation_time_s": 12.0, "relative_uptime": 1.0}
