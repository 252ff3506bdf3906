import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.metrics.fairness import fairness, jain_index
from unspool.model.platform import Platform


@pytest.mark.parametrize(
    ("amounts", "expected"),
    [
        ([1.0, 2.0, 3.0], 36 / 42),  # (1 + 2 + 3)² / (3 (1 + 4 + 9))
        ([7.0, 7.0, 7.0, 7.0], 1.0),
        ([5.0, 0.0, 0.0, 0.0], 0.25),  # one of four has all
        ([3.0], 1.0),
        ([], 0.0),
        ([0.0, 0.0], 0.0),
    ],
)
def test_jains_index_on_paper(amounts, expected):
    assert jain_index(pl.Series(amounts, dtype=pl.Float64)) == pytest.approx(expected)


@given(st.lists(st.floats(0.01, 1e6), min_size=1, max_size=30), st.floats(0.1, 100.0))
def test_jains_index_lies_between_one_nth_and_one_and_has_no_unit(amounts, factor):
    index = jain_index(pl.Series(amounts))
    assert 1 / len(amounts) - 1e-9 <= index <= 1 + 1e-9
    assert jain_index(pl.Series(amounts) * factor) == pytest.approx(index)


def test_users_count_the_same_however_many_jobs_they_have_and_jobs_without_one_do_not_count():
    # ann's mean is 2, ben's 4: (2 + 4)² / (2 (4 + 16)) = 0.9
    jobs = pl.DataFrame({"user": ["ann", "ann", "ann", "ben", None], "bounded_slowdown": [1.0, 1.0, 4.0, 4.0, 99.0]})
    assert fairness(jobs, Platform.pool(1)) == {"jain_index_of_users": pytest.approx(0.9)}


def test_a_log_without_users_has_no_index():
    assert fairness(pl.DataFrame({"bounded_slowdown": [1.0]}), Platform.pool(1)) == {}
    nobody = pl.DataFrame({"user": [None], "bounded_slowdown": [1.0]}, schema_overrides={"user": pl.String})
    assert fairness(nobody, Platform.pool(1)) == {}
