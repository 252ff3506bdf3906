"""Schedulers of recorded Batsim runs as policies of ours: what they decided, on jobs as recorded."""

import json
from dataclasses import replace

import polars as pl
import pytest
from tests.build import one_core_machines, placements, starts

from unspool.conform.schedulers import (
    Equivalent,
    Killer,
    OneByOne,
    Rejecter,
    Replacer,
    Together,
    equivalent,
    machines_of,
)  # fmt: skip
from unspool.errors import InputError
from unspool.model.network import Host, Network
from unspool.model.platform import MachineGroup, MachineType, Platform
from unspool.model.profile import Delay, HomogeneousTask, Receive, Send, Sequence
from unspool.model.workload import Workload
from unspool.results.run import run

FOUR = one_core_machines(4)


def jobs(*rows, details=None):
    """Jobs of (submit, run, machines) with ids 0, 1, …"""
    submit, length, machines = zip(*rows, strict=True)
    table = {
        "job_id": [str(at) for at in range(len(rows))],
        "submit_time": [float(at) for at in submit],
        "run_time": [float(seconds) for seconds in length],
        "cores": list(machines),
        "machines": list(machines),
    }
    if details is not None:
        table["details"] = details
    return Workload.of(pl.DataFrame(table))


TEN = [(3 * at, 10, 1) for at in range(10)]  # ten delays of 10 s, one every 3 s


def spans(log, policy):
    """(start, end) of every job that started, by id."""
    table = run(log, FOUR, policy).attempts
    return {job: (start, finish) for job, start, finish in table["job_id", "start_time", "finish_time"].iter_rows()}


def test_killer_runs_one_at_a_time_and_kills_it_after_the_delay():
    # As recorded: 0-5, 5-10, …, 45-50.
    found = spans(jobs(*TEN), Killer(5.0, 1))
    assert found == {str(at): (5.0 * at, 5.0 * at + 5) for at in range(10)}


def test_killer_that_kills_twice_is_busy_until_the_second():
    # As recorded: 0-5, 10-15, …, 90-95.
    found = spans(jobs(*TEN), Killer(5.0, 2))
    assert found == {str(at): (10.0 * at, 10.0 * at + 5) for at in range(10)}


def test_killer_without_a_delay_kills_each_as_it_starts():
    assert spans(jobs(*TEN), Killer()) == {str(at): (3.0 * at, 3.0 * at) for at in range(10)}


def test_killer_leaves_a_job_that_ended_before():
    # Job 0 ends by itself at 2; the scheduler is busy until 5.
    assert spans(jobs((0, 2, 4), (1, 9, 4)), Killer(5.0, 1)) == {"0": (0.0, 2.0), "1": (5.0, 10.0)}


def test_replacer_kills_what_runs_and_starts_the_next_five_seconds_later():
    # As recorded: the first for 3 s, those at 8, 13, …, 43 for no time, the last for all of its 10 s.
    found = spans(jobs(*TEN), Replacer())
    assert found.pop("0") == (0.0, 3.0)
    assert found.pop("9") == (48.0, 58.0)
    assert found == {str(at): (5.0 * at + 3, 5.0 * at + 3) for at in range(1, 9)}


def test_rejecter_turns_every_job_away():
    result = run(jobs(*TEN), FOUR, Rejecter())
    assert (len(result.attempts), len(result.rejected)) == (0, 10)


def test_one_by_one_keeps_the_order_of_submission_and_begins_with_machine_0():
    log = jobs((0, 5, 1), (0, 5, 4), (1, 5, 2))
    assert starts(log, FOUR, OneByOne()) == [0.0, 5.0, 10.0]
    assert placements(run(log, FOUR, OneByOne())) == {
        "0": {0: 1}, "1": {0: 1, 1: 1, 2: 1, 3: 1}, "2": {0: 1, 1: 1},
    }  # fmt: skip


def test_one_by_one_kills_after_its_limit():
    assert spans(jobs((0, 5, 1), (0, 2, 1), (0, 5, 1)), OneByOne(3.0)) == {
        "0": (0.0, 3.0), "1": (3.0, 5.0), "2": (5.0, 8.0),
    }  # fmt: skip


def test_together_starts_jobs_where_their_field_says():
    log = jobs((0, 5, 1), (0, 5, 2), (1, 1, 1), details=[None, '{"alloc": "1 3"}', '{"alloc": "2", "x": 1}'])
    assert starts(log, FOUR, Together()) == [0.0, 0.0, 1.0]
    assert placements(run(log, FOUR, Together())) == {"0": {0: 1}, "1": {1: 1, 3: 1}, "2": {2: 1}}


@pytest.mark.parametrize(
    ("command", "policy", "is_same"),
    [
        ("batsched -v fcfs", "fcfs", True),
        ("batsched -v fcfs_fast", "fcfs", True),
        ("batsched -v filler", "filler", True),
        ("batsched -v easy_bf_fast", "easy", False),
        ("batsched -v conservative_bf", "conservative", False),
        ("pybatsim schedFcfs", "fcfs", True),
        ("pybatsim easyBackfill", "easy", False),
        ("pybatsim schedEasySjfBackfill", "easy:order=sjf", False),
        ("pybatsim fillerSched", "filler", False),
    ],
)
def test_policies_of_ours_stand_for_schedulers_of_theirs(command, policy, is_same):
    assert equivalent(command.split()) == Equivalent(policy, is_same)
    assert len(run(jobs(*TEN), FOUR, policy).attempts) == 10


def star(count):
    """So many hosts of 1 Gflop/s each, that send nothing."""
    none = ((),) * count
    network = Network(tuple(Host(f"h{at}", (1e9,)) for at in range(count)), (), (0,) * count, none, none, none, {})
    return Platform((MachineGroup(MachineType("h", 1), count),), network=network)


def computing(spread, **columns):
    """One job of 4 executors, 1 Gflop each or 4 Gflop in all."""
    table = {"job_id": ["a"], "submit_time": [0.0], "run_time": [0.0], "cores": [4], "machines": [4], "profile": ["p"]}
    task = HomogeneousTask(1e9 if spread == "each" else 4e9, 0.0, spread)
    return Workload.of(pl.DataFrame(table | columns), profiles={"p": task})


@pytest.mark.parametrize(("fraction", "seconds"), [(0.25, 4.0), (0.5, 2.0), (0.75, 2.0)])
def test_executors_go_round_over_fewer_machines(fraction, seconds):
    options = json.dumps({"fraction_of_machines_to_use": fraction, "custom_mapping": True})
    made = equivalent(["batsched", "-v", "filler", "--variant_options", options])
    result = run(computing("each"), star(4), made.policy)
    assert result.jobs["finish_time"].to_list() == [seconds]
    used = result.allocations["last_machine"].max() + 1
    assert used == 4 * fraction


@pytest.mark.parametrize(("fraction", "seconds"), [(0.25, 4.0), (0.5, 2.0), (0.75, pytest.approx(4 / 3))])
def test_totals_are_spread_over_fewer_machines(fraction, seconds):
    options = json.dumps({"fraction_of_machines_to_use": fraction, "custom_mapping": False})
    made = equivalent(["batsched", "-v", "filler", "--variant_options", options])
    result = run(computing("total-v4"), star(4), made.policy)
    assert result.jobs["finish_time"].to_list() == [seconds]


def test_talker_answers_each_message():
    profiles = {
        "ask": Send({"type": "accept"}, 1.0), "hear": Receive("accepted", "good", "bad"), "good": Delay(5.0),
        "bad": Delay(7.0), "talk": Sequence(("ask", "hear")),
    }  # fmt: skip
    log = replace(computing("each", profile=["talk"]), profiles=profiles)
    made = equivalent(["pybatsim", "schedulers/talker.py"])
    assert run(log, star(4), made.policy).jobs["finish_time"].to_list() == [6.0]


def test_options_of_schedulers_become_parameters():
    killer = equivalent(
        ["batsched", "-v", "killer", "--variant_options", '{"delay_before_kill": 5, "nb_kills_per_job": 2}']
    ).policy
    assert (killer.delay_s, killer.kills) == (5.0, 2)
    made = equivalent(["pybatsim", "schedulers/onebyone.py", "-o", '{"storage_mapping": {"pfs": 4}, "kill_after": 2}'])
    assert (made.policy.kill_after_s, made.storages) == (2, {"pfs": 4})
    whole = '{"fraction_of_machines_to_use": 1.0, "custom_mapping": true, "set_job_metadata": true}'
    assert equivalent(["batsched", "-v", "filler", "--variant_options", whole]) == Equivalent("filler")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (["batsched", "-v", "energy_watcher"], "batsched's energy_watcher has no equivalent here"),
        (["other", "fcfs"], "other's scheduler has no equivalent here"),
        (["batsched", "-v", "fcfs", "-o", "lcfs"], "batsched's fcfs has no equivalent here with -o, lcfs"),
        (
            ["pybatsim", "schedulers/onebyone.py", "-o", '{"mapping": {"1": {"0": "0"}}}'],
            "pybatsim's onebyone has no equivalent here with mapping",
        ),
    ],
)
def test_a_scheduler_without_an_equivalent_is_named(command, reason):
    assert equivalent(command) == reason


def test_texts_that_are_no_machines_or_options_are_refused():
    with pytest.raises(InputError, match="'0-x' is no set of machines"):
        machines_of("0-x")
    with pytest.raises(InputError, match="are no JSON object"):
        equivalent(["batsched", "-v", "killer", "--variant_options", "{"])
