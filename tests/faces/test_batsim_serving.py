"""Our policies as schedulers of others: served to our own simulator they decide what they decide in it."""

import json
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from inspect import signature

import pytest
from polars.testing import assert_frame_equal
from tests.faces.protocol_build import PLATFORM, job

from unspool.cli.servescheduler import serve_scheduler
from unspool.errors import RunError
from unspool.faces.batsim.protocol.begins import Terms
from unspool.faces.batsim.protocol.messages import event_text, message_text
from unspool.faces.batsim.protocol.process import command_for, free_endpoint
from unspool.faces.batsim.protocol.serving import Served, serve
from unspool.faces.batsim.running import Settings, build_policy, run_batsim
from unspool.policies.base import Kill, Reject, Start, WakeAt
from unspool.policies.schedulers.fcfs import Fcfs


class Beside:
    """A served policy without the socket."""

    name = "beside"
    terms = Terms()

    def __init__(self, make):
        self.served = Served(make)

    def open_line(self, stack):
        return self

    def ask(self, text):
        return self.served.answer(text.encode()).encode()


def some_jobs(seed, count=60, part=1.0):
    """Jobs whose times are multiples of a part of a second."""
    draw = random.Random(seed)
    jobs = []
    for number in range(count):
        length = draw.randint(1, 40)
        jobs.append(job(str(number), draw.randint(0, 300) * part, draw.randint(1, 4), f"d{length}",
                        walltime=(length + draw.choice([0.5, 5, 20])) * part))  # fmt: skip
    return jobs, {f"d{length}": {"type": "delay", "delay": length * part} for length in range(1, 41)}


def both(folder, make, jobs, profiles):
    (folder / "platform.xml").write_text(PLATFORM)
    (folder / "work.json").write_text(json.dumps({"nb_res": 4, "profiles": profiles, "jobs": jobs}))
    settings = {"platform": str(folder / "platform.xml"), "workloads": [str(folder / "work.json")]}
    inside = run_batsim(Settings(**settings, policy=make()))
    outside = run_batsim(Settings(**settings, outside=Beside(make)))
    return inside, outside


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "filler", "easy:order=sjf"])
def test_a_served_policy_writes_the_same_journal_as_in_process(policy, tmp_path):
    for seed, part in ((0, 1.0), (1, 1.0), (2, 1 / 3)):
        inside, outside = both(tmp_path, lambda: build_policy(policy), *some_jobs(seed, part=part))
        assert outside.fault is None
        assert_frame_equal(inside.result.attempts, outside.result.attempts)
        assert_frame_equal(inside.result.allocations, outside.result.allocations)
        assert_frame_equal(inside.outputs.jobs, outside.outputs.jobs)


def fickle(view):
    """Kills what ran for 7 s, turns away the job that is called 3, and waits 2 s before each start."""
    for running in view.running:
        if view.now - running.start_time >= 7:
            yield Kill(running)
        else:
            yield WakeAt(running.start_time + 7)
    for waiting in view.queue:
        if waiting.id.rpartition("!")[2] == "3":
            yield Reject(waiting)
        elif view.now < waiting.submit_time + 2:
            yield WakeAt(waiting.submit_time + 2)
        elif view.fits(waiting):
            yield Start(waiting)


def test_a_policy_of_ones_own_kills_rejects_and_wakes_through_the_protocol_too(tmp_path):
    inside, outside = both(tmp_path, lambda: fickle, *some_jobs(4, 12))
    assert outside.fault is None
    assert_frame_equal(inside.outputs.jobs, outside.outputs.jobs)
    assert "COMPLETED_KILLED" in set(outside.outputs.jobs["final_state"])
    assert "REJECTED" in set(outside.outputs.jobs["final_state"])


def test_who_does_not_begin_with_the_beginning_is_told_so():
    served = Served(lambda: build_policy("fcfs"))
    with pytest.raises(RunError, match="did not begin with SIMULATION_BEGINS"):
        served.answer(b'{"now": 0, "events": []}')


def test_a_served_policy_starts_nothing_on_machines_that_are_closed(tmp_path):
    (tmp_path / "platform.xml").write_text(PLATFORM)
    jobs = [job("a", 0, 2, "d5"), job("b", 2, 2, "d5"), job("c", 3, 2, "d5"), job("d", 30, 4, "d5")]
    profiles = {"d5": {"type": "delay", "delay": 5}}
    jobs = [{**each, "walltime": 9} for each in jobs]
    (tmp_path / "work.json").write_text(json.dumps({"nb_res": 4, "profiles": profiles, "jobs": jobs}))
    events = [
        {"type": "machine_unavailable", "resources": "1-2", "timestamp": 1},
        {"type": "machine_available", "resources": "1-2", "timestamp": 20},
    ]
    (tmp_path / "events.txt").write_text("\n".join(map(json.dumps, events)))
    given = {
        "platform": str(tmp_path / "platform.xml"), "workloads": [str(tmp_path / "work.json")],
        "events": [str(tmp_path / "events.txt")],
    }  # fmt: skip
    inside = run_batsim(Settings(**given, policy="fcfs"))
    outside = run_batsim(Settings(**given, outside=Beside(lambda: build_policy("fcfs"))))
    assert outside.fault is None
    assert_frame_equal(inside.outputs.jobs, outside.outputs.jobs)
    assert inside.outputs.jobs["starting_time"].to_list() == [0.0, 5.0, 10.0, 30.0]


def begins(machines=2):
    return event_text(0.0, "SIMULATION_BEGINS", json.dumps({"nb_compute_resources": machines}))


def submitted(name, **others):
    data = {"job_id": name, "job": {"id": name, "subtime": 1.0, "res": 1, "walltime": 9, **others}}
    return event_text(1.0, "JOB_SUBMITTED", json.dumps(data))


MALFORMED = [
    b"", b"\x00\xff", b"{", b"[" * 20000, b"GET / HTTP/1.1", b"[1, 2]", b'{"now": "soon", "events": []}',
    b'{"now": 1e999, "events": []}', b'{"now": 0.5, "events": [{"timestamp": 0.5, "type": "JOB_SUBMITTED"}]}',
]  # fmt: skip
EVENTS = [
    event_text(1.0, "JOB_SUBMITTED", "{}"),
    event_text(1.0, "JOB_SUBMITTED", '{"job_id": "w!x", "job": 3}'),
    submitted("w!y", res="many"),
    submitted("w!y", walltime=[]),
    event_text(1.0, "JOB_COMPLETED", '{"job_id": []}'),
    event_text(1.0, "NOTIFY", '{"type": "event_machine_unavailable", "resources": "0-99"}'),
    event_text(1.0, "NOTIFY", '{"type": "event_machine_unavailable", "resources": "-1"}'),
    event_text(1.0, "NOTIFY", '{"type": "event_machine_unavailable"}'),
    begins(0),
    begins(10**12),
]


def test_malformed_messages_are_told_and_answered_and_the_simulation_goes_on(tmp_path):
    zmq = pytest.importorskip("zmq", reason="pyzmq is not installed: pip install 'unspool[protocol]'")
    endpoint, notes, ready = free_endpoint(), [], threading.Event()
    with ThreadPoolExecutor(1) as pool, zmq.Context() as context, context.socket(zmq.REQ) as line:
        counted = pool.submit(serve, Fcfs, endpoint, timeout_s=30.0, ready=ready.set, note=notes.append)
        assert ready.wait(30)
        line.rcvtimeo, line.linger = 30_000, 0
        line.connect(endpoint)

        def ask(*parts):
            line.send_multipart(parts)
            return json.loads(line.recv())

        assert ask(message_text(0.0, []).encode()) == {"now": 0.0, "events": []}
        assert ask(message_text(0.0, [begins()]).encode())["events"] == []
        assert [ask(content) for content in MALFORMED] == [{"now": 0.0, "events": []}] * len(MALFORMED)
        assert ask(b'{"now": 0.0, ', b'"events": []}') == {"now": 0.0, "events": []}
        answer = ask(message_text(1.0, [*EVENTS, submitted("w!a")]).encode())
        assert [(each["type"], each["data"]["job_id"]) for each in answer["events"]] == [("EXECUTE_JOB", "w!a")]
        assert ask(message_text(2.0, [event_text(2.0, "SIMULATION_ENDS")]).encode())["events"] == []
        assert counted.result(timeout=30) == 5 + len(MALFORMED)
    assert len(notes) == 1 + len(MALFORMED) + len(EVENTS)
    assert all(note.startswith("left out: the simulator ") for note in notes)


def test_who_sends_nothing_but_nonsense_is_not_listened_to_for_ever(tmp_path, monkeypatch):
    zmq = pytest.importorskip("zmq", reason="pyzmq is not installed: pip install 'unspool[protocol]'")
    monkeypatch.setattr("unspool.faces.batsim.protocol.serving._MOST_FAULTS", 2)
    endpoint = f"ipc://{tmp_path}/line"
    with ThreadPoolExecutor(1) as pool, zmq.Context() as context, context.socket(zmq.REQ) as line:
        served = pool.submit(serve, Fcfs, endpoint, timeout_s=30.0)
        line.rcvtimeo, line.linger = 30_000, 0
        line.connect(endpoint)
        for _ in range(3):
            line.send(b"nonsense")
            line.recv()
        with pytest.raises(RunError, match="sent what is no message"):
            served.result(timeout=30)


def test_a_scheduler_listens_on_this_machine_only_unless_it_is_told_otherwise():
    default = signature(serve_scheduler).parameters["socket_endpoint"].default
    assert default == "tcp://127.0.0.1:28000"
    assert free_endpoint().startswith("tcp://127.0.0.1:")
    assert "tcp://127.0.0.1:" in " ".join(command_for("pybatsim easyBackfill", free_endpoint()))
