"""Energy, states and sleep on paper: hosts of 1 Gflop/s that draw 100 W idle, 110 to 200 W at work, 10 W asleep.

In state 1 they have half the speed, and draw 80 W idle and 85 to 120 W at work. Falling asleep takes 2 s at 50 W,
waking 10 s at 150 W.
"""

import pytest
from tests.power_build import logged, powered, working
from tests.smpi_build import write_trace

from unspool.errors import DecisionError, InputError
from unspool.model.profile import Delay, HomogeneousTask, Task, Trace
from unspool.policies.base import SetPstate, Start, WakeAt
from unspool.results.run import run

WORK = HomogeneousTask(10e9, 0.0)  # 10 s on each executor


def energy(result):
    return result.summary["energy_j"]


def test_a_busy_core_draws_all_and_an_idle_machine_its_idle_watts():
    result = run(working([(0.0, "w", 1)], {"w": WORK}), powered(2), "fcfs", energy=True)
    assert energy(result) == 10 * 200 + 10 * 100
    assert result.jobs["energy_j"].to_list() == [2000.0]
    assert result.machines["energy_j"].to_list() == [2000.0, 1000.0]


def test_a_delay_draws_idle_watts_and_a_core_half_at_work_half_of_the_rest():
    profiles = {"d": Delay(10.0), "half": Task((10e9, 5e9), ())}
    result = run(working([(0.0, "d", 1), (10.0, "half", 2)], profiles), powered(2), "fcfs", energy=True)
    assert result.jobs["energy_j"].to_list() == pytest.approx([1000.0, 2000.0 + 1550.0], rel=1e-12)


def test_one_of_four_cores_is_a_load_of_a_quarter():
    watts = "100:120:200"
    there = powered(1, cores=4, watts=watts, speeds=(1e9,), sleeps="")
    result = run(working([(0.0, "w", 1)], {"w": WORK}), there, "fcfs", energy=True)
    assert energy(result) == pytest.approx(10 * 140.0, rel=1e-12)


def test_jobs_of_a_log_keep_the_cores_busy_that_they_hold():
    there = powered(1, cores=4, slots=4, watts="100:120:200", speeds=(1e9,), sleeps="")
    result = run(logged([(0, 10, 1), (0, 5, 3)]), there, "fcfs", energy=True)
    # All four cores for 5 s, then one of them for 5 s: 200 W and 140 W.
    assert energy(result) == pytest.approx(5 * 200.0 + 5 * 140.0, rel=1e-12)
    # Idle watts in equal parts, the rest by cores: (50 + 25) * 5 + 140 * 5, and (50 + 75) * 5.
    assert result.jobs["energy_j"].to_list() == pytest.approx([75 * 5 + 140 * 5, 125 * 5], rel=1e-12)
    assert result.attempts["machines_energy_j"].to_list() == pytest.approx([1700.0, 1000.0], rel=1e-12)


def test_two_tasks_on_one_core_share_what_it_draws():
    result = run(working([(0.0, "w", 1), (0.0, "w", 1)], {"w": WORK}), powered(1, slots=2), "fcfs", energy=True)
    assert result.jobs["finish_time"].to_list() == [20.0, 20.0]
    assert result.jobs["energy_j"].to_list() == pytest.approx([2000.0, 2000.0], rel=1e-12)
    assert result.attempts["machines_energy_j"].to_list() == [4000.0, 4000.0]  # as Batsim counts: all of it, twice


def test_machines_sleep_and_wake_as_the_policy_says():
    def sleepy(view):
        if view.arrived:
            yield SetPstate([0, 1], 2)
            yield WakeAt(20.0)
            return
        if view.now == 20.0 and view.activity(0) == "asleep":
            yield SetPstate(0, 0)
        for order in view.switched:
            seen.append((view.now, order.machines, order.pstate))
        for job in view.queue:
            if view.fits(job):
                joules.append(view.energy())
                yield Start(job)

    seen, joules = [], []
    result = run(working([(0.0, "w", 1)], {"w": WORK}), powered(2), sleepy, energy=True)
    assert seen == [(2.0, (0, 1), 2), (30.0, (0,), 0)]
    assert result.jobs["start_time"].to_list() == [30.0]
    # Both fall asleep for 2 s; then 18 s of sleep and 10 s of waking, and 28 s of sleep.
    before = 2 * 2 * 50 + 18 * 10 + 10 * 150 + 28 * 10
    assert joules == [before]
    assert energy(result) == before + 10 * 200 + 10 * 10
    assert result.summary["machine_switches"] == 3
    assert result.summary["peak_power_w"] == 210.0


def test_a_slower_state_slows_work_that_runs_and_draws_less():
    def slows(view):
        for job in view.queue:
            yield Start(job)
            yield SetPstate(0, 1, at=view.now + 5.0)

    result = run(working([(0.0, "w", 1)], {"w": WORK}), powered(1), slows, energy=True)
    assert result.jobs["finish_time"].to_list() == [15.0]
    assert energy(result) == pytest.approx(5 * 200 + 10 * 120, rel=1e-12)


def test_who_begins_asleep_takes_no_jobs_until_it_wakes():
    def wakes(view):
        if view.activity(0) == "asleep":
            yield SetPstate(0, 0)
        for job in view.queue:
            if view.fits(job):
                yield Start(job)

    result = run(working([(0.0, "w", 1)], {"w": WORK}), powered(1, state=2), wakes, energy=True)
    assert result.jobs["start_time"].to_list() == [10.0]
    assert energy(result) == 10 * 150 + 10 * 200


@pytest.mark.parametrize(
    ("order", "says"),
    [
        (SetPstate(0, 2), "jobs run on the machine"),
        (SetPstate(1, 3), "only stands for switching"),
        (SetPstate(1, 9), "has the states 0 to 4"),
        (SetPstate(7, 2), "there is no machine 7"),
    ],
)
def test_what_a_machine_cannot_do_is_refused(order, says):
    def orders(view):
        yield from (Start(job) for job in view.queue)
        yield order

    with pytest.raises(DecisionError, match=says):
        run(working([(0.0, "w", 1)], {"w": WORK}), powered(2), orders, energy=True)


def test_a_machine_that_sleeps_or_switches_is_left_alone():
    def twice(view):
        yield SetPstate(0, 2)
        yield SetPstate(0, 0)

    with pytest.raises(DecisionError, match="is switching already"):
        run(working([(0.0, "w", 1)], {"w": WORK}), powered(2), twice, energy=True)


def test_without_energy_there_are_no_states():
    with pytest.raises(DecisionError, match="only where energy is asked for"):
        run(logged([(0, 1, 1)]), powered(1), lambda view: [SetPstate(0, 2)])


def test_machines_without_watts_are_refused():
    with pytest.raises(InputError, match="energy needs machines with watts"):
        run(logged([(0, 1, 1)]), "4", "fcfs", energy=True)


def test_who_sleeps_after_a_time_pays_in_waiting_and_saves_joules():
    jobs = working([(0.0, "w", 1), (100.0, "w", 1)], {"w": WORK})
    awake, asleep = (run(jobs, powered(1), name, energy=True) for name in ("easy", "easy:sleep_after=30"))
    assert energy(awake) == 20 * 200 + 90 * 100
    # Busy to 10, idle to 40, 2 s to fall asleep, asleep to 100, 10 s to wake, busy to 120.
    assert energy(asleep) == 10 * 200 + 30 * 100 + 2 * 50 + 58 * 10 + 10 * 150 + 10 * 200
    assert asleep.jobs["wait_time"].to_list() == [0.0, 10.0]


def test_a_job_that_comes_while_its_machine_falls_asleep_waits_for_both():
    jobs = working([(0.0, "w", 1), (11.0, "w", 1)], {"w": WORK})
    result = run(jobs, powered(1), "fcfs:sleep_after=0")
    assert result.jobs["start_time"].to_list() == [0.0, 22.0]  # asleep at 12, awake at 22


def test_a_power_cap_keeps_machines_asleep_and_is_never_exceeded():
    jobs = working([(0.0, "w", 1), (0.0, "w", 1), (0.0, "w", 3)], {"w": WORK})
    result = run(jobs, powered(3), "easy:power_cap=410")
    # One works at 200 W while two fall asleep at 50 W each; then a second wakes for 10 s: 200 + 200 + 10 W.
    assert result.jobs["start_time"].to_list() == [0.0, 10.0]
    assert result.summary["peak_power_w"] <= 410.0
    assert "leaves 2 at the most" in result.rejected["reason"][0]


def test_where_nobody_can_sleep_a_cap_slows_all_down():
    jobs = working([(0.0, "w", 2)], {"w": WORK})
    there = powered(2, watts="100:110:200, 80:85:120", speeds=(1e9, 0.5e9), sleeps="")
    result = run(jobs, there, "fcfs:power_cap=300")
    assert result.jobs["finish_time"].to_list() == [20.0]
    assert result.summary["peak_power_w"] == 240.0
    with pytest.raises(InputError, match="all together draw up to 240 W"):
        run(jobs, there, "fcfs:power_cap=200")


def test_only_machines_that_can_sleep_do():
    there = powered(1, watts="100:200", speeds=(1e9,), sleeps="")
    with pytest.raises(InputError, match="no machine has a state to sleep in"):
        run(logged([(0, 1, 1)]), there, "easy:sleep_after=60")


@pytest.mark.parametrize("policy", ["easy:sleep_after=-1", "easy:power_cap=0", "fcfs:power_cap=much"])
def test_times_and_watts_that_make_no_sense_are_refused(policy):
    with pytest.raises(InputError, match="expected"):
        run(logged([(0, 1, 1)]), powered(1), policy)


def test_ranks_of_mpi_programs_draw_while_they_compute(tmp_path):
    # One computes for 10 s and the other for 4 s, and waits for it; beside them, a task of 5 s on a machine of its own.
    scripts = ["compute 1e10", "barrier"], ["compute 4e9", "barrier", "sleep 1"]
    trace = Trace("smpi", str(write_trace(tmp_path, scripts)))
    jobs = working([(0.0, "mpi", 2), (0.0, "t", 1)], {"mpi": trace, "t": HomogeneousTask(5e9, 0.0)})
    result = run(jobs, powered(3), "fcfs", energy=True)
    until = result.jobs["finish_time"].max()
    assert until == pytest.approx(11.0, abs=0.1)
    expected = [10 * 200 + (until - 10) * 100, 4 * 200 + (until - 4) * 100, 5 * 200 + (until - 5) * 100]
    assert result.machines["energy_j"].to_list() == pytest.approx(expected, rel=1e-9)
    assert result.jobs["energy_j"].to_list() == pytest.approx([expected[0] + expected[1], 1000.0], rel=1e-9)
