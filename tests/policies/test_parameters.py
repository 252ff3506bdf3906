"""Schedulers with an order or a predictor, by name: what is read, and what is refused in one sentence."""

import math

import pytest
from tests.build import starts, workload

from unspool.errors import DecisionError, InputError
from unspool.model.platform import Platform
from unspool.plugins import build
from unspool.policies.orders import Multifactor, QueueOrder, Shortest
from unspool.policies.predictors.lasttwo import LastTwo
from unspool.policies.schedulers.easy import Easy

ORDERS = "f1, f2, f3, f4, fcfs, ljf, multifactor, priority, random, saf, sjf, unicef, wfp3"
OWN = "or one of your own as module:Name"


def test_an_order_is_given_by_name():
    assert build("schedulers", "easy:order=sjf") == Easy(order="sjf") == Easy(Shortest())


def test_an_order_inside_a_parameter_has_its_own_in_parentheses():
    policy = build("schedulers", "easy:order=multifactor(age=0,size=0),predictor=last-two")
    assert policy.order == Multifactor(age=0, size=0)
    assert isinstance(policy.predictor, LastTwo)


def test_a_predictor_goes_with_schedulers_that_only_order():
    policy = build("schedulers", "multifactor:age=5,predictor=last-two")
    assert policy.queue_order.age == 5
    assert isinstance(policy.predictor, LastTwo)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("easy:order=sjff", f"unknown order 'sjff'; did you mean 'sjf'? Known: {ORDERS}, {OWN}"),
        ("easy:order=multifactor(age=0",
         f"unknown order 'multifactor(age=0'; did you mean 'multifactor'? Known: {ORDERS}, {OWN}"),
        ("easy:order=", f"unknown order ''. Known: {ORDERS}, {OWN}"),
        ("easy:order=5", "order is 5; expected a name such as sjf, or a QueueOrder"),
        ("easy:order=sjf(x=1)", "'sjf(x=1)': unknown parameter 'x'; there are none, so leave it out"),
        ("easy:order=fractions:Fraction",
         "'fractions:Fraction': fractions:Fraction is no order; expected a QueueOrder"),
        ("easy:predictor=last2",
         f"unknown predictor 'last2'; did you mean 'last-two'? Known: boosting, embedding, exact, last-two, "
         f"linear, network, quantile, scaled, statistics, {OWN}"),
        ("easy:predictor=true", "predictor is True; expected predict_one(job), learn_one(job, run_time_s)"),
        ("easy:predictor=fractions:Fraction",
         "'fractions:Fraction': fractions:Fraction is no predictor; "
         "expected predict_one(job) and learn_one(job, run_time_s)"),
        ("easy:ordr=sjf",
         "'easy:ordr=sjf': unknown parameter 'ordr'; did you mean 'order'? "
         "Known: order, power_cap, predictor, sleep_after"),
        ("fcfs:order=sjf", "'fcfs:order=sjf': unknown parameter 'order'. Known: power_cap, predictor, sleep_after"),
        ("sjf:order=ljf", "'sjf:order=ljf': unknown parameter 'order'. Known: power_cap, predictor, sleep_after"),
        ("multifactor:half_life_s=0", "multifactor: half_life_s is 0; expected more than 0 seconds"),
        ("multifactor:longest_age_s=-1", "multifactor: longest_age_s is -1; expected more than 0 seconds"),
        ("multifactor:half_life_s=inf", "multifactor: half_life_s is inf; expected a number"),
        ("easy:order=multifactor(age=nan)", "multifactor: age is nan; expected a number"),
        ("multifactor:age=old", "multifactor: age is 'old'; expected a number"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_told_in_one_sentence(text, sentence):
    with pytest.raises(InputError) as told:
        build("schedulers", text)
    assert str(told.value) == sentence


class Says:
    """Predicts what it is given."""

    def __init__(self, said):
        self.said = said

    def predict_one(self, job):
        return self.said

    def learn_one(self, job, run_time_s):
        """There is nothing to learn."""


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (None, "Says predicts None for job 'a'; expected seconds"),
        ("long", "Says predicts 'long' for job 'a'; expected seconds"),
        ([1, 2], "Says predicts [1, 2] for job 'a'; expected seconds"),
        (math.nan, "Says predicts nan for job 'a'; expected a finite number"),
        (math.inf, "Says predicts inf for job 'a'; expected a finite number"),
    ],
)
def test_a_prediction_that_is_no_time_ends_the_run(said, sentence):
    with pytest.raises(DecisionError) as told:
        starts(workload([(0, 1, 1, 1)]), Platform.pool(1), Easy(predictor=Says(said)))
    assert str(told.value) == sentence


@pytest.mark.parametrize(("submit", "start"), [(9, 9), (9.5, 15)])
def test_a_prediction_below_a_second_is_a_second(submit, start):
    # c is predicted to run for 0.1 s: at 9.5 it would end after b is to start.
    jobs = workload([(0, 10, 1, 10), (1, 5, 2, 5), (submit, 1, 1, 100)])
    assert starts(jobs, Platform.pool(2), Easy(predictor=Hasty())) == [0, 10, start]


class Hasty:
    """A thousandth of what was asked for, for long jobs."""

    def predict_one(self, job):
        return job.estimate / 1000 if job.estimate > 50 else job.estimate

    def learn_one(self, job, run_time_s):
        """There is nothing to learn."""


class ByName(QueueOrder):
    """By the name of the user."""

    def fixed_part(self, workload, used, platform, seed):
        return workload.column("user").rank("dense").to_numpy()[used].astype(float)


def test_an_order_of_your_own_is_a_key_for_each_job():
    jobs = workload([(0, 10, 1, 10)] * 4, user=["dan", "cyd", "ann", "bob"])
    policy = "easy:order=tests.policies.test_parameters:ByName"
    assert starts(jobs, Platform.pool(1), policy) == [30, 20, 0, 10]
