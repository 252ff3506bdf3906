"""check_policy passes what is sound, and catches cheaters."""

import random

import pytest

import unspool
from unspool import Annotate, Kill, Start, WakeAt
from unspool.analysis.audit.laws import POLICY_LAWS
from unspool.plugins import BUILT_IN

PLACEMENTS = ("cheapest-fit", "largest-size", "least-added-cost")


def in_order_of(key):
    def decide(view):
        free = view.free_cores
        for job in sorted(view.queue, key=key):
            if job.cores <= free:
                free -= job.cores
                yield Start(job)

    return decide


shortest_first = in_order_of(lambda job: job.estimate)


class Clairvoyant:
    """Knows how long jobs run, and says so."""

    clairvoyant = True

    def decide(self, view):
        return list(in_order_of(lambda job: job.run_time)(view))


def by_address(view):
    return list(in_order_of(id)(view))


def by_chance(view):
    return list(in_order_of(lambda job: random.random())(view))


def by_run_time(view):
    """Looks behind the view."""
    return list(in_order_of(lambda job: float(view._seen.core.jobs[job.index]["run_time"]))(view))


def by_what_comes_last(view):
    """Looks behind the view at an arrival."""
    late = float(view._seen.core.jobs[-1]["submit"]) % 20
    return list(in_order_of(lambda job: job.estimate if late else -job.estimate)(view))


class Stateful:
    """Remembers across instants, and draws from a generator of its own."""

    def __init__(self):
        self.random = random.Random(7)

    def decide(self, view):
        return list(in_order_of(lambda job: self.random.random())(view))


def broken(policy, **options):
    return [verdict.law for verdict in unspool.check_policy(policy, workloads=12, **options).violations]


# Those that start machines need a cloud, and are held against twins there; rl needs a model (tests/rl).
@pytest.mark.parametrize("policy", [name for name in BUILT_IN["schedulers"] if name not in (*PLACEMENTS, "rl")])
def test_every_built_in_passes_with_the_laws_of_its_own(policy):
    report = unspool.check_policy(policy, laws=[policy] if policy in POLICY_LAWS else [], workloads=12)
    assert report.ok, str(report)
    assert all(verdict.checked > 0 for verdict in report.verdicts)
    assert sum(verdict.violations for verdict in report.verdicts) == 0


@pytest.mark.parametrize("policy", [shortest_first, Stateful, Stateful()])
def test_a_sound_policy_passes(policy):
    assert broken(policy) == []


def test_a_policy_that_never_starts_a_job_is_caught():
    assert broken(lambda view: []) == ["ends"]


def test_a_policy_that_asks_to_be_woken_for_ever_is_caught():
    report = unspool.check_policy(lambda view: [WakeAt(view.now + 1)])
    assert [verdict.law for verdict in report.violations] == ["ends"]
    assert report.notes == ("a run did not end: no more workloads were tried",)


@pytest.mark.parametrize("policy", [by_address, by_chance])
def test_a_policy_that_goes_by_chance_is_caught(policy):
    assert "determinism" in broken(policy)


@pytest.mark.parametrize("policy", [by_run_time, by_what_comes_last])
def test_a_policy_that_sees_the_future_is_caught(policy):
    assert broken(policy) == ["no look-ahead"]


def test_a_clairvoyant_policy_may_know_run_times_and_nothing_else():
    report = unspool.check_policy(Clairvoyant(), workloads=12)
    assert report.ok
    assert report["no look-ahead"].checked > 0
    assert report.notes == ("the policy is clairvoyant: run times were left as they are",)

    class Prophet(Clairvoyant):
        def decide(self, view):
            return by_what_comes_last(view)

    assert broken(Prophet()) == ["no look-ahead"]


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (lambda view: 1 / 0, "it raised ZeroDivisionError: division by zero"),
        (lambda view: 5, "5 is no list of decisions"),
        (lambda view: [Start(job) for job in view.queue], "cores"),
        (lambda view: [Start(job) for job in view.queue if job.run_time < 5], "has not ended"),
    ],
)
def test_a_policy_that_breaks_the_rules_is_caught(policy, told):
    report = unspool.check_policy(policy, workloads=5)
    assert [verdict.law for verdict in report.violations] == ["decisions"]
    assert told in report["decisions"].example


def test_a_claim_that_does_not_hold_is_caught():
    assert broken(shortest_first, laws=["easy"]) == ["promise", "greedy"]
    assert "order" in broken(shortest_first, laws=["fcfs"])
    assert broken("easy", laws=["conservative"]) == ["first plan"]


def test_going_by_names_is_told_and_does_not_count():
    report = unspool.check_policy(in_order_of(lambda job: job.id), workloads=12)
    assert report.ok
    assert report["names"].violations > 0


def test_killing_and_notes_are_no_violation_but_must_be_repeatable():
    def impatient(view):
        yield from (Kill(job) for job in view.running if view.now > job.start_time + 30)
        for decision in in_order_of(lambda job: job.index)(view):
            yield decision
            yield Annotate(decision.job, "here")

    assert broken(impatient) == []
    assert broken(lambda view: [*in_order_of(id)(view), *(Annotate(job, str(id(job))) for job in view.arrived)]) == [
        "determinism"
    ]


def test_on_machines():
    report = unspool.check_policy("easy", laws=["easy"], platform="4x2", workloads=10)
    assert report.ok
    assert report["machines"].checked > 0


def test_wrong_use_is_refused_in_a_sentence():
    with pytest.raises(unspool.InputError, match="unknown policy with laws 'esay'; did you mean 'easy'"):
        unspool.check_policy("easy", laws=["esay"])
    with pytest.raises(unspool.InputError, match="workloads is 0; expected 1 or more"):
        unspool.check_policy("easy", workloads=0)
