"""Schedulers that break a rule, die, hang or talk nonsense: each is named in a sentence, and what had ended is kept."""

import json
import sys
import threading

import pytest
from tests.faces.protocol_build import PLATFORM, each_at_once, job, order, simulate

from unspool.cli.app import run_command
from unspool.faces.batsim.protocol.begins import Terms

STARTED = order("EXECUTE_JOB", job_id="w0!a", alloc="0")


def at_5(*orders):
    """Start job a, and say more at 5 s, while it runs."""

    def decide(message):
        if any(event["type"] == "REQUESTED_CALL" for event in message["events"]):
            return [dict(each) for each in orders]
        if any(event["type"] == "JOB_SUBMITTED" for event in message["events"]):
            return [dict(STARTED), order("CALL_ME_LATER", timestamp=5)]
        return []

    return decide


@pytest.mark.parametrize(
    ("orders", "sentence"),
    [
        ([STARTED], "EXECUTE_JOB at 5 s: job w0!a runs already; expected one that waits"),
        ([order("EXECUTE_JOB", job_id="w0!b", alloc="0-1")], "job w0!b: machine 0 is busy with w0!a"),
        ([order("EXECUTE_JOB", job_id="w0!b", alloc="1")], "job w0!b: 1 machines are given, and it asks for 2"),
        ([order("EXECUTE_JOB", job_id="w0!b", alloc="3-4")], "machine 4 runs no jobs; those that do are 0 to 3"),
        ([order("EXECUTE_JOB", job_id="w0!b", alloc="3-9")], "job w0!b: there is no machine 9"),
        ([order("EXECUTE_JOB", job_id="w0!b", alloc="")], 'job w0!b: alloc is ""; expected machines such as 0-3 7'),
        ([order("EXECUTE_JOB", job_id="w0!b", alloc="1-2", mapping={"1": 0})], "expected the place of each executor"),
        ([order("EXECUTE_JOB", job_id="w0!late", alloc="1")], "job w0!late has not been submitted yet"),
        ([order("EXECUTE_JOB", job_id="w0!zz", alloc="1")], "there is no job 'w0!zz'"),
        ([order("REJECT_JOB", job_id="w0!b")] * 2, "REJECT_JOB at 5 s: job w0!b has been rejected already"),
        ([order("CALL_ME_LATER", timestamp=5)], "it asks to be called at 5 s, which is not later than now"),
        ([order("CALL_ME_LATER", timestamp=1)], "it asks to be called at 1 s, which is not later than now"),
        ([order("KILL_JOB", job_ids=["w0!b"])], "job w0!b cannot be killed: it has not been started"),
        ([order("KILL_JOB", job_ids=[])], "job_ids is []; expected a list of jobs"),
        ([order("NOTIFY", type="tea")], "expected registration_finished or continue_registration"),
        ([order("SET_RESOURCE_STATE", resources="0", state="1")], "the energy of machines is not modelled in this run"),
        ([order("QUERY", requests={"consumed_energy": {}})], "the energy of machines is not modelled in this run"),
        ([order("REGISTER_JOB", job_id="w0!n", job={})], "allow it: --enable-dynamic-jobs"),
        ([order("TO_JOB_MSG", job_id="w0!b", msg="x")], "job w0!b waits already; expected one that runs"),
        ([order("CHANGE_JOB_STATE", job_id="w0!b", job_state="TIRED")], '"TIRED"; expected one of RUNNING'),
        ([order("RESOURCES_ADDED")], "RESOURCES_ADDED is no event of a scheduler; expected one of ANSWER"),
        ([order("REJECT_JOB", 99, job_id="w0!b")], "its timestamp is later than now of its message, 5 s"),
    ],
)  # fmt: skip
def test_a_broken_rule_is_named_and_ends_the_run(orders, sentence, tmp_path):
    jobs = [job("a"), job("b", res=2), job("late", 50)]
    found, _ = simulate(tmp_path, jobs, at_5(*orders))
    assert sentence in str(found.fault)
    assert str(found.fault).startswith("a test: ")
    assert len(found.outputs.jobs.filter(found.outputs.jobs["final_state"] != "REJECTED")) == 0
    assert found.result.config["partial"] == str(found.fault)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"job_id": "d!x", "job": {"id": "x", "res": 1, "profile": "p"}}, "there is no workload 'd'"),
        ({"job_id": "w0!a", "job": {"id": "a", "res": 1, "profile": "nap"}}, "job w0!a is there already"),
        ({"job_id": "w0!x", "job": {"id": "x", "res": 1, "profile": "nup"}}, "'nup' does not exist; did you mean"),
        ({"job_id": "w0!x", "job": {"id": "x", "res": "4", "profile": "nap"}}, "res is "),
        ({"job_id": "x", "job": {"id": "x", "res": 1, "profile": "nap"}}, "is no identifier of a job"),
    ],
)  # fmt: skip
def test_what_is_registered_is_checked_as_a_file_is(data, sentence, tmp_path):
    terms = Terms(enable_dynamic_jobs=True)
    found, _ = simulate(tmp_path, [job("a")], at_5(order("REGISTER_JOB", **data)), terms=terms)
    assert sentence in str(found.fault)


def test_jobs_that_wait_for_ever_are_listed_and_those_that_ended_are_kept(tmp_path):
    def decide(message):
        return [each for each in each_at_once(message) if each["data"]["job_id"] == "w0!a"]

    found, talk = simulate(tmp_path, [job("a"), job("b"), job("c", 3)], decide)
    assert "nothing is left to happen, but 2 jobs wait for ever: w0!b, w0!c" in str(found.fault)
    assert found.outputs.jobs["job_id"].to_list() == ["a"]
    assert talk.told[-1][1] != "SIMULATION_ENDS"


def test_who_may_register_jobs_must_say_when_it_is_done(tmp_path):
    found, _ = simulate(tmp_path, [job("a")], each_at_once, terms=Terms(enable_dynamic_jobs=True))
    assert "it must say NOTIFY registration_finished" in str(found.fault)


# Over a socket.

SCHEDULER = """
import json, sys, time, zmq
BREAKS = {
    "again": [("EXECUTE_JOB", {"job_id": "w0!a", "alloc": "0"})],
    "busy": [("EXECUTE_JOB", {"job_id": "w0!c", "alloc": "0"}), ("EXECUTE_JOB", {"job_id": "w0!d", "alloc": "0"})],
    "running": [("EXECUTE_JOB", {"job_id": "w0!c", "alloc": "0"}), ("EXECUTE_JOB", {"job_id": "w0!c", "alloc": "1"})],
    "twice": [("REJECT_JOB", {"job_id": "w0!c"}), ("REJECT_JOB", {"job_id": "w0!c"})],
    "past": [("CALL_ME_LATER", {"timestamp": 2})],
}
how, endpoint = sys.argv[1], sys.argv[3]
socket = zmq.Context().socket(zmq.REP)
socket.bind(endpoint)
while True:
    message = json.loads(socket.recv())
    kinds = [event["type"] for event in message["events"]]
    if "JOB_COMPLETED" in kinds and how == "crash":
        sys.exit("out of memory")
    if "JOB_COMPLETED" in kinds and how == "sleep":
        time.sleep(60)
    if "JOB_COMPLETED" in kinds and how == "nonsense":
        socket.send(b"<html>")
        continue
    events = [
        {"timestamp": message["now"], "type": "EXECUTE_JOB", "data": {"job_id": e["data"]["job_id"], "alloc": "0"}}
        for e in message["events"] if e["type"] == "JOB_SUBMITTED" and e["data"]["job_id"] in ("w0!a", "w0!b")
    ]
    if "JOB_COMPLETED" in kinds and how in BREAKS:
        events = [{"timestamp": message["now"], "type": kind, "data": data} for kind, data in BREAKS[how]]
    socket.send_string(json.dumps({"now": message["now"], "events": events}))
    if "SIMULATION_ENDS" in kinds:
        break
"""


@pytest.fixture
def batsim(tmp_path, monkeypatch, capsys):
    """Calls the command in a folder with a platform, jobs and a scheduler: exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments, others=()):
        (tmp_path / "platform.xml").write_text(PLATFORM)
        jobs = [job("a"), job("b", 20), *(job(name, 5) for name in others)]
        (tmp_path / "work.json").write_text(
            json.dumps({"nb_res": 4, "profiles": {"nap": {"type": "delay", "delay": 10}}, "jobs": jobs})
        )
        (tmp_path / "scheduler.py").write_text(SCHEDULER)
        code = run_command(["batsim", "-p", "platform.xml", "-w", "work.json", "-e", "out", *arguments])
        return (code, *capsys.readouterr())

    return call


@pytest.mark.parametrize(
    ("how", "options", "sentence"),
    [
        ("crash", [], "ended with exit code 1 (out of memory) before it answered"),
        ("sleep", ["--socket-timeout", "1"], "has not answered for 1 s: it hangs, or needs longer"),
        ("nonsense", [], "sent what is no message"),
    ],
)
def test_a_scheduler_that_fails_is_named_exit_1_and_the_results_are_marked_partial(
    how, options, sentence, batsim, tmp_path
):
    pytest.importorskip("zmq", reason="pyzmq is not installed: pip install 'unspool[protocol]'")
    started = f"{sys.executable} scheduler.py {how}"
    code, out, err = batsim("--start-scheduler", started, "--json", *options)
    assert code == 1
    assert sentence in err
    assert sentence in json.loads(out)["partial"]
    assert [line.split(",")[0] for line in (tmp_path / "out_jobs.csv").read_text().splitlines()] == ["job_id", "a"]
    assert sentence in json.loads((tmp_path / "out_schedule.json").read_text())["partial"]


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("again", "EXECUTE_JOB at 10 s: job w0!a has ended already; expected one that waits"),
        ("busy", "EXECUTE_JOB at 10 s: job w0!d: machine 0 is busy with w0!c"),
        ("running", "EXECUTE_JOB at 10 s: job w0!c runs already; expected one that waits"),
        ("twice", "REJECT_JOB at 10 s: job w0!c has been rejected already; expected one that waits"),
        ("past", "CALL_ME_LATER at 10 s: it asks to be called at 2 s, which is not later than now"),
    ],
)
def test_a_scheduler_that_breaks_a_rule_over_a_socket_ends_the_run_with_exit_1(how, sentence, batsim):
    pytest.importorskip("zmq", reason="pyzmq is not installed: pip install 'unspool[protocol]'")
    started = f"{sys.executable} scheduler.py {how}"
    code, out, err = batsim("--start-scheduler", started, "--json", others=("c", "d"))
    assert code == 1
    assert sentence in err
    assert sentence in json.loads(out)["partial"]


def test_a_scheduler_that_does_well_is_started_and_stopped(batsim, tmp_path):
    pytest.importorskip("zmq", reason="pyzmq is not installed: pip install 'unspool[protocol]'")
    code, _, err = batsim("--start-scheduler", f"{sys.executable} scheduler.py well", "-q")
    assert (code, err) == (0, "")
    assert len((tmp_path / "out_jobs.csv").read_text().splitlines()) == 3


def test_a_scheduler_that_ends_before_any_job_leaves_the_files_of_an_earlier_run(batsim, tmp_path):
    pytest.importorskip("zmq", reason="pyzmq is not installed: pip install 'unspool[protocol]'")
    assert batsim("-q", "-o", "OUT")[0] == 0
    before = {path: path.read_bytes() for path in tmp_path.glob("out_*")}
    summary = (tmp_path / "OUT" / "summary.json").read_bytes()
    code, out, err = batsim("--start-scheduler", "false", "--json", "-o", "OUT", "--force")
    assert code == 1
    assert (json.loads(out)["files"], "ended with exit code 1" in json.loads(out)["partial"]) == ([], True)
    assert "files: none, since no job had ended or been rejected\n" in err
    assert {path: path.read_bytes() for path in tmp_path.glob("out_*")} == before
    assert (tmp_path / "OUT" / "summary.json").read_bytes() == summary


def test_nobody_at_the_endpoint_is_told_so(batsim, tmp_path):
    pytest.importorskip("zmq", reason="pyzmq is not installed: pip install 'unspool[protocol]'")
    code, _, err = batsim("-s", f"ipc://{tmp_path}/nobody", "--socket-timeout", "0.5")
    assert code == 1
    assert "nobody was there for 0.5 s; start the scheduler" in err


def test_a_connection_that_is_closed_is_noticed_at_once(tmp_path):
    zmq = pytest.importorskip("zmq", reason="pyzmq is not installed: pip install 'unspool[protocol]'")
    from unspool.errors import RunError
    from unspool.faces.batsim.protocol.wire import Asking

    context = zmq.Context()
    socket = context.socket(zmq.REP)
    port = socket.bind_to_random_port("tcp://127.0.0.1")

    def hear_and_leave():
        socket.recv()
        socket.close(linger=0)

    other = threading.Thread(target=hear_and_leave)
    other.start()
    with Asking(f"tcp://127.0.0.1:{port}", "it", 30.0) as line, pytest.raises(RunError, match="closed the connection"):
        line.ask("{}")
    other.join()
    context.term()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--start-scheduler", "no-such-program"], "cannot be started: No such file"),
        (["-s", "tcp://x:1", "--policy", "easy"], "leave out --policy"),
        (["-s", "tcp://x:1", "--start-scheduler", "y"], "give one"),
        (["--enable-dynamic-jobs"], "name it with -s, or start it with --start-scheduler"),
        (["-s", "tcp://x:1", "--enable-profile-reuse"], "without --enable-dynamic-jobs"),
        (["-s", "carrier-pigeon"], "expected an endpoint such as tcp://localhost:28000"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, sentence, batsim):
    pytest.importorskip("zmq", reason="pyzmq is not installed: pip install 'unspool[protocol]'")
    code, _, err = batsim(*options)
    assert code == 2
    assert sentence in err
