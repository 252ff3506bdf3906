"""Values of one key: lists, ranges, logarithmic ranges, windows, distributions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.errors import InputError
from unspool.sweeps.values import Distribution, values_of


@pytest.mark.parametrize(
    ("given", "values"),
    [
        (5, (5,)),
        (["a", "b"], ("a", "b")),
        ({"from": 0, "to": 1, "steps": 5}, (0.0, 0.25, 0.5, 0.75, 1.0)),
        ({"from": 10, "to": 40, "step": 10}, (10, 20, 30, 40)),
        ({"from": 0.1, "to": 0.35, "step": 0.1}, (0.1, 0.2, 0.3)),
        ({"from": 1, "to": 1000, "steps": 4, "scale": "log"}, (1, 10, 100, 1000)),
        ({"from": 2, "to": 3, "steps": 5, "whole": True}, (2, 3)),
        ({"from": 1, "to": 4, "steps": 3, "scale": "log"}, (1, 2, 4)),
    ],
)
def test_values_are_those_on_paper(given, values):
    found = values_of("key", given).values
    assert found == values
    assert list(map(type, found)) == list(map(type, values))


def test_windows_follow_each_other():
    assert values_of("window", {"every": "12h", "count": 3, "from": "1d"}).values == ("1d..36h", "36h..2d", "2d..60h")


@pytest.mark.parametrize(
    ("key", "given", "said"),
    [
        ("thin", [], "the list is empty"),
        ("thin", [1, 1], "stands twice"),
        ("thin", {"from": 1, "to": 2}, "no range"),
        ("thin", {"from": 2, "to": 1, "steps": 2}, "begins at 2 and ends at 1"),
        ("thin", {"from": 0, "to": 1, "steps": 2, "scale": "log"}, "above 0"),
        ("thin", {"from": 0, "to": 1, "steps": 0}, "whole number from 1"),
        ("thin", {"from": 0, "to": 1, "steps": 2, "scale": "cubic"}, "unknown scale"),
        ("thin", {"from": 0, "to": 1, "stepps": 2}, "did you mean 'steps'"),
        ("thin", {"normal": [1]}, "[mean, standard deviation]"),
        ("thin", {"normal": [1, -1]}, "expected [mean"),
        ("thin", {"uniform": [0, 1], "whole": 3}, "true or false"),
        ("thin", {"choice": []}, "a list of values"),
        ("thin", {"every": "1d", "count": 2}, "for the key window only"),
        ("window", {"every": "1d"}, "how many windows"),
        ("window", {"every": "soon", "count": 1}, "soon"),
        ("window", {"every": 0, "count": 1}, "above 0"),
    ],
)
def test_what_is_no_set_of_values_is_refused_with_what_was_expected(key, given, said):
    with pytest.raises(InputError, match=key) as error:
        values_of(key, given)
    assert said in str(error.value)


@given(seed=st.integers(0, 2**32), name=st.sampled_from(["thin", "scale_load"]))
def test_a_draw_is_a_function_of_seed_and_key_alone(seed, name):
    one = Distribution(name, "uniform", (2.0, 3.0))
    assert one.value(seed) == Distribution(name, "uniform", (2.0, 3.0)).value(seed)
    assert 2.0 <= one.value(seed) <= 3.0


def test_draws_have_the_moments_that_they_should():
    drawn = [Distribution("x", "normal", (5.0, 2.0)).value(seed) for seed in range(4000)]
    mean = sum(drawn) / len(drawn)
    spread = sum((value - mean) ** 2 for value in drawn) / len(drawn)
    assert mean == pytest.approx(5.0, abs=0.12)
    assert spread == pytest.approx(4.0, abs=0.35)
    assert {Distribution("x", "choice", ("a", "b")).value(seed) for seed in range(20)} == {"a", "b"}
    assert all(isinstance(Distribution("x", "exponential", (3.0,), True).value(seed), int) for seed in range(5))
    assert all(Distribution("x", "triangular", (1.0, 2.0, 4.0)).value(seed) <= 4.0 for seed in range(99))
    assert all(Distribution("x", "lognormal", (1.0, 0.1)).value(seed) > 0.5 for seed in range(99))
