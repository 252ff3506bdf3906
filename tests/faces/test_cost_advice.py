"""The search for set-ups: what it tries, what it keeps, and that it stops."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.errors import InputError
from unspool.faces.cloud.advice import Trial, advise, knobs, pareto
from unspool.faces.cloud.changes import parse_changes, shown_change
from unspool.faces.cloud.config import read_config


def trial(changes, usd, wait_s, rejected=0):
    return Trial(changes, usd, wait_s, wait_s, jobs=10, rejected=rejected)


def bowl(changes):
    """The cheapest is a = 3, b = 1; the quickest a = 0, b = 2."""
    a, b = changes.get("a", 1), changes.get("b", 0)
    return trial(changes, 10.0 + abs(a - 3) + abs(b - 1), 60.0 * (a + abs(b - 2)))


KEYS = {"a": [0, 2, 3], "b": [1, 2]}


def test_both_ends_of_a_bowl_are_found_and_what_lies_between():
    found = advise(bowl, KEYS, budget=50)
    assert found.configured == bowl({})
    assert found.best[0] == bowl({"a": 3, "b": 1})
    assert found.best[-1] == bowl({"a": 0, "b": 2})
    assert all(
        one.cost_usd < other.cost_usd and one.mean_wait_s > other.mean_wait_s
        for one, other in zip(found.best, found.best[1:], strict=False)
    )


@pytest.mark.parametrize("budget", [1, 2, 5, 9])
def test_no_more_set_ups_are_tried_than_the_budget_says(budget):
    tried = []

    def evaluate(changes):
        tried.append(dict(changes))
        return bowl(changes)

    found = advise(evaluate, KEYS, budget)
    assert found.tried == len(tried) <= budget
    assert len({repr(sorted(changes.items())) for changes in tried}) == len(tried)


def test_a_set_up_that_leaves_jobs_out_or_cannot_be_is_no_advice():
    def evaluate(changes):
        if changes.get("a") == 3:
            return None
        return trial(changes, 1.0, 1.0, rejected=5) if changes.get("b") == 2 else bowl(changes)

    found = advise(evaluate, KEYS, budget=50)
    assert found.left_out > 0
    assert all(one.changes.get("a") != 3 and one.changes.get("b") != 2 for one in found.best)


def test_changes_that_make_no_difference_are_taken_back():
    def evaluate(changes):
        return trial(changes, 10.0 - 2.0 * changes.get("a", 0), 60.0)

    found = advise(evaluate, {"a": [1], "b": [1]}, budget=20)
    assert [one.changes for one in found.best] == [{"a": 1}]


figures = st.integers(0, 6).map(float)


@given(st.lists(st.tuples(figures, figures), min_size=1, max_size=20))
def test_every_trial_is_matched_by_one_of_the_best_and_no_best_by_another(pairs):
    trials = [trial({"n": at}, usd, wait) for at, (usd, wait) in enumerate(pairs)]
    best = pareto(trials)
    for one in trials:
        assert any(kept.cost_usd <= one.cost_usd and kept.mean_wait_s <= one.mean_wait_s for kept in best)
    for one in best:
        assert not any(
            (other.cost_usd, other.mean_wait_s) != (one.cost_usd, one.mean_wait_s)
            and other.cost_usd <= one.cost_usd
            and other.mean_wait_s <= one.mean_wait_s
            for other in trials
        )


def test_keys_are_tried_that_the_configuration_gives_sense(tmp_path):
    keys = knobs(read_config())
    assert "ComputeClusterModel.Burst" not in keys
    assert "ComputeClusterModel.OnPremises" not in keys
    assert keys["consumption_model_mapping.maximum_minutes_for_spot"] == [0, 15, 240, 1440]
    path = tmp_path / "c.yml"
    path.write_text(
        "ComputeClusterModel:\n"
        "  OnPremises: [{Name: rack, Count: 3, Cores: 4, MemoryGiB: 8, HourlyCost: 0.1, Billing: used}]\n"
        "  SpotRules: [{queue: short}]\n  Burst: never\n"
    )
    config = read_config(path)
    keys = knobs(config)
    assert "consumption_model_mapping.maximum_minutes_for_spot" not in keys  # the rules of the site are kept
    assert keys["ComputeClusterModel.Burst"] == ["cheapest", {"after": 600}, {"after": 3600}]
    half = read_config(path, {"ComputeClusterModel.OnPremises": keys["ComputeClusterModel.OnPremises"][1]})
    assert [(server.name, server.count, server.billing) for server in half.on_premises] == [("rack", 2, "used")]
    assert config.burst_after_s == math.inf


@pytest.mark.parametrize("changes", [{key: values[-1]} for key, values in knobs(read_config()).items()])
def test_a_change_that_is_shown_is_read_back_as_it_was(changes):
    ((key, value),) = changes.items()
    assert parse_changes([shown_change(key, value)]) == changes
    assert read_config(None, changes) != read_config()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("IdleTime", "expected KEY=VALUE"),
        ("IdelTime=60", "did you mean 'IdleTime'"),
        ("IdleTime=[", "the value is no YAML"),
    ],
)
def test_a_change_that_cannot_be_is_told(text, told):
    with pytest.raises(InputError, match=told.replace("'", ".")):
        parse_changes([text])


def test_a_change_stands_in_place_of_what_the_file_says(tmp_path):
    path = tmp_path / "c.yml"
    path.write_text("ComputeClusterModel: {IdleTime: '9:00', BootTime: '1:00'}\n")
    config = read_config(path, parse_changes(["IdleTime=2:00", "region_name=us-east-1"]))
    assert (config.idle_s, config.boot_s, config.region) == (120.0, 60.0, "us-east-1")
