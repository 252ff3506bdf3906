"""What learns run times, each part by itself: features, models, when they are trained and when they serve."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.extras import needs_sklearn, needs_torch

from unspool.errors import InputError
from unspool.policies.learning import extras
from unspool.policies.learning.features import Features, Sample, seconds_of
from unspool.policies.learning.layers import Layers
from unspool.policies.learning.learner import Learner
from unspool.policies.learning.linear import Linear
from unspool.policies.learning.network import Network
from unspool.policies.learning.trees import Trees

NONE = np.zeros((1, 0), np.int64)
MODELS = {
    "linear": Linear,
    "boosting": lambda: Trees(trees=5, least=2),
    "network": lambda: Network((8,), epochs=2, batch=40),
    "embedding": lambda: Network((8,), epochs=2, batch=40, coded=(0,), dim=4),
}
EACH = [
    "linear",
    pytest.param("boosting", marks=needs_sklearn),
    pytest.param("network", marks=needs_torch),
    pytest.param("embedding", marks=needs_torch),
]


def sample(user, limit=60.0):
    return Sample((user, "x"), (math.log1p(limit),), limit)


def learner(name, **how):
    return Learner(MODELS[name](), Features([(0, 1), (0,)], numbers=1), **{"interval": 50, "least": 50, **how})


def taught(student, jobs, first=0):
    """Jobs of three users who take about 10, 100 and 1000 s, asked for and learnt one after the other."""
    told = []
    for at in range(first, first + jobs):
        who = at % 3
        job = sample(f"u{who}", 60.0 * (1 + at % 2))
        told.append(student.predict(at, job, float(at)))
        student.learn(at, job, 10.0 ** (who + 1) * (1 + at % 7 / 10), float(at))
    return told


def test_features_are_median_mean_recent_mean_deviation_and_count_of_each_level():
    features = Features([(0, 1), (0,)], numbers=1)
    for keys, logarithm in ((("a", "x"), 1.0), (("a", "x"), 3.0), (("a", "y"), 5.0)):
        features.learn(Sample(keys, (0.0,), 9.0), logarithm)
    row = features.row(Sample(("a", "x"), (7.0,), 9.0)).tolist()
    # a with x: 1 and 3. a alone: 1, 3 and 5, of which the recent mean is ((1 + 3) / 2 + 5) / 2.
    pair, alone = [2.0, 2.0, 2.0, 1.0, math.log(3)], [3.0, 3.0, 3.5, math.sqrt(8 / 3), math.log(4)]
    assert row == pytest.approx([7.0, *pair, *alone, 2.0])


def test_the_median_is_that_of_the_last_hundred_and_one():
    features = Features([(0,)], numbers=0)
    for logarithm in (*[9.0] * 60, *[1.0] * 60):
        features.learn(Sample(("a",), (), 9.0), logarithm)
    row = features.row(Sample(("a",), (), 9.0))
    assert row[0] == row[-1] == 1.0  # 41 of 9 and 60 of 1
    assert row[1] == pytest.approx(5.0)


def test_what_is_unknown_is_nan_and_the_base_falls_back_to_the_next_level_then_to_the_limit():
    features = Features([(0, 1), (0,)], numbers=0)
    features.learn(Sample(("a", "x"), (), 9.0), 4.0)
    known, unknown = (features.row(Sample((who, "z"), (), 9.0)) for who in "ab")
    assert np.isnan(known[:4]).all()
    assert known[-1] == 4.0
    assert unknown[-1] == pytest.approx(math.log1p(9.0))


def test_a_key_that_nobody_knows_teaches_nothing():
    features = Features([(0,)], numbers=0)
    features.learn(Sample((None,), (), 9.0), 4.0)
    assert features.row(Sample((None,), (), 9.0))[-1] == pytest.approx(math.log1p(9.0))


def test_layers_on_paper():
    # 1 - 2 = -1 is cut to 0, 1 + 2 = 3 stays; the last layer doubles it and adds 1.
    layers = Layers.of([np.array([[1.0, 1.0], [-1.0, 1.0]]), np.array([[5.0], [2.0]])], [np.zeros(2), np.ones(1)])
    assert layers.outputs(np.array([[1.0, 2.0]])).tolist() == [[7.0]]


@settings(max_examples=30)
@given(st.integers(0, 1000), st.integers(1, 12))
def test_a_row_gets_the_same_bits_alone_and_among_others(seed, count):
    drawn = np.random.default_rng(seed)
    layers = Layers.of([drawn.normal(size=(6, 9)), drawn.normal(size=(9, 2))], [drawn.normal(size=9), np.zeros(2)])
    rows = drawn.normal(size=(count, 6))
    together = layers.outputs(rows)
    assert all((layers.outputs(row[None])[0] == told).all() for row, told in zip(rows, together, strict=True))


@pytest.mark.parametrize(("quantile", "expected"), [(0.5, 0.5), (0.9, 0.9)])
def test_linear_model_finds_the_quantile_of_uniform_noise(quantile, expected):
    drawn = np.random.default_rng(1).uniform(size=20_000)
    model = Linear(quantile, learning_rate=0.05)
    model.fit(np.zeros((len(drawn), 1)), NONE, drawn)
    assert model.served().predict(np.zeros((1, 1)), NONE)[0] == pytest.approx(expected, abs=0.03)


class Base:
    """A model that says what the base is, whatever it learns."""

    coded, is_online = (), True

    def fit(self, rows, codes, targets):
        self.is_fitted = True

    def served(self):
        return self

    def predict(self, rows, codes):
        return rows[:, -1]


def test_where_no_model_tells_a_quantile_the_last_errors_do():
    student = Learner(Base(), Features([(0,)], numbers=0), quantile=0.25)
    for at in range(20):  # of users whom nobody knows, each a tenth later than the one before: 0, 0.1, ... 1.9
        job = Sample((f"u{at}",), (), 60.0)
        student.predict(at, job, float(at))
        assert student.quantile_s(at) == pytest.approx(60.0)
        student.learn(at, job, 61.0 * math.exp(at / 10) - 1.0, float(at))
    assert student.predict(20, Sample(("new",), (), 60.0), 20.0) == pytest.approx(60.0)
    assert student.quantile_s(20) == pytest.approx(61.0 * math.exp(0.4) - 1.0)  # a quarter of the way from 0 to 19


@needs_sklearn
def test_trees_say_what_scikit_learn_says_also_of_what_is_unknown():
    from sklearn.ensemble import HistGradientBoostingRegressor

    drawn = np.random.default_rng(1)
    rows = drawn.normal(size=(400, 4))
    rows[drawn.uniform(size=rows.shape) < 0.2] = np.nan
    rows[:, -1] = 1.0
    targets = np.nan_to_num(rows[:, 0]) + drawn.normal(size=400)
    model = Trees(trees=20, leaves=31, seed=3)
    model.fit(rows, NONE, targets)
    theirs = HistGradientBoostingRegressor(
        loss="absolute_error", early_stopping=False, random_state=3, max_iter=20, min_samples_leaf=20
    ).fit(rows, targets - 1.0)
    asked = np.where(drawn.uniform(size=(100, 4)) < 0.3, np.nan, drawn.normal(size=(100, 4)))
    asked[:, -1] = 1.0
    assert model.served().predict(asked, NONE) == pytest.approx(theirs.predict(asked) + 1.0, abs=1e-12)


@needs_sklearn
def test_trees_take_a_column_of_which_nothing_is_known():
    rows = np.array([[np.nan, float(at % 2), 0.0] for at in range(100)])
    model = Trees(trees=30, least=5)
    model.fit(rows, NONE, rows[:, 1])
    assert model.served().predict(np.array([[np.nan, 1.0, 0.0], [7.0, 1.0, 0.0]]), NONE) == pytest.approx(
        [1.0, 1.0], abs=0.1
    )


@pytest.mark.parametrize("name", EACH)
def test_until_enough_has_ended_the_base_is_predicted(name):
    student = learner(name)
    told = student.predict(0, sample("u", 60.0), 0.0)
    assert told == pytest.approx(60.0)


@pytest.mark.parametrize("name", EACH)
def test_every_model_learns_who_takes_long(name):
    student = learner(name)
    taught(student, 300)
    short, middle, long = student.predict_many([sample(f"u{who}") for who in range(3)])
    assert 8 < short < 20 < 80 < middle < 200 < 800 < long < 2000


@pytest.mark.parametrize("name", EACH)
def test_one_seed_gives_the_same_bits(name):
    assert taught(learner(name), 200) == taught(learner(name), 200)


@pytest.mark.parametrize("name", EACH)
def test_looking_ahead_changes_no_bit(name):
    alone, ahead = learner(name), learner(name)
    told = taught(alone, 210)
    found = []
    for first in range(0, 210, 15):
        batch = range(first, first + 15)
        ahead.look_ahead(batch, [sample(f"u{at % 3}", 60.0 * (1 + at % 2)) for at in batch])
        found += taught(ahead, 15, first)
    assert found == told


@pytest.mark.parametrize("name", EACH)
def test_many_at_once_are_what_each_is_alone(name):
    student = learner(name)
    taught(student, 120)
    jobs = [sample(f"u{who}", limit) for who in range(5) for limit in (30.0, 60.0)]
    together = student.predict_many(jobs)
    assert together == [student.predict_many([job])[0] for job in jobs]


@pytest.mark.parametrize("name", EACH)
def test_what_was_saved_goes_on_with_the_same_bits(name, tmp_path):
    one = learner(name)
    taught(one, 130)
    one.save(tmp_path / "kept.npz")
    two = learner(name)
    two.load(tmp_path / "kept.npz")
    assert taught(one, 130, 130) == taught(two, 130, 130)


def test_weights_are_kept_between_trainings():
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'unspool[torch]'")
    rows, targets = np.ones((64, 3)), np.full(64, 3.0)
    model = Network((8,), epochs=20, batch=64)
    errors = []
    for _ in range(4):
        model.fit(rows, np.zeros((64, 0), np.int64), targets)
        errors.append(abs(model.served().predict(rows[:1], NONE)[0] - 3.0))
    # One that began anew each time would end each training with the same error.
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0] / 2


def test_a_table_of_embeddings_grows_with_the_ids():
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'unspool[torch]'")
    model = Network((4,), epochs=1, batch=100, coded=(0,), dim=2)
    for most in (10, 200):
        codes = np.arange(most)[:, None]
        model.fit(np.ones((most, 3)), codes, np.full(most, 2.0))
    assert len(model.served().tables[0]) >= 200
    assert np.isfinite(model.served().predict(np.ones((1, 3)), np.array([[9999]]))).all()


@needs_sklearn
def test_a_model_serves_only_after_its_training_time_has_passed():
    now, later = learner("boosting"), learner("boosting", delay_s=10.0)
    for student in (now, later):
        taught(student, 50)  # trained at 49
    job = sample("u0")
    base = math.expm1(now.features.row(job)[-1])
    assert later.predict("a", job, 58.0) == pytest.approx(base)
    assert now.predict("a", job, 58.0) == later.predict("b", job, 59.0) != pytest.approx(base)


def test_an_online_model_that_serves_later_still_serves():
    student = learner("linear", delay_s=5.0)
    taught(student, 100)
    assert student.predict("a", sample("u2"), 200.0) > 500.0


def test_intervals_hold_as_often_as_they_say():
    drawn = np.random.default_rng(2)
    student = learner("linear", coverage=0.8)
    for at in range(3000):
        job = sample(f"u{at % 3}")
        student.predict(at, job, float(at))
        low, high = student.interval_s(at)
        assert low <= high
        student.learn(at, job, float(np.exp(drawn.normal(3.0 + at % 3, 0.5))), float(at))
    assert student.values()["interval_coverage"] == pytest.approx(0.8, abs=0.03)


def test_seconds_are_never_negative_nor_without_end():
    assert seconds_of(-3.0) == 0.0
    assert math.isfinite(seconds_of(1e9))


@pytest.mark.parametrize(("module", "extra"), [("sklearn", "ml"), ("torch", "torch")])
def test_a_missing_package_is_one_sentence_that_names_the_extra(monkeypatch, module, extra):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(extras, "import_module", missing)
    with pytest.raises(InputError, match=rf"which is not installed; say: pip install 'unspool\[{extra}\]'"):
        Trees() if module == "sklearn" else Network()


@pytest.mark.parametrize("how", [{"interval": 0}, {"delay_s": -1.0}, {"coverage": 1.0}])
def test_settings_that_make_no_sense_are_refused(how):
    with pytest.raises(InputError, match="expected"):
        learner("linear", **how)


def test_a_file_of_something_else_is_refused(tmp_path):
    student = learner("linear")
    (tmp_path / "x.npz").write_text("no arrays")
    with pytest.raises(InputError, match="not a file that save wrote"):
        student.load(tmp_path / "x.npz")
    with pytest.raises(InputError, match="there is no such file"):
        student.load(tmp_path / "y.npz")
    Learner(Linear(), Features([(0,)], numbers=0)).save(tmp_path / "other.npz")
    with pytest.raises(InputError, match="holds Linear with other features"):
        student.load(tmp_path / "other.npz")
