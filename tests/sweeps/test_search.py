"""A search by Optuna: the same points each time, fewer runs than the grid, several objectives."""

from dataclasses import replace

import pytest
from tests.sweeps.tiny import rows_of, same, thread_place, write_longer_log

from unspool.errors import InputError
from unspool.sweeps import grid_of, ranking, run_sweep
from unspool.sweeps.grid import Dimension, Objective, Search
from unspool.sweeps.search import _Outcome, _Study
from unspool.sweeps.store import Store

optuna = pytest.importorskip("optuna", reason="needs Optuna: pip install 'unspool[search]'")


def searched(log, trials=6, **more):
    return grid_of({
        "replicas": 2, "run": {"workload": log, "window": "0d..2d"},
        "grid": {"policy": ["fcfs", "easy"], "platform": {"from": 8, "to": 64, "step": 1}},
        "search": {"trials": trials, "at_once": 3, "minimise": ["mean_wait_s"], **more},
    })  # fmt: skip


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_a_search_that_is_broken_off_goes_on_to_the_same_end(tmp_path):
    log = write_longer_log(tmp_path, 60)
    whole = run_sweep(searched(log), tmp_path / "whole", thread_place())
    assert len(whole) <= 12
    assert all(8 <= int(platform) <= 64 for (platform,) in rows_of(whole, "platform"))
    run_sweep(searched(log, trials=3), tmp_path / "parts", thread_place())
    counts = []
    parts = run_sweep(searched(log), tmp_path / "parts", thread_place(), resume=True,
                      told=lambda count, rows: counts.append(count.found))  # fmt: skip
    assert counts[-1] == 6
    assert same(whole, parts)


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_several_objectives_and_a_figure_that_nobody_knows(tmp_path):
    log = write_longer_log(tmp_path, 60)
    run_sweep(searched(log, maximise="utilisation"), tmp_path / "two", thread_place())
    assert [each["figure"] for each in Store(tmp_path / "two").facts()["objectives"]] == ["mean_wait_s", "utilisation"]
    with pytest.raises(InputError, match="did you mean 'utilisation'"):
        run_sweep(searched(log, maximise="utilization"), tmp_path / "three", thread_place())


def test_a_search_of_nothing_is_refused(tmp_path):
    log = write_longer_log(tmp_path, 60)
    nothing = grid_of({"run": {"workload": log}, "search": {"minimise": "mean_wait_s"}})
    with pytest.raises(InputError, match="nothing in \\[grid\\] differs"):
        run_sweep(nothing, tmp_path / "s", thread_place())


def refusing(tmp_path, jobs="0,100,100,100\n1,100,1,100\n2,100,1,100\n", **more):
    """A search over platforms of which small ones refuse the wide job, and so let nobody wait."""
    (tmp_path / "wide.csv").write_text(f"submit_time,run_time,cores,walltime\n{jobs}")
    return grid_of({
        "run": {"workload": str(tmp_path / "wide.csv")}, "grid": {"platform": {"from": 1, "to": 200, "step": 1}},
        "search": {"trials": 40, "at_once": 4, "minimise": ["utilisation"], **more},
    })  # fmt: skip


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_a_search_stays_where_the_most_jobs_are_run(tmp_path):
    # without the wide job the others use nearly nothing of a platform of 99 cores: the least utilisation of all
    runs = run_sweep(refusing(tmp_path), tmp_path / "s", thread_place())
    later = runs.tail(20)
    assert runs["rejected_jobs"].max() == 1
    assert (later["rejected_jobs"] == 0).sum() > 14
    best = ranking(runs, "utilisation", ["platform"]).row(0, named=True)
    assert int(best["platform"]) >= 150


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_a_search_for_two_figures_meets_points_that_start_no_job(tmp_path):
    wanted = refusing(tmp_path, "0,100,150,100\n", maximise=["makespan_s"])
    runs = run_sweep(wanted, tmp_path / "s", thread_place())
    assert set(runs["rejected_jobs"]) == {0, 1}
    assert runs["error"].is_null().all()


def told(outcomes, at_once=2):
    """What Optuna has been told in the end of trials that came to this."""
    wanted = Search((Objective("f"),), len(outcomes), 0, at_once)
    study = _Study(wanted, [Dimension("x", ({"x": 0}, {"x": 1}, {"x": 2}))])
    for at in range(0, len(outcomes), at_once):
        trials, _ = study.ask(len(outcomes[at : at + at_once]))
        study.tell(trials, [_Outcome(trial.params, values, unrun)
                            for trial, (values, unrun) in zip(trials, outcomes[at:], strict=False)])  # fmt: skip
    return [(each.state.name, each.values, each.constraints.get("jobs_not_run")) for each in study._study.trials]


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_trials_are_infeasible_by_the_fewest_jobs_that_any_has_left_out(tmp_path):
    if not hasattr(optuna.trial.Trial, "set_constraint"):
        pytest.skip("before version 5 Optuna keeps constraints elsewhere")
    outcomes = [([0.0], 5.0), (None, 9.0), ([1.0], 5.0), (None, None), ([3.0], 2.0), ([2.0], 2.0)]
    assert told(outcomes[:4]) == [
        ("COMPLETE", [0.0], 0.0), ("PRUNED", None, 4.0), ("COMPLETE", [1.0], 0.0), ("FAIL", None, 0.0),
    ]  # fmt: skip
    assert told(outcomes) == [
        ("COMPLETE", [0.0], 3.0), ("PRUNED", None, 7.0), ("COMPLETE", [1.0], 3.0), ("FAIL", None, 0.0),
        ("COMPLETE", [3.0], 0.0), ("COMPLETE", [2.0], 0.0),
    ]  # fmt: skip


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_a_search_that_began_anew_is_the_same_when_it_is_resumed(tmp_path):
    # the first points refuse a job, of those after them some do not
    wanted = refusing(tmp_path, "".join(f"{at},9,{cores},9\n" for at, cores in enumerate(range(20, 200, 20))))
    whole = run_sweep(wanted, tmp_path / "whole", thread_place())
    assert whole["rejected_jobs"].head(4).min() > whole["rejected_jobs"].min()
    part = replace(wanted, search=replace(wanted.search, trials=20))
    run_sweep(part, tmp_path / "part", thread_place())
    assert same(whole, run_sweep(wanted, tmp_path / "part", thread_place(), resume=True))
