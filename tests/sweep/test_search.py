"""A search by Optuna: the same points each time, fewer runs than the grid, several objectives."""

import pytest
from tests.sweep.tiny import rows_of, same, thread_place, write_longer_log

from unspool.errors import InputError
from unspool.sweep import grid_of, run_sweep
from unspool.sweep.store import Store

pytest.importorskip("optuna", reason="needs Optuna: pip install 'unspool[search]'")


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
