import numpy as np
import pytest

from unspool.analysis.bootstrap import UNITS, _student, block_length, draw, totals, units_of


def interval_of_mean(values, seed=0, confidence=0.95, replicates=2000, block=None):
    """Both ends for the mean of a series, and the length of blocks."""
    units = units_of(len(values))
    shape = (int(units[-1]) + 1, 1)
    alone = np.zeros(len(values), dtype=np.int64)
    sums, counts = totals(units, alone, shape, values), totals(units, alone, shape)
    block = block or block_length((sums / counts)[:, 0])[0]
    draws = draw(shape[0], block, seed, replicates)
    low, high = draws.interval(sums, counts, np.array([draws.blocks]), confidence)
    return low[0], high[0], block


def autoregressive(rng, length, rho):
    """A series of mean 0 and variance 1 in which neighbours have the correlation rho."""
    noise = rng.standard_normal(length) * np.sqrt(1 - rho * rho)
    series = np.empty(length)
    series[0] = rng.standard_normal()
    for at in range(1, length):
        series[at] = rho * series[at - 1] + noise[at]
    return series


def test_units_are_equal_but_for_a_job_and_keep_the_order():
    assert units_of(3).tolist() == [0, 1, 2]
    units = units_of(2 * UNITS + 500)
    assert (np.diff(units) >= 0).all()
    assert sorted(set(np.bincount(units))) == [2, 3]
    assert units[-1] == UNITS - 1


def test_blocks_are_neighbours_in_a_ring_and_every_unit_is_as_likely():
    draws = draw(5, 2, seed=0, replicates=4000)
    assert (draws.weights.sum(axis=1) == 6).all()  # three blocks of two
    assert draws.weights.mean(axis=0) == pytest.approx(np.full(5, 1.2), abs=0.05)
    one_block = draw(5, 5, seed=0, replicates=10)
    assert (one_block.weights == 1).all()
    pairs = draw(7, 3, seed=1, replicates=1).weights[0]
    assert pairs.sum() == 9


def test_the_same_seed_draws_the_same_blocks():
    assert (draw(50, 3, seed=7).weights == draw(50, 3, seed=7).weights).all()
    assert (draw(50, 3, seed=7).weights != draw(50, 3, seed=8).weights).any()


def test_independent_values_get_the_interval_of_the_closed_formula():
    # mean ± 1.96 s / √n
    values = np.random.default_rng(3).exponential(100.0, 900)
    low, high, _ = interval_of_mean(values, block=1)
    margin = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    assert (low + high) / 2 == pytest.approx(values.mean(), abs=0.1 * margin)
    assert (high - low) / 2 == pytest.approx(margin, rel=0.06)


def test_independent_values_need_no_long_blocks():
    rng = np.random.default_rng(0)
    lengths = [block_length(rng.standard_normal(1000))[0] for _ in range(30)]
    assert np.median(lengths) <= 3


def test_blocks_are_as_long_as_the_formula_says_for_a_known_correlation():
    # Politis and White: (2 G² / D)^(1/3) n^(1/3) with D = 4/3 g²; for rho = 0.5, R(k) = 0.5^k gives
    # g = sum over all k = 3, G = sum of |k| R(k) = 4, so (1.5 (4/3)² n)^(1/3) = 13.9 at n = 1000
    rng = np.random.default_rng(0)
    lengths = [block_length(autoregressive(rng, 1000, 0.5))[0] for _ in range(60)]
    assert np.median(lengths) == pytest.approx(13.9, rel=0.25)


def test_a_series_that_hardly_changes_wants_longer_blocks_than_it_may_have():
    assert block_length(np.arange(1000.0)) == (95, True)  # 3 √1000 = 94.9


@pytest.mark.parametrize("series", [np.zeros(500), np.full(500, 0.1), np.array([1.0]), np.array([1.0, 2.0])])
def test_a_series_without_change_or_with_hardly_any_values_has_blocks_of_one(series):
    assert block_length(series) == (1, False)


def test_intervals_of_correlated_values_hold_the_mean_nearly_as_often_as_they_say():
    # neighbours correlate by 0.8: the variance of the mean is nine times that of independent values
    rng = np.random.default_rng(5)
    held, held_without_blocks, runs = 0, 0, 150
    for seed in range(runs):
        values = autoregressive(rng, 1000, 0.8)
        low, high, _ = interval_of_mean(values, seed, replicates=400)
        held += low <= 0.0 <= high
        low, high, _ = interval_of_mean(values, seed, replicates=400, block=1)
        held_without_blocks += low <= 0.0 <= high
    assert held / runs >= 0.88
    assert held_without_blocks / runs <= 0.65


def test_few_blocks_give_a_wider_interval_than_many():
    # Student's t with 9 degrees of freedom, and 10 / 9 for the variance that ten blocks lose
    values = np.random.default_rng(2).standard_normal(10)
    low, high, _ = interval_of_mean(values, block=1, replicates=20_000)
    assert (high - low) / 2 == pytest.approx(2.262 * values.std(ddof=1) / np.sqrt(10), rel=0.1)


@pytest.mark.parametrize(
    ("share", "freedom", "expected"), [(0.975, 9, 2.262157), (0.975, 100, 1.983972), (0.995, 9, 3.249836)]
)
def test_students_quantiles_are_those_of_the_tables(share, freedom, expected):
    assert _student(share, freedom) == pytest.approx(expected, abs=2e-6)
