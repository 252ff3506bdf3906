"""Jobs that share a network in the hands of a scheduler, on paper: places, messages, kills and lost machines."""

import pytest
from tests.fluid_build import cluster, fluid_jobs, outcome

from unspool.engine.kernel.state import COMPLETED
from unspool.errors import DecisionError, RunError
from unspool.model.network import Contention
from unspool.model.outages import Outage, Outages
from unspool.model.profile import Delay, ForkJoin, HomogeneousTask, Receive, Send, Sequence, Task
from unspool.policies.base import Kill, Start, Tell, WakeAt
from unspool.policies.schedulers.fcfs import Fcfs
from unspool.results.run import run
from unspool.results.tables import attempts_of
from unspool.simulation.engine import Engine
from unspool.simulation.executors import progress_of

DONE = ("completed", 0)


def near(time):
    return pytest.approx(time, rel=1e-12)


class Script:
    """Decisions by the time at which they are made, once; at every other time nothing."""

    def __init__(self):
        self.lines = {}
        self.heard = []
        self.done = set()

    def at(self, time, *decisions):
        self.lines[float(time)] = decisions
        return self

    def decide(self, view):
        self.heard += [(message.time, message.job.id, message.content) for message in view.messages]
        later = [] if self.done else [WakeAt(time) for time in self.lines if time > view.now]
        now = [] if view.now in self.done else self.lines.get(view.now, ())
        self.done.add(view.now)
        return [*later, *now]

    def copy(self):
        again = Script()
        again.lines = self.lines
        return again


def played(rows, profiles, script, where=None, **options):
    return outcome(run(fluid_jobs(rows, profiles), where or cluster(), script, kill_at_walltime=True, **options))


# Places.


def test_executors_that_are_mapped_to_one_host_share_it():
    profiles = {"p": HomogeneousTask(2e9, 0.0)}
    script = Script().at(0, Start("a", [3], mapping=[0, 0, 0]))
    for cores, finish in [(1, 6.0), (2, 3.0), (4, 2.0)]:
        found = played([(0, 3, None, "p")], profiles, script.copy(), cluster(cores=cores))
        assert found == [(0, near(finish), *DONE)]


def test_a_mapping_says_which_executor_works_where():
    profiles = {"p": Task((1e9, 4e9), ())}
    where = cluster(2, speeds=(1e9, 4e9))
    for mapping, finish in [((0, 1), 1.0), ((1, 0), 4.0)]:
        script = Script().at(0, Start("a", [0, 1], mapping=mapping))
        assert played([(0, 2, None, "p")], profiles, script, where) == [(0, near(finish), *DONE)]


def test_executors_on_one_host_send_over_its_way_to_itself():
    # Two on host 0, one on host 1: 2e8 bytes go each way between the hosts, and 2e8 up and down of host 0 itself.
    script = Script().at(0, Start("a", [0, 1], mapping=[0, 0, 1]))
    assert played([(0, 3, None, "p")], {"p": HomogeneousTask(0.0, 1e8)}, script) == [(0, near(4.0), *DONE)]


def test_totals_are_spread_over_the_machines_that_are_given():
    profiles = {"p": HomogeneousTask(8e9, 1.2e9, "total"), "d": Delay(1.0)}
    rows = [(0, 4, None, "p"), (0, 2, None, "d")]
    script = Script().at(0, Start("a", [0, 1]), Start("b"))
    # 4e9 flops each, 6e8 bytes a way; the other two machines are free for the second job.
    assert played(rows, profiles, script) == [(0, near(6.0), *DONE), (0, 1.0, *DONE)]


def test_totals_may_have_more_machines_than_they_ask_for_and_give_all_of_them_back():
    profiles = {"p": HomogeneousTask(8e9, 0.0, "total"), "d": Delay(1.0)}
    rows = [(0, 1, None, "p"), (0, 4, None, "d")]
    script = Script().at(0, Start("a", [0, 1, 2, 3])).at(2, Start("b"))
    assert played(rows, profiles, script) == [(0, near(2.0), *DONE), (2, 3.0, *DONE)]


def test_a_job_of_fixed_amounts_is_not_given_fewer_machines():
    script = Script().at(0, Start("a", [0]))
    with pytest.raises(DecisionError, match="1 units placed; the job has 2"):
        played([(0, 2, None, "p")], {"p": HomogeneousTask(1e9, 0.0)}, script)
    script = Script().at(0, Start("a", [0, 1], mapping=[0, 1, 1]))
    with pytest.raises(DecisionError, match="3 executors are mapped; the job has 2"):
        played([(0, 2, None, "p")], {"p": HomogeneousTask(1e9, 0.0)}, script)
    script = Script().at(0, Start("a", [0, 1], mapping=[0, 2]))
    with pytest.raises(DecisionError, match="names a place outside of its 2 machines"):
        played([(0, 2, None, "p")], {"p": HomogeneousTask(1e9, 0.0)}, script)


# Messages.


def test_a_job_says_something_and_pauses():
    profiles = {"p": Sequence(("s", "t")), "s": Send({"n": 1}, 0.5), "t": HomogeneousTask(1e9, 0.0)}
    script = Script().at(0, Start("a"))
    assert played([(0, 1, None, "p")], profiles, script) == [(0, near(1.5), *DONE)]
    assert script.heard == [(0.0, "a", {"n": 1})]


def test_a_policy_that_yields_its_decisions_hears_messages_too():
    heard = []

    def policy(view):
        heard.extend(message.content for message in view.messages)
        yield from (Start(job) for job in view.queue)

    played([(0, 1, None, "s")], {"s": Send({"n": 1}, 0.5)}, policy)
    assert heard == [{"n": 1}]


def test_a_mapping_counts_where_the_platform_chooses_the_machines():
    script = Script().at(0, Start("a", mapping=[1, 0]))
    where = cluster(2, speeds=(1e9, 4e9))
    assert played([(0, 2, None, "p")], {"p": Task((1e9, 4e9), ())}, script, where) == [(0, near(4.0), *DONE)]


ANSWERS = {
    "r": Receive("go.*", success="yes", failure="no", poll_s=0.5),
    "yes": HomogeneousTask(2e9, 0.0),
    "no": Delay(1.0, code=5),
    "late": Delay(3.0),
}


@pytest.mark.parametrize(
    ("text", "told", "finish", "how"),
    [
        ("go on", 1.2, 3.5, DONE),  # it looks at 1.5
        ("stop", 1.2, 2.5, ("failed", 5)),
        ("let go", 0.1, 1.5, ("failed", 5)),  # all of it must match
        ("go", 1.5, 3.5, DONE),
    ],
)
def test_a_job_looks_for_a_message_at_fixed_times_and_goes_on_by_what_it_says(text, told, finish, how):
    script = Script().at(0, Start("a")).at(told, Tell("a", text))
    assert played([(0, 1, None, "r")], ANSWERS, script) == [(0, near(finish), *how)]


def test_without_a_message_what_is_named_for_that_follows_at_once():
    profiles = {**ANSWERS, "r": Receive("go", success="yes", failure="no", timeout="late")}
    script = Script().at(0, Start("a")).at(1, Tell("a", "go"))
    assert played([(0, 1, None, "r")], profiles, script) == [(0, 3.0, *DONE)]


def test_messages_are_read_in_their_order_and_none_is_read_twice():
    profiles = {**ANSWERS, "p": Sequence(("d", "r", "r", "r")), "d": Delay(2.0)}
    script = Script().at(0, Start("a")).at(1, Tell("a", "go"), Tell("a", "go on")).at(7, Tell("a", "no more"))
    # At 2 the first is there and at 4 the second; from 6 on it looks every 0.5 s, and at 7 finds what fails.
    assert played([(0, 1, None, "p")], profiles, script) == [(0, near(8.0), "failed", 5)]


def test_a_message_after_which_nothing_is_to_follow_ends_the_profile_with_its_own_code():
    script = Script().at(0, Start("a")).at(1, Tell("a", "x"))
    assert played([(0, 1, None, "r")], {"r": Receive(code=4, poll_s=0.25)}, script) == [(0, 1.0, "failed", 4)]


def test_two_parts_of_a_job_get_a_message_each():
    profiles = {"p": ForkJoin(("one", "two")), "one": Receive(poll_s=1.0), "two": Receive(poll_s=1.0)}
    script = Script().at(0, Start("a")).at(1.5, Tell("a", "x")).at(3.5, Tell("a", "y"))
    assert played([(0, 1, None, "p")], profiles, script) == [(0, 4.0, *DONE)]


def test_a_job_that_nobody_answers_ends_with_its_walltime_or_is_named():
    script = Script().at(0, Start("a"))
    assert played([(0, 1, 9, "r")], ANSWERS, script.copy()) == [(0, 9.0, "walltime", -1)]
    with pytest.raises(RunError, match="nothing is left to happen, but 1 job runs for ever: a"):
        played([(0, 1, None, "r")], ANSWERS, script)


# Kills, and how far a job is.


SLOW = {
    "d": Delay(8.0),
    "t": HomogeneousTask(8e9, 0.0),
    "dd": Sequence(("d2", "d4"), repeat=3),
    "dt": Sequence(("d2", "t4"), repeat=3),
    "nest": Sequence(("d2", "dt")),
    "deep": Sequence(("d2", "dd")),
    "d2": Delay(2.0),
    "d4": Delay(4.0),
    "t4": HomogeneousTask(4e9, 0.0),
}


@pytest.mark.parametrize(
    ("name", "progress"),
    [
        ("d", {"profile_name": "d", "progress": 0.375}),
        ("t", {"profile_name": "t", "progress": 0.375}),
        ("dt", {"profile_name": "dt", "current_task_index": 1, "current_task": {
            "profile_name": "t4", "progress": 0.25}}),
        ("dd", {"profile_name": "dd", "current_task_index": 1, "current_task": {
            "profile_name": "d4", "progress": 0.25}}),
        ("nest", {"profile_name": "nest", "current_task_index": 1, "current_task": {
            "profile_name": "dt", "current_task_index": 0, "current_task": {"profile_name": "d2", "progress": 0.5}}}),
        ("deep", {"profile_name": "deep", "current_task_index": 1, "current_task": {
            "profile_name": "dd", "current_task_index": 0, "current_task": {"profile_name": "d2", "progress": 0.5}}}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("beside", ["t", "d"], ids=["beside a task", "beside delays only"])
def test_a_killed_job_was_so_far(name, progress, beside):
    jobs = fluid_jobs([(0, 1, None, name), (0, 1, None, beside)], SLOW)
    engine = Engine(jobs, cluster())
    told = []

    def policy(view):
        if view.now == 0:
            return [Start("a"), Start("b"), WakeAt(3.0)]
        if view.now == 3 and not told:
            told.append(progress_of(engine, 0))
            return [Kill("a")]
        return []

    engine.run(policy)
    assert told == [progress]
    assert progress_of(engine, 0) is None
    assert engine.attempts["finish"].tolist() == [3.0, 8.0]


def test_the_place_in_a_sequence_counts_over_repetitions():
    engine = Engine(fluid_jobs([(0, 1, None, "dt"), (0, 1, None, "dd")], SLOW), cluster())
    engine.run(Script().at(0, Start("a"), Start("b")).at(15.0), until=15.0)
    for job, name, leaf in ((0, "dt", "t4"), (1, "dd", "d4")):
        below = {"profile_name": leaf, "progress": near(0.25)}
        assert progress_of(engine, job) == {"profile_name": name, "current_task_index": 5, "current_task": below}


def test_a_killed_job_leaves_what_it_shared_to_others():
    profiles = {"p": HomogeneousTask(0.0, 2e8)}
    script = Script().at(0, Start("a"), Start("b")).at(1, Kill("a"))
    # 4e8 bytes each at half of the backbone's 2e8 B/s until 1, then the other has all of it.
    rows = [(0, 2, None, "p")] * 2
    assert played(rows, profiles, script, cluster(backbone=2e8)) == [(0, 1.0, "killed", -2), (0, near(2.5), *DONE)]


def test_a_job_that_is_killed_as_it_starts_never_begins():
    script = Script().at(0, Start("a"), Kill("a"), Start("b"))
    rows = [(0, 4, None, "t"), (0, 4, None, "t4")]
    assert played(rows, SLOW, script) == [(0, 0.0, "killed", -2), (0, near(4.0), *DONE)]


# Lost machines.


def lost(rows, profiles, *outages, where=None, policy="fcfs", **options):
    down = Outages(tuple(Outage(*outage) for outage in outages))
    result = run(
        fluid_jobs(rows, profiles), where or cluster(2), policy, outages=down, kill_at_walltime=True, **options
    )
    return result.attempts.select("job_id", "start_time", "finish_time", "how").rows(), result


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "filler"])
@pytest.mark.parametrize(
    "walltime",
    [
        None,
        50.0,
    ],
)
def test_a_job_that_loses_a_machine_starts_again_from_nothing(policy, walltime):
    rows = [(0, 1, walltime, "t"), (0, 1, walltime, "t")]
    found, result = lost(rows, SLOW, (0, 3, 5), policy=policy)
    assert found == [("a", 0, 3, "lost"), ("b", 0, near(8.0), "completed"), ("a", 5, near(13.0), "completed")]
    assert result.jobs["return_code"].to_list() == [0, 0]


def test_what_a_lost_job_shared_is_left_to_others():
    rows = [(0, 2, 50, "p")] * 2
    found, result = lost(
        rows, {"p": HomogeneousTask(0.0, 2e8)}, (0, 1, 99), where=cluster(backbone=2e8), on_loss="kill"
    )
    assert found == [("a", 0, 1, "lost"), ("b", 0, near(2.5), "completed")]
    assert result.jobs["return_code"].to_list() == [-2, 0]


def test_a_job_whose_machine_is_only_closed_goes_on_and_new_ones_go_elsewhere():
    rows = [(0, 1, 50, "t"), (1, 1, 50, "t4"), (4, 1, 50, "d2"), (6, 1, 50, "d2")]
    found, result = lost(rows, SLOW, (0, 2, 20), on_loss="keep")
    # Machine 0 is closed from 2 on: all others go to machine 1, one after the other.
    assert found == [
        ("a", 0, near(8.0), "completed"),
        ("b", 1, near(5.0), "completed"),
        ("c", near(5.0), near(7.0), "completed"),
        ("d", near(7.0), near(9.0), "completed"),
    ]
    assert result.allocations["first_machine"].to_list() == [0, 1, 1, 1]


def test_a_closed_machine_is_free_only_when_it_is_open_again():
    found, result = lost([(0, 1, 50, "d4"), (0, 1, 50, "t"), (5, 1, 50, "d2")], SLOW, (0, 2, 7), on_loss="keep")
    assert found[2] == ("c", 7, near(9.0), "completed")
    assert result.allocations["first_machine"].to_list() == [0, 1, 0]


def test_a_machine_that_opens_while_its_job_is_still_there_is_that_jobs():
    rows = [(0, 1, 50, "t"), (0, 1, 50, "t"), (4, 1, 50, "d2"), (4, 2, 50, "d2")]
    found, _ = lost(rows, SLOW, (0, 2, 3), on_loss="keep", policy="filler")
    assert found[2:] == [("c", near(8.0), near(10.0), "completed"), ("d", near(10.0), near(12.0), "completed")]


def test_a_job_that_is_killed_on_a_closed_machine_does_not_open_it():
    script = Script().at(0, Start("a")).at(3, Kill("a")).at(4, Start("b"))
    rows = [(0, 1, 50, "t"), (0, 2, 50, "d2")]
    with pytest.raises(DecisionError, match="no machines have room"):
        lost(rows, SLOW, (0, 2, 9), on_loss="keep", policy=script)


def test_a_job_that_starts_again_sits_where_it_is_put_then():
    # Mapped to host 1, which is half as fast, and lost there; then it is put on host 0 as a whole job is.
    script = Script().at(0, Start("a", [1], mapping=[0])).at(2, Start("a"))
    found, _ = lost([(0, 1, 50, "t4")], SLOW, (1, 2, 99), where=cluster(2, speeds=(1e9, 5e8)), policy=script)
    assert found == [("a", 0, 2, "lost"), ("a", 2, near(6.0), "completed")]


def test_the_pause_after_a_message_is_cut_by_the_walltime_as_a_delay_is():
    script = Script().at(0, Start("a"))
    rows, profiles = [(0, 1, 2, "s")], {"s": Send({}, 2.0)}
    assert played(rows, profiles, script.copy(), contention=Contention(strict=True)) == [(0, 2.0, "walltime", -1)]
    assert played(rows, profiles, script) == [(0, 2.0, *DONE)]


def test_tables_leave_the_journal_as_it_is():
    engine = Engine(fluid_jobs([(0, 1, None, "d")], {"d": Delay(2.0, code=3)}), cluster())
    engine.run(Fcfs())
    assert attempts_of(engine)["how"].to_list() == ["failed"]
    assert engine.attempts["how"].tolist() == [COMPLETED]
