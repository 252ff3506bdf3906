"""Jobs with profiles: the engine against its slow twin, forks, and laws that hold under every policy."""

import os
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.fluid_build import fluid_jobs, outcome, platform
from tests.oracles import profiles as twin
from tests.strategies_profiles import fluid_scenes

from unspool.analysis.check import check_schedule
from unspool.model.network import Contention
from unspool.plugins import build
from unspool.results.run import run
from unspool.simulation.engine import Engine

# A few in the suite; thousands where somebody asks for them.
EXAMPLES = int(os.environ.get("UNSPOOL_EXAMPLES", "60"))
RELAXED = settings(max_examples=EXAMPLES)  # the first call compiles
VARIANTS = st.sampled_from(["simgrid", "clean"])
POLICIES = ("fcfs", "filler", "easy", "conservative", "sjf")


def replayed(scene, policy, sharing="simgrid", strict=False):
    network, labels, rows, profiles = scene
    storage = {label: network.hosts[host].name for label, host in labels.items()}
    rules = Contention(sharing=sharing, strict=strict, storage=storage)
    jobs = fluid_jobs(rows, profiles)
    return jobs, run(jobs, platform(network), policy, kill_at_walltime=True, contention=rules)


@RELAXED
@given(scene=fluid_scenes(), sharing=VARIANTS, strict=st.booleans(), policy=st.sampled_from(["fcfs", "filler"]))
def test_every_job_starts_and_ends_when_its_twin_does(scene, sharing, strict, policy):
    network, labels, rows, profiles = scene
    expected, is_delicate = twin.replay(
        network, rows, profiles, twin.Rules(sharing, strict=strict, storage=labels), policy
    )
    found = outcome(replayed(scene, policy, sharing, strict)[1])
    is_same = [row[2:] for row in found] == [row[2:] for row in expected] and all(
        mine[:2] == pytest.approx(theirs[:2], rel=1e-9, abs=1e-9) for mine, theirs in zip(found, expected, strict=True)
    )
    assume(is_same or not is_delicate)  # rounding decided who was first
    assert found == [(*(pytest.approx(time, rel=1e-9, abs=1e-9) for time in row[:2]), *row[2:]) for row in expected]


@RELAXED
@given(scene=fluid_scenes(), policy=st.sampled_from(POLICIES))
def test_no_policy_gives_a_machine_twice_or_starts_a_job_before_it_is_there(scene, policy):
    jobs, result = replayed(scene, policy)
    report = check_schedule(result, jobs, policy="none")
    # How long such a job runs is in no log.
    assert [verdict.law for verdict in report.verdicts if verdict.violations and verdict.law != "run time"] == []
    assert set(result.jobs["state"]) <= {"completed", "failed", "walltime"}
    walltimes = result.jobs["walltime"].fill_null(float("inf"))
    assert ((result.jobs["finish_time"] - result.jobs["start_time"]) <= walltimes + 1e-9).all()


@RELAXED
@given(scene=fluid_scenes(), at=st.sampled_from((0.0, 0.25, 0.7, 1.0, 2.25, 4.0)), sharing=VARIANTS)
def test_both_branches_of_a_fork_equal_an_uninterrupted_run_bit_for_bit(scene, at, sharing):
    network, labels, rows, profiles = scene
    storage = {label: network.hosts[host].name for label, host in labels.items()}
    rules = Contention(sharing=sharing, storage=storage)
    jobs, policy = fluid_jobs(rows, profiles), build("schedulers", "fcfs")
    whole, first = (Engine(jobs, platform(network), kill_at_walltime=True, contention=rules) for _ in range(2))
    whole.run(policy)
    first.run(policy, until=at)
    second = first.fork()
    second.run(policy)
    assert journal(second) == journal(whole)
    first.run(policy)  # what its fork did has changed nothing here
    assert journal(first) == journal(whole)


def journal(engine):
    codes = None if engine.state.fluid is None else engine.state.fluid.codes.tobytes()
    rows = engine.place.rows[: int(engine.core.course[0]["rows"])]
    return engine.attempts.tobytes(), rows.tobytes(), codes


@RELAXED
@given(scene=fluid_scenes(), sharing=VARIANTS)
def test_other_names_of_hosts_and_links_change_nothing(scene, sharing):
    network, labels, rows, profiles = scene
    other = replace(
        network,
        hosts=tuple(replace(host, name=f"z{99 - at}") for at, host in enumerate(network.hosts)),
        links=tuple(replace(link, name=f"y{99 - at}") for at, link in enumerate(network.links)),
    )
    assert outcome(replayed((other, labels, rows, profiles), "fcfs", sharing)[1]) == outcome(
        replayed(scene, "fcfs", sharing)[1]
    )
