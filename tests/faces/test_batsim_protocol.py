"""Batsim's protocol as the simulator speaks it: cases small enough to check on paper, with a function as scheduler."""

import json

import pytest
from tests.faces.protocol_build import each_at_once, job, order, simulate

from unspool.faces.batsim.protocol.begins import Terms
from unspool.faces.batsim.protocol.numbers import json_text

DYNAMIC = Terms(enable_dynamic_jobs=True)
NAP = {"type": "delay", "delay": 10}


def submitted(message):
    return [event["data"]["job_id"] for event in message["events"] if event["type"] == "JOB_SUBMITTED"]


def test_numbers_have_as_many_digits_as_it_takes_to_read_the_same_number():
    assert json_text([1, 1.0, 20.2, 5 + 5.000001, 1e17]) == "[1,1.0,20.2,10.000001000000001,1e+17]"


def test_the_clock_never_goes_back_behind_what_the_scheduler_said(tmp_path):
    def killer(message):  # as batsched's, which aborts where the time is less than its own
        started = submitted(message) or [each for each in ("w0!b",) if message["now"] == 5.000001]
        if not started:
            return []
        until = message["now"] + 5
        starts = order("EXECUTE_JOB", job_id=started[0], alloc="0")
        return until, [starts, order("KILL_JOB", until, job_ids=[started[0]])]

    _, talk = simulate(tmp_path, [job("a"), job("b")], killer)
    assert [message["now"] for message in talk.heard] == [0, 1e-6, 5.000001, 10.000001000000001, 10.000001000000001]
    assert [(time, data["job_id"]) for time, kind, data in talk.told if kind == "JOB_COMPLETED"] == [
        (5.000001, "w0!a"), (10.000001000000001, "w0!b"),
    ]  # fmt: skip


def test_times_of_a_job_and_of_its_end_keep_all_their_digits(tmp_path):
    nap = {"nap": {"type": "delay", "delay": 0.2}}
    _, talk = simulate(tmp_path, [job("a", 0.1, walltime=0.7000000001)], each_at_once, nap)
    end = 0.30000000000000004
    assert [message["now"] for message in talk.heard] == [0, 0.1, end, end]
    assert (talk.told[0][2]["job"]["subtime"], talk.told[0][2]["job"]["walltime"]) == (0.1, 0.7000000001)
    assert talk.told[2][:2] == (end, "JOB_COMPLETED")


def test_what_happens_in_the_first_microsecond_is_told_after_it(tmp_path):
    _, talk = simulate(tmp_path, [job("a"), job("b", 3e-7)], each_at_once_on_its_own)
    assert [message["now"] for message in talk.heard] == [0, 1e-6, 1e-6, 10, 10.0000003, 10.0000003]


def test_what_happens_at_one_instant_is_told_in_one_message_ends_before_submissions(tmp_path):
    _, talk = simulate(tmp_path, [job("a"), job("b", 10), job("c", 10)], each_one_after_another())
    assert [[event["type"] for event in message["events"]] for message in talk.heard] == [
        ["SIMULATION_BEGINS"],
        ["JOB_SUBMITTED"],
        ["JOB_COMPLETED", "JOB_SUBMITTED", "JOB_SUBMITTED", "NOTIFY"],
        ["JOB_COMPLETED"],
        ["JOB_COMPLETED"],
        ["SIMULATION_ENDS"],
    ]
    assert [message["now"] for message in talk.heard] == [0, 0.000001, 10, 20, 30, 30]


def each_at_once_on_its_own(message):
    return [order("EXECUTE_JOB", job_id=full, alloc="0" if full == "w0!a" else "1") for full in submitted(message)]


def each_one_after_another():
    waiting, running = [], []

    def decide(message):
        waiting.extend(submitted(message))
        for event in message["events"]:
            if event["type"] == "JOB_COMPLETED":
                running.clear()
        if waiting and not running:
            running.append(waiting.pop(0))
            return [order("EXECUTE_JOB", job_id=running[0], alloc="0")]
        return []

    return decide


def test_the_beginning_tells_machines_with_speed_and_cores_and_profiles(tmp_path):
    _, talk = simulate(tmp_path, [job("a", user="eva")], each_at_once, terms=Terms(sched_config="fast"))
    data = talk.heard[0]["events"][0]["data"]
    assert (data["nb_compute_resources"], data["nb_storage_resources"]) == (4, 2)
    assert [host["id"] for host in data["compute_resources"] + data["storage_resources"]] == [0, 1, 2, 3, 4, 5]
    assert data["compute_resources"][0] == {
        "id": 0, "name": "h0", "state": "idle", "properties": {"role": ""}, "zone_properties": {}, "speed": 1e9,
        "cores": 1,
    }  # fmt: skip
    assert data["profiles"] == {"w0": {"nap": NAP}}
    assert data["config"]["sched-config"] == "fast"
    assert talk.told[0] == (0, "JOB_SUBMITTED", {"job_id": "w0!a", "job": {**job("a", user="eva"), "id": "w0!a"}})


def test_a_profile_is_forwarded_with_its_job_on_request(tmp_path):
    terms = Terms(forward_profiles_on_submission=True)
    _, talk = simulate(tmp_path, [job("a")], each_at_once, terms=terms)
    assert talk.told[0][2]["profile"] == NAP


def test_decisions_may_lie_in_the_future_and_what_happens_meanwhile_is_told_afterwards(tmp_path):
    def decide(message):
        if "w0!a" in submitted(message):
            start = order("EXECUTE_JOB", 5, job_id="w0!a", alloc="0")
            return 20, [start, order("KILL_JOB", 12, job_ids=["w0!a"])]
        return each_at_once(message)

    found, talk = simulate(tmp_path, [job("a"), job("b", 8)], decide)
    assert [message["now"] for message in talk.heard] == [0, 0.000001, 20, 30, 30]
    assert [(time, kind) for time, kind, _ in talk.told[1:5]] == [
        (8, "JOB_SUBMITTED"), (8, "NOTIFY"), (12, "JOB_COMPLETED"), (12, "JOB_KILLED"),
    ]  # fmt: skip
    rows = {row["job_id"]: row for row in found.outputs.jobs.iter_rows(named=True)}
    assert (rows["a"]["starting_time"], rows["a"]["finish_time"]) == (5.0, 12.0)
    assert rows["a"]["final_state"] == "COMPLETED_KILLED"
    assert rows["b"]["starting_time"] == 20.0


def test_a_kill_is_told_as_an_end_and_then_with_the_progress(tmp_path):
    def decide(message):
        if submitted(message):
            return [*each_at_once(message), order("CALL_ME_LATER", timestamp=4)]
        calls = [event for event in message["events"] if event["type"] == "REQUESTED_CALL"]
        return [order("KILL_JOB", job_ids=["w0!a"])] if calls else []

    _, talk = simulate(tmp_path, [job("a")], decide)
    assert talk.told[2:] == [
        (4, "REQUESTED_CALL", {}),
        (4, "JOB_COMPLETED", {"job_id": "w0!a", "job_state": "COMPLETED_KILLED", "return_code": -1, "alloc": "0"}),
        (4, "JOB_KILLED", {"job_ids": ["w0!a"], "job_progress": {"w0!a": {"profile_name": "nap", "progress": 0.4}}}),
        (4, "SIMULATION_ENDS", {}),
    ]


@pytest.mark.parametrize(
    ("profile", "code", "has_progress"),
    [("work", -2, True), ("nap", -1, True), ("first-work", -2, True), ("first-nap", -1, True), ("talk", -1, False),
     ("trace", -1, False), ("usage", -1, False), ("last-trace", -1, False)],
)  # fmt: skip
def test_what_is_cut_says_what_a_killed_job_returns_and_whether_it_has_a_progress(
    profile, code, has_progress, tmp_path
):
    (tmp_path / "trace.txt").write_text("rank.txt\n")
    (tmp_path / "rank.txt").write_text("0 init\n0 compute 9e9\n0 finalize\n")
    (tmp_path / "usage.txt").write_text("use.txt\n")
    (tmp_path / "use.txt").write_text("0 m_usage 1 9e9\n")
    profiles = {
        "nap": NAP,
        "work": {"type": "parallel_homogeneous", "cpu": 9e9, "com": 0},
        "talk": {"type": "recv", "regex": ".*"},
        "trace": {"type": "smpi", "trace": "trace.txt"},
        "usage": {"type": "usage_trace", "trace": "usage.txt"},
        "first-work": {"type": "composed", "seq": ["work", "nap"]},
        "first-nap": {"type": "composed", "seq": ["nap", "work"]},
        "short": {"type": "delay", "delay": 1},
        "last-trace": {"type": "composed", "seq": ["short", "trace"]},
    }

    def decide(message):
        if submitted(message):
            return [*each_at_once(message), order("CALL_ME_LATER", timestamp=4)]
        called = any(event["type"] == "REQUESTED_CALL" for event in message["events"])
        return [order("KILL_JOB", job_ids=["w0!a"])] if called else []

    _, talk = simulate(tmp_path, [job("a", profile=profile)], decide, profiles)
    ended, killed = ([data for _, kind, data in talk.told if kind == name] for name in ("JOB_COMPLETED", "JOB_KILLED"))
    assert [(data["job_state"], data["return_code"]) for data in ended] == [("COMPLETED_KILLED", code)]
    assert [list(data["job_progress"]) for data in killed] == [["w0!a"] if has_progress else []]


def test_a_trace_that_its_walltime_ends_returns_what_every_job_does_then(tmp_path):
    (tmp_path / "trace.txt").write_text("rank.txt\n")
    (tmp_path / "rank.txt").write_text("0 init\n0 compute 9e9\n0 finalize\n")
    profiles = {"trace": {"type": "smpi", "trace": "trace.txt"}}
    _, talk = simulate(tmp_path, [job("a", profile="trace", walltime=3)], each_at_once, profiles)
    ended = [
        (time, data["job_state"], data["return_code"]) for time, kind, data in talk.told if kind == "JOB_COMPLETED"
    ]
    assert ended == [(3, "COMPLETED_WALLTIME_REACHED", -1)]


def test_a_job_that_is_over_is_listed_by_a_kill_without_progress_and_one_killed_before_is_not_told_again(tmp_path):
    def decide(message):
        if submitted(message):
            return [*each_at_once(message), order("CALL_ME_LATER", timestamp=30)]
        calls = [event for event in message["events"] if event["type"] == "REQUESTED_CALL"]
        return [order("KILL_JOB", job_ids=["w0!a"])] * 2 if calls else []

    _, talk = simulate(tmp_path, [job("a")], decide)
    told = [data for _, kind, data in talk.told if kind == "JOB_KILLED"]
    assert told == [{"job_ids": ["w0!a"], "job_progress": {}}] * 2


def registering(acknowledged):
    def decide(message):
        if message["events"][0]["type"] == "SIMULATION_BEGINS":
            new = {"id": "x", "subtime": 0, "res": 2, "profile": "work", "walltime": 60}
            return [
                order("REGISTER_PROFILE", workload_name="mine", profile_name="work", profile={
                    "type": "parallel_homogeneous", "cpu": 5e9, "com": 0, "note": "kept"}),
                order("REGISTER_JOB", job_id="mine!x", job=new),
                order("SET_JOB_METADATA", job_id="mine!x", metadata="so it is"),
                *([] if acknowledged else [order("EXECUTE_JOB", job_id="mine!x", alloc="2-3")]),
                order("NOTIFY", type="registration_finished"),
            ]  # fmt: skip
        return each_at_once(message)

    return decide


@pytest.mark.parametrize("acknowledged", [False, True])
def test_registered_jobs_run_whether_or_not_they_are_acknowledged(tmp_path, acknowledged):
    terms = Terms(enable_dynamic_jobs=True, acknowledge_dynamic_jobs=acknowledged)
    found, talk = simulate(tmp_path, [job("a", 8)], registering(acknowledged), terms=terms)
    assert found.fault is None
    rows = {(row["workload_name"], row["job_id"]): row for row in found.outputs.jobs.iter_rows(named=True)}
    mine = rows["mine", "x"]
    assert (mine["profile"], mine["execution_time"], mine["metadata"]) == ("work", 5.0, "so it is")
    assert mine["requested_number_of_resources"] == 2
    assert rows["w0", "a"]["finish_time"] == 18.0
    told = [data for _, kind, data in talk.told if kind == "JOB_SUBMITTED" and data["job_id"] == "mine!x"]
    assert len(told) == acknowledged
    assert all(data["job"]["id"] == "mine!x" for data in told)


def test_jobs_can_be_registered_without_any_workload_and_many_of_them(tmp_path):
    def decide(message):
        ended = [event for event in message["events"] if event["type"] == "JOB_COMPLETED"]
        if message["events"][0]["type"] == "SIMULATION_BEGINS":
            profile = order("REGISTER_PROFILE", workload_name="m", profile_name="nap", profile=NAP)
            return [profile, *one(0)]
        if ended:
            number = int(ended[0]["data"]["job_id"].partition("!")[2]) + 1
            return one(number) if number < 150 else [order("NOTIFY", type="registration_finished")]
        return []

    def one(number):
        new = {"id": str(number), "subtime": number * 10, "res": 1 + number % 4, "profile": "nap"}
        start = order("EXECUTE_JOB", job_id=f"m!{number}", alloc=f"0-{number % 4}")
        return [order("REGISTER_JOB", job_id=f"m!{number}", job=new), start]

    found, talk = simulate(tmp_path, None, decide, terms=DYNAMIC)
    assert found.fault is None
    assert found.outputs.jobs["starting_time"].to_list() == [10.0 * number for number in range(150)]
    assert found.outputs.jobs["submission_time"].to_list() == [10.0 * number for number in range(150)]
    assert "NOTIFY" not in {kind for _, kind, _ in talk.told}


def test_a_name_may_mean_another_profile_once_its_jobs_are_over_unless_profiles_are_reused(tmp_path):
    def decide(message):
        ended = [event for event in message["events"] if event["type"] == "JOB_COMPLETED"]
        if ended and ended[0]["data"]["job_id"] == "w0!a":
            return [
                order("REGISTER_PROFILE", workload_name="w0", profile_name="nap", profile={**NAP, "delay": 3}),
                order("REGISTER_JOB", job_id="w0!b", job={"id": "b", "subtime": 10, "res": 1, "profile": "nap"}),
                order("EXECUTE_JOB", job_id="w0!b", alloc="0"),
                order("NOTIFY", type="registration_finished"),
            ]
        return each_at_once(message)

    found, _ = simulate(tmp_path, [job("a")], decide, terms=DYNAMIC)
    assert found.outputs.jobs["execution_time"].to_list() == [10.0, 3.0]
    reuse = Terms(enable_dynamic_jobs=True, enable_profile_reuse=True)
    found, _ = simulate(tmp_path, [job("a")], decide, terms=reuse)
    assert "profile 'nap' of workload 'w0' is there already" in str(found.fault)


def test_messages_go_from_jobs_to_the_scheduler_and_back(tmp_path):
    profiles = {
        "talk": {"type": "composed", "seq": ["say", "wait"]},
        "say": {"type": "send", "msg": {"much": 1.5}, "sleeptime": 1},
        "wait": {"type": "recv", "regex": "yes.*", "success": "nap", "failure": "short", "polltime": 0.5},
        "nap": NAP,
        "short": {"type": "delay", "delay": 2},
    }

    def decide(message):
        heard = [event["data"] for event in message["events"] if event["type"] == "FROM_JOB_MSG"]
        return [*each_at_once(message), *(order("TO_JOB_MSG", job_id=d["job_id"], msg="yes, do") for d in heard)]

    found, talk = simulate(tmp_path, [job("a", profile="talk")], decide, profiles)
    assert (0, "FROM_JOB_MSG", {"job_id": "w0!a", "msg": {"much": 1.5}}) in talk.told
    assert found.outputs.jobs["execution_time"].to_list() == [11.0]


def test_a_start_says_which_host_a_storage_is(tmp_path):
    profiles = {"read": {"type": "parallel_homogeneous_pfs", "bytes_to_read": 1e9, "storage": "disk"}}
    jobs = [job("near", 0, profile="read"), job("far", 100, profile="read")]

    def decide(message):
        starts = each_at_once(message)
        for start in starts:
            start["data"]["storage_mapping"] = {"disk": 4 if "near" in start["data"]["job_id"] else 5}
        return starts

    found, _ = simulate(tmp_path, jobs, decide, profiles)
    assert found.outputs.jobs["execution_time"].to_list() == [5.0, 20.0]  # 1 GB at 200 and 50 MB/s


def test_executors_can_share_fewer_machines_than_the_job_asks_for(tmp_path):
    profiles = {"work": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0}, "nap": NAP}
    jobs = [job("a", 0, 4, "work"), job("b", 50, 4, "nap")]

    def decide(message):
        mapping = {"0": "0", "1": 1, "2": 0, "3": 1}
        return [order("EXECUTE_JOB", job_id=each, alloc="1-2", mapping=mapping) for each in submitted(message)]

    found, _ = simulate(tmp_path, jobs, decide, profiles)
    assert found.outputs.jobs["execution_time"].to_list() == [2.0, 10.0]
    assert found.outputs.jobs["allocated_resources"].to_list() == ["1-2", "1-2"]
    assert found.outputs.jobs["requested_number_of_resources"].to_list() == [4, 4]


def test_a_scheduler_may_say_itself_what_becomes_of_a_job(tmp_path):
    def decide(message):
        if submitted(message):
            first = order("CHANGE_JOB_STATE", job_id="w0!a", job_state="RUNNING")
            return [first, order("CALL_ME_LATER", timestamp=6)]
        calls = [event for event in message["events"] if event["type"] == "REQUESTED_CALL"]
        return [order("CHANGE_JOB_STATE", job_id="w0!a", job_state="COMPLETED_SUCCESSFULLY")] if calls else []

    found, talk = simulate(tmp_path, [job("a")], decide)
    row = found.outputs.jobs.row(0, named=True)
    assert (row["final_state"], row["execution_time"], row["allocated_resources"]) == (
        "COMPLETED_SUCCESSFULLY",
        6.0,
        "",
    )
    assert "JOB_COMPLETED" not in {kind for _, kind, _ in talk.told}


def test_external_events_are_told_when_they_happen_and_the_last_is_the_last(tmp_path):
    events = [
        {"type": "machine_unavailable", "resources": "1-2", "timestamp": 4},
        {"type": "machine_available", "resources": "1-2", "timestamp": 6},
        {"type": "sunrise", "timestamp": 7, "where": "east"},
    ]
    (tmp_path / "events.txt").write_text("\n".join(map(json.dumps, events)))
    _, talk = simulate(tmp_path, [job("a")], each_at_once, events=[str(tmp_path / "events.txt")],
                       forward_unknown_events=True)  # fmt: skip
    assert [(time, data) for time, kind, data in talk.told if kind == "NOTIFY"] == [
        (0, {"type": "no_more_static_job_to_submit"}),
        (4, {"type": "event_machine_unavailable", "resources": "1-2"}),
        (6, {"type": "event_machine_available", "resources": "1-2"}),
        (7, {"type": "sunrise", "timestamp": 7, "where": "east"}),
        (7, {"type": "no_more_external_event_to_occur"}),
    ]


def test_a_job_larger_than_the_platform_is_told_of_and_must_be_rejected(tmp_path):
    def decide(message):
        return [order("REJECT_JOB", job_id=each) for each in submitted(message)]

    found, _ = simulate(tmp_path, [job("a", res=9)], decide)
    assert found.fault is None
    assert found.outputs.jobs["final_state"].to_list() == ["REJECTED"]


class Sleepers:
    """Machines that take 3 s to be switched, and 100 W at all times."""

    def __init__(self, engine):
        self.engine = engine

    def switch(self, machines, pstate):
        return self.engine.now + 3

    def refusal(self, machine):
        return "sleeps" if machine == 3 else None

    def consumed_j(self):
        return 100 * self.engine.now


def test_pstates_and_energy_are_asked_for_and_told_where_somebody_models_them(tmp_path):
    def decide(message):
        if submitted(message):
            ask = order("QUERY", requests={"consumed_energy": {}})
            return [*each_at_once(message), order("SET_RESOURCE_STATE", resources="1 2", state="13"), ask]
        return []

    _, talk = simulate(tmp_path, [job("a", 2)], decide, power=Sleepers)
    told = [(time, kind, data) for time, kind, data in talk.told if kind in ("ANSWER", "RESOURCE_STATE_CHANGED")]
    assert told == [
        (2, "ANSWER", {"consumed_energy": 200}),
        (5, "RESOURCE_STATE_CHANGED", {"resources": "1-2", "state": "13"}),
    ]
