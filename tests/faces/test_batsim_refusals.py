"""What a scheduler orders and cannot be done: each has its sentence, with event, time and job."""

import sys

import pytest
from tests.faces.protocol_build import Talk, job, order, simulate

from unspool.errors import InputError, RunError
from unspool.faces.batsim.protocol.begins import Terms
from unspool.faces.batsim.protocol.messages import event_text, message_text, read_message
from unspool.faces.batsim.protocol.numbers import json_text
from unspool.faces.batsim.protocol.process import command_for
from unspool.faces.batsim.protocol.serving import Served, serve
from unspool.faces.batsim.protocol.wire import Asking, needs_zmq
from unspool.faces.batsim.running import Settings, run_batsim
from unspool.policies.schedulers.fcfs import Fcfs

DYNAMIC = Terms(enable_dynamic_jobs=True)
PROFILES = {
    "nap": {"type": "delay", "delay": 10},
    "work": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0},
    "read": {"type": "parallel_homogeneous_pfs", "bytes_to_read": 1e9, "storage": "disk"},
}


def at_5(*orders):
    """Start job a at 0, and say more at 5 s, while it runs."""

    def decide(message):
        kinds = [event["type"] for event in message["events"]]
        if "REQUESTED_CALL" in kinds:
            return [dict(each) for each in orders]
        if "JOB_SUBMITTED" in kinds:
            return [order("EXECUTE_JOB", job_id="w0!a", alloc="0"), order("CALL_ME_LATER", timestamp=5)]
        return []

    return decide


def refused(folder, *orders, **options):
    """The sentence with which a run ends whose scheduler says something at 5 s."""
    jobs = [job("a"), job("b", res=2, profile="work"), job("r", profile="read")]
    found, _ = simulate(folder, jobs, at_5(*orders), PROFILES, **options)
    assert found.result.config["partial"] == str(found.fault)
    return str(found.fault)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (order("EXECUTE_JOB", job_id="w0!b", alloc="1-2", mapping={"0": 0, "1": 2}), "outside of the 2 machines"),
        (order("EXECUTE_JOB", job_id="w0!b", alloc="1-2", mapping=[0, 1]), "expected the place of each executor"),
        (order("EXECUTE_JOB", job_id="w0!b", alloc="1", mapping={"0": 0}), "1 executors are mapped, and it asks for 2"),
        (order("EXECUTE_JOB", job_id="w0!b", alloc=["1-2"]), 'alloc is ["1-2"]; expected machines such as 0-3 7'),
        (order("EXECUTE_JOB", job_id="w0!b", alloc="1-x"), "1-x"),
        (order("EXECUTE_JOB", job_id="b", alloc="1-2"), "'b' is no identifier of a job"),
        (order("EXECUTE_JOB", job_id="w0!r", alloc="1", storage_mapping=4), "storage_mapping is no object"),
        (order("EXECUTE_JOB", job_id="w0!r", alloc="1", storage_mapping={"x": 4}), "'disk' is not in storage_mapping"),
        (order("EXECUTE_JOB", job_id="w0!r", alloc="1", storage_mapping={"disk": 1}), "is mapped to 1, no storage"),
        (order("EXECUTE_JOB", job_id="w0!r", alloc="1"), "storage 'disk' is mapped to no machine, and there are 2"),
        (order("REJECT_JOB", job_id="w0!a"), "job w0!a runs already; expected one that waits"),
        (order("REJECT_JOB"), "there is no job 'None'"),
        (order("KILL_JOB", job_ids=["w0!a", "w0!zz"]), "job_ids: there is no job 'w0!zz'"),
        (order("KILL_JOB", job_ids="w0!a"), 'job_ids is "w0!a"; expected a list of jobs'),
        (order("SET_JOB_METADATA", job_id="w0!a", metadata=3), "metadata is 3; expected a text"),
        (order("TO_JOB_MSG", job_id="w0!a", msg={"x": 1}), 'msg is {"x":1}; expected a text'),
        (order("TO_JOB_MSG", job_id="w0!a"), "msg is missing; expected a text"),
        (order("CALL_ME_LATER", timestamp="soon"), 'timestamp is "soon"; expected a time in seconds'),
        (order("CALL_ME_LATER", timestamp=True), "timestamp is true; expected a time in seconds"),
        (order("CHANGE_JOB_STATE", job_id="w0!a", job_state="COMPLETED_KILLED"), "kill it with KILL_JOB"),
        (order("CHANGE_JOB_STATE", job_id="w0!b", job_state="COMPLETED_FAILED"), "expected one that runs"),
        (order("QUERY", requests={"weather": {}}), 'requests is {"weather":{}}; expected consumed_energy'),
        (order("ANSWER", weather=1), "it answers weather; expected estimate_waiting_time"),
        (order("NOTIFY", type="registration_finished"), "allow it: --enable-dynamic-jobs"),
        (order("REGISTER_PROFILE", workload_name="w0", profile_name="p", profile={}), "allow it: --enable-dynamic"),
    ],
)  # fmt: skip
def test_an_order_that_makes_no_sense_is_refused_with_a_sentence(given, sentence, tmp_path):
    told = refused(tmp_path, given)
    assert sentence in told
    assert told.startswith(f"a test: {given['type']} at 5 s: ")


def new_job(**changes):
    return order("REGISTER_JOB", **{"job_id": "w0!n", "job": {"id": "n", "res": 1, "profile": "nap"}, **changes})


def new_profile(profile, name="p"):
    return order("REGISTER_PROFILE", workload_name="w0", profile_name=name, profile=profile)


@pytest.mark.parametrize(
    ("orders", "sentence"),
    [
        ([new_job(job=None)], "expected job_id, a full identifier, and job, an object"),
        ([new_job(job={"id": "n", "res": 0, "profile": "nap"})], "res is 0; expected a machine or more"),
        ([order("NOTIFY", type="registration_finished"), new_job()], "has said registration_finished, and registers"),
        ([order("REGISTER_PROFILE", workload_name="a!b", profile_name="p", profile={})], "a text without !"),
        ([new_profile({"type": "composed", "seq": ["zz"]})], "profile 'p' names 'zz', which has not been registered"),
        ([new_profile({"type": "composed", "seq": ["p"]})], "profile 'p' leads back to itself; expected no circle"),
        ([new_profile({"type": "smpi", "trace": "x.txt"})], "there is no file x.txt"),
        ([new_profile({"type": "delay"})], "delay"),
        ([new_profile({"type": "delay", "delay": 3}, "nap")], "is there already, and job w0!a uses it"),
    ],
)  # fmt: skip
def test_what_is_registered_and_cannot_be_is_refused_with_a_sentence(orders, sentence, tmp_path):
    told = refused(tmp_path, *orders, terms=DYNAMIC)
    assert sentence in told
    assert told.startswith(f"a test: {orders[-1]['type']} at 5 s: ")


def test_profiles_that_replay_traces_cannot_be_registered(tmp_path):
    (tmp_path / "trace.txt").write_text("rank0.txt\n")
    (tmp_path / "rank0.txt").write_text("0 init\n0 compute 5\n0 finalize\n")
    given = new_profile({"type": "smpi", "trace": str(tmp_path / "trace.txt")})
    assert "profile 'p' replays a trace, which a scheduler cannot register" in refused(tmp_path, given, terms=DYNAMIC)


def test_jobs_that_were_set_to_running_and_never_end_are_listed(tmp_path):
    def decide(message):
        come = [event["data"]["job_id"] for event in message["events"] if event["type"] == "JOB_SUBMITTED"]
        return [order("CHANGE_JOB_STATE", job_id=each, job_state="RUNNING") for each in come]

    found, _ = simulate(tmp_path, [job("a"), job("b", 3)], decide)
    assert "2 jobs that it set to RUNNING never end: w0!a, w0!b" in str(found.fault)


# With energy: machines 0 to 2, which need 2 s to fall asleep in state 2 and 10 s to wake; 3 and 4 stand for that.

ENERGY = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="all" routing="Full">
<cluster id="c" prefix="h" suffix="" radical="0-2" bw="1GBps" lat="0s" speed="1Gf, 0.5Gf, 0.001f, 0.5f, 0.1f">
<prop id="wattage_per_state" value="100:110:200, 80:85:120, 10:10:10, 50:50:50, 150:150:150"/>
<prop id="sleep_pstates" value="2:3:4"/></cluster></zone></platform>
"""


def state(machines, pstate):
    return order("SET_RESOURCE_STATE", resources=machines, state=pstate)


@pytest.mark.parametrize(
    ("first", "then", "sentence"),
    [
        (state("1", "2"), order("EXECUTE_JOB", job_id="w0!b", alloc="1-2"), "job w0!b: machine 1 sleeps"),
        (state("1", "2"), state("1-2", "2"), "the machine sleeps already"),
        (state("2", "2"), state("0", "2"), "jobs run on the machine, and it cannot fall asleep"),
        (state("2", "2"), state("0", "7"), "the machine has the states 0 to 4"),
        (state("2", "2"), state("0-9", "2"), 'resources is "0-9"; expected machines such as 0-3 7'),
        (state("2", "2"), state("", "2"), 'resources is ""; expected machines such as 0-3 7'),
        (state("2", "2"), state("1", "two"), 'state is "two"; expected the number of a pstate'),
        (state("2", "2"), state("1", True), "state is true; expected the number of a pstate"),
        (None, [state("1", "2"), state("1", "0")], "SetPstate(1, 0) at 5 s: the machine is switching already"),
        (None, [state("1", "2"), order("EXECUTE_JOB", job_id="w0!b", alloc="1-2")], "machine 1 is switching"),
        (state("1", "2"), order("EXECUTE_JOB", job_id="w0!c", alloc="2",
                                additional_io_job={"alloc": "1", "profile_name": "work"}),
         "job w0!c: machine 1 of additional_io_job sleeps"),
    ],
)  # fmt: skip
def test_orders_to_machines_that_cannot_be_followed_are_refused_with_a_sentence(first, then, sentence, tmp_path):
    (tmp_path / "platform.xml").write_text(ENERGY)
    jobs = [job("a"), job("b", res=2, profile="work"), job("c", profile="work")]
    (tmp_path / "work.json").write_text(json_text({"nb_res": 3, "profiles": PROFILES, "jobs": jobs}))
    later = at_5(*(then if isinstance(then, list) else [then]))
    talk = Talk(lambda message: [*later(message), *([dict(first)] if first and message["now"] == 1e-6 else [])])
    settings = Settings(str(tmp_path / "platform.xml"), [str(tmp_path / "work.json")], energy=True, outside=talk)
    assert sentence in str(run_batsim(settings, states=False).fault)


# The other side, and what is wrong before anybody talks.


def test_a_simulator_that_leaves_out_what_is_needed_is_told():
    served = Served(Fcfs)
    with pytest.raises(RunError, match="the simulator sent SIMULATION_BEGINS without what it needs: KeyError"):
        served.answer(message_text(0.0, [event_text(0.0, "SIMULATION_BEGINS")]).encode())


def test_a_simulator_that_says_nothing_is_told(tmp_path):
    pytest.importorskip("zmq", reason="pyzmq is not installed: pip install 'unspool[protocol]'")
    with pytest.raises(RunError, match=r"has said nothing for 0\.05 s; is it still there"):
        serve(Fcfs, f"ipc://{tmp_path}/nobody", timeout_s=0.05)


def test_an_endpoint_that_cannot_be_bound_to_is_told():
    pytest.importorskip("zmq", reason="pyzmq is not installed: pip install 'unspool[protocol]'")
    with pytest.raises(InputError, match=r"cannot be bound to .*expected a free endpoint such as"):
        serve(Fcfs, "tcp://no-such-host.invalid:1")


@pytest.mark.parametrize("port", [0, 65536, 99999999])
def test_a_port_that_no_machine_has_is_told(port):
    pytest.importorskip("zmq", reason="pyzmq is not installed: pip install 'unspool[protocol]'")
    with pytest.raises(InputError, match=rf"there is no port {port}; expected one from 1 to 65535"):
        serve(Fcfs, f"tcp://127.0.0.1:{port}")
    with pytest.raises(InputError, match=rf"there is no port {port}"):
        Asking(f"tcp://127.0.0.1:{port}", "it", 1.0)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "--start-scheduler is empty; expected a command"),
        ("pybatsim 'x", "No closing quotation; expected a command with its arguments"),
    ],
)
def test_commands_that_are_none_are_told(text, sentence):
    with pytest.raises(InputError, match=sentence):
        command_for(text, "tcp://127.0.0.1:4000")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "expected JSON"),
        (b"\xff", "expected JSON"),
        (b"[1]", "expected now and events"),
        (b'{"now": 1}', "expected now and events"),
        (b'{"now": "1", "events": []}', "expected now and events"),
        (b'{"now": 1, "events": [{"type": "NOTIFY", "data": {}}]}', "each with timestamp, type and data"),
        (b'{"now": 1, "events": [{"timestamp": 1, "type": 3, "data": {}}]}', "each with timestamp, type and data"),
    ],
)
def test_what_is_no_message_is_told_with_its_sender_and_its_beginning(content, sentence):
    with pytest.raises(RunError, match="it sent what is no message") as told:
        read_message(content, "it")
    assert sentence in str(told.value)


def test_what_json_does_not_have_is_a_fault_of_ours():
    with pytest.raises(TypeError, match="cannot be told as JSON"):
        json_text({"x": {1, 2}})


def test_without_zeromq_it_is_told_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "zmq", None)
    with pytest.raises(InputError, match=r"pip install 'unspool\[protocol\]'"):
        needs_zmq()
