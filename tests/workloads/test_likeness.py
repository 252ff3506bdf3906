import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.build import workload

import unspool
from unspool.errors import InputError
from unspool.workloads.generators import fit, lublin, poisson
from unspool.workloads.likeness import ASPECTS, kolmogorov_smirnov, likeness, total_variation
from unspool.workloads.transform import scale_load, scale_run_times, shift

SAMPLE = Path(unspool.__file__).parent / "samples" / "campus.swf.gz"
CASES = Path(os.environ.get("UNSPOOL_CASES", Path(__file__).parents[3] / "shared" / "cases")) / "swf"
LOGS = [SAMPLE, CASES / "theta-2022.swf.gz", CASES / "seth-like-50k.swf.gz"]


def differing(original, other):
    table = likeness(original, other)
    return table.filter(~pl.col("is_like"))["aspect"].to_list()


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_generated_log_is_like_the_one_that_it_is_fitted_to(path, seed):
    if not path.exists():
        pytest.skip(f"{path.name} is not here; UNSPOOL_CASES says where logs are")
    log = unspool.read_workload(path)
    table = likeness(log, fit(log).generate(seed=seed))
    assert table["is_like"].all(), table
    assert len(table) == len(ASPECTS)


def test_a_generated_log_of_half_the_length_is_alike_too():
    log = unspool.read_workload(SAMPLE)
    assert differing(log, fit(log).generate(jobs=5000, seed=1)) == []


def test_a_log_is_like_itself_in_all_aspects():
    log = lublin(2000, cores=64, load=0.8)
    assert likeness(log, log)["distance"].to_list() == [0.0] * len(ASPECTS)


def test_a_log_of_another_kind_is_told_apart():
    log = unspool.read_workload(SAMPLE)
    other = poisson(10_000, rate_per_s=1 / 400, mean_run_time_s=4432.0, cores=12)
    assert {"sizes", "run times", "walltimes", "hours of the day", "gaps between jobs", "jobs by user"} <= set(
        differing(log, other)
    )


@pytest.mark.parametrize(
    ("change", "aspects"),
    [
        (lambda log: scale_run_times(log, 2.0), {"run times", "run times by size", "walltimes", "offered load"}),
        (lambda log: scale_load(log, 1.5), {"offered load", "gaps between jobs"}),
        (lambda log: shift(log, 6 * 3600.0), {"hours of the day"}),
    ],
)
def test_what_was_changed_is_what_differs(change, aspects):
    log = lublin(10_000, cores=256, load=0.6, seed=1)
    found = set(differing(log, change(log)))
    assert aspects <= found | {"gaps between jobs"}
    assert "sizes" not in found
    assert "accuracy" not in found


def test_the_order_of_a_users_jobs_is_what_repetition_is_about():
    stream = np.random.default_rng(1)
    sizes = np.repeat(2 ** stream.integers(0, 6, 200), 5)
    in_order = workload([(600 * at, 60, int(size), 90) for at, size in enumerate(sizes)], user=["ann"] * 1000)
    mixed = workload(
        [(600 * at, 60, int(size), 90) for at, size in enumerate(stream.permutation(sizes))], user=["ann"] * 1000
    )
    assert differing(in_order, mixed) == ["repeated sizes"]


def test_an_aspect_of_which_neither_log_knows_is_left_out_and_of_which_one_does_differs():
    with_users = workload([(600 * at, 60, 1, 90) for at in range(10)], user=["ann", "ben"] * 5)
    without = workload([(600 * at, 60, 1, None) for at in range(10)])
    assert "jobs by user" not in likeness(without, without)["aspect"]
    assert "walltimes" not in likeness(without, without)["aspect"]
    table = likeness(with_users, without).filter(pl.col("aspect").is_in(["jobs by user", "walltimes", "accuracy"]))
    assert table["distance"].to_list() == [1.0, 1.0, 1.0]
    with pytest.raises(InputError, match="has 1 job; likeness needs two or more"):
        likeness(with_users, without[:1])


def test_distances_are_those_on_paper():
    assert kolmogorov_smirnov(np.array([1.0, 1.0, 5.0, 9.0]), np.array([1.0, 5.0, 5.0, 9.0])) == 0.25
    assert kolmogorov_smirnov(np.array([1.0]), np.array([2.0])) == 1.0
    assert total_variation(np.array([0, 0, 0, 1]), np.array([0, 1, 2, 2]), 3) == 0.5
