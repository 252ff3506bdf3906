"""Predicted run times in place of walltimes, on paper. Rows are (submit, run, cores, walltime)."""

import pytest
from tests.build import everywhere, starts, workload
from tests.extras import needs_sklearn

from unspool.errors import InputError
from unspool.model.platform import Platform
from unspool.policies.predictors.scaled import Scaled
from unspool.policies.predictors.statistics import Statistics
from unspool.policies.schedulers.easy import Easy

# Two jobs of ann, of 10 and 20 s, that asked for 100 s: from then on her jobs are expected to run for 15 s.
LEARNT = [(0, 10, 1, 100), (0, 20, 1, 100)]
# A job of bob holds one core from 30 to 80; the next one of his wants two and is the head until then.
HEAD = [(30, 50, 1, 50), (31, 5, 2, 5)]


@everywhere
def test_job_of_a_user_whose_jobs_are_short_may_backfill(cluster):
    jobs = workload([*LEARNT, *HEAD, (32, 15, 1, 100)], user=["ann", "ann", "bob", "bob", "ann"])
    assert starts(jobs, cluster(2), "easy") == [0, 0, 30, 80, 85]
    assert starts(jobs, cluster(2), "easy:predictor=last-two") == [0, 0, 30, 80, 32]


@everywhere
@pytest.mark.parametrize(("submit", "start"), [(65, 65), (66, 85)])
def test_prediction_is_the_mean_of_the_last_two(cluster, submit, start):
    # 65 + 15 is the end of bob's job, 66 + 15 a second later. The job of 2 s, which ended first, is forgotten.
    rows = [(0, 2, 1, 100), (0, 20, 1, 100), (2, 10, 1, 100), *HEAD, (submit, 15, 1, 100)]
    jobs = workload(rows, user=["ann", "ann", "ann", "bob", "bob", "ann"])
    assert starts(jobs, cluster(2), "easy:predictor=last-two") == [0, 0, 2, 30, 80, start]


@everywhere
@pytest.mark.parametrize(("submit", "start"), [(60, 60), (61, 85)])
def test_one_job_that_ended_is_enough(cluster, submit, start):
    jobs = workload([(0, 20, 1, 100), *HEAD, (submit, 15, 1, 100)], user=["ann", "bob", "bob", "ann"])
    assert starts(jobs, cluster(2), "easy:predictor=last-two") == [0, 30, 80, start]


@everywhere
@pytest.mark.parametrize(("walltime", "start"), [(5, 75), (6, 85)])
def test_nobody_is_expected_to_run_longer_than_asked_for(cluster, walltime, start):
    jobs = workload([*LEARNT, *HEAD, (75, 5, 1, walltime)], user=["ann", "ann", "bob", "bob", "ann"])
    assert starts(jobs, cluster(2), "easy:predictor=last-two") == [0, 0, 30, 80, start]


@everywhere
@pytest.mark.parametrize("whose", ["cyd", None])
def test_users_are_apart(cluster, whose):
    jobs = workload([*LEARNT, *HEAD, (32, 15, 1, 100)], user=["ann", "ann", "bob", "bob", whose])
    assert starts(jobs, cluster(2), "easy:predictor=last-two") == [0, 0, 30, 80, 85]


@everywhere
def test_job_that_outlives_its_prediction_is_corrected(cluster):
    # c, of ann, starts at 30 and is expected to end at 45, when d, of all cores, is to start: e would end at 60.
    # At 50 c is overdue and expected to end at 50 + max(60, 15) = 110: e may start. f, at 70, would end at 130.
    rows = [*LEARNT, (30, 100, 2, 200), (31, 5, 3, 5), (40, 20, 1, 20), (50, 60, 1, 60)]
    jobs = workload(rows, user=["ann", "ann", "ann", "bob", "bob", "bob"])
    assert starts(jobs, cluster(3), "easy") == [0, 0, 30, 130, 40, 60]
    assert starts(jobs, cluster(3), "easy:predictor=last-two") == [0, 0, 30, 130, 50, 135]


@everywhere
@pytest.mark.parametrize(("run", "start"), [(8, 2), (9, 15)])
@pytest.mark.parametrize("policy", ["easy", "conservative"])
def test_exact_knows_the_future(cluster, policy, run, start):
    jobs = workload([(0, 10, 1, 100), (1, 5, 2, 5), (2, run, 1, 100)])
    assert starts(jobs, cluster(2), policy) == [0, 10, 15]
    assert starts(jobs, cluster(2), f"{policy}:predictor=exact") == [0, 10, start]


@everywhere
@pytest.mark.parametrize(("submit", "start"), [(9, 9), (9.5, 15)])
def test_no_prediction_is_shorter_than_a_second(cluster, submit, start):
    # c runs for no time.
    jobs = workload([(0, 10, 1, 10), (1, 5, 2, 5), (submit, 0, 1, 100)])
    assert starts(jobs, cluster(2), "easy:predictor=exact") == [0, 10, start]


@everywhere
def test_orders_go_by_the_prediction(cluster):
    jobs = workload([(0, 10, 1, 10), (1, 5, 1, 5), (2, 3, 1, 100)])
    assert starts(jobs, cluster(1), "sjf") == [0, 10, 15]
    assert starts(jobs, cluster(1), "sjf:predictor=exact") == [0, 13, 10]


class OfRiver:
    """A regressor of River for each user; the walltime until one of the user's jobs has ended."""

    def __init__(self, model):
        self.model, self.models = model, {}

    def predict_one(self, job):
        return self.models[job["user"]].predict_one({}) if job["user"] in self.models else job.estimate

    def learn_one(self, job, run_time_s):
        self.models.setdefault(job["user"], self.model.clone()).learn_one({}, run_time_s)


def test_a_model_of_river_predicts():
    pytest.importorskip("river", reason="needs River: pip install river")
    from river import dummy, stats

    jobs = workload([*LEARNT, *HEAD, (32, 15, 1, 100)], user=["ann", "ann", "bob", "bob", "ann"])
    policy = Easy(predictor=OfRiver(dummy.StatisticRegressor(stats.Mean())))
    assert starts(jobs, Platform.pool(2), policy) == [0, 0, 30, 80, 32]


class Cautious:
    """Twice the longest run time so far for jobs that asked for more than a minute, else the walltime."""

    def __init__(self):
        self.told = []

    def predict_one(self, job):
        is_known = self.told and job.estimate > 60
        return 2 * max(run_time_s for _, run_time_s in self.told) if is_known else job.estimate

    def learn_one(self, job, run_time_s):
        self.told.append((job.id, run_time_s))


@pytest.mark.parametrize(("submit", "start"), [(40, 40), (41, 85)])
def test_predictor_of_your_own_is_told_of_every_end_before_it_is_asked(submit, start):
    # From 20 on twice 20 s: 40 + 40 is the end of bob's job.
    jobs = workload([*LEARNT, *HEAD, (submit, 15, 1, 100)])
    assert starts(jobs, Platform.pool(2), Easy(predictor=Cautious()))[-1] == start


def test_each_run_has_a_predictor_of_its_own():
    policy = Easy(predictor=Cautious())
    jobs = workload([*LEARNT, *HEAD, (40, 15, 1, 100)])
    assert starts(jobs, Platform.pool(2), policy) == starts(jobs, Platform.pool(2), policy)
    assert policy.predictor.told == []


@everywhere
@pytest.mark.parametrize(
    ("predictor", "start"),
    [
        ("statistics(by=user)", 32),  # the mean of 10 and 20: 32 + 15 is before 80
        ("statistics(by=user,statistic=quantile,quantile=1.0)", 32),
        ("statistics(by=application)", 85),  # nobody has run this application: the walltime of 100
        ("statistics(by=application+user)", 85),
        ("scaled(factor=0.9)", 85),
    ],
)
def test_statistics_of_jobs_like_it_or_a_part_of_the_walltime(cluster, predictor, start):
    jobs = workload(
        [*LEARNT, *HEAD, (32, 15, 1, 100)],
        user=["ann", "ann", "bob", "bob", "ann"],
        application=["x", "x", "z", "z", "y"],
    )
    assert starts(jobs, cluster(2), f"easy:predictor={predictor}") == [0, 0, 30, 80, start]


class Like:
    """A job as a predictor sees it."""

    estimate = 1000.0

    def __init__(self, **columns):
        self.columns = columns

    def __getitem__(self, column):
        return self.columns.get(column)


def test_scaled_is_a_part_of_the_walltime():
    assert Scaled(0.25).predict_one(Like()) == 250.0
    with pytest.raises(InputError):
        Scaled(-1.0)


def test_statistics_on_paper():
    told = {}
    for statistic in ("mean", "median", "quantile", "decayed"):
        predictor = Statistics(by="user", statistic=statistic, quantile=0.75, half_life=1)
        for run_time in (10.0, 20.0, 60.0):
            predictor.learn_one(Like(user="ann"), run_time)
        told[statistic] = predictor.predict_one(Like(user="ann"))
        assert predictor.predict_one(Like(user="bob")) == 1000.0
    # Decayed: (10 / 4 + 20 / 2 + 60) / (1 / 4 + 1 / 2 + 1).
    assert told == {"mean": 30.0, "median": 20.0, "quantile": 40.0, "decayed": pytest.approx(72.5 / 1.75)}


def test_statistics_fall_back_to_fewer_columns():
    predictor = Statistics(by="user+application")
    predictor.learn_one(Like(user="ann", application="x"), 10.0)
    predictor.learn_one(Like(user="ann", application="y"), 50.0)
    asked = [Like(user="ann", application=name) for name in ("x", "y", "z")]
    assert [predictor.predict_one(job) for job in asked] == [10.0, 50.0, 30.0]


@pytest.mark.parametrize("wrong", [{"by": "usr"}, {"statistic": "mode"}, {"quantile": 2.0}, {"half_life": 0.0}])
def test_statistics_refuse_what_they_cannot_use(wrong):
    with pytest.raises(InputError):
        Statistics(**wrong)


@needs_sklearn
@everywhere
@pytest.mark.parametrize(("submit", "start"), [(65, 65), (66, 85)])
def test_boosting_begins_with_the_median_of_jobs_like_it(cluster, submit, start):
    # Of 10 and 20 s on the scale of log(1 + seconds): sqrt(11 * 21) - 1 = 14.2 s; the head's cores are free at 80.
    jobs = workload([*LEARNT, *HEAD, (submit, 14, 1, 100)], user=["ann", "ann", "bob", "bob", "ann"])
    assert starts(jobs, cluster(2), "easy:predictor=boosting") == [0, 0, 30, 80, start]


@needs_sklearn
@everywhere
def test_a_learned_run_time_is_at_most_the_walltime(cluster):
    # 14.2 s are expected, as above, but one that asks for 14 s at 66 ends by 80 for sure.
    jobs = workload([*LEARNT, *HEAD, (66, 14, 1, 14)], user=["ann", "ann", "bob", "bob", "ann"])
    assert starts(jobs, cluster(2), "easy:predictor=boosting") == [0, 0, 30, 80, 66]
    again = "easy:predictor=boosting(capped=false)"
    assert starts(jobs, cluster(2), again) == [0, 0, 30, 80, 85]


def test_two_runs_with_a_learned_predictor_are_the_same():
    rows = [(at, 5 + at % 11, 1 + at % 3, 60) for at in range(120)]
    jobs = workload(rows, user=[f"u{at % 4}" for at in range(120)])
    once, twice = (starts(jobs, 4, "easy:predictor=quantile(quantile=0.7)") for _ in range(2))
    assert once == twice
