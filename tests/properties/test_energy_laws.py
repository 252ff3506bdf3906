"""Energy is the integral of power: held against a slow sum, in fractions, over stretches in which nothing changes."""

import random
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.power_build import SPEEDS, logged, powered, working

from unspool.metrics.energy import joules_between, machine_joules
from unspool.model.power import power_of
from unspool.model.profile import Delay, HomogeneousTask
from unspool.policies.base import SetPstate, Start
from unspool.results.run import run

COMPUTES = {"w": True, "d": False}
PROFILES = {"w": HomogeneousTask(7.3e9, 0.0), "d": Delay(4.7)}

jobs_that_work = st.lists(
    st.tuples(st.integers(0, 400).map(lambda tenths: tenths / 10), st.sampled_from("wd"), st.integers(1, 3)),
    min_size=1,
    max_size=8,
)
jobs_of_a_log = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 200).map(lambda tenths: tenths / 10), st.integers(1, 4)),
    min_size=1,
    max_size=8,
)


class Restless:
    """Starts whom it can, slows machines down and wakes them and puts them to sleep by the throw of a die."""

    def __init__(self, seed):
        self.die = random.Random(seed)
        self.joules = []

    def decide(self, view):
        self.joules.append((view.now, view.energy()))
        moved = set()
        for machine in range(view.machine_count):
            how, throw = view.activity(machine), self.die.random()
            if how == "asleep" and (throw < 0.5 or not view.running):
                moved.add(machine)
                yield SetPstate(machine, self.die.choice([0, 1]))
            elif how == "awake" and throw < 0.2:
                yield SetPstate(machine, self.die.choice([0, 1]))
            elif how == "awake" and throw < 0.4 and view.free(machine)[0] >= 1 and view.running:
                moved.add(machine)
                yield SetPstate(machine, 2)
        free = [m for m in range(view.machine_count) if m not in moved and view.free(m)[0] >= 1]
        for job in view.queue:
            if job.units <= len(free):
                yield Start(job, free[: job.units])
                free = free[job.units :]


def state_at(result, machine, time):
    """The state of a machine just after a time, and whether it is on the way there."""
    found = result.platform.network.hosts[machine].state, False
    for row in result.switches.iter_rows(named=True):
        if row["machine"] == machine and row["time"] <= time:
            found = (row["via"], True) if time < row["until"] else (row["pstate"], False)
    return found


def jobs_at(result, machine, time):
    """Attempts that are on a machine just after a time."""
    held = result.allocations.rows(named=True)
    on = {row["attempt"]: row["units"] for row in held if row["first_machine"] <= machine <= row["last_machine"]}
    return [
        (row, on[row["attempt"]])
        for row in result.attempts.rows(named=True)
        if row["attempt"] in on and row["start_time"] <= time < row["finish_time"]
    ]


def machines_of(result, attempt):
    rows = [row for row in result.allocations.rows(named=True) if row["attempt"] == attempt]
    return [machine for row in rows for machine in range(row["first_machine"], row["last_machine"] + 1)]


def stretches(result):
    """Times between which nothing changes."""
    times = {0.0, *result.power["finish_time"].to_list()}
    times |= {*result.attempts["start_time"].to_list(), *result.attempts["finish_time"].to_list()}
    times |= {*result.switches["time"].to_list(), *result.switches["until"].to_list()}
    return pairwise(sorted(times))


def slow_watts(result, machine, time, load_of):
    """What a machine draws, by the rule alone."""
    state, switches = state_at(result, machine, time)
    watts = power_of(result.platform.network.hosts[machine]).states[state]
    load = Fraction(1) if switches else min(load_of(result, machine, time), Fraction(1))
    if load == 0:
        return Fraction(watts.idle)
    return Fraction(watts.least) + (Fraction(watts.full) - Fraction(watts.least)) * load


def slow_joules(result, load_of, machines):
    return {
        machine: sum(
            (Fraction(until) - Fraction(since)) * slow_watts(result, machine, since, load_of)
            for since, until in stretches(result)
        )
        for machine in range(machines)
    }


@given(rows=jobs_that_work, seed=st.integers(0, 2**16))
@settings(max_examples=25)
def test_energy_of_machines_that_sleep_is_the_integral_of_their_power(rows, seed):
    jobs = working(rows, PROFILES)
    names = dict(zip(jobs.table["job_id"], jobs.table["profile"], strict=True))
    policy = Restless(seed)
    result = run(jobs, powered(3), policy, energy=True)

    def load_of(result, machine, time):
        """A task goes as fast as the slowest of its machines."""
        for row, _ in jobs_at(result, machine, time):
            if COMPUTES[names[row["job_id"]]]:
                speeds = [SPEEDS[state_at(result, other, time)[0]] for other in machines_of(result, row["attempt"])]
                return Fraction(min(speeds)) / Fraction(SPEEDS[state_at(result, machine, time)[0]])
        return Fraction(0)

    slow = slow_joules(result, load_of, 3)
    found = dict(result.machines.select("machine", "energy_j").iter_rows())
    for machine, joules in slow.items():
        assert found[machine] == pytest.approx(float(joules), rel=1e-9)
    for time, joules in policy.joules[:: max(1, len(policy.joules) // 5)]:
        upto = float(machine_joules(result.power, 0.0, time)["energy_j"].sum())
        assert joules == pytest.approx(upto, rel=1e-9, abs=1e-6)


@given(rows=jobs_of_a_log)
@settings(max_examples=25)
def test_jobs_that_share_machines_have_together_what_these_draw_while_they_run(rows):
    result = run(logged(rows), powered(2, cores=4, slots=4), "fcfs", energy=True)

    def load_of(result, machine, time):
        return sum((Fraction(units, 4) for _, units in jobs_at(result, machine, time)), Fraction(0))

    slow = slow_joules(result, load_of, 2)
    found = dict(result.machines.select("machine", "energy_j").iter_rows())
    busy = Fraction(0)
    for machine, joules in slow.items():
        assert found.get(machine) == pytest.approx(float(joules), rel=1e-9, abs=1e-9)
        for since, until in stretches(result):
            if jobs_at(result, machine, since):
                busy += (Fraction(until) - Fraction(since)) * slow_watts(result, machine, since, load_of)
    assert float(result.jobs["energy_j"].sum()) == pytest.approx(float(busy), rel=1e-9, abs=1e-9)
    whole, share = result.attempts["machines_energy_j"], result.attempts["energy_j"]
    assert (share <= whole * (1 + 1e-12) + 1e-9).all()


@given(rows=jobs_that_work, seed=st.integers(0, 2**16), cuts=st.lists(st.floats(0, 60), min_size=2, max_size=2))
@settings(max_examples=15)
def test_joules_of_two_times_add_up(rows, seed, cuts):
    result = run(working(rows, PROFILES), powered(3), Restless(seed), energy=True)
    end = float(result.power["finish_time"].max() or 0.0)
    times = [0.0, *sorted(min(cut, end) for cut in cuts), end]
    machines = np.arange(3)
    parts = [
        joules_between(result.power, machines, np.full(3, since), np.full(3, until)) for since, until in pairwise(times)
    ]
    whole = machine_joules(result.power, 0.0, end)["energy_j"].to_numpy()
    assert sum(parts) == pytest.approx(whole, rel=1e-9, abs=1e-6)
