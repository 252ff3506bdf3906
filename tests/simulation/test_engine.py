"""`advance()` and `apply()`: when decisions are carried out, what is refused, and what a view shows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.build import machine_beside_a_closed_one, one_core_machines, placements, workload
from tests.oracles.policies import Easy as PlainEasy
from tests.oracles.policies import Fcfs as PlainFcfs
from tests.strategies import as_jobs, as_workload, rows

from unspool.engine.jobs.events import WAKE
from unspool.errors import DecisionError, InputError, RunError
from unspool.model.platform import MachineGroup, MachineType, Partition, Platform
from unspool.platforms import read_platform
from unspool.policies.base import Annotate, Kill, Reject, Start, WakeAt
from unspool.policies.schedulers.conservative import Conservative
from unspool.policies.schedulers.easy import Easy
from unspool.policies.schedulers.fcfs import Fcfs
from unspool.results.run import run
from unspool.simulation.engine import Engine
from unspool.workloads.generators import lublin

CORES = 8


def engine_of(rows, platform="4", **columns):
    return Engine(workload(rows, **columns), read_platform(platform) if isinstance(platform, str) else platform)


def started(engine):
    """(job, start) in the order of starts."""
    return [(engine.id_of(int(job)), float(start)) for job, start in engine.attempts[["job", "start"]].tolist()]


def ids(jobs):
    return [job.id for job in jobs]


def everything_that_fits(view):
    """Starts one job at a time, so that the next view knows what is left."""
    return [Start(job) for job in view.queue if view.fits(job)][:1]


# When decisions are carried out.


def test_advance_stops_where_something_happened_and_ends_with_none():
    engine = engine_of([(3, 10, 1, 10), (5, 1, 1, 1)])
    instants = []
    while view := engine.advance():
        instants.append(view.now)
        engine.apply([Start(job) for job in view.queue])
    assert instants == [3, 5, 6, 13]
    assert engine.advance() is None


def test_decision_for_later_waits_and_so_do_those_after_it():
    engine = engine_of([(0, 10, 1, 10), (0, 10, 1, 10), (0, 10, 1, 10)])
    engine.advance()
    engine.apply([Start("c"), Start("a", at=5), Start("b")])
    while engine.advance():
        pass
    assert started(engine) == [("c", 0), ("a", 5), ("b", 5)]


def test_decision_that_waited_may_wait_again_for_its_own_time():
    engine = engine_of([(0, 10, 1, 10), (0, 10, 1, 10), (0, 10, 1, 10)])
    engine.advance()
    engine.apply([Start("a", at=5), Start("b", at=3), Start("c", at=7)])
    while engine.advance():
        pass
    assert started(engine) == [("a", 5), ("b", 5), ("c", 7)]


def test_decision_whose_time_has_passed_is_carried_out_now():
    engine = engine_of([(4, 10, 1, 10)])
    engine.advance()
    engine.apply([Start("a", at=1)])
    assert started(engine) == [("a", 4)]


def test_decision_for_later_comes_after_ends_and_before_arrivals():
    # At 10 a ends, then b is started on its core, then c arrives: the view at 10 shows c alone in the queue.
    engine = engine_of([(0, 10, 1, 10), (0, 5, 1, 5), (10, 1, 1, 1)], "1")
    engine.advance()
    engine.apply([Start("a"), Start("b", at=10)])
    view = engine.advance()
    assert (view.now, ids(view.queue), ids(view.running), ids(view.ended)) == (10, ["c"], ["b"], ["a"])


def test_two_lists_of_decisions_wait_apart():
    engine = engine_of([(0, 10, 1, 10), (1, 10, 1, 10)])
    engine.advance()
    engine.apply([Start("a", at=8)])
    engine.advance()
    engine.apply([Start("b", at=4)])
    while engine.advance():
        pass
    assert started(engine) == [("b", 4), ("a", 8)]


def test_decision_for_later_is_checked_when_it_is_carried_out():
    engine = engine_of([(0, 10, 3, 10), (0, 10, 3, 10)])
    engine.advance()
    engine.apply([Start("b", at=5), Start("a")])  # fits now, and no longer at 5, when both are started
    with pytest.raises(DecisionError, match=r"Start\('a'\) at 5 s: it needs 3 cores, 1 are free"):
        engine.advance()


def test_advance_does_not_return_before_ready_at():
    # At 0 the policy needs 20 s to decide. Meanwhile b and c arrive, and a ends.
    engine = engine_of([(0, 5, 1, 5), (3, 5, 1, 5), (7, 5, 1, 5)])
    engine.advance()
    engine.apply([Start("a")], ready_at=20)
    view = engine.advance()
    assert (view.now, ids(view.arrived), ids(view.ended), ids(view.queue)) == (20, ["b", "c"], ["a"], ["b", "c"])
    assert [job.submit_time for job in view.arrived] == [3, 7]
    assert [job.finish_time for job in view.ended] == [5]


def test_job_started_and_ended_before_ready_at_is_among_the_ended():
    engine = engine_of([(0, 5, 1, 5), (0, 30, 1, 30)])
    engine.advance()
    engine.apply([Start("b"), Start("a", at=2)], ready_at=10)
    view = engine.advance()
    assert (view.now, ids(view.ended), ids(view.running)) == (10, ["a"], ["b"])


def test_ready_at_alone_calls_nobody():
    engine = engine_of([(0, 5, 1, 5), (30, 5, 1, 5)])
    seen = []
    while view := engine.advance():
        seen.append(view.now)
        engine.apply([Start(job) for job in view.queue], ready_at=view.now + 1)
    assert seen == [0, 5, 30, 35]


def test_ready_at_that_is_not_later_than_now_changes_nothing():
    engine = engine_of([(0, 5, 1, 5), (3, 5, 1, 5)])
    engine.advance()
    engine.apply([], ready_at=0)
    assert engine.advance().now == 3


def test_arrived_and_ended_are_those_since_decisions_were_last_applied():
    engine = engine_of([(0, 5, 1, 5), (3, 5, 1, 5), (4, 9, 1, 9)])
    seen = []
    while view := engine.advance():
        seen.append((view.now, ids(view.arrived), ids(view.ended)))
        engine.apply([Start(job) for job in view.queue])
    assert seen == [(0, ["a"], []), (3, ["b"], []), (4, ["c"], []), (5, [], ["a"]), (8, [], ["b"]), (13, [], ["c"])]


def test_ended_stand_in_the_order_of_their_starts():
    engine = engine_of([(0, 9, 1, 9), (1, 8, 1, 8), (1, 8, 1, 8)])
    engine.advance()
    engine.apply([Start("a")])
    engine.advance()
    engine.apply([Start("c"), Start("b")])
    assert ids(engine.advance().ended) == ["a", "c", "b"]


def test_job_of_no_length_ends_at_the_same_instant_in_a_new_view():
    engine = engine_of([(2, 0, 1, 1)])
    engine.advance()
    engine.apply([Start("a")])
    view = engine.advance()
    assert (view.now, ids(view.ended), len(view.queue)) == (2, ["a"], 0)


def test_wake_at_calls_the_policy_though_nothing_happens():
    engine = engine_of([(0, 30, 1, 30)])
    instants = []
    while view := engine.advance():
        instants.append(view.now)
        engine.apply([*(Start(job) for job in view.queue), *([WakeAt(7.5), WakeAt(12)] if view.now == 0 else ())])
    assert instants == [0, 7.5, 12, 30]


def test_kill_ends_a_job_frees_its_cores_and_calls_the_policy():
    engine = engine_of([(0, 30, 4, 30), (5, 10, 4, 10)])
    engine.advance()
    engine.apply([Start("a")])
    engine.advance()
    engine.apply([Kill("a"), Start("b")])
    view = engine.advance()
    assert (view.now, ids(view.ended), ids(view.running)) == (5, ["a"], ["b"])
    assert view.ended[0].run_time == 5
    assert engine.advance().now == 15
    assert engine.advance() is None


def test_killed_job_is_told_from_one_that_completed():
    def kill_at_four(view):
        return [*(Start(job) for job in view.queue), *(Kill(job, at=4) for job in view.arrived if job.id == "a")]

    result = run(workload([(0, 30, 2, 30), (0, 10, 2, 10)]), "4x1", kill_at_four)
    assert result.jobs.select("job_id", "finish_time", "state").rows() == [("a", 4, "killed"), ("b", 10, "completed")]


def test_killing_frees_machines():
    engine = engine_of([(0, 30, 4, 30), (5, 10, 4, 10)], "2x2")
    engine.advance()
    engine.apply([Start("a")])
    engine.advance()
    engine.apply([Kill("a"), Start("b", [1, 0])])
    while engine.advance():
        pass
    assert started(engine) == [("a", 0), ("b", 5)]


def test_rejected_job_leaves_the_queue_and_is_listed_with_the_reason():
    engine = engine_of([(0, 5, 1, 5), (0, 5, 1, 5)])
    engine.advance()
    engine.apply([Reject("b", "over budget"), Start("a")])
    assert len(engine.advance().queue) == 0
    assert engine.rejected.rows() == [(2, "b", "over budget")]


def test_annotations_stand_beside_the_jobs_in_the_result():
    def annotate(view):
        starts = [Start(job) for job in view.queue]
        notes = [Annotate(job, f"seen at {view.now:g}") for job in view.arrived if job.id != "b"]
        return [*starts, *notes, *(Annotate(job.id, "over") for job in view.ended if job.id == "a")]

    result = run(workload([(0, 5, 1, 5), (1, 5, 1, 5), (2, 5, 1, 5)]), "4", annotate)
    assert result.jobs["notes"].to_list() == ["seen at 0; over", None, "seen at 2"]


def test_named_machines_are_taken_as_a_map_or_as_a_list():
    def by_hand(view):
        where = {"a": {2: 1}, "b": [1, 0], "c": {0: 1, 2: 1}}
        return [Start(job, where[job.id]) for job in view.queue]

    result = run(workload([(0, 9, 1, 9), (0, 9, 3, 9), (0, 9, 2, 9)]), "3x2", by_hand)
    assert placements(result) == {"a": {2: 1}, "b": {0: 1, 1: 2}, "c": {0: 1, 2: 1}}


def test_named_machines_may_come_from_an_iterator():
    result = run(workload([(0, 9, 3, 9)]), "3x2", lambda view: [Start(job, iter([2, 1])) for job in view.queue])
    assert placements(result) == {"a": {1: 1, 2: 2}}


# What is refused, and how the refusal names the decision.

REFUSED = [
    ("4", [Start("a"), Start("a")], r"Start\('a'\) at 0 s: the job is not waiting"),
    ("4", [Start("nobody")], r"Start\('nobody'\): no such job takes part in this run"),
    ("4", [Start("d")], r"Start\('d'\): no such job takes part in this run"),
    ("4", [Start("c")], r"Start\('c'\) at 0 s: the job is not waiting"),
    ("4", [Start("a"), Start("b")], r"Start\('b'\) at 0 s: it needs 2 cores, 1 are free"),
    ("4", [Start("a", [0])], r"Start\('a'\): a pool has no machines to choose from"),
    ("2x2", [Start("a"), Start("b")], r"Start\('b'\) at 0 s: no machines have room for it"),
    ("2x2", [Start("a", [0, 2])], r"Start\('a'\): there is no machine 2"),
    ("2x2", [Start("a", [-1, 0])], r"Start\('a'\): there is no machine -1"),
    ("2x2", [Start("a", {0: 2, 9: 1})], r"Start\('a'\): there is no machine 9"),
    ("2x2", [Start("a", {0: 3})], r"Start\('a'\) at 0 s: 3 units on machine 0: 2 fit"),
    ("2x2", [Start("a", {0: 2})], r"Start\('a'\): 2 units placed; the job has 3"),
    ("2x2", [Start("a", {0: 2, 1: 2})], r"Start\('a'\): 4 units placed; the job has 3"),
    ("2x2", [Start("a", {0: 3, 1: 0})], r"Start\('a'\) at 0 s: 3 units on machine 0: 2 fit"),
    ("2x2", [Start("a", [])], r"Start\('a'\): 0 units placed; the job has 3"),
    ("2x2", [Start("a", [0, 0])], r"Start\('a'\): machine 0 is named twice"),
    ("2x2", [Start("a", ["x"])], r"Start\('a'\): 'x' is no machine or unit; expected whole numbers"),
    ("2x2", [Start("a", [0.5])], r"Start\('a'\): 0.5 is no machine or unit"),
    ("2x2", [Start("a", {0: 1.5, 1: 1.5})], r"Start\('a'\): 1.5 is no machine or unit"),
    ("2x2", [Start("a", 7)], r"Start\('a'\): there is no machine 7"),
    ("4", [Start("a", at=float("nan"))], r"`at` is a time in seconds"),
    ("4", [Kill("a")], r"Kill\('a'\) at 0 s: the job is not running"),
    ("4", [Start("a"), Reject("a")], r"Reject\('a'\) at 0 s: the job is not waiting"),
    ("4", [Reject("b"), Start("b")], r"Start\('b'\) at 0 s: the job is not waiting"),
    ("4", [WakeAt(0)], r"WakeAt\(0\) at 0 s: the time must be later than now"),
    ("4", [WakeAt(-5)], r"WakeAt\(-5\) at 0 s: the time must be later than now"),
    ("4", [WakeAt(float("nan"))], r"WakeAt\(nan\) at 0 s"),
    ("4", [Annotate("nobody", "hm")], r"Annotate\('nobody'\): no such job takes part in this run"),
    ("4", ["a"], r"'a' is not a decision; expected Start, Reject, Kill, WakeAt, SetPstate, Tell or Annotate"),
]


@pytest.mark.parametrize(("platform", "decisions", "message"), REFUSED)
def test_decision_that_the_rules_forbid_is_named(platform, decisions, message):
    # c arrives later, and d is too large for the platform.
    engine = engine_of([(0, 9, 3, 9), (0, 9, 2, 9), (5, 9, 1, 9), (5, 9, 9, 9)], platform)
    engine.advance()
    with pytest.raises(DecisionError, match=message):
        engine.apply(decisions)


@pytest.mark.parametrize("ready_at", [float("nan"), float("inf")])
def test_policy_must_be_ready_some_time(ready_at):
    engine = engine_of([(0, 9, 3, 9), (0, 9, 3, 9)])
    engine.advance()
    with pytest.raises(DecisionError, match=f"ready_at is {ready_at}; expected a time in seconds"):
        engine.apply([Start("a")], ready_at=ready_at)


def test_decision_before_the_first_instant_is_told_so():
    with pytest.raises(DecisionError, match=r"Start\('a'\) before the first advance\(\): the job is not waiting"):
        engine_of([(0, 9, 3, 9)]).apply([Start("a")])


@pytest.mark.parametrize("policy", [None, 5, 4.5])
def test_policy_that_is_none_is_refused(policy):
    with pytest.raises(InputError, match="expected a name, a function of a view, or an object with decide"):
        run(workload([(0, 9, 3, 9)]), 4, policy)


def test_error_names_a_job_that_was_given_as_an_object():
    engine = engine_of([(0, 9, 3, 9)])
    job = engine.advance().queue[0]
    engine.apply([Start(job)])
    with pytest.raises(DecisionError, match=r"Start\('?a'?\) at 0 s: the job is not waiting"):
        engine.apply([Start(job)])


def test_machine_of_another_partition_has_no_room():
    groups = (MachineGroup(MachineType("left", 2), 1), MachineGroup(MachineType("right", 2), 1))
    platform = Platform(groups, (Partition("left", ("left",)), Partition("right", ("right",))))
    engine = engine_of([(0, 9, 1, 9)], platform, partition=["left"])
    engine.advance()
    with pytest.raises(DecisionError, match=r"1 units on machine 1: 0 fit"):
        engine.apply([Start("a", {1: 1})])


def test_named_machines_do_not_help_where_licences_are_short():
    platform = Platform((MachineGroup(MachineType("m", 2), 2),), licences={"solver": 1})
    engine = engine_of([(0, 9, 1, 9), (0, 9, 1, 9)], platform, licences=["solver", "solver"])
    engine.advance()
    with pytest.raises(DecisionError, match=r"Start\('b'\).*licences"):
        engine.apply([Start("a", [0]), Start("b", [1])])


def test_job_that_asks_for_machines_gets_no_two_units_on_one():
    engine = engine_of([(0, 9, 2, 9)], "2x2", machines=[2])
    engine.advance()
    with pytest.raises(DecisionError, match=r"2 units on machine 0: 1 fit"):
        engine.apply([Start("a", {0: 2})])


def test_decisions_before_the_one_that_is_refused_are_carried_out():
    engine = engine_of([(0, 9, 1, 9), (0, 9, 1, 9)])
    engine.advance()
    with pytest.raises(DecisionError):
        engine.apply([Start("b"), Start("b"), Start("a")])
    assert started(engine) == [("b", 0)]


def test_policy_that_lets_jobs_wait_for_ever_is_told_which():
    jobs = workload([(at, 1, 1, 1) for at in range(7)])
    with pytest.raises(RunError, match=r"let 6 jobs wait for ever: b, c, d, e, f, …"):
        run(jobs, "4", lambda view: [Start("a")] if view.now == 0 else [])


# What a view shows.


def test_queue_is_a_sequence_in_queue_order():
    engine = engine_of([(0, 9, 1, 9)] * 100)
    queue = engine.advance().queue
    assert (len(queue), bool(queue)) == (100, True)
    assert [job.index for job in queue] == list(range(100))
    assert (queue[0].index, queue[63].index, queue[64].index, queue[-1].index) == (0, 63, 64, 99)
    assert [job.index for job in queue[97:]] == [97, 98, 99]
    with pytest.raises(IndexError):
        queue[100]


def test_index_past_the_end_of_a_short_queue_is_an_index_error():
    queue = engine_of([(0, 9, 1, 9)]).advance().queue
    with pytest.raises(IndexError):
        queue[1]


def test_running_jobs_stand_by_expected_end():
    engine = engine_of([(0, 30, 1, 30), (0, 5, 1, 50), (0, 9, 1, 9), (1, 1, 1, 1)])
    engine.advance()
    engine.apply([Start("b"), Start("a"), Start("c")])
    running = engine.advance().running
    assert ids(running) == ["c", "a", "b"]
    assert [job.expected_end for job in running] == [9, 30, 50]
    assert [job.start_time for job in running] == [0, 0, 0]


def test_view_says_what_is_free_and_where_a_job_would_go():
    engine = engine_of([(0, 9, 3, 9), (0, 9, 1, 9), (0, 9, 3, 9)], "2x2:8GiB:1gpu", memory_bytes=[6, 1, 1])
    view = engine.advance()
    assert view.place(view.queue[0]) == {0: 2, 1: 1}
    engine.apply([Start("a")])
    assert (view.free_cores, view.free(0), view.free(1)) == (1, (0, 8 * 2**30 - 4, 1), (1, 8 * 2**30 - 2, 1))
    assert view.place(view.queue[0]) == {1: 1}
    assert not view.fits(view.queue[1])


def test_pool_has_no_machines_to_look_at():
    view = engine_of([(0, 9, 3, 9), (0, 9, 4, 9)]).advance()
    assert view.place(view.queue[0]) == {}
    with pytest.raises(DecisionError, match="a pool has no machines"):
        view.free(0)


def test_job_shows_what_the_log_says_of_it():
    view = engine_of([(3, 9, 3, 8)], user=["ann"], queue=["long"]).advance()
    job = view.queue[0]
    assert (job.id, job.submit_time, job.cores, job.units, job.estimate) == ("a", 3, 3, 3, 8)
    assert (job["user"], job["queue"], job["walltime"], job["gpus"]) == ("ann", "long", 8, None)


@pytest.mark.parametrize("column", ["run_time", "status", "cpu_time", "used_memory_bytes", "logged_wait"])
def test_view_does_not_show_what_is_known_only_afterwards(column):
    job = engine_of([(0, 9, 1, 9)]).advance().queue[0]
    with pytest.raises(DecisionError, match=f"'{column}' is not known"):
        job[column]


@pytest.mark.parametrize("what", ["run_time", "finish_time", "start_time"])
def test_waiting_job_has_no_future(what):
    job = engine_of([(0, 9, 1, 9)]).advance().queue[0]
    with pytest.raises(DecisionError, match="job 'a' has not"):
        getattr(job, what)


@pytest.mark.parametrize("what", ["run_time", "finish_time"])
def test_running_job_does_not_say_when_it_ends(what):
    engine = engine_of([(0, 9, 1, 9), (1, 1, 1, 1)])
    engine.advance()
    engine.apply([Start("a")])
    job = engine.advance().running[0]
    with pytest.raises(DecisionError, match="job 'a' has not ended"):
        getattr(job, what)


def test_view_does_not_show_jobs_that_are_not_submitted():
    view = engine_of([(0, 9, 1, 9), (1, 9, 1, 9)]).advance()
    assert ids(view.queue) == ids(view.arrived) == ["a"]


def test_clairvoyant_policy_knows_run_times():
    class ShortestFirst:
        clairvoyant = True

        def decide(self, view):
            free = view.free_cores > 0
            return [Start(job) for job in sorted(view.queue, key=lambda job: job.run_time)[:1] if free]

    jobs = workload([(0, 9, 1, 10), (0, 5, 1, 10), (0, 7, 1, 10)])
    assert run(jobs, "1", ShortestFirst()).jobs["start_time"].to_list() == [12, 0, 5]


# Who can be a policy.


def test_function_can_be_a_policy():
    assert run(workload([(0, 9, 3, 9), (0, 9, 3, 9)]), "4", everything_that_fits).jobs["start_time"].to_list() == [0, 9]


def test_function_may_be_a_generator_and_may_return_nothing():
    def generator(view):
        for job in view.queue:
            yield Start(job)

    def nothing_at_first(view):
        if view.now < 3:
            return None
        return [Start(job) for job in view.queue]

    jobs = workload([(0, 9, 1, 9), (3, 9, 1, 9)])
    assert run(jobs, "4", generator).jobs["start_time"].to_list() == [0, 3]
    assert run(jobs, "4", nothing_at_first).jobs["start_time"].to_list() == [3, 3]


def test_result_is_named_after_the_policy():
    assert run(workload([(0, 9, 3, 9)]), "4", everything_that_fits).policy == "everything_that_fits"


def test_progress_is_told_until_all_jobs_have_started():
    told = []
    run(lublin(3_000, cores=64, load=0.8, seed=1), "64", "easy", progress=lambda done, of: told.append((done, of)))
    assert told == sorted(told)
    assert told[-1] == (3_000, 3_000)


# What Python may do between two calls is not bounded by what the arrays had room for.


def test_any_number_of_wake_ups_may_come_before_a_start():
    engine = engine_of([(0, 9, 1, 9)])
    engine.advance()
    room = len(engine.core.events)
    engine.apply([*(WakeAt(1 + at) for at in range(room)), Start("a")])
    assert engine.core.course[0]["events"] == room + 1
    assert len(engine.core.events) > room


def test_any_number_of_kills_and_starts_may_come_at_one_instant():
    engine = engine_of([(0, 9, 2, 9)] * 3, "2x1")
    engine.advance()
    engine.apply([Start("a", [1, 0]), Kill("a"), Start("b", [1, 0]), Kill("b"), Start("c", [1, 0])])
    assert started(engine) == [("a", 0), ("b", 0), ("c", 0)]
    assert engine.core.course[0]["rows"] <= len(engine.place.rows)


def test_any_number_of_dependents_may_be_released_at_one_instant():
    count = 200
    engine = engine_of([(0, 9, 1, 9)] * count, "1", depends_on=[None] + ["a"] * (count - 1), think_time=[3.0] * count)
    engine.advance()
    engine.apply([*(WakeAt(1 + at) for at in range(50)), Start("a")])
    while (view := engine.advance()) and view.now < 12:
        pass
    assert (view.now, len(view.queue)) == (12, count - 1)
    assert engine.core.course[0]["events"] <= len(engine.core.events)


# Built-in policies among others.


def cycle(choices):
    """A policy that leaves the first instant to the first choice, the second to the second, and begins again.

    It is woken every now and then, so that nobody waits for ever because the last one asked did nothing.
    """
    calls, woken = 0, 0.0

    def decide(view):
        nonlocal calls, woken
        calls += 1
        decisions = [*choices[(calls - 1) % len(choices)](view)]
        if woken <= view.now < 9_000:
            woken = view.now + 45
            decisions.append(WakeAt(woken))
        return decisions

    return decide


def nothing(view):
    return []


def last_that_fits(view):
    return [Start(job) for job in view.queue if view.fits(job)][-1:]


def reject_last(view):
    return [Reject(job) for job in view.queue[-1:]] if len(view.queue) > 2 else []


def kill_first(view):
    return [Kill(min(view.running, key=lambda job: job.index))] if view.running else []


OWN = [nothing, last_that_fits, reject_last, kill_first]


def test_instants_may_be_left_to_different_built_ins():
    # EASY decides at odd times only: c, which arrives at 2, may pass b at 3.
    def decide(view):
        return (Easy() if view.now % 2 else Fcfs()).decide(view)

    jobs = workload([(0, 10, 2, 10), (1, 5, 3, 5), (2, 3, 1, 3), (3, 9, 4, 9)])
    assert run(jobs, "4", decide).jobs["start_time"].to_list() == [0, 10, 3, 15]


def test_own_start_after_easy_uses_up_what_is_extra():
    # b waits for a until 10, and one core is extra then: too few for c. At 2 the policy itself gives it to d, until 52.
    # At 3 EASY may not give it to e again.
    def decide(view):
        if view.now == 2:
            return [Start("d")]
        return Easy().decide(view)

    jobs = workload([(0, 10, 2, 10), (1, 5, 4, 5), (1, 50, 2, 50), (2, 50, 1, 50), (3, 50, 1, 50)])
    assert run(jobs, "5", decide).jobs["start_time"].to_list() == [0, 10, 15, 2, 15]


def test_easy_looks_at_jobs_that_arrived_while_it_was_not_asked():
    # Nobody decides at 2, when c arrives; at 3 EASY, asked because of d, sees that c may pass.
    def decide(view):
        return [] if view.now == 2 else Easy().decide(view)

    jobs = workload([(0, 10, 2, 10), (1, 5, 3, 5), (2, 3, 1, 3), (3, 9, 4, 9)])
    assert run(jobs, "4", decide).jobs["start_time"].to_list() == [0, 10, 3, 15]


def test_conservative_plans_jobs_that_arrived_while_it_was_not_asked():
    def decide(view):
        return [] if view.now == 2 else Conservative().decide(view)

    jobs = workload([(0, 10, 2, 10), (1, 5, 3, 5), (2, 3, 1, 3), (3, 9, 4, 9)])
    assert run(jobs, "4", decide).jobs["start_time"].to_list() == [0, 10, 3, 15]


def test_conservative_forgets_the_plan_of_a_job_that_is_rejected():
    # c is planned for 20 and rejected at 3: d, planned for 30, may start at 20.
    def decide(view):
        Conservative().decide(view)
        return [Reject("c")] if view.now == 3 and "c" in ids(view.queue) else []

    jobs = workload([(0, 10, 2, 10), (1, 10, 2, 10), (2, 10, 2, 10), (3, 10, 2, 10)])
    result = run(jobs, "2", decide)
    assert result.jobs.select("job_id", "start_time").rows() == [("a", 0), ("b", 10), ("d", 20)]


def test_conservative_forgets_the_plan_of_a_job_that_is_started():
    # c is planned for 20, behind b, and started by the policy itself at 3, beside a. b, planned for 10, waits for it.
    def decide(view):
        Conservative().decide(view)
        return [Start("c")] if view.now == 3 else []

    jobs = workload([(0, 10, 2, 10), (1, 10, 3, 10), (2, 20, 1, 20), (3, 10, 1, 10)])
    result = run(jobs, "3", decide)
    assert sorted(result.attempts["job_id"]) == ["a", "b", "c", "d"]
    assert result.jobs["start_time"].to_list()[:3] == [0, 23, 3]


@settings(max_examples=60)
@given(log=rows(CORES, most=15), pattern=st.lists(st.sampled_from([0, 1, 1, 2, 3, 4, 5]), max_size=5))
@pytest.mark.parametrize("cluster", [Platform.pool, one_core_machines])
def test_fcfs_and_easy_decide_as_they_would_alone_whoever_decided_before(cluster, log, pattern):
    jobs = as_jobs(log)
    plain = PlainEasy()

    def remembered(own):
        """What the policy itself starts, the plain EASY must know of."""

        def decide(view):
            decisions = own(view)
            plain.placed |= {d.job: {0: d.job.cores} for d in decisions if isinstance(d, Start)}
            return decisions

        return decide

    built_in = [Fcfs().decide, Easy().decide, *OWN]
    in_python = [lambda view: PlainFcfs.decide(plain, view), plain.decide, *map(remembered, OWN)]
    compiled, python = (
        run(as_workload(jobs), cluster(CORES), cycle([choices[at] for at in [*pattern, 1]]))
        for choices in (built_in, in_python)
    )
    assert compiled.attempts.equals(python.attempts)
    assert compiled.rejected.equals(python.rejected)


@settings(max_examples=60)
@given(log=rows(CORES, most=15), pattern=st.lists(st.sampled_from([0, 1, 2, 2, 3, 4, 5, 6]), max_size=5))
@pytest.mark.parametrize("cluster", [Platform.pool, pytest.param(machine_beside_a_closed_one, marks=pytest.mark.slow)])
def test_nothing_breaks_whoever_decides(cluster, log, pattern):
    jobs = as_jobs(log)
    choices = [Fcfs().decide, Easy().decide, Conservative().decide, *OWN]
    result = run(as_workload(jobs), cluster(CORES), cycle([choices[at] for at in [*pattern, 2]]))
    names = [*result.attempts["job_id"], *result.rejected["job_id"]]
    assert sorted(names, key=int) == [str(at) for at in range(len(jobs))]
    for time in set(result.attempts["start_time"]):
        now = result.attempts.filter((result.attempts["start_time"] <= time) & (time < result.attempts["finish_time"]))
        assert now["cores"].sum() <= CORES


def test_decisions_at_one_instant_that_change_nothing_end_the_run():
    engine = engine_of([(0, 5, 1, 5), (10, 5, 4, 5)])

    def policy(view):
        if view.now == 0:
            return [Start(job) for job in view.queue]
        engine.push(engine.now, WAKE, 0)  # as a rule would that is wrong
        return []

    with pytest.raises(RunError, match=r"^No progress at 5 s: 100,000 rounds .* started no job\. No job waits\.$"):
        engine.run(policy)


def test_the_job_that_makes_no_progress_is_named():
    engine = engine_of([(0, 5, 1, 5), (10, 5, 4, 5)])

    def policy(view):
        if view.now < 10:
            return [Start(job) for job in view.queue]
        engine.push(engine.now, WAKE, 0)
        return []

    with pytest.raises(RunError, match=r"^No progress at 10 s: .* Job 'b', .*, waits for 4 cores\.$"):
        engine.run(policy)


def test_the_job_that_makes_no_progress_is_named_with_all_that_it_asks_for():
    node = MachineType("node", 4, memory_bytes=8 << 30, gpus=2)
    platform = Platform((MachineGroup(node, 2),), licences={"solver": 3, "other": 1})
    rows = workload([(0, 5, 8, 5)], machines=[2], memory_bytes=[2 << 30], gpus=[2], licences=["solver:2"])
    engine = Engine(rows, platform)

    def policy(view):
        engine.push(engine.now, WAKE, 0)
        return []

    needs = r"8 cores in 2 parts, 2 GiB of memory, 2 GPUs, 2 licences solver"
    with pytest.raises(RunError, match=rf"^No progress at 0 s: .* Job 'a', .*, waits for {needs}\.$"):
        engine.run(policy)


@pytest.mark.parametrize("decisions", [[], [Annotate("a", "look")]])
def test_a_run_goes_on_after_decisions_from_outside(decisions):
    # The plans of conservative backfilling are made anew: `a` has all cores until 1, then `b` runs.
    engine = engine_of([(0, 1, 4, 1), (0, 2, 1, 2)])
    conservative = Conservative()
    engine.run(conservative, until=0.0)
    engine.apply(decisions)
    engine.run(conservative)
    assert started(engine) == [("a", 0.0), ("b", 1.0)]
